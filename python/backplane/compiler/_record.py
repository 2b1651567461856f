"""Records calls of the extension on traced values: each function here adds to the graph what the extension's function of the same name
computes. Conversions of types and arguments have been made by the package, as for arrays."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .. import _core
from .._conversions import short_name
from .._dtypes import dtype as element_type
from .._dtypes import int64
from .._graph import Value
from .._traced import unite_traced
from ._errors import trace_error
from ._trace import CURRENT, Trace, Tracer

Recorder = Callable[..., Any]

_REDUCTIONS = ("sum", "prod", "mean", "max", "min", "argmax", "argmin", "any", "all", "var", "std")


def _refuse_settings(name: str, out: Any, settings: Any, explains: Any = False) -> None:
    if out is not None and not (isinstance(out, tuple) and all(one is None for one in out)):
        raise trace_error(f"{name}: out is given; a traced function makes new arrays. The compiled function takes out")
    if settings is not None:
        raise trace_error(f"{name}: settings are given for one call; backplane.flags() sets them for the compiled function")
    if explains:
        raise trace_error(f"{name}: explanations of traced values; backplane.compiler.explain() explains the compiled function")


def _add(trace: Trace, call: str, operands: Sequence[Any], **fields: Any) -> Tracer:
    """Adds a call with one result."""
    return trace.tracer(trace.graph.call(call, *[None if x is None else trace.value(x) for x in operands], **fields))


# ---- Calls that calls.h describes ----


def _outputs_of(call: str, wanted: Sequence[str], pass_name: Optional[str]) -> Tuple[str, ...]:
    """Returns the outputs of the first pass with this name that has what is wanted."""
    for name, _, outputs in _core.described(call)[1]:
        first = name.partition(" ")[0].lower()
        if (pass_name is None or first == pass_name) and all(one in outputs for one in wanted):
            return outputs
    raise trace_error(f"{call}: no pass writes {', '.join(wanted)}")


def _call(
    trace: Trace, call: str, wanted: Tuple[str, ...], size: Any, out: Any, settings: Any, explains: bool, **given: Any
) -> Tuple[Any, ...]:
    _refuse_settings(call, out, settings, explains)
    if size is not None:
        raise trace_error(f"{call}: the shape of a gradient does not follow from its operands, so it is not recorded")
    if isinstance(given.get("seed"), tuple):
        raise trace_error(f"{call}: random numbers are not recorded, as each call would have the same")
    known = _core.described(call)[0]
    fields: Dict[str, Any] = {}
    for given_name, value in given.items():
        name, is_each = known[given_name]
        if isinstance(value, int) and is_each:
            value = [value] * given["ndim"]
        if value is not None:
            is_number = isinstance(value, (bool, int, float, str, tuple, list))
            fields[name] = value if is_number else f"v{trace.value(value).number}"
    wanted = tuple(known[name][0] for name in wanted)
    outputs = _outputs_of(call, wanted, fields.get("pass"))
    count = 1 + max(outputs.index(name) for name in wanted)
    made = trace.graph.call(call, outputs=[one in wanted for one in outputs[:count]], **fields)
    return tuple(trace.tracer(made[outputs.index(name)]) for name in wanted)


# ---- Elements, reductions ----


def _elementwise(
    trace: Trace, op: str, kind: str, arrays: Tuple[Any, ...], axis: int, dtype: str, out: Any, settings: Any, explains: bool,
    numbers: Tuple[float, ...] = (),
) -> Tracer:
    _refuse_settings(kind or op, out, settings, explains)
    if op == "unary":
        words = dict(zip(("first", "second"), numbers))
        return _add(trace, op, arrays, kind=kind, dtype=short_name(dtype) if dtype else None, **words)
    if op == "binary":
        return _add(trace, op, unite_traced(arrays, False), kind=kind)
    if op == "where":
        return _add(trace, op, (arrays[0], *unite_traced(arrays[1:], False)))
    if op == "concat":
        return _add(trace, op, unite_traced(arrays, False), axis=axis)
    return _add(trace, op, arrays, axis=axis)


def _reduce(
    trace: Trace, number: int, x: Any, axis: Any, keepdims: bool, out: Any, settings: Any, explains: bool = False, correction: float = 0.0
) -> Tracer:
    name = _REDUCTIONS[number]
    _refuse_settings(name, out, settings, explains)
    # The call takes all axes if the list is absent, and none if it is empty.
    words: Dict[str, Any] = dict(kind=name, keep=bool(keepdims))
    words["axes"] = None if axis is None else list(axis)
    if axis is not None and not words["axes"]:
        raise trace_error(f"{name}: axis is empty")
    if name in ("var", "std"):
        return _add(trace, "variance", (x,), correction=float(correction), **words)
    return _add(trace, "reduce", (x,), **words)


def _softmax(
    trace: Trace, kind: int, array: Any, gradient: Any, dim: int, out: Any, settings: Any, explains: bool = False
) -> Tracer:
    _refuse_settings("softmax", out, settings, explains)
    name = ("softmax", "log_softmax")[kind]
    if gradient is None:
        return _add(trace, "softmax", (array,), kind=name, axis=dim)
    return _add(trace, "softmax_backward", (array, gradient), kind=name, axis=dim)


# ---- Products ----


def _matmul(trace: Trace, a: Any, b: Any, *, out: Any = None, settings: Any = None) -> Tracer:
    _refuse_settings("matmul", out, settings)
    return _add(trace, "matmul", unite_traced(_arrays(a, b), False))


def _matmul_named(trace: Trace, *arguments: Any, input: Any = None, other: Any = None, **names: Any) -> Tracer:
    given = [one for one in (*arguments, input, other) if one is not None]
    if len(given) != 2:
        raise TypeError(f"matmul takes two arrays, but {len(given)} are given")
    return _matmul(trace, *given, **names)


def _arrays(*given: Any) -> Tuple[Any, ...]:
    from .._convert import with_numpy

    return with_numpy("backplane.compile", given)


def _gemm(trace: Trace, *arguments: Any, **names: Any) -> Tracer:
    raise trace_error("gemm: its result is also read; matmul(), multiply() and add() are recorded")


def _product_chain(trace: Trace, name: str, arrays: Tuple[Any, ...], number: int, out: Any, settings: Any, explains: bool) -> Tracer:
    _refuse_settings(name, out, settings, explains)
    words = {"vecdot": dict(axis=number), "matrix_power": dict(n=number)}.get(name, {})
    return _add(trace, name, unite_traced(arrays, False), **words)


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _letters(labels: Sequence[Sequence[int]], output: Optional[Sequence[int]]) -> str:
    """Returns the expression of lists of labels."""
    used = sorted({label for one in labels for label in one if label >= 0})
    if len(used) > len(_LETTERS):
        raise trace_error(f"einsum: there are {len(used)} labels; the expression of a graph has at most {len(_LETTERS)}")
    letters = {**dict(zip(used, _LETTERS)), -1: "..."}  # in the order of the labels, which an implicit output has
    written = ["".join(letters[label] for label in one) for one in labels]
    return ",".join(written) + ("" if output is None else "->" + "".join(letters[label] for label in output))


def _einsum(
    trace: Trace, expression: Optional[str], arrays: Tuple[Any, ...], out: Any, settings: Any, words: Tuple[Any, ...], explains: bool
) -> Tracer:
    _refuse_settings("einsum", out, settings, explains)
    labels, output, strategy, minimize, limit, trials, seconds, seed, work, path = words
    if strategy is not None or path is not None or minimize != "flops" or limit or trials or seconds or seed or work:
        raise trace_error("einsum: an order is given; settings of opt_einsum determine it in a compiled function")
    text = _letters(labels, output) if expression is None else expression
    return _add(trace, "einsum", unite_traced(_arrays(*arrays), False), expression=text)


# ---- Transforms ----


def _fft(
    trace: Trace, name: str, input: Any, s: Any, dim: Any, norm: Optional[str], out: Any, settings: Any, explains: bool = False
) -> Tracer:
    _refuse_settings(name, out, settings, explains)
    axes = None if dim is None else list(dim)
    if axes is None and s is not None:
        axes = list(range(input.ndim - len(s), input.ndim))
    axes = list(range(input.ndim)) if axes is None else axes
    return _add(trace, "fft", (input,), transform=name, norm=norm or "backward", axes=axes, s=None if s is None else list(s))


def _fftshift(trace: Trace, input: Any, dim: Any, back: bool) -> Tracer:
    axes = list(range(input.ndim)) if dim is None else list(dim)
    return _add(trace, "ifftshift" if back else "fftshift", (input,), axes=axes)


def _cosine(trace: Trace, *arguments: Any) -> Tracer:
    raise trace_error("cosine and sine transforms are not recorded, as they are no calls of the library")


# ---- Linear algebra ----

_MODES = {"thin": "reduced", "": None}


def _norm_of_matrices(trace: Trace, A: Tracer, dim: Any, keepdim: bool, words: Dict[str, Any]) -> Tracer:
    """The matrix is in the last two dimensions of the call."""
    first, second = ((axis % A.ndim) for axis in (dim or (-2, -1)))
    others = [axis for axis in range(A.ndim) if axis not in (first, second)]
    made = _add(trace, "matrix_norm", (A.permuted([*others, first, second]),), **words)
    return made.reshaped([1 if axis in (first, second) else size for axis, size in enumerate(A.shape)]) if keepdim else made


def _floating(op: str, inputs: Tuple[Any, ...]) -> Tuple[Any, ...]:
    """Returns the inputs with one floating type, but for pivots, which are no values."""
    if op not in ("lu_solve", "ldl_solve"):
        return unite_traced(inputs, True)
    first, last = unite_traced((inputs[0], inputs[2]), True)
    return first, inputs[1], last


def _empty(trace: Trace, op: str, index: int, kind: element_type) -> Tracer:
    """Returns the empty array that stands for a result which the mode of a call does not compute."""
    if op == "lstsq":  # X, residuals, rank, S
        kind = int64 if index == 2 else kind.to_real()
    return trace.tracer(trace.value(_core.empty((0,), kind + "", "host")))


def _linalg(
    trace: Trace, op: str, inputs: Tuple[Any, ...], outputs: Tuple[Any, ...], settings: Any, explains: bool = False, **given: Any
) -> Tuple[Any, ...]:
    _refuse_settings(f"linalg.{op}", tuple(one if not isinstance(one, bool) else None for one in outputs), settings, explains)
    fields = _core.described(op)[0]
    dim, keepdim = given.pop("dim", None), given.pop("keepdim", False)
    words = {name: value for name, value in given.items() if name in fields and value is not None}
    if "mode" in words:
        words["mode"] = _MODES.get(words["mode"], words["mode"])
    if op == "matrix_norm":
        return (_norm_of_matrices(trace, inputs[0], dim, keepdim, words),)
    if op == "vector_norm":
        words.update(axes=None if dim is None else list(dim), keep=bool(keepdim))
    values = [trace.value(one) for one in _floating(op, inputs)]
    made = trace.graph.call(op, *values, outputs=[one is True for one in outputs], **words)
    return tuple(
        _empty(trace, op, i, values[0].dtype) if wanted is False else None if one is None else trace.tracer(one)
        for i, (one, wanted) in enumerate(zip(made, outputs))
    )


_RECORDERS: Dict[str, Recorder] = {
    "call": _call,
    "cosine": _cosine,
    "einsum": _einsum,
    "elementwise": _elementwise,
    "fft": _fft,
    "fftshift": _fftshift,
    "gemm": _gemm,
    "linalg": _linalg,
    "matmul": _matmul_named,
    "matmul_floats": _matmul_named,
    "product_chain": _product_chain,
    "reduce": _reduce,
    "softmax": _softmax,
}


def _has_traced(given: Any) -> bool:
    return isinstance(given, Tracer) or (isinstance(given, (tuple, list)) and any(isinstance(one, Tracer) for one in given))


def record(function: str, arguments: Tuple[Any, ...], names: Optional[Dict[str, Any]]) -> Any:
    """Records a call of the extension, or returns NotImplemented if none of its arguments is a traced value of this thread."""
    trace = CURRENT.trace
    if trace is None or not (any(map(_has_traced, arguments)) or (names and any(map(_has_traced, names.values())))):
        return NotImplemented
    return _RECORDERS[function](trace, *arguments, **(names or {}))
