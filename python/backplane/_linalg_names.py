"""The functions of numpy.linalg and of the array API standard that torch.linalg does not have, or that are not a single operation.

Products of floating-point numbers are computed by the library. Everything else is done by NumPy: integers, and rearrangements.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Literal, Optional, Sequence, Tuple, Union, cast

from . import _core
from . import _linalg_arrays as arrays
from . import linalg
from ._convert import numpy_of, shape_of, unite
from ._dtypes import dtype as Own
from ._einsum import einsum
from .elementwise import astype
from ._errors import bad_type, bad_value, failure, whole
from ._help import complete, helped
from ._linalg_calls import Function, ask, ask_for, number_of, operation
from ._quick import quick
from ._products import _EXPLAINERS, _is_numpy, _is_torch, _like

if TYPE_CHECKING:
    from ._types import Axes, DType, Dims, Kind, Mixed, Next, Out, SettingsArgument

def _same(op: str, name: str, value: Any, other_name: str, other: Any, default: Any) -> Any:
    """Returns the value of an argument with two names."""
    if other is None:
        return value
    if value is not default and value != default:
        raise bad_type(f"linalg.{op}: {name} and {other_name} are the same argument; give one of them")
    return other


def _dims(op: str, dim: Any, rank: int) -> Optional[Tuple[int, ...]]:
    """Returns dimensions from 0 upwards; None means all."""
    if dim is None:
        return None
    places = []
    for one in dim if isinstance(dim, (tuple, list)) else (dim,):
        number = whole(one)
        if number is None:
            raise bad_type(f"linalg.{op}: dim expects an int or a tuple of ints, but got {dim!r}")
        if not -rank <= number < rank:
            raise bad_value(f"linalg.{op}: dim {number} is out of range for {rank} dimensions", "E_ARGUMENT")
        places.append(number % rank)
    if len(set(places)) != len(places):
        raise bad_value(f"linalg.{op}: dim names one dimension twice", "E_ARGUMENT")
    return tuple(places)


def _matrix(op: str, shape: Tuple[int, ...], square: bool = False) -> None:
    if len(shape) < 2:
        raise bad_value(f"linalg.{op}: A has {len(shape)} dimensions; it must have at least 2", "E_SHAPE")
    if square and shape[-1] != shape[-2]:
        raise bad_value(f"linalg.{op}: A is {shape[-2]}x{shape[-1]}; it must be square", "E_SHAPE")


# ---- Norms ----


@operation
def vector_norm(
    A: Kind,
    ord: float = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    axis: Dims = None,
    keepdims: Optional[bool] = None,
    dtype: Optional[DType] = None,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Computes the norm of an array's elements along dimensions (``dim`` or ``axis``); None: all of them.

    That is (sum of |x|^ord)^(1/ord); the largest and smallest absolute value for inf and -inf; the number of elements that are
    not 0 for 0. No intermediate value overflows. Without elements the norm is 0 for an order of 0 or more, and infinity below;
    order -inf is refused. With ``dtype``, the elements are converted first. Integers count as float64; f16 of NumPy is computed in f32, without ``out``.

    Shapes: any; the result lacks the dimensions of ``dim``, or has them with size 1 for ``keepdim``.

    >>> float(backplane.linalg.vector_norm([3e300, 4e300]))
    5e+300
    """
    if dtype is not None:
        A = astype(A, dtype)
    order = number_of(ord)
    if order is None:
        raise bad_type(f"linalg.vector_norm: the order must be a number, but got {type(ord).__name__}")
    dim, keepdim = _same("vector_norm", "dim", dim, "axis", axis, None), keepdim if keepdims is None else bool(keepdims)
    dims = dim if dim is None or isinstance(dim, (tuple, list)) else (dim,)
    words = {"mode": "p", "order": order, "dim": None if dims is None else tuple(dims), "keepdim": keepdim}
    if _is_numpy(A) and A.dtype == "float16" and out is None:
        return ask_for(lambda norm: norm.astype("float16"), "vector_norm", (A.astype("float32"),), (True,), None, **words)
    return ask("vector_norm", (A,), (True,), out, **words)


