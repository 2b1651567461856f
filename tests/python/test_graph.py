"""Graphs: building, calls on arrays of all kinds, text, errors, lifetimes, threads."""

import gc
import hashlib
import sys
import threading
from array import array

import numpy as np
import pytest

import backplane as bp

RANDOM = np.random.default_rng(3)


def random(*shape, dtype="float32"):
    return RANDOM.standard_normal(shape).astype(dtype)


@pytest.fixture
def layer():
    """A graph of a linear layer and a softmax, and what it computes."""
    weight, bias = random(5, 3), random(5)
    graph = bp.Graph()
    x = graph.input("x", "f32", (4, 3))
    hidden = graph.call("linear", x, graph.constant("w", weight), graph.constant("b", bias), activation="relu")
    graph.output("y", graph.call("softmax", hidden, axis=1))
    graph.finish()

    def wanted(x):
        power = np.exp(np.maximum(x.astype("f8") @ weight.T + bias, 0))
        return power / power.sum(1, keepdims=True)

    return graph, wanted


def test_a_call(layer):
    graph, wanted = layer
    x = random(4, 3)
    y = graph(x)
    assert bp.last_plan().operation == "graph"
    assert isinstance(y, np.ndarray) and y.dtype == np.float32
    np.testing.assert_allclose(y, wanted(x), rtol=1e-5)
    assert np.array_equal(y, bp.nn.functional.softmax(graph_without_softmax(graph, x), 1))


def graph_without_softmax(graph, x):
    lines = [line for line in graph.text().splitlines() if not line.startswith("output")]
    return bp.Graph.parse("\n".join(lines[:-1] + ["output y = " + lines[-1].split("input=")[1].split(",")[0]]) + "\n")(x)


@pytest.mark.parametrize("settings", ({"graph.backend": "eager"}, {"num_threads": 1}))
def test_settings_of_a_call(layer, settings):
    graph, wanted = layer
    x = random(4, 3)
    assert np.array_equal(graph(x, settings=settings), graph(x))


def test_layouts(layer):
    graph, _ = layer
    x = random(4, 3)
    for other in (np.asfortranarray(x), random(8, 6)[::2, ::2], x[::-1], np.broadcast_to(x[:1], (4, 3))):
        assert np.array_equal(graph(other), graph(np.ascontiguousarray(other)))


def test_out(layer):
    graph, _ = layer
    x, out = random(4, 3), np.zeros((5, 4), "f4").T
    assert graph(x, out=out) is out and np.array_equal(out, graph(x))
    assert graph(x, out=(out,)) is out
    with pytest.raises(bp.BadValueError, match="shape"):
        graph(x, out=np.zeros((4, 4), "f4"))
    with pytest.raises(bp.BadTypeError, match="f64"):
        graph(x, out=np.zeros((4, 5)))
    with pytest.raises(bp.BadValueError, match="2 arrays"):
        graph(x, out=(out, out))
    with pytest.raises(bp.Error, match="overlap|memory"):
        square = random(4, 12)
        graph(square[:, :3], out=square[:, 2:7])
    frozen = out.copy()
    frozen.flags.writeable = False
    with pytest.raises(bp.BadValueError, match="read-only"):
        graph(x, out=frozen)


def test_several_outputs():
    graph = bp.Graph()
    x = graph.input("x", "f64", (6, 4))
    normed, mean, deviation = graph.call("layer_norm", x, outputs=3, row_ndim=1)
    for name, value in (("y", normed), ("mean", mean), ("deviation", deviation), ("again", normed), ("x", x)):
        graph.output(name, value)
    graph.finish()
    given = random(6, 4, dtype="f8")
    y, mean, deviation, again, same = graph(given)
    np.testing.assert_allclose(mean.reshape(-1), given.mean(1))
    assert np.array_equal(y, again) and np.array_equal(same, given) and same is not given
    kept = np.zeros((6, 4))
    result = graph(given, out=[None, None, None, kept, None])
    assert result[3] is kept and np.array_equal(kept, y)
    assert graph.outputs[2].name == "deviation" and graph.inputs == (("x", "f64", (6, 4)),)


