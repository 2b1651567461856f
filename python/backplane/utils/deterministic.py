"""The name of torch.utils.deterministic: whether new memory is filled if deterministic algorithms are required."""

from typing import List

from ..backends._module import attach

__all__: List[str] = []

fill_uninitialized_memory: bool

attach(__name__, "", ["fill_uninitialized_memory"])
