"""Pooling and its gradients against windows of NumPy, and against PyTorch if it is installed."""

import importlib
import itertools
import math

import numpy as np
import pytest

import backplane as bp
from backplane.nn import functional as F
from backplane.nn import grad


def integers(*shape, dtype="f4", seed=5):
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(dtype)


def windows(sizes, kernel, stride, padding, dilation=1, ceil_mode=False):
    """Returns the slices of each window in a padded image, and how many of its elements an average counts."""
    per_dimension = []
    for n in sizes:
        rest = n + 2 * padding - dilation * (kernel - 1) - 1
        count = (math.ceil if ceil_mode else math.floor)(rest / stride) + 1
        count -= ceil_mode and (count - 1) * stride >= n + padding
        starts = [o * stride for o in range(count)]
        per_dimension.append([(slice(s, s + dilation * (kernel - 1) + 1, dilation), min(kernel, n + 2 * padding - s)) for s in starts])
    return per_dimension


def padded(x, padding, value, extra):
    return np.pad(x.astype("f8"), [(0, 0)] * 2 + [(padding, padding + extra)] * (x.ndim - 2), constant_values=value)


def pooled(x, kernel, stride, padding, reduce, value, **geometry):
    per_dimension = windows(x.shape[2:], kernel, stride, padding, **geometry)
    image = padded(x, padding, value, kernel * stride * geometry.get("dilation", 1))
    y = np.empty(x.shape[:2] + tuple(len(w) for w in per_dimension))
    for at in itertools.product(*(range(len(w)) for w in per_dimension)):
        chosen = [w[i] for w, i in zip(per_dimension, at)]
        part = image[(slice(None),) * 2 + tuple(s for s, _ in chosen)].reshape(*x.shape[:2], -1)
        y[(slice(None),) * 2 + at] = reduce(part, math.prod(counted for _, counted in chosen))
    return y


GEOMETRIES = [(2, 2, 0), (3, 2, 1), (3, 1, 1), (2, 3, 1), (4, 3, 2)]
SHAPES = {1: (2, 5, 17), 2: (2, 5, 9, 8), 3: (1, 3, 6, 5, 7)}


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("kernel,stride,padding", GEOMETRIES)
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_maxima(ndim, kernel, stride, padding, ceil_mode):
    x = integers(*SHAPES[ndim])
    for dilation in (1, 2):
        run = getattr(F, f"max_pool{ndim}d")
        got, at = run(x, kernel, stride, padding, dilation, ceil_mode, return_indices=True)
        geometry = {"dilation": dilation, "ceil_mode": ceil_mode}
        wanted = pooled(x, kernel, stride, padding, lambda p, n: p.max(-1), -np.inf, **geometry)
        np.testing.assert_array_equal(got, wanted)
        assert got.dtype == x.dtype and at.dtype == np.int64
        finite = np.isfinite(wanted)
        flat = np.take_along_axis(x.reshape(*x.shape[:2], -1), np.maximum(at, 0).reshape(*x.shape[:2], -1), -1)
        np.testing.assert_array_equal(flat.reshape(at.shape)[finite], wanted[finite])
        np.testing.assert_array_equal(run(x, kernel, stride, padding, dilation, ceil_mode), wanted)


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("kernel,stride,padding", GEOMETRIES)
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_averages(ndim, kernel, stride, padding, ceil_mode):
    x = integers(*SHAPES[ndim], dtype="f8")
    run = getattr(F, f"avg_pool{ndim}d")
    if kernel == 2 and padding == 1 and stride == 3 and not ceil_mode and ndim == 3:
        assert run(x, kernel, stride, padding).shape == (1, 3, 3, 2, 3)
    wanted = pooled(x, kernel, stride, padding, lambda p, n: p.sum(-1) / n, 0, ceil_mode=ceil_mode)
    np.testing.assert_allclose(run(x, kernel, stride, padding, ceil_mode), wanted, rtol=1e-14)
    ones = pooled(np.ones_like(x), kernel, stride, padding, lambda p, n: p.sum(-1), 0, ceil_mode=ceil_mode)
    sums = pooled(x, kernel, stride, padding, lambda p, n: p.sum(-1), 0, ceil_mode=ceil_mode)
    np.testing.assert_allclose(run(x, kernel, stride, padding, ceil_mode, False), sums / ones, rtol=1e-14)
    for counts in False, True:  # the divisor replaces the number of elements, however they are counted
        got = run(x, kernel, stride, padding, ceil_mode, counts, divisor_override=3)
        np.testing.assert_allclose(got, sums / 3, rtol=1e-14)


