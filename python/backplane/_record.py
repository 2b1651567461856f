"""Records of the calls in a block: which library ran each one, with what algorithm, how often, how long, and why."""

from __future__ import annotations

import importlib
from types import TracebackType
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Type

from . import _core
from ._errors import bad_type, bad_value, failure, whole
from ._html import table

_USUAL_MOST = 100_000
_SHOWN = 40  # rows of a table


class RecordedPlan(NamedTuple):
    """All runs of equal plans in a record."""

    operation: str
    problem: str
    library: str
    algorithm: str
    reason: str
    """Why this library ran: preferred, lowest measured time, ..."""
    properties: str
    """Its numerical guarantees: accumulates in f32, ..."""
    threads: int
    """0: the library decides."""
    runs: int
    failed: int
    """Runs among them that raised an error."""
    total_ns: int
    least_ns: int
    most_ns: int
    cost_ns: float
    """Expected time of a run."""
    part: bool
    """Whether it ran as a part of a contraction or a graph. Its time is part of the whole's."""
    queued: bool
    """Whether it ran on a device. The times are of enqueueing."""
    provider: str


class RecordedCall(NamedTuple):
    """One run in a record."""

    plan: RecordedPlan
    start_ns: int
    """Of the clock of time.monotonic_ns()."""
    duration_ns: int
    thread: int
    """As threading.get_native_id()."""
    fresh: bool
    """Whether the plan was made for this call."""
    status: str


def _time(ns: float) -> str:
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= unit:
            return f"{ns / unit:.3g} {name}" if ns < 999.5 * unit else f"{ns / unit:.0f} {name}"
    return f"{ns:.0f} ns"


_HEADS = ("runs", "total", "each", "library", "algorithm", "threads", "problem", "because")


def _cells(row: RecordedPlan) -> Tuple[str, ...]:
    name = f"{row.operation} {row.problem}"
    marks = ("  " if row.part else "") + name + (f", {row.failed} failed" if row.failed else "")
    threads = str(row.threads) if row.threads else "?"
    each = _time(row.total_ns / row.runs) + (" to enqueue" if row.queued else "")
    return (str(row.runs), _time(row.total_ns), each, row.library, row.algorithm, threads, marks, row.reason)


def _total_ns(plans: Sequence[RecordedPlan]) -> int:
    return sum(row.total_ns for row in plans if not row.part)


def _new_axes(rows: int) -> Any:
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError("record.plot() needs matplotlib") from error
    return pyplot.subplots(figsize=(8, 1 + 0.35 * max(rows, 1)))[1]


class record:
    """Records the calls of all threads in a ``with`` block.

    >>> with record() as calls:
    ...     c = matmul(np.ones((2, 3)), np.ones((3, 4)), settings={"blas.preferred": "native"})
    >>> [(row.library, row.problem, row.runs) for row in calls.plans]
    [('native', 'f64 2x3 @ 3x4 -> 2x4', 1)]
    >>> calls.calls[0].plan == calls.plans[0], calls.calls[0].status
    (True, 'OK')

    ``print(calls)`` is a table, and so is a record as the result of a notebook's cell. The parts of contractions and
    graphs stand in rows of their own, indented. ``most`` is the largest number of entries in ``calls``; ``plans`` counts
    all. A record may be read while its block runs, and can be used once.
    """

    def __init__(self, most: int = _USUAL_MOST) -> None:
        number = whole(most)
        if number is None:
            raise bad_type(f"most: expects a number of calls, but got {most!r}")
        if not 0 < number < 1 << 62:
            raise bad_value(f"most: {most} is not accepted; it must be a number of calls, from 1")
        self._most = number
        self._record: Optional[object] = None

    def __enter__(self) -> record:
        if self._record is not None:
            raise failure(_core.Error, "E_SCOPE", "this record was used before; make another one")
        self._record = _core.record_start(self._most)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if self._record is not None:
            _core.record_stop(self._record)

    @property
    def plans(self) -> Tuple[RecordedPlan, ...]:
        """A row for all runs of equal plans, in the order of the first runs."""
        return tuple(RecordedPlan(**row) for row in _core.record_plans(self._record)) if self._record else ()

    @property
    def calls(self) -> Tuple[RecordedCall, ...]:
        """The runs in the order in which they ended. The parts of a whole end before it."""
        if not self._record:
            return ()
        calls = _core.record_calls(self._record)
        plans = self.plans  # after the calls, so that it has the row of each, also while calls are added
        return tuple(RecordedCall(plans[plan], *rest) for plan, rest in ((call[0], call[1:]) for call in calls))

    @property
    def left_out(self) -> int:
        """The number of runs that are not in ``calls``, because there were more than ``most``."""
        return _core.record_left_out(self._record) if self._record else 0

    @property
    def total_ns(self) -> int:
        """The time of all runs without the parts, whose time is in it."""
        return _total_ns(self.plans)

    def to_dict(self) -> Dict[str, Any]:
        """Returns everything as dicts and lists, for json.dump() or a data frame: ``pandas.DataFrame(r.to_dict()["plans"])``."""
        calls = _core.record_calls(self._record) if self._record else []
        plans = self.plans  # after the calls
        names = ("plan",) + RecordedCall._fields[1:]
        return {
            "plans": [row._asdict() for row in plans],
            "calls": [dict(zip(names, call)) for call in calls],
            "left_out": self.left_out,
            "total_ns": _total_ns(plans),
        }

    def _rows(self) -> Tuple[List[Tuple[str, ...]], str]:
        """Cells of the rows with the longest times, longest first, and a sentence about the whole."""
        plans = self.plans
        longest = sorted(plans, key=lambda row: -row.total_ns)
        runs = sum(row.runs for row in plans if not row.part)
        text = f"{runs} call{'' if runs == 1 else 's'}, {_time(_total_ns(plans))} in libraries"
        if len(longest) > _SHOWN:
            text += f"; {len(longest) - _SHOWN} of {len(longest)} rows are not shown"
        return [_cells(row) for row in longest[:_SHOWN]], text

    def __str__(self) -> str:
        rows, text = self._rows()
        cells: List[Sequence[str]] = [_HEADS, *rows]
        widths = [max(len(row[i]) for row in cells) for i in range(len(_HEADS))]
        lines = ("  ".join(cell.rjust(w) if i < 3 else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths))).rstrip() for row in cells)
        return "\n".join([*(lines if rows else ()), text])

    def __repr__(self) -> str:
        return f"<backplane.record: {self._rows()[1]}>"

    def _repr_html_(self) -> str:
        rows, text = self._rows()
        return table(_HEADS, rows, text, numbers=3)

    def plot(self, ax: Any = None) -> Any:
        """Draws the time of each plan's runs as bars, the longest first, and returns matplotlib's axes. Parts are left out."""
        rows = sorted((row for row in self.plans if not row.part), key=lambda row: row.total_ns)[-_SHOWN:]
        ax = _new_axes(len(rows)) if ax is None else ax
        ax.barh([f"{row.problem} ({row.library})" for row in rows], [row.total_ns / 1e6 for row in rows])
        ax.set_xlabel("ms in libraries")
        return ax
