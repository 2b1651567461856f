"""einsum: products of many arrays in Einstein notation, and the search for a good contraction order."""

from __future__ import annotations

import json
import math
import numbers
import operator
import sys
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _core
from ._convert import is_literal, numpy_of, shape_of, with_numpy
from ._elements import type_name
from ._errors import bad_type, bad_value, whole
from ._help import helped
from ._products import _EXPLAINERS, _is_numpy, _like

if TYPE_CHECKING:
    from ._types import SettingsArgument

Path = List[Tuple[int, ...]]
Labels = Tuple[int, ...]
Optimize = Union[None, bool, str, Sequence[Any]]


class Step(NamedTuple):
    """One contraction of a path."""

    positions: Tuple[int, ...]
    """Positions of the operands in the list of remaining operands; the result is appended to that list, as in
    numpy.einsum_path."""
    operands: Tuple[int, ...]
    """Identities of the operands: 0 to n-1 are the operands of the call, n+i is the result of step i."""
    result: int
    """Identity of the result."""
    expression: str
    kind: str
    """gemm, batched gemm, gemv, dot, outer, elementwise, sum, view, ..."""
    scaling: int
    flops: float
    size: float
    """Elements of the result."""


class PathReport:
    """A path with its costs. Printing it gives a report like opt_einsum's. All fields except the path are computed on
    first use. Operations are counted as in opt_einsum."""

    path: Path
    expression: str
    """The whole expression, with letters for the ellipsis."""
    strategy: str
    """The strategy that found the path."""
    exact: bool
    """Whether it is known to be optimal among all orders (optimal), or among those without outer products (dp)."""
    naive_flops: float
    """Operations without intermediate results."""
    flops: float
    """Operations of the path."""
    speedup: float
    """naive_flops / flops."""
    cost: float
    """Value of the minimized function."""
    largest: float
    """Elements of the largest result, including the output."""
    written: float
    """Elements of all results together."""
    peak_bytes: float
    """Largest total of intermediate results alive at one time, in bytes."""
    naive_scaling: int
    """Number of labels in the whole expression."""
    scaling: int
    """Number of labels in the step that has the most."""
    output_shape: Tuple[int, ...]
    steps: Tuple[Step, ...]

    def __init__(self, path: Path, held: object) -> None:
        self.path = path
        self._held = held

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in type(self).__annotations__:
            raise AttributeError(f"a path's report has no attribute {name!r}")
        facts: Dict[str, Any] = json.loads(self.json)
        for key, value in facts.items():  # JSON cannot express infinity
            facts[key] = math.inf if value is None else value
        facts["output_shape"] = tuple(facts["output_shape"])
        facts["steps"] = tuple(_step(row) for row in facts["steps"])
        self.__dict__.update(facts)
        return facts[name]

    @property
    def json(self) -> str:
        """The path and its costs as JSON."""
        return _core.path_json(self._held)

    def __str__(self) -> str:
        return _core.path_text(self._held)

    def __repr__(self) -> str:
        return f"<backplane.PathReport {len(self.path)} steps, {self.flops:.4g} flops, by {self.strategy}>"


def _step(row: Dict[str, Any]) -> Step:
    numbers = {name: math.inf if row[name] is None else row[name] for name in ("flops", "size")}
    lists = {name: tuple(row[name]) for name in ("positions", "operands")}
    return Step(**{**row, **numbers, **lists})


def _shape(operand: Any, is_shape: bool) -> Tuple[int, ...]:
    return tuple(operand) if is_shape else shape_of(with_numpy("einsum_path", (operand,))[0])


def _label(label: Any) -> int:
    if label is Ellipsis:
        return -1
    try:
        number = operator.index(label)
    except TypeError:
        number = None
    if number is None or isinstance(label, bool):
        raise bad_type(f"einsum: a label must be a whole number or Ellipsis, but got {label!r}")
    if number < 0:
        raise bad_value(f"einsum: a label must be 0 or more, but got {number}", "E_ARGUMENT")
    return number


def _labels(labels: Any) -> Tuple[int, ...]:
    if not isinstance(labels, Iterable):
        raise bad_type(f"einsum: expects an expression first, or a list of labels after each array, but got {labels!r}")
    return tuple(_label(label) for label in labels)


def _limit(limit: Union[None, int, str]) -> int:
    if limit is None or (limit == -1 and not isinstance(limit, str)):
        return 0
    if limit == "max_input":
        return -1
    number = None if isinstance(limit, bool) else whole(limit)
    if number is None:
        raise bad_type(f"einsum: memory_limit must be None, a whole number or 'max_input', but got {limit!r}")
    if number < 1:
        raise bad_value(f"einsum: memory_limit is {limit}; it must be at least 1", "E_ARGUMENT")
    return number