def test_outputs_that_are_not_wanted():
    graph = bp.Graph()
    x = graph.input("x", "f32", (1, 2, 6))
    values, indices = graph.call("pool", x, outputs=(True, False), kind="max", kernel=[2])
    assert indices is None and values.shape == (1, 2, 3)
    only = graph.call("pool", x, outputs=2, kind="max", kernel=[2])
    assert only[1].dtype == "i64"


def test_views_and_casts():
    given = random(2, 3, 8)
    graph = bp.Graph()
    x = graph.input("x", "f32", (2, 3, 8))
    steps = {
        "reshape": (graph.reshape(x, (6, -1)), given.reshape(6, 8)),
        "permute": (graph.permute(x, (2, 0, -2)), given.transpose(2, 0, 1)),
        "slice": (graph.slice(x, -1, 1, None, 3), given[..., 1::3]),
        "back": (graph.slice(x, 2, None, None, -2), given[..., ::-2]),
        "cut": (graph.slice(x, 0, -100, 100), given),
        "none": (graph.slice(x, 1, 3), given[:, 3:]),
        "expand": (graph.expand(graph.slice(x, 1, 0, 1), (4, 2, 3, 8)), np.broadcast_to(given[:, :1], (4, 2, 3, 8))),
        "cast": (graph.cast(x, "f64"), given.astype("f8")),
        "whole": (graph.cast(x, bp.int32), given.astype("i4")),
        "same": (graph.cast(x, "f32"), given),
    }
    for name, (value, wanted) in steps.items():
        assert value.shape == wanted.shape, name
        graph.output(name, value)
    graph.finish()
    for (name, (_, wanted)), got in zip(steps.items(), graph(given)):
        assert np.array_equal(got, wanted) and got.dtype == wanted.dtype, name


def test_kinds_of_arrays(layer):
    graph, wanted = layer
    x = random(4, 3)
    plain = memoryview(array("f", x.reshape(-1).tolist())).cast("B").cast("f", (4, 3))
    result = graph(plain)
    assert isinstance(result, bp.Tensor) and np.array_equal(np.asarray(result), graph(x))
    assert np.array_equal(np.asarray(graph(bp.from_dlpack(x))), graph(x))
    big = x.astype(">f4")
    with pytest.raises(bp.BadTypeError, match="x: .*byte order"):
        graph(big)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    graph = bp.Graph()
    graph.output("y", graph.call("unary", graph.input("x", "bf16", (5,)), kind="negative"))
    graph.finish()
    x = random(5).astype(ml_dtypes.bfloat16)
    assert graph(x).dtype == x.dtype and np.array_equal(graph(x), -x)


def test_no_inputs():
    graph = bp.Graph()
    graph.output("y", graph.call("unary", graph.constant("c", random(3)), kind="exp"))
    graph.finish()
    assert isinstance(graph(), bp.Tensor) and graph().shape == (3,)


def test_empty_and_scalar():
    graph = bp.Graph()
    x, s = graph.input("x", "f32", (0, 3)), graph.input("s", "f32", ())
    graph.output("y", graph.call("binary", x, s, kind="add"))
    graph.output("z", graph.call("unary", s, kind="exp"))
    graph.finish()
    y, z = graph(np.zeros((0, 3), "f4"), np.float32(0))
    assert y.shape == (0, 3) and z.shape == () and z == 1


# ---- Constants ----


def test_constants_are_copied():
    graph, values = bp.Graph(), random(3)
    before = values.copy()
    graph.output("y", graph.call("binary", graph.input("x", "f32", (3,)), graph.constant("c", values), kind="add"))
    graph.finish()
    values[:] = 0
    assert np.array_equal(graph(np.zeros(3, "f4")), before)


