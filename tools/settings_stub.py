"""settings_stub.py - writes python/backplane/_settings_tree.pyi, the types of settings and of arguments with their names, from the settings table

Usage: settings_stub.py [FILE]. BACKPLANE_BUILD is the build folder (default: build), whose package is imported.
"""

import keyword
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("BACKPLANE_BUILD", ROOT / "build")).resolve()
sys.path.insert(0, str(BUILD / "python"))

import backplane  # noqa: E402

HEAD = '''"""Types of backplane.settings. Written by tools/settings_stub.py (make docs) from include/backplane/settings_table.h."""

from typing import Literal, TypedDict, Union

from ._settings import Settings
'''


def kind(row):
    if row.type in ("bool", "int"):
        return row.type
    words = row.allowed.split("|")
    plain = row.type == "enum" and all(re.fullmatch(r"[a-zA-Z0-9_.-]*", word) and not word.endswith("-N") for word in words)
    return f"Literal[{', '.join(repr(word) for word in words)}]".replace("'", '"') if plain and len(words) > 1 else "str"


def argument(row):
    """Returns the type of a value that is given for a call or a scope. A setting with the words true and false takes a bool too."""
    return f"Union[bool, {kind(row)}]" if row.type == "enum" and "true" in row.allowed.split("|") else kind(row)


def arguments():
    """Returns the types of a dict of dotted names, and of keywords with two underscores for each dot."""
    rows = [row for row in map(backplane.setting, backplane.settings) if not row.read_only]
    named = "".join(f'        "{row.name}": {argument(row)},\n' for row in rows)
    words = "".join(f"    {row.name.replace('.', '__')}: {argument(row)}\n" for row in rows)
    return f'\nNamed = TypedDict(\n    "Named",\n    {{\n{named}    }},\n    total=False,\n)\n\nclass Keywords(TypedDict, total=False):\n{words}'


def class_name(prefix):
    return "".join(part.capitalize() for part in re.split(r"[._]", prefix) if part) or "Root"


def members(prefix):
    """Returns attribute: type or class, and the prefixes of the classes that this one needs."""
    lines, below = {}, []
    names = [name[len(prefix):] for name in backplane.settings if name.startswith(prefix)]
    for name in names:
        head, dot, _ = name.partition(".")
        row = backplane.setting(prefix + name)
        if not dot:
            lines[head] = row
        elif head in names:  # a setting that is also the beginning of others
            lines[name.replace(".", "__")] = row
        elif head not in lines:
            lines[head] = f"{prefix}{head}."
            below.append(f"{prefix}{head}.")
    return lines, below


def text():
    pages, pending = [], [""]
    while pending:
        prefix = pending.pop(0)
        lines, below = members(prefix)
        pending += below
        body = []
        for name, value in lines.items():
            assert name.isidentifier() and not keyword.iskeyword(name), name
            if isinstance(value, str):
                body.append(f"    @property\n    def {name}(self) -> {class_name(value)}: ...")
            elif value.read_only:
                body.append(f"    @property\n    def {name}(self) -> {kind(value)}: ...")
            else:
                body.append(f"    {name}: {kind(value)}")
        pages.append(f"\nclass {class_name(prefix)}(Settings):\n" + "\n".join(body) + "\n")
    return HEAD + "".join(pages) + arguments()


if __name__ == "__main__":
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "python/backplane/_settings_tree.pyi"
    path.write_text(text())
