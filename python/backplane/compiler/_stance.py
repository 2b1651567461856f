"""How compiled functions are called: compiled, or as they were written."""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

from .._errors import bad_type, bad_value
from ._errors import trace_error
from ._trace import current

Function = TypeVar("Function", bound=Callable[..., Any])

_STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile")


class Stance:
    """The stance of the process."""

    name = "default"


class set_stance:
    """Sets how compiled functions are called from now on; as a context manager or decorator, for a block or a function.

    "default" compiles. "force_eager" calls the functions as they were written. "eager_on_recompile" and "fail_on_recompile" use the graphs that
    there are, and for other types and sizes call the function as it was written, or raise RecompileLimitHit.

    >>> with set_stance("force_eager"):
    ...     backplane.compile(abs)(-1.5)
    1.5
    """

    def __init__(self, stance: str = "default") -> None:
        if stance not in _STANCES:
            raise bad_value(f"set_stance: {stance!r} is not accepted; it must be {', '.join(_STANCES[:-1])} or {_STANCES[-1]}")
        self._former, self._stance = Stance.name, stance
        Stance.name = stance

    def __enter__(self) -> set_stance:
        Stance.name = self._stance
        return self

    def __exit__(self, *error: Any) -> None:
        Stance.name = self._former

    def __call__(self, function: Function) -> Function:
        if not callable(function):
            raise bad_type(f"set_stance: expects a function, but got {function!r}")
        Stance.name = self._former

        @functools.wraps(function)
        def call(*arguments: Any, **names: Any) -> Any:
            with set_stance(self._stance):
                return function(*arguments, **names)

        return call  # type: ignore[return-value]


def disable(fn: Any = None, recursive: bool = True, *, reason: str = "") -> Any:
    """Marks a function that is not compiled: compile() returns it as it is, and a traced function that calls it is an error, with the
    reason."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if not recursive:
        raise bad_value("disable: recursive is False; what a function calls is not compiled by itself")

    @functools.wraps(fn)
    def call(*arguments: Any, **names: Any) -> Any:
        if current() is not None:
            because = f": {reason}" if reason else ""
            raise trace_error(f"{getattr(fn, '__name__', fn)} is called, which backplane.compiler.disable() excludes{because}")
        return fn(*arguments, **names)

    call._is_not_compiled = True  # type: ignore[attr-defined]
    return call


def is_compiling() -> bool:
    """Returns whether the calling thread traces a function."""
    return current() is not None


def is_dynamo_compiling() -> bool:
    """The same as is_compiling()."""
    return current() is not None
