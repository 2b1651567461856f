"""Packed sequences, with the names and arguments of torch.nn.utils.rnn, for NumPy arrays and tensors of torch.

>>> import numpy as np
>>> packed = pack_sequence([np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])], enforce_sorted=False)
>>> packed.data.tolist(), packed.batch_sizes.tolist(), packed.sorted_indices.tolist()
([3.0, 1.0, 4.0, 2.0, 5.0], [2, 2, 1], [1, 0])
>>> padded, lengths = pad_packed_sequence(packed, batch_first=True)
>>> padded.tolist(), lengths.tolist()
([[1.0, 2.0, 0.0], [3.0, 4.0, 5.0]], [2, 3])
"""

from __future__ import annotations

from ...backends._module import close as _close
from .._packed import (
    PackedSequence,
    invert_permutation,
    pack_padded_sequence,
    pack_sequence,
    pad_packed_sequence,
    pad_sequence,
    unpack_sequence,
    unpad_sequence,
)

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]

_close(__name__)
