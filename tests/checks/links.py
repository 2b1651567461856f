"""Links between the pages lead somewhere, and docs/index.md names every page of its folder."""

import re

import common

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def main():
    pages = [path.relative_to(common.ROOT) for path in sorted(common.ROOT.glob("*.md"))]
    for folder in ("docs", "examples"):
        pages += common.sources(folder, "*.md")
    failures, checked = [], 0
    for page in pages:
        for target in LINK.findall(common.read(page)):
            if "://" in target:
                continue
            checked += 1
            if not (common.ROOT / page.parent / target).exists():
                failures.append(f"{page}: leads to {target}, which is not there")
    named = set(LINK.findall(common.read("docs/index.md")))
    failures += [f"docs/index.md does not name {page.name}" for page in common.sources("docs", "*.md")
                 if page.relative_to("docs").as_posix() not in named | {"index.md"}]
    common.finish(failures, checked)


main()
