"""Tells the library where the running Python keeps its packages, so that their libraries are found without activation.

The library reads the variable when it makes its list of libraries. A program that this process starts inherits it, so that the
installed command finds the same libraries.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from typing import List

VARIABLE = "BACKPLANE_PYTHON_PATH"

# Roots whose libraries are the system's, which the library searches in an order of its own.
_SYSTEM = ("/", "/usr", "/usr/local")


def _packages() -> List[str]:
    """Returns the folders of installed packages, also Debian's and the user's."""
    found = list(site.getsitepackages()) if hasattr(site, "getsitepackages") else []
    found += [sysconfig.get_path(name) or "" for name in ("purelib", "platlib")]
    if site.ENABLE_USER_SITE:
        found.append(site.getusersitepackages())
    return [folder for folder in found if folder.endswith("-packages")]


def places() -> List[str]:
    """Returns the roots of the environment and of the Python below it, and folders of packages that are not in their `lib`."""
    roots = [root for root in (sys.prefix, sys.exec_prefix, sys.base_prefix) if root not in _SYSTEM]
    inside = tuple(os.path.join(root, "lib", "python3") for root in roots)
    outside = [folder for folder in _packages() if not (inside and folder.startswith(inside))]
    usable = [place for place in roots + outside if os.path.isabs(place) and ":" not in place and os.path.isdir(place)]
    return list(dict.fromkeys(usable))


os.environ[VARIABLE] = ":".join(places())
