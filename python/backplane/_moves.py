"""Padding, flips and rolls for backplane.nn.functional and backplane.elementwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Literal, Optional, Sequence, Tuple, Union

from . import _core
from ._convert import shape_of, with_numpy
from ._dimensions import as_tuple
from ._elements import finish
from ._errors import bad_type, bad_value, whole
from ._products import _like

if TYPE_CHECKING:
    from ._types import Dims, Kind, Out, SettingsArgument


def _call(name: str, array: Any, of: Dict[str, Any], explains: bool, **words: Any) -> Any:
    results = _core.call(name, ("output",), None, of["out"], of["settings"], explains, **words, input=array)
    if explains or results[0] is None:
        return results if explains else of["out"]
    try:
        return _like(results[0], array)
    except TypeError:  # bfloat16, which NumPy has with ml_dtypes only
        return results[0]


def _numbers(name: str, value: Any) -> Tuple[int, ...]:
    """Returns a number, or several, as a tuple."""
    values = (value,) if whole(value) is not None else tuple(value) if isinstance(value, (tuple, list)) else (None,)
    if any(whole(number) is None for number in values):
        raise bad_type(f"{name}: expects whole numbers, but got {value!r}")
    return tuple(int(number) for number in values)


# ---- Padding ----


def _pad(of: Dict[str, Any], explains: bool) -> Any:
    """torch's amounts begin with the last dimension: before and after it, before and after the one before it, and so on."""
    array = with_numpy("pad", (of["input"],))[0]
    amounts, rank = _numbers("pad", of["pad"]), len(shape_of(array))
    if len(amounts) % 2 or len(amounts) > 2 * rank:
        raise bad_value(f"pad: has {len(amounts)} numbers; it must have two for each of the last dimensions, at most {2 * rank}")
    modes = ("constant", "reflect", "replicate", "circular")
    if of["mode"] not in modes:
        raise bad_value(f"mode: is {of['mode']!r}; it must be {', '.join(modes[:-1])} or {modes[-1]}")
    before, after = tuple(reversed(amounts[::2])), tuple(reversed(amounts[1::2]))
    value = 0.0 if of["value"] is None else of["value"]
    words: Dict[str, Any] = dict(mode=of["mode"], ndim=len(before), value=value)
    if before:
        words.update(before=before, after=after)
    return _call("pad", array, of, explains, **words)


def pad(
    input: Kind,
    pad: Sequence[int],
    mode: Literal["constant", "reflect", "replicate", "circular"] = "constant",
    value: Optional[float] = None,
    *,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Adds elements at the ends of dimensions, as torch.nn.functional.pad.

    ``pad`` begins with the last dimension: elements before it and after it, then before and after the last but one, and so on. Negative
    amounts remove elements. The added elements are ``value`` (None: 0), or of the input: the neighbours of the end in reverse (reflect), the
    element at the end (replicate), or the elements of the other end (circular).

    Shapes: any; sizes grow by the amounts.
    Types: f16, bf16, f32, f64, c64, c128, i8, i16, i32, i64, u8, u16, u32, u64 and bool; the result has the same. All bits are kept.
    Errors: BadValueError: an amount is too large for the mode, or removes more than there is; ``value`` is out of the type's range

    >>> backplane.nn.functional.pad(np.array([[1, 2, 3]]), (2, 1), mode="reflect")
    array([[3, 2, 1, 2, 3, 2]])
    """
    return _pad(dict(input=input, pad=pad, mode=mode, value=value, out=out, settings=settings), False)


# ---- Flips and rolls ----


def _flip(of: Dict[str, Any], explains: bool) -> Any:
    array, axes = with_numpy("flip", (of["x"],))[0], as_tuple(of["axis"])
    words: Dict[str, Any] = {} if axes is None else dict(axis_count=len(axes), axes=axes)
    return _call("flip", array, of, explains, **words)


def flip(x: Kind, /, *, axis: Dims = None, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Reverses the order of the elements along one or several axes, as numpy.flip; along all without an axis.

    Shapes: any; the result has the same.
    Types: f16, bf16, f32, f64, c64, c128, i8, i16, i32, i64, u8, u16, u32, u64 and bool; the result has the same. All bits are kept.

    >>> backplane.elementwise.flip([1, 2, 3])
    array([3, 2, 1])
    """
    return _flip(dict(x=x, axis=axis, out=out, settings=settings), False)


def _sum_shifts(shift: Any, axis: Any, rank: int) -> Tuple[Tuple[int, ...], Tuple[int, ...]]:
    """Returns axes and their shifts: a number is taken for all of the others, and shifts of one axis are added up, as NumPy does."""
    shifts, axes = _numbers("shift", shift), _numbers("axis", axis)
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise bad_value(f"shift: has {len(shifts)} numbers, and axis {len(axes)}; they must be as many, or one of them one")
    found: Dict[int, int] = {}
    for i in range(max(len(shifts), len(axes)) if shifts and axes else 0):
        given = axes[i % len(axes)]
        at = given + rank if -rank <= given < 0 else given
        found[at] = found.get(at, 0) + shifts[i % len(shifts)]
    return tuple(found), tuple(found.values())


def _roll(of: Dict[str, Any], explains: bool) -> Any:
    array = with_numpy("roll", (of["x"],))[0]
    axis, shape = of["axis"], shape_of(array)
    flat = axis is None and len(shape) != 1
    if flat and (not hasattr(array, "reshape") or of["out"] is not None):
        raise bad_value("axis: is None; it must be given for an array of several dimensions that has no reshape(), and with out")
    axes, shifts = _sum_shifts(of["shift"], 0 if axis is None else axis, 1 if flat else len(shape))
    words: Dict[str, Any] = dict(axis_count=len(axes), axes=axes)
    if axes:
        words.update(shifts=shifts)
    result = _call("roll", array.reshape(-1) if flat else array, of, explains, **words)
    return result.reshape(shape) if flat and not explains else result


def roll(
    x: Kind,
    /,
    shift: Union[int, Sequence[int]],
    *,
    axis: Dims = None,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Moves the elements along axes; those that leave the end come back at the beginning. As numpy.roll.

    Without an axis, the elements of an array of several dimensions move as if it had one dimension. Several shifts along one axis are added up.

    Shapes: any; the result has the same.
    Types: f16, bf16, f32, f64, c64, c128, i8, i16, i32, i64, u8, u16, u32, u64 and bool; the result has the same. All bits are kept.
    Errors: BadValueError: shifts and axes are not as many

    >>> backplane.elementwise.roll([1, 2, 3, 4], 1)
    array([4, 1, 2, 3])
    """
    return _roll(dict(x=x, shift=shift, axis=axis, out=out, settings=settings), False)


finish(pad, "backplane.nn.functional", "pad", pad.__doc__ or "", _pad)
finish(flip, "backplane.elementwise", "flip", flip.__doc__ or "", _flip)
finish(roll, "backplane.elementwise", "roll", roll.__doc__ or "", _roll)
