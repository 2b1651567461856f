"""Settings as attributes, scopes and process-wide writes: all made from the library's one table.

A setting's dots are attributes: ``settings.cudnn.deterministic``. Where a name is itself a setting and also begins other
names, as ``deterministic_algorithms`` does, dots may be written as two underscores, and everywhere else too:
``settings.deterministic_algorithms__warn_only``.
"""

from __future__ import annotations

import contextlib
import difflib
import inspect
from typing import Any, Callable, Dict, Iterator, List, Mapping, NoReturn, Optional, Tuple, TypeVar, Union

from . import _core
from ._errors import bad_type, failure

Value = Union[bool, int, str]
table: Mapping[str, _core.Setting] = _core.table


def refuse_name(place: str, name: str, known: List[str]) -> NoReturn:
    """Raises for a name that is not there, with the nearest ones."""
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(repr(one) for one in near)}?" if near else ""
    raise failure(_core.UnknownNameError, "E_UNKNOWN_NAME", f"{place} has no '{name}'{hint}")


def setting(name: str) -> _core.Setting:
    """The row of a setting: its type, default, allowed values, variable and help, and get(), set(), unset(), origin()."""
    if name not in table:
        refuse_name("the table of settings", name, list(table))
    return table[name]


class Settings:
    """Settings that share the beginning of their names.

    Reading an attribute gives the value in force for the calling thread, assigning writes the process layer, and ``del``
    takes that away again. A name that no setting has is an AttributeError, on reading and on assignment. ``settings[name]``
    takes dotted names.
    """

    __slots__ = ()
    _prefix = ""

    def _names(self) -> List[str]:
        return [name[len(self._prefix) :] for name in table if name.startswith(self._prefix)]

    def _find(self, name: str) -> _core.Setting:
        row = table.get(self._prefix + name) or table.get(self._prefix + name.replace("__", "."))
        if row is None:
            refuse_name(self._place(), name, sorted({*self._names(), *dir(self)}))
        return row

    def _place(self) -> str:
        return f"settings.{self._prefix.rstrip('.')}".rstrip(".")

    def __getattr__(self, name: str) -> Any:  # called where no attribute has the name
        return self._find(name).get()

    def __setattr__(self, name: str, value: Any) -> None:
        self._find(name).__set__(self, value)

    def __delattr__(self, name: str) -> None:
        self._find(name).__delete__(self)

    def __getitem__(self, name: str) -> Value:
        return self._find(name).get()

    def __setitem__(self, name: str, value: Value) -> None:
        self._find(name).__set__(self, value)

    def __delitem__(self, name: str) -> None:
        self._find(name).__delete__(self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._prefix + name in table

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __dir__(self) -> List[str]:
        return sorted({name.partition(".")[0] for name in self._names()})

    def __repr__(self) -> str:
        return "\n".join(f"{self._prefix}{name} = {self[name]!r}" for name in self)


def members(prefix: str) -> Dict[str, Any]:
    """What a class for the settings below a prefix holds: Settings rows, and objects for longer names."""
    found: Dict[str, Any] = {}
    for name, row in table.items():
        if name.startswith(prefix):
            head, dot, _ = name[len(prefix) :].partition(".")
            if not dot:
                found[head] = row
            elif head not in found:
                found[head] = _tree(f"{prefix}{head}.")
    return found


def _tree(prefix: str) -> Settings:
    # A class of its own, so that help() lists the settings and a read is an ordinary attribute access.
    inside = members(prefix)
    inside["__slots__"] = ()
    inside["_prefix"] = prefix
    inside["__doc__"] = Settings.__doc__
    made: Settings = type("Settings", (Settings,), inside)()
    return made


settings: Settings = _tree("")


def collect(names: Optional[Mapping[str, Value]], more: Mapping[str, Value]) -> Dict[str, Value]:
    """One dict by dotted name, from a mapping of dotted names and from keywords with two underscores for each dot."""
    chosen = dict(names or {})
    for key, value in more.items():
        name = key if key in table else key.replace("__", ".")
        if name in chosen:
            raise bad_type(f"{name} is given twice")
        chosen[name] = value
    return chosen


Function = TypeVar("Function", bound=Callable[..., Any])
_RUN_LATER = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)


class flags(contextlib.ContextDecorator):
    """Settings for the calling thread inside a ``with`` block, or during each call of a decorated function.

    ``with flags(num_threads=1, cudnn__deterministic=True):`` or, with dotted names, ``with flags({"cudnn.deterministic":
    True}):``. Only what is named changes. Names and values are checked when the object is made. Blocks nest, and leaving
    one, in whatever order, restores exactly what was stored; it must be left by the thread that entered it.
    """

    def __init__(self, names: Optional[Mapping[str, Value]] = None, /, **more: Value) -> None:
        self._options = _core.Options(collect(names, more))
        self._scope = _core.Scope(self._options)

    def __call__(self, function: Function) -> Function:
        # Their bodies run later, in pieces, and not inside the call that a decorator surrounds.
        if any(is_kind(function) for is_kind in _RUN_LATER):
            raise bad_type(
                f"flags: cannot decorate {function!r}, because calling it runs none of its body; open the scope inside, with 'with'"
            )
        return super().__call__(function)

    def _recreate_cm(self) -> flags:  # of ContextDecorator: each call of a decorated function has a scope of its own
        fresh = flags.__new__(flags)
        fresh._options = self._options
        fresh._scope = _core.Scope(self._options)
        return fresh

    def __enter__(self) -> flags:
        self._scope.enter()
        return self

    def __exit__(self, *exception: object) -> None:
        self._scope.leave()


def set_flags(names: Optional[Mapping[str, Value]] = None, /, **more: Value) -> None:
    """Sets settings for the whole process, named as in flags(). All are checked before any is changed."""
    chosen = collect(names, more)
    _core.Options(chosen)
    for name, value in chosen.items():
        table[name].check(value)
    for name, value in chosen.items():
        table[name].set(value)


def origins() -> Dict[str, Tuple[str, str, str]]:
    """(layer, where, value as text) of each setting that differs from its default."""
    found = {name: row.origin() for name, row in table.items()}
    return {name: origin for name, origin in found.items() if origin[0] != "default"}
