"""Reductions, softmax, and layer, RMS and group normalization against NumPy in f64."""

import numpy as np
import pytest

import backplane as bp
from backplane import reduce
from backplane.nn import functional as F
from backplane.nn import grad

EPS = {"f2": 2.0**-11, "f4": 2.0**-24, "f8": 2.0**-53}


def draw(*shape, dtype="f8", seed=4):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(got, want, scale=8, size=1.0):
    """Compares with a bound of `scale` units of rounding of the numbers' size."""
    assert got.shape == want.shape
    eps = EPS[got.dtype.str[1:]]
    assert np.all(np.abs(got.astype("f8") - want) <= scale * eps * (np.abs(want) + size))


# ---- Reductions ----


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (1, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(dtype, axis, keepdims):
    x = (draw(5, 6, 7) * 10).astype(dtype)
    x = x.transpose(2, 0, 1)[:, ::2, ::-1]
    floating = dtype.startswith("f")
    wide = x.astype("f8") if floating else x
    for name in ("sum", "prod", "max", "min"):
        got = getattr(reduce, name)(x if name != "prod" else np.sign(x), axis=axis, keepdims=keepdims)
        want = getattr(np, name)(wide if name != "prod" else np.sign(wide), axis=axis, keepdims=keepdims)
        assert type(got) is np.ndarray
        if floating:
            close(got, want, 2, np.abs(wide).sum() if dtype == "f8" else 0)
            assert got.dtype == x.dtype
        else:
            np.testing.assert_array_equal(got, want)
            assert got.dtype == (np.int64 if name in ("sum", "prod") else x.dtype)
    close(reduce.mean(x, axis=axis, keepdims=keepdims), wide.mean(axis=axis, keepdims=keepdims), 4, 10)
    if not isinstance(axis, tuple):
        for name in ("argmax", "argmin"):
            got = getattr(reduce, name)(x, axis=axis, keepdims=keepdims)
            want = getattr(np, name)(x, axis=axis, keepdims=keepdims)
            np.testing.assert_array_equal(got, want)
            assert got.dtype == np.int64


def test_reduction_of_other_types():
    assert reduce.sum([1, 2, 3]) == 6
    assert reduce.sum(np.array([True, True, False])) == 2
    assert reduce.prod(np.array([100, 100], dtype="i1")) == 10000
    assert reduce.mean([1, 2]) == 1.5
    assert reduce.sum(np.zeros((0, 3)), axis=0).tolist() == [0, 0, 0]
    assert np.isnan(reduce.mean(np.zeros(0)))
    with pytest.raises(ValueError, match="no elements to compare"):
        reduce.max(np.zeros(0))
    with pytest.raises(TypeError, match="input is u8"):
        reduce.max(np.zeros(3, dtype="u1"))
    with pytest.raises(ValueError, match="axis 2"):
        reduce.sum(np.zeros((2, 2)), axis=2)
    with pytest.raises(ValueError, match="twice"):
        reduce.sum(np.zeros((2, 2)), axis=(1, -1))


def test_reduction_out_and_explanation():
    x, out = draw(4, 3), np.zeros(4)
    assert reduce.sum(x, axis=1, out=out) is out
    np.testing.assert_allclose(out, x.sum(1))
    assert reduce.argmax(x, out=np.zeros((), "i8")) == x.argmax()
    why = bp.explain(reduce.sum, x, axis=1)
    assert why.problem == "f64 sum of 4 x 3 elements"
    assert why.chosen.accepted
    with pytest.raises(ValueError, match="output has shape"):
        reduce.sum(x, axis=0, out=out)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "i8", "?", "u1", "u8"])
