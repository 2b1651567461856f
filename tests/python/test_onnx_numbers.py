"""ONNX operators that compute with numbers of 8 bits, rotations, groups and determinants, at their edges, against NumPy in f64."""

import numpy as np
import pytest
from onnx_support import run_node

import backplane as bp

pytest.importorskip("onnx.helper", reason="the package onnx is not installed")
rng = np.random.default_rng(12)


@pytest.fixture
def run(tmp_path):
    return lambda *given, **words: run_node(tmp_path / "m.onnx", *given, **words)


def integers(kind, *shape):
    """Numbers of the type, the least and the greatest among them."""
    limits = np.iinfo(kind)
    made = rng.integers(limits.min, limits.max + 1, size=shape).astype(kind)
    if made.size > 1:
        made.flat[0], made.flat[-1] = limits.min, limits.max
    return made


def quantized(sums, scale, zero):
    """Rounds sums times a scale, which is a number of f32, and adds the zero point."""
    limits = np.iinfo(zero.dtype)
    scaled = np.rint((sums.astype("f4") * scale).astype("f4"))
    return np.clip(scaled + zero.astype("f4"), limits.min, limits.max).astype(zero.dtype)


# ---- Products ----

SHAPES = [((3, 5), (5, 4)), ((1, 1), (1, 1)), ((2, 0), (0, 3)), ((0, 4), (4, 2)), ((2, 3, 17), (17, 5)), ((2, 1, 3, 4), (3, 4, 2)), ((33, 700), (700, 9))]


@pytest.mark.parametrize("kinds", [("u1", "i1"), ("u1", "u1"), ("i1", "i1"), ("i1", "u1")])
@pytest.mark.parametrize("shapes", SHAPES)
def test_products_of_integers(run, kinds, shapes):
    a, b = (integers(kind, *shape) for kind, shape in zip(kinds, shapes))
    rows, columns = a.shape[-2], b.shape[-1]
    whole = (integers(kinds[0], 1).reshape(()), integers(kinds[1], 1).reshape(()))
    points = [(None, None), (whole[0], None), (None, whole[1]), whole, (integers(kinds[0], rows), integers(kinds[1], columns))]
    for of_a, of_b in points:
        x, y = a.astype("i8"), b.astype("i8")
        x = x if of_a is None else x - (of_a.reshape(-1, 1) if of_a.ndim else of_a).astype("i8")
        y = y if of_b is None else y - of_b.astype("i8")
        wanted = (x @ y).astype("i4")
        for constants in ([], [1, 3]):
            constants = [i for i in constants if [a, b, of_a, of_b][i] is not None]
            got = np.asarray(run(10, "MatMulInteger", [a, b, of_a, of_b], constants))
            assert got.dtype == np.int32 and np.array_equal(got, wanted)


@pytest.mark.parametrize(("kind", "opset"), [("u1", 10), ("i1", 21)])
@pytest.mark.parametrize("shapes", [SHAPES[0], SHAPES[4], SHAPES[6]])
def test_quantized_products(run, kind, opset, shapes):
    a, b = integers(kind, *shapes[0]), integers(kind, *shapes[1])
    zeros = [integers(kind, 1).reshape(()) for _ in range(3)]
    scales = [np.float32(one) for one in (0.0066, 0.00705, 0.5 * b.shape[-2] / 100)]
    sums = (a.astype("i8") - zeros[0].astype("i8")) @ (b.astype("i8") - zeros[1].astype("i8"))
    wanted = quantized(sums, np.float32(scales[0] * scales[1]) / scales[2], zeros[2])
    arrays = [a, np.array(scales[0]), zeros[0], b, np.array(scales[1]), zeros[1], np.array(scales[2]), zeros[2]]
    for constants in ([], [3, 4, 5]):
        got = np.asarray(run(opset, "QLinearMatMul", arrays, constants))
        assert got.dtype == wanted.dtype and np.array_equal(got, wanted)


def test_refused_products(run):
    a = integers("u1", 2, 3)
    with pytest.raises(bp.Error, match="'A' has elements of type f32; they must be i8 or u8"):
        run(10, "MatMulInteger", [a.astype("f4"), integers("u1", 3, 2)])
    with pytest.raises(bp.Error, match="'A' has 1 dimensions"):
        run(10, "MatMulInteger", [a[0], integers("u1", 3, 2)])
    with pytest.raises(bp.Error, match="the zero point of 'A' has another type"):
        run(10, "MatMulInteger", [a, integers("u1", 3, 2), np.array(3, "i1")])


