"""A compiled function: graphs for the sizes that it was called with, and the constants that they hold."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

import torch

from .._graph import Graph
from .._products import Explanation
from ._lowering import Input, Lowering, Output

MOST_GRAPHS = 64
"""Graphs of different sizes that a function keeps."""


class _Kept(NamedTuple):
    """A graph, and what a call needs of it."""

    lowering: Lowering
    constants: Tuple[Tuple[int, torch.Tensor, int, int], ...]
    """Number of the argument, the tensor, and its version and address when the graph was made."""


def _has_symbols(example: Any) -> bool:
    return isinstance(example, torch.Tensor) and any(not isinstance(size, int) for size in example.shape)


class Program:
    """What torch calls in place of the function."""

    def __init__(
        self,
        fx: torch.fx.GraphModule,
        examples: Sequence[Any],
        constants: Sequence[int],
        frozen: bool,
        held: Sequence[torch.Tensor] = (),
    ) -> None:
        """`constants` are the numbers of the arguments that hardly change; `held` are arguments in front of the caller's."""
        self._fx = fx
        self._held = tuple(held)
        self._constants = tuple(constants)
        self._frozen = frozen
        # The arguments whose sizes choose the graph; all other sizes are conditions of torch's.
        self._sizes = [i for i, one in enumerate(examples) if not isinstance(one, torch.Tensor) or _has_symbols(one)]
        self._kept: Dict[Any, _Kept] = {}
        self._lock = threading.Lock()

    # ---- Graphs ----

    def _key(self, arguments: Sequence[Any]) -> Any:
        if not self._sizes:
            return None
        given = [arguments[i] for i in self._sizes]
        return tuple(one.shape if isinstance(one, torch.Tensor) else one for one in given)

    def _make(self, arguments: Sequence[Any]) -> _Kept:
        constants = set(self._constants)
        given = [
            Input(one.dtype, tuple(one.shape)) if isinstance(one, torch.Tensor) and i not in constants else one
            for i, one in enumerate(arguments)
        ]
        lowering = Lowering(self._fx, given)
        return _Kept(lowering, tuple(_mark(i, arguments[i]) for i in self._constants))

    def _find(self, arguments: Sequence[Any]) -> _Kept:
        """Returns the graph of these sizes, made again if a constant is another tensor or was changed."""
        key = self._key(arguments)
        kept = self._kept.get(key)
        if kept is not None and (self._frozen or _are_current(kept, arguments)):
            return kept
        with self._lock:
            kept = self._make(arguments)
            if len(self._kept) >= MOST_GRAPHS:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = kept
        return kept

    @property
    def graphs(self) -> List[Graph]:
        """The graphs so far, one for each combination of sizes."""
        return [kept.lowering.graph for kept in list(self._kept.values()) if kept.lowering.has_graph]

    # ---- Calls ----

    def explanations(self, given: Sequence[Any]) -> List[Explanation]:
        """Explains the graph of a call with these arguments, if there is one."""
        arguments = self._held + tuple(given)
        lowering = self._find(arguments).lowering
        return [lowering.graph.explain(*_inputs_of(lowering, arguments))] if lowering.has_graph else []

    def __call__(self, *given: Any) -> List[Any]:
        arguments = self._held + given
        lowering = self._find(arguments).lowering
        made: Any = ()
        if lowering.has_graph:
            made = lowering.graph._core(*_inputs_of(lowering, arguments))
            made = made if isinstance(made, tuple) else (made,)
        if lowering.is_plain:
            return list(made)
        return [_result(output, made, arguments) for output in lowering.outputs]


def _mark(i: int, tensor: torch.Tensor) -> Tuple[int, torch.Tensor, int, int]:
    return i, tensor, _version_of(tensor), tensor.data_ptr()


def _version_of(tensor: torch.Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version  # tensors of inference_mode() count no changes


def _are_current(kept: _Kept, arguments: Sequence[Any]) -> bool:
    return all(
        arguments[i] is tensor and _version_of(tensor) == version and tensor.data_ptr() == address
        for i, tensor, version, address in kept.constants
    )


def _inputs_of(lowering: Lowering, arguments: Sequence[Any]) -> List[Any]:
    given = [arguments[i] for i in lowering.inputs]
    return [one.detach() if one.requires_grad else one for one in given]


_SOURCES: Dict[str, Callable[[Any, Sequence[Any], Sequence[Any]], Any]] = {
    "graph": lambda source, made, arguments: made[source],
    "argument": lambda source, made, arguments: arguments[source],
    "constant": lambda source, made, arguments: source.clone(),
    "plain": lambda source, made, arguments: source,
}


def _result(output: Output, made: Sequence[Any], arguments: Sequence[Any]) -> Any:
    found = _SOURCES[output.kind](output.source, made, arguments)
    for view in output.views:
        found = view(found)
    return found
