"""The order in which einsum's products are best computed."""

from __future__ import annotations

import json
import math
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _core
from ._errors import bad_type, bad_value

Path = List[Tuple[int, ...]]


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
    if isinstance(label, bool) or not hasattr(label, "__index__"):
        raise bad_type(f"einsum_path: labels are whole numbers or Ellipsis, but got {label!r}")
    number = int(label)
    if number < 0:
        raise bad_value(f"einsum_path: labels are 0 or more, but got {number}", "E_ARGUMENT")
    return number


def _labels(labels: Iterable[Any]) -> Tuple[int, ...]:
    return tuple(_label(label) for label in labels)


def _limit(limit: Union[None, int, str]) -> int:
    if limit is None or (limit == -1 and not isinstance(limit, str)):
        return 0
    if limit == "max_input":
        return -1
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise bad_type(f"einsum_path: memory_limit is None, a whole number or 'max_input', but got {limit!r}")
    if limit < 1:
        raise bad_value(f"einsum_path: memory_limit is {limit}, which no result can keep", "E_ARGUMENT")
    return limit


def _search(optimize: Any) -> Tuple[Optional[str], Optional[Tuple[Tuple[int, ...], ...]]]:
    """A strategy's name and a path, each of which may be None."""
    if optimize is None or isinstance(optimize, str):
        return optimize, None
    if isinstance(optimize, bool):
        return ("auto" if optimize else "left-to-right"), None
    steps = list(optimize)
    if steps and steps[0] == "einsum_path":  # as numpy.einsum_path begins its paths
        steps = steps[1:]
    return None, tuple(tuple(step) for step in steps)


def einsum_path(
    *operands: Any,
    optimize: Union[None, bool, str, Sequence[Any]] = None,
    minimize: str = "flops",
    memory_limit: Union[None, int, str] = None,
    trials: int = 0,
    seconds: float = 0.0,
    seed: int = 0,
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
    the same seed gives the same path. ``dtype`` is the element type, for peak_bytes.
    """
    expression: Optional[str] = None
    labels: Optional[Tuple[Tuple[int, ...], ...]] = None
    output: Optional[Tuple[int, ...]] = None
    given: List[Any]
    if operands and isinstance(operands[0], str):
        expression, given = operands[0], list(operands[1:])
        if len(given) == 1 and isinstance(given[0], (list, tuple)) and not shapes:
            given = list(given[0])
    else:
        if len(operands) % 2:
            output = _labels(operands[-1])
            operands = operands[:-1]
        given = list(operands[0::2])
        labels = tuple(_labels(each) for each in operands[1::2])
    strategy, path = _search(optimize)
    found, held = _core.einsum_path(
        expression, tuple(_shape(each, shapes) for each in given), labels, output, strategy, minimize, _limit(memory_limit),
        trials, seconds, seed, dtype, path,
    )
    return found, PathReport(found, held)
