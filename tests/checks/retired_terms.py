"""Checks that sources do not use retired terms, because one term has one meaning: for example, "module" replaced "room".

The check searches comments, messages, docs and identifiers of the folders in CLEAN. It lists only terms that have no ordinary
use in this project. An exception in ALLOWED needs a reason.
"""

import re

import common

# Folders and files without retired terms. Add the others as they are rewritten.
CLEAN = ("ARCHITECTURE.md", "CHANGELOG.md", "CMakeLists.txt", "CONTRIBUTING.md", "Makefile", "README.md", "bench", "cmake", "completions",
         "docs", "examples", "include", "pyproject.toml", "python", "src", "tests", "tools")

KINDS = {".c", ".h", ".hpp", ".py", ".pyi", ".sh", ".bash", ".fish", ".cmake", ".md", ".txt", ".toml", ".in", ".map", ".1",
         ".supp", ""}
SELF = "tests/checks/retired_terms.py"

# A regular expression for each retired term, and the terms to use instead.
TERMS = {
    "rooms?": "module, space, arena or workspace",
    "house": "project",
    "laws?": "check",
    "short list": "thread cache",
    "warm path": "fast path",
    "long way": "slow path",
    "held plans?": "plan",
    "siblings?": "co-located dependency",
    "seats?": "worker slot or call record",
    "settl(?:es?|ing)": "set, decide",
    "heed(?:s|ed)?": "apply",
    "spoil(?:s|ed|t)?": "fill with NaN",
    "contest(?:s|ants?)?": "benchmark",
    "contenders?": "candidate",
    "rac(?:es?|ing)": "benchmark",
    "recipes?": "implementation or algorithm",
    "weav(?:es?|ing)": "interleave or combine",
    "anew": "again",
    "whoever": "the caller, the user",
    "nobody": "no thread, no caller",
    "beside": "next to, or compared with",
    "learned": "found; the source of a fact",
    "meetings?": "barrier",
    "promis(?:es?|ed|ing)": "guarantee",
    "turned away": "rejected",
    "same bits": "bitwise reproducible",
    "test doubles?": "fake library",
    "verbs?": "command",
}

# (file, term): why the file may use it.
ALLOWED = {
    ("docs/how-to/recipes.md", "recipes"): "programs for common tasks",
    ("docs/index.md", "recipes"): "the page of that name",
    ("tests/install/recipes.py", "recipes"): "the page of that name",
    ("src/machine/topology_sysfs.c", "siblings"): "files of sysfs have that name",
    ("tests/machine/test_topology.c", "siblings"): "files of sysfs have that name",
    ("tests/tsan.supp", "race"): "the keyword of ThreadSanitizer",
}

GAP = r"[\s*#]+"  # between the words of a term: a line may end there
# Ordinary uses of a term.
ORDINARY = re.compile(rf"data{GAP}rac(?:es?|ing)|race{GAP}conditions?", re.I)


# Each term as whole words, also in an identifier such as `room_of`. The first letters are there for speed.
FIRST = "".join(sorted({term.lstrip("(")[0] for term in TERMS}))
ANY = re.compile(rf"(?<![A-Za-z])(?=[{FIRST}])(?:" +
                 "|".join(f"(?P<t{i}>{term.replace(' ', GAP)})" for i, term in enumerate(TERMS)) + ")(?![A-Za-z])", re.I)
# A comment or docstring that begins with a pronoun in place of its subject.
STAND_IN = re.compile(r'(?:/\*+|//|"""|^[ \t]*#)\s*(Where|Who|Whoever|Those)\b', re.M)


def files():
    """Yields the files of CLEAN, relative to the root."""
    for name in CLEAN:
        for path in [common.ROOT / name] if (common.ROOT / name).is_file() else sorted((common.ROOT / name).rglob("*")):
            if path.is_file() and path.suffix in KINDS and "corpus" not in path.parts:
                yield path.relative_to(common.ROOT).as_posix()


def hits(text):
    """Yields (offset, matched text, what to use instead) for each retired term."""
    text = ORDINARY.sub(lambda match: " " * len(match.group()), text)
    for match in ANY.finditer(text):
        yield match.start(), " ".join(re.split(GAP, match.group())), list(TERMS.values())[int(match.lastgroup[1:])]
    for match in STAND_IN.finditer(text):
        yield match.start(1), match.group(1), "the subject of the sentence"


def main():
    failures, checked, used = [], 0, set()
    for name in files():
        if name == SELF:
            continue
        checked += 1
        text = common.read(name)
        for offset, found, better in hits(text):
            if (name, found.lower()) in ALLOWED:
                used.add((name, found.lower()))
            else:
                failures.append(f"{name}:{common.line_of(text, offset)}: '{found}' is a retired term; use: {better}")
    failures += [f"{name}: '{term}' is allowed and not used" for name, term in sorted(ALLOWED.keys() - used)]
    common.finish(failures, checked)


main()