@pytest.mark.parametrize("size", [1, 3, (2, 5), (None, 4), (12, 1)])
def test_adaptive(size):
    x = integers(2, 5, 9, 8, dtype="f8")
    sizes = [n or x.shape[2 + d] for d, n in enumerate(size if isinstance(size, tuple) else (size,) * 2)]
    cuts = [[slice(o * n // s, -(-(o + 1) * n // s)) for o in range(s)] for n, s in zip(x.shape[2:], sizes)]
    parts = [[x[:, :, a, b].reshape(2, 5, -1) for b in cuts[1]] for a in cuts[0]]
    wanted = np.array([[p.max(-1) for p in row] for row in parts]).transpose(2, 3, 0, 1)
    got, at = F.adaptive_max_pool2d(x, size, return_indices=True)
    np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(np.take_along_axis(x.reshape(2, 5, -1), at.reshape(2, 5, -1), -1).reshape(at.shape), wanted)
    means = np.array([[p.mean(-1) for p in row] for row in parts]).transpose(2, 3, 0, 1)
    np.testing.assert_allclose(F.adaptive_avg_pool2d(x, size), means, rtol=1e-13, atol=1e-13)


def dot(a, b):
    return float((np.asarray(a, "f8") * np.asarray(b, "f8")).sum())


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_gradients_are_the_transpose(ndim):
    """Pooling with fixed indices is linear, and its gradient is the transposed map."""
    x = np.random.default_rng(8).permutation(math.prod(SHAPES[ndim])).reshape(SHAPES[ndim]).astype("f8")
    y, at = getattr(F, f"max_pool{ndim}d")(x, 3, 2, 1, return_indices=True)
    g = integers(*y.shape, dtype="f8", seed=6)
    back = getattr(grad, f"max_pool{ndim}d_input")(x.shape, at, g, 3, 2, 1)
    assert back.shape == x.shape and dot(back, x) == pytest.approx(dot(g, y), rel=1e-12)
    y = getattr(F, f"avg_pool{ndim}d")(x, 3, 2, 1, True, False)
    g = integers(*y.shape, dtype="f8", seed=6)
    back = getattr(grad, f"avg_pool{ndim}d_input")(x.shape, g, 3, 2, 1, True, False)
    assert dot(back, x) == pytest.approx(dot(g, y), rel=1e-12)
    y, at = getattr(F, f"adaptive_max_pool{ndim}d")(x, 3, return_indices=True)
    g = integers(*y.shape, dtype="f8", seed=6)
    assert dot(getattr(grad, f"adaptive_max_pool{ndim}d_input")(x.shape, at, g), x) == pytest.approx(dot(g, y), rel=1e-12)
    y = getattr(F, f"adaptive_avg_pool{ndim}d")(x, 3)
    assert dot(getattr(grad, f"adaptive_avg_pool{ndim}d_input")(x.shape, g), x) == pytest.approx(dot(g, y), rel=1e-12)


def test_layouts_and_out():
    x = integers(3, 20, 9, 8)
    last = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    wanted = F.max_pool2d(x, 3, 2)
    np.testing.assert_array_equal(F.max_pool2d(last, 3, 2), wanted)
    np.testing.assert_array_equal(F.max_pool2d(x[:, ::-2], 3, 2), wanted[:, ::-2])
    np.testing.assert_array_equal(F.max_pool2d(x[1], 3, 2), wanted[1])
    out = np.full(wanted.shape, 7, "f4")
    assert F.max_pool2d(x, 3, 2, out=out) is out
    np.testing.assert_array_equal(out, wanted)
    got, at = F.max_pool2d(x, 3, 2, return_indices=True, out=out)
    assert got is out and at.shape == out.shape


def test_types_and_nan():
    x = np.array([[[1, np.nan, 2, -np.inf, -np.inf, 3]]], "f4")
    got, at = F.max_pool1d(x, 2, return_indices=True)
    np.testing.assert_array_equal(got, [[[np.nan, 2, 3]]])
    np.testing.assert_array_equal(at, [[[1, 2, 5]]])
    assert F.avg_pool1d(np.ones((1, 1, 4), "f2"), 2).dtype == np.float16
    assert F.max_pool1d([[1.0, 5.0, 3.0, 2.0]], 2).tolist() == [[5.0, 3.0]]


def test_refusals():
    x = integers(1, 2, 5, 5)
    with pytest.raises(bp.BadValueError, match="divisor_override: must not be 0"):
        F.avg_pool2d(x, 2, divisor_override=0)
    with pytest.raises(bp.BadValueError, match="kernel_size: has 3 numbers"):
        F.max_pool2d(x, (1, 2, 3))
    with pytest.raises(ValueError, match="at most half of the kernel's span, which is 2"):
        F.max_pool2d(x, 2, padding=2)
    with pytest.raises(ValueError, match="more than the padded input"):
        F.max_pool2d(x, 6)
    with pytest.raises(ValueError, match="outside of its channel, which has 25 elements"):
        grad.max_pool2d_input(x.shape, np.full((1, 2, 2, 2), 25), integers(1, 2, 2, 2), 2)


def test_explanation():
    page = bp.explain(F.max_pool2d, integers(8, 64, 56, 56), 3, 2, 1)
    assert "8 x 64x56x56 to 28x28, kernel 3x3, stride 2x2, padding 1x1" in str(page)


@pytest.fixture
def torch():
    try:
        return importlib.import_module("torch")
    except ImportError:
        pytest.skip("PyTorch is not installed, so results are compared with NumPy only")


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("kernel,stride,padding", GEOMETRIES)
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_equals_torch(torch, ndim, kernel, stride, padding, ceil_mode):
    x = torch.randn(SHAPES[ndim], generator=torch.Generator().manual_seed(2))
    T = torch.nn.functional
    wanted = getattr(T, f"max_pool{ndim}d")(x, kernel, stride, padding, 1, ceil_mode, return_indices=True)
    got = getattr(F, f"max_pool{ndim}d")(x, kernel, stride, padding, 1, ceil_mode, return_indices=True)
    assert torch.equal(got[0], wanted[0]) and torch.equal(got[1], wanted[1])
    for include in (False, True):
        a = getattr(F, f"avg_pool{ndim}d")(x, kernel, stride, padding, ceil_mode, include)
        torch.testing.assert_close(a, getattr(T, f"avg_pool{ndim}d")(x, kernel, stride, padding, ceil_mode, include))
    wanted = getattr(T, f"adaptive_max_pool{ndim}d")(x, stride + 1, return_indices=True)
    got = getattr(F, f"adaptive_max_pool{ndim}d")(x, stride + 1, return_indices=True)
    assert torch.equal(got[0], wanted[0]) and torch.equal(got[1], wanted[1])
    torch.testing.assert_close(getattr(F, f"adaptive_avg_pool{ndim}d")(x, 4), getattr(T, f"adaptive_avg_pool{ndim}d")(x, 4))
    x.requires_grad_()
    y = getattr(T, f"max_pool{ndim}d")(x, kernel, stride, padding)
    g = torch.randn(y.shape, generator=torch.Generator().manual_seed(3))
    (wanted,) = torch.autograd.grad(y, x, g)
    at = getattr(F, f"max_pool{ndim}d")(x.detach(), kernel, stride, padding, return_indices=True)[1]
    torch.testing.assert_close(getattr(grad, f"max_pool{ndim}d_input")(tuple(x.shape), at, g, kernel, stride, padding), wanted)
    y = getattr(T, f"avg_pool{ndim}d")(x, kernel, stride, padding)
    (wanted,) = torch.autograd.grad(y, x, g)
    torch.testing.assert_close(getattr(grad, f"avg_pool{ndim}d_input")(tuple(x.shape), g, kernel, stride, padding), wanted)
