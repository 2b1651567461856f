"""Discrete Fourier transforms with the names and arguments of torch.fft.

``n`` and ``s`` are lengths: longer input is truncated, shorter input is zero-padded. ``norm`` is "backward" (default: 1/n for
inverse transforms), "forward" (1/n for forward transforms) or "ortho" (1/sqrt(n) for both). Arrays of any strides are read in
place.

Element types are f32, f64, c64 and c128; results have the input's precision. Integers and bools become the default float type
of the array's library: float64 for NumPy, torch.get_default_dtype() for torch. The result is a NumPy array or a torch tensor
if the input is, otherwise a backplane.Tensor. ``out`` is written in place and returned. It must not overlap the input, but may
be the input itself if that is complex and the result has the same shape.
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Callable, Dict, Iterable, Optional, Tuple, Union

from . import _core, _plan_cache
from ._errors import bad_type, bad_value
from ._products import _EXPLAINERS, SettingsArgument, _is_numpy, _like
from ._tensor import as_numpy
from .backends._module import close

Numbers = Union[None, int, Tuple[int, ...]]


def _tuple(numbers: Any) -> Optional[Tuple[int, ...]]:
    if numbers is None or isinstance(numbers, tuple):
        return numbers
    return tuple(numbers) if isinstance(numbers, Iterable) else (numbers,)


def _length(n: Optional[int]) -> Optional[Tuple[int, ...]]:
    if n is not None and not hasattr(n, "__index__"):
        raise bad_type(f"n: expects a whole number, but got {n!r}")
    if n == -1:  # in s it means the input's length
        raise bad_value("n: invalid number of data points (-1)", "E_ARGUMENT")
    return None if n is None else (n,)


def _floating(array: Any) -> Any:
    """Converts integers and bools to the default float type of the array's library."""
    if _is_numpy(array):
        return array.astype("float64") if array.dtype.kind in "biu" else array
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor) and not (array.is_floating_point() or array.is_complex()):
        return array.to(torch.get_default_dtype())
    return array


def _run(
    name: str,
    input: Any,
    s: Optional[Tuple[int, ...]],
    dim: Optional[Tuple[int, ...]],
    norm: Optional[str],
    out: Any,
    settings: SettingsArgument,
) -> Any:
    result = _core.fft(name, _floating(input), s, dim, norm, out, settings)
    return out if result is None else _like(result, input, input)


