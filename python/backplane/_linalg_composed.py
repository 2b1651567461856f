"""Inner products along a dimension, matrix powers and chains of products, made of other operations of the package."""

from __future__ import annotations

import sys
from typing import Any, Callable, List, Sequence, Tuple

from ._einsum import einsum
from ._errors import bad_type, bad_value
from ._linalg_calls import is_literal, numpy_of, unite, with_numpy
from ._products import SettingsArgument, _is_numpy, _is_torch

# ---- Conversion to NumPy and back ----


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


def shape_of(array: Any) -> Tuple[int, ...]:
    """Returns the shape of any accepted array."""
    shape: Any = getattr(array, "shape", None)
    return tuple(memoryview(array).shape or () if shape is None else shape)


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


# ---- Products ----


def vecdot(a: Any, b: Any, dim: int, settings: SettingsArgument) -> Any:
    """Returns the sum of conj(a) b along one dimension, which counts from the back."""
    if is_numpys((a, b)):
        numpy = sys.modules["numpy"]
        return (numpy.moveaxis(a, dim, -1)[..., None, :] @ numpy.moveaxis(b, dim, -1)[..., :, None])[..., 0, 0]
    numbers_a, numbers_b = range(len(shape_of(a))), range(len(shape_of(b)))
    count = max(len(numbers_a), len(numbers_b))
    # Labels from the back, because dimensions broadcast from the back.
    labels_a, labels_b = [[count - len(one) + place for place in one] for one in (numbers_a, numbers_b)]
    result = [label for label in range(count) if label != count + dim]
    first = a.conj() if hasattr(a, "conj") else a
    return einsum(first, labels_a, b, labels_b, result, settings=settings)


def matrix_power(A: Any, n: int, inverse: Callable[..., Any], product: Callable[..., Any]) -> Any:
    """Returns A to the power n by repeated squaring."""
    if n == 0:
        numpy = numpy_of("matrix_power")
        given = to_numpy("matrix_power", A)
        one = numpy.empty_like(given)
        one[...] = numpy.eye(given.shape[-1], dtype=given.dtype)
        return like(one, A)
    base = inverse(A) if n < 0 else A
    left, result = abs(n), None
    while True:
        if left & 1:
            result = base if result is None else product(result, base)
        left >>= 1
        if left == 0:
            break
        base = product(base, base)
    if result is A:  # power 1: the result is always fresh memory
        return like(to_numpy("matrix_power", A).copy(), A)
    return result


def multi_dot(operands: Sequence[Any], out: Any, settings: SettingsArgument) -> Any:
    """Returns the product of a chain in the order that costs the fewest operations."""
    if is_numpys(operands):
        numpy = sys.modules["numpy"]
        return store(numpy.linalg.multi_dot(list(operands)), out)
    shapes = [shape_of(one) for one in operands]
    words: List[Any] = []
    for place, (operand, shape) in enumerate(zip(operands, shapes)):
        words += [operand, [place + 1] if len(shape) == 1 and place == 0 else [place, place + 1][: len(shape)]]
    ends = ([0] if len(shapes[0]) == 2 else []) + ([len(shapes)] if len(shapes[-1]) == 2 else [])
    return einsum(*words, ends, optimize="dp", out=out, settings=settings)
