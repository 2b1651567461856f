"""Checks that dispatch, tuning and calibration name no single operation: what they need of one is a field of its family
(bp__family, bp__measuring), or a row of the family's list of classes. And that no other code of the library, the command
and the references names a family outside its own files, so that a further family needs no line there."""

import re

import common

FOLDERS = ("src/dispatch", "src/tuning", "src/calibration")
# An operation, the parameters of one family, and the description of one.
NAMES = re.compile(r"\bBP_OP_(?!MAP\b)\w+|\bof\s*\.\s*[a-z_]+|\bbp__(?:family|measuring)_(?!at\b|of\b|limits\b)[a-z_]+")
# The table of the families is made of these names.
TABLE = re.compile(r"bp__(?:family|measuring)_##name|bp__family_##family")


# Elsewhere in src, a family whose row in BP_FAMILY_MAP has its settings is named in files of its own: <family>.[ch],
# <family>_*.[ch] or a folder <family>, or these. Providers are not checked: each lists the operations that it offers.
OWN = {
    "batch_norm": ("src/ops/normalization/", "src/reference/norm.c", "src/graph/rewrite_norm.c"),
    "layer_norm": ("src/ops/normalization/", "src/reference/norm.c"),
    "elementwise": ("src/reference/elements.c", "src/graph/rewrite_attention.c"),
    "reduce": ("src/graph/rewrite_attention.c",),
}
OPERATION = re.compile(r'X\(\d+, (\w+), "\w+", "[^"]*", "[^"]*", (\w+)\)')
FAMILY = re.compile(r"F\(X, (\w+), (?:STRUCT|ARGUMENTS), SETTINGS, ")


def of_layers(path, code):
    for match in NAMES.finditer(TABLE.sub(lambda match: " " * len(match.group()), code)):
        yield match.start(), f"names {match.group()}; a field of bp__family tells what it is for"


def family_names():
    """Returns what names each family: its structs, its operations and its member of a union."""
    text = common.read("include/backplane/operation.h")
    operations = OPERATION.findall(text)
    families = FAMILY.findall(text)
    assert len(families) >= 9 and len(operations) >= 53
    for family in families:
        own = "|".join(operation for operation, of in operations if of == family)
        yield family, re.compile(rf"\bbp_{family}_\w+|\bBP_{family.upper()}_\w+|\bof\s*(?:\.|->)\s*{family}\b|\bBP_OP_(?:{own})\b")


def of_families(path, code, families):
    for family, names in families:
        own = any(re.match(rf"{family}(_\w+)?(\.[ch])?$", part) for part in path.parts)
        if own or str(path).startswith(OWN.get(family, ("?",))):
            continue
        for match in names.finditer(code):
            yield match.start(), f"names {match.group()}, of the family {family}; its row in BP_FAMILY_MAP or a file of its own has what is needed"


def main():
    failures, checked, families = [], 0, list(family_names())
    for path in common.sources("src"):
        if str(path).startswith("src/providers/"):
            continue
        code = common.code_of(path)
        checked += 1
        found = list(of_families(path, code, families))
        found += of_layers(path, code) if str(path).startswith(FOLDERS) else []
        failures += [f"{path}:{common.line_of(code, offset)}: {what}" for offset, what in found]
    common.finish(failures, checked)


main()