@helped("linalg")
def norm(
    A: Kind,
    ord: Union[None, Literal["fro", "nuc"], float] = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    axis: Dims = None,
    keepdims: Optional[bool] = None,
    dtype: Optional[DType] = None,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Computes a vector norm along one dimension, or a matrix norm in two.

    Without ``dim`` and ``ord``, it is the 2-norm of all elements. With an order alone, a vector (rank 1) has a vector norm and a
    matrix (rank 2) a matrix norm.

    Shapes: any; the result lacks the dimensions of ``dim``, or has them with size 1 for ``keepdim``.

    >>> float(backplane.linalg.norm([[3, 0], [0, 4]])), float(backplane.linalg.norm([[3, 0], [0, 4]], 2))
    (5.0, 4.0)
    """
    if dtype is not None:
        A = astype(A, dtype)
    dim, keepdim = _same("norm", "dim", dim, "axis", axis, None), keepdim if keepdims is None else bool(keepdims)
    (A,) = arrays.factors("norm", (A,))
    rank = len(shape_of(A))
    places = _dims("norm", dim, rank)
    if places is None and ord is not None:
        if rank not in (1, 2):
            raise bad_value(f"linalg.norm: A has {rank} dimensions; with an order, and without dim, it must have 1 or 2", "E_SHAPE")
        places = tuple(range(rank))
    if places is not None and len(places) > 2:
        raise bad_value(f"linalg.norm: dim names {len(places)} dimensions; a norm takes 1 or 2", "E_ARGUMENT")
    if ord is None or places is None or len(places) == 1:
        if isinstance(ord, str):
            raise bad_value(f"linalg.norm: order {ord!r} is one of matrices; a vector norm takes a number", "E_ARGUMENT")
        run: Callable[..., Any] = vector_norm
        ord = 2 if ord is None else ord
    else:
        run = linalg.matrix_norm
    return run(A, ord, places, keepdim, out=out, settings=settings)


norm = quick(norm, ("norm", "norm"))


# ---- Products ----


@helped("linalg")
def matmul(A: Mixed, B: Next, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes the matrix product, as backplane.matmul(), of mixed types too; lists are accepted.

    NumPy computes the product of integers and bools of any library, and of its own objects and long doubles, because no math
    library has it. Integers of 8 bits wrap to 8 bits here; backplane.matmul() sums them in int32 and is otherwise the same.

    Shapes: A ... x m x k, or k; B ... x k x n, or k; the result ... x m x n, without the dimension of a vector.

    >>> backplane.linalg.matmul([[1, 2]], [[3], [4]])
    array([[11]])
    """
    try:
        return _core.matmul_floats(A, B, out=out, settings=settings)
    except TypeError:
        a, b = arrays.factors("matmul", (A, B))
        given = arrays.for_numpy("matmul", (a, b))
        if given:
            numpy = numpy_of("matmul")
            if _is_numpy(out):
                return numpy.matmul(*given, out=out)
            return arrays.deliver(numpy.matmul(*given), (a, b), out)
        if a is A and b is B:
            raise
        return _core.matmul_floats(a, b, out=out, settings=settings)


_EXPLAINERS[matmul] = _core.explain_matmul_floats


# A product as the extension takes it: name, arrays, dimension or power, the caller's `out`, settings.
_Chain = Tuple[str, Tuple[Any, ...], int, Any, "SettingsArgument"]


def _vecdot_numpy(given: Tuple[Any, ...], dim: int) -> Any:
    numpy, (a, b) = numpy_of("vecdot"), given
    back = dim if dim < 0 else dim - max(a.ndim, b.ndim)
    return (numpy.moveaxis(a, back, -1)[..., None, :] @ numpy.moveaxis(b, back, -1)[..., :, None])[..., 0, 0]


def _matrix_power_numpy(given: Tuple[Any, ...], n: int) -> Any:
    numpy, square = numpy_of("matrix_power"), given[0]
    _matrix("matrix_power", square.shape, True)
    power = numpy.empty_like(square)
    power[...] = numpy.eye(square.shape[-1], dtype=square.dtype)
    while n > 0:
        power, square, n = power @ square if n & 1 else power, square @ square if n > 1 else square, n >> 1
    return power


# For integers, bools, objects and long doubles. Programs may replace the functions of numpy.linalg by this package's, so
# they are not called if a few operators do.
_BY_NUMPY: Dict[str, Callable[[Tuple[Any, ...], int], Any]] = {
    "vecdot": _vecdot_numpy,
    "multi_dot": lambda given, _: numpy_of("multi_dot").linalg.multi_dot(given),
    "matrix_power": _matrix_power_numpy,
}


def _large_power(given: Tuple[Any, ...], n: int, out: Any, settings: SettingsArgument) -> Any:
    """Computes a power that has more than 64 bits: the first 32 are a power of the power 2**32."""
    step = 2**32 if n > 0 else -(2**32)
    high = matrix_power(matrix_power(given[0], step, settings=settings), n // step, settings=settings)
    return matmul(high, matrix_power(given[0], n - n // step * step, settings=settings), out=out, settings=settings)


def _call_chain(chain: _Chain, explains: bool) -> Any:
    """Runs or explains a product, with converted arrays if the library does not take them as they are."""
    name, given, number, out, settings = chain
    if not -(2**63) <= number < 2**63:
        if explains:
            raise bad_value("explain: linalg.matrix_power: n has more than 64 bits; explain a smaller power", "E_ARGUMENT")
        return _large_power(given, number, out, settings)
    try:
        return _core.product_chain(name, given, number, out, settings, explains)
    except TypeError:
        inverse = name == "matrix_power" and number < 0
        converted = unite(arrays.factors(name, given), inverse)
        if any(one is not other for one, other in zip(converted, given)):
            return _call_chain((name, converted, number, out, settings), explains)
        found = None if explains or inverse else arrays.for_numpy(name, given)
        if found is None:
            raise
        return arrays.deliver(_BY_NUMPY[name](found, number), given, out)


def _chain(function: Function) -> Function:
    """Decorates a function that returns a product: the decorated function runs it."""

    @functools.wraps(function)
    def run(*values: Any, **names: Any) -> Any:
        chain = function(*values, **names)
        result = _call_chain(chain, False)
        return chain[3] if result is None else _like(result, *chain[1])

    def explain(*values: Any, **names: Any) -> Any:
        return _call_chain(function(*values, **names), True)

    run.__doc__ = complete(function, "linalg", function.__doc__ or "")
    _EXPLAINERS[run] = explain
    return cast(Function, run)


def _number(op: str, name: str, value: Any) -> int:
    number = whole(value)
    if number is None:
        raise bad_type(f"linalg.{op}: {name} must be a whole number, but got {value!r}")
    return number


@_chain
def matrix_power(A: Mixed, n: int, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes A to an integer power by repeated squaring; 0 gives the identity, a negative power a power of the inverse.

    Shapes: A ... x n x n; the result has the same.

    >>> backplane.linalg.matrix_power([[1, 1], [0, 1]], 5)
    array([[1, 5],
           [0, 1]])
    """
    return "matrix_power", (A,), _number("matrix_power", "n", n), out, settings


@_chain
def multi_dot(tensors: Sequence[Mixed], *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes the product of two or more matrices in the order that costs the fewest operations.

    The first and the last may be vectors: a row and a column.

    Shapes: m x k, k x l, ..., or vectors at the ends; the result has the first rows and the last columns.

    >>> backplane.linalg.multi_dot([np.ones(2), np.ones((2, 3)), np.ones((3, 1))])
    array([6.])
    """
    return "multi_dot", tuple(tensors), 0, out, settings


@_chain
def vecdot(
    A: Mixed, B: Next, *, dim: int = -1, axis: Optional[int] = None, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    """Computes the sum of conj(A) B along one dimension (``dim`` or ``axis``); the others broadcast.

    A dimension below 0 counts from the back of both, otherwise from the front of the broadcast shape.

    Shapes: equal or broadcast; the result lacks the dimension.

    >>> backplane.linalg.vecdot([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])
    array([3., 7.])
    """
    dim = _same("vecdot", "dim", dim, "axis", axis, -1)
    number = _number("vecdot", "dim", dim)
    if abs(number) >= 2**31:
        raise bad_value(f"linalg.vecdot: dim is {number}, out of range", "E_ARGUMENT")
    return "vecdot", (A, B), number, out, settings


@helped("linalg")
def outer(A: Mixed, B: Next, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
    """Computes the products of each element of one vector with each of another.

    Shapes: A m, B n; the result m x n.
    Errors: BadValueError: an array is not a vector

    >>> backplane.linalg.outer([1, 2], [3.0, 4.0])
    array([[3., 4.],
           [6., 8.]])
    """
    a, b = arrays.factors("outer", (A, B))
    for name, one in (("A", a), ("B", b)):
        if len(shape_of(one)) != 1:
            raise bad_value(f"linalg.outer: {name} has {len(shape_of(one))} dimensions; it must be a vector", "E_SHAPE")
    try:
        return einsum(a, [0], b, [1], [0, 1], out=out, settings=settings)
    except TypeError:
        given = arrays.for_numpy("outer", (a, b))
        if given is None:
            raise
        return arrays.deliver(numpy_of("outer").multiply.outer(*given), (a, b), out)


def _pairs(axes: Any, ranks: Tuple[int, int]) -> Tuple[Tuple[int, ...], Tuple[int, ...]]:
    """Returns the dimensions that a tensordot sums, of each array, from 0 upwards."""
    number = whole(axes)
    if number is not None:
        if not 0 <= number <= min(ranks):
            raise bad_value(f"linalg.tensordot: axes is {number}; it must be from 0 to {min(ranks)} for these arrays", "E_ARGUMENT")
        return tuple(range(ranks[0] - number, ranks[0])), tuple(range(number))
    if not isinstance(axes, (tuple, list)) or len(axes) != 2:
        raise bad_type(f"linalg.tensordot: axes expects an int, or two lists of dimensions, but got {axes!r}")
    first, second = (_dims("tensordot", one, rank) or () for one, rank in zip(axes, ranks))
    if len(first) != len(second):
        raise bad_value(f"linalg.tensordot: axes names {len(first)} dimensions of A and {len(second)} of B", "E_ARGUMENT")
    return first, second


@helped("linalg")
def tensordot(
    A: Mixed, B: Next, axes: Axes = 2, *, dims: Optional[Axes] = None, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    """Computes the sum of products over dimensions of both: the last ``axes`` of A and first of B, or two lists of them.

    ``dims`` is another name of ``axes``.

    Shapes: any; the result has the dimensions of A and of B that are not summed.

    >>> backplane.linalg.tensordot(np.ones((2, 3)), np.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    axes = axes if dims is None else dims
    a, b = arrays.factors("tensordot", (A, B))
    shapes = shape_of(a), shape_of(b)
    first, second = _pairs(axes, (len(shapes[0]), len(shapes[1])))
    for of_a, of_b in zip(first, second):
        if shapes[0][of_a] != shapes[1][of_b]:
            raise bad_value(
                f"linalg.tensordot: dimension {of_a} of A has {shapes[0][of_a]} elements, {of_b} of B has {shapes[1][of_b]}", "E_SHAPE"
            )
    labels_a = list(range(len(shapes[0])))
    labels_b = [first[second.index(one)] if one in second else len(labels_a) + one for one in range(len(shapes[1]))]
    result = [one for one in labels_a if one not in first] + [one for one in labels_b if one >= len(labels_a)]
    try:
        return einsum(a, labels_a, b, labels_b, result, out=out, settings=settings)
    except TypeError:
        given = arrays.for_numpy("tensordot", (a, b))
        if given is None:
            raise
        return arrays.deliver(numpy_of("tensordot").tensordot(*given, (first, second)), (a, b), out)


@helped("linalg")
def cross(A: Mixed, B: Next, *, dim: int = -1, axis: Optional[int] = None, out: Optional[Out] = None) -> Kind:
    """Computes the cross product of vectors of 3 elements along one dimension (``dim`` or ``axis``). NumPy is needed.

    Shapes: equal or broadcast, with 3 elements along the dimension; the result has the same.
    Types: all that NumPy has.

    >>> backplane.linalg.cross([1, 0, 0], [0, 1, 0])
    array([0, 0, 1])
    """
    dim = _same("cross", "dim", dim, "axis", axis, -1)
    numpy = numpy_of("cross")
    a, b = (arrays.to_numpy("cross", one) for one in (A, B))
    for name, array in (("A", a), ("B", b)):
        (place,) = _dims("cross", dim, array.ndim) or (0,)
        if array.shape[place] != 3:
            raise bad_value(f"linalg.cross: {name} has {array.shape[place]} elements in dim {dim}; it must have 3", "E_SHAPE")
    return arrays.deliver(numpy.cross(a, b, axis=dim), (A, B), out)


# ---- Diagonals and transposes ----


@helped("linalg")
def diagonal(A: Mixed, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Kind:
    """Returns the diagonal of matrices, above the main one for a positive offset. It shares the memory of a NumPy array or
    torch tensor; NumPy makes it read-only.

    Shapes: A ... x m x n; the result ... x the length of the diagonal.
    Types: all.

    >>> backplane.linalg.diagonal([[1, 2], [3, 4]])
    array([1, 4])
    """
    if _is_torch(A):
        return A.diagonal(offset, dim1, dim2)
    array = arrays.to_numpy("diagonal", A)
    _matrix("diagonal", array.shape)
    return arrays.like(array.diagonal(offset, dim1, dim2), A)


@helped("linalg")
def trace(A: Mixed, *, offset: int = 0, dtype: Optional[DType] = None, out: Optional[Out] = None) -> Kind:
    """Computes the sum of the diagonal of matrices, in the element type ``dtype`` if that is given. NumPy is needed.

    Shapes: A ... x m x n; the result has the batch.
    Types: all that NumPy has.

    >>> int(backplane.linalg.trace([[1, 2], [3, 4]]))
    5
    """
    array = arrays.to_numpy("trace", A)
    _matrix("trace", array.shape)
    dtype = str(dtype).rpartition(".")[2] if isinstance(dtype, Own) else dtype
    return arrays.deliver(array.trace(offset, -2, -1, dtype), (A,), out)


@helped("linalg")
def matrix_transpose(A: Mixed) -> Kind:
    """Returns the matrices with rows and columns exchanged, in the same memory if A is a NumPy array or a torch tensor.

    Shapes: A ... x m x n; the result ... x n x m.
    Types: all.

    >>> backplane.linalg.matrix_transpose([[1, 2, 3]]).shape
    (3, 1)
    """
    if _is_torch(A):
        return A.mT
    array = arrays.to_numpy("matrix_transpose", A)
    _matrix("matrix_transpose", array.shape)
    return arrays.like(array.swapaxes(-1, -2), A)


# ---- Equations of tensors ----


def _count(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


@helped("linalg")
def tensorsolve(
    A: Mixed, B: Next, dims: Optional[Sequence[int]] = None, *, axes: Optional[Sequence[int]] = None,
    settings: SettingsArgument = None,
) -> Kind:
    """Solves tensordot(A, X, X.ndim) = B. ``dims`` or ``axes``: dimensions of A that are moved to the end first. NumPy is needed.

    Shapes: A as B and further sizes, whose product is the number of elements of B; the result has the further sizes.

    >>> backplane.linalg.tensorsolve(np.eye(4).reshape(2, 2, 4), np.ones((2, 2)))
    array([1., 1., 1., 1.])
    """
    dims = _same("tensorsolve", "dims", dims, "axes", axes, None)
    a, b = (arrays.to_numpy("tensorsolve", one) for one in (A, B))
    moved = _dims("tensorsolve", None if dims is None else tuple(dims), a.ndim)
    if moved is not None:
        a = a.transpose([place for place in range(a.ndim) if place not in moved] + list(moved))
    shape = a.shape[b.ndim :]
    if a.shape[: b.ndim] != b.shape or _count(shape) != b.size:
        raise bad_value(f"linalg.tensorsolve: A of shape {a.shape} does not fit B of shape {b.shape}: it must begin with that shape, "
                        "and the product of its other sizes must be the same", "E_SHAPE")
    found = linalg.solve(a.reshape(b.size, b.size), b.reshape(b.size), settings=settings)
    return arrays.like(found.reshape(shape), A, B)


@helped("linalg")
def tensorinv(A: Mixed, ind: int = 2, *, settings: SettingsArgument = None) -> Kind:
    """Computes the inverse of A as a linear map from its last dimensions to its first ``ind``. NumPy is needed.

    Shapes: A with as many elements in the first ``ind`` dimensions as in the others; the result has the others first.

    >>> backplane.linalg.tensorinv(np.eye(6).reshape(6, 2, 3), ind=1).shape
    (2, 3, 6)
    """
    number = whole(ind)
    if number is None:
        raise bad_type(f"linalg.tensorinv: ind must be a whole number, but got {ind!r}")
    array = arrays.to_numpy("tensorinv", A)
    if not 0 < number:
        raise bad_value(f"linalg.tensorinv: ind is {number}; it must be at least 1", "E_ARGUMENT")
    rows, columns = array.shape[:number], array.shape[number:]
    if _count(rows) != _count(columns):
        raise bad_value(f"linalg.tensorinv: A of shape {array.shape} has {_count(rows)} elements in its first {number} dimensions and "
                        f"{_count(columns)} in the others; they must be equal", "E_SHAPE")
    found = linalg.inv(array.reshape(_count(rows), _count(columns)), settings=settings)
    return arrays.like(found.reshape(columns + rows), A)


_NOT_ONE_CALL: List[Callable[..., Any]] = [
    cross, diagonal, matrix_transpose, norm, outer, tensordot, tensorinv, tensorsolve, trace
]


def _refuse(function: Callable[..., Any]) -> Callable[..., Any]:
    def explain(*arguments: Any, **names: Any) -> Any:
        raise failure(
            _core.Error,
            "E_UNSUPPORTED",
            f"explain: linalg.{function.__name__} is no single operation; explain backplane.matmul, einsum, linalg.inv or solve",
        )

    return explain


for _function in _NOT_ONE_CALL:
    _EXPLAINERS[_function] = _refuse(_function)
