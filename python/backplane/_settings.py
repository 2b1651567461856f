"""Reads and writes settings as attributes, in scopes, and for the process. Names come from the library's table.

Each dot of a name is an attribute access: ``settings.cudnn.deterministic``. A dot may also be written as two underscores.
That is necessary if the beginning of the name is itself a setting: ``settings.deterministic_algorithms__warn_only``.
"""

from __future__ import annotations

import contextlib
import difflib
import inspect
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, NoReturn, Optional, Tuple, TypeVar, Union, cast

from . import _core
from ._errors import bad_type, failure
from ._html import table as html_table
from ._traced import refuse_while_tracing

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings_tree import Keywords, Named, Root

Value = Union[bool, int, str]
table: Mapping[str, _core.Setting] = _core.table


def refuse_name(place: str, name: str, known: List[str]) -> NoReturn:
    """Raises UnknownNameError with the nearest known names."""
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(repr(one) for one in near)}?" if near else ""
    raise failure(_core.UnknownNameError, "E_UNKNOWN_NAME", f"{place} has no '{name}'{hint}")


def setting(name: str) -> _core.Setting:
    """Returns the setting: its type, default, allowed values, variable and help, and get(), set(), unset(), origin()."""
    if name not in table:
        refuse_name("the table of settings", name, list(table))
    return table[name]


class Settings:
    """The settings whose names have a common beginning.

    Reading an attribute returns the effective value for the calling thread. Assignment writes the process layer, ``del``
    removes the value from it. An unknown name raises AttributeError, also on assignment. ``settings[name]`` accepts dotted
    names.
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

    if not TYPE_CHECKING:  # type checkers know the names from _settings_tree.pyi; these methods would accept any

        def __getattr__(self, name: str) -> Any:  # called only if there is no attribute with this name
            return self._find(name).get()

        def __setattr__(self, name: str, value: Any) -> None:
            self._find(name).__set__(self, value)

        def __delattr__(self, name: str) -> None:
            self._find(name).__delete__(self)

    def _repr_html_(self) -> str:
        rows = ((name, self._find(name)) for name in self._names())
        return html_table(
            ("setting", "value", "from", "what it is for"),
            ((name, str(row.get()), ": ".join(filter(None, row.origin()[:2])), row.help) for name, row in rows),
        )

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
    """Returns the attributes of a class for the settings below a prefix: settings, and Settings objects for longer names."""
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
    # Each prefix gets its own class, so that help() lists the settings and a read is an ordinary attribute access.
    inside = members(prefix)
    inside["__slots__"] = ()
    inside["_prefix"] = prefix
    inside["__doc__"] = Settings.__doc__
    made: Settings = type("Settings", (Settings,), inside)()
    return made


settings: Root = cast("Root", _tree(""))


def collect(names: Optional[Mapping[str, object]], more: Mapping[str, object]) -> Dict[str, Value]:
    """Merges a mapping of dotted names, and keywords with two underscores for each dot, into one dict by dotted name."""
    chosen = cast(Dict[str, Value], dict(names or {}))
    for key, value in cast(Mapping[str, Value], more).items():
        name = key if key in table else key.replace("__", ".")
        if name in chosen:
            raise bad_type(f"{name} is given twice")
        chosen[name] = value
    return chosen


def named(names: Mapping[str, Value]) -> Named:
    """Returns names that are known at run time only, for a function that checks them then."""
    return cast("Named", names)


Function = TypeVar("Function", bound=Callable[..., Any])
_RUN_LATER = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)


class flags(contextlib.ContextDecorator):
    """Changes settings for the calling thread inside a ``with`` block, or during each call of a decorated function.

    ``with flags(num_threads=1, cudnn__deterministic=True):`` or, with dotted names, ``with flags({"cudnn.deterministic":
    True}):``. Other settings keep their values. Names and values are checked when the object is created. Blocks nest.
    Leaving one restores the stored values exactly, in any order. The thread that entered a block must leave it.

    >>> with flags(num_threads=1):
    ...     settings.num_threads
    1
    """

    def __init__(self, names: Optional[Named] = None, /, **more: Unpack[Keywords]) -> None:
        self._options = _core.Options(named(collect(names, more)))
        self._scope = _core.Scope(self._options)

    def __call__(self, function: Function) -> Function:
        # The bodies of generators and coroutines run later, after the call that the decorator wraps has returned.
        if any(is_kind(function) for is_kind in _RUN_LATER):
            raise bad_type(
                f"flags: cannot decorate {function!r}, because calling it does not run its body; use 'with' inside it instead"
            )
        return super().__call__(function)

    def _recreate_cm(self) -> flags:  # for ContextDecorator: each call of a decorated function has its own scope
        fresh = flags.__new__(flags)
        fresh._options = self._options
        fresh._scope = _core.Scope(self._options)
        return fresh

    def __enter__(self) -> flags:
        refuse_while_tracing("flags() is in a traced function; the settings of the compiled function are those that its caller has")
        self._scope.enter()
        return self

    def __exit__(self, *exception: object) -> None:
        self._scope.leave()


def set_flags(names: Optional[Named] = None, /, **more: Unpack[Keywords]) -> None:
    """Sets settings for the whole process; names as in flags(). All values are checked before any setting changes."""
    chosen = collect(names, more)
    _core.Options(named(chosen))
    for name, value in chosen.items():
        table[name].check(value)
    for name, value in chosen.items():
        table[name].set(value)


def origins() -> Dict[str, Tuple[str, str, str]]:
    """Returns (layer, where, value as text) of each setting whose layer is not the default."""
    found = {name: row.origin() for name, row in table.items()}
    return {name: origin for name, origin in found.items() if origin[0] != "default"}
