"""Runs calls of scipy.fft on backplane.fft, by the protocol of uarray: ``scipy.fft.set_backend(backplane.fft)``."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Mapping, Tuple

_COMMON = ("norm", "overwrite_x", "workers")
_REAL = ("dct", "idct", "dst", "idst")


def _names(method: str) -> Tuple[str, ...]:
    """Returns the names of a method's positional arguments in SciPy."""
    several = method[-1] in "2n"
    kind = ("type",) if method.rstrip("n") in _REAL else ()
    last = ("orthogonalize",) if kind else ("plan",)
    return ("x", *kind, "s" if several else "n", "axes" if several else "axis", *_COMMON, *last)


def _input(x: Any) -> Any:
    """Returns an array that backplane.fft takes; None for element types that it does not have."""
    numpy = sys.modules["numpy"]
    if not isinstance(x, numpy.ndarray):
        if hasattr(x, "__dlpack__"):
            return x
        x = numpy.asarray(x)
    if x.dtype.kind in "biu":
        return x
    single = x.dtype.kind == "f" and x.dtype.itemsize <= 4
    wanted = numpy.dtype("f4") if single else x.dtype.newbyteorder("=")
    return x.astype(wanted, copy=False) if wanted.str[1:] in ("f4", "f8", "c8", "c16") else None


def _settings(workers: int) -> Dict[str, int]:
    return {"num_threads": workers if workers > 0 else max((os.cpu_count() or 1) + 1 + workers, 1)}


def call(module: ModuleType, method: Callable[..., Any], args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Runs a method of scipy.fft. Returns NotImplemented for a call that SciPy must run: other functions (fht), a plan,
    element types that Backplane does not have, and axes=None of two dimensions."""
    name = method.__name__
    function = getattr(module, name) if name in module.__all__ else None
    if function is None:
        return NotImplemented
    given = {**dict(zip(_names(name), args)), **kwargs}
    given.pop("overwrite_x", None)
    workers = given.pop("workers", None)
    x = _input(given.pop("x"))
    if x is None or given.pop("plan", None) is not None or workers == 0 or given.get("axes", ()) is None and name[-1] == "2":
        return NotImplemented
    given["settings"] = None if workers is None else _settings(workers)
    if name.rstrip("n") in _REAL and getattr(getattr(x, "dtype", None), "kind", "f") == "c":
        result = function(x.real, **given).astype(x.dtype)
        result.imag = function(x.imag, **given)
        return result
    return function(x, **given)
