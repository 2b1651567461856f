"""einsum: products of many arrays in Einstein's notation, and the order in which they are best computed."""

from __future__ import annotations

import json
import math
import numbers
import operator
import sys
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _core
from ._errors import bad_type, bad_value, whole
from ._products import _EXPLAINERS, SettingsArgument, _is_numpy, _like

Path = List[Tuple[int, ...]]
Labels = Tuple[int, ...]
Optimize = Union[None, bool, str, Sequence[Any]]


class Step(NamedTuple):
    """One contraction of a path."""

    positions: Tuple[int, ...]
    """Of its operands in the list of what is left; the result is appended to that list."""
    operands: Tuple[int, ...]
    """The same as identities: 0 to n-1 are the operands of the call, n+i is the result of step i."""
    result: int
    expression: str
    kind: str
    """gemm, batched gemm, gemv, dot, outer, elementwise, sum, view, ..."""
    scaling: int
    flops: float
    size: float
    """Elements of the result."""


class PathReport:
    """A path with its costs; printed, it reads as the report of opt_einsum. Everything but the path is worked out when it
    is first asked for. Operations are counted as opt_einsum counts them."""

    path: Path
    expression: str
    """The whole expression, with letters for the ellipsis."""
    strategy: str
    """What found the path."""
    exact: bool
    """Whether it is known to be the best: of all orders (optimal), or of those without outer products (dp)."""
    naive_flops: float
    """Operations without any order, all at once."""
    flops: float
    """Operations of the path."""
    speedup: float
    """The first divided by the second."""
    cost: float
    """What was minimized."""
    largest: float
    """Elements of the largest result, the output among them."""
    written: float
    """Elements of all results together."""
    peak_bytes: float
    """Most bytes of intermediate results alive at a time."""
    naive_scaling: int
    """Labels in all."""
    scaling: int
    """Most labels in one step."""
    output_shape: Tuple[int, ...]
    steps: Tuple[Step, ...]

    def __init__(self, path: Path, held: object) -> None:
        self.path = path
        self._held = held

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in type(self).__annotations__:
            raise AttributeError(f"a path's report has no attribute {name!r}")
        facts: Dict[str, Any] = json.loads(self.json)
        for key, value in facts.items():  # JSON has no word for what is beyond a double
            facts[key] = math.inf if value is None else value
        facts["output_shape"] = tuple(facts["output_shape"])
        facts["steps"] = tuple(_step(row) for row in facts["steps"])
        self.__dict__.update(facts)
        return facts[name]

    @property
    def json(self) -> str:
        """Everything about the path, for programs."""
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
    if is_shape:
        return tuple(operand)
    shape: Any = getattr(operand, "shape", None)
    return tuple(memoryview(operand).shape or () if shape is None else shape)  # array.array and its like have no shape


def _label(label: Any) -> int:
    if label is Ellipsis:
        return -1
    try:
        number = operator.index(label)
    except TypeError:
        number = None
    if number is None or isinstance(label, bool):
        raise bad_type(f"einsum: labels are whole numbers or Ellipsis, but got {label!r}")
    if number < 0:
        raise bad_value(f"einsum: labels are 0 or more, but got {number}", "E_ARGUMENT")
    return number


def _labels(labels: Any) -> Tuple[int, ...]:
    if not isinstance(labels, Iterable):
        raise bad_type(f"einsum: takes an expression first, or a list of labels after each array, but got {labels!r}")
    return tuple(_label(label) for label in labels)


def _limit(limit: Union[None, int, str]) -> int:
    if limit is None or (limit == -1 and not isinstance(limit, str)):
        return 0
    if limit == "max_input":
        return -1
    number = None if isinstance(limit, bool) else whole(limit)
    if number is None:
        raise bad_type(f"einsum: memory_limit is None, a whole number or 'max_input', but got {limit!r}")
    if number < 1:
        raise bad_value(f"einsum: memory_limit is {limit}, which no result can keep", "E_ARGUMENT")
    return number


def _strategy(optimize: Any, memory_limit: Any) -> Tuple[Optional[str], Optional[Tuple[Tuple[int, ...], ...]], Any]:
    """A strategy's name and a path, each of which may be None, and the limit, which NumPy takes beside a name."""
    if optimize is None or isinstance(optimize, str):
        return optimize, None, memory_limit
    if isinstance(optimize, bool):
        return ("auto" if optimize else "left-to-right"), None, memory_limit
    if not isinstance(optimize, Iterable):
        raise bad_type(f"einsum: optimize is a bool, the name of a strategy or a path, but got {optimize!r}")
    steps: List[Any] = list(optimize)
    if len(steps) == 2 and isinstance(steps[0], str) and isinstance(steps[1], numbers.Real):
        number = whole(steps[1])
        return steps[0], None, int(float(steps[1])) if number is None else number
    if steps and steps[0] == "einsum_path":  # as numpy.einsum_path begins its paths
        steps = steps[1:]
    if any(isinstance(step, str) or not isinstance(step, Iterable) for step in steps):
        raise bad_type(f"einsum: a path is a list of tuples of positions, but got {optimize!r}")
    return None, tuple(tuple(step) for step in steps), memory_limit


