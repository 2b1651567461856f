"""Convolutions and their gradients against sums of their definition in NumPy, and against PyTorch if it is installed."""

import importlib
import itertools

import numpy as np
import pytest

import backplane as bp
from backplane.nn import functional as F
from backplane.nn import grad

TYPES = ["f2", "f4", "f8"]


def integers(dtype, *shape, seed=3):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def each(numbers, ndim):
    return (numbers,) * ndim if isinstance(numbers, int) else numbers


def reference(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Returns the convolution in double precision: one sum for each tap."""
    ndim = w.ndim - 2
    stride, padding, dilation = (each(v, ndim) for v in (stride, padding, dilation))
    x = np.pad(x.astype("f8"), [(0, 0), (0, 0)] + [(p, p) for p in padding])
    w = w.astype("f8")
    sizes = [(n - d * (t - 1) - 1) // s + 1 for n, d, t, s in zip(x.shape[2:], dilation, w.shape[2:], stride)]
    x = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    w = w.reshape(groups, -1, *w.shape[1:])
    y = np.zeros((x.shape[0], groups, w.shape[1], *sizes))
    for tap in itertools.product(*(range(t) for t in w.shape[3:])):
        part = x[(slice(None),) * 3 + tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, sizes, stride))]
        y += np.einsum("ngc...,gkc->ngk...", part, w[(slice(None),) * 3 + tap])
    y = y.reshape(y.shape[0], -1, *sizes)
    return y if bias is None else y + bias.astype("f8").reshape(1, -1, *(1,) * ndim)


def transposed_reference(x, w, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """Returns the transposed convolution: each element of the input adds the kernel to the output."""
    ndim = w.ndim - 2
    stride, padding, extra, dilation = (each(v, ndim) for v in (stride, padding, output_padding, dilation))
    x, w = x.astype("f8"), w.astype("f8")
    full = [(n - 1) * s + d * (t - 1) + 1 + e for n, s, d, t, e in zip(x.shape[2:], stride, dilation, w.shape[2:], extra)]
    inputs = x.reshape(x.shape[0], groups, -1, *x.shape[2:])
    weights = w.reshape(groups, -1, *w.shape[1:])
    y = np.zeros((x.shape[0], groups, w.shape[1], *full))
    for tap in itertools.product(*(range(t) for t in w.shape[2:])):
        at = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, x.shape[2:], stride))
        y[(slice(None),) * 3 + at] += np.einsum("ngc...,gck->ngk...", inputs, weights[(slice(None),) * 3 + tap])
    y = y.reshape(y.shape[0], -1, *full)
    y = y[(slice(None), slice(None)) + tuple(slice(p, n - p) for p, n in zip(padding, full))]
    return y if bias is None else y + bias.astype("f8").reshape(1, -1, *(1,) * ndim)


GEOMETRIES = [
    (1, (2, 4, 9), (6, 4, 3), {}),
    (1, (1, 4, 9), (6, 2, 3), {"stride": 2, "padding": 2, "groups": 2}),
    (2, (2, 3, 8, 7), (5, 3, 3, 2), {"padding": (1, 0), "dilation": (2, 1)}),
    (2, (3, 8, 6, 6), (8, 1, 3, 3), {"padding": 1, "groups": 8}),
    (2, (2, 3, 9, 9), (4, 3, 1, 1), {"stride": 3}),
    (3, (2, 2, 5, 6, 4), (3, 2, 2, 3, 1), {"stride": (1, 2, 1), "padding": (1, 1, 0)}),
]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("ndim", "shape", "kernel", "words"), GEOMETRIES)
def test_convolution(dtype, ndim, shape, kernel, words):
    x, w, b = integers(dtype, *shape), integers(dtype, *kernel, seed=4), integers(dtype, kernel[0], seed=5)
    y = getattr(F, f"conv{ndim}d")(x, w, b, **words)
    assert y.dtype == x.dtype and isinstance(y, np.ndarray)
    np.testing.assert_array_equal(y, reference(x, w, b, **words))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("ndim", "shape", "kernel", "words"), GEOMETRIES)
def test_gradients(dtype, ndim, shape, kernel, words):
    x, w = integers(dtype, *shape), integers(dtype, *kernel, seed=4)
    g = integers(dtype, *reference(x, w, **words).shape, seed=6)
    dx = getattr(grad, f"conv{ndim}d_input")(x.shape, w, g, **words)
    dw = getattr(grad, f"conv{ndim}d_weight")(x, w.shape, g, **words)
    # Both are linear, so that inner products with the basis give every element.
    for gradient, values, other in ((dx, x, lambda e: reference(e, w, **words)), (dw, w, lambda e: reference(x, e, **words))):
        assert gradient.shape == values.shape and gradient.dtype == values.dtype
        for index in list(np.ndindex(*values.shape))[:: max(1, values.size // 40)]:
            basis = np.zeros(values.shape)
            basis[index] = 1
            assert gradient[index] == (other(basis) * g.astype("f8")).sum()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("shape", "kernel", "words"),
    [
        ((2, 4, 5), (4, 3, 3), {}),
        ((2, 4, 5, 6), (4, 2, 3, 2), {"stride": (2, 3), "padding": 1, "output_padding": (1, 2), "groups": 2, "dilation": (1, 2)}),
        ((1, 2, 3, 4, 3), (2, 2, 2, 2, 2), {"stride": 2}),
    ],
)
def test_transposed(dtype, shape, kernel, words):
    ndim = len(shape) - 2
    x, w = integers(dtype, *shape), integers(dtype, *kernel, seed=4)
    b = integers(dtype, kernel[1] * words.get("groups", 1), seed=5)
    y = getattr(F, f"conv_transpose{ndim}d")(x, w, b, **words)
    np.testing.assert_array_equal(y, transposed_reference(x, w, b, **words))


def test_layouts_and_out():
    x, w = integers("f4", 2, 5, 7, 6), integers("f4", 4, 5, 3, 3, seed=4)
    wanted = reference(x, w, padding=1)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    out = np.empty((2, 7, 6, 4), "f4").transpose(0, 3, 1, 2)
    assert F.conv2d(last, w, padding=1, out=out) is out
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(F.conv2d(x[:, :, ::-1], w, padding=1), reference(x[:, :, ::-1], w, padding=1))
    np.testing.assert_array_equal(F.conv2d(x[0], w, padding="same"), wanted[0])
    np.testing.assert_array_equal(F.conv2d(x, w, padding="valid"), reference(x, w))
    assert F.conv2d(x[:0], w).shape == (0, 4, 5, 4)


def test_the_result_has_the_layout_of_the_image():
    x, w = integers("f4", 2, 5, 7, 6), integers("f4", 4, 5, 3, 3, seed=4)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    for image in (x, last):
        y = F.conv2d(image, w, padding=(1, 1))
        assert y.shape == (2, 4, 7, 6)
        np.testing.assert_array_equal(y, reference(x, w, padding=1))
        assert y.flags.c_contiguous == (image is x)
        assert y.transpose(0, 2, 3, 1).flags.c_contiguous == (image is last)
    dx = grad.conv2d_input(x.shape, w, np.ascontiguousarray(y.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2), padding=1)
    assert dx.transpose(0, 2, 3, 1).flags.c_contiguous
    assert grad.conv2d_weight(last, w.shape, y, padding=1).flags.c_contiguous


def test_errors_name_both_sizes():
    x, w = np.zeros((1, 4, 5, 5), "f4"), np.zeros((2, 3, 3, 3), "f4")
    with pytest.raises(ValueError, match="input has 4 channels.*needs 3"):
        F.conv2d(x, w)
    with pytest.raises(ValueError, match="kernel spans 9 elements.*which has 5"):
        F.conv2d(x, np.zeros((2, 4, 9, 9), "f4"))
    with pytest.raises(ValueError, match="'same' needs stride 1"):
        F.conv2d(x, np.zeros((2, 4, 3, 3), "f4"), stride=2, padding="same")
    with pytest.raises(TypeError, match="weight is f64.*f32"):
        F.conv2d(x, np.zeros((2, 4, 3, 3)))


def test_explain_and_settings():
    x, w = integers("f4", 1, 8, 9, 9), integers("f4", 8, 8, 3, 3, seed=4)
    explanation = bp.explain(F.conv2d, x, w, padding=1, settings={"conv.preferred": "native:direct"})
    assert "native" in str(explanation) and "direct" in str(explanation)
    with bp.flags(**{"conv.preferred": "native:implicit"}):
        np.testing.assert_array_equal(F.conv2d(x, w, padding=1), reference(x, w, padding=1))
    assert bp.last_plan().algorithm.startswith("implicit gemm")


def test_deterministic_bits():
    x = np.random.default_rng(1).standard_normal((5, 13, 17, 11), "f4")
    w = np.random.default_rng(2).standard_normal((9, 13, 3, 3), "f4")
    first = None
    for threads in (1, 2, 3, 7):
        y = F.conv2d(x, w, padding=1, settings={"num_threads": threads, "deterministic": "threads"})
        first = y if first is None else first
        np.testing.assert_array_equal(y, first)
    places = [3, 1, 4, 0, 2]
    np.testing.assert_array_equal(F.conv2d(x[places], w, padding=1, settings={"deterministic": "threads"}), first[places])


@pytest.mark.parametrize("algorithm", ["implicit", "winograd"])
def test_an_item_is_as_alone(algorithm):
    """For one algorithm: the choice may depend on the size of the batch."""
    x = np.random.default_rng(1).standard_normal((5, 13, 17, 11), "f4")
    w = np.random.default_rng(2).standard_normal((9, 13, 3, 3), "f4")
    settings = {"deterministic": "threads", "conv.preferred": f"native:{algorithm}"}
    together = F.conv2d(x, w, padding=1, settings=settings)
    assert bp.last_plan().algorithm.startswith(algorithm)
    alone = [F.conv2d(x[i : i + 1], w, padding=1, settings=settings) for i in range(5)]
    np.testing.assert_array_equal(np.concatenate(alone), together)


@pytest.mark.parametrize(("ndim", "shape", "kernel", "words"), GEOMETRIES)
def test_like_torch(ndim, shape, kernel, words):
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        pytest.skip("torch is not installed")
    x = torch.from_numpy(integers("f4", *shape))
    w = torch.from_numpy(integers("f4", *kernel, seed=4))
    ours = getattr(F, f"conv{ndim}d")(x, w, **words)
    assert isinstance(ours, torch.Tensor)
    assert torch.equal(ours, getattr(torch.nn.functional, f"conv{ndim}d")(x, w, **words))


def test_a_transposed_convolution_whose_padding_removes_the_output():
    F = bp.nn.functional
    for kind in ("f2", "f4", "f8"):
        assert F.conv_transpose1d(np.ones((4, 1, 2), kind), np.ones((1, 3, 1), kind), np.ones(3, kind), padding=1).shape == (4, 3, 0)
        found = F.conv_transpose2d(np.ones((1, 2, 2), kind), np.ones((1, 3, 1, 2), kind), padding=(1, 0))
        assert found.shape == (3, 0, 3) and found.dtype == kind and bp.last_plan() is None
    out = np.empty((1, 3, 0))
    assert F.conv_transpose1d(np.ones((1, 1, 2)), np.ones((1, 3, 1)), padding=1, out=out) is out
    for words, bias, match in (({"padding": 2}, None, "removes 4 of the 2"), ({"padding": 1}, np.ones(4), "bias has shape")):
        with pytest.raises(ValueError, match=match):
            F.conv_transpose1d(np.ones((1, 1, 2)), np.ones((1, 3, 1)), bias, **words)
    with pytest.raises(bp.Error, match="nothing to plan"):
        bp.explain(F.conv_transpose1d, np.ones((1, 1, 2)), np.ones((1, 3, 1)), padding=1)


@pytest.mark.parametrize("two", [2, np.int64(2), np.array(2), (2,), [2, 2], np.array([2, 2]), range(2, 3)])
def test_a_number_for_each_dimension(two):
    x, w = integers("f4", 1, 1, 7, 8), integers("f4", 1, 1, 2, 3)
    for name in ("stride", "padding", "dilation"):
        np.testing.assert_array_equal(F.conv2d(x, w, **{name: two}), F.conv2d(x, w, **{name: (2, 2)}))
    np.testing.assert_array_equal(F.max_pool2d(x, two), F.max_pool2d(x, (2, 2), stride=()))
    np.testing.assert_array_equal(F.adaptive_avg_pool2d(x, two), F.adaptive_avg_pool2d(x, (2, 2)))
    np.testing.assert_array_equal(F.adaptive_avg_pool2d(x, (None, 2)), F.adaptive_avg_pool2d(x, (7, 2)))
    np.testing.assert_array_equal(F.adaptive_avg_pool2d(x, [None]), x)


@pytest.mark.parametrize(("wrong", "error", "match"), [
    (None, bp.BadTypeError, "expects a whole number or a tuple of them, but got None"), (1.5, bp.BadTypeError, "got 1.5"),
    ("2", bp.BadTypeError, "takes whole numbers"), ((1, None), bp.BadTypeError, "takes whole numbers"),
    ((), bp.BadValueError, "has 0 numbers"), ((1, 2, 3), bp.BadValueError, "has 3 numbers; one, or one for each of 2 dimensions"),
    (1 << 70, bp.BadValueError, "takes numbers of 64 bits"), ((1,) * 70, bp.BadValueError, "has 70 numbers")])
def test_what_is_no_number_for_each_dimension(wrong, error, match):
    x, w = np.ones((1, 1, 4, 4)), np.ones((1, 1, 2, 2))
    for name in ("stride", "dilation"):
        with pytest.raises(error, match=f"{name}: .*{match}"):
            F.conv2d(x, w, **{name: wrong})
    with pytest.raises(error, match=f"kernel_size: .*{match}"):
        F.max_pool2d(x, wrong)
