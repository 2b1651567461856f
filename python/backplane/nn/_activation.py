"""Activations and embeddings for backplane.nn.functional."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Literal, Optional

from .._convert import exact, with_numpy
from .._elements import finish, one, run
from .._errors import bad_value

if TYPE_CHECKING:
    from .._types import Kind, Operand, Out, SettingsArgument

_MODULE = "backplane.nn.functional"


def _one(name: str, x: Any, out: Any, settings: SettingsArgument, explains: bool) -> Any:
    """Runs a function of one element; relu() is the only one that integers have."""
    return one(name, x if name == "relu" else exact(name, x), out, settings, explains)


def _example(name: str, arguments: str, result: str) -> str:
    parts = "Shapes: any; the result has the same." + ("\nTypes: f16, bf16, f32, f64, i32 and i64." if name == "relu" else "")
    return f"\n\n{parts}\n\n>>> backplane.nn.functional.{name}({arguments})\n{result}\n"


def plain(name: str, text: str, arguments: str, result: str) -> Callable[..., Any]:
    def call(input: Kind, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
        return _one(name, input, out, settings, False)

    def explained(of: Dict[str, Any], explains: bool) -> Any:
        return _one(name, of["input"], of["out"], of["settings"], explains)

    text = f"Computes {text} of each element, as torch.nn.functional.{name}." + _example(name, arguments, result)
    made: Callable[..., Any] = finish(call, _MODULE, name, text, explained, ("unary", name))
    return made


def in_place(name: str, text: str, arguments: str, result: str) -> Callable[..., Any]:
    def explained(of: Dict[str, Any], explains: bool) -> Any:
        if of["inplace"] and of["out"] is not None:
            raise bad_value("out: cannot be given together with inplace")
        out = of["input"] if of["inplace"] else of["out"]
        return _one(name, of["input"], out, of["settings"], explains)

    def call(input: Kind, inplace: bool = False, *, out: Optional[Out] = None, settings: SettingsArgument = None) -> Kind:
        return explained(dict(input=input, inplace=inplace, out=out, settings=settings), False)

    text = f"Computes {text} of each element, as torch.nn.functional.{name}. With ``inplace``, the input is written and returned."
    text += _example(name, arguments, result)
    made: Callable[..., Any] = finish(call, _MODULE, name, text, explained, ("unary", name))
    return made


def _gelu(of: Dict[str, Any], explains: bool) -> Any:
    kinds = {"none": "gelu", "tanh": "gelu_tanh"}
    if of["approximate"] not in kinds:
        raise bad_value(f"approximate: is {of['approximate']!r}; it must be 'none' or 'tanh'")
    return _one(kinds[of["approximate"]], of["input"], of["out"], of["settings"], explains)


def gelu(
    input: Kind, approximate: Literal["none", "tanh"] = "none", *, out: Optional[Out] = None, settings: SettingsArgument = None
) -> Kind:
    return _gelu(dict(input=input, approximate=approximate, out=out, settings=settings), False)


def _embed(of: Dict[str, Any], explains: bool) -> Any:
    if of["max_norm"] is not None:
        raise bad_value("max_norm: must be None: rows of the weight are not normalized")
    arrays = with_numpy("embedding", (of["weight"], of["input"]))
    return run("take", "", arrays, of["out"], of["settings"], explains)


def embedding(
    input: Operand,
    weight: Kind,
    padding_idx: Optional[int] = None,
    max_norm: None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
    *,
    out: Optional[Out] = None,
    settings: SettingsArgument = None,
) -> Kind:
    return _embed(dict(input=input, weight=weight, max_norm=max_norm, out=out, settings=settings), False)


gelu = finish(
    gelu,
    _MODULE,
    "gelu",
    """Computes ``x phi(x)`` of each element, with the normal distribution function, as torch.nn.functional.gelu.

    With ``approximate`` "tanh", computes ``x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))``.

    Shapes: any; the result has the same.
    Errors: BadValueError: approximate is neither none nor tanh

    >>> backplane.nn.functional.gelu([0.0, 1.0]).round(6)
    array([0.      , 0.841345])
    """,
    _gelu,
    ("unary", "gelu"),
)
finish(
    embedding,
    _MODULE,
    "embedding",
    """Returns the rows of ``weight`` with the indices in ``input`` (int32 or int64), as torch.nn.functional.embedding.

    ``padding_idx``, ``scale_grad_by_freq`` and ``sparse`` are about gradients and have no effect. ``max_norm`` is refused.

    Shapes: ``input`` any; ``weight`` V x D; the result has D as a further last size.
    Types: ``weight`` f16, bf16, f32, f64, i32 or i64; ``input`` i32 or i64.
    Errors: BadValueError: an index is below 0 or not below V, or max_norm is given

    >>> backplane.nn.functional.embedding([1, 0], [[1.0, 2.0], [3.0, 4.0]])
    array([[3., 4.],
           [1., 2.]])
    """,
    _embed,
)
