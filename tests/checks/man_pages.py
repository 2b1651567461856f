"""Checks the manual pages of section 3, as tools/man_pages.py makes them: each exported function has one, with its declaration and a text, and nothing
of a text is taken for a command of the formatter."""

import re
import sys

import common

sys.path.insert(0, str(common.ROOT / "tools"))
import man_pages

COMMANDS = {".TH", ".SH", ".PP", ".B", ".I", ".BR", ".nf", ".fi", ".so"}


def faults(name, text, found):
    """Returns what is wrong with a page."""
    if text.startswith(".so "):
        target = re.fullmatch(r"\.so man3/(\w+\.3)\n", text)
        return [] if target and not found.get(target.group(1), ".so").startswith(".so") else [f"{name}: leads to no page"]
    wrong = [f"{name}: unknown command: {line}" for line in text.splitlines() if line[:1] in (".", "'") and line.split()[0] not in COMMANDS]
    parts = dict(re.findall(r"^\.SH (.+)\n((?:(?!\.SH ).*\n)*)", text, re.M))
    if f"{name[:-2]}(" not in parts.get("SYNOPSIS", ""):
        wrong.append(f"{name}: no declaration")
    if len(re.sub(r"^\..*\n", "", parts.get("DESCRIPTION", ""), flags=re.M).split()) < 3:
        wrong.append(f"{name}: no description")
    return wrong + [f"{name}: a backslash of the text is a command: {line}" for line in text.splitlines() if re.search(r"\\(?![-e&])", line)]


def main():
    pages = man_pages.pages()
    failures = [text for name, page in pages.items() for text in faults(name, page, pages)]
    exported = set(common.read("tests/checks/symbols.txt").split())
    failures += [f"{name}: exported, but has no manual page" for name in sorted(exported - {page[:-2] for page in pages})]
    failures += [f"{name}: has a manual page, but is not exported" for name in sorted({page[:-2] for page in pages} - exported)]
    if man_pages.escaped(".x\\y-z") != "\\&.x\\ey\\-z" or man_pages.escaped("'a") != "\\&'a":
        failures.append("tools/man_pages.py: a line that begins with a dot or a quote is a command")
    common.finish(failures, len(pages))


main()
