"""Operations on single elements against NumPy: functions, types, indices, concatenation, activations, and what is refused."""

import math

import numpy as np
import pytest

import backplane as bp
import backplane.nn.functional as F
from backplane import elementwise as ew

rng = np.random.default_rng(5)
ERF = np.vectorize(math.erf, otypes=[np.float64])
UNARY = {
    "abs": np.abs, "exp": np.exp, "log": np.log, "negative": np.negative, "sqrt": np.sqrt, "tanh": np.tanh, "floor": np.floor,
    "ceil": np.ceil, "round": np.rint, "trunc": np.trunc, "sign": np.sign, "reciprocal": np.reciprocal,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos, "tan": np.tan, "erf": ERF, "expm1": np.expm1, "log1p": np.log1p, "log2": np.log2,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "log10": np.log10, "exp2": np.exp2, "erfc": np.vectorize(math.erfc, otypes=[np.float64]),
}
POSITIVE = ("log", "sqrt", "rsqrt", "log1p", "log2", "log10", "reciprocal")
INSIDE = ("asin", "acos", "atanh")
WHOLE = ("abs", "negative", "floor", "ceil", "round", "trunc", "sign")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x / 2 * (1 + ERF(x / math.sqrt(2))),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543773 * np.expm1(x)),
    "logsigmoid": lambda x: -np.log1p(np.exp(-x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "tanhshrink": lambda x: x - np.tanh(x),
}
IN_PLACE = ("relu", "silu", "hardswish", "hardsigmoid", "mish", "selu")


def random(*shape, kind=np.float64):
    return (rng.standard_normal(shape) * 3).astype(kind)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("kind, tolerance", [(np.float64, 1e-15), (np.float32, 3e-7), (np.float16, 1e-3)])
def test_functions_of_one(name, kind, tolerance):
    x = np.abs(random(4, 50, kind=kind)) + kind(0.25) if name in POSITIVE else random(4, 50, kind=kind)
    x = np.tanh(x) * kind(0.99) if name in INSIDE else np.abs(x) + kind(1) if name == "acosh" else np.clip(x, -9, 9)
    for one in (x, x.T, x[::-1, ::3], x[1:1], np.broadcast_to(x[0], (3, 50))):
        found = getattr(ew, name)(one)
        assert found.dtype == kind and found.shape == one.shape
        np.testing.assert_allclose(found.astype(float), UNARY[name](one.astype(float)), 2 * tolerance, tolerance)


@pytest.mark.parametrize("name", UNARY)
def test_integers_stay_or_become_float64(name):
    x = np.arange(1, 6, dtype="i4") - (3 if name in WHOLE else 0)
    found = getattr(ew, name)(x)
    assert found.dtype == (np.int32 if name in WHOLE else np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        np.testing.assert_allclose(found, UNARY[name](x.astype(float)), 1e-15)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int32, np.int64])
def test_functions_of_two(name, kind):
    x, y = random(4, 1, 7, kind=kind), random(3, 1, kind=kind)
    x[x == 0] = y[y == 0] = 1
    for a, b in ((x, y), (y, x), (x.T, x.T), (x, kind(3))):
        found, wanted = getattr(ew, name)(a, b), getattr(np, name)(a, b)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


TRUTHS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor")


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int32, np.int64, np.bool_])
def test_truths_of_two(name, kind):
    x, y = (rng.integers(-2, 3, shape).astype(kind) for shape in ((4, 1, 70), (3, 1)))
    if np.dtype(kind).kind == "f":
        x[0, 0, ::3], y[1] = np.nan, -0.0
    for a, b in ((x, y), (y, x), (x[:, 0].T, x[:, 0].T), (x[::-1, :, ::3], y)):
        found = getattr(ew, name)(a, b)
        assert found.dtype == np.bool_
        np.testing.assert_array_equal(found, getattr(np, name)(a, b))
    np.testing.assert_array_equal(getattr(ew, name)(x, 1), getattr(np, name)(x, 1))


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "logical_not"])
def test_truths_of_one(name):
    x = np.array([0.0, -0.0, 1, np.nan, np.inf, -np.inf] * 7)
    for one in (x, x.astype("f4"), x.astype("f2"), x[::-2], np.arange(3), np.arange(3, dtype="i4"), np.array([True, False])):
        found = getattr(ew, name)(one)
        assert found.dtype == np.bool_
        np.testing.assert_array_equal(found, getattr(np, name)(one))
    with pytest.raises(TypeError, match="bool"):
        getattr(ew, name)(x, out=np.empty_like(x))