# ---- Convolutions ----


def convolved(x, w, strides, pads, groups):
    """Convolutions of integers: N x C x H x W, with zeros around."""
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    height, width = ((x.shape[2 + d] - w.shape[2 + d]) // strides[d] + 1 for d in (0, 1))
    result, of = np.zeros((len(x), len(w), height, width), "i8"), len(w) // groups
    for at in np.ndindex(*result.shape):
        n, m, i, j = at
        part = x[n, m // of * w.shape[1] :][: w.shape[1], i * strides[0] :, j * strides[1] :]
        result[at] = (part[:, : w.shape[2], : w.shape[3]] * w[m]).sum()
    return result


CASES = [(1, (1, 1), (0, 0, 0, 0), 2, 3), (2, (2, 1), (1, 0, 2, 1), 4, 2), (1, (1, 1), (1, 1, 1, 1), 40, 2)]


@pytest.mark.parametrize("kinds", [("u1", "u1"), ("u1", "i1"), ("i1", "i1")])
@pytest.mark.parametrize(("groups", "strides", "pads", "channels", "features"), CASES)
def test_convolutions_of_integers(run, groups, strides, pads, channels, features, kinds):
    x, w = integers(kinds[0], 2, channels, 6, 5), integers(kinds[1], groups * features, channels // groups, 3, 3)
    words = dict(group=groups, strides=strides, pads=pads)
    for zeros in ((None, None), (integers(kinds[0], 1).reshape(()), integers(kinds[1], len(w))), (integers(kinds[0], 1).reshape(()), None)):
        a = x.astype("i8") - (0 if zeros[0] is None else int(zeros[0]))
        b = w.astype("i8") - (0 if zeros[1] is None else zeros[1].astype("i8").reshape(-1, 1, 1, 1))
        got = np.asarray(run(10, "ConvInteger", [x, w, *zeros], [1], **words))
        assert got.dtype == np.int32 and np.array_equal(got, convolved(a, b, strides, pads, groups))


@pytest.mark.parametrize("least", [0, 128])
@pytest.mark.parametrize(("channels", "features", "size", "kernel"), [(16, 64, 56, 3), (1, 4, 200, 15), (1, 4, 200, 31), (28, 8, 20, 3)])
def test_convolutions_of_integers_that_libraries_transform(run, channels, features, size, kernel, least):
    """Sums of large numbers without signs show the errors of f32, also after rounding."""
    x, w = (rng.integers(least, 256, shape).astype("u1") for shape in ((1, channels, size, size), (features, channels, kernel, kernel)))
    windows = np.lib.stride_tricks.sliding_window_view(x[0].astype("i8"), (kernel, kernel), axis=(1, 2))
    right = np.tensordot(w.astype("i8"), windows, axes=([1, 2, 3], [0, 3, 4]))
    assert np.array_equal(np.asarray(run(10, "ConvInteger", [x, w], [1]))[0], right)


def test_sums_that_f32_does_not_have(run):
    x, w = np.full((1, 40, 3, 3), 255, "u1"), np.full((1, 40, 3, 3), 255, "u1")
    x[0, 0, 0, 0] = 254
    assert np.asarray(run(10, "ConvInteger", [x, w], [1])).item() == 359 * 255**2 + 254 * 255


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("kind", ["u1", "i1"])
@pytest.mark.parametrize(("groups", "strides", "pads", "channels", "features"), CASES)
def test_quantized_convolutions(run, groups, strides, pads, channels, features, kind, each):
    x, w = integers(kind, 2, channels, 6, 5), integers(kind, groups * features, channels // groups, 3, 3)
    zeros = [integers(kind, 1).reshape(()), integers(kind, len(w)) if each else integers(kind, 1).reshape(()), integers(kind, 1).reshape(())]
    scales = [np.array(0.003, "f4"), (rng.random(len(w)) / 100 + 0.001).astype("f4") if each else np.array(0.004, "f4"), np.array(0.02, "f4")]
    bias = rng.integers(-(2**25), 2**25, size=len(w)).astype("i4")
    channel = (1, -1, 1, 1)
    sums = convolved(x.astype("i8") - int(zeros[0]), w.astype("i8") - zeros[1].astype("i8").reshape(-1, 1, 1, 1), strides, pads, groups)
    factor = ((scales[0] * scales[1]).astype("f4") / scales[2]).astype("f4").reshape(channel)
    for more in (None, bias):
        wanted = quantized(sums + (0 if more is None else more.reshape(channel)), factor, zeros[2])
        arrays = [x, scales[0], zeros[0], w, scales[1], zeros[1], scales[2], zeros[2], *([] if more is None else [more])]
        got = np.asarray(run(10, "QLinearConv", arrays, range(3, len(arrays)), group=groups, strides=strides, pads=pads))
        assert got.dtype == wanted.dtype and np.array_equal(got, wanted)


def test_no_function_joins_a_quantized_convolution(tmp_path):
    """A function of numbers of 8 bits is not one of the sums, whose zero is elsewhere."""
    import onnx

    x, w = integers("i1", 1, 2, 5, 5), integers("i1", 3, 2, 3, 3)
    given = {"x": x, "xs": np.array(0.02, "f4"), "xz": np.array(5, "i1"), "w": w, "ws": np.array(0.01, "f4"), "wz": np.array(-3, "i1"), "ys": np.array(0.1, "f4"), "yz": np.array(10, "i1")}
    nodes = [onnx.helper.make_node("QLinearConv", list(given), ["y"]), onnx.helper.make_node("Relu", ["y"], ["z"])]
    port, result = (onnx.helper.make_tensor_value_info(name, 3, shape) for name, shape in (("x", x.shape), ("z", None)))
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in given.items() if name != "x"]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [port], [result], tensors), opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    sums = convolved(x.astype("i8") - 5, w.astype("i8") + 3, (1, 1), (0, 0, 0, 0), 1)
    wanted = np.maximum(quantized(sums, np.float32(given["xs"] * given["ws"]) / given["ys"], given["yz"]), 0)
    assert np.array_equal(bp.Graph.from_onnx(tmp_path / "m.onnx")(x), wanted) and 0 < (wanted > 0).mean() < 1


# ---- Quantization ----


@pytest.mark.parametrize("x", [[0, 2, -3, -2.5, 1.34, 0.5], [-1, -2.1, -1.3, -2.5], [1, 2.1, 1.3], [0, 0], [-0.0], [3e38], [[1e-40, 2]], 7])
def test_dynamic_quantization(run, x):
    x = np.array(x, "f4")
    most, least = np.float32(max(x.max(), 0)), np.float32(min(x.min(), 0))
    scale = np.float32((most - least) if most != least else 1) / np.float32(255)
    zero = np.rint(np.clip(-least / scale, 0, 255))
    wanted = np.clip(np.rint(x / scale) + zero, 0, 255).astype("u1"), scale, np.uint8(zero)
    for a, b in zip(run(11, "DynamicQuantizeLinear", [x], outputs=3), wanted):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)


def test_refused_quantization(run):
    with pytest.raises(bp.Error, match="its input is empty"):
        run(11, "DynamicQuantizeLinear", [np.zeros((0, 2), "f4")], outputs=3)


# ---- Rotations ----


def rotated(x, cosine, sine, interleaved, columns):
    """x: items x heads x steps x columns; the tables: items x steps x half."""
    result = x.copy()
    for at in np.ndindex(*x.shape[:3]):
        for k in range(columns // 2):
            i, j = (2 * k, 2 * k + 1) if interleaved else (k, k + columns // 2)
            c, s = cosine[at[0], at[2], k], sine[at[0], at[2], k]
            result[(*at, i)] = c * x[(*at, i)] - s * x[(*at, j)]
            result[(*at, j)] = s * x[(*at, i)] + c * x[(*at, j)]
    return result


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("columns", [0, 4])
@pytest.mark.parametrize("places", [None, "known", "given"])
@pytest.mark.parametrize("joined", [False, True])
def test_rotary_embedding(run, joined, places, columns, interleaved):
    items, heads, steps, size = 2, 3, 5, 6
    half = (columns or size) // 2
    x = rng.standard_normal((items, heads, steps, size))
    table = (9, half) if places else (items, steps, half)
    cosine, sine = rng.standard_normal(table), rng.standard_normal(table)
    at = rng.integers(9, size=(items, steps))
    full = (cosine[at], sine[at]) if places else (cosine, sine)
    wanted = rotated(x, *full, interleaved, columns or size)
    turn = (lambda one: one.swapaxes(1, 2).reshape(items, steps, heads * size)) if joined else (lambda one: one)
    words = dict(interleaved=interleaved, rotary_embedding_dim=columns, **({"num_heads": heads} if joined else {}))
    for kind, tolerance in (("f4", 1e-6), ("f2", 2e-2)):
        arrays = [np.ascontiguousarray(turn(x)).astype(kind), cosine.astype(kind), sine.astype(kind), *([at] if places else [])]
        got = np.asarray(run(23, "RotaryEmbedding", arrays, [3] if places == "known" else [], **words))
        assert got.dtype == kind and got.shape == turn(wanted).shape
        np.testing.assert_allclose(got.astype("f8"), turn(wanted), rtol=tolerance, atol=tolerance)


def test_refused_rotations(run):
    x, table = np.zeros((2, 3, 5, 6), "f4"), np.zeros((2, 5, 3), "f4")
    for arrays, words, text in (
        ([x, table, table[..., :2]], {}, "items, steps and 3 columns"),
        ([x, table, table], {"rotary_embedding_dim": 3}, "is odd"),
        ([x, table, table], {"rotary_embedding_dim": 8}, "larger than a head"),
        ([x[0], table, table], {}, "'num_heads'"),
    ):
        with pytest.raises(bp.Error, match=text):
            run(23, "RotaryEmbedding", arrays, **words)


# ---- Others ----


@pytest.mark.parametrize("opset", [18, 21])
def test_groups_of_channels(run, opset):
    """Before opset 21 a group has one scale and one bias."""
    x, groups = rng.standard_normal((2, 6, 3, 4)), 3
    scale, bias = rng.standard_normal((2, groups if opset < 21 else 6))
    apart = x.reshape(2, groups, -1)
    wanted = ((apart - apart.mean(2, keepdims=True)) / np.sqrt(apart.var(2, keepdims=True) + 0.25)).reshape(x.shape)
    each = [np.repeat(one, 6 // len(one)).reshape(1, 6, 1, 1) for one in (scale, bias)]
    got = run(opset, "GroupNormalization", [one.astype("f4") for one in (x, scale, bias)], num_groups=groups, epsilon=0.25)
    np.testing.assert_allclose(got, wanted * each[0] + each[1], rtol=1e-5, atol=1e-5)
    with pytest.raises(bp.Error, match="of 3 groups of 6 channels" if opset < 21 else "weight"):
        run(opset, "GroupNormalization", [x.astype("f4"), np.zeros(2, "f4"), np.zeros(2, "f4")], num_groups=groups)


@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (2, 4, 2, 2), (0, 2, 2), (2, 0, 0)])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_determinants(run, shape, kind):
    x = rng.standard_normal(shape).astype(kind)
    got = np.asarray(run(11, "Det", [x]))
    assert got.dtype == kind and got.shape == shape[:-2]
    np.testing.assert_allclose(got, np.linalg.det(x.astype("f8")), rtol=1e-5, atol=1e-6)


def test_refused_determinants(run):
    for x in (np.zeros((2, 3), "f4"), np.zeros((2, 2), "f2")):
        with pytest.raises(bp.Error, match="Det"):
            run(11, "Det", [x])


@pytest.mark.parametrize("alpha", [None, 1.0, 1.702, 0.0])
def test_gated_activation(run, alpha):
    a, b = rng.standard_normal((2, 3, 5)), rng.standard_normal((2, 3, 5))
    wanted = a / (1 + np.exp(-(1 if alpha is None else alpha) * a)) * b
    words = {} if alpha is None else {"alpha": alpha}
    np.testing.assert_allclose(run(28, "SwiGLU", [a.astype("f4"), b.astype("f4")], **words), wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(bp.Error, match="not one shape"):
        run(28, "SwiGLU", [a.astype("f4"), b[:1].astype("f4")], **words)
