"""The functions of torch.linalg that are composed of others: vander, matrix_exp, householder_product, matrix_sqrth and polar.

NumPy is needed. Products, solutions and decompositions run on the library that is chosen for them; ``settings`` applies to each.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable, List, NamedTuple, Optional, Sequence, Tuple

from . import _core
from . import _linalg_arrays as arrays
from . import linalg
from ._convert import numpy_of
from ._errors import bad_type, bad_value, failure, whole
from ._help import helped
from ._linalg_names import _matrix, _refuse, matmul
from ._products import _EXPLAINERS

if TYPE_CHECKING:
    from ._types import Kind, Mixed, Next, Out, SettingsArgument

_TYPES = {"float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128"}


class Polar(NamedTuple):
    U: Any
    H: Any


def _floats(op: str, name: str, given: Any) -> Any:
    """Returns a NumPy array of f32, f64, c64 or c128; integers and bools become float64, as in all functions of linalg."""
    array = arrays.to_numpy(op, given)
    if array.dtype.kind in "biu":
        array = array.astype(float)
    if array.dtype.name not in _TYPES:
        raise bad_type(f"linalg.{op}: {name} is {array.dtype}; it must be f32, f64, c64 or c128")
    if not numpy_of(op).isfinite(array).all():
        raise failure(_core.LinAlgError, "E_NON_FINITE", f"linalg.{op}: {name} has NaN or infinity; all elements must be finite")
    return array


def _adjoint(array: Any) -> Any:
    return array.swapaxes(-1, -2).conj()


@helped("linalg")
def vander(x: Mixed, *, N: Optional[int] = None) -> Kind:
    """Computes the matrices whose columns are the powers 0, 1, ..., N-1 of vectors; N is the vectors' length if it is None.

    Integers stay integers, and wrap as NumPy's do.

    Shapes: x ... x n; the result ... x n x N.
    Types: all that NumPy has.

    >>> backplane.linalg.vander([1, 2, 3], N=3)
    array([[1, 1, 1],
           [1, 2, 4],
           [1, 3, 9]])
    """
    numpy, array = numpy_of("vander"), arrays.to_numpy("vander", x)
    if array.ndim < 1:
        raise bad_value("linalg.vander: x has no dimensions; it must have at least 1", "E_SHAPE")
    columns = array.shape[-1] if N is None else whole(N)
    if columns is None or isinstance(N, bool):
        raise bad_type(f"linalg.vander: N must be a whole number, but got {N!r}")
    if columns < 0:
        raise bad_value(f"linalg.vander: N is {columns}; it must be at least 0", "E_ARGUMENT")
    if array.dtype.kind == "b":
        array = array.astype("int64")
    powers = numpy.empty((*array.shape, columns), array.dtype)
    powers[..., :1] = 1
    for column in range(1, columns):
        numpy.multiply(powers[..., column - 1], array, out=powers[..., column])
    return arrays.like(powers, x)


# ---- The exponential ----

# N. J. Higham's limits for Pade approximants of these degrees in double precision: the largest norm that each is accurate for.
_DEGREES = ((3, 1.495585217958292e-2), (5, 2.539398330063230e-1), (7, 9.504178996162932e-1), (9, 2.097847961257068e0))
_LIMIT_13 = 4.25  # of degree 13, for the norms of powers (A. H. Al-Mohy and N. J. Higham, 2009)
_LARGEST = 30  # a matrix one of whose powers up to the tenth overflows is scaled below 2^30 first

_TINY = 2.0**-54  # the exponential of a matrix with a norm up to this is I + A; a factor could lose elements that are denormal


def _norm_1(matrix: Any) -> float:
    """Returns the 1-norm. An element or a sum that overflowed is an OverflowError."""
    norm = float(abs(matrix).sum(-2).max())
    if not math.isfinite(norm):
        raise OverflowError
    return norm


def _extra(matrix: Any, degree: int) -> int:
    """Returns by how many powers of 2 the matrix must be scaled down further for the error to be no more than rounding. The norms of
    powers do not show cancellation within them; this bound, of the power 2 degree + 1 of the absolute values, does."""
    numpy = numpy_of("matrix_exp")
    row, size, exponent = numpy.ones(matrix.shape[-1]), abs(matrix), 0
    for _ in range(2 * degree + 1):
        row = row @ size
        if not row.any():
            return 0
        shift = math.frexp(float(row.max()))[1]
        row, exponent = numpy.ldexp(row, -shift), exponent + shift
    coefficient = math.lgamma(2 * degree + 1) - 2 * math.lgamma(degree + 1) + math.lgamma(2 * degree + 2)
    relative = math.log2(float(row.max())) + exponent - math.log2(_norm_1(matrix)) - coefficient / math.log(2) + 53
    return max(math.ceil(relative / (2 * degree)), 0)


def _pade(powers: List[Any], matrix: Any, degree: int, settings: SettingsArgument) -> Any:
    """Returns the Pade approximant q(-A)^-1 q(A); powers has the even powers of A from 0 on; degree 13 needs four."""
    numpy = numpy_of("matrix_exp")
    top = math.factorial(2 * degree) // math.factorial(degree)
    b = [float(math.comb(degree, k) * math.factorial(2 * degree - k) // math.factorial(degree)) / top for k in range(degree + 1)]
    if degree < 13:
        odd = sum(b[2 * k + 1] * powers[k] for k in range(degree // 2 + 1))
        even = sum(b[2 * k] * powers[k] for k in range(degree // 2 + 1))
    else:
        high_odd = sum(b[2 * k + 7] * powers[k] for k in range(1, 4))
        high_even = sum(b[2 * k + 6] * powers[k] for k in range(1, 4))
        odd = matmul(powers[3], high_odd, settings=settings) + sum(b[2 * k + 1] * powers[k] for k in range(4))
        even = matmul(powers[3], high_even, settings=settings) + sum(b[2 * k] * powers[k] for k in range(4))
    odd = matmul(matrix, odd, settings=settings)
    return linalg.solve(numpy.subtract(even, odd), numpy.add(even, odd), settings=settings)


def _degree(matrix: Any, powers: List[Any], settings: SettingsArgument) -> Tuple[int, int]:
    """Returns the degree for a matrix, and by how many powers of 2 it is scaled down first; appends the powers it needs."""
    powers.append(matmul(matrix, matrix, settings=settings))
    for degree, limit in _DEGREES:
        while len(powers) <= degree // 2:
            powers.append(matmul(powers[-1], powers[1], settings=settings))
        if _norm_1(matrix) <= limit and _extra(matrix, degree) == 0:
            return degree, 0
    sixth, eighth = (_norm_1(powers[k]) ** (0.5 / k) for k in (3, 4))
    tenth = _norm_1(matmul(powers[4], powers[1], settings=settings)) ** 0.1
    size = min(max(sixth, eighth), max(eighth, tenth))
    scale = max(math.ceil(math.log2(size / _LIMIT_13)), 0) if size else 0
    return 13, scale + _extra(matrix * 2.0**-scale, 13)


def _scaled(matrix: Any, scale: int) -> Any:
    return numpy_of("matrix_exp").ldexp(matrix, -scale) if matrix.dtype.kind == "f" else matrix * 2.0**-scale


def _exponential(matrix: Any, settings: SettingsArgument, before: int = 0) -> Any:
    """Returns the exponential of one matrix of f64 or c128: by a Pade approximant of the matrix times 2^-s, squared s times. The
    matrix has been scaled by 2^-before."""
    numpy = numpy_of("matrix_exp")
    powers: List[Any] = [numpy.eye(matrix.shape[-1], dtype=matrix.dtype)]
    if not before and abs(matrix).max() <= _TINY / matrix.shape[-1]:
        return powers[0] + matrix
    try:
        degree, more = _degree(matrix, powers, settings)
    except OverflowError:
        scale = max(math.frexp(float(abs(matrix).max()))[1] - _LARGEST, 1)
        return _exponential(_scaled(matrix, scale), settings, before + scale)
    powers = [_scaled(power, 2 * more * k) for k, power in enumerate(powers)]
    result = _pade(powers, _scaled(matrix, more), degree, settings)
    for _ in range(before + more):
        result = matmul(result, result, settings=settings)
    return result


@helped("linalg")
def matrix_exp(A: Mixed, *, settings: SettingsArgument = None) -> Kind:
    """Computes the exponential of square matrices, by Pade approximants with scaling and squaring.

    f32 and c64 are computed in f64 and c128, and rounded once. The items of a batch do not depend on each other. An exponential
    that the type cannot represent has elements that are infinite or NaN.

    Shapes: A ... x n x n; the result has the same.

    >>> backplane.linalg.matrix_exp(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    numpy, array = numpy_of("matrix_exp"), _floats("matrix_exp", "A", A)
    _matrix("matrix_exp", array.shape, True)
    wide = array.astype("complex128" if array.dtype.kind == "c" else "float64")
    result = numpy.empty(wide.shape, array.dtype)
    with numpy.errstate(over="ignore", invalid="ignore"):
        for place in numpy.ndindex(array.shape[:-2] if array.size else (0,)):
            result[place] = _exponential(wide[place], settings)
    return arrays.like(result, A)


# ---- Factors ----


@helped("linalg")
def householder_product(A: Mixed, tau: Next, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes the first n columns of the product of Householder reflections, as LAPACK's orgqr and ungqr do.

    Column i of A (m x n, m >= n) has the vector of reflection i below the diagonal, and tau (k <= n) its factor: the reflection
    is I - tau v v^H, where v is 0 above its element i, which is 1. Batches of A and tau are the same.

    Shapes: A ... x m x n, tau ... x k, m >= n >= k; the result ... x m x n.

    >>> backplane.linalg.householder_product(np.array([[9.0], [1.0]]), np.array([1.0]))
    array([[ 0.],
           [-1.]])
    """
    numpy = numpy_of("householder_product")
    array, factors = _floats("householder_product", "A", A), _floats("householder_product", "tau", tau)
    _matrix("householder_product", array.shape)
    rows, columns = array.shape[-2:]
    if rows < columns:
        raise bad_value(f"linalg.householder_product: A is {rows}x{columns}; it must not have more columns than rows", "E_SHAPE")
    if factors.ndim < 1 or factors.shape[:-1] != array.shape[:-2] or factors.shape[-1] > columns:
        raise bad_value(f"linalg.householder_product: tau has shape {factors.shape}; it must have the shape of A's batch, "
                        f"{array.shape[:-2]}, and at most {columns} elements", "E_SHAPE")
    kind = numpy.result_type(array, factors)
    count = factors.shape[-1]
    vectors = numpy.tril(array[..., :count].astype(kind), -1)
    vectors[..., range(count), range(count)] = 1
    factors = factors.astype(kind)
    # The product is I - V T V^H with T = (I + diag(tau) U)^-1 diag(tau), where U is V^H V above the diagonal.
    above = numpy.triu(matmul(_adjoint(vectors), vectors, settings=settings), 1)
    diagonal = numpy.zeros_like(above)
    diagonal[..., range(count), range(count)] = factors
    middle = linalg.solve_triangular(
        numpy.eye(count, dtype=kind) + factors[..., None] * above, diagonal, upper=True, unitriangular=True, settings=settings
    )
    right = matmul(middle, _adjoint(vectors[..., :columns, :]), settings=settings)
    result = numpy.eye(rows, columns, dtype=kind) - matmul(vectors, right, settings=settings)
    return arrays.deliver(result, (A, tau), out)


@helped("linalg")
def matrix_sqrth(A: Mixed, *, settings: SettingsArgument = None) -> Kind:
    """Computes the principal square root of Hermitian positive-semidefinite matrices; reads the lower triangle only.

    An eigenvalue below 0 by more than rounding explains is a LinAlgError.

    Shapes: A ... x n x n; the result has the same.
    Errors: LinAlgError: an eigenvalue is negative

    >>> backplane.linalg.matrix_sqrth(np.diag([4.0, 9.0]))
    array([[2., 0.],
           [0., 3.]])
    """
    numpy, array = numpy_of("matrix_sqrth"), _floats("matrix_sqrth", "A", A)
    _matrix("matrix_sqrth", array.shape, True)
    values, vectors = linalg.eigh(array, settings=settings)
    if values.size:
        limits = array.shape[-1] * numpy.finfo(values.dtype).eps * abs(values).max(-1)
        if (values[..., 0] < -limits).any():
            raise failure(_core.LinAlgError, "E_NOT_POSITIVE_DEFINITE", "linalg.matrix_sqrth: A has a negative eigenvalue, "
                          f"{float(values.min())}; it must be positive semidefinite")
    roots = numpy.sqrt(numpy.maximum(values, 0))
    result = matmul(vectors * roots[..., None, :], _adjoint(vectors), settings=settings)
    return arrays.like((result + _adjoint(result)) / 2, A)


@helped("linalg")
def polar(A: Mixed, *, out: Optional[Sequence[Out]] = None, settings: SettingsArgument = None) -> Polar:
    """Computes U and H with A = U H for m x n matrices, m >= n: U has orthonormal columns, H is positive semidefinite.

    Shapes: A ... x m x n, m >= n; U ... x m x n, H ... x n x n.

    >>> backplane.linalg.polar(np.array([[0.0, -2.0], [3.0, 0.0]])).H.round(12)
    array([[3., 0.],
           [0., 2.]])
    """
    array = _floats("polar", "A", A)
    _matrix("polar", array.shape)
    rows, columns = array.shape[-2:]
    if rows < columns:
        raise bad_value(f"linalg.polar: A is {rows}x{columns}; it must not have more columns than rows", "E_SHAPE")
    if out is not None and (not isinstance(out, (tuple, list)) or len(out) != 2):
        raise bad_value("linalg.polar: out must be two arrays, for U and H", "E_ARGUMENT")
    left, values, right = linalg.svd(array, full_matrices=False, settings=settings)
    H = matmul(_adjoint(right) * values[..., None, :], right, settings=settings)
    found = matmul(left, right, settings=settings), (H + _adjoint(H)) / 2
    return Polar(*(arrays.deliver(one, (A,), place) for one, place in zip(found, out or (None, None))))


_COMPOSED: List[Callable[..., Any]] = [vander, matrix_exp, householder_product, matrix_sqrth, polar]

for _function in _COMPOSED:
    _EXPLAINERS[_function] = _refuse(_function)
