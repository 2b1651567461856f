"""Checks that relative links and anchors in Markdown files lead to a file and a heading, that links of the site's pages lead to files that
tools/site.py copies into it, that files which pages name exist, that pages of docs/ which sources name exist, and that docs/index.md names
every page below docs/; decisions.md names the pages of its folder."""

import os
import re
import sys

import common

sys.path.insert(0, str(common.ROOT / "tools"))
import site_files

CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.S | re.M)
LINK = re.compile(r"\]\(([^)\s]*)\)")
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.M)
FENCE = re.compile(r"^(```|~~~).*?^\1", re.S | re.M)
FILE = re.compile(r"`((?:src|include|tests|tools|bench|cmake|python|examples|docs)/[\w./-]+\.(?:c|h|py|sh|md|txt|cmake|npy))`")
PAGE = re.compile(r"(?<![\w/.])docs/[\w./-]+\.(?:md|svg|txt|1)\b")
SOURCES = ("cmake", "completions", "include", "python", "src", "tests", "bench", "tools", "examples")
FOLDERS = ("docs", "data", "examples", "tests", "bench", "tools")


def pages():
    found = [path.relative_to(common.ROOT) for path in sorted(common.ROOT.glob("*.md"))]
    for folder in FOLDERS:
        found += common.sources(folder, "*.md")
    return found


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them: lower case, no punctuation, a hyphen for each blank."""
    found = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = 0
        while (name if not number else f"{name}-{number}") in found:
            number += 1
        found.add(name if not number else f"{name}-{number}")
    return found


def fault(page, target):
    """Returns what is wrong with a link of a page, or None."""
    path, _, anchor = target.partition("#")
    file = (common.ROOT / page.parent / path).resolve() if path else common.ROOT / page
    if not file.exists():
        return f"{page}: links to {target}, which does not exist"
    if site_files.has(page) and not (file.is_file() and site_files.has(os.path.relpath(file, common.ROOT))):
        return f"{page}: links to {target}, which is no file of the site; tools/site_files.py lists what is copied"
    if anchor and file.suffix == ".md" and anchor not in anchors(file.read_text(encoding="utf-8")):
        return f"{page}: links to {target}, but {path or page} has no such heading"
    return None


def main():
    failures, checked = [], 0
    for page in pages():
        for target in LINK.findall(CODE.sub("", common.read(page))):
            if "://" not in target:
                checked += 1
                failures.append(fault(page, target))
        for name in FILE.findall(common.read(page)):
            checked += 1
            if not (common.ROOT / name).exists():
                failures.append(f"{page}: names {name}, which does not exist")
    for path in (path for folder in SOURCES for path in common.sources(folder, "*") if path.suffix in (".c", ".h", ".hpp", ".py", ".sh", ".cmake")):
        for name in PAGE.findall(common.read(path)):
            checked += 1
            if not (common.ROOT / name).exists():
                failures.append(f"{path}: names {name}, which does not exist")
    index = {f"docs/{name}" for name in LINK.findall(common.read("docs/index.md"))} | {"docs/index.md"}
    index |= {f"docs/explanation/{name}" for name in LINK.findall(common.read("docs/explanation/decisions.md"))}
    failures += [f"no index names {page}" for page in common.sources("docs", "*.md") if page.as_posix() not in index]
    common.finish([text for text in failures if text], checked)


main()
