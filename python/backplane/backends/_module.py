"""Module classes: attributes that are settings, and an error for unknown names, also on assignment."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Callable, Dict, Iterable, List, Mapping, NoReturn, Optional, Tuple

from .. import _core
from .._errors import failure
from .._settings import Value, flags, members, named, refuse_name, set_flags, setting


def _is_pythons_own(module: ModuleType, name: str, value: Any) -> bool:
    """Returns whether Python itself stores this in a module: a special name, or a submodule that is being imported."""
    return (name.startswith("__") and name.endswith("__")) or (
        isinstance(value, ModuleType) and sys.modules.get(f"{module.__name__}.{name}") is value
    )


def public_names(module: ModuleType) -> List[str]:
    """Returns the names for dir(): ``__all__``, and names of ``_ALSO`` that are there, which ``import *`` must not copy."""
    inside = module.__dict__
    names = (*inside.get("__all__", ()), *(name for name in inside.get("_ALSO", ()) if name in inside))
    return sorted({name for name in names if name.endswith("__") or not name.startswith("_")})


class ClosedModule(ModuleType):
    """A module without settings. Unknown names are an error, also on assignment; existing names can be replaced."""

    # ModuleType's own lookup also searches the module for a function __getattr__, which takes longer than the read.
    __getattribute__ = object.__getattribute__

    def __getattr__(self, name: str) -> NoReturn:
        refuse_name(self.__name__, name, public_names(self))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__ and not _is_pythons_own(self, name, value):
            self.__getattr__(name)
        super().__setattr__(name, value)

    def __dir__(self) -> List[str]:
        return public_names(self)


def close(module_name: str) -> None:
    """Makes all names an error that the module does not have yet."""
    sys.modules[module_name].__class__ = ClosedModule


class SettingsModule(ModuleType):
    """A module with settings as attributes. Unknown names are an error, also on assignment."""

    __getattribute__ = object.__getattribute__  # as ClosedModule

    def __getattr__(self, name: str) -> NoReturn:
        refuse_name(self.__name__, name, dir(self))

    def __setattr__(self, name: str, value: Any) -> None:
        row = getattr(type(self), name, None)
        writable = isinstance(row, _core.Setting) or (isinstance(row, property) and row.fset is not None)
        if writable or self._may_hold(name, value):
            super().__setattr__(name, value)
        elif name in dir(self):
            raise failure(_core.Error, "E_READ_ONLY", f"{self.__name__}.{name} cannot be assigned")
        else:
            refuse_name(self.__name__, name, dir(self))

    def _may_hold(self, name: str, value: Any) -> bool:
        # A program may replace a function, by what it wants: that is for its own calls.
        return _is_pythons_own(self, name, value) or name in self.__dict__

    def __dir__(self) -> List[str]:
        settings = [name for name in vars(type(self)) if not name.startswith("_")]
        return sorted({*public_names(self), *settings})


def _describe(rows: Mapping[str, Any]) -> str:
    lines = [f"    {name}: {row.__doc__}" for name, row in rows.items() if isinstance(row, (_core.Setting, property))]
    return "\n\nSettings:\n\n" + "\n\n".join(lines) if lines else ""


def attach(module_name: str, prefix: str, only: Optional[Iterable[str]] = None, **facts: property) -> None:
    """Adds to a module the settings below a prefix (with ``only``, some of them), and properties (``facts``). A name that the
    module defines itself takes precedence over a setting."""
    module = sys.modules[module_name]
    rows = {name: row for name, row in members(prefix).items() if name not in vars(module)}
    if only is not None:
        rows = {name: row for name, row in rows.items() if name in only}
    rows.update(facts)
    module.__doc__ = (module.__doc__ or "") + _describe(rows)
    module.__class__ = type("SettingsModule", (SettingsModule,), rows)


def _stores(row: _core.Setting) -> List[str]:
    """Returns the settings that a write to this one changes: the legacy aliases of precision write others."""
    return row.affects.split(", ") if row.name.endswith(".allow_tf32") else [row.name]


class Before(Tuple[Value, ...]):
    """The values before a set_flags(), in the order of its arguments, as PyTorch returns them.

    ``set_flags(*before)`` sets these values again. ``before.restore()`` restores what the process had stored: an inherited or
    default value is not stored, and is inherited again.
    """

    _stored: Dict[str, Optional[str]]

    @classmethod
    def of(cls, rows: List[_core.Setting]) -> Before:
        before = cls(row.get() for row in rows)
        before._stored = {name: setting(name).stored("process") for row in rows for name in _stores(row)}
        return before

    def restore(self) -> None:
        for name, text in self._stored.items():
            row = setting(name)
            if text is None:
                row.unset()
            else:
                row.set(text == "true" if row.type == "bool" else int(text) if row.type == "int" else text)


def scope(prefix: str, **given: Optional[Value]) -> flags:
    """Returns a scope with the settings that are not None, for the calling thread."""
    return flags(named({f"{prefix}{name}": value for name, value in given.items() if value is not None}))


def write(prefix: str, **given: Optional[Value]) -> Before:
    """Sets the settings that are not None for the whole process, and returns all previous values."""
    before = Before.of([setting(f"{prefix}{name}") for name in given])
    set_flags(named({f"{prefix}{name}": value for name, value in given.items() if value is not None}))
    return before


def fact(read: Callable[[], Any], text: str) -> property:
    """Returns a read-only attribute of a module that is computed on each read."""
    return property(lambda module: read(), doc=text)
