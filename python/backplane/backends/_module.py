"""Makes a module speak settings: its attributes are rows of the table, and no others can be assigned."""

from __future__ import annotations

import enum
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Iterable, List, Mapping, NoReturn, Optional, Tuple, Union

from .. import _core
from .._errors import failure
from .._settings import Value, flags, members, refuse_name, set_flags, setting


def _is_pythons_own(module: ModuleType, name: str, value: Any) -> bool:
    """What Python itself stores in a module: its own names, and a submodule that is being imported."""
    return (name.startswith("__") and name.endswith("__")) or (
        isinstance(value, ModuleType) and sys.modules.get(f"{module.__name__}.{name}") is value
    )


class ClosedModule(ModuleType):
    """A module without settings, where a name that it does not have is refused; one that it has may be replaced."""

    def __getattr__(self, name: str) -> NoReturn:
        refuse_name(self.__name__, name, [known for known in self.__dict__ if not known.startswith("_")])

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__ and not _is_pythons_own(self, name, value):
            self.__getattr__(name)
        super().__setattr__(name, value)


def close(module_name: str) -> None:
    """Refuses names that the module does not have by now."""
    sys.modules[module_name].__class__ = ClosedModule


class SettingsModule(ModuleType):
    """A module whose settings are read and written as attributes; a name it does not have is refused both ways."""

    # A module's own way to read an attribute asks for a function __getattr__ in it, which costs more than the read.
    __getattribute__ = object.__getattribute__

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
        # Besides that, a function that a test replaces.
        return _is_pythons_own(self, name, value) or (callable(self.__dict__.get(name)) and callable(value))

    def __dir__(self) -> List[str]:
        settings = [name for name in vars(type(self)) if not name.startswith("_")]
        return sorted({*(name for name in self.__dict__ if not name.startswith("_")), *settings})


def _describe(rows: Mapping[str, Any]) -> str:
    lines = [f"    {name}: {row.__doc__}" for name, row in rows.items() if isinstance(row, (_core.Setting, property))]
    return "\n\nSettings:\n\n" + "\n\n".join(lines) if lines else ""


def attach(module_name: str, prefix: str, only: Optional[Iterable[str]] = None, **facts: property) -> None:
    """Gives a module the settings below a prefix (``only`` some of them), and facts that are computed when read. What the
    module itself defines wins over a setting of that name."""
    module = sys.modules[module_name]
    rows = {name: row for name, row in members(prefix).items() if name not in vars(module)}
    if only is not None:
        rows = {name: row for name, row in rows.items() if name in only}
    rows.update(facts)
    module.__doc__ = (module.__doc__ or "") + _describe(rows)
    module.__class__ = type("SettingsModule", (SettingsModule,), rows)


class Leave(enum.Enum):
    """The default of what set_flags() takes, so that None can be an answer of it and go back in."""

    LEAVE = "leave"

    def __repr__(self) -> str:
        return "LEAVE"


LEAVE = Leave.LEAVE


class Nodes(Dict[str, Optional[Value]]):
    """What the nodes under an allow_tf32 stored, where no single bool says it."""


Back = Union[None, Nodes, Leave]
Bool = Union[bool, Back]
Int = Union[int, Back]
Word = Union[str, Back]
Before = Tuple[Union[Value, Back], ...]


def scope(prefix: str, **given: Optional[Value]) -> flags:
    """The settings that were given, for the calling thread."""
    return flags({f"{prefix}{name}": value for name, value in given.items() if value is not None})


def write(prefix: str, **given: Union[Value, Back]) -> Before:
    """Sets what was given for the whole process, and returns what brings back the state before, in the arguments' order.

    None takes the process layer's value away, and is returned where that layer stored none: the value in force was then
    inherited or a default, and writing it back would make it a fixed one.
    """
    before = tuple(LEAVE if value is LEAVE else _before(setting(f"{prefix}{name}")) for name, value in given.items())
    changes: Dict[str, Optional[Value]] = {}
    for name, value in given.items():
        if isinstance(value, Nodes):
            changes.update(value)
        elif not isinstance(value, Leave):
            changes[f"{prefix}{name}"] = value
    set_flags({name: value for name, value in changes.items() if value is not None})
    for name, value in changes.items():
        if value is None:
            setting(name).unset()
    return before


def _before(row: _core.Setting) -> Union[Value, None, Nodes]:
    targets = row.affects.split(", ") if row.name.endswith(".allow_tf32") else []
    nodes = Nodes((name, setting(name).stored("process")) for name in targets)
    if nodes and set(nodes.values()) not in ({None}, {"ieee"}, {"tf32"}):
        return nodes
    text = row.stored("process")
    if text is None or row.type in ("word", "text"):
        return text
    return text == "true" if row.type == "bool" else int(text)


def fact(read: Callable[[], Any], text: str) -> property:
    """An attribute of a module that is computed when it is read."""
    return property(lambda module: read(), doc=text)
