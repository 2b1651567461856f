"""eval, explain and compare of operations on single elements: results equal NumPy's."""

import math

import numpy as np
import pytest

from conftest import NO_LEAK_CHECK

ERF = np.vectorize(math.erf)
UNARY = {
    "negative": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "log": lambda x: np.log(np.abs(x)),
    "sqrt": lambda x: np.sqrt(np.abs(x)),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x / 2 * (1 + ERF(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "sign": np.sign,
    "reciprocal": np.reciprocal,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "erf": ERF,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "log2": np.log2,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "log10": np.log10,
    "exp2": np.exp2,
    "erfc": np.vectorize(math.erfc),
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "logsigmoid": lambda x: -np.log1p(np.exp(-x)),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543773 * np.expm1(x)),
    "tanhshrink": lambda x: x - np.tanh(x),
}
BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "maximum": np.maximum, "minimum": np.minimum}


@pytest.fixture
def evaluate(backplane, tmp_path):
    """Runs an operation on arrays; returns the result, and what the command wrote."""

    def run(operation, arrays, *words):
        for i, array in enumerate(arrays):
            np.save(tmp_path / f"{i}.npy", array)
        (tmp_path / "o.npy").unlink(missing_ok=True)
        done = backplane("eval", operation, *(f"{i}.npy" for i in range(len(arrays))), "-o", "o.npy", *words)
        return np.load(tmp_path / "o.npy") if done.code == 0 else None, done

    return run


def numbers(*shape, dtype="f8"):
    return np.random.default_rng(3).standard_normal(shape).astype(dtype) * 3


@pytest.mark.parametrize("kind", UNARY)
def test_functions_of_one(evaluate, kind):
    x = numbers(5, 37)
    x = np.abs(x) if kind in ("log", "sqrt", "rsqrt", "log1p", "log2", "log10") else x
    x = np.tanh(x) if kind in ("asin", "acos", "atanh") else np.abs(x) + 1 if kind == "acosh" else x
    got, done = evaluate("unary", [x], "--kind", kind)
    assert done.code == 0 and ", by " in done.out, done
    np.testing.assert_allclose(got, UNARY[kind](x), rtol=1e-14, atol=1e-15)


