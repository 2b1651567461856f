"""The search for einsum's contraction order. The library has opt_einsum's strategies; that package is not needed."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import Optional

from .._config import backend_status
from .._settings import flags as _scope
from .._settings import setting
from ._module import Before, attach, scope, write

__all__ = ["flags", "get_opt_einsum", "is_available", "set_flags"]

enabled: bool
strategy: str


def is_available() -> bool:
    """Returns whether einsum can search for a good order. Always True: the search is part of the library."""
    return backend_status("opt_einsum").available


def get_opt_einsum() -> Optional[ModuleType]:
    """Returns the Python package opt_einsum, for programs that use it themselves; None if it is not installed."""
    return importlib.import_module("opt_einsum") if importlib.util.find_spec("opt_einsum") is not None else None


def flags(enabled: Optional[bool] = None, strategy: Optional[str] = None) -> _scope:
    """Changes the given settings for the calling thread inside a ``with`` block."""
    return scope("opt_einsum.", enabled=enabled, strategy=strategy)


def set_flags(_enabled: Optional[bool] = None, _strategy: Optional[str] = None) -> Before:
    """Sets the given settings for the process (None: unchanged). Returns the previous values, see backends.set_flags()."""
    return write("opt_einsum.", enabled=_enabled, strategy=_strategy)


_strategy = setting("opt_einsum.strategy")


def _assign(module: ModuleType, value: Optional[str]) -> None:
    if value is None:
        _strategy.__delete__(module)
    else:
        _strategy.__set__(module, value)


attach(__name__, "opt_einsum.", strategy=property(lambda module: _strategy.get(), _assign, doc=f"{_strategy.__doc__} None: the default."))
