"""Checks that the reference pages in docs/reference/ are the output of their generators. `make docs` rewrites them."""

import difflib
import re
import sys

import common


def generators():
    """Names of pages, and the commands that print them."""
    for source in common.sources("tools", "*_page.c"):
        yield source.stem.removesuffix("_page"), [common.build_folder() / "tools" / source.stem]
    yield "c-api", [sys.executable, "-B", common.ROOT / "tools/c_api.py"]


def main():
    failures, checked = [], 0
    for name, command in generators():
        page = common.ROOT / "docs/reference" / f"{name}.md"
        fresh = common.run(*command)
        kept = page.read_text() if page.exists() else ""
        checked += 1
        if fresh != kept:
            changes = difflib.unified_diff(kept.splitlines(), fresh.splitlines(), f"docs/reference/{name}.md", "generated", lineterm="")
            failures.append("\n".join(changes) + f"\ndocs/reference/{name}.md is out of date: make docs")
    listed = set(re.findall(r"`(bp_\w+)`", common.read("docs/reference/c-api.md")))
    settings = {f"bp_{access}_{name}" for access in ("get", "set") for name, _, _ in common.settings()}
    symbols = set(re.findall(r"\bbp_[a-z]\w*", common.read("tests/checks/symbols.txt")))
    failures += [f"c-api.md lacks {name}: tools/c_api.py does not find its declaration" for name in sorted(symbols - settings - listed)]
    common.finish(failures, checked)


main()
