"""Checks that the links between Markdown pages are valid, and that docs/index.md links to every page of its folder."""

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
                failures.append(f"{page}: links to {target}, which does not exist")
    named = set(LINK.findall(common.read("docs/index.md")))
    failures += [f"docs/index.md does not link to {page.name}" for page in common.sources("docs", "*.md")
                 if page.name not in named | {"index.md"}]
    common.finish(failures, checked)


main()