def _strategy(optimize: Any, memory_limit: Any) -> Tuple[Optional[str], Optional[Tuple[Tuple[int, ...], ...]], Any]:
    """Returns a strategy's name or None, a path or None, and the memory limit, which NumPy accepts together with a name."""
    if optimize is None or isinstance(optimize, str):
        return optimize, None, memory_limit
    if isinstance(optimize, bool):
        return ("auto" if optimize else "left-to-right"), None, memory_limit
    if not isinstance(optimize, Iterable):
        raise bad_type(f"einsum: optimize must be a bool, the name of a strategy or a path, but got {optimize!r}")
    steps: List[Any] = list(optimize)
    if len(steps) == 2 and isinstance(steps[0], str) and isinstance(steps[1], numbers.Real):
        number = whole(steps[1])
        return steps[0], None, int(float(steps[1])) if number is None else number
    if steps and steps[0] == "einsum_path":  # the first element of a path of numpy.einsum_path
        steps = steps[1:]
    if any(isinstance(step, str) or not isinstance(step, Iterable) for step in steps):
        raise bad_type(f"einsum: a path must be a list of tuples of positions, but got {optimize!r}")
    return None, tuple(tuple(step) for step in steps), memory_limit


# An expression or None, the operands, and for the sublist form the labels of each and of the output.
Unpacked = Tuple[Optional[str], Tuple[Any, ...], Optional[Tuple[Labels, ...]], Optional[Labels]]


def _is_one_array(expression: str, given: Sequence[Any]) -> bool:
    """Returns whether a list after an expression of one array is this array, as in NumPy, and not a list of arrays."""
    return "," not in expression and all(map(is_literal, given))


def _unpack(given: Tuple[Any, ...], shapes: bool = False) -> Unpacked:
    if given and isinstance(given[0], str):
        if len(given) == 2 and isinstance(given[1], (list, tuple)) and not shapes and not _is_one_array(*given):
            return given[0], tuple(given[1]), None, None
        return given[0], given[1:], None, None
    output = _labels(given[-1]) if len(given) % 2 else None
    last = len(given) - len(given) % 2
    return None, given[0:last:2], tuple(_labels(each) for each in given[1:last:2]), output


# optimize, minimize, memory_limit, trials, seconds, seed, work
Search = Tuple[Optimize, str, Union[None, int, str], int, float, int, int]


def _words(labels: Any, output: Any, search: Search) -> Tuple[Any, ...]:
    """Returns the parameters of the extension other than the operands, in its order."""
    optimize, minimize, memory_limit, trials, seconds, seed, work = search
    strategy, path, limit = _strategy(optimize, memory_limit)
    return (labels, output, strategy, minimize, _limit(limit), operator.index(trials), seconds, operator.index(seed),
            work, path)


def _contract(given: Tuple[Any, ...], out: Any, search: Search, settings: SettingsArgument, explains: bool) -> Any:
    """Returns the extension's result, and the operands."""
    expression, operands, labels, output = _unpack(given)
    words = _words(labels, output, search)
    try:
        return _core.einsum(expression, operands, out, settings, words, explains), operands
    except TypeError:
        converted = arrays.factors("einsum", operands)
        if any(one is not other for one, other in zip(converted, operands)):
            if labels is None:
                again: Tuple[Any, ...] = (expression, *converted)
            else:
                again = tuple(one for pair in zip(converted, labels) for one in pair) + (() if output is None else (output,))
            return _contract(again, out, search, settings, explains)
        found = None if explains else arrays.for_numpy("einsum", operands)
        if found is None:
            raise
        return arrays.deliver(_by_numpy(expression, found, labels, output), operands, out), operands


def _by_numpy(expression: Optional[str], given: Tuple[Any, ...], labels: Optional[Tuple[Labels, ...]], output: Any) -> Any:
    """Computes an einsum of integers, bools, objects or long doubles, which no library has."""
    numpy = numpy_of("einsum")
    if labels is None:
        return numpy.array(numpy.einsum(expression, *given, optimize=True))
    lists = [[Ellipsis if label < 0 else label for label in one] for one in (*labels, *([] if output is None else [output]))]
    words = [one for pair in zip(given, lists) for one in pair] + lists[len(given) :]
    return numpy.array(numpy.einsum(*words, optimize=True))  # a copy: NumPy returns a view if nothing is computed


# numpy.ndarray, after the first call with one. Small calls with such arrays only use the fast path.
_plain: Any = None


def _note_numpy(operands: Tuple[Any, ...]) -> None:
    global _plain
    if _plain is None and any(_is_numpy(array) for array in operands):
        _plain = sys.modules["numpy"].ndarray


