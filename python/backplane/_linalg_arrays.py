"""Converts arrays for the functions of backplane.linalg that NumPy computes, or that are no single operation."""

from __future__ import annotations

import sys
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

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

    It computes arrays of integers and bools of any library, and of NumPy's objects and long doubles.
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


def _write(name: str, result: Any, out: Any) -> None:
    """Writes a result into an array of the caller. Whole numbers are neither rounded nor cut; floating ones may be rounded."""
    numpy = sys.modules["numpy"]
    fits = numpy.can_cast(result.dtype, out.dtype, "same_kind")
    if fits and result.dtype.kind in "biu":
        fits = numpy.array_equal(result.astype(out.dtype).astype(result.dtype), result)
    if not fits:
        raise bad_type(f"{name}: is an array of {out.dtype}, which cannot hold the result, of {result.dtype}")
    numpy.copyto(out, result, "same_kind")


def deliver(result: Any, arrays: Sequence[Any], out: Any) -> Any:
    """Copies a result of NumPy into ``out``, which must be able to hold it. Without ``out``, returns it as the array type of the inputs."""
    if out is None:
        return like(result, *arrays)
    if tuple(out.shape) != tuple(result.shape):
        raise bad_value(f"out has shape {tuple(out.shape)}; the result has {tuple(result.shape)}", "E_SHAPE")
    if _is_numpy(out):
        _write("out", result, out)
    else:
        out[...] = like(result, out)
    return out


def _scaled(factor: Any, array: Any) -> Any:
    """Returns the product of a number with an array of NumPy; a whole number leaves integers integers."""
    whole = array.dtype.kind in "biu" and float(getattr(factor, "real", factor)).is_integer() and not getattr(factor, "imag", 0)
    return (int(getattr(factor, "real", factor)) if whole else factor) * array


def _gemm_by_numpy(given: Tuple[Any, ...], c: Any, words: Dict[str, Any]) -> Any:
    """Computes backplane.gemm() of arrays that no library has, and returns the result, which is also written into c."""
    numpy = numpy_of("gemm")
    factors = []
    for name, array in zip(("a", "b"), given):
        transform = words.get(f"transform_{name}", "as_is")
        if array.ndim < 2:
            raise bad_value(f"gemm: {name} has {array.ndim} dimensions; it must have 2 or more", "E_SHAPE")
        array = array.swapaxes(-1, -2) if transform in ("transpose", "conjugate_transpose") else array
        factors.append(array.conj() if transform.startswith("conjugate") else array)
    alpha, beta = words.get("alpha", 1), words.get("beta", 0)
    result = numpy.matmul(*factors)
    result = result if alpha == 1 else _scaled(alpha, result)
    if c is None:
        return result
    former = to_numpy("gemm", c)
    if result.shape != former.shape:
        raise bad_value(f"gemm: c has shape {former.shape}; the result has {result.shape}", "E_SHAPE")
    result = result + _scaled(beta, former) if beta else result
    _write("c", result, former)
    return c


def _product(a: Any, b: Any, out: Any, settings: Any, words: Optional[Dict[str, Any]]) -> Any:
    if words is None:
        return _core.matmul(a, b, out=out, settings=settings)
    return _core.gemm(a, b, **{**words, "c": out, "settings": settings})


def _multiply_converted(a: Any, b: Any, out: Any, settings: Any, words: Optional[Dict[str, Any]]) -> Any:
    """Computes backplane.matmul(), or gemm() if there are words, of what the library does not take: lists, mixed types, and by NumPy
    integers of other sizes. Returns None if there is nothing to convert."""
    if all(str(getattr(one, "dtype", "")).endswith(("int8", "i8", "u8")) for one in (a, b)):
        return None  # the library has these, so that something else is wrong
    name = "matmul" if words is None else "gemm"
    x, y = factors(name, (a, b))
    given = for_numpy(name, (x, y))
    if not given:
        return None if x is a and y is b else _product(x, y, out, settings, words)
    numpy = numpy_of(name)
    if words is not None:
        result = _gemm_by_numpy(given, out, words)
        return result if out is not None else like(result, x, y)
    return numpy.matmul(*given, out=out) if _is_numpy(out) else deliver(numpy.matmul(*given), (x, y), out)


def _explains_converted(explain: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that explains matmul() or gemm(), with converted factors where the call converts them."""

    def run(*arguments: Any, **names: Any) -> Any:
        try:
            return explain(*arguments, **names)
        except TypeError:
            of = dict(zip(("input", "other"), arguments), **names)
            x, y = factors("explain", (of.pop("input"), of.pop("other")))
            return explain(x, y, *arguments[2:], **of)

    return run


_core.set_convert_factors(_multiply_converted)
_EXPLAINERS[_core.matmul] = _explains_converted(_core.explain_matmul)
_EXPLAINERS[_core.gemm] = _explains_converted(_core.explain_gemm)