def test_types_are_united_by_the_rules_of_numpy():
    x = random(3, kind=np.float32)
    assert ew.add(x, 2).dtype == ew.add(2.5, x).dtype == np.float32
    assert ew.add(x, random(3)).dtype == ew.add(x, np.float64(2)).dtype == np.float64
    assert ew.add(np.arange(3), 2).dtype == np.int64 and ew.add(np.arange(3), 2.5).dtype == np.float64
    assert ew.divide(np.arange(3), 2).tolist() == [0, 0.5, 1] and ew.add([1, 2], [3, 4]).tolist() == [4, 6]
    assert ew.exp([0, 1]).dtype == np.float64 and ew.exp(np.arange(3)).dtype == np.float64
    assert ew.negative(np.arange(3)).dtype == ew.abs([-1]).dtype == np.int64
    assert ew.add(np.arange(3, dtype="i4"), np.arange(3)).dtype == np.int64


def test_nan_is_propagated():
    x, y = np.array([np.nan, 1, np.nan, 2]), np.array([1, np.nan, np.nan, 3])
    np.testing.assert_array_equal(ew.maximum(x, y), np.maximum(x, y))
    np.testing.assert_array_equal(ew.minimum(x, y), np.minimum(x, y))


def test_out():
    x, y = random(3, 4), random(3, 4)
    wanted = x + y
    assert ew.add(x, y, out=x) is x
    np.testing.assert_array_equal(x, wanted)
    assert ew.exp(x, out=x) is x
    np.testing.assert_allclose(x, np.exp(wanted), 1e-15)
    with pytest.raises(bp.Error, match="overlaps"):
        ew.exp(x[1:], out=x[:-1])
    with pytest.raises(ValueError, match="output has shape"):
        ew.exp(x, out=y[0])


@pytest.mark.parametrize("to", ["?", "i1", "u1", "i4", "i8", "f2", "f4", "f8"])
@pytest.mark.parametrize("kind", ["?", "i1", "u1", "i4", "i8", "f2", "f4", "f8"])
def test_conversions(kind, to):
    x = (rng.standard_normal((5, 40)) * 30).astype(kind) if kind != "u1" else rng.integers(0, 127, (5, 40)).astype(kind)
    if to == "u1":
        x = np.abs(x)
    for dtype in (to, np.dtype(to), np.dtype(to).type):
        found = ew.astype(x.T, np.dtype(dtype) if isinstance(dtype, str) else dtype)
        assert found.dtype == to
        np.testing.assert_array_equal(found, x.T.astype(to))


def test_conversions_of_what_does_not_fit():
    x = np.array([np.nan, 1e30, -1e30, -0.9, 255.9, 256])
    assert ew.astype(x, np.uint8).tolist() == [0, 255, 0, 0, 255, 255]
    assert ew.astype(x, np.int32).tolist() == [0, 2**31 - 1, -(2**31), 0, 255, 256]
    assert ew.astype([0.0, 2.5], bool).tolist() == [False, True] and ew.astype([2.5], int).dtype == np.int64
    assert ew.astype(x, "bfloat16").dtype in ("bf16", "bfloat16")  # a Tensor, unless the program has ml_dtypes
    with pytest.raises(TypeError, match="complex64|no element type|is not"):
        ew.astype(x, "complex256")
    with pytest.raises(TypeError):
        ew.astype(x, np.complex64)
    with pytest.raises(TypeError, match="copy"):
        ew.astype(x, np.float32, copy=False)


QUOTIENTS = ("pow", "remainder", "fmod", "floor_divide", "atan2")


