"""site_files.py - names the files that `make site` copies into the site. Its pages may link to them alone, which tests/checks/links.py checks
without Sphinx."""
import os

COPIED = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "docs", "include", "examples", "data",
          "bench/elementwise.py"]


def has(path):
    """Returns whether the site has a file, whose path is relative to the root."""
    path = os.path.normpath(path)
    return any(path == name or path.startswith(name + "/") for name in COPIED)