@pytest.mark.parametrize("axis", [None, 0, (0, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_truths(dtype, axis, keepdims):
    draws = np.random.default_rng(3).random((5, 6, 7))
    for name, share in (("any", 0.05), ("all", 0.95)):
        x = (draws < share).astype(dtype).transpose(2, 0, 1)[:, ::2, ::-1]
        got, want = (getattr(of, name)(x, axis=axis, keepdims=keepdims) for of in (reduce, np))
        assert type(got) is np.ndarray and got.dtype == np.bool_
        np.testing.assert_array_equal(got, want)
    assert reduce.any(np.array([0.0, np.nan])) and not reduce.any(np.zeros(0)) and reduce.all(np.zeros(0))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("correction", [0, 1, 2.5])
def test_variances(dtype, axis, correction):
    x = (draw(5, 6, 7) * 10 + 3).astype(dtype).transpose(2, 0, 1)[:, ::2, ::-1]
    for name in ("var", "std"):
        with np.errstate(all="ignore"):
            want = getattr(np, name)(x.astype("f8"), axis=axis, ddof=correction, keepdims=True)
        if correction and axis == ():  # NumPy warns, and so it is NaN: 0 / 0
            assert np.isnan(want).all()
        got = getattr(reduce, name)(x, axis=axis, correction=correction, keepdims=True)
        assert got.dtype == (x.dtype if dtype != "i4" else "f8")
        np.testing.assert_allclose(got, want, 4 * EPS.get(dtype, 2.0**-49) if dtype != "f8" else 1e-13)


def test_variance_has_the_defaults_of_the_array_api():
    assert reduce.var([1.0, 2.0, 6.0]) == np.var([1.0, 2.0, 6.0]) and reduce.std(np.array([1, 3])) == 1
    x = np.array([1e6, 1e6 + 0.5], "f4")
    assert reduce.var(x) == 0.0625 and np.isnan(reduce.var(np.zeros(0))) and np.isposinf(reduce.var([1.0, 2.0], correction=2))
    with pytest.raises(ValueError, match="correction is nan"):
        reduce.var(x, correction=float("nan"))
    out = np.zeros((), "f4")
    assert reduce.std(x, out=out, correction=1) is out and out == np.float32(0.5**0.5 / 2)
    assert bp.explain(reduce.std, x, correction=0.5).problem == "f32 std of 1 x 2 elements, correction 0.5"


# ---- Softmax ----


def softmax(x, dim):
    e = np.exp(x - x.max(dim, keepdims=True))
    return e / e.sum(dim, keepdims=True)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax(dtype, dim):
    x, d = draw(6, 50, 9, dtype=dtype), draw(6, 50, 9, dtype=dtype, seed=5)
    wide = x.astype("f8")
    y, log_y = F.softmax(x, dim), F.log_softmax(x, dim)
    close(y, softmax(wide, dim), 20, 0.01)
    close(log_y, np.log(softmax(wide, dim)), 20, 1)
    z, e = y.astype("f8"), d.astype("f8")
    close(grad.softmax_input(y, d, dim), z * (e - (e * z).sum(dim, keepdims=True)), 20, 0.1)
    z = log_y.astype("f8")
    close(grad.log_softmax_input(log_y, d, dim), e - np.exp(z) * e.sum(dim, keepdims=True), 20, 10)
    same = x.copy()
    assert F.softmax(same, dim, out=same) is same
    np.testing.assert_array_equal(same, y)


def test_softmax_of_special_rows():
    inf, nan = np.inf, np.nan
    x = np.array([[-inf, -inf], [nan, 1], [inf, 0], [1000, 0], [-inf, 0]])
    np.testing.assert_array_equal(F.softmax(x, 1), [[nan, nan], [nan, nan], [nan, nan], [1, 0], [0, 1]])
    np.testing.assert_array_equal(F.log_softmax(x, 1)[3:], [[0, -1000], [-inf, 0]])
    with pytest.raises(ValueError, match="axis 2"):
        F.softmax(x, 2)
    assert bp.explain(F.log_softmax, x, 1).problem == "f64 log_softmax of 5 x 2 elements"
    assert "gradient" in bp.explain(grad.softmax_input, x, x, 1).problem


# ---- Normalization ----


def normalize(x, axes, eps, mean=True):
    center = x.mean(axes, keepdims=True) if mean else 0
    return (x - center) / np.sqrt(((x - center) ** 2).mean(axes, keepdims=True) + eps)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [9, (9,), (5, 9), (6, 5, 9)])
def test_layer_norm(dtype, shape):
    sizes = (shape,) if isinstance(shape, int) else shape
    axes = tuple(range(-len(sizes), 0))
    x, weight, bias = draw(6, 5, 9, dtype=dtype), draw(*sizes, dtype=dtype, seed=1), draw(*sizes, dtype=dtype, seed=2)
    w, b, wide = (a.astype("f8") for a in (weight, bias, x))
    close(F.layer_norm(x, shape), normalize(wide, axes, 1e-5))
    close(F.layer_norm(x, shape, weight, bias, 0.5), normalize(wide, axes, 0.5) * w + b)
    close(F.layer_norm(x, shape, bias=bias), normalize(wide, axes, 1e-5) + b)
    close(F.rms_norm(x, shape, weight, 0.5), normalize(wide, axes, 0.5, False) * w)
    eps = np.finfo("f4" if dtype == "f2" else dtype).eps  # of the type of the computation
    close(F.rms_norm(x, shape), normalize(wide, axes, eps, False))
    small = (x * 2**-9).astype(dtype)  # eps decides the result
    close(F.rms_norm(small, shape), normalize(small.astype("f8"), axes, eps, False))
    y, mean, inverse_std = F.layer_norm(x, shape, return_statistics=True)
    assert mean.shape == inverse_std.shape == x.shape[: 3 - len(sizes)]
    close(mean, wide.mean(axes))
    y, inverse_rms = F.rms_norm(x, shape, return_statistics=True, eps=0.5)
    close(inverse_rms, 1 / np.sqrt((wide**2).mean(axes) + 0.5))


def test_group_and_instance_norm():
    x, weight, bias = draw(3, 6, 5, 4), draw(6, seed=1), draw(6, seed=2)
    w, b = weight.reshape(6, 1, 1), bias.reshape(6, 1, 1)
    groups = normalize(x.reshape(3, 2, 3, 5, 4), (2, 3, 4), 1e-5).reshape(x.shape)
    close(F.group_norm(x, 2, weight, bias), groups * w + b)
    close(F.group_norm(np.asfortranarray(x), 2), groups)
    close(F.instance_norm(x, weight=weight, bias=bias), normalize(x, (2, 3), 1e-5) * w + b)
    with pytest.raises(ValueError, match="multiple of 4 groups"):
        F.group_norm(x, 4)
    with pytest.raises(ValueError, match="at least 1"):
        F.group_norm(x, 0)
    with pytest.raises(ValueError, match="running statistics"):
        F.instance_norm(x, np.zeros(6), np.ones(6))


def differences(function, at, d, h=2.0**-17):
    """The gradient of the sum of function() * d by the array, by differences."""
    result = np.zeros_like(at)
    for i in np.ndindex(at.shape):
        kept = at[i]
        at[i] = kept + h
        above = (function() * d).sum()
        at[i] = kept - h
        below = (function() * d).sum()
        at[i] = kept
        result[i] = (above - below) / (2 * h)
    return result


@pytest.mark.parametrize("statistics", [False, True])
def test_gradients(statistics):
    x, d, weight, bias = draw(3, 4, 5), draw(3, 4, 5, seed=6), draw(4, 5, seed=1), draw(4, 5, seed=2)

    def layer():
        return F.layer_norm(x, (4, 5), weight, bias, 0.1)

    mean, inverse_std = F.layer_norm(x, (4, 5), eps=0.1, return_statistics=True)[1:]
    found = dict(mean=mean, inverse_std=inverse_std) if statistics else {}
    for got, at in zip(grad.layer_norm_gradients(x, d, (4, 5), weight, 0.1, **found), (x, weight, bias)):
        np.testing.assert_allclose(got, differences(layer, at, d), atol=1e-8)
    inverse_rms = F.rms_norm(x, (4, 5), eps=0.1, return_statistics=True)[1]
    found = dict(inverse_std=inverse_rms) if statistics else {}
    results = grad.rms_norm_gradients(x, d, (4, 5), weight, 0.1, **found)
    assert len(results) == 2
    for got, at in zip(results, (x, weight)):
        np.testing.assert_allclose(got, differences(lambda: F.rms_norm(x, (4, 5), weight, 0.1), at, d), atol=1e-8)
    weight, bias = draw(4, seed=1), draw(4, seed=2)
    mean, inverse_std = F.group_norm(x, 2, eps=0.1, return_statistics=True)[1:]
    found = dict(mean=mean, inverse_std=inverse_std) if statistics else {}
    for got, at in zip(grad.group_norm_gradients(x, d, 2, weight, 0.1, **found), (x, weight, bias)):
        np.testing.assert_allclose(got, differences(lambda: F.group_norm(x, 2, weight, bias, 0.1), at, d), atol=1e-8)


def test_refused_normalizations():
    x = draw(3, 4)
    with pytest.raises(ValueError, match="normalized_shape"):
        F.layer_norm(x, 3)
    with pytest.raises(ValueError, match="normalized_shape"):
        F.layer_norm(x, (2, 3, 4))
    with pytest.raises(ValueError, match="normalized_shape"):
        F.layer_norm(x, ())
    with pytest.raises(ValueError, match="eps"):
        F.layer_norm(x, 4, eps=-1)
    with pytest.raises(ValueError, match="weight has shape"):
        F.layer_norm(x, 4, np.ones(3))
    with pytest.raises(TypeError, match="weight is f32"):
        F.layer_norm(x, 4, np.ones(4, "f4"))
    out = np.zeros_like(x)
    assert F.layer_norm(x, 4, out=out) is out
    assert bp.explain(F.layer_norm, x, 4).problem == "f64 3 rows of 4 elements"
    assert bp.explain(grad.rms_norm_gradients, x, x, 4).problem == "f64 3 rows of 4 elements, mean 0"


# ---- Other types ----


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "i1", "u1", "f2"])
@pytest.mark.parametrize("given", ["f4", "f8", "i4", "i1", "bool", "u2"])
def test_dtype_of_sums(dtype, given):
    x = (np.abs(draw(4, 5)) * 3).astype(given)
    for name in ("sum", "prod") if dtype[0] in "iu" else ("sum", "prod", "mean"):
        got = getattr(reduce, name)(x, axis=1, dtype=np.dtype(dtype))
        wide = x.astype(dtype).astype("f8" if dtype[0] == "f" else "i8")
        want = getattr(wide, name)(axis=1)
        assert got.dtype == np.dtype(dtype) and got.shape == (4,)
        if dtype[0] == "f":
            close(got, want, 8, 0 if name == "prod" else np.abs(wide).sum())
        else:
            np.testing.assert_array_equal(got, want.astype(dtype))
    assert isinstance(reduce.sum(bp.zeros(2, dtype="i32"), dtype=bp.float32), bp.Tensor)
    assert reduce.sum(bp.zeros(2, dtype="i32"), dtype=bp.float32).dtype == "f32"