@pytest.mark.parametrize("name", QUOTIENTS)
@pytest.mark.parametrize("kind, tolerance", [("f8", 1e-15), ("f4", 4e-7), ("f2", 2e-3)])
def test_quotients_and_powers(name, kind, tolerance):
    x, y = random(4, 1, 70).astype(kind), random(3, 1).astype(kind)
    x = np.abs(x) if name == "pow" else x
    for a, b in ((x, y), (y, x) if name != "pow" else (x, y), (x[::-1, :, ::3], y), (x, 2.5), (x[1:1], y)):
        found = getattr(ew, name)(a, b)
        with np.errstate(over="ignore"):
            wanted = getattr(np, {"pow": "power", "atan2": "arctan2"}.get(name, name))(a, b)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found.astype(float), wanted.astype(float), tolerance)


@pytest.mark.parametrize("kind", ["i4", "i8"])
def test_quotients_and_powers_of_integers(kind):
    x, y = np.array([7, -7, 6, 0, np.iinfo(kind).min], kind), np.array([[3], [-3], [1], [-1], [0]], kind)
    with np.errstate(divide="ignore", over="ignore"):
        for name in ("remainder", "fmod", "floor_divide"):
            found = getattr(ew, name)(x, y)
            assert found.dtype == kind
            np.testing.assert_array_equal(found, getattr(np, name)(x, y))
    np.testing.assert_array_equal(ew.pow(x, np.abs(y)), np.power(x, np.abs(y)))
    np.testing.assert_array_equal(ew.pow(np.array([1, -1, 2, 0], kind), -3), [1, -1, 0, 0])
    np.testing.assert_array_equal(ew.floor_divide(x, 2), x // 2)
    assert ew.atan2(x, y).dtype == np.float64
    np.testing.assert_allclose(ew.atan2(x, y), np.arctan2(x, y), 1e-15)


@pytest.mark.parametrize("kind", ["i4", "i8", "?"])
def test_bits(kind):
    x, y = (rng.integers(0 if kind == "?" else -99, 2 if kind == "?" else 99, shape).astype(kind) for shape in ((4, 1, 70), (3, 1)))
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        np.testing.assert_array_equal(getattr(ew, name)(x, y), getattr(np, name)(x, y))
        assert getattr(ew, name)(x, y).dtype == kind
    np.testing.assert_array_equal(ew.bitwise_invert(x), ~x)
    if kind != "?":
        np.testing.assert_array_equal(ew.bitwise_left_shift(x, 3), x << 3)
        np.testing.assert_array_equal(ew.bitwise_right_shift(x, np.abs(y) % 8), x >> (np.abs(y) % 8))
        np.testing.assert_array_equal(ew.bitwise_right_shift(x, 99), np.where(x < 0, -1, 0))
    with pytest.raises(TypeError, match="input is f64; it must be i32, i64 or bool"):
        ew.bitwise_invert(1.5)
    with pytest.raises(TypeError, match="a is f64; it must be i32, i64 or bool"):
        ew.bitwise_and(x, 1.5) if kind != "?" else ew.bitwise_and(x.astype(float), 1.5)


@pytest.mark.parametrize("kind", ["f4", "f8", "i8", "u1", "?", "c16"])
def test_where(kind):
    rng = np.random.default_rng(3)
    a, b = (100 * rng.random((2, 4, 1, 6))).astype(kind)
    which = rng.random((5, 6)) < 0.5
    got = ew.where(which, a, b)
    assert got.dtype == a.dtype
    np.testing.assert_array_equal(got, np.where(which, a, b))
    np.testing.assert_array_equal(ew.where(which[::-1, ::2], a[..., ::2], b[..., 1::2]), np.where(which[::-1, ::2], a[..., ::2], b[..., 1::2]))
    out = np.broadcast_to(b, (4, 5, 6)).copy()
    assert ew.where(which, a, out, out=out) is out
    np.testing.assert_array_equal(out, got)


def test_where_with_numbers():
    x = np.array([1.0, -2.0, np.nan], np.float32)
    got = ew.where(ew.less(x, 0.0), 0, x)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, [1, 0, np.nan])
    assert ew.where(x > 0, np.float64(1), x.astype("f4")).dtype == np.where(x > 0, np.float64(1), x).dtype
    np.testing.assert_array_equal(ew.where([True, False], [1, 2], [3, 4]), [1, 4])
    assert bp.explain(ew.where, x > 0, x, x).chosen.library == "native"
    own = bp.from_dlpack(np.array([1.0, 2.0]))
    assert isinstance(ew.where([True, False], own, 0.0), bp.Tensor) and isinstance(ew.where([True, False], 0, own), bp.Tensor)
    assert isinstance(ew.where(bp.from_dlpack(np.array([True, False])), [1.0, 2.0], 0.0), np.ndarray)


