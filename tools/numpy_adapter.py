"""numpy_adapter.py - gives backplane.linalg and backplane.fft the signatures of numpy.linalg and numpy.fft

NumPy's own tests need it (numpy_tests.py). It changes arguments and result types only: names of keywords, the functions for which torch and NumPy differ, and LinAlgError for a wrong
shape. Functions of NumPy that compute nothing here (fftshift) are NumPy's own.
"""

import functools
import types

import numpy
import numpy.fft
import numpy.linalg

import backplane

_linalg, _fft = backplane.linalg, backplane.fft
NumpyError = numpy.linalg.LinAlgError


def _result(value, *given):
    """Scalars instead of arrays of rank 0, as NumPy has them."""
    if isinstance(value, numpy.ndarray) and value.ndim == 0:
        return value[()]
    return value


def _shape_errors(function):
    """NumPy raises LinAlgError for a wrong shape; Backplane a ValueError with a status."""

    @functools.wraps(function)
    def run(*arguments, **names):
        try:
            return function(*arguments, **names)
        except backplane.BadValueError as error:
            if error.status == "E_SHAPE":
                raise NumpyError(str(error)) from error
            raise

    return run


# ---- numpy.linalg ----


def inv(a):
    return _linalg.inv(numpy.asarray(a))


def solve(a, b):
    a, b = numpy.asarray(a), numpy.asarray(b)
    if b.ndim > 1:  # a matrix always; torch takes some shapes as batches of vectors
        b = b.reshape((1,) * (a.ndim - b.ndim) + b.shape)
    elif a.ndim > 2:
        return _linalg.solve(a, b[:, None])[..., 0]
    return _linalg.solve(a, b)


def det(a):
    return _result(_linalg.det(a))


def slogdet(a):
    sign, logarithm = _linalg.slogdet(a)
    return numpy.linalg._linalg.SlogdetResult(_result(sign), _result(logarithm))


def cholesky(a, /, *, upper=False):
    return _linalg.cholesky(a, upper=upper)


def eig(a):
    values, vectors = _linalg.eig(a)
    if not numpy.iscomplexobj(a) and not values.imag.any():
        values, vectors = values.real, vectors.real
    return numpy.linalg._linalg.EigResult(values, vectors)


def eigvals(a):
    values = _linalg.eigvals(a)
    return values.real if not numpy.iscomplexobj(a) and not values.imag.any() else values


def eigh(a, UPLO="L"):
    return numpy.linalg._linalg.EighResult(*_linalg.eigh(a, UPLO))


def eigvalsh(a, UPLO="L"):
    return _linalg.eigvalsh(a, UPLO)


def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    if hermitian:  # NumPy's own composition of eigh
        return _numpy["svd"](a, full_matrices, compute_uv, True)
    if not compute_uv:
        return _linalg.svdvals(a)
    return numpy.linalg._linalg.SVDResult(*_linalg.svd(a, full_matrices))


def svdvals(x, /):
    return _linalg.svdvals(x)


def qr(a, mode="reduced"):
    if mode not in ("reduced", "complete", "r"):  # raw and names of old
        return _numpy["qr"](a, mode)
    found = _linalg.qr(a, mode)
    return found.R if mode == "r" else numpy.linalg._linalg.QRResult(*found)


def lstsq(a, b, rcond=None):
    a, b = numpy.asarray(a), numpy.asarray(b)
    if a.ndim != 2:
        raise NumpyError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    columns = b[:, None] if b.ndim == 1 else b
    found = _linalg.lstsq(a, columns, rcond, driver="gelsd")
    rank = int(found.rank)
    full = rank == a.shape[1] and a.shape[0] > a.shape[1]
    residuals = found.residuals if full else numpy.empty(0, found.singular_values.dtype)
    return (found.solution[:, 0] if b.ndim == 1 else found.solution), residuals, rank, found.singular_values


def pinv(a, rcond=None, hermitian=False, *, rtol=None):
    if rcond is not None and rtol is not None:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    return _linalg.pinv(a, rcond, hermitian, rtol=rtol)


def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    if tol is not None and rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    A = numpy.asarray(A)
    if A.ndim < 2:
        return int(not (A == 0).all())
    return _result(_linalg.matrix_rank(A, tol, hermitian, rtol=rtol))


def cond(x, p=None):
    return _result(_linalg.cond(x, p))


def norm(x, ord=None, axis=None, keepdims=False):
    return _result(_linalg.norm(x, ord, axis, keepdims))


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    return _result(_linalg.vector_norm(x, ord, axis, keepdims))


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return _result(_linalg.matrix_norm(x, ord, keepdim=keepdims))


def matrix_power(a, n):
    return _linalg.matrix_power(a, n)


def multi_dot(arrays, *, out=None):
    return _result(_linalg.multi_dot(list(arrays), out=out))


def tensorsolve(a, b, axes=None):
    return _linalg.tensorsolve(a, b, axes)


def tensorinv(a, ind=2):
    return _linalg.tensorinv(a, ind)


def cross(x1, x2, /, *, axis=-1):
    return _linalg.cross(x1, x2, axis=axis)


def outer(x1, x2, /):
    x1, x2 = numpy.asanyarray(x1), numpy.asanyarray(x2)
    if x1.ndim != 1 or x2.ndim != 1:  # the tests compare NumPy's message
        return _numpy["outer"](x1, x2)
    return _linalg.outer(x1, x2)


def tensordot(x1, x2, /, *, axes=2):
    return _result(_linalg.tensordot(x1, x2, axes))


def matmul(x1, x2, /):
    return _result(_linalg.matmul(x1, x2))


def vecdot(x1, x2, /, *, axis=-1):
    return _result(_linalg.vecdot(x1, x2, axis=axis))


def trace(x, /, *, offset=0, dtype=None):
    return _result(_linalg.trace(x, offset=offset, dtype=dtype))


def diagonal(x, /, *, offset=0):
    return _linalg.diagonal(x, offset=offset)


def matrix_transpose(x, /):
    return _linalg.matrix_transpose(x)


_NAMES = [name for name in numpy.linalg.__all__ if name in globals()]
_numpy = {name: getattr(numpy.linalg, name) for name in _NAMES}
linalg = types.SimpleNamespace(**{name: _shape_errors(globals()[name]) for name in _NAMES}, LinAlgError=NumpyError)


# ---- numpy.fft ----


def _one(name):
    function, model = getattr(_fft, name), getattr(numpy.fft, name)

    @functools.wraps(model)
    def run(a, n=None, axis=-1, norm=None, out=None):
        return function(numpy.asarray(a), n, axis, norm, out=out)

    return run


def _many(name, axes):
    function, model = getattr(_fft, name), getattr(numpy.fft, name)

    @functools.wraps(model)
    def run(a, s=None, axes=axes, norm=None, out=None):
        return function(numpy.asarray(a), s, axes, norm, out=out)

    return run


def _frequencies(name):
    function = getattr(_fft, name)

    def run(n, d=1.0, device=None, *, dtype=numpy.float64):
        if device not in (None, "cpu"):
            raise ValueError(f"device is {device!r}; it must be cpu")
        return function(n, d, dtype=dtype)

    return run


fft = types.SimpleNamespace(
    **{name: _one(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{name: _many(name, (-2, -1)) for name in ("fft2", "ifft2", "rfft2", "irfft2")},
    **{name: _many(name, None) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{name: _frequencies(name) for name in ("fftfreq", "rfftfreq")},
    **{name: getattr(numpy.fft, name) for name in ("fftshift", "ifftshift")},
)
