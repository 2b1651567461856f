"""Checks that dispatch, tuning and calibration name no single operation: what they need of one is a field of its family
(bp__family, bp__measuring), or a row of the family's list of classes."""

import re

import common

FOLDERS = ("src/dispatch", "src/tuning", "src/calibration")
# An operation, the parameters of one family, and the description of one.
NAMES = re.compile(r"\bBP_OP_(?!MAP\b)\w+|\bof\s*\.\s*[a-z_]+|\bbp__(?:family|measuring)_(?!at\b|of\b|limits\b)[a-z_]+")
# The table of the families is made of these names.
TABLE = re.compile(r"bp__(?:family|measuring)_##name|bp__family_##family")


def main():
    failures, checked = [], 0
    for folder in FOLDERS:
        for path in common.sources(folder):
            code = TABLE.sub(lambda match: " " * len(match.group()), common.code_of(path))
            checked += 1
            for match in NAMES.finditer(code):
                failures.append(f"{path}:{common.line_of(code, match.start())}: names {match.group()}; a field of bp__family tells what it is for")
    common.finish(failures, checked)


main()