def test_indices():
    x, at = random(5, 6, 3, kind=np.float32), np.array([[3, 0], [4, 4]])
    for axis in (0, 1, 2, -1, -3):
        index = np.minimum(at, x.shape[axis] - 1)
        for one, where in ((x, index), (x[::-1, :, ::2], np.minimum(index, 1)), (np.asfortranarray(x), index.astype("i4").T)):
            np.testing.assert_array_equal(ew.take(one, where, axis=axis), np.take(one, where, axis))
    np.testing.assert_array_equal(ew.take(x[0, 0], [2, 1]), x[0, 0][[2, 1]])
    index = rng.integers(0, 6, (5, 2, 3))
    np.testing.assert_array_equal(ew.take_along_axis(x, index, axis=1), np.take_along_axis(x, index, 1))
    index = rng.integers(0, 3, (5, 6, 4))
    np.testing.assert_array_equal(ew.take_along_axis(x, index), np.take_along_axis(x, index, -1))


def test_concat():
    a, b = random(2, 3), random(2, 5)
    np.testing.assert_array_equal(ew.concat([a, b, a], axis=1), np.concatenate([a, b, a], 1))
    np.testing.assert_array_equal(ew.concat((a, a[::-1], a[:0])), np.concatenate([a, a[::-1], a[:0]]))
    mask = a > 0
    np.testing.assert_array_equal(ew.concat([mask, mask], axis=-1), np.concatenate([mask, mask], -1))


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("kind, tolerance", [(np.float64, 2e-15), (np.float32, 1e-6), (np.float16, 2e-3)])
def test_activations(name, kind, tolerance):
    x = random(4, 3, 50, kind=kind)
    function = getattr(F, name)
    np.testing.assert_allclose(function(x).astype(float), ACTIVATIONS[name](x.astype(float)), tolerance, tolerance)
    y = x.copy()
    if name in IN_PLACE:
        assert function(y, inplace=True) is y
        with pytest.raises(ValueError, match="inplace"):
            function(y, True, out=x)
    else:
        assert function(y, out=y) is y
    np.testing.assert_array_equal(y, function(x))


NUMBERS = {
    "leaky_relu": (lambda x, slope=0.01: np.where(x > 0, x, slope * x), {"slope": "negative_slope"}, [(), (0.2,), (-3.0,)]),
    "elu": (lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x)), {}, [(), (0.3,)]),
    "celu": (lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x / alpha)), {}, [(), (1.7,)]),
    "hardtanh": (lambda x, min_val=-1.0, max_val=1.0: np.clip(x, min_val, max_val), {}, [(), (-2.0,), (-0.5, 3.0)]),
    "relu6": (lambda x: np.clip(x, 0, 6), {}, [()]),
    "softplus": (
        lambda x, beta=1.0, threshold=20.0: np.where(beta * x > threshold, x, np.log1p(np.exp(beta * x)) / beta), {}, [(), (2.0,), (0.5, 1.0)]),
    "threshold": (lambda x, threshold, value: np.where(x > threshold, x, value), {}, [(0.5, -7.0)]),
    "hardshrink": (lambda x, lambd=0.5: np.where(abs(x) <= lambd, 0, x), {}, [(), (1.5,)]),
    "softshrink": (lambda x, lambd=0.5: np.sign(x) * np.maximum(np.abs(x) - lambd, 0), {}, [(), (1.5,)]),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("kind, tolerance", [(np.float64, 2e-15), (np.float32, 1e-6), (np.float16, 2e-3)])
