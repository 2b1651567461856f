"""The backend "backplane" of torch.compile: ``torch.compile(model, backend="backplane")``.

After installation torch finds it by its name, without an import. A model is traced by torch, and each of its graphs becomes one
backplane.Graph: all operations run in one call of the library, weights are packed once, and every setting applies as to the calls
one by one. It is for inference, on the host:

    with torch.no_grad():
        fast = torch.compile(model.eval(), backend="backplane")
        fast(x)

An operation that Backplane does not compute is an error that names it, or with ``options={"unsupported": "eager"}`` is left to torch.
``options={"frozen": True}`` says that parameters and buffers do not change after the first call, so that calls do not look at them.

docs/how-to/compile-torch-models.md has more.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence

import torch

from .._errors import bad_value
from .._graph import Graph
from .._products import Explanation
from . import _elements, _layers, _views  # fill the table of handlers  # noqa: F401
from ._lowering import HANDLERS, Input, Lowering, Unsupported, size_hint
from ._mixture import Mixture
from ._program import Program

__all__ = ["Unsupported", "backplane", "explain", "export", "operations"]


def __dir__() -> List[str]:
    return __all__


_OPTIONS: Dict[str, Sequence[Any]] = {"unsupported": ("error", "eager"), "frozen": (False, True)}


def _read_options(given: Optional[Dict[str, Any]], mode: Any) -> Dict[str, Any]:
    options = {"unsupported": "error", "frozen": False, **(given or {})}
    for name, value in options.items():
        if name not in _OPTIONS:
            raise bad_value(f"options: there is no {name!r}; there are {', '.join(sorted(_OPTIONS))}")
        if value not in _OPTIONS[name]:
            raise bad_value(f"options: {name} is {value!r}; it takes {' and '.join(map(repr, _OPTIONS[name]))}")
    if mode not in (None, "default"):
        raise bad_value(f"mode is {mode!r}; the backend takes 'default' alone")
    return options


def _refuse(text: str) -> NoReturn:
    raise Unsupported(f"backplane: {text}")


def _check_call(examples: Sequence[Any]) -> None:
    tensors = [one for one in examples if isinstance(one, torch.Tensor)]
    if torch.is_grad_enabled() and any(one.requires_grad for one in tensors):
        _refuse("gradients are not compiled; call the function under torch.no_grad() or torch.inference_mode()")
    if torch.is_autocast_enabled("cpu"):
        _refuse("torch.autocast is not compiled; convert the model, for example with model.to(torch.bfloat16)")
    for one in tensors:
        if one.device.type != "cpu" or one.layout != torch.strided:
            _refuse(f"a tensor of layout {one.layout} on {one.device}; it takes dense tensors of the host")


def _is_constant(example: Any) -> bool:
    """Returns whether an argument is a parameter or buffer of a module."""
    marked = getattr(example, "_dynamo_static_input_type", None) is not None
    return isinstance(example, torch.Tensor) and (isinstance(example, torch.nn.Parameter) or marked)


def _export(gm: torch.fx.GraphModule, examples: Sequence[Any]) -> Any:
    """Returns the graph in functional ATen operations, as they are before torch takes composite ones apart, and its parameters."""
    from torch._functorch.aot_autograd import aot_export_module

    with torch.no_grad():
        functional, signature = aot_export_module(gm, examples, trace_joint=False, pre_dispatch=True)
    if signature.input_tokens:
        _refuse("the function has operations with an effect, as the checks of torch.linalg")
    if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
        _refuse("the function changes its arguments, or buffers of the model; call eval() of the model, or return what changes")
    held = {**dict(gm.named_parameters()), **dict(gm.named_buffers())}
    return functional, [held[name] for name in list(signature.parameters) + list(signature.buffers)]


def _example(one: Any) -> Any:
    if isinstance(one, torch.Tensor):
        return Input(one.dtype, tuple(size_hint(size) for size in one.shape))
    return size_hint(one) if isinstance(one, torch.SymInt) else one


def _compile(gm: torch.fx.GraphModule, examples: Sequence[Any], options: Dict[str, Any]) -> Callable[..., Any]:
    _check_call(examples)
    functional, held = _export(gm, examples)
    every = held + list(examples)
    constants = list(range(len(held))) + [len(held) + i for i, one in enumerate(examples) if _is_constant(one)]
    # Without elements: this finds what is not supported while torch compiles.
    refused = Lowering(functional, [_example(one) for one in every], torch._guards.detect_fake_mode(examples)).refused
    if not refused:
        return Program(functional, every, constants, options["frozen"], held)
    if options["unsupported"] == "error":
        _refuse("these operations are not supported, or not in this form: " + "; ".join(sorted(set(refused.values()))))
    return Mixture(functional, constants, options["frozen"], held, refused)


def backplane(
    gm: torch.fx.GraphModule, inputs: Sequence[Any], *, options: Optional[Dict[str, Any]] = None, mode: Optional[str] = None
) -> Callable[..., Any]:
    """Compiles a graph of torch: the entry point that torch.compile calls for backend="backplane"."""
    chosen = _read_options(options, mode)
    try:
        return _compile(gm, inputs, chosen)
    except Unsupported:
        if chosen["unsupported"] == "error":
            raise
    eager: Callable[..., Any] = gm.forward
    return eager  # torch runs what has gradients, autocast, or changed arguments


def explain(
    function: Callable[..., Any], *, options: Optional[Dict[str, Any]] = None, fullgraph: bool = False, dynamic: Optional[bool] = None
) -> Callable[..., List[Explanation]]:
    """Returns a function that runs ``function`` compiled, and returns the explanation of each graph that ran, in their order: which
    library and algorithm computes each part, and why. What torch ran has none.

    explain(model)(x)[0]
    """

    def call(*arguments: Any, **words: Any) -> List[Explanation]:
        found: List[Explanation] = []

        def backend(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
            compiled = backplane(gm, inputs, options=options)

            def run(*given: Any) -> Any:
                if isinstance(compiled, (Program, Mixture)):
                    found.extend(compiled.explanations(given))
                return compiled(*given)

            return run

        torch.compile(function, backend=backend, fullgraph=fullgraph, dynamic=dynamic)(*arguments, **words)
        return found

    return call


def export(function: Callable[..., Any], /, *arguments: Any, **words: Any) -> Graph:
    """Returns the graph of a call with these arguments, whose parameters are constants. Graph.text() writes it for C programs.

    export(model, x).text()
    """
    found: List[Graph] = []

    def backend(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        compiled = backplane(gm, inputs)

        def run(*given: Any) -> Any:
            made = compiled(*given)
            found.extend(compiled.graphs)  # type: ignore[attr-defined]
            return made

        return run

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(function, backend=backend, fullgraph=True, dynamic=False)(*arguments, **words)
    if len(found) != 1:
        raise bad_value(f"export: the function is {len(found)} graphs; a graph computes its results from tensors")
    return found[0]


def operations() -> List[str]:
    """Returns the names of torch's operations that the backend takes, without their overloads."""
    return sorted(HANDLERS)
