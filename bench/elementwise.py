"""elementwise.py - times functions of single elements, conversions, indexing, concatenation, padding, any, all and variances of
backplane.elementwise, backplane.reduce and backplane.nn.functional with NumPy and torch in interleaved rounds.

    python bench/elementwise.py [package] [threads] [rounds]        default: build/python 1 7

Results are written to arrays that exist, except where a library has no such argument. Times are medians in microseconds, ratios
are times of the other by Backplane's. NumPy has no gelu, silu and sigmoid: their formulas are computed in steps."""
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402

SIZES = (1000, 100_000, 4_000_000)
OF_HALVES = ("exp", "tanh", "sigmoid", "relu", "gelu", "silu")  # also measured in float16
UNARY = (
    "exp", "log", "sqrt", "tanh", "sigmoid", "relu", "gelu", "silu", "hardswish", "negative", "abs", "floor", "ceil", "round", "trunc", "sign",
    "reciprocal", "rsqrt", "sin", "cos", "tan", "erf", "expm1", "log1p", "log2",
    "log10", "exp2", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erfc", "hardsigmoid", "mish", "softsign", "logsigmoid", "selu",
    "tanhshrink", "leaky_relu", "elu", "celu", "hardtanh", "relu6", "softplus", "hardshrink", "softshrink", "isnan", "isinf", "isfinite", "logical_not",
)
BINARY = (
    "subtract", "multiply", "divide", "maximum", "minimum", "equal", "not_equal", "less", "greater_equal", "logical_and", "logical_xor", "pow", "remainder", "fmod", "floor_divide", "atan2",
)
WHOLE = ("bitwise_and", "bitwise_left_shift", "bitwise_right_shift", "remainder", "floor_divide", "pow")
OF_NUMPY = {
    "round": "rint", "pow": "power", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "atan2": "arctan2", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
}


def steps(numpy, name):
    """Returns NumPy's computation of a function, as a program would write it; None: it needs an error function."""
    activations = {
        "sigmoid": lambda x, out: numpy.divide(1, 1 + numpy.exp(-x), out=out),
        "relu": lambda x, out: numpy.maximum(x, 0, out=out),
        "silu": lambda x, out: numpy.divide(x, 1 + numpy.exp(-x), out=out),
        "hardswish": lambda x, out: numpy.multiply(x, numpy.clip(x + 3, 0, 6) / 6, out=out),
        "rsqrt": lambda x, out: numpy.divide(1, numpy.sqrt(x), out=out),
        "gelu": None,
        "erf": None,
        "erfc": None,
        "hardsigmoid": lambda x, out: numpy.divide(numpy.clip(x + 3, 0, 6), 6, out=out),
        "mish": lambda x, out: numpy.multiply(x, numpy.tanh(numpy.log1p(numpy.exp(x))), out=out),
        "softsign": lambda x, out: numpy.divide(x, 1 + numpy.abs(x), out=out),
        "logsigmoid": lambda x, out: numpy.negative(numpy.log1p(numpy.exp(-x)), out=out),
        "selu": lambda x, out: numpy.multiply(1.0507009873554805, numpy.where(x > 0, x, 1.6732632423543773 * numpy.expm1(x)), out=out),
        "tanhshrink": lambda x, out: numpy.subtract(x, numpy.tanh(x), out=out),
        "leaky_relu": lambda x, out: numpy.maximum(x, 0.01 * x, out=out),
        "elu": lambda x, out: numpy.copyto(out, numpy.where(x > 0, x, numpy.expm1(x))),
        "celu": lambda x, out: numpy.copyto(out, numpy.where(x > 0, x, numpy.expm1(x))),
        "hardtanh": lambda x, out: numpy.clip(x, -1, 1, out=out),
        "relu6": lambda x, out: numpy.clip(x, 0, 6, out=out),
        "softplus": lambda x, out: numpy.log1p(numpy.exp(x), out=out),
        "hardshrink": lambda x, out: numpy.copyto(out, numpy.where(numpy.abs(x) <= 0.5, 0, x)),
        "softshrink": lambda x, out: numpy.multiply(numpy.sign(x), numpy.maximum(numpy.abs(x) - 0.5, 0), out=out),
    }
    return activations.get(name, lambda x, out: getattr(numpy, OF_NUMPY.get(name, name))(x, out=out))


