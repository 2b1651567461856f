"""settings_stub.py - writes python/backplane/_settings_tree.pyi, the types of backplane.settings, from the settings table

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

HEAD = '''"""Types of backplane.settings. Generated from include/backplane/settings_table.h by tools/settings_stub.py (make docs)."""

from typing import Literal

from ._settings import Settings
'''


def kind(row):
    if row.type in ("bool", "int"):
        return row.type
    words = row.allowed.split("|")
    plain = row.type == "enum" and all(re.fullmatch(r"[a-zA-Z0-9_.-]*", word) and not word.endswith("-N") for word in words)
    return f"Literal[{', '.join(repr(word) for word in words)}]".replace("'", '"') if plain and len(words) > 1 else "str"


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
    return HEAD + "".join(pages)


if __name__ == "__main__":
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "python/backplane/_settings_tree.pyi"
    path.write_text(text())