# An expression or None, the operands, and for the sublist form the labels of each and of the output.
Unpacked = Tuple[Optional[str], Tuple[Any, ...], Optional[Tuple[Labels, ...]], Optional[Labels]]


def _unpack(given: Tuple[Any, ...], shapes: bool = False) -> Unpacked:
    if given and isinstance(given[0], str):
        if len(given) == 2 and isinstance(given[1], (list, tuple)) and not shapes:
            return given[0], tuple(given[1]), None, None
        return given[0], given[1:], None, None
    output = _labels(given[-1]) if len(given) % 2 else None
    last = len(given) - len(given) % 2
    return None, given[0:last:2], tuple(_labels(each) for each in given[1:last:2]), output


# optimize, minimize, memory_limit, trials, seconds, seed, work
Search = Tuple[Optimize, str, Union[None, int, str], int, float, int, int]


def _words(labels: Any, output: Any, search: Search) -> Tuple[Any, ...]:
    """What the extension gets beside operands, in its order."""
    optimize, minimize, memory_limit, trials, seconds, seed, work = search
    strategy, path, limit = _strategy(optimize, memory_limit)
    return (labels, output, strategy, minimize, _limit(limit), operator.index(trials), seconds, operator.index(seed),
            work, path)


def _contract(given: Tuple[Any, ...], out: Any, search: Search, settings: SettingsArgument, explains: bool) -> Any:
    """What the extension returns, and the operands."""
    expression, operands, labels, output = _unpack(given)
    words = _words(labels, output, search)
    return _core.einsum(expression, operands, out, settings, words, explains), operands


# numpy.ndarray, once one has come by: most calls are of such arrays alone and small, and take the short way.
_plain: Any = None


def _note_numpy(operands: Tuple[Any, ...]) -> None:
    global _plain
    if _plain is None and any(_is_numpy(array) for array in operands):
        _plain = sys.modules["numpy"].ndarray


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
    """The product of arrays in Einstein's notation: ``einsum("ij,jk->ik", a, b)``, or ``einsum("ij,jk->ik", [a, b])``, or with
    lists of labels ``einsum(a, [0, 1], b, [1, 2], [0, 2])``, which are numbers from 0 on, as many as are needed, or Ellipsis.

    Pairs of arrays are contracted one after the other, in an order that ``optimize`` and the arguments after it decide as in
    einsum_path(), each on the library that suits it. Element types: f16, bf16, f32, f64, c64, c128, the same for all; f16 and
    bf16 sum in f32, and every intermediate result is rounded. Any strides, read in place. The result is fresh memory, also
    where it only reorders: a NumPy array where an operand is one, a torch tensor where one is that, else a backplane.Tensor.
    ``out`` is written in place and returned; it must not overlap an operand. ``settings`` is a dict of dotted names, or
    backplane.Options, for this call only.
    """
    if (
        optimize is None and out is None and settings is None and memory_limit is None
        and not (trials or seconds or seed or work) and minimize == "flops"
    ):
        plain = _core.einsum_plain(operands, _plain)
        if plain is not None:
            return _like(plain, operands[1])
    search = (optimize, minimize, memory_limit, trials, seconds, seed, work)
    result, arrays = _contract(operands, out, search, settings, False)
    _note_numpy(arrays)
    return out if result is None else _like(result, *arrays)


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


def einsum_path(
    *operands: Any,
    optimize: Optimize = None,
    minimize: str = "flops",
    memory_limit: Union[None, int, str] = None,
    trials: int = 0,
    seconds: float = 0.0,
    seed: int = 0,
    work: int = 0,
    dtype: Optional[str] = None,
    shapes: bool = False,
) -> Tuple[Path, PathReport]:
    """The best order of contractions for an einsum call, as a list that numpy.einsum and opt_einsum take, and a report.

    ``einsum_path("ij,jk->ik", a, b)``, or with lists of labels ``einsum_path(a, [0, 1], b, [1, 2], [0, 2])``: labels are
    numbers from 0 on, as many as are needed, or Ellipsis. With ``shapes=True`` operands are shapes in place of arrays.

    ``optimize`` is a strategy: auto, auto-hq, optimal, dp, branch-all, branch-2, branch-1, greedy, random-greedy-N,
    left-to-right; True is auto, False is left-to-right, and None asks the settings opt_einsum.enabled and
    opt_einsum.strategy. A list is a path of one's own. ``minimize`` is flops, size, write, combo or limit (combo-N and limit-N
    weigh elements by N). ``memory_limit`` is the most elements that an intermediate result may have; "max_input" is
    the largest operand. ``trials``, ``seconds`` and ``seed`` are for strategies that try at random: without ``seconds``
    the same seed gives the same path. ``work`` is how much auto-hq, optimal, dp and branch-* may do in place of the usual;
    work is counted, so that a search ends at the same place on every machine. ``dtype`` is the element type, for peak_bytes.
    Ctrl-C ends a search.
    """
    expression, given, labels, output = _unpack(operands, shapes)
    search = (optimize, minimize, memory_limit, trials, seconds, seed, work)
    found, held = _core.einsum_path(
        expression, tuple(_shape(each, shapes) for each in given), dtype, _words(labels, output, search)
    )
    return found, PathReport(found, held)
