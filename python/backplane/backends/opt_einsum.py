"""The Python package opt_einsum, which finds the order of einsum's products."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import Any, Optional

from .._errors import bad_value
from .._settings import setting
from .._settings import flags as _scope
from ._module import LEAVE, Before, Bool, Word, attach, scope, write

enabled: bool
strategy: str


def is_available() -> bool:
    """Whether the package is installed."""
    return importlib.util.find_spec("opt_einsum") is not None


def get_opt_einsum() -> Optional[ModuleType]:
    """The package itself, None where it is not installed."""
    return importlib.import_module("opt_einsum") if is_available() else None


def _check(enabled: object) -> None:
    if enabled is True and not is_available():
        raise bad_value("opt_einsum.enabled: cannot be switched on, because the package opt_einsum is not installed")


def flags(enabled: Optional[bool] = None, strategy: Optional[str] = None) -> _scope:
    """Changes what is named for the calling thread inside a ``with`` block."""
    _check(enabled)
    return scope("opt_einsum.", enabled=enabled, strategy=strategy)


def set_flags(_enabled: Bool = LEAVE, _strategy: Word = LEAVE) -> Before:
    """Sets what is named for the process, and returns what brings back the state before; see backends.set_flags()."""
    _check(_enabled)
    return write("opt_einsum.", enabled=_enabled, strategy=_strategy)


def _read_enabled(module: object) -> bool:
    return is_available() and bool(setting("opt_einsum.enabled").get())


def _write_enabled(module: object, value: Any) -> None:
    _check(value)
    setting("opt_einsum.enabled").__set__(module, value)


def _delete_enabled(module: object) -> None:
    setting("opt_einsum.enabled").__delete__(module)


attach(
    __name__,
    "opt_einsum.",
    enabled=property(
        _read_enabled, _write_enabled, _delete_enabled, "Whether einsum orders its products: installed, and not switched off."
    ),
)
