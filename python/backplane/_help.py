"""Completes the help of public functions. A function's own text says what it does, what is special, and has an example. What holds for its
family, and what its signature says, is added here: shapes, element types, defaults and errors."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, List, NamedTuple, Tuple, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class Family(NamedTuple):
    """What all functions of a family have in common. A function whose text has a part of its own does not get the family's."""

    shapes: str
    types: str
    errors: Tuple[str, ...]


_LAYER = "f16, bf16, f32 and f64; all arrays of a call have the same one, unless the text names another. Lists and numbers become NumPy arrays."
_NO_LIBRARY = "Error, a RuntimeError: no library accepts the call, or it failed"
_BAD_TYPE = "BadTypeError, a TypeError: another element type, types that differ, or something that is not an array"
_BAD_VALUE = "BadValueError, a ValueError: a value out of range, shapes that do not fit, or an array for the result that overlaps another"
_ITEM = "LinAlgError: the operation fails on an item, or an item has NaN or infinity"

FAMILIES = {
    "elementwise": Family(
        "any; arrays are broadcast, and the result has the common shape.",
        "f16, bf16, f32 and f64, and i32 and i64 where a function has integers. Integers become the default float type elsewhere.",
        (_BAD_TYPE, _BAD_VALUE, _NO_LIBRARY),
    ),
    "reduce": Family(
        "any. The result lacks the dimensions of ``axis``, or has them with size 1 for ``keepdims``; without an axis all are reduced.",
        "f16, bf16, f32, f64, i32 and i64; sum and prod take all integers, and return i64 for them.",
        (_BAD_TYPE, _BAD_VALUE, _NO_LIBRARY),
    ),
    "linalg": Family(
        "a matrix is the last two dimensions; those before them are a batch, which broadcasts between arrays.",
        "f32, f64, c64 and c128. NumPy's integers become f64, and mixed types one type.",
        (_BAD_TYPE, _BAD_VALUE, _ITEM, _NO_LIBRARY),
    ),
    "fft": Family(
        "any of at least one dimension. The result has the input's shape, with the lengths of ``n`` or ``s``.",
        "f32, f64, c64 and c128. Integers and bools become the default float type of the array's library.",
        (_BAD_TYPE, _BAD_VALUE, _NO_LIBRARY),
    ),
    "cosine": Family(
        "any of at least one dimension. The result has the input's shape, with the lengths of ``n`` or ``s``.",
        "f32 and f64. Integers and bools become the default float type of the array's library.",
        (_BAD_TYPE, _BAD_VALUE, _NO_LIBRARY),
    ),
    "einsum": Family(
        "each operand has a dimension for each of its labels, and equal labels equal sizes or 1; the result has the labels of the output.",
        "f16, bf16, f32, f64, c64 and c128. NumPy computes integers.",
        (_BAD_TYPE, _BAD_VALUE, _NO_LIBRARY),
    ),
    "nn": Family("", _LAYER, (_BAD_TYPE, _BAD_VALUE, _NO_LIBRARY)),
    "random": Family(
        "``size`` is the shape: numbers, or one tuple.",
        "f16, bf16, f32 and f64.",
        (_BAD_TYPE, "BadValueError, a ValueError: a negative size, or an unknown device", "MemoryError: there is no memory for the result"),
    ),
}

_PARTS = ("Shapes: ", "Types: ", "Errors: ")

# What arguments mean that many functions have, if they are not given.
_MEANINGS = {"out": "a new result", "settings": "the settings of the thread"}


def _defaults(function: Any) -> str:
    """Returns the parameters that have a default, with it."""
    code, values, named = function.__code__, function.__defaults__ or (), function.__kwdefaults__ or {}
    names = code.co_varnames[: code.co_argcount]
    given: Dict[str, Any] = {**dict(zip(names[len(names) - len(values) :], values)), **named}
    parts = [f"``{name}`` {value!r}" + (f" ({_MEANINGS[name]})" if name in _MEANINGS and value is None else "") for name, value in given.items()]
    return f"Defaults: {', '.join(parts)}." if parts else "Defaults: none; all arguments are needed."


def _notes(function: Any) -> str:
    """Returns what arguments do that many functions have."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    notes = ["``out`` is written in place and returned."] if "out" in names else []
    notes += ["``settings`` is a dict of dotted names or backplane.Options, for this call only."] if "settings" in names else []
    return " ".join(notes)


def _take(lines: List[str], name: str) -> List[str]:
    """Removes the lines of a part that the text has, up to an empty line or the next part, and returns them."""
    first = next((i for i, line in enumerate(lines) if line.startswith(name)), len(lines))
    last = first + 1
    while last < len(lines) and lines[last] and not lines[last].startswith(_PARTS):
        last += 1
    taken = lines[first:last]
    del lines[first:last]
    return taken


def complete(function: Any, family: str, text: str) -> str:
    """Returns the help of a function: its text, and before the example the parts that it lacks. There is no text with -OO."""
    if not text:
        return text
    of, clean = FAMILIES[family], inspect.cleandoc(text)
    own, mark, example = clean.partition("\n>>> ")
    lines, parts, errors = own.strip().split("\n"), [""], []
    for name, common in (("Shapes: ", of.shapes), ("Types: ", of.types)):
        parts += _take(lines, name) or [name + common]
    while any(line.startswith("Errors: ") for line in lines):
        errors += [line[len("Errors: ") :] for line in _take(lines, "Errors: ")]
    parts += [*filter(None, (_defaults(function), _notes(function))), "Errors:", *(f"    {error}." for error in (*errors, *of.errors))]
    whole = "\n".join(lines).rstrip() + "\n" + "\n".join(parts)
    return f"{whole}\n\nExample:\n{mark}{example}\n" if mark else whole + "\n"


def helped(family: str) -> Callable[[Function], Function]:
    """Decorates a function whose help is completed."""

    def make(function: Function) -> Function:
        function.__doc__ = complete(getattr(function, "__wrapped__", function), family, function.__doc__ or "")
        return function

    return make
