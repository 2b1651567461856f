"""Records of the calls in a block, and tables for notebooks."""

import doctest
import html.parser
import json
import re
import sys
import threading
import time

import numpy as np
import pytest
from conftest import ROOT

import backplane as bp
from backplane import _record

X = np.ones((6, 6))


def multiply(count=1, rows=6):
    for _ in range(count):
        bp.matmul(X[:rows], X)


class Cells(html.parser.HTMLParser):
    """The texts of a table's cells, row by row. Fails if elements are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.open, self.caption = [], [], ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        elif self.open[-1] == "caption":
            self.caption += data


def test_example():
    test = doctest.DocTestFinder(recurse=False).find(bp.record, "record", globs={"np": np, "matmul": bp.matmul, "record": bp.record})[0]
    assert test.examples and doctest.DocTestRunner().run(test).failed == 0


def test_example_of_the_guide(capsys):
    text = (ROOT / "docs/how-to/record-calls.md").read_text()
    code, = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    exec(code, {})
    shown, = re.findall(r"^```text\n(.*?)^```", text, re.S | re.M)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == shown.splitlines()[0].split() and printed[-1].startswith("21 calls, ")


def test_rows_and_calls():
    multiply()
    before = time.monotonic_ns()
    with bp.record() as r:
        multiply(2)
        last = bp.last_plan()
        multiply(1, rows=3)
    after = time.monotonic_ns()
    multiply()
    six, three = r.plans
    assert (six.runs, three.runs, six.failed, six.part, six.queued) == (2, 1, 0, False, False)
    shared = ("operation", "problem", "library", "algorithm", "reason", "properties", "threads", "provider", "cost_ns")
    assert {name: getattr(six, name) for name in shared} == {name: getattr(last, name) for name in shared}
    assert [call.plan.problem for call in r.calls] == [six.problem, six.problem, three.problem]
    assert sum(call.duration_ns for call in r.calls) == six.total_ns + three.total_ns == r.total_ns
    assert all(before <= call.start_ns <= call.start_ns + call.duration_ns <= after for call in r.calls)
    assert {call.thread for call in r.calls} == {threading.get_native_id()}
    assert {call.status for call in r.calls} == {"OK"}


def test_parts_of_contractions():
    with bp.record() as r:
        bp.einsum("ij,jk,kl->il", X, X, X)
    parts = [row for row in r.plans if row.part]
    whole, = (row for row in r.plans if not row.part)
    assert sum(row.runs for row in parts) == 2 and whole.operation == "einsum"
    assert r.total_ns == whole.total_ns
    assert str(r).count("  gemm ") == len(parts)


def test_errors_are_counted():
    with bp.record() as r:
        with pytest.raises(bp.linalg.LinAlgError):
            bp.linalg.cholesky(-X)
    assert [row.failed for row in r.plans] == [1] and r.calls[0].status != "OK"
    assert ", 1 failed" in str(r)


def test_block_that_raises_stops_the_record():
    r = bp.record()
    with pytest.raises(ZeroDivisionError), r:
        multiply()
        1 / 0
    multiply()
    assert len(r.calls) == 1


def test_limit():
    with bp.record(most=2) as r:
        multiply(5)
    assert (len(r.calls), r.left_out, r.plans[0].runs) == (2, 3, 5)


def test_blocks_nest_and_are_read_while_they_run():
    with bp.record() as outer:
        multiply()
        with bp.record() as inner:
            multiply()
            assert len(inner.calls) == 1 and len(outer.calls) == 2
        multiply()
    assert len(inner.calls) == 1 and len(outer.calls) == 3


def test_parts_of_a_dict_fit_while_calls_are_added(monkeypatch):
    def calls_between(read):
        def reading(handle):
            result = read(handle)
            multiply(rows=next(rows))
            return result

        return reading

    rows = iter(range(1, 6))
    with bp.record() as r:
        multiply()
        for name in ("record_calls", "record_plans"):
            monkeypatch.setattr(_record._core, name, calls_between(getattr(_record._core, name)))
        data = r.to_dict()
        rows_of_calls = r.calls
    assert max(call["plan"] for call in data["calls"]) < len(data["plans"])
    assert data["total_ns"] == sum(row["total_ns"] for row in data["plans"])
    assert len(rows_of_calls) == 3


def test_threads():
    with bp.record() as r:
        together = threading.Barrier(4)  # a number that the kernel gave to an ended thread would be given again

        def run():
            together.wait()
            multiply(50)
            together.wait()

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(row.runs for row in r.plans) == len(r.calls) == 200
    assert len({call.thread for call in r.calls}) == 4
    assert threading.get_native_id() not in {call.thread for call in r.calls}


def test_record_is_used_once():
    r = bp.record()
    assert (r.plans, r.calls, r.left_out, r.total_ns) == ((), (), 0, 0)
    assert str(r) == "0 calls, 0 ns in libraries"
    with r:
        pass
    with pytest.raises(bp.Error, match="used before"), r:
        pass


@pytest.mark.parametrize("most", [0, -1, 1 << 70])
def test_wrong_limits(most):
    with pytest.raises(bp.BadValueError, match="most"):
        bp.record(most=most)


@pytest.mark.parametrize("most", ["3", 1.5, None])
def test_limits_of_wrong_type(most):
    with pytest.raises(bp.BadTypeError, match="most"):
        bp.record(most=most)


def test_dict():
    with bp.record() as r:
        multiply(2)
    found = json.loads(json.dumps(r.to_dict()))
    assert found["plans"][0]["runs"] == 2 and found["plans"][0]["library"] == r.plans[0].library
    assert [call["plan"] for call in found["calls"]] == [0, 0]
    assert set(found["calls"][0]) == set(bp.RecordedCall._fields)
    assert found["left_out"] == 0 and found["total_ns"] == r.total_ns


def test_tables():
    with bp.record() as r:
        multiply(3)
        multiply(1, rows=2)
    cells = Cells(r._repr_html_())
    assert cells.rows[0] == list(_record._HEADS)
    assert len(cells.rows) == 3 and cells.caption.startswith("4 calls, ") and repr(r) == f"<backplane.record: {cells.caption}>"
    lines = str(r).splitlines()
    assert len(lines) == 4 and lines[-1] == cells.caption
    for row, line in zip(cells.rows, lines):
        assert all(cell.strip() in line for cell in row)
    longest = max(r.plans, key=lambda row: row.total_ns)
    assert cells.rows[1][6] == f"gemm {longest.problem}"


def test_long_tables_say_what_is_left_out(monkeypatch):
    monkeypatch.setattr(_record, "_SHOWN", 2)
    with bp.record() as r:
        for rows in range(1, 6):
            multiply(1, rows)
    assert len(Cells(r._repr_html_()).rows) == 3
    assert str(r).endswith("; 3 of 5 rows are not shown")


@pytest.mark.parametrize(
    "ns, text", [(0, "0 ns"), (999, "999 ns"), (1000, "1 us"), (999_499, "999 us"), (999_600, "1000 us"), (12_345_678, "12.3 ms"), (61e9, "61 s")]
)
def test_times(ns, text):
    assert _record._time(ns) == text


class Axes:
    """What a plot uses of matplotlib's axes."""

    def barh(self, names, widths):
        self.names, self.widths = names, widths

    def set_xlabel(self, text):
        self.label = text


