"""torch.utils.deterministic: whether fresh memory is filled while deterministic algorithms are asked for."""

from ..backends._module import attach

fill_uninitialized_memory: bool

attach(__name__, "", ["fill_uninitialized_memory"])
