"""The array API's namespace of arrays, with the linear algebra, the transforms and the products of Backplane in it."""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any, Callable, Dict, List, Optional

from .. import _core, fft, linalg
from .._errors import bad_type

_PRODUCTS = ("matmul", "tensordot", "vecdot")
# Not cross, diagonal, matrix_transpose and trace, which make views or compute next to nothing.
_LINALG = (
    "cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power", "matrix_rank", "outer", "pinv",
    "qr", "slogdet", "svd", "svdvals", "tensordot", "vecdot", "vector_norm",
)  # fmt: skip
_FFT = ("fft", "fftn", "hfft", "ifft", "ifftn", "ihfft", "irfft", "irfftn", "rfft", "rfftn")


def _solve(x1: Any, x2: Any, /) -> Any:
    """Solves as the standard says: only an x2 of one dimension is a vector. linalg.solve() takes some shapes as batches of vectors, as torch."""
    return linalg.solve(x1, x2[None, ...] if x2.ndim > 1 and x2.ndim == x1.ndim - 1 else x2)


class _Namespace(ModuleType):
    """A namespace with some functions replaced."""

    _base: Any

    def __init__(self, name: str, base: Any, replaced: Dict[str, Any]) -> None:
        super().__init__(name)
        self.__dict__.update(replaced, _base=base)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._base, name)

    def __dir__(self) -> List[str]:
        return sorted({*dir(self._base), *(name for name in self.__dict__ if not name.startswith("_"))})


@functools.lru_cache(maxsize=None)
def _made(base: Any) -> _Namespace:
    name = f"backplane[{base.__name__}]"
    solvers: Dict[str, Callable[..., Any]] = {one: getattr(linalg, one) for one in _LINALG}
    replaced = {one: solvers[one] for one in _PRODUCTS}
    parts = {
        "linalg": _Namespace(f"{name}.linalg", base.linalg, {**solvers, "solve": _solve}),
        "fft": _Namespace(f"{name}.fft", base.fft, {one: getattr(fft, one) for one in _FFT}),
    }
    return _Namespace(name, base, {**replaced, **parts})


def _of_arrays(arrays: Any, api_version: Optional[str]) -> Any:
    """Returns the arrays' own namespace: array-api-compat's, which has one for every library, if it is installed."""
    try:
        compat = importlib.import_module("array_api_compat")
    except ImportError:
        found = [array.__array_namespace__(api_version=api_version) for array in arrays if hasattr(array, "__array_namespace__")]
        if not found or any(one is not found[0] for one in found):
            raise bad_type("array_namespace: expects arrays of one library that has the array API") from None
        return found[0]
    return compat.array_namespace(*arrays, api_version=api_version)


def array_namespace(*arrays: Any, api_version: Optional[str] = None) -> Any:
    """Returns the arrays' namespace of the array API, in which Backplane computes ``linalg``, ``fft``, ``matmul``, ``tensordot`` and ``vecdot``.

    Arrays are of NumPy, PyTorch, JAX or another library with the array API; results are arrays of that library. All other functions are
    the library's own. Libraries without ``__array_namespace__`` need the package array-api-compat.

    >>> xp = utils.array_namespace(np.ones(3))
    >>> xp.linalg.solve(xp.eye(2), xp.asarray([1.0, 2.0]))
    array([1., 2.])
    """
    if any(isinstance(array, _core.Tensor) for array in arrays):
        raise bad_type("array_namespace: backplane.Tensor has no operators, which the array API needs; convert it with numpy.asarray()")
    return _made(_of_arrays(arrays, api_version))