def test_activations_with_numbers(name, kind, tolerance):
    x = random(4, 3, 50, kind=kind)
    function, (wanted, renamed, all_numbers) = getattr(F, name), NUMBERS[name]
    for numbers in all_numbers:
        found = function(x[:, ::2].T, *numbers)
        assert found.dtype == kind
        np.testing.assert_allclose(found.astype(float), wanted(x[:, ::2].T.astype(float), *numbers), tolerance, tolerance)
        names = dict(zip([renamed.get(one, one) for one in wanted.__code__.co_varnames[1:]], numbers))
        np.testing.assert_array_equal(function(x, **names), function(x, *numbers))
    y = x.copy()
    if "shrink" in name or name == "softplus":
        assert function(y, *numbers, out=y) is y
    else:
        assert function(y, *numbers, inplace=True) is y
        with pytest.raises(ValueError, match="inplace"):
            function(y, *numbers, inplace=True, out=x)
    np.testing.assert_array_equal(y, function(x, *numbers))


def test_activations_with_numbers_are_explained_and_refuse():
    x = random(8, 16, kind=np.float32)
    assert bp.explain(F.leaky_relu, x, 0.25).problem == "leaky_relu 0.25 f32 128"
    assert bp.explain(F.relu6, x).problem == "clip 0,6 f32 128" and bp.explain(ew.clip, x, 1).problem == "clip 1,inf f32 128"
    assert bp.explain(F.softplus, x, threshold=3).problem == "softplus 1,3 f32 128"
    for call, error, text in (
        (lambda: F.leaky_relu(x, "0.1"), TypeError, "negative_slope: is '0.1'; it must be a number"),
        (lambda: F.elu(x, None), TypeError, "alpha: is None"),
        (lambda: F.elu(x, x), TypeError, "alpha: is "),
        (lambda: F.celu(x, 0), ValueError, "celu: alpha is 0"),
        (lambda: F.softshrink(x, -1), ValueError, "lambda is -1; it must be 0 or more"),
        (lambda: F.hardtanh(x, math.nan), ValueError, "low is nan"),
        (lambda: F.threshold(x, 1), TypeError, "value"),
        (lambda: F.hardtanh(x, 2.0, -1), ValueError, "min_val: is 2; it must not be greater than max_val, -1"),
        (lambda: F.linear(x, x, activation="leaky_relu"), ValueError, "activation 'leaky_relu' is unknown"),
    ):
        with pytest.raises(error, match=text):
            call()
    np.testing.assert_array_equal(F.leaky_relu(x, np.float32(0.5)), F.leaky_relu(x, 0.5))


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i4", "i8"])
def test_clip(kind):
    x = (rng.standard_normal((4, 50)) * 9).astype(kind)
    columns = (x[:, :1], x[:, 1:2])
    for low, high in ((-3, 5), (None, 2), (2, None), (None, None), (5, -3), (-3, x[0]), columns, (columns[0], 1), (None, x[1]), (x.dtype.type(-2), 3)):
        for one in (x, x[::-1, ::-1], np.asfortranarray(x)):
            found, wanted = ew.clip(one, low, high), one
            wanted = wanted if low is None else np.maximum(wanted, low)
            wanted = wanted if high is None else np.minimum(wanted, high)
            assert found.dtype == kind
            np.testing.assert_array_equal(found, wanted)
    out = np.empty_like(x)
    assert ew.clip(x, 0, 3, out=out) is out
    np.testing.assert_array_equal(out, np.clip(x, 0, 3))
    np.testing.assert_array_equal(ew.clip(x, min=x[0], max=x[0] + 1, out=out), np.clip(x, x[0], x[0] + 1))


