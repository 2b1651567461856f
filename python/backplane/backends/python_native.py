"""The switches of operations that PyTorch implements in Python's kernel languages: Triton, CuTe DSL and Helion.

Backplane has no operation in these languages: available_dsls is empty, and the switches keep what a program sets and steer nothing.
"""

from __future__ import annotations

import contextlib
from typing import Dict, Iterator, List, Optional, Set

from .. import _core
from .._errors import bad_type, failure
from ._module import attach, fact

__all__ = [
    "disable_dispatch_keys",
    "disable_operations",
    "enable_dispatch_keys",
    "enable_operations",
    "get_dsl_operations",
    "is_dsl_disabled",
    "is_operation_disabled",
    "operations_disabled",
]

available_dsls: List[str]
all_dsls: List[str]

_off: Dict[str, Set[str]] = {"dsl": set(), "operation": set(), "key": set()}


def _switch(kind: str, names: tuple[str, ...], on: bool) -> None:
    if not all(isinstance(name, str) for name in names):
        raise bad_type(f"python_native: expects names, but got {names!r}")
    _off[kind] = _off[kind] - set(names) if on else _off[kind] | set(names)


class _Dsl:
    """A language: ``enabled`` may be assigned, and steers nothing."""

    __slots__ = ("_name",)
    _name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    @property
    def name(self) -> str:
        """The language's name."""
        return self._name

    @property
    def available(self) -> bool:
        """False: there is no operation in this language."""
        return False

    @property
    def version(self) -> Optional[str]:
        """None."""
        return None

    @property
    def enabled(self) -> bool:
        """Whether the language is switched on."""
        return self._name not in _off["dsl"]

    @enabled.setter
    def enabled(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise bad_type(f"python_native.{self._name}.enabled: expects a bool, but got {type(value).__name__}")
        if _core.is_frozen():
            raise failure(
                _core.Error,
                "E_READ_ONLY",
                f"python_native.{self._name}.enabled: assignment was switched off by backends.disable_global_flags(); use disabled()",
            )
        _switch("dsl", (self._name,), value)

    def enable(self) -> None:
        """Switches the language on."""
        _switch("dsl", (self._name,), True)

    def disable(self) -> None:
        """Switches the language off."""
        _switch("dsl", (self._name,), False)

    @contextlib.contextmanager
    def disabled(self) -> Iterator[None]:
        """Switches the language off inside a ``with`` block."""
        with _restored("dsl"):
            self.disable()
            yield

    def __repr__(self) -> str:
        return f"<backplane.backends.python_native.{self._name}: unavailable, {'enabled' if self.enabled else 'disabled'}>"


@contextlib.contextmanager
def _restored(kind: str) -> Iterator[None]:
    before = _off[kind]
    try:
        yield
    finally:
        _off[kind] = before


triton = _Dsl("triton")
cutedsl = _Dsl("cutedsl")
helion = _Dsl("helion")


def get_dsl_operations(dsl_name: str) -> List[str]:
    """Returns an empty list: no operation is in any of the languages."""
    return []


def disable_operations(*op_symbols: str) -> None:
    """Switches operations off, by name. There are none, so that any name is accepted and nothing changes in what runs."""
    _switch("operation", op_symbols, False)


def enable_operations(*op_symbols: str) -> None:
    """Switches operations on again."""
    _switch("operation", op_symbols, True)


def disable_dispatch_keys(*dispatch_keys: str) -> None:
    """Switches the operations of dispatch keys such as CUDA off. There are none."""
    _switch("key", dispatch_keys, False)


def enable_dispatch_keys(*dispatch_keys: str) -> None:
    """Switches the operations of dispatch keys on again."""
    _switch("key", dispatch_keys, True)


@contextlib.contextmanager
def operations_disabled(*op_symbols: str) -> Iterator[None]:
    """Switches operations off inside a ``with`` block."""
    with _restored("operation"):
        disable_operations(*op_symbols)
        yield


def is_operation_disabled(op_symbol: str) -> bool:
    """Returns whether an operation is switched off."""
    return op_symbol in _off["operation"]


def is_dsl_disabled(dsl_name: str) -> bool:
    """Returns whether a language is switched off."""
    return dsl_name in _off["dsl"]


attach(
    __name__,
    "python_native.",
    available_dsls=fact(list, "The languages with operations: none."),
    all_dsls=fact(lambda: ["cutedsl", "helion", "triton"], "The names of the languages."),
)
