"""Checks that no sentence makes a reader find the noun of "that of", "those of", "of which", "that which", "the former" or "the latter":
the noun itself is shorter to read. All text files of the repository are read, in sentences that go over the end of a line too."""

import re

import common

# Between two words of a sentence: a space, the end of a string and the next one, or the end of a line with the beginning of the next
# line of a comment or a list.
GAP = r"\s+(?:\"\s*\n\s*\"|(?:\*|#|//) +)?"
NAMES_NO_NOUN = re.compile(rf"\b(?:(?:that|those){GAP}of|of{GAP}which|(?:that|those){GAP}which|the{GAP}(?:former|latter))\b", re.I)
# Measured output, licences and texts of others.
OTHERS = ("docs/benchmarks/data/", "LICENSE", "tests/fuzz/corpus/")
# It has the words; pages that name them quote them.
OWN = "tests/checks/plain_references.py"


def main():
    failures, checked = [], 0
    for path in common.committed():
        name, path = str(path), common.ROOT / path
        if name == OWN or name.startswith(OTHERS) or not path.is_file() or path.is_symlink():
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        checked += 1
        for match in NAMES_NO_NOUN.finditer(text):
            if path.suffix == ".md" and text[match.start() - 1] == '"':
                continue
            words = re.sub(GAP, " ", match.group())
            failures.append(f"{name}:{common.line_of(text, match.start())}: '{words}' stands for a noun; write the noun")
    common.finish(failures, checked)


main()