def test_plot():
    with bp.record() as r:
        bp.einsum("ij,jk,kl->il", X, X, X)
        multiply(2)
    axes = Axes()
    assert r.plot(axes) is axes
    wholes = sorted((row for row in r.plans if not row.part), key=lambda row: row.total_ns)
    assert axes.widths == [row.total_ns / 1e6 for row in wholes] and len(wholes) == 2
    assert axes.names == [f"{row.problem} ({row.library})" for row in wholes] and "ms" in axes.label


def test_plot_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="needs matplotlib"):
        bp.record().plot()


def test_tables_of_other_objects():
    explanation = bp.explain(bp.matmul, X, X)
    rows = Cells(explanation._repr_html_()).rows
    assert rows[1][1] == explanation.chosen.library and rows[1][4] == "chosen"
    assert len(rows) == 1 + sum(row.reason != "OP" for row in explanation.candidates)
    multiply()
    plan = dict(Cells(bp.last_plan()._repr_html_()).rows)
    assert plan["problem"] == bp.last_plan().problem
    library = bp.libraries()[0]
    assert dict(Cells(library._repr_html_()).rows)["id"] == library.id
    with bp.flags(num_threads=1):
        rows = {row[0]: row[1:3] for row in Cells(bp.settings._repr_html_()).rows}
    assert rows["num_threads"][0] == "1" and rows["num_threads"][1] != "default"
    assert len(Cells(bp.settings.blas._repr_html_()).rows) < len(rows)


def test_tables_of_lists():
    heads, *rows = Cells(bp.libraries()._repr_html_()).rows
    assert [row[heads.index("id")] for row in rows] == [library.id for library in bp.libraries()]
    assert [row[heads.index("offers")] for row in rows] == [", ".join(library.offers) for library in bp.libraries()]
    heads, *rows = Cells(bp.backends_status()._repr_html_()).rows
    assert [row[heads.index("available")] for row in rows] == [str(backend.available) for backend in bp.backends_status()]


def test_tables_are_escaped():
    row = bp.RecordedPlan("a<b", "&", "<i>", "", "", "", 1, 1, 0, 5, 5, 5, 1.0, False, False, "")
    r = bp.record()
    r.__class__ = type("Fixed", (bp.record,), {"plans": (row,)})
    assert Cells(r._repr_html_()).rows[1][3] == "<i>" and Cells(r._repr_html_()).rows[1][6] == "a<b &"