def test_borrowed_constants_are_held():
    graph, values = bp.Graph(), random(3)
    count = sys.getrefcount(values)
    graph.output("y", graph.call("binary", graph.input("x", "f32", (3,)), graph.constant("c", values, borrow=True), kind="add"))
    graph.finish()
    assert sys.getrefcount(values) > count
    assert np.array_equal(graph(np.zeros(3, "f4")), values)
    values[:] = 7
    assert np.array_equal(graph(np.zeros(3, "f4")), values)
    del graph
    gc.collect()
    assert sys.getrefcount(values) == count


def test_a_refused_constant_is_not_held():
    graph, values = bp.Graph(), random(3)
    graph.constant("c", values)
    count = sys.getrefcount(values)
    with pytest.raises(bp.BadValueError, match="already"):
        graph.constant("c", values, borrow=True)
    with pytest.raises(bp.Error):
        graph.constant("no name", values, borrow=True)
    assert sys.getrefcount(values) == count


class Adding:
    """An array that adds constants to a graph while it is read."""

    def __init__(self, graph, values):
        self.graph, self.values = graph, values

    def __dlpack__(self, **names):
        for i in range(20):
            self.graph.constant(f"inner{i}", self.values, borrow=True)
        return self.values.__dlpack__(**names)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_an_array_that_adds_constants_while_it_is_read():
    graph, values = bp.Graph(), random(3)
    count = sys.getrefcount(values)
    outer = graph.constant("outer", Adding(graph, values), borrow=True)
    graph.output("y", graph.call("binary", graph.input("x", "f32", (3,)), outer, kind="add"))
    graph.finish()
    assert graph.text().count("constant ") == 21 and np.array_equal(graph(np.zeros(3, "f4")), values)
    del graph, outer
    gc.collect()
    assert sys.getrefcount(values) == count


# ---- Text ----


def test_text(layer):
    graph, _ = layer
    again = bp.Graph.parse(graph.text())
    assert again.text() == graph.text() and again.hash() == graph.hash() and len(graph.hash()) == hashlib.sha256().digest_size
    x = random(4, 3)
    assert np.array_equal(again(x), graph(x))
    assert repr(graph) == "<backplane.Graph: x -> y>"


@pytest.mark.parametrize(
    "text, message",
    (
        ("", "graph 1"),
        ("graph 1\n", "no output"),
        ("graph 1\ninput x f32 [2]\ny = nosuch(x)\noutput y = y\n", "nosuch"),
        ("graph 1\ninput x f32 [2]\noutput y = z\n", "line 3"),
    ),
)
def test_wrong_text(text, message):
    with pytest.raises(bp.Error, match=message):
        bp.Graph.parse(text)


def test_text_with_a_nul():
    with pytest.raises(ValueError):
        bp.Graph.parse("graph 1\0")


# ---- Errors ----


def test_wrong_calls(layer):
    graph, _ = layer
    with pytest.raises(bp.BadTypeError, match="takes 1 arrays, but got 2"):
        graph(random(4, 3), random(4, 3))
    with pytest.raises(bp.BadTypeError, match=r"input 0 \(x\) is f64"):
        graph(random(4, 3, dtype="f8"))
    with pytest.raises(bp.BadValueError, match=r"shape \(3, 4\)"):
        graph(random(3, 4))
    with pytest.raises(bp.BadTypeError, match="x: "):
        graph("text")
    with pytest.raises(TypeError, match="nosuch"):
        graph(random(4, 3), nosuch=1)
    with pytest.raises(bp.BadValueError, match="not finished"):
        bp.Graph()()


