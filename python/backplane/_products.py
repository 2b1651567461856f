"""Matrix products, and the answers to which library ran them and why."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Tuple, Union

from . import _core
from ._core import BadTypeError
from ._errors import bad_type, failure
from ._settings import Value

SettingsArgument = Union[None, _core.Options, Mapping[str, Value]]

# What NumPy calls the element types of results; its dtype objects, once it is known to be there.
_NUMPY_NAMES = {
    **{"f16": "float16", "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128", "bool": "bool"},
    **{f"{ours}{bits}": f"{theirs}{bits}" for ours, theirs in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)},
}
_numpy_types: Dict[str, Any] = {}
_plain_array: Any = None  # numpy.ndarray, from then on


def _is_numpy(array: Any) -> bool:
    # Without importing NumPy: what has not been imported has made no array.
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(array, numpy.ndarray)


def _may_be_masked(arrays: Tuple[Any, ...]) -> bool:
    """Whether _refuse_masks() has to look at them: not at plain arrays of NumPy, once one of them has been seen."""
    for array in arrays:
        if type(array) is not _plain_array:
            return True
    return False


def _refuse_masks(**arrays: Any) -> None:
    """Masked arrays look like plain ones to the buffer protocol, so they are refused before anything is read or written."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return
    for name, array in arrays.items():
        # The exact type first: it is the usual one, and costs the least to see.
        if type(array) is not numpy.ndarray and isinstance(array, numpy.ndarray) and hasattr(array, "mask"):
            raise failure(BadTypeError, "E_DTYPE", f"{name}: a masked array's mask would be lost; its filled() has none")


def _view(result: _core.Tensor, dtype: Any) -> Any:
    """The memory of a result as a NumPy array. The constructor is the short way, and knows one order of memory."""
    if result.dtype == "bf16":  # of ml_dtypes: NumPy has no type of its own, and no protocol for it
        return sys.modules["numpy"].asarray(result.bits()).view(dtype)
    if result.row_major:
        return _plain_array(result.shape, dtype, result)
    return sys.modules["numpy"].asarray(result)


def _as_numpy(result: _core.Tensor) -> Any:
    global _plain_array
    if _plain_array is None:
        numpy = sys.modules["numpy"]
        _numpy_types.update({ours: numpy.dtype(theirs) for ours, theirs in _NUMPY_NAMES.items()})
        _plain_array = numpy.ndarray
    return _view(result, _numpy_types.get(result.dtype) or sys.modules["numpy"].dtype("bfloat16"))


def _like(result: _core.Tensor, *arrays: Any) -> Any:
    """The result as what was given: the first that is a NumPy array or a torch tensor decides."""
    torch = sys.modules.get("torch")
    for array in arrays:
        if type(array) is _plain_array or _is_numpy(array):
            return _as_numpy(result)
        if torch is not None and isinstance(array, torch.Tensor):
            return torch.from_dlpack(result)
    return result


def _own(settings: SettingsArgument) -> Any:
    # None and Options first: the test for a Mapping costs more than a small product.
    if settings is None or isinstance(settings, _core.Options) or not isinstance(settings, Mapping):
        return settings
    return dict(settings)


def matmul(a: Any, b: Any, /, *, out: Any = None, settings: SettingsArgument = None) -> Any:
    """a @ b with the shape rules of numpy.matmul, computed by the library that suits it.

    ``(m,k) @ (k,n) -> (m,n)``; ``(k) @ (k,n) -> (n)``; ``(m,k) @ (k) -> (m)``; ``(k) @ (k) -> ()``; leading dimensions are
    a batch and broadcast. Scalars are refused.

    Element types: f16, bf16, f32, f64, c64, c128, the same for all. f16 and bf16 sum in f32 and round once at the end. Any
    strides, read in place; an array that is not aligned is copied, also ``out``, and back. The result is a NumPy array where a or b is one, a torch tensor where one is that, else a
    backplane.Tensor. ``out`` is written in place and returned; it must not overlap an input. ``settings`` is a dict of
    dotted names, or backplane.Options, for this call only.
    """
    _refuse_masks(a=a, b=b, out=out)
    result = _core.matmul(a, b, out, _own(settings))
    return out if result is None else _like(result, a, b)


