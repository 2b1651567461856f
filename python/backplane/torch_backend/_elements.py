"""Handlers of functions of single elements, of reductions and products."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence

import torch

from .._graph import Value
from ._lowering import Lowering, Unsupported, axes_of, handles, name_of

# ---- Of one element ----

_FLOATS = ("f16", "bf16", "f32", "f64")
_UNARY = {
    "exp": "exp",
    "log": "log",
    "sqrt": "sqrt",
    "tanh": "tanh",
    "sigmoid": "sigmoid",
    "rsqrt": "rsqrt",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "erf": "erf",
    "expm1": "expm1",
    "log1p": "log1p",
    "log2": "log2",
    "reciprocal": "reciprocal",
    "silu": "silu",
    "hardswish": "hardswish",
    "relu": "relu",
    "neg": "negative",
    "negative": "negative",
    "abs": "abs",
    "absolute": "abs",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "fix": "trunc",
    "sign": "sign",
    "sgn": "sign",
    "acos": "acos",
    "arccos": "acos",
    "asin": "asin",
    "arcsin": "asin",
    "atan": "atan",
    "arctan": "atan",
    "acosh": "acosh",
    "arccosh": "acosh",
    "asinh": "asinh",
    "arcsinh": "asinh",
    "atanh": "atanh",
    "arctanh": "atanh",
    "cosh": "cosh",
    "sinh": "sinh",
    "log10": "log10",
    "exp2": "exp2",
    "special_exp2": "exp2",
    "erfc": "erfc",
    "hardsigmoid": "hardsigmoid",
    "mish": "mish",
    "selu": "selu",
    "log_sigmoid": "logsigmoid",
}
_TESTS = {"isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "logical_not": "logical_not"}


def _enter_unary(name: str, kind: str) -> None:
    @handles(name)
    def one(to: Lowering, input: Value) -> Value:
        return to.unary(kind, to.value(input, to.dtype))


def _enter_test(name: str, kind: str) -> None:
    @handles(name)
    def test(to: Lowering, input: Value) -> Value:
        if input.dtype not in _FLOATS and kind != "logical_not":  # integers are finite numbers
            input = to.graph.cast(input, "f32")
        return to.unary(kind, input)


for _name, _kind in _UNARY.items():
    _enter_unary(_name, _kind)
for _name, _kind in _TESTS.items():
    _enter_test(_name, _kind)


@handles("square")
def square(to: Lowering, input: Value) -> Value:
    return to.binary("multiply", input, input)


@handles("round")
def round_(to: Lowering, input: Value, decimals: int = 0) -> Value:
    if decimals != 0:
        raise Unsupported("with decimals")
    return to.unary("round", input)


@handles("gelu")
def gelu(to: Lowering, input: Value, approximate: str = "none") -> Value:
    return to.unary("gelu_tanh" if approximate == "tanh" else "gelu", input)


@handles("bitwise_not")
def bitwise_not(to: Lowering, input: Value) -> Value:
    return to.unary("bitwise_invert", input)


@handles("leaky_relu")
def leaky_relu(to: Lowering, input: Value, negative_slope: float = 0.01) -> Value:
    return to.unary("leaky_relu", input, first=float(negative_slope))


@handles("elu")
def elu(to: Lowering, input: Value, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Value:
    if scale != 1 or input_scale != 1:
        raise Unsupported("with scales")
    return to.unary("elu", input, first=float(alpha))


@handles("celu")
def celu(to: Lowering, input: Value, alpha: float = 1) -> Value:
    return to.unary("celu", input, first=float(alpha))


@handles("softplus")
def softplus(to: Lowering, input: Value, beta: float = 1, threshold: float = 20) -> Value:
    return to.unary("softplus", input, first=float(beta), second=float(threshold))


@handles("threshold")
def threshold(to: Lowering, input: Value, threshold: float, value: float) -> Value:
    return to.unary("threshold", input, first=float(threshold), second=float(value))


@handles("hardshrink")
def hardshrink(to: Lowering, input: Value, lambd: float = 0.5) -> Value:
    return to.unary("hardshrink", input, first=float(lambd))


@handles("softshrink")
def softshrink(to: Lowering, input: Value, lambd: float = 0.5) -> Value:
    return to.unary("softshrink", input, first=float(lambd))


@handles("prelu", "_prelu_kernel")
def prelu(to: Lowering, input: Value, weight: Any) -> Value:
    slope = to.value(weight, input.dtype)
    if slope.shape != () and input.ndim > 1 and slope.ndim == 1:
        slope = to.graph.reshape(slope, [-1] + [1] * (input.ndim - 2))
    return _where_positive(to, input, to.binary("multiply", input, slope))


def _where_positive(to: Lowering, input: Value, other: Value) -> Value:
    made: Value = to.call("where", to.binary("greater", input, 0, input.dtype), input, other)
    return made


@handles("glu")
def glu(to: Lowering, input: Value, dim: int = -1) -> Value:
    half = input.shape[dim] // 2
    gate = to.graph.slice(input, dim, half)
    return to.binary("multiply", to.graph.slice(input, dim, 0, half), to.unary("sigmoid", gate))


# ---- Of two elements ----

_COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
}
_BINARY = {
    "mul": "multiply",
    "multiply": "multiply",
    "maximum": "maximum",
    "minimum": "minimum",
    "fmod": "fmod",
    "remainder": "remainder",
    "floor_divide": "floor_divide",
    "atan2": "atan2",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "__and__": "bitwise_and",
    "__or__": "bitwise_or",
    "__xor__": "bitwise_xor",
    "bitwise_left_shift": "bitwise_left_shift",
    "bitwise_right_shift": "bitwise_right_shift",
}


def _enter_binary(name: str, kind: str) -> None:
    @handles(name)
    def two(to: Lowering, input: Any, other: Any) -> Value:
        if to.dtype == "bool" and kind in ("multiply", "minimum", "maximum"):
            return to.binary("logical_or" if kind == "maximum" else "logical_and", input, other)
        return to.binary(kind, input, other)


def _enter_comparison(name: str, kind: str) -> None:
    @handles(name)
    def compare(to: Lowering, input: Any, other: Any) -> Value:
        return to.binary(kind, input, other, to.common(input, other))


for _name, _kind in _BINARY.items():
    _enter_binary(_name, _kind)
for _name, _kind in _COMPARISONS.items():
    _enter_comparison(_name, _kind)


def _scaled(to: Lowering, x: Any, factor: Any) -> Any:
    return x if factor == 1 else to.binary("multiply", x, factor)


@handles("add")
def add(to: Lowering, input: Any, other: Any, alpha: Any = 1) -> Value:
    if to.dtype == "bool":
        return to.binary("logical_or", input, other)
    return to.binary("add", input, _scaled(to, other, alpha))


@handles("sub", "subtract")
def subtract(to: Lowering, input: Any, other: Any, alpha: Any = 1) -> Value:
    return to.binary("subtract", input, _scaled(to, other, alpha))


@handles("rsub")
def rsub(to: Lowering, input: Any, other: Any, alpha: Any = 1) -> Value:
    return to.binary("subtract", other, _scaled(to, input, alpha))


@handles("div", "divide", "true_divide")
def divide(to: Lowering, input: Any, other: Any, rounding_mode: Optional[str] = None) -> Value:
    if rounding_mode == "floor":
        return to.binary("floor_divide", input, other)
    if rounding_mode == "trunc" and to.dtype not in _FLOATS:
        raise Unsupported("whole numbers that are divided towards 0")
    quotient = to.binary("divide", input, other)
    return quotient if rounding_mode is None else to.unary("trunc", quotient)


@handles("pow")
def pow_(to: Lowering, input: Any, exponent: Any) -> Value:
    # As torch, which computes these without its power.
    if isinstance(exponent, (int, float)) and to.dtype in _FLOATS:
        if exponent == 2:
            return to.binary("multiply", input, input)
        if exponent == 3:
            return to.binary("multiply", to.binary("multiply", input, input), input)
        if exponent in (0.5, -0.5, -1):
            return to.unary({0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}[exponent], to.value(input, to.dtype))
        if exponent == -2:
            return to.unary("reciprocal", to.binary("multiply", input, input))
    return to.binary("pow", input, exponent)


@handles("where")
def where(to: Lowering, condition: Any, input: Any = None, other: Any = None) -> Value:
    if input is None:
        raise Unsupported("of a condition alone: its shape follows from data")
    made: Value = to.call("where", to.value(condition, "bool"), to.value(input, to.dtype), to.value(other, to.dtype))
    return made


@handles("masked_fill")
def masked_fill(to: Lowering, input: Any, mask: Any, value: Any) -> Value:
    made: Value = to.call("where", to.value(mask, "bool"), to.value(value, to.dtype), to.value(input, to.dtype))
    return made


@handles("clamp", "clip", "clamp_min", "clamp_max", "hardtanh", "relu6")
def clamp(to: Lowering, input: Any, min: Any = None, max: Any = None, min_val: Any = None, max_val: Any = None) -> Value:
    if name_of(to.node) == "aten.relu6":
        min, max = 0, 6
    low, high = min if min_val is None else min_val, max if max_val is None else max_val
    value = to.value(input, to.dtype)
    if _is_limit(low) and _is_limit(high):
        return to.unary("clip", value, first=_limit(low), second=_limit(high))
    value = value if low is None else to.binary("maximum", value, low)
    return value if high is None else to.binary("minimum", value, high)


def _is_limit(given: Any) -> bool:
    """Returns whether clip takes it as a number: float has it, and it is no NaN."""
    if given is None or isinstance(given, float):
        return given is None or given == given
    return isinstance(given, int) and abs(given) <= 2**53


def _limit(number: Any) -> Optional[float]:
    return None if number is None else float(number)


@handles("addcmul")
def addcmul(to: Lowering, input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Value:
    return to.binary("add", input, _scaled(to, to.binary("multiply", tensor1, tensor2), value))


@handles("addcdiv")
def addcdiv(to: Lowering, input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Value:
    return to.binary("add", input, _scaled(to, to.binary("divide", tensor1, tensor2), value))


@handles("lerp")
def lerp(to: Lowering, input: Any, end: Any, weight: Any) -> Value:
    return to.binary("add", input, to.binary("multiply", weight, to.binary("subtract", end, input)))


@handles("tril", "triu")
def triangle(to: Lowering, input: Value, diagonal: int = 0) -> Value:
    keep = torch.ones(input.shape[-2:], dtype=torch.bool)
    keep = keep.tril(diagonal) if name_of(to.node) == "aten.tril" else keep.triu(diagonal)
    made: Value = to.call("where", to.value(keep), input, to.value(0, input.dtype))
    return made


# ---- Reductions ----


def _reduced(to: Lowering, kind: str, value: Value, dim: Any, keepdim: bool) -> Value:
    axes = axes_of(dim, value.ndim)
    if not axes:
        if kind in ("argmax", "argmin"):
            return to.value(0, "i64")
        return value
    made: Value = to.call("reduce", value, kind=kind, axes=axes, keep=keepdim)
    return made


def _enter_sum(name: str, kind: str) -> None:
    @handles(name)
    def total(to: Lowering, input: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
        # f16 and bf16 are added in f32, as torch does, and rounded once.
        made = _reduced(to, kind, to.value(input, to.dtype), dim, keepdim)
        return to.graph.cast(made, to.dtype)


for _name in ("sum", "mean", "prod"):
    _enter_sum(_name, _name)


def _enter_extreme(name: str, kind: str) -> None:
    @handles(name)
    def extreme(to: Lowering, input: Value, dim: Any = None, keepdim: bool = False) -> Value:
        return _reduced(to, kind, input, dim, keepdim)


for _name, _kind in (("amax", "max"), ("amin", "min")):
    _enter_extreme(_name, _kind)


def _enter_max(name: str) -> None:
    @handles(name)
    def extreme(to: Lowering, input: Value, other: Any = None, dim: Any = None, keepdim: bool = False) -> Any:
        if other is not None:
            return to.binary(f"{name}imum", input, other)
        values = _reduced(to, name, input, dim, keepdim)
        return values if dim is None else (values, _reduced(to, f"arg{name}", input, dim, keepdim))


_enter_max("max")
_enter_max("min")


def _enter_place(name: str) -> None:
    @handles(name)
    def place(to: Lowering, input: Value, dim: Optional[int] = None, keepdim: bool = False) -> Value:
        if dim is not None:
            return _reduced(to, name, input, dim, keepdim)
        made = _reduced(to, name, to.graph.reshape(input, [-1]), 0, False)
        return to.graph.reshape(made, [1] * input.ndim) if keepdim else made


_enter_place("argmax")
_enter_place("argmin")


def _enter_any(name: str) -> None:
    @handles(name)
    def quantifier(to: Lowering, input: Value, dim: Any = None, keepdim: bool = False) -> Value:
        value = input if input.dtype in (*_FLOATS, "i32", "i64", "bool") else to.graph.cast(input, "bool")
        truth = to.graph.cast(_reduced(to, name, value, dim, keepdim), "bool")
        return to.graph.cast(truth, to.dtype)  # of bytes torch makes bytes


_enter_any("any")
_enter_any("all")


def _enter_variance(name: str) -> None:
    @handles(name, f"{name}_mean")
    def spread(
        to: Lowering, input: Value, dim: Any = None, unbiased: Any = None, correction: Any = None, keepdim: bool = False
    ) -> Any:
        wanted = float(correction) if correction is not None else 1.0 if unbiased is None or unbiased else 0.0
        axes = axes_of(dim, input.ndim) or None
        made = to.call("variance", input, kind=name, axes=axes, keep=keepdim, correction=wanted)
        with_mean = name_of(to.node).endswith("_mean")
        return (made, _reduced(to, "mean", input, dim, keepdim)) if with_mean else made


_enter_variance("var")
_enter_variance("std")


@handles("linalg_vector_norm", "norm")
def vector_norm(
    to: Lowering, input: Value, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None, p: Any = None
) -> Value:
    order = ord if p is None else p
    value = to.value(input, to.dtype)
    wide = to.graph.cast(value, "f32") if value.dtype in ("f16", "bf16") else value
    axes = axes_of(dim, input.ndim)
    if not axes:
        return to.unary("abs", value)
    made = to.call("vector_norm", wide, mode="p", order=float(order), axes=axes, keep=keepdim)
    return to.graph.cast(made, to.dtype)


@handles("cumsum")
def cumsum(to: Lowering, input: Value, dim: int, dtype: Any = None) -> Value:
    value = to.value(input, to.dtype)
    made: Value = value if value.ndim == 0 else to.call("cumsum", value, axis=dim)
    return made


# ---- Products ----


@handles("matmul", "mm", "bmm", "mv", "dot", "linalg_matmul")
def matmul(to: Lowering, input: Any, **other: Any) -> Value:
    (second,) = other.values()
    made: Value = to.call("matmul", to.value(input, to.dtype), to.value(second, to.dtype))
    return made


def _add_product(to: Lowering, input: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Value:
    product = _scaled(to, to.call("matmul", to.value(a, to.dtype), to.value(b, to.dtype)), alpha)
    made: Value = product if beta == 0 else to.binary("add", _scaled(to, input, beta), product)
    return made


@handles("addmm")
def addmm(to: Lowering, input: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Value:
    if alpha == 1 and beta == 1 and tuple(input.shape) == (mat2.shape[1],):
        weight = to.graph.permute(to.value(mat2, to.dtype), [1, 0])
        made: Value = to.call("linear", to.value(mat1, to.dtype), weight, to.value(input, to.dtype))
        return made
    return _add_product(to, input, mat1, mat2, beta, alpha)


@handles("baddbmm")
def baddbmm(to: Lowering, input: Any, batch1: Any, batch2: Any, beta: Any = 1, alpha: Any = 1) -> Value:
    return _add_product(to, input, batch1, batch2, beta, alpha)


@handles("addmv")
def addmv(to: Lowering, input: Any, mat: Any, vec: Any, beta: Any = 1, alpha: Any = 1) -> Value:
    return _add_product(to, input, mat, vec, beta, alpha)


@handles("outer", "ger")
def outer(to: Lowering, input: Any, vec2: Any) -> Value:
    return to.binary("multiply", to.graph.reshape(to.value(input, to.dtype), [-1, 1]), vec2)


@handles("einsum")
def einsum(to: Lowering, equation: str, tensors: Sequence[Any], path: Any = None) -> Value:
    made: Value = to.call("einsum", *[to.value(one, to.dtype) for one in tensors], expression=equation)
    return made


# ---- Transforms ----


def _enter_transform(name: str) -> None:
    @handles(f"fft_{name}", f"fft_{name}2", f"fft_{name}n")
    def transform(to: Lowering, input: Value, n: Any = None, s: Any = None, dim: Any = -1, norm: Optional[str] = None) -> Value:
        lengths = s if n is None else [n]
        axes: Optional[List[int]] = None if dim is None else axes_of(dim, input.ndim)
        if axes is None and lengths is not None:
            axes = list(range(input.ndim - len(lengths), input.ndim))
        if input.dtype not in ("f32", "f64", "c64", "c128"):
            raise Unsupported(f"of {input.dtype}")
        axes = list(range(input.ndim)) if axes is None else axes
        made: Value = to.call("fft", input, transform=name, norm=norm or "backward", axes=axes, s=lengths)
        return made


for _name in ("fft", "ifft", "rfft", "irfft"):
    _enter_transform(_name)

