"""Discrete Fourier transforms with the names and arguments of torch.fft; ``axis`` and ``axes`` are NumPy's names of ``dim``.

``n`` and ``s`` are lengths: longer input is truncated, shorter input is zero-padded. ``norm`` is "backward" (default: 1/n for
inverse transforms), "forward" (1/n for forward transforms) or "ortho" (1/sqrt(n) for both). Arrays of any strides are read in
place.

Element types are f32, f64, c64 and c128; results have the input's precision. Lists and numbers become NumPy arrays. Integers
and bools become the default float type of the array's library: float64 for NumPy, torch.get_default_dtype() for torch. The
result is of the array type of the input if its library imports DLPack, otherwise a backplane.Tensor. ``out`` is written in
place and returned. It must not overlap the input, but may be the input itself if that is complex and the result has the same
shape.

>>> from array import array  # any object with the buffer protocol or DLPack
>>> signal = memoryview(array("d", [1, 2, 3, 4])).cast("B").cast("d", (2, 2))
>>> fft2(signal).tolist()
[[(10+0j), (-2+0j)], [(-4+0j), 0j]]
>>> fftn(signal, axes=0).tolist() == fft(signal, axis=0).tolist() == fft(signal, dim=0).tolist()
True
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional, Tuple

from . import _core, _plan_cache, _scipy
from ._convert import floating, with_numpy
from ._cosine import dct, dctn, dst, dstn, idct, idctn, idst, idstn
from ._dimensions import as_tuple, bound, chosen, finish, length
from ._errors import bad_value
from ._help import helped
from ._products import _is_a, _like
from ._tensor import as_numpy
from .backends._module import close

if TYPE_CHECKING:
    from ._types import DType, Dims, Kind, Mixed, Norm, Out, SettingsArgument

__all__ = [
    "dct",
    "dctn",
    "dst",
    "dstn",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "idct",
    "idctn",
    "idst",
    "idstn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "plan_cache",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def _run(
    name: str,
    input: Any,
    s: Optional[Tuple[int, ...]],
    dim: Optional[Tuple[int, ...]],
    norm: Optional[str],
    out: Any,
    settings: SettingsArgument,
) -> Any:
    result = _core.fft(name, floating(name, input), s, dim, norm, out, settings)
    return out if result is None else _like(result, input)


def _explain(function: Callable[..., Any], /, *arguments: Any, **names: Any) -> Dict[str, Any]:
    of = bound(function, arguments, names)
    default = inspect.signature(function).parameters["dim"].default
    s: Optional[Tuple[int, ...]]
    dim: Optional[Tuple[int, ...]]
    if "n" in of:
        s, dim = length(of["n"]), (chosen("axis", of["axis"], of["dim"], default),)
    else:
        s, dim = as_tuple(of["s"]), as_tuple(chosen("axes", of["axes"], of["dim"], default))
    name = function.__name__
    input = floating(name, of["input"])
    page: Dict[str, Any] = _core.fft(name.rstrip("2n"), input, s, dim, of["norm"], of["out"], of["settings"], explains=True)
    return page


def _one(name: str, text: str) -> Callable[..., Any]:
    """Returns the function that transforms one dimension."""

    def transform(
        input: Kind,
        n: Optional[int] = None,
        dim: int = -1,
        norm: Optional[Norm] = None,
        *,
        axis: Optional[int] = None,
        out: Optional[Out] = None,
        settings: SettingsArgument = None,
    ) -> Kind:
        if axis is not None:
            dim = chosen("axis", axis, dim, -1)
        return _run(name, input, length(n), (dim,), norm, out, settings)

    function: Callable[..., Any] = finish(transform, name, text, _explain)
    return function


def _many(name: str, form: str, text: str) -> Callable[..., Any]:
    """Returns the function that transforms two dimensions (form "2") or any number (form "n")."""
    default: Dims = (-2, -1) if form == "2" else None

    def transform(
        input: Kind,
        s: Dims = None,
        dim: Dims = default,
        norm: Optional[Norm] = None,
        *,
        axes: Dims = None,
        out: Optional[Out] = None,
        settings: SettingsArgument = None,
    ) -> Kind:
        if axes is not None:
            dim = chosen("axes", axes, dim, default)
        return _run(name, input, as_tuple(s), as_tuple(dim), norm, out, settings)

    which = "two dimensions; default: the last two." if form == "2" else "the dimensions of dim; default: all, or the last len(s)."
    example = f"\n\n>>> backplane.fft.{name}{form}(np.ones((2, 2))).shape\n(2, 2)\n"
    function: Callable[..., Any] = finish(transform, name + form, f"Computes {name}() over {which}{text}{example}", _explain)
    return function


fft = _one(
    "fft",
    """Computes the transform of one dimension: ``out[k] = sum(input[j] * exp(-2j * pi * j * k / n))``. The result is complex.

    >>> fft(array("d", [1, 2, 3, 4])).tolist()
    [(10+0j), (-2+2j), (-2+0j), (-2-2j)]
    """,
)
ifft = _one(
    "ifft",
    """Computes the inverse of fft(): with the opposite sign, and by default the factor 1/n.

    >>> ifft(fft(array("d", [1, 2, 3, 4]))).tolist()
    [(1+0j), (2+0j), (3+0j), (4+0j)]
    """,
)
rfft = _one(
    "rfft",
    """Computes fft() of real input: the first n/2+1 elements; the others follow from symmetry.

    Types: f32 and f64. Integers and bools become the default float type of the array's library.

    >>> rfft(array("d", [1, 2, 3, 4])).tolist()
    [(10+0j), (-2+2j), (-2+0j)]
    """,
)
irfft = _one(
    "irfft",
    """Computes the inverse of rfft(): n real elements; the default of n is 2 * (m - 1) for m input elements.

    >>> irfft(rfft(array("d", [1, 2, 3])), n=3).tolist()
    [1.0, 2.0, 3.0]
    """,
)
hfft = _one(
    "hfft",
    """Computes fft() of a signal that is Hermitian in time, from its first n/2+1 elements: n real elements.

    >>> hfft(array("d", [1, 2, 3])).tolist()
    [8.0, -2.0, 0.0, -2.0]
    """,
)
ihfft = _one(
    "ihfft",
    """Computes the inverse of hfft(): n/2+1 elements from n real elements.

    Types: f32 and f64. Integers and bools become the default float type of the array's library.

    >>> [value.real for value in ihfft(array("d", [8, -2, 0, -2])).tolist()]
    [1.0, 2.0, 3.0]
    """,
)
_HALF = " The last of dim has n/2+1 elements.\n\nTypes: f32 and f64. Integers and bools become the default float type of the array's library."
_HALF_INPUT = " The last of dim has n/2+1 elements in the input."
fft2, fftn = _many("fft", "2", ""), _many("fft", "n", "")
ifft2, ifftn = _many("ifft", "2", ""), _many("ifft", "n", "")
rfft2, rfftn = _many("rfft", "2", _HALF), _many("rfft", "n", _HALF)
irfft2, irfftn = _many("irfft", "2", _HALF_INPUT), _many("irfft", "n", _HALF_INPUT)
hfft2, hfftn = _many("hfft", "2", _HALF_INPUT), _many("hfft", "n", _HALF_INPUT)
ihfft2, ihfftn = _many("ihfft", "2", _HALF), _many("ihfft", "n", _HALF)


def _shift(input: Any, dim: Dims, axes: Dims, back: bool) -> Any:
    (input,) = with_numpy("fftshift", (input,))
    return _like(_core.fftshift(input, as_tuple(chosen("axes", axes, dim, None)), back), input)


@helped("fft")
def fftshift(input: Mixed, dim: Dims = None, *, axes: Dims = None) -> Kind:
    """Returns a copy with the zero frequency moved from the start to the middle of each dimension, or of those in dim.

    Shapes: any; the result has the same.
    Types: all.

    >>> fftshift(array("d", [0, 1, 2, -2, -1])).tolist()
    [-2.0, -1.0, 0.0, 1.0, 2.0]
    """
    return _shift(input, dim, axes, False)


@helped("fft")
def ifftshift(input: Mixed, dim: Dims = None, *, axes: Dims = None) -> Kind:
    """Returns a copy with the zero frequency moved from the middle back to the start.

    Shapes: any; the result has the same.
    Types: all.

    >>> ifftshift(array("d", [-2, -1, 0, 1, 2])).tolist()
    [0.0, 1.0, 2.0, -2.0, -1.0]
    """
    return _shift(input, dim, axes, True)


def _frequencies(n: int, d: float, half: bool, dtype: Any, device: Any, out: Any) -> Any:
    if device is not None and str(device) != "cpu":
        raise bad_value(f"device: frequencies are in host memory; expects None or 'cpu', but got {device!r}", "E_DEVICE")
    dtype = "f64" if dtype is None else dtype
    name = dtype if isinstance(dtype, str) else str(getattr(dtype, "__name__", dtype)).replace("torch.", "")
    result = _core.fftfreq(n, d, half, name, out)
    if result is None:
        return out
    if isinstance(dtype, str):
        return result
    return sys.modules["torch"].from_dlpack(result) if _is_a(dtype, "torch", "dtype") else as_numpy(result)


@helped("fft")
def fftfreq(
    n: int, d: float = 1.0, *, out: Optional[Out] = None, dtype: Optional[DType] = None, device: object = None
) -> Kind:
    """Returns the frequencies of fft() for n samples at distance d: (0, 1, ..., -2, -1) / (n * d).

    The result is a backplane.Tensor of f64, or with a dtype of NumPy or torch an array of that library. ``device`` is None or
    "cpu".

    Shapes: the result has n numbers.
    Types: f32 and f64; f64 without ``dtype``.
    Errors: BadValueError: n is below 1, or the device is not the CPU

    >>> fftfreq(4, d=0.5).tolist()
    [0.0, 0.5, -1.0, -0.5]
    """
    return _frequencies(n, d, False, dtype, device, out)


@helped("fft")
def rfftfreq(
    n: int, d: float = 1.0, *, out: Optional[Out] = None, dtype: Optional[DType] = None, device: object = None
) -> Kind:
    """Returns the frequencies of rfft(): (0, 1, ..., n/2) / (n * d). Arguments are as in fftfreq().

    Shapes: the result has n / 2 + 1 numbers.
    Types: f32 and f64; f64 without ``dtype``.
    Errors: BadValueError: n is below 1, or the device is not the CPU

    >>> rfftfreq(4, d=0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    return _frequencies(n, d, True, dtype, device, out)


class _PlanCache(_plan_cache.PlanCache):
    """The cache of plans for transforms on the CPU; the least recently used plan is evicted first."""

    _name = "fft.plan_cache"
    _setting = "fft.plan_cache.max_size"

    def _count(self) -> int:
        return _core.fft_plans()

    def clear(self) -> None:
        """Removes all plans."""
        _core.fft_plans_clear()


plan_cache = _PlanCache()

# This module is a backend of scipy.fft: ``with scipy.fft.set_backend(backplane.fft)``.
__ua_domain__ = "numpy.scipy.fft"


def __ua_function__(method: Callable[..., Any], args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Runs a call of scipy.fft; returns NotImplemented if SciPy must run it."""
    return _scipy.call(sys.modules[__name__], method, args, kwargs)


close(__name__)