def test_dtype_of_sums_is_refused():
    x = draw(3)
    for wrong in (lambda: reduce.mean(x, dtype="int32"), lambda: reduce.sum(x, dtype="f8"), lambda: reduce.max(x, dtype="float32")):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ValueError):
        reduce.sum(x, dtype="int32", out=np.empty((), "i4"))
    out = np.empty((), "f4")
    assert reduce.sum(x, dtype="float32", out=out) is out and abs(out - x.sum()) < 1e-5
    assert bp.explain(reduce.sum, x, dtype="float32").problem == "f32 sum of 1 x 3 elements"


@pytest.mark.parametrize("given, dtype", [("f2", "f4"), ("f4", "f8"), ("f8", "f4"), ("i4", "f4"), ("bool", "f8")])
def test_dtype_of_softmax(given, dtype):
    x = (draw(4, 5) * 3).astype(given)
    for call in (F.softmax, F.log_softmax):
        got = call(x, 1, dtype=np.dtype(dtype))
        assert got.dtype == np.dtype(dtype) and got.tobytes() == call(x.astype(dtype), 1).tobytes()
        with pytest.raises(TypeError):
            call(x, 1, dtype="int32")
    assert bp.compile(lambda a: F.softmax(a, 1, dtype="float64"))(x).tobytes() == F.softmax(x, 1, dtype="float64").tobytes()
    assert bp.compile(lambda a: reduce.sum(a, dtype="float64"))(x).tobytes() == reduce.sum(x, dtype="float64").tobytes()
