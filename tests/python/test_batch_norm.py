"""Batch normalization and its gradients against NumPy, and against PyTorch if it is installed."""

import importlib

import numpy as np
import pytest

import backplane as bp
from backplane.nn import functional as F
from backplane.nn import grad

SHAPES = [(40, 7), (3, 5, 11), (2, 20, 6, 5), (2, 3, 4, 3, 5)]


def draw(*shape, dtype="f8", seed=4):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def column(values, x):
    return values.reshape(1, -1, *(1,) * (x.ndim - 2))


def axes(x):
    return tuple(d for d in range(x.ndim) if d != 1)


@pytest.mark.parametrize("shape", SHAPES)
def test_inference(shape):
    x, c = draw(*shape), shape[1]
    mean, var, weight, bias = draw(c, seed=1), draw(c, seed=2) ** 2, draw(c, seed=3), draw(c, seed=5)
    wanted = (x - column(mean, x)) / np.sqrt(column(var, x) + 1e-5)
    np.testing.assert_allclose(F.batch_norm(x, mean, var), wanted, rtol=1e-12, atol=1e-12)
    wanted = wanted * column(weight, x) + column(bias, x)
    np.testing.assert_allclose(F.batch_norm(x, mean, var, weight, bias), wanted, rtol=1e-12, atol=1e-12)
    got = F.batch_norm(x, mean, var, weight, bias, relu=True)
    np.testing.assert_allclose(got, np.maximum(wanted, 0), rtol=1e-12, atol=1e-12)
    out = np.empty_like(x)
    assert F.batch_norm(x, mean, var, weight, bias, out=out) is out
    np.testing.assert_allclose(out, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_training(shape):
    x, c = draw(*shape) + 3, shape[1]
    running_mean, running_var = draw(c, seed=1), draw(c, seed=2) ** 2
    mean, var = x.mean(axes(x)), x.var(axes(x))
    new_mean, new_var = 0.7 * running_mean + 0.3 * mean, 0.7 * running_var + 0.3 * x.var(axes(x), ddof=1)
    wanted = (x - column(mean, x)) / np.sqrt(column(var, x) + 1e-5)
    got = F.batch_norm(x, running_mean, running_var, training=True, momentum=0.3, return_statistics=True)
    np.testing.assert_allclose(got[0], wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(got[1], mean, rtol=1e-13)
    np.testing.assert_allclose(got[2], 1 / np.sqrt(var + 1e-5), rtol=1e-13)
    np.testing.assert_allclose(running_mean, new_mean, rtol=1e-13)
    np.testing.assert_allclose(running_var, new_var, rtol=1e-13)
    np.testing.assert_allclose(F.batch_norm(x, None, None, training=True), wanted, rtol=1e-12, atol=1e-12)


def test_mixed_types():
    x = draw(2, 8, 5, 5, dtype="f2")
    mean, var = np.zeros(8, "f4"), np.ones(8, "f4")
    y = F.batch_norm(x, mean, var)
    assert y.dtype == np.float16
    np.testing.assert_allclose(y, x, rtol=2e-3)
    assert F.batch_norm(x, None, None, training=True, return_statistics=True)[1].dtype == np.float32


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("training", [True, False])
def test_gradients(shape, training):
    x, g, c = draw(*shape), draw(*shape, seed=9), shape[1]
    weight, m = draw(c, seed=3), x.size / shape[1]
    mean, var = (x.mean(axes(x)), x.var(axes(x))) if training else (draw(c, seed=1), draw(c, seed=2) ** 2)
    inverse = 1 / np.sqrt(var + 1e-5)
    got = grad.batch_norm_gradients(x, g, weight, mean, inverse if training else var, training)
    hat = (x - column(mean, x)) * column(inverse, x)
    by_weight, by_bias = (g * hat).sum(axes(x)), g.sum(axes(x))
    by_input = g - (column(by_bias, x) + hat * column(by_weight, x)) / m if training else g
    np.testing.assert_allclose(got[0], by_input * column(weight * inverse, x), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(got[1], by_weight, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(got[2], by_bias, rtol=1e-11, atol=1e-11)


def test_refusals():
    x = draw(1, 4)
    with pytest.raises(ValueError, match="more than one value per channel"):
        F.batch_norm(x, None, None, training=True)
    with pytest.raises(ValueError, match="are needed unless training is true"):
        F.batch_norm(x, None, None)
    with pytest.raises(ValueError, match=r"running_mean has shape \(3\); it must have shape \(4\)"):
        F.batch_norm(x, np.zeros(3), np.ones(4))
    assert "4 channels of 1 values" in str(bp.explain(F.batch_norm, x, np.zeros(4), np.ones(4)))


@pytest.mark.parametrize("size, gain, by", [(1e-20, 1e25, 1e-25), (1e20, 1e-25, 1e25)])
def test_gradients_whose_scale_is_no_normal_number(size, gain, by):
    """Inverse deviation times weight is infinite in f32, or too small, and the gradient is not."""
    shape = (4, 9, 5, 4)
    x, y = (draw(*shape, seed=8) * size).astype("f4"), (draw(*shape, seed=9) * by).astype("f4")
    weight, wide = np.full(9, gain, "f4"), x.astype("f8")
    mean, variance = wide.mean(axes(x), keepdims=True), wide.var(axes(x), keepdims=True)
    inverse = 1 / np.sqrt(variance)
    inputs = (wide - mean) * inverse
    wanted = y - y.mean(axes(x), dtype="f8", keepdims=True) - inputs * (y * inputs).mean(axes(x), keepdims=True)
    wanted = wanted * inverse * np.float64(weight[0])
    for of in (lambda a: a, lambda a: np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1)):
        got = grad.batch_norm_gradients(of(x), of(y), weight, mean.ravel().astype("f4"), inverse.ravel().astype("f4"))[0]
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


@pytest.fixture
def torch():
    try:
        return importlib.import_module("torch")
    except ImportError:
        pytest.skip("PyTorch is not installed, so results are compared with NumPy only")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("training", [True, False])
def test_equals_torch(torch, shape, training):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(2))
    mean, var = torch.zeros(shape[1]), torch.ones(shape[1])
    mine = mean.clone(), var.clone()
    weight, bias = torch.linspace(-1, 1, shape[1]), torch.linspace(0, 1, shape[1])
    wanted = torch.nn.functional.batch_norm(x, mean, var, weight, bias, training)
    torch.testing.assert_close(F.batch_norm(x, *mine, weight, bias, training), wanted)
    torch.testing.assert_close(mine[0], mean)
    torch.testing.assert_close(mine[1], var)