def test_limits_that_the_type_of_the_elements_lacks():
    whole = np.arange(-4, 5)
    found = ew.clip(whole, -1.5, 2.5)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, np.clip(whole, -1.5, 2.5))
    huge = 2**60 + 1
    assert ew.clip(np.array([huge - 1, huge, huge + 1]), None, huge).tolist() == [huge - 1, huge, huge]
    assert ew.clip(np.array([0.5, 1.0]), -(10**400), 10**400).tolist() == [0.5, 1.0]
    np.testing.assert_array_equal(ew.clip([1.0, np.nan, 3.0], 2.0), [2, np.nan, 3])
    np.testing.assert_array_equal(ew.clip([1.0, 3.0], np.nan, 2.0), [np.nan, np.nan])
    own = bp.from_dlpack(np.array([1, 7], "i4"))
    assert isinstance(ew.clip(own, 2, 5), bp.Tensor) and ew.clip(own, 2, 5).tolist() == [2, 5]
    assert ew.clip(own, 2, 5).dtype == "i32" and ew.clip(own, 2.5).dtype == "f64"


def test_torch_has_the_same_activations_with_numbers():
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(np.append(random(400), [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-300, 800, -800]))
    for name in NUMBERS:
        for numbers in NUMBERS[name][2]:
            theirs, ours = getattr(torch.nn.functional, name)(x, *numbers), getattr(F, name)(x, *numbers)
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 1e-14, 1e-300)
    for name in ("hardsigmoid", "mish", "selu", "softsign", "logsigmoid", "tanhshrink"):
        np.testing.assert_allclose(getattr(F, name)(x).numpy(), getattr(torch.nn.functional, name)(x).numpy(), 1e-14, 1e-16)


def test_small_and_large_numbers_keep_their_digits():
    np.testing.assert_allclose(F.tanhshrink([1e-9, 1e-3]), [1e-27 / 3, 3.33333200000054e-10], 1e-14)
    np.testing.assert_allclose(F.logsigmoid(np.array([-800.0, -20, 40, 0])), [-800, -20.000000002061153, -np.exp(-40.0), -np.log(2)], 1e-15)
    np.testing.assert_allclose(F.mish(np.array([-700.0])), -700 * np.exp(np.array([-700.0])), 1e-14)
    np.testing.assert_allclose(ew.asinh([1e-300, 1e300]), [1e-300, np.arcsinh(1e300)], 1e-15)
    np.testing.assert_allclose(ew.acosh([1 + 2.0**-50, 1e300]), np.arccosh([1 + 2.0**-50, 1e300]), 1e-15)
    np.testing.assert_allclose(ew.cosh([710.0]), np.cosh([710.0]), 1e-14)
    assert ew.log10([1e-300, 1e22]).tolist() == [-300, 22] and ew.erfc([27.0])[0] == pytest.approx(5.23704643935772e-319, rel=1e-4)
    with np.errstate(invalid="ignore"):
        for name in ("asin", "acos", "acosh", "atanh", "log10"):
            np.testing.assert_array_equal(getattr(ew, name)([-2.0, np.nan]), [np.nan] * 2)


def test_gelu():
    x = random(100)
    wanted = x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(F.gelu(x, "tanh"), wanted, 1e-13, 1e-15)
    with pytest.raises(ValueError, match="approximate"):
        F.gelu(x, "no")


def test_embedding():
    weight, index = random(10, 4), np.array([[1, 9], [0, 0]])
    np.testing.assert_array_equal(F.embedding(index, weight), weight[index])
    np.testing.assert_array_equal(F.embedding(index.astype("i4"), weight, padding_idx=0), weight[index])
    np.testing.assert_array_equal(F.embedding(3, weight), weight[3])
    with pytest.raises(ValueError, match="max_norm"):
        F.embedding(index, weight, max_norm=1.0)
    with pytest.raises(ValueError, match=r"index number 1 .* is 10; the axis has size 10"):
        F.embedding([0, 10], weight)
    with pytest.raises(ValueError, match="is -1"):
        F.embedding([-1], weight)


