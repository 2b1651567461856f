"""Converts arrays for the functions of backplane.linalg that NumPy computes, or that are no single operation."""

from __future__ import annotations

import sys
from typing import Any, Optional, Sequence, Tuple

from . import _core
from ._einsum import einsum
from ._convert import is_literal, numpy_of, unite, with_numpy
from ._errors import bad_type, bad_value
from ._products import _EXPLAINERS, _as_its_library, _is_numpy, _is_torch, _like


def to_numpy(op: str, array: Any) -> Any:
    """Returns the array as a NumPy array, without a copy if it is one or exports its memory."""
    numpy = numpy_of(op)
    if _is_numpy(array):
        if isinstance(array, numpy.ma.MaskedArray):
            raise bad_type(f"linalg.{op}: masked arrays are not accepted, because the mask would be lost")
        return array
    if _is_torch(array):
        if array.requires_grad:
            raise bad_type(f"linalg.{op}: a tensor that requires a gradient is not accepted; pass tensor.detach()")
        return array.resolve_conj().resolve_neg().numpy()
    found = numpy.asarray(array)
    return numpy.from_dlpack(array) if found.dtype == object and hasattr(array, "__dlpack__") else found


def like(result: Any, *arrays: Any) -> Any:
    """Returns a result of NumPy as the array type of the first input that decides one."""
    for array in arrays:
        if _is_numpy(array) or is_literal(array):
            return result
        if _is_torch(array):
            return sys.modules["torch"].as_tensor(result)
    numpy = sys.modules["numpy"]
    result = numpy.asarray(result)
    if result.dtype.kind in "fc":  # a backplane.Tensor has these types
        labels = list(range(result.ndim))
        return _like(einsum(memoryview(result), labels, labels), *arrays)
    result = numpy.array(result)  # not a view: arrays of other libraries may be immutable
    made = (_as_its_library(result, array) for array in arrays)
    return next((one for one in made if one is not result), result)


def for_numpy(op: str, arrays: Sequence[Any]) -> Optional[Tuple[Any, ...]]:
    """Returns the factors of a product as NumPy arrays if NumPy computes it, otherwise None.

    It computes those of integers and bools of any library, and of NumPy's objects and long doubles.
    """
    own = all(map(_is_numpy, arrays))
    if not own and any(_on_device(one) for one in arrays):
        return None
    try:
        given = tuple(to_numpy(op, one) for one in arrays)
    except (TypeError, ValueError, BufferError, RuntimeError):  # the caller has a better error
        return None
    fits = all(one.dtype.kind in "biu" or own and (one.dtype.kind == "O" or one.dtype.char in "gG") for one in given)
    return given if fits else None


def _on_device(array: Any) -> bool:
    """Returns whether the memory is a device's; NumPy would copy it."""
    device = getattr(array, "__dlpack_device__", None)
    return device is not None and device()[0] != 1


def factors(op: str, arrays: Sequence[Any]) -> Tuple[Any, ...]:
    """Returns the factors of a product: lists and numbers converted, and NumPy arrays of one element type."""
    return unite(with_numpy(op, tuple(arrays)))


def deliver(result: Any, arrays: Sequence[Any], out: Any) -> Any:
    """Copies a result of NumPy into ``out``. Without ``out``, returns it as the array type of the inputs."""
    if out is None:
        return like(result, *arrays)
    if tuple(out.shape) != tuple(result.shape):
        raise bad_value(f"out has shape {tuple(out.shape)}; the result has {tuple(result.shape)}", "E_SHAPE")
    out[...] = like(result, out)
    return out


def _multiply_converted(a: Any, b: Any, out: Any, settings: Any) -> Any:
    """Computes backplane.matmul() of what the library does not take: lists, mixed types, and by NumPy integers of other sizes.
    Returns None if there is nothing to convert."""
    if all(str(getattr(one, "dtype", "")).endswith(("int8", "i8", "u8")) for one in (a, b)):
        return None  # the library has these, so that something else is wrong
    x, y = factors("matmul", (a, b))
    given = for_numpy("matmul", (x, y))
    if given:
        numpy = numpy_of("matmul")
        return numpy.matmul(*given, out=out) if _is_numpy(out) else deliver(numpy.matmul(*given), (x, y), out)
    return None if x is a and y is b else _core.matmul(x, y, out=out, settings=settings)


def _explain_converted(*arguments: Any, **names: Any) -> Any:
    """Explains backplane.matmul(), with converted factors where the call converts them."""
    try:
        return _core.explain_matmul(*arguments, **names)
    except TypeError:
        of = dict(zip(("input", "other"), arguments), **names)
        x, y = factors("matmul", (of.pop("input"), of.pop("other")))
        return _core.explain_matmul(x, y, **of)


_core.set_convert_factors(_multiply_converted)
_EXPLAINERS[_core.matmul] = _explain_converted
