"""Matrix products, and descriptions of the library that ran them and of the choice."""

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
    """Returns whether _refuse_masks() must examine the arrays: not if all are plain NumPy arrays."""
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
    """Computes a @ b with the shape rules of numpy.matmul.

    ``(m,k) @ (k,n) -> (m,n)``; ``(k) @ (k,n) -> (n)``; ``(m,k) @ (k) -> (m)``; ``(k) @ (k) -> ()``; leading dimensions are
    a batch and broadcast. Scalars are an error.

    Element types: f16, bf16, f32, f64, c64, c128, the same for all. f16 and bf16 are summed in f32 and rounded once at the
    end. Arrays of any strides are read in place; an unaligned array is copied, and an unaligned ``out`` copied back. The
    result is a NumPy array or a torch tensor like the first input that is one, otherwise a backplane.Tensor. ``out`` is
    written in place and returned; it must not overlap an input. ``settings`` is a dict of dotted names, or
    backplane.Options, for this call only.
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
    """Computes alpha * op(a) @ op(b) + beta * c, the BLAS operation for any strides.

    ``transform_a`` and ``transform_b`` are as_is, transpose, conjugate_transpose or conjugate. All arrays have rank 2, or
    rank 2 plus batch dimensions; those of a and b broadcast. ``c`` is overwritten in place and returned. Without it, the
    result is a new array and beta must be 0. If beta is 0, c is not read. For real matrices alpha and beta must be real.
    Types, strides, results and settings are as in matmul().
    """
    _refuse_masks(a=a, b=b, c=c)
    result = _core.gemm(
        a, b, c, alpha=alpha, beta=beta, transform_a=transform_a, transform_b=transform_b, settings=_own(settings)
    )
    return c if result is None else _like(result, a, b)


class Candidate(NamedTuple):
    """A candidate for a call: a library and algorithm, with its verdict."""

    library: str
    provider: str
    version: str
    accepted: bool
    reason: str
    """Name of the reason for refusal: DTYPE, EXCLUDED, DETERMINISM, ..."""
    text: str
    """Refused: why. Accepted: a remark, or empty."""
    algorithm: str
    properties: str
    """Its numerical guarantees: accumulates in f32, ..."""
    threads: int
    cost_ns: float
    chosen: bool


class Explanation:
    """All candidates for one call with their verdicts, from the same code that chooses for the call itself.

    einsum runs several sub-plans in turn. Its candidates are in ``parts``, which has an explanation for each sub-plan.
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
        """The candidate that the call would run; None if no library accepts the call, and for einsum (see ``parts``)."""
        return next((row for row in self.candidates if row.chosen), None)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        chosen = [one.chosen.library for one in (self, *self.parts) if one.chosen]
        return f"<backplane.Explanation {self.problem}: {', '.join(chosen) or 'none'}>"


class Plan(NamedTuple):
    """Description of a call that ran: library, algorithm, and the reason for the choice."""

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
    """Bytes that a run needs in addition to its operands: copies, panels, intermediate results."""


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
    """Explains the choice of a library for ``function(*arguments, **names)`` without computing anything. The function is
    matmul, gemm, einsum, or one of backplane.fft or backplane.linalg."""
    explainer = _EXPLAINERS.get(function)
    if explainer is None:
        raise bad_type(
            "explain: expects backplane.einsum, backplane.matmul or backplane.gemm, or a function of backplane.fft or "
            f"backplane.linalg, but got {function!r}"
        )
    return Explanation(explainer(*arguments, **names))


def last_plan() -> Optional[Plan]:
    """Returns the plan that the calling thread ran last; None before the first, and after a call with an empty result."""
    found = _core.last_plan()
    return None if found is None else Plan(**found)