def test_explain():
    x = random(8, 16, kind=np.float32)
    assert bp.explain(ew.exp, x).problem == "exp f32 128"
    assert bp.explain(ew.add, x, x[0]).problem == "add f32 8x16"
    assert bp.explain(ew.take, x, [1], axis=1).chosen.library == "native"
    assert "copy" in bp.explain(ew.concat, [x, x]).chosen.algorithm
    assert bp.explain(ew.astype, x, np.float16).problem == "copy f32 to f16 128"
    assert bp.explain(F.gelu, x).problem == "gelu f32 128" and bp.explain(F.embedding, [1], x).chosen.accepted
    ew.exp(x)
    assert bp.last_plan().operation == "unary"
    with pytest.raises(bp.Error):
        ew.exp(x, settings={"dispatch.exclude": "native"})


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda x: ew.add(x, x[:, :2]), ValueError, "broadcast"),
        (lambda x: ew.exp(x.astype(complex)), TypeError, "c128"),
        (lambda x: ew.negative(x.astype("u2")), TypeError, "u16"),
        (lambda x: ew.where([[1], [0], [1]], x, x), TypeError, "condition is i64; it must be bool"),
        (lambda x: ew.where([True] * 5, x, x), ValueError, "cannot be broadcast"),
        (lambda x: ew.take(x, [0]), ValueError, "axis"),
        (lambda x: ew.take(x, [0.5], axis=0), TypeError, "indices is f64"),
        (lambda x: ew.take(x, [0], axis=2), ValueError, "axis is 2"),
        (lambda x: ew.take_along_axis(x, [0]), ValueError, "indices has shape"),
        (lambda x: ew.concat([]), ValueError, "empty"),
        (lambda x: ew.concat([x, x[0]]), ValueError, r"tensors\[1\]"),
        (lambda x: ew.concat([x, x.astype("f4")]), TypeError, "f32"),
    ],
)
def test_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call(random(3, 4))


def test_read_only_and_foreign_arrays():
    import array

    x = random(3, 4)
    x.setflags(write=False)
    np.testing.assert_array_equal(ew.negative(x), -x)
    with pytest.raises((ValueError, TypeError)):
        ew.negative(x, out=x)
    flat = array.array("f", [1, -2])
    assert isinstance(ew.negative(flat), bp.Tensor) and ew.negative(flat).tolist() == [-1, 2]
    assert F.relu(flat, inplace=True) is flat and flat.tolist() == [1, 0]


class OnlyDLPack:
    """An array that has DLPack alone."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **names):
        return self.tensor.__dlpack__(**names)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def kinds_of_array(dtype, values):
    made = ew.astype(bp.from_dlpack(np.array(values)), dtype)
    yield made
    yield OnlyDLPack(made)
    if dtype in ("f32", "f64", "i32", "i64"):
        yield memoryview(np.array(values, {"f": "f", "i": "i"}[dtype[0]] + str(int(dtype[1:]) // 8)))


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64", "i32", "i64"])
@pytest.mark.parametrize("number", [2, True, np.int64(2), np.int8(2), 2.5, np.float64(2.5), np.float32(2.5)])
def test_a_number_takes_the_type_of_any_array(dtype, number):
    for x in kinds_of_array(dtype, [1, 4, 6]):
        wanted = "f64" if dtype[0] == "i" and isinstance(number, (float, np.floating)) else dtype
        for found, values in ((ew.multiply(x, number), [1 * number, 4 * number, 6 * number]),
                              (ew.subtract(number, x), [number * 1.0 - 1, number * 1.0 - 4, number * 1.0 - 6])):
            assert type(found) is bp.Tensor and found.dtype == wanted
            assert found.tolist() == [float(one) for one in values]
        assert bp.explain(ew.multiply, x, number).problem.startswith(f"multiply {wanted}")


def test_numbers_and_integers_are_divided_as_float64():
    for dtype in ("i32", "i64"):
        for x in kinds_of_array(dtype, [1, 4, 6]):
            assert ew.divide(x, 4).tolist() == [0.25, 1, 1.5] and ew.divide(x, x).dtype == "f64"
            assert ew.divide(3, x).tolist() == [3, 0.75, 0.5] and ew.exp(x).dtype == "f64"


def test_a_number_out_of_the_range_of_integers_is_refused():
    x = bp.full((3,), 3, dtype="i32")
    with pytest.raises(bp.BadValueError, match="out of the range of i32"):
        ew.add(x, 2**31)
    assert ew.add(x, -(2**31)).tolist() == [3 - 2**31] * 3 and ew.add(bp.ones(1), 1e300).tolist() == [math.inf]
