"""man_pages.py - writes the manual pages of section 3 from the public headers, which are the manual: one page for each group of functions with a
common comment, and a link to it for each further function. The pages of the settings' accessors are made from docs/reference/settings.md, which follows
from the table of the settings.

    python3 tools/man_pages.py FOLDER

Files of FOLDER that are equal stay as they are; others of its pages are removed.
"""
import pathlib
import re
import sys

import c_api

TYPES = {"bool": "int ", "int": "int64_t ", "enum": "const char *", "text": "const char *"}
VERSION = re.search(r'BP_VERSION_STRING "(.*)"', (c_api.INCLUDE / "backplane/version.h").read_text()).group(1)


def escaped(line):
    """Returns a line of text as man reads it."""
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line[:1] in (".", "'") else line


def verbatim(text):
    return [".nf", *map(escaped, text.splitlines()), ".fi"]


def paragraphs(text):
    """Yields the lines of a comment: paragraphs are filled, tables and code, which are indented, keep their lines."""
    for block in re.split(r"\n[ \t]*\n", text):
        yield ".PP"
        if re.search(r"^(?: {2,}|[-*] |.*\S {3,}\S)", block, re.M):
            yield from verbatim(block)
        else:
            yield from map(escaped, block.splitlines())


def declaration(code):
    """Returns a declaration as a program reads it, without what the compiler alone needs."""
    return re.sub(r"\bBP_API\s+", "", code)


def page(header, about, comment, declarations, functions):
    """Returns the page of a group of functions."""
    summary = c_api.first_sentence(comment or about).rstrip(".")
    lines = [f'.TH {functions[0]} 3 "" "Backplane {VERSION}" "Backplane"', ".SH NAME",
             escaped(f"{', '.join(functions)} - {summary}"), ".SH SYNOPSIS", ".B #include <backplane.h>", ".PP"]
    lines += verbatim("\n".join(map(declaration, declarations)))
    lines += [".SH DESCRIPTION", *list(paragraphs(comment or about))[1:], ".SH FILES", f".I {header.as_posix()}",
              ".PP", "The header has the whole family, with its types and conventions.", ".SH SEE ALSO", ".BR backplane (1)"]
    return "\n".join(lines) + "\n"


def accessors():
    """Yields (comment, declarations, functions) for each setting, as c_api.entries() does for a group of a header."""
    listed = (c_api.ROOT / "docs/reference/settings.md").read_text(encoding="utf-8").partition("\n## The settings\n")[2]
    for name, text in re.findall(r"^### (\S+)\n\n(.*?)(?=^### |\Z)", listed, re.S | re.M):
        functions = [f"bp_get_{name.replace('.', '_')}", f"bp_set_{name.replace('.', '_')}"]
        kind = TYPES[re.search(r"^- (\w+)", text, re.M).group(1)]
        comment = (f"The setting {name}: the effective value, and the value of the process. A getter never fails, a setter has the errors of bp_set().\n\n"
                   + text.replace("`", "").strip())
        yield comment, [f"{kind}{functions[0]}(void);", f"bp_status {functions[1]}({kind}value);"], functions


def pages():
    """Returns the contents of all pages by their names."""
    found = {}
    for _, group in c_api.headers():
        for header, about in group:
            if header.suffix != ".h":
                continue
            groups = c_api.entries(c_api.INCLUDE / header) + (list(accessors()) if header.name == "settings.h" else [])
            for comment, declarations, functions in groups:
                functions = [name for name in dict.fromkeys(functions) if f"{name}.3" not in found]
                if functions:
                    found[f"{functions[0]}.3"] = page(header, about, comment, declarations, functions)
                    found.update({f"{name}.3": f".so man3/{functions[0]}.3\n" for name in functions[1:]})
    return found


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for path in folder.glob("bp_*.3"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
