"""The name of torch.utils.deterministic: whether new memory is filled if deterministic algorithms are required."""

from ..backends._module import attach

fill_uninitialized_memory: bool

attach(__name__, "", ["fill_uninitialized_memory"])
