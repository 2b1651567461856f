"""ONNX files: the cases that the package onnx has for each operator.

Each case is a model with inputs and outputs. Its outputs are right, or it is refused by an error of the library; a wrong number is a failure.
An input that decides a shape is an input in the case; if the model is refused for it, it is read again with such inputs as constants.
"""

import collections
import pathlib
import re

import numpy as np
import pytest
from onnx_support import run_node

import backplane as bp

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "examples/data/components.onnx"


def images():
    return np.load(ROOT / "examples/data/digits.npy")


@pytest.fixture
def onnx():
    """The package. The folder tests/onnx can be imported too, and has no modules."""
    pytest.importorskip("onnx.helper", reason="the package onnx is not installed")
    import onnx

    return onnx


# ---- A model of the repository ----


def test_a_model_is_read_and_run():
    graph = bp.Graph.from_onnx(MODEL, sizes={"count": 1797})
    assert [(port.name, port.shape) for port in graph.inputs] == [("images", (1797, 64))]
    coordinates, error = graph(images())
    axes = np.load(ROOT / "examples/data/axes_f64.npy")[:, :8]
    wanted = images().astype("f8") @ axes
    np.testing.assert_allclose(coordinates, wanted, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(error, ((images() - wanted @ axes.T) ** 2).mean(1), rtol=1e-4)


def test_sizes_are_given_by_name_or_place():
    first = images()[:3]
    by_name, by_place = (bp.Graph.from_onnx(str(MODEL), sizes=sizes)(first) for sizes in ({"count": 3}, {"images[0]": 3}))
    assert all(np.array_equal(a, b) for a, b in zip(by_name, by_place))
    with pytest.raises(bp.BadValueError, match=r"dimension 0 of input 'images', named count"):
        bp.Graph.from_onnx(MODEL)
    with pytest.raises(bp.BadValueError, match="no open size 'rows'"):
        bp.Graph.from_onnx(MODEL, sizes={"count": 3, "rows": 2})
    with pytest.raises(bp.BadTypeError, match="whole numbers"):
        bp.Graph.from_onnx(MODEL, sizes={"count": 2.5})
    with pytest.raises(bp.BadValueError):
        bp.Graph.from_onnx(MODEL, sizes={"count": -2})


def test_an_input_becomes_a_constant():
    first = images()[:3]
    graph = bp.Graph.from_onnx(MODEL, values={"images": first})
    assert graph.inputs == ()
    assert all(np.array_equal(a, b) for a, b in zip(graph(), bp.Graph.from_onnx(MODEL, sizes={"count": 3})(first)))
    with pytest.raises(bp.Error, match="f64; the model has f32"):
        bp.Graph.from_onnx(MODEL, values={"images": first.astype("f8")})
    with pytest.raises(bp.Error, match="no input 'pictures'"):
        bp.Graph.from_onnx(MODEL, sizes={"count": 3}, values={"pictures": first})


def test_files_that_are_no_models(tmp_path):
    with pytest.raises(bp.Error, match="No such file"):
        bp.Graph.from_onnx(tmp_path / "absent.onnx")
    with pytest.raises(bp.Error, match="not a regular file"):
        bp.Graph.from_onnx(tmp_path)
    for content in (b"", b"\x08\x08", MODEL.read_bytes()[:-1], b"\xff" * 100):
        (tmp_path / "bad.onnx").write_bytes(content)
        with pytest.raises(bp.Error, match=r"bad\.onnx: "):
            bp.Graph.from_onnx(tmp_path / "bad.onnx", sizes={"count": 3})


# ---- The cases of the package onnx ----

# Elements that no call has, or that NumPy has not.
_KINDS = "biufc"


def _arrays(given):
    """Returns arrays of what a case has, or None if one is no tensor, or of a type that backplane does not read."""
    from onnx import TensorProto, numpy_helper

    made = []
    for one in given:
        array = numpy_helper.to_array(one) if isinstance(one, TensorProto) else one
        if isinstance(array, (list, dict)) or array is None:
            return None
        array = np.asarray(array)
        if array.dtype.kind not in _KINDS and array.dtype.name != "bfloat16":
            return None
        made.append(array)
    return made


def _read(path, model, inputs, constants):
    """Makes a graph. Inputs whose numbers are in `constants` are constants."""
    sizes, values = {}, {}
    for number, (port, array) in enumerate(zip(model.graph.input, inputs)):
        if number in constants:
            values[port.name] = array
            continue
        for axis, size in enumerate(port.type.tensor_type.shape.dim):
            if not size.HasField("dim_value"):
                sizes[f"{port.name}[{axis}]"] = array.shape[axis]
    return bp.Graph.from_onnx(path, sizes=sizes, values=values)


def _compare(case, results, wanted):
    """Returns what is wrong with the results, or None."""
    for number, (a, b) in enumerate(zip(results, wanted)):
        a = np.asarray(a)
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"output {number} is {a.dtype} {a.shape} in place of {b.dtype} {b.shape}"
        short = b.dtype.name in ("float16", "bfloat16")
        wide = "c16" if b.dtype.kind == "c" else "f8" if b.dtype.kind not in "iu" else b.dtype
        if not np.allclose(a.astype(wide), b.astype(wide), rtol=max(case.rtol, 2e-2 * short), atol=max(case.atol, 1e-7), equal_nan=True):
            return f"output {number} is {a!r} in place of {b!r}"
    return None


def _outcome(case, path):
    """Returns "right", "other" (of types that are not tried), or the error; or raises AssertionError for a wrong result."""
    inputs, wanted = (_arrays(part) for part in case.data_sets[0])
    if inputs is None or wanted is None:
        return "other"
    path.write_bytes(case.model.SerializeToString())
    deciding = {i for i, array in enumerate(inputs) if array.dtype.kind in "biu" or array.size <= 2 or (array.ndim == 1 and array.size <= 8)}
    error = None
    for constants in (set(), deciding):
        try:
            graph = _read(path, case.model, inputs, constants)
            results = graph(*[array for i, array in enumerate(inputs) if i not in constants])
        except bp.Error as refused:
            error = str(refused)
            continue
        fault = _compare(case, results if isinstance(results, tuple) else (results,), wanted)
        assert fault is None, f"{case.name}: {fault}"
        return "right"
    return error


def _operators():
    """The operators of the reference page."""
    return set(re.findall(r"^\| (\w+) \| \d+ \|", (ROOT / "docs/reference/onnx.md").read_text(), re.M))


def _run(cases, path):
    counts, right, wrong, refused = collections.Counter(), collections.Counter(), [], collections.Counter()
    for case in cases:
        try:
            outcome = _outcome(case, path)
        except AssertionError as fault:
            outcome = "wrong"
            wrong.append(str(fault)[:300])
        counts[outcome if outcome in ("right", "other", "wrong") else "refused"] += 1
        if outcome == "right":
            right.update({node.op_type for node in case.model.graph.node})
        elif outcome not in ("other", "wrong"):
            refused[re.sub(r"^.*\.onnx: (node \d+ )?", "", outcome)] += 1
    print(dict(counts))
    for reason, count in refused.most_common():
        print(count, reason)
    assert not wrong, "\n".join(wrong)
    return counts, right, refused


@pytest.mark.filterwarnings("ignore")
def test_node_cases(tmp_path):
    """Models of one operator each, and of its function in other operators."""
    node = pytest.importorskip("onnx.backend.test.case.node", reason="the package onnx is not installed")
    cases = [case for case in node.collect_testcases(None) if case.model is not None]
    counts, right, refused = _run(cases, tmp_path / "case.onnx")
    assert counts["right"] > 1200  # of 1884 in onnx 1.23
    tried = {node.op_type for case in cases for node in case.model.graph.node}
    assert not {name for name in _operators() & tried if not right[name]}
    # A reason names the node's operator, or the version or type that no operator was asked for.
    assert all(re.match(r"(\w+|'.*') ?|\(", reason) and len(reason) > 20 for reason in refused)


@pytest.mark.filterwarnings("ignore")
def test_cases_of_attention(tmp_path):
    """Softcaps, windows, pasts and lengths: the only refusals are of the output that is not supported."""
    node = pytest.importorskip("onnx.backend.test.case.node", reason="the package onnx is not installed")
    cases = [case for case in node.collect_testcases(None) if case.model is not None and {one.op_type for one in case.model.graph.node} == {"Attention"}]
    counts, _, refused = _run(cases, tmp_path / "case.onnx")
    assert counts["right"] > 50 and not counts["other"]
    assert all("'qk_matmul_output', is not supported" in reason for reason in refused)


@pytest.mark.parametrize("masked", (None, bool, "f4"))
@pytest.mark.parametrize("causal", (0, 1))
@pytest.mark.parametrize("left, right", [(-1, -1), (2, -1), (2, 1), (0, 0), (9, 0), (-1, 3), (40, 2**62), (2**63 - 1, 2**63 - 1)])
@pytest.mark.parametrize("past, queries, fresh", [(0, 4, 4), (0, 3, 5), (4, 3, 3), (4, 2, 3), (5, 3, 1), (6, 4, 0)])
def test_attention_sees_its_keys(past, queries, fresh, left, right, causal, masked, tmp_path, onnx):
    """Each alignment of queries and keys, by the rule of the standard; as a mask, which onnx itself has no case of."""
    helper, random = onnx.helper, np.random.default_rng(9)
    given = {name: random.standard_normal((1, 2, rows, 4)).astype("f4") for name, rows in (("q", queries), ("k", fresh), ("v", fresh), ("pk", past), ("pv", past))}
    mask = None if masked is None else random.random((queries, past + fresh)) < 0.7 if masked is bool else random.standard_normal((queries, past + fresh)).astype("f4")
    names = ["q", "k", "v", "m" if masked else "", "pk", "pv"] if past else ["q", "k", "v", "m" if masked else ""]
    given.update({} if mask is None else {"m": mask})
    types = {"f": onnx.TensorProto.FLOAT, "b": onnx.TensorProto.BOOL}
    node = helper.make_node("Attention", names, ["y", "nk", "nv"] if past else ["y"], is_causal=causal, left_window_size=left, right_window_size=right, softcap=2.0)
    inputs = [helper.make_tensor_value_info(name, types[given[name].dtype.kind], given[name].shape) for name in names if name]
    outputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in node.output]
    model = helper.make_model(helper.make_graph([node], "g", inputs, outputs), opset_imports=[helper.make_opsetid("", 25)], ir_version=11)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    results = bp.Graph.from_onnx(tmp_path / "m.onnx")(*[given[name] for name in names if name])
    got = np.asarray(results[0] if past else results)
    k, v = (np.concatenate((given[old], given[new]), 2).astype("f8") for old, new in (("pk", "k"), ("pv", "v")))
    position, key = np.arange(queries)[:, None] + past, np.arange(past + fresh)
    sees = ((key <= position) | (not causal)) & ((left < 0) | (key >= position - left)) & ((right < 0) | (key <= position + min(right, 1000)))
    scores = 2 * np.tanh(given["q"].astype("f8") @ np.swapaxes(k, 2, 3) / 2 / 2)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if masked is bool else scores + mask
    weights = np.exp(np.where(sees, scores, -np.inf))
    total = weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(got, weights / np.where(total == 0, 1, total) @ v, rtol=1e-5, atol=1e-6)


