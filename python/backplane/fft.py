"""Discrete Fourier transforms with the names and arguments of torch.fft, on the library that suits each call.

``n`` and ``s`` are lengths: longer input is cut, shorter input goes on with zeros. ``norm`` is "backward" (1/n for inverse
transforms, and the default), "forward" (1/n for the others) or "ortho" (1/sqrt(n) for both). Any strides are read in place.

Element types are f32, f64, c64 and c128, and results have the input's precision. Integers and bools become the default float
type of the library that the array is from: float64 for NumPy, torch.get_default_dtype() for torch. Results are NumPy arrays
or torch tensors as the input is, else backplane.Tensor. ``out`` is written in place and returned; it must not overlap the
input, but may be the input itself where that is complex and the result has its shape.
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any, Callable, Dict, Iterable, Optional, Tuple, Union

from . import _core, _plan_cache
from ._errors import bad_type, bad_value
from ._products import _EXPLAINERS, SettingsArgument, _as_numpy, _is_numpy, _like
from .backends._module import close

Numbers = Union[None, int, Tuple[int, ...]]


def _tuple(numbers: Any) -> Optional[Tuple[int, ...]]:
    if numbers is None or isinstance(numbers, tuple):
        return numbers
    return tuple(numbers) if isinstance(numbers, Iterable) else (numbers,)


def _length(n: Optional[int]) -> Optional[Tuple[int, ...]]:
    if n is not None and not hasattr(n, "__index__"):
        raise bad_type(f"n: takes a whole number, but got {n!r}")
    if n == -1:  # in s it stands for the input's length
        raise bad_value("n: invalid number of data points (-1)", "E_ARGUMENT")
    return None if n is None else (n,)


def _floating(array: Any) -> Any:
    """Integers and bools as the default float type of the library that the array is from."""
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
    """The transform of one dimension: ``out[k] = sum(input[j] * exp(-2j * pi * j * k / n))``; complex, also of real input."""
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
    """fft() over two dimensions, the last ones unless told otherwise."""
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
    """fft() over the dimensions of dim: without it all of them, or as many last ones as s has sizes."""
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
    """The inverse of fft(): the other sign, and 1/n unless norm says otherwise."""
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
    """ifft() over two dimensions, the last ones unless told otherwise."""
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
    """ifft() over the dimensions of dim: without it all of them, or as many last ones as s has sizes."""
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
    """The n/2+1 elements of fft() of real input that symmetry does not give."""
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
    """rfft() over two dimensions, the last ones unless told otherwise. The last of dim has n/2+1 elements."""
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
    """rfft() over the dimensions of dim: without it all of them, or as many last ones as s has sizes. The last of dim has n/2+1 elements."""
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
    """The inverse of rfft(): n real elements, 2 * (m - 1) for m elements of input unless n is given."""
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
    """irfft() over two dimensions, the last ones unless told otherwise. The last of dim has n/2+1 elements in the input."""
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
    """irfft() over the dimensions of dim: without it all of them, or as many last ones as s has sizes. The last of dim has n/2+1 elements in the input."""
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
    """fft() of a signal that is Hermitian in time, given by its first n/2+1 elements: n real elements."""
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
    """hfft() over two dimensions, the last ones unless told otherwise. The last of dim has n/2+1 elements in the input."""
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
    """hfft() over the dimensions of dim: without it all of them, or as many last ones as s has sizes. The last of dim has n/2+1 elements in the input."""
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
    """The inverse of hfft(): the n/2+1 elements of real input."""
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
    """ihfft() over two dimensions, the last ones unless told otherwise. The last of dim has n/2+1 elements."""
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
    """ihfft() over the dimensions of dim: without it all of them, or as many last ones as s has sizes. The last of dim has n/2+1 elements."""
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
    """A copy with the zero frequency moved from the start to the middle of each dimension, or of those in dim."""
    return _shift(input, dim, False)


def ifftshift(input: Any, dim: Numbers = None) -> Any:
    """A copy with the zero frequency moved back from the middle to the start."""
    return _shift(input, dim, True)


def _frequencies(n: int, d: float, half: bool, dtype: Any, out: Any) -> Any:
    name = dtype if isinstance(dtype, str) else str(getattr(dtype, "__name__", dtype)).replace("torch.", "")
    result = _core.fftfreq(n, d, half, name, out)
    if result is None:
        return out
    if isinstance(dtype, str):
        return result
    torch = sys.modules.get("torch")
    return torch.from_dlpack(result) if torch is not None and isinstance(dtype, torch.dtype) else _as_numpy(result)


def fftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = "f64") -> Any:
    """The frequencies of fft() of n samples that are d apart: 0, 1, ..., -2, -1 over n * d.

    A backplane.Tensor; with a dtype of NumPy's or torch's, an array of that library.
    """
    return _frequencies(n, d, False, dtype, out)


def rfftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = "f64") -> Any:
    """The frequencies of rfft(): 0 to n/2 over n * d. Types are as in fftfreq()."""
    return _frequencies(n, d, True, dtype, out)


class _PlanCache(_plan_cache.PlanCache):
    """The plans that are kept of transforms on the CPU, those used least recently given up first."""

    _name = "fft.plan_cache"
    _setting = "fft.plan_cache.max_size"

    def _count(self) -> int:
        return _core.fft_plans()

    def clear(self) -> None:
        """Throws all plans away."""
        _core.fft_plans_clear()


plan_cache = _PlanCache()

close(__name__)