def fft(
    input: Any,
    n: Optional[int] = None,
    dim: int = -1,
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """Transforms one dimension: ``out[k] = sum(input[j] * exp(-2j * pi * j * k / n))``. The result is complex."""
    return _run("fft", input, _length(n), (dim,), norm, out, settings)


def fft2(
    input: Any,
    s: Numbers = None,
    dim: Numbers = (-2, -1),
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """fft() over two dimensions; default: the last two."""
    return _run("fft", input, _tuple(s), _tuple(dim), norm, out, settings)


def fftn(
    input: Any,
    s: Numbers = None,
    dim: Numbers = None,
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """fft() over the dimensions of dim; default: all, or the last len(s)."""
    return _run("fft", input, _tuple(s), _tuple(dim), norm, out, settings)


def ifft(
    input: Any,
    n: Optional[int] = None,
    dim: int = -1,
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """Computes the inverse of fft(): with the opposite sign, and by default the factor 1/n."""
    return _run("ifft", input, _length(n), (dim,), norm, out, settings)


def ifft2(
    input: Any,
    s: Numbers = None,
    dim: Numbers = (-2, -1),
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """ifft() over two dimensions; default: the last two."""
    return _run("ifft", input, _tuple(s), _tuple(dim), norm, out, settings)


def ifftn(
    input: Any,
    s: Numbers = None,
    dim: Numbers = None,
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """ifft() over the dimensions of dim; default: all, or the last len(s)."""
    return _run("ifft", input, _tuple(s), _tuple(dim), norm, out, settings)


def rfft(
    input: Any,
    n: Optional[int] = None,
    dim: int = -1,
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """Computes fft() of real input: the first n/2+1 elements; the others follow from symmetry."""
    return _run("rfft", input, _length(n), (dim,), norm, out, settings)


def rfft2(
    input: Any,
    s: Numbers = None,
    dim: Numbers = (-2, -1),
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """rfft() over two dimensions; default: the last two. The last of dim has n/2+1 elements."""
    return _run("rfft", input, _tuple(s), _tuple(dim), norm, out, settings)


def rfftn(
    input: Any,
    s: Numbers = None,
    dim: Numbers = None,
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """rfft() over the dimensions of dim; default: all, or the last len(s). The last of dim has n/2+1 elements."""
    return _run("rfft", input, _tuple(s), _tuple(dim), norm, out, settings)


def irfft(
    input: Any,
    n: Optional[int] = None,
    dim: int = -1,
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """Computes the inverse of rfft(): n real elements; the default of n is 2 * (m - 1) for m input elements."""
    return _run("irfft", input, _length(n), (dim,), norm, out, settings)


def irfft2(
    input: Any,
    s: Numbers = None,
    dim: Numbers = (-2, -1),
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """irfft() over two dimensions; default: the last two. The last of dim has n/2+1 elements in the input."""
    return _run("irfft", input, _tuple(s), _tuple(dim), norm, out, settings)


def irfftn(
    input: Any,
    s: Numbers = None,
    dim: Numbers = None,
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """irfft() over the dimensions of dim; default: all, or the last len(s). The last of dim has n/2+1 elements in the input."""
    return _run("irfft", input, _tuple(s), _tuple(dim), norm, out, settings)


def hfft(
    input: Any,
    n: Optional[int] = None,
    dim: int = -1,
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """Computes fft() of a signal that is Hermitian in time, from its first n/2+1 elements: n real elements."""
    return _run("hfft", input, _length(n), (dim,), norm, out, settings)


def hfft2(
    input: Any,
    s: Numbers = None,
    dim: Numbers = (-2, -1),
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """hfft() over two dimensions; default: the last two. The last of dim has n/2+1 elements in the input."""
    return _run("hfft", input, _tuple(s), _tuple(dim), norm, out, settings)


def hfftn(
    input: Any,
    s: Numbers = None,
    dim: Numbers = None,
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """hfft() over the dimensions of dim; default: all, or the last len(s). The last of dim has n/2+1 elements in the input."""
    return _run("hfft", input, _tuple(s), _tuple(dim), norm, out, settings)


def ihfft(
    input: Any,
    n: Optional[int] = None,
    dim: int = -1,
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """Computes the inverse of hfft(): n/2+1 elements from n real elements."""
    return _run("ihfft", input, _length(n), (dim,), norm, out, settings)


def ihfft2(
    input: Any,
    s: Numbers = None,
    dim: Numbers = (-2, -1),
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """ihfft() over two dimensions; default: the last two. The last of dim has n/2+1 elements."""
    return _run("ihfft", input, _tuple(s), _tuple(dim), norm, out, settings)


def ihfftn(
    input: Any,
    s: Numbers = None,
    dim: Numbers = None,
    norm: Optional[str] = None,
    *,
    out: Any = None,
    settings: SettingsArgument = None,
) -> Any:
    """ihfft() over the dimensions of dim; default: all, or the last len(s). The last of dim has n/2+1 elements."""
    return _run("ihfft", input, _tuple(s), _tuple(dim), norm, out, settings)


def _explain(function: Callable[..., Any], /, *arguments: Any, **names: Any) -> Dict[str, Any]:
    given = inspect.signature(function).bind(*arguments, **names)
    given.apply_defaults()
    of = given.arguments
    s = _length(of["n"]) if "n" in of else _tuple(of["s"])
    name = function.__name__.rstrip("2n")
    page: Dict[str, Any] = _core.fft(
        name, _floating(of["input"]), s, _tuple(of["dim"]), of["norm"], of["out"], of["settings"], explains=True
    )
    return page


_TRANSFORMS: Tuple[Callable[..., Any], ...] = (
    *(fft, fft2, fftn, ifft, ifft2, ifftn, rfft, rfft2, rfftn),
    *(irfft, irfft2, irfftn, hfft, hfft2, hfftn, ihfft, ihfft2, ihfftn),
)
_EXPLAINERS.update({function: functools.partial(_explain, function) for function in _TRANSFORMS})


def _shift(input: Any, dim: Numbers, back: bool) -> Any:
    return _like(_core.fftshift(input, _tuple(dim), back), input, input)


def fftshift(input: Any, dim: Numbers = None) -> Any:
    """Returns a copy with the zero frequency moved from the start to the middle of each dimension, or of those in dim."""
    return _shift(input, dim, False)


def ifftshift(input: Any, dim: Numbers = None) -> Any:
    """Returns a copy with the zero frequency moved from the middle back to the start."""
    return _shift(input, dim, True)


def _frequencies(n: int, d: float, half: bool, dtype: Any, out: Any) -> Any:
    name = dtype if isinstance(dtype, str) else str(getattr(dtype, "__name__", dtype)).replace("torch.", "")
    result = _core.fftfreq(n, d, half, name, out)
    if result is None:
        return out
    if isinstance(dtype, str):
        return result
    torch = sys.modules.get("torch")
    return torch.from_dlpack(result) if torch is not None and isinstance(dtype, torch.dtype) else as_numpy(result)


def fftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = "f64") -> Any:
    """Returns the frequencies of fft() for n samples at distance d: (0, 1, ..., -2, -1) / (n * d).

    The result is a backplane.Tensor, or with a dtype of NumPy or torch an array of that library.
    """
    return _frequencies(n, d, False, dtype, out)


def rfftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = "f64") -> Any:
    """Returns the frequencies of rfft(): (0, 1, ..., n/2) / (n * d). Types are as in fftfreq()."""
    return _frequencies(n, d, True, dtype, out)


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

close(__name__)