def functions_of_one(libraries):
    numpy, torch, bp = libraries.numpy, libraries.torch, libraries.backplane
    for size in SIZES:
        for kind, names in (("float32", UNARY), ("float64", UNARY), ("float16", OF_HALVES)):
            x = numpy.random.default_rng(1).uniform(0.1, 3, size).astype(kind)
            for name in names:
                out = numpy.empty_like(x, bool if name.startswith(("is", "logical")) else kind)
                own = getattr(bp.elementwise, name, None) or getattr(bp.nn.functional, name)
                calls = {"backplane": lambda own=own, out=out: own(x, out=out)}
                if steps(numpy, name):
                    calls["numpy"] = lambda step=steps(numpy, name), out=out: step(x, out)
                if torch:
                    tensor = torch.from_numpy(x)
                    function = getattr(torch.nn.functional, name, None) or getattr(torch, name)
                    calls["torch"] = lambda function=function: function(tensor)
                yield f"{name} {kind} {size}", calls


def functions_of_two(libraries):
    numpy, torch, ew = libraries.numpy, libraries.torch, libraries.backplane.elementwise
    for shapes in (((1000,), (1000,)), ((4_000_000,), (4_000_000,)), ((4096, 768), (768,)), ((1000, 1), (1, 3000))):
        a, b = (numpy.random.default_rng(2).standard_normal(shape, "float32") for shape in shapes)
        out = a + b
        calls = {"backplane": lambda: ew.add(a, b, out=out), "numpy": lambda: numpy.add(a, b, out=out)}
        if torch:
            tensors = [torch.from_numpy(one) for one in (a, b, out)]
            calls["torch"] = lambda: torch.add(tensors[0], tensors[1], out=tensors[2])
        yield f"add float32 {shapes[0]} {shapes[1]}", calls
        del calls
    for size in SIZES:
        for kind, names in (("float32", BINARY), ("float64", BINARY), ("int32", WHOLE), ("int64", WHOLE)):
            a, b = (numpy.random.default_rng(seed).uniform(1, 20, size).astype(kind) for seed in (2, 3))
            for name in names:
                out = numpy.empty_like(a, bool if "equal" in name or name.startswith(("less", "logical")) else kind)
                own, other = getattr(ew, name), getattr(numpy, OF_NUMPY.get(name, name))
                calls = {"backplane": lambda own=own, out=out: own(a, b, out=out), "numpy": lambda other=other, out=out: other(a, b, out=out)}
                if torch:
                    tensors, function = [torch.from_numpy(one) for one in (a, b)], getattr(torch, name)
                    calls["torch"] = lambda tensors=tensors, function=function: function(*tensors)
                yield f"{name} {kind} {size}", calls