def gemm(
    a: Any,
    b: Any,
    /,
    c: Any = None,
    *,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    transform_a: str = "as_is",
    transform_b: str = "as_is",
    settings: SettingsArgument = None,
) -> Any:
    """alpha * op(a) @ op(b) + beta * c, the BLAS operation for any strides.

    ``transform_a`` and ``transform_b`` are as_is, transpose, conjugate_transpose or conjugate. All have rank 2, or rank 2
    plus batch dimensions, where those of a and b broadcast. ``c`` is overwritten in place and returned; without it, the
    result is fresh and beta must be 0. With beta 0 the old c is not read. An imaginary part of a factor of real matrices is
    refused. The rest is as in matmul().
    """
    _refuse_masks(a=a, b=b, c=c)
    result = _core.gemm(
        a, b, c, alpha=alpha, beta=beta, transform_a=transform_a, transform_b=transform_b, settings=_own(settings)
    )
    return c if result is None else _like(result, a, b)


class Candidate(NamedTuple):
    """One library's answer to a call."""

    library: str
    provider: str
    version: str
    accepted: bool
    reason: str
    """Why it refused, as a word: DTYPE, EXCLUDED, DETERMINISM, ..."""
    text: str
    """Why it refused, as a sentence, or what is worth knowing."""
    algorithm: str
    properties: str
    """What it promises of the numbers: accumulates in f32, same bits with any number of threads, ..."""
    threads: int
    cost_ns: float
    chosen: bool


class Explanation:
    """Every candidate for one call and its verdict, from the same list that the call itself would choose from.

    einsum runs several such calls one after the other: its candidates are in ``parts``, an explanation for each.
    """

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.problem: str = found["problem"]
        self.decision: str = found["decision"]
        self.json: str = found["json"]
        self.candidates: Tuple[Candidate, ...] = tuple(Candidate(**row) for row in found["candidates"])
        self.parts: Tuple[Explanation, ...] = tuple(Explanation(part) for part in found["parts"])
        self._text: str = found["text"]

    @property
    def chosen(self) -> Optional[Candidate]:
        """The candidate that would run; None where no library accepts the call, and for a whole of several parts."""
        return next((row for row in self.candidates if row.chosen), None)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        chosen = [one.chosen.library for one in (self, *self.parts) if one.chosen]
        return f"<backplane.Explanation {self.problem}: {', '.join(chosen) or 'none'}>"


class Plan(NamedTuple):
    """A call that ran: which library, how, and why that one."""

    operation: str
    provider: str
    library: str
    library_path: str
    library_version: str
    algorithm: str
    reason: str
    properties: str
    threads: int
    cost_ns: float
    problem: str
    workspace: int
    """Of einsum: bytes of the intermediate results and copies that a run holds."""


def _explain_product(explainer: Callable[..., Dict[str, Any]], /, *arguments: Any, **names: Any) -> Dict[str, Any]:
    by_keyword = {name: array for name, array in names.items() if name in ("out", "c")}
    _refuse_masks(**{**dict(zip("abc", arguments)), **by_keyword})
    names["settings"] = _own(names.get("settings"))
    return explainer(*arguments, **names)


# For each function that can be explained, one that takes the same arguments; _einsum.py, fft.py and linalg.py add their own.
_EXPLAINERS: Dict[Callable[..., Any], Callable[..., Dict[str, Any]]] = {
    matmul: functools.partial(_explain_product, _core.explain_matmul),
    gemm: functools.partial(_explain_product, _core.explain_gemm),
}


def explain(function: Callable[..., Any], /, *arguments: Any, **names: Any) -> Explanation:
    """What ``function(*arguments, **names)`` would do, for matmul, gemm, einsum, the transforms of fft and the operations of linalg:
    nothing is computed."""
    explainer = _EXPLAINERS.get(function)
    if explainer is None:
        raise bad_type(f"explain: takes backplane.einsum, backplane.matmul or backplane.gemm, or what is in backplane.fft and backplane.linalg, but got {function!r}")
    return Explanation(explainer(*arguments, **names))


def last_plan() -> Optional[Plan]:
    """The plan that the calling thread ran last; None before the first, and after a call whose result has no elements."""
    found = _core.last_plan()
    return None if found is None else Plan(**found)
