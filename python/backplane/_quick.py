"""Functions whose most frequent form, arrays alone, runs without a frame of Python. The extension has that form, and a function of Python
all others."""

from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

from . import _core

# The functions of Python of those that were made; signatures and explanations are theirs.
SLOW: Dict[Callable[..., Any], Callable[..., Any]] = {}


def _signature(function: Any) -> str:
    """Returns the parameters of a function with their defaults, as the text of a builtin function has them."""
    code, defaults, named = function.__code__, function.__defaults__ or (), function.__kwdefaults__ or {}
    names = code.co_varnames[: code.co_argcount]
    parts = [name for name in names[: len(names) - len(defaults)]]
    parts += [f"{name}={value!r}" for name, value in zip(names[len(parts) :], defaults)]
    if code.co_posonlyargcount:
        parts.insert(code.co_posonlyargcount, "/")
    if code.co_kwonlyargcount:
        words = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        parts += ["*", *(f"{name}={named[name]!r}" if name in named else name for name in words)]
    return ", ".join(parts)


def quick(function: Any, parts: Tuple[Any, ...]) -> Any:
    """Makes a function of one of Python and what its frequent form is: (kind, name), or described()."""
    signature = getattr(function, "__wrapped__", function)
    text = f"{function.__name__}({_signature(signature)})\n--\n\n{function.__doc__ or ''}"
    made = _core.quick(function, function.__module__, function.__name__, text, parts)
    SLOW[made] = function
    return made


def described(
    name: str,
    arrays: Tuple[str, ...],
    least: int,
    parameters: Dict[str, Any],
    flags: Tuple[str, ...] = (),
    unless: Tuple[Any, Any] = (None, None),
) -> Tuple[Any, ...]:
    """Returns the frequent form of a function that calls.h describes: the arrays that it takes (the first ``least`` are needed), its
    parameters, and the flags that a call may give. It is not taken if the dict ``unless[0]`` has another value than False under the name
    ``unless[1]``."""
    return (name, arrays, least, "output", parameters, flags, *unless)
