"""Links between the pages lead somewhere, and docs/index.md names every page of its folder."""

import re

import house

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def main():
    pages = [path.relative_to(house.ROOT) for path in sorted(house.ROOT.glob("*.md"))]
    for folder in ("docs", "examples"):
        pages += house.sources(folder, "*.md")
    failures, checked = [], 0
    for page in pages:
        for target in LINK.findall(house.read(page)):
            if "://" in target:
                continue
            checked += 1
            if not (house.ROOT / page.parent / target).exists():
                failures.append(f"{page}: leads to {target}, which is not there")
    named = set(LINK.findall(house.read("docs/index.md")))
    failures += [f"docs/index.md does not name {page.name}" for page in house.sources("docs", "*.md")
                 if page.name not in named | {"index.md"}]
    house.finish(failures, checked)


main()