WITH = {
    "leaky_relu": (["--first", "0.2"], lambda x: np.where(x > 0, x, 0.2 * x)),
    "elu": ([], lambda x: np.where(x > 0, x, np.expm1(x))),
    "celu": (["--first=1.5"], lambda x: np.where(x > 0, x, 1.5 * np.expm1(x / 1.5))),
    "clip": (["--first", "-1", "--second", "0.5"], lambda x: np.clip(x, -1, 0.5)),
    "softplus": (["--second", "3"], lambda x: np.where(x > 3, x, np.log1p(np.exp(x)))),
    "threshold": (["--first", "0.1", "--second=20"], lambda x: np.where(x > 0.1, x, 20)),
    "hardshrink": ([], lambda x: np.where(np.abs(x) <= 0.5, 0, x)),
    "softshrink": ([], lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
}


@pytest.mark.parametrize("kind", WITH)
def test_functions_with_numbers(evaluate, kind):
    words, wanted = WITH[kind]
    x = numbers(5, 37)
    got, done = evaluate("unary", [x], "--kind", kind, *words)
    assert done.code == 0, done
    np.testing.assert_allclose(got, wanted(x), rtol=1e-14, atol=1e-15)


def test_numbers_are_checked(evaluate, backplane):
    x = numbers(3)
    _, done = evaluate("unary", [x], "--kind", "exp", "--first", "2")
    assert done.code != 0 and "exp takes no numbers; the first one is 2" in done.err, done
    _, done = evaluate("unary", [x], "--kind", "elu", "--first", "1", "--second", "2")
    assert done.code != 0 and "elu takes one number; the second one is 2" in done.err, done
    done = backplane("explain", "unary", "f32", "64x768", "--kind", "clip", "--second", "6")
    assert done.code == 0 and "clip -inf,6 f32" in done.out, done
    done = backplane("compare", "unary", "0.npy", "--kind", "softplus", "--first", "0.5")
    assert done.code == 0, done


@pytest.mark.parametrize("kind", BINARY)
def test_functions_of_two(evaluate, kind):
    a, b = numbers(4, 1, 7), numbers(6, 1)
    got, done = evaluate("binary", [a, b], "--kind", kind)
    assert done.code == 0, done
    np.testing.assert_array_equal(got, BINARY[kind](a, b))


@pytest.mark.parametrize("kind", ["pow", "remainder", "fmod", "floor_divide", "atan2"])
def test_quotients_and_powers(evaluate, kind):
    a, b = np.abs(numbers(4, 1, 7)), numbers(6, 1)
    got, done = evaluate("binary", [a, b], "--kind", kind)
    assert done.code == 0, done
    np.testing.assert_allclose(got, getattr(np, {"pow": "power", "atan2": "arctan2"}.get(kind, kind))(a, b), 1e-15)


def test_bits(evaluate):
    a, b = np.arange(-9, 9), np.arange(18) % 5
    for kind, wanted in (("bitwise_xor", a ^ b), ("bitwise_left_shift", a << b), ("bitwise_right_shift", a >> b)):
        got, done = evaluate("binary", [a, b], "--kind", kind)
        assert done.code == 0 and got.dtype == "i8", done
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(evaluate("unary", [a], "--kind", "bitwise_invert")[0], ~a)


@pytest.mark.parametrize("kind", ["equal", "less", "logical_and"])
def test_truths(evaluate, kind):
    a, b = numbers(4, 1, 7).round(), numbers(6, 1).round()
    got, done = evaluate("binary", [a, b], "--kind", kind)
    assert done.code == 0 and got.dtype == "?", done
    np.testing.assert_array_equal(got, getattr(np, kind)(a, b))
    got, done = evaluate("unary", [a], "--kind", "logical_not")
    assert done.code == 0 and got.dtype == "?", done
    np.testing.assert_array_equal(got, a == 0)


def test_conversion(evaluate):
    x = numbers(40) * 100
    for to, dtype in (("f16", "f2"), ("i32", "i4"), ("bool", "?"), ("f32", "f4")):
        got, done = evaluate("unary", [x], "--kind", "copy", "--to", to)
        assert done.code == 0 and got.dtype == dtype, done
        np.testing.assert_array_equal(got, x.astype(dtype))


def test_indices(evaluate):
    x, at = numbers(5, 6, 3), np.array([[3, 0], [4, 4]])
    np.testing.assert_array_equal(evaluate("take", [x, at])[0], x[at])
    np.testing.assert_array_equal(evaluate("take", [x, at.astype("i4")], "--dim", "1")[0], np.take(x, at, 1))
    np.testing.assert_array_equal(evaluate("take", [x, np.array(2)], "--dim", "-1")[0], x[..., 2])
    at = np.random.default_rng(4).integers(0, 6, (5, 2, 3))
    np.testing.assert_array_equal(evaluate("gather", [x, at], "--dim", "1")[0], np.take_along_axis(x, at, 1))


def test_where(evaluate):
    a, b, which = numbers(5, 6), numbers(6), np.arange(5)[:, None] % 2 == 0
    np.testing.assert_array_equal(evaluate("where", [which, a, b])[0], np.where(which, a, b))
    _, done = evaluate("where", [a, a, b])
    assert done.code in (2, 3) and "condition is f64; it must be bool" in done.err, done


def test_concat(evaluate):
    a, b = numbers(2, 3), numbers(2, 5)
    np.testing.assert_array_equal(evaluate("concat", [a, b, a], "--dim", "-1")[0], np.concatenate([a, b, a], 1))
    np.testing.assert_array_equal(evaluate("concat", [a, a])[0], np.concatenate([a, a]))


@pytest.mark.parametrize(
    ("operation", "count", "words", "text"),
    [
        ("unary", 1, [], "--kind is missing"),
        ("unary", 1, ["--kind", "gelo"], "no kind 'gelo'; did you mean 'gelu'"),
        ("unary", 1, ["--kind", "exp", "--to", "f16"], "output is f16"),
        ("unary", 1, ["--kind", "copy", "--to", "f17"], "no such element type: 'f17'"),
        ("binary", 2, ["--kind", "exp"], "no kind 'exp'"),
        ("reduce", 1, ["--kind", "men"], "no kind 'men'; did you mean 'mean'"),
        ("reduce", 1, ["--kind", "variance"], "no kind 'variance'; it can be sum,prod,mean,"),
        ("reduce", 1, ["--dim", "99999999999"], "--dim is 99999999999; arrays have at most 64 dimensions"),
        ("softmax", 1, ["--dim", "0,1"], "softmax takes one --dim, not 2"),
        ("binary", 2, ["--kind", "add", "--to", "f16"], "binary takes no option --to"),
        ("take", 2, [], "indices is f64"),
        ("concat", 2, ["--dim", "2"], "axis is 2"),
        ("concat", 2, ["--dim", "0,1"], "one --dim"),
        ("concat", 2, ["--dim", "99999999999"], "--dim is 99999999999; arrays have at most 64 dimensions"),
    ],
)
def test_wrong_words(evaluate, operation, count, words, text):
    _, done = evaluate(operation, [numbers(3, 4)] * count, *words)
    assert done.code in (2, 3) and text in done.err, done


def test_wrong_arrays(evaluate):
    x = numbers(3, 4)
    for operation, arrays, words, text in (
        ("binary", [x, numbers(5, 4)], ["--kind", "add"], "cannot be broadcast"),
        ("take", [x, np.array([0, 3])], [], "index number 1 (counted from 0 in row-major order) is 3"),
        ("take", [x, np.array([0])], ["--dim", "2"], "axis is 2"),
        ("gather", [x, np.array([0])], [], "indices has shape (1)"),
        ("concat", [x, numbers(3)], [], "tensors[1] has shape (3)"),
        ("unary", [x.astype("i8")], ["--kind", "exp"], "input is i64"),
    ):
        _, done = evaluate(operation, arrays, *words)
        assert done.code in (2, 3) and text in done.err, done


def test_explain(backplane):
    done = backplane("explain", "unary", "f32", "64x768", "--kind", "gelu")
    assert done.code == 0 and "gelu f32 49152" in done.out and "tiles" in done.out, done
    done = backplane("explain", "binary", "f32", "64x768", "768", "--kind", "add")
    assert done.code == 0 and "add f32 64x768" in done.out, done
    done = backplane("explain", "take", "f16,i64", "1000x64", "8x12")
    assert done.code == 0 and "f16 96x64, indices i64 below 1000" in done.out, done
    done = backplane("explain", "gather", "f32,i32", "5x6", "5x2", "--dim", "1")
    assert done.code == 0 and "indices i32 below 6" in done.out, done
    done = backplane("explain", "where", "bool,f16,f16", "64x1", "64x768", "768")
    assert done.code == 0 and "where f16 64x768" in done.out and "tiles" in done.out, done
    done = backplane("bench", "where", "--sizes", "64", "--seconds", "0.01")
    assert done.code == 0 and "native" in done.out, done
    assert backplane("explain", "concat", "f32", "5x6", "5x2").code == 2


def test_compare(backplane, tmp_path):
    np.save(tmp_path / "x.npy", numbers(40, 30))
    done = backplane("compare", "unary", "x.npy", "--kind", "exp", "--json", "--repeat", "2", env=NO_LEAK_CHECK)
    assert done.code == 0 and [row["library"] for row in done.json["libraries"] if row["ran"]] == ["native"], done
    assert 0 < done.json["libraries"][0]["error"] < done.json["error_bound"] and done.json["elements_checked"] == 1200


def test_compare_refuses_an_index(backplane, tmp_path):
    np.save(tmp_path / "x.npy", numbers(40, 30))
    np.save(tmp_path / "i.npy", np.array([3, 40]))
    done = backplane("compare", "take", "x.npy", "i.npy", env=NO_LEAK_CHECK)
    assert done.code != 0 and "40" in done.err + done.out, done
