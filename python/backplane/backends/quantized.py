"""The library for quantized operations."""

from __future__ import annotations

from typing import Any, List

from .._core import Error
from .._errors import failure
from .._settings import setting
from typing import List

from ._module import attach, fact

__all__: List[str] = []

engine: str
supported_engines: List[str]


# This library has no quantized operations, so "none" is the only valid engine.
_SUPPORTED = ["none"]


def _read_engine(module: object) -> Any:
    return setting("quantized.engine").get()


def _write_engine(module: object, value: Any) -> None:
    row = setting("quantized.engine")
    # An unknown engine is refused by the setting itself.
    if isinstance(value, str) and value.lower() in row.allowed.split("|") and value.lower() not in _SUPPORTED:
        raise failure(Error, "E_UNSUPPORTED", f"quantized.engine: '{value}' is not supported here; supported_engines has those that are")
    row.__set__(module, value)


def _delete_engine(module: object) -> None:
    setting("quantized.engine").__delete__(module)


attach(
    __name__,
    "quantized.",
    engine=property(_read_engine, _write_engine, _delete_engine, setting("quantized.engine").__doc__),
    supported_engines=fact(lambda: list(_SUPPORTED), "The engines that can run here (read-only)."),
)
