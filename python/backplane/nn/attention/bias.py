"""The names of torch.nn.attention.bias: causal masks that scaled_dot_product_attention() takes without an array."""

from __future__ import annotations

import enum

from ..._errors import bad_type, bad_value
from ...backends._module import close

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """The end of the diagonal of a causal mask that is in a corner."""

    UPPER_LEFT = 1  # the first query sees the first key
    LOWER_RIGHT = 2  # the last query sees all keys


class CausalBias:
    """A causal mask for ``seq_len_q`` queries and ``seq_len_kv`` keys. No array of it is made."""

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        if not isinstance(variant, CausalVariant):
            raise bad_type(f"variant: expects CausalVariant, but got {variant!r}")
        self.variant = variant
        self.seq_len_q = seq_len_q
        self.seq_len_kv = seq_len_kv

    def __repr__(self) -> str:
        return f"CausalBias({self.variant.name}, {self.seq_len_q}, {self.seq_len_kv})"


def _of(variant: CausalVariant, size: "tuple[int, ...]") -> CausalBias:
    if len(size) != 2:
        raise bad_value(f"size: has {len(size)} numbers; it must have 2, the numbers of queries and keys")
    if not all(hasattr(one, "__index__") for one in size):
        raise bad_type(f"size: is {size!r}; it must be two whole numbers")
    return CausalBias(variant, int(size[0]), int(size[1]))


def causal_upper_left(*size: int) -> CausalBias:
    """Returns the mask in which query i sees the keys 0 to i, as ``is_causal`` has it. ``size`` is the numbers of queries and keys."""
    return _of(CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """Returns the mask in which the last query sees all keys. ``size`` is the numbers of queries and keys."""
    return _of(CausalVariant.LOWER_RIGHT, size)


close(__name__)