def others(libraries):
    numpy, bp = libraries.numpy, libraries.backplane
    random = numpy.random.default_rng(3)
    x = random.standard_normal((2000, 2000), "float32")
    half, turned = x.astype("float16"), numpy.empty_like(x)
    yield "float32 to float16", {"backplane": lambda: bp.elementwise.astype(x, "float16", out=half), "numpy": lambda: numpy.copyto(half, x, "same_kind")}
    yield "float16 to float32", {"backplane": lambda: bp.elementwise.astype(half, "float32", out=turned), "numpy": lambda: numpy.copyto(turned, half)}
    yield "transposed copy", {"backplane": lambda: bp.elementwise.astype(x.T, "float32", out=turned), "numpy": lambda: numpy.copyto(turned, x.T)}
    yield "exp of a transpose", {"backplane": lambda: bp.elementwise.exp(x.T, out=turned), "numpy": lambda: numpy.exp(x.T, out=turned)}
    weight, index = random.standard_normal((30000, 768), "float32"), random.integers(0, 30000, 4096)
    rows = numpy.empty((4096, 768), "float32")
    yield "embedding 4096 of 30000x768", {"backplane": lambda: bp.nn.functional.embedding(index, weight, out=rows), "numpy": lambda: numpy.take(weight, index, 0, out=rows, mode="clip")}
    along = random.integers(0, 2000, (2000, 2000))
    yield "take_along_axis", {"backplane": lambda: bp.elementwise.take_along_axis(x, along, out=turned), "numpy": lambda: numpy.take_along_axis(x, along, -1)}
    which = x > 0
    yield "where", {"backplane": lambda: bp.elementwise.where(which, x, 0.0, out=turned), "numpy": lambda: numpy.where(which, x, 0.0)}
    parts = [x[:, :700], x[:, 700:1500], x[:, 1500:]]
    yield "concat of columns", {"backplane": lambda: bp.elementwise.concat(parts, axis=1, out=turned), "numpy": lambda: numpy.concatenate(parts, 1, out=turned)}


def rearrangements(libraries):
    """Yields paddings, flips, rolls, and whether any or all elements are true."""
    numpy, torch, bp = libraries.numpy, libraries.torch, libraries.backplane
    x = numpy.random.default_rng(4).standard_normal((8, 64, 56, 56), "float32")
    tensor = torch.from_numpy(x) if torch else None
    amounts, widths = (3, 3, 3, 3), ((0, 0), (0, 0), (3, 3), (3, 3))
    for mode, of_numpy in (("constant", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")):
        calls = {"backplane": lambda mode=mode: bp.nn.functional.pad(x, amounts, mode), "numpy": lambda mode=of_numpy: numpy.pad(x, widths, mode)}
        if torch:
            calls["torch"] = lambda mode=mode: torch.nn.functional.pad(tensor, amounts, mode)
        yield f"pad {mode}", calls
    rows = x.reshape(-1, 56 * 56)
    table = torch.from_numpy(rows) if torch else None
    true = rows < 9
    truth = torch.from_numpy(true) if torch else None
    own, reduce = bp.elementwise, bp.reduce
    others = {
        "flip": (lambda: own.flip(rows, axis=1), lambda: numpy.flip(rows, 1).copy(), lambda: torch.flip(table, (1,))),
        "roll": (lambda: own.roll(rows, 100, axis=1), lambda: numpy.roll(rows, 100, 1), lambda: torch.roll(table, 100, 1)),
        "all": (lambda: reduce.all(true, axis=1), lambda: true.all(1), lambda: truth.all(1)),
        "any": (lambda: reduce.any(true, axis=0), lambda: true.any(0), lambda: truth.any(0)),
        "var": (lambda: reduce.var(rows, axis=1), lambda: rows.var(1), lambda: torch.var(table, 1, correction=0)),
    }
    for name, calls in others.items():
        yield f"{name} 512x3136", {of: call for of, call in zip(("backplane", "numpy", "torch"), calls) if of != "torch" or torch}


def main(package="build/python", threads=1, rounds=7):
    libraries = timing.load(Path(package).resolve(), int(threads))
    print(timing.versions(libraries, ("backplane", "numpy", "torch")))
    for cases in (functions_of_one, functions_of_two, others, rearrangements):
        for name, calls in cases(libraries):
            times = timing.interleave(calls, int(threads), int(rounds), 2e6)
            us = {one: statistics.median(of) / 1e3 for one, of in times.items()}
            print(f"{name}:", *(f"{one} {time:.2f}" for one, time in us.items()),
                  *(f"| {one}/backplane {time / us['backplane']:.2f}" for one, time in us.items() if one != "backplane"))


if __name__ == "__main__":
    main(*sys.argv[1:])