# ---- Recurrent layers, against the formulas of the standard ----


def _logistic(x):
    return 1 / (1 + np.exp(-x))


def _steps(kind, x, w, r, b, h, c, lengths, reverse, after):
    """One direction: x is T x N x I. Returns the outputs of all steps, and the final states."""
    size, both = r.shape[1], np.split(b, 2)
    outputs = np.zeros((*x.shape[:2], size))
    for item in range(x.shape[1]):
        steps = range(lengths[item])
        for step in reversed(steps) if reverse else steps:
            one, state = x[step, item], h[item]
            a, s = w @ one + both[0], r @ state + both[1]
            if kind == "LSTM":
                i, o, f, g = np.split(a + s, 4)
                c[item] = _logistic(f) * c[item] + _logistic(i) * np.tanh(g)
                h[item] = _logistic(o) * np.tanh(c[item])
            elif kind == "GRU":
                (az, ar, ah), (sz, sr, sh) = np.split(a, 3), np.split(s, 3)
                z, reset = _logistic(az + sz), _logistic(ar + sr)
                part = reset * sh if after else r[2 * size :] @ (reset * state) + both[1][2 * size :]
                h[item] = (1 - z) * np.tanh(ah + part) + z * state
            else:
                h[item] = np.tanh(a + s)
            outputs[step, item] = h[item]
    return outputs, h, c


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("kind", "after"), [("RNN", None), ("GRU", None), ("GRU", 0), ("GRU", 1), ("LSTM", None)])
def test_recurrent_layers(kind, after, direction, layout, known, tmp_path, onnx):
    random = np.random.default_rng(7)
    steps, items, width, size, gates = 5, 3, 4, 6, {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    count = 1 + (direction == "bidirectional")
    shapes = {"x": (steps, items, width), "w": (count, gates * size, width), "r": (count, gates * size, size), "b": (count, 2 * gates * size)}
    given = {name: random.standard_normal(shape).astype("f4") for name, shape in shapes.items()}
    given["lengths"] = np.array([5, 2, 4], "i4")
    given["h"] = random.standard_normal((count, items, size)).astype("f4")
    given["c"] = random.standard_normal((count, items, size)).astype("f4")
    parts = []
    for d in range(count):
        backwards = direction == "reverse" or d == 1
        arrays = [given[name][d].astype("f8") for name in ("w", "r", "b")]
        states = [given[name][d].astype("f8") for name in ("h", "c")]
        parts.append(_steps(kind, given["x"].astype("f8"), *arrays, *states, given["lengths"], backwards, after))
    wanted = [np.stack([part[0] for part in parts], 1), *(np.stack([part[i] for part in parts]) for i in (1, 2))]
    if layout:
        wanted = [wanted[0].transpose(2, 0, 1, 3), *(one.transpose(1, 0, 2) for one in wanted[1:])]
        given.update({name: np.ascontiguousarray(given[name].swapaxes(0, 1)) for name in ("x", "h", "c")})
    names = ["x", "w", "r", "b", "lengths", "h", *(["c"] if kind == "LSTM" else [])]
    outputs = ["y", "yh", *(["yc"] if kind == "LSTM" else [])]
    more = {} if after is None else {"linear_before_reset": after}
    node = onnx.helper.make_node(kind, names, outputs, direction=direction, layout=layout, hidden_size=size, **more)
    constants = {"w", "r", "b"} if known else set()
    ports = [onnx.helper.make_tensor_value_info(name, 6 if name == "lengths" else 1, given[name].shape) for name in names if name not in constants]
    results = [onnx.helper.make_tensor_value_info(name, 1, None) for name in outputs]
    tensors = [onnx.numpy_helper.from_array(given[name], name) for name in sorted(constants)]
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", ports, results, tensors), opset_imports=[onnx.helper.make_opsetid("", 22)])
    model.ir_version = 10
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    got = bp.Graph.from_onnx(tmp_path / "m.onnx")(*[given[name] for name in names if name not in constants])
    for a, b in zip(got, wanted):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


# ---- Operators without a node case ----


@pytest.mark.parametrize("opset, operation", [(9, "Upsample"), (10, "Resize")])
def test_scales_before_opset_11(opset, operation, tmp_path, onnx):
    x = np.random.default_rng(3).standard_normal((1, 2, 3, 4)).astype("f4")
    scales = np.array([1, 1, 2, 3], "f4")
    got = run_node(tmp_path / "m.onnx", opset, operation, [x, scales], {1}, mode="nearest")
    assert np.array_equal(got, x.repeat(2, 2).repeat(3, 3))
    got = run_node(tmp_path / "m.onnx", opset, operation, [x, np.array([1, 1, 1, 2], "f4")], {1}, mode="linear")
    places = np.minimum(np.arange(8) / 2, 3)
    wanted = [[[np.interp(places, np.arange(4), line) for line in image] for image in item] for item in x]
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)


def test_triangles_far_from_the_diagonal(tmp_path, onnx):
    x = np.ones((3, 3), "f4")
    for upper in (0, 1):
        for k in (2**63 - 1, -(2**63)):
            got = run_node(tmp_path / "m.onnx", 14, "Trilu", [x, np.array(k)], {1}, upper=upper)
            assert np.all(got == (upper == (k < 0)))


# ---- Elements in other files ----


def test_external_elements(tmp_path, onnx):
    weight = np.arange(6, dtype=np.float32).reshape(3, 2)
    x, y = (onnx.helper.make_tensor_value_info(name, 1, [2, size]) for name, size in (("x", 3), ("y", 2)))
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = onnx.helper.make_graph([node], "g", [x], [y], [onnx.numpy_helper.from_array(weight, "w")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    onnx.save_model(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    given = np.ones((2, 3), np.float32)
    assert np.array_equal(bp.Graph.from_onnx(tmp_path / "m.onnx")(given), given @ weight)
    (tmp_path / "m.data").rename(tmp_path.parent / "outside.data")
    (tmp_path / "m.data").symlink_to(tmp_path.parent / "outside.data")
    with pytest.raises(bp.Error, match="a link"):
        bp.Graph.from_onnx(tmp_path / "m.onnx")
