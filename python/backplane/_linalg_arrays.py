"""Converts arrays for the functions of backplane.linalg that NumPy computes, or that are no single operation."""

from __future__ import annotations

import sys
from typing import Any, Sequence, Tuple

from ._einsum import einsum
from ._convert import is_literal, numpy_of, unite, with_numpy
from ._errors import bad_type, bad_value
from ._products import _is_numpy, _is_torch


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
    return numpy.asarray(array)


def like(result: Any, *arrays: Any) -> Any:
    """Returns a result of NumPy as the array type of the first input that decides one."""
    for array in arrays:
        if _is_numpy(array) or is_literal(array):
            return result
        if _is_torch(array):
            return sys.modules["torch"].as_tensor(result)
    numpy = sys.modules["numpy"]
    result = numpy.asarray(result)
    labels = list(range(result.ndim))
    # A backplane.Tensor, of the types that it has.
    return einsum(memoryview(result), labels, labels) if result.dtype.kind in "fc" else result


def is_numpys(arrays: Sequence[Any]) -> bool:
    """Returns whether NumPy computes the product of these arrays: of integers, bools, objects or long doubles."""
    return all(_is_numpy(one) and (one.dtype.kind in "biuO" or one.dtype.char in "gG") for one in arrays)


def factors(op: str, arrays: Sequence[Any]) -> Tuple[Any, ...]:
    """Returns the factors of a product: lists and numbers converted, and NumPy arrays of one element type."""
    return unite(with_numpy(op, tuple(arrays)))


def store(result: Any, out: Any) -> Any:
    """Copies a result into ``out``, if that is given."""
    if out is None:
        return result
    if tuple(out.shape) != tuple(result.shape):
        raise bad_value(f"out has shape {tuple(out.shape)}; the result has {tuple(result.shape)}", "E_SHAPE")
    out[...] = result
    return out
