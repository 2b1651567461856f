"""linear() and its gradients, against NumPy in f64."""

import numpy as np
import pytest

import backplane as bp
from backplane.nn import functional as F
from backplane.nn import grad


def whole(*shape, dtype="f4", seed=0):
    return np.random.default_rng(seed).integers(-5, 6, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("leading", [(), (1,), (7,), (2, 3), (2, 0, 3), (2, 3, 1, 4)])
def test_results(dtype, leading):
    x, w, b = whole(*leading, 6, dtype=dtype), whole(5, 6, dtype=dtype, seed=1), whole(5, dtype=dtype, seed=2)
    wanted = x.astype("f8") @ w.astype("f8").T
    for bias in (None, b):
        exact = wanted if bias is None else wanted + bias
        for activation in (None, "relu", "negative", "gelu", "silu"):
            y = F.linear(x, w, bias, activation=activation)
            assert y.dtype == x.dtype
            plain = F.linear(x, w, bias)
            np.testing.assert_array_equal(plain, exact)
            after = {None: lambda z: z, "negative": np.negative}.get(activation) or getattr(F, activation)
            np.testing.assert_array_equal(y, after(plain))
    out = np.full((*leading, 5), 9, dtype)
    assert F.linear(x, w, b, out=out) is out
    np.testing.assert_array_equal(out, wanted + b)


def test_layouts():
    x, w = whole(4, 3, 8).transpose(1, 0, 2)[:, :, ::2], whole(4, 5, seed=3).T
    np.testing.assert_array_equal(F.linear(x, w), x @ w.T)
    out = np.zeros((5, 4, 3), "f4").transpose(2, 1, 0)
    F.linear(x, w, out=out)
    np.testing.assert_array_equal(out, x @ w.T)


def test_gradients():
    x, w, g = whole(2, 3, 6), whole(5, 6, seed=1), whole(2, 3, 5, seed=4)
    np.testing.assert_array_equal(grad.linear_input(w, g), g @ w)
    by_weight = np.einsum("abo,abi->oi", g, x)
    np.testing.assert_array_equal(grad.linear_weight(x, g), by_weight)
    both = grad.linear_weight(x, g, bias=True)
    np.testing.assert_array_equal(both[0], by_weight)
    np.testing.assert_array_equal(both[1], g.sum((0, 1)))


def test_settings_and_explanation():
    x, w = whole(9, 6), whole(5, 6, seed=1)
    explanation = bp.explain(F.linear, x, w, settings={"conv.preferred": "native:implicit"})
    assert "implicit gemm" in str(explanation)
    F.linear(x, w, settings={"conv.preferred": "native:implicit"})
    assert bp.last_plan().algorithm.startswith("implicit gemm")


def test_refusals():
    with pytest.raises(ValueError, match="activation 'gelo' is unknown"):
        F.linear(whole(9, 6), whole(5, 6), activation="gelo")
    for weight in (whole(1, 6)[0], whole(1, 6)[:0]):  # these are products, and nothing is written before all is known to be right
        out, bias = np.full((9, *weight.shape[:-1]), 7, "f4"), np.ones((2, 2, 2), "f4")
        for wrong in ({"activation": "gelo"}, {"bias": bias}, {"bias": bias, "activation": "relu"}):
            with pytest.raises(ValueError):
                F.linear(whole(9, 6), weight, out=out, **wrong)
            assert (out == 7).all()
    x, w = whole(9, 6), whole(5, 6, seed=1)
    for again in range(2):
        with pytest.raises(ValueError, match="a row of input has 6 elements, a row of weight 7"):
            F.linear(x, whole(5, 7))
        with pytest.raises(ValueError, match="weight has 3 dimensions; it must have 2"):
            F.linear(x, whole(2, 3, 6))
        with pytest.raises(TypeError):
            F.linear(x, whole(6).astype("f8"))
        with pytest.raises(ValueError, match="bias has 4 elements, weight has 5 rows"):
            F.linear(x, w, whole(4))
        with pytest.raises(ValueError, match=r"output has shape \(9, 4\); it must have shape \(9, 5\)"):
            F.linear(x, w, out=np.zeros((9, 4), "f4"))
        with pytest.raises(TypeError, match="weight"):
            F.linear(x, w.astype("f8"))
        with pytest.raises(ValueError, match="input has 0 dimensions"):
            F.linear(np.float32(3), w)
        with pytest.raises(ValueError):
            grad.linear_weight(x, whole(8, 5))


@pytest.mark.parametrize("kind", ["float32", "float64", "float16"])
def test_gradients_of_weights_without_elements_or_with_one_dimension(kind):
    rng = np.random.default_rng(0)
    for rows in ((), (4,), (2, 3), (0,), (2, 0)):
        for features, outputs in ((0, 3), (3, 0), (0, 0), (3, None), (1, None), (0, None)):
            out = () if outputs is None else (outputs,)
            x, weight, dy = (rng.standard_normal(shape).astype(kind) for shape in ((*rows, features), (*out, features), (*rows, *out)))
            flat_x, flat_dy = x.reshape(np.prod(rows, dtype=int), features), dy.reshape(np.prod(rows, dtype=int), outputs or (0 if out else 1))
            want_x = (flat_dy @ weight.reshape(-1 if features else len(flat_dy.T), features)).reshape(x.shape)
            want_weight = (flat_dy.T @ flat_x).reshape(weight.shape)
            got_x, (got_weight, got_bias) = grad.linear_input(weight, dy), grad.linear_weight(x, dy, bias=True)
            for got, want in ((got_x, want_x), (got_weight, want_weight), (got_bias, flat_dy.sum(0).reshape(out)),
                              (grad.linear_weight(x, dy), want_weight)):
                assert got.dtype == kind and got.shape == want.shape and np.allclose(got, want, rtol=1e-2, atol=1e-2)
            assert bp.nn.functional.linear(x, weight).shape == dy.shape
    assert type(grad.linear_input(bp.zeros(3, 0), bp.ones(2, 3))) is bp.Tensor
    assert "f64" in bp.explain(grad.linear_input, np.ones(3), np.ones(2)).problem
    for wrong in (lambda: grad.linear_input(np.ones((0, 3)), np.ones((2, 1))), lambda: grad.linear_weight(np.ones((2, 0)), np.ones((3, 3))),
                  lambda: grad.linear_weight(np.ones((2, 3)), np.ones(3))):
        with pytest.raises(ValueError):
            wrong()
