"""Checks that the Python distribution is called libbackplane everywhere, because `backplane` on PyPI is another project: in pyproject.toml, at the
head of README.md, and wherever a text installs it or asks for its metadata."""

import re

import common

NAME = "libbackplane"
OTHERS_NAME = [
    re.compile(r"\bpip3?\b[^\n`]*? (?:install|uninstall|download|show)(?: -\S+)* [\"']?backplane(?![\w/.-])"),
    re.compile(r"\b(?:metadata\.)?(?:version|distribution|metadata|requires|files)\([\"']backplane[\"']\)"),
    re.compile(r"(?<![\w/])backplane-[\d*.]+(?:dist-info|-cp|-py|\.tar\.gz)"),
]


def faults(text):
    """Returns what a text says about the distribution by the other project's name."""
    return [found.group() for pattern in OTHERS_NAME for found in pattern.finditer(text)]


def faults_of_the_rule():
    """Returns where the rule itself fails: it must find each kind, and let the others pass."""
    found = ["pip install backplane", "python3 -m pip install --user backplane", "metadata.version(\"backplane\")", "backplane-0.1.0-cp39-abi3"]
    passed = ["pip install .", "pip install libbackplane", "metadata.version(\"libbackplane\")", "libbackplane-0.1.0-cp39-abi3", "import backplane"]
    return [f"not found: {text}" for text in found if not faults(text)] + [f"found: {text}" for text in passed if faults(text)]


def main():
    failures, checked = faults_of_the_rule(), 0
    for path in common.committed():
        if str(path) == "tests/checks/distribution.py" or not (common.ROOT / path).is_file():
            continue
        try:
            text = common.read(path)
        except UnicodeDecodeError:
            continue
        checked += 1
        failures += [f"{path}: \"{fault}\" is another project; this distribution is called {NAME}" for fault in faults(text)]
    if f'\nname = "{NAME}"\n' not in common.read("pyproject.toml"):
        failures.append(f"pyproject.toml: the distribution is not called {NAME}")
    if f"`{NAME}`" not in common.read("README.md").partition("\n- ")[0]:
        failures.append(f"README.md: the text before the first list does not say that the distribution is called {NAME}")
    common.finish(failures, checked)


main()