@helped("einsum")
def einsum(
    *operands: Any,
    out: Any = None,
    optimize: Optimize = None,
    minimize: str = "flops",
    memory_limit: Union[None, int, str] = None,
    trials: int = 0,
    seconds: float = 0.0,
    seed: int = 0,
    work: int = 0,
    settings: SettingsArgument = None,
) -> Any:
    """Computes a product of arrays in Einstein notation: ``einsum("ij,jk->ik", a, b)``, ``einsum("ij,jk->ik", [a, b])``, or with
    lists of labels ``einsum(a, [0, 1], b, [1, 2], [0, 2])``. A label is a whole number >= 0 or Ellipsis.

    Two arrays at a time are contracted, each pair on the library that dispatch chooses. ``optimize`` and the arguments after it
    determine the order as in einsum_path(). Element types: f16, bf16, f32, f64, c64, c128; f16 and bf16 are
    summed in f32, and each intermediate result is rounded. Lists become NumPy arrays, NumPy arrays of several types one type, and
    NumPy computes integers. Arrays of any strides are read in place. The result is always new
    memory: a NumPy array or a torch tensor like the first operand that is one, otherwise a backplane.Tensor. ``out`` is written
    in place and returned; it must not overlap an operand. ``settings`` is a dict of dotted names, or backplane.Options, for
    this call only.

    >>> a, b = np.arange(6.0).reshape(2, 3), np.ones((3, 2))
    >>> einsum("ij,jk->ki", a, b)
    array([[ 3., 12.],
           [ 3., 12.]])
    >>> einsum(a, [0, 1], b, [1, 0], [])
    array(15.)
    """
    if (
        optimize is None and out is None and settings is None and memory_limit is None
        and not (trials or seconds or seed or work) and minimize == "flops"
    ):
        try:
            plain = _core.einsum_plain(operands, _plain)
        except TypeError:  # there may be something to convert
            plain = None
        if plain is not None:
            return _like(plain, operands[1])
    search = (optimize, minimize, memory_limit, trials, seconds, seed, work)
    result, arrays_given = _contract(operands, out, search, settings, False)
    _note_numpy(arrays_given)
    return out if result is None else _like(result, *arrays_given)


def _explain(
    *operands: Any,
    out: Any = None,
    optimize: Optimize = None,
    minimize: str = "flops",
    memory_limit: Union[None, int, str] = None,
    trials: int = 0,
    seconds: float = 0.0,
    seed: int = 0,
    work: int = 0,
    settings: SettingsArgument = None,
) -> Dict[str, Any]:
    search = (optimize, minimize, memory_limit, trials, seconds, seed, work)
    explanation: Dict[str, Any] = _contract(operands, out, search, settings, True)[0]
    return explanation


_EXPLAINERS[einsum] = _explain

from . import _linalg_arrays as arrays  # noqa: E402, it uses einsum


def einsum_path(
    *operands: Any,
    optimize: Optimize = None,
    minimize: str = "flops",
    memory_limit: Union[None, int, str] = None,
    trials: int = 0,
    seconds: float = 0.0,
    seed: int = 0,
    work: int = 0,
    dtype: Any = None,
    shapes: bool = False,
) -> Tuple[Path, PathReport]:
    """Returns the best contraction order found for an einsum call, as a list for numpy.einsum and opt_einsum, and a report.

    ``einsum_path("ij,jk->ik", a, b)``, or with lists of labels ``einsum_path(a, [0, 1], b, [1, 2], [0, 2])``. A label is a
    whole number >= 0 or Ellipsis. With ``shapes=True`` the operands are shapes instead of arrays.

    ``optimize`` is a strategy: auto, auto-hq, optimal, dp, branch-all, branch-2, branch-1, greedy, random-greedy-N,
    left-to-right; True is auto, False is left-to-right, None uses the settings opt_einsum.enabled and opt_einsum.strategy. A
    list is a given path. ``minimize`` is flops, size, write, combo or limit (combo-N and limit-N weight elements by N).
    ``memory_limit`` is the maximum number of elements of an intermediate result; "max_input" is the size of the largest
    operand. ``trials``, ``seconds`` and ``seed`` apply to random strategies: without ``seconds``, equal seeds give equal paths.
    ``work`` limits auto-hq, optimal, dp and branch-* in counted units, so that a search ends at the same point on every machine;
    0 is the default limit. ``dtype`` is the element type, for peak_bytes. Ctrl-C ends a search.

    >>> path, report = einsum_path("ij,jk,kl->il", (100, 2), (2, 100), (100, 2), shapes=True)
    >>> path, report.flops < report.naive_flops
    ([(1, 2), (0, 1)], True)
    """
    expression, given, labels, output = _unpack(operands, shapes)
    search = (optimize, minimize, memory_limit, trials, seconds, seed, work)
    found, held = _core.einsum_path(
        expression, tuple(_shape(each, shapes) for each in given), None if dtype is None else type_name(dtype),
        _words(labels, output, search)
    )
    return found, PathReport(found, held)