def test_wrong_building():
    graph = bp.Graph()
    x = graph.input("x", "f32", (2, 3))
    for kind, message, call in (
        (bp.BadValueError, "nosuch", lambda: graph.call("nosuch", x)),
        (bp.BadValueError, "kind must be one of", lambda: graph.call("unary", x, kind="nosuch")),
        (bp.BadValueError, "has no field", lambda: graph.call("unary", x, nosuch=1)),
        (bp.BadTypeError, "kind: expects a number", lambda: graph.call("unary", x, kind=object())),
        (bp.BadValueError, "dtype", lambda: graph.input("y", "f31", (2,))),
        (bp.BadTypeError, "shape: expects whole numbers", lambda: graph.input("y", "f32", (2.5,))),
        (bp.BadValueError, "node 0", lambda: graph.call("einsum", x, expression='ij->ji", count="9')),
        (bp.BadValueError, "node 0", lambda: graph.call("einsum", x, expression="ij->ji\\")),
        (bp.BadValueError, "size", lambda: graph.input("y", "f32", (-1,))),
        (bp.BadValueError, "x", lambda: graph.input("x", "f32", (1,))),
        (bp.BadValueError, "shape|elements", lambda: graph.reshape(x, (4,))),
        (bp.BadValueError, "step is 0", lambda: graph.slice(x, 0, step=0)),
        (bp.BadValueError, "axis is 2", lambda: graph.slice(x, 2)),
        (bp.BadValueError, "axis|axes", lambda: graph.permute(x, (0, 0))),
        (bp.BadTypeError, "output is c64", lambda: graph.cast(x, "c64")),
        (bp.BadTypeError, "b is f64", lambda: graph.call("binary", x, graph.cast(x, "f64"))),
        (bp.BadValueError, "only copy", lambda: graph.call("unary", x, kind="exp", dtype="f64")),
        (bp.BadValueError, "no output", graph.finish),
    ):
        with pytest.raises(kind, match=message):
            call()
    graph.output("y", x)
    graph.finish()
    for call in (graph.finish, lambda: graph.output("z", x), lambda: graph.call("unary", x), lambda: graph.input("z", "f32", ())):
        with pytest.raises(bp.BadValueError, match="finished"):
            call()


def test_a_value_of_another_graph():
    one, other = bp.Graph(), bp.Graph()
    values = [one.input(f"x{i}", "f32", (2,)) for i in range(3)]
    with pytest.raises(bp.BadValueError, match="value 3"):
        other.call("unary", values[2], kind="exp")


def test_too_many_operands():
    graph = bp.Graph()
    x = graph.input("x", "f32", (1,))
    assert graph.call("concat", *[x] * 256, axis=0).shape == (256,)
    with pytest.raises(bp.BadValueError, match="at most 256"):
        graph.call("concat", *[x] * 257, axis=0)


def test_indices_out_of_range():
    graph = bp.Graph()
    graph.output("y", graph.call("take", graph.constant("t", random(4, 2)), graph.input("i", "i64", (2,)), axis=0))
    graph.finish()
    assert graph(np.array([3, 0])).shape == (2, 2)
    with pytest.raises(bp.Error, match=r"node 0 \(take\)"):
        graph(np.array([4, 0]))


def test_explanation(layer):
    graph, _ = layer
    page = graph.explain(random(4, 3))
    assert "node 0 (linear)" in str(page) and len(page.parts) == 2 and page.parts[1].chosen.library == "native"


# ---- Threads and lifetimes ----


def test_threads(layer):
    graph, _ = layer
    x = random(4, 3)
    wanted, wrong = graph(x), []

    def run():
        for _ in range(300):
            if not np.array_equal(graph(x), wanted):
                wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_many_outputs_and_inputs():
    graph = bp.Graph()
    values = [graph.input(f"x{i}", "f32", (i,)) for i in range(12)]
    for i, value in enumerate(values):
        graph.output(f"y{i}", graph.call("unary", value, kind="negative"))
    graph.finish()
    given = [random(i) for i in range(12)]
    assert all(np.array_equal(a, -b) for a, b in zip(graph(*given), given))
