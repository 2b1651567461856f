"""The reference pages in docs/ are what their generators print from the tables in the headers. `make docs` rewrites them."""

import difflib

import common


def main():
    failures, checked = [], 0
    for source in common.sources("tools", "*_page.c"):
        name = source.stem.removesuffix("_page")
        page = common.ROOT / "docs" / f"{name}.md"
        fresh = common.run(common.build_folder() / "tools" / source.stem)
        kept = page.read_text() if page.exists() else ""
        checked += 1
        if fresh != kept:
            changes = difflib.unified_diff(kept.splitlines(), fresh.splitlines(), f"docs/{name}.md", "generated", lineterm="")
            failures.append("\n".join(changes) + f"\ndocs/{name}.md is out of date: make docs")
    common.finish(failures, checked)


main()
