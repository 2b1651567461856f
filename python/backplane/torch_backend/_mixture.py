"""A compiled function that torch runs in part: neighbouring operations that Backplane takes are one graph each."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Dict, List, Mapping, Optional, Sequence

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from .._products import Explanation
from ._program import Program


_FOUND: ContextVar[Optional[List[Explanation]]] = ContextVar("explanations", default=None)
"""The list to which the parts of a call add their explanations, if it is to be explained."""


class _Supported(OperatorSupportBase):  # type: ignore[misc]
    def __init__(self, refused: Dict[torch.fx.Node, str]) -> None:
        self._refused = refused

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: torch.fx.Node) -> bool:
        return node.op == "call_function" and node not in self._refused and isinstance(node.meta.get("val"), torch.Tensor)


class _Part:
    """A graph in the place of a module of torch.fx, which returns one tensor or a tuple."""

    def __init__(self, program: Program, single: bool) -> None:
        self.program = program
        self._single = single

    def __call__(self, *arguments: Any) -> Any:
        found = _FOUND.get()
        if found is not None:
            found.extend(self.program.explanations(arguments))
        made = self.program(*arguments)
        return made[0] if self._single else tuple(made)


class Mixture:
    """What torch calls in place of the function."""

    def __init__(
        self,
        fx: torch.fx.GraphModule,
        constants: Sequence[int],
        frozen: bool,
        held: Sequence[torch.Tensor],
        refused: Dict[torch.fx.Node, str],
    ) -> None:
        self._held = tuple(held)
        holders = [node for node in fx.graph.nodes if node.op == "placeholder"]
        fixed = {holders[i].name for i in constants}
        partitioner = CapabilityBasedPartitioner(fx, _Supported(refused), allows_single_node_partition=True)
        self._fx = partitioner.fuse_partitions(partitioner.propose_partitions())
        for node in list(self._fx.graph.nodes):
            if node.op == "call_module":
                self._replace(node, fixed, frozen)

    def _replace(self, node: torch.fx.Node, fixed: Any, frozen: bool) -> None:
        inner = getattr(self._fx, node.target)
        results = inner.graph.find_nodes(op="output")[0].args[0]
        if not isinstance(results, (tuple, list)):  # programs return lists
            inner.graph.find_nodes(op="output")[0].args = ((results,),)
        given = [one.meta["val"] for one in node.args]
        constants = [i for i, one in enumerate(node.args) if one.name in fixed]
        part = _Part(Program(inner, given, constants, frozen), not isinstance(results, (tuple, list)))
        delattr(self._fx, node.target)
        object.__setattr__(self._fx, node.target, part)  # no module

    def explanations(self, given: Sequence[Any]) -> List[Explanation]:
        """Explains the graphs of a call with these arguments, which it runs."""
        found: List[Explanation] = []
        before = _FOUND.set(found)
        try:
            self(*given)
        finally:
            _FOUND.reset(before)
        return found

    def __call__(self, *given: Any) -> Any:
        with torch.no_grad():
            return self._fx(*self._held, *given)
