"""Names of element types, and conversions of arrays of any library to another type."""

from __future__ import annotations

import sys
from typing import Any

from ._convert import type_of
from ._dtypes import SHORT_NAMES
from ._elements import run, type_name
from ._products import _is_numpy, _is_torch

LONG_NAMES = {short: long for long, short in SHORT_NAMES.items()}
"""The names of element types that NumPy and torch have, by the library's."""


def short_name(dtype: Any) -> str:
    """Returns the library's name of an element type of any library."""
    name = type_name(dtype)
    return SHORT_NAMES.get(name, name)


def kind_of(array: Any) -> str:
    """Returns the library's name of the element type of any array."""
    return short_name(array.dtype) if _is_numpy(array) or _is_torch(array) else type_of(array)


def converted(array: Any, kind: str) -> Any:
    """Returns the array with another element type. NumPy and torch convert types that the library does not have."""
    if kind_of(array) == kind:
        return array
    name = LONG_NAMES.get(kind, kind)
    if _is_torch(array) and hasattr(sys.modules["torch"], name):
        return array.to(getattr(sys.modules["torch"], name))
    return array.astype(name) if _is_numpy(array) and kind != "bf16" else run("unary", "copy", (array,), None, None, False, 0, kind)
