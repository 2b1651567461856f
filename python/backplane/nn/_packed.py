"""Packed sequences for backplane.nn.utils.rnn, and their conversion to padded ones for recurrent layers.

A packed sequence has the rows of all items that have a first step, then the rows of all that have a second step, and so on. The
items are in descending order of their lengths.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, List, Literal, NamedTuple, Optional, Sequence, Tuple

from .._convert import numpy_of
from .._errors import bad_type, bad_value
from .._products import _is_torch

if TYPE_CHECKING:
    from .._types import Array, Operand, Packed

_OP = "packed sequences"


class _Fields(NamedTuple):
    data: Array
    batch_sizes: Array
    sorted_indices: Optional[Array]
    unsorted_indices: Optional[Array]


class PackedSequence(_Fields):
    """Sequences of several lengths, as torch.nn.utils.rnn.PackedSequence.

    ``data`` has the rows of all items, step by step. ``batch_sizes`` has the number of items of each step. With
    ``sorted_indices``, item i of the sequence is item ``sorted_indices[i]`` of the caller; ``unsorted_indices`` is the inverse.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Array,
        batch_sizes: Optional[Array] = None,
        sorted_indices: Optional[Array] = None,
        unsorted_indices: Optional[Array] = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            raise bad_type("PackedSequence: batch_sizes is missing")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)


# ---- Arrays ----


def _array(array: Any) -> Any:
    """Returns a tensor of torch, or an array of NumPy."""
    return array if _is_torch(array) else numpy_of(_OP).asarray(array)


def _whole(name: str, array: Any) -> Any:
    """Returns whole numbers of one dimension as an array of NumPy."""
    numpy = numpy_of(_OP)
    found = numpy.asarray(array.cpu() if _is_torch(array) else array)
    if found.size and found.dtype.kind not in "iu":
        raise bad_type(f"{name}: has elements of type {found.dtype}; they must be integers")
    if found.ndim != 1:
        raise bad_value(f"{name}: has {found.ndim} dimensions; it must have one", "E_SHAPE")
    return found.astype("int64")


def _like(data: Any, whole: Any) -> Any:
    """Returns whole numbers as the kind of array that the data are."""
    return sys.modules["torch"].from_numpy(whole) if _is_torch(data) else whole


def _full(data: Any, shape: Sequence[int], value: float) -> Any:
    if _is_torch(data):
        return data.new_full(tuple(shape), value)
    return numpy_of(_OP).full(tuple(shape), value, dtype=data.dtype)


def _take(array: Any, index: Any, dim: int) -> Any:
    """Returns the parts of an array in another order."""
    where = _like(array, index)
    return array.index_select(dim, where.to(array.device)) if _is_torch(array) else array.take(where, axis=dim)


def _rows(batch_sizes: Any, items: int) -> Any:
    """Returns the place of each row of the data among the rows of a padded array, steps first."""
    numpy = numpy_of(_OP)
    steps = [numpy.arange(count, dtype="int64") + step * items for step, count in enumerate(batch_sizes)]
    return numpy.concatenate(steps) if steps else numpy.zeros(0, dtype="int64")


def _checked_sizes(data: Any, batch_sizes: Any) -> Any:
    sizes = _whole("batch_sizes", batch_sizes)
    if (sizes < 1).any() or (sizes[1:] > sizes[:-1]).any():
        raise bad_value("batch_sizes: must be positive and in descending order")
    if len(data.shape) < 1 or sizes.sum() != data.shape[0]:
        raise bad_value(f"batch_sizes: has a sum of {sizes.sum()}, and data has the shape {tuple(data.shape)}", "E_SHAPE")
    return sizes


def spread(data: Any, batch_sizes: Any, value: float = 0.0, steps: Optional[int] = None) -> Tuple[Any, Any]:
    """Returns the data with padding, steps first, and the lengths of the items. Items keep their order."""
    data = _array(data)
    sizes = _checked_sizes(data, batch_sizes)
    items, steps = int(sizes[0]) if len(sizes) else 0, len(sizes) if steps is None else steps
    padded, rest = _full(data, (steps * items, *data.shape[1:]), value), tuple(data.shape[1:])
    padded[_like(data, _rows(sizes, items))] = data
    lengths = (sizes[:, None] > numpy_of(_OP).arange(items)[None]).sum(axis=0).astype("int64")
    return padded.reshape((steps, items, *rest)), lengths


def gather(padded: Any, batch_sizes: Any) -> Any:
    """Returns the rows of a padded array, steps first, that spread() put there."""
    padded, sizes = _array(padded), _whole("batch_sizes", batch_sizes)
    items, rest = padded.shape[1], tuple(padded.shape[2:])
    flat = padded.reshape((padded.shape[0] * items, *rest))
    return flat[_like(padded, _rows(sizes, items))]


def as_packed(given: Any) -> Optional[PackedSequence]:
    """Returns a packed sequence, also torch's; None for anything else."""
    if isinstance(given, PackedSequence):
        return given
    fields = ("data", "batch_sizes", "sorted_indices", "unsorted_indices")
    if isinstance(given, tuple) and all(hasattr(given, name) for name in fields):
        return PackedSequence(*(getattr(given, name) for name in fields))
    return None


def ordered(state: Any, index: Any) -> Any:
    """Returns a state, whose items are its second dimension, in another order of items; None stays None."""
    return state if state is None or index is None else _take(_array(state), _whole("sorted_indices", index), 1)


# ---- The functions ----


def invert_permutation(permutation: Optional[Operand]) -> Optional[Array]:
    """Returns the inverse of a permutation; None for None."""
    if permutation is None:
        return None
    order = _whole("permutation", permutation)
    numpy = numpy_of(_OP)
    if not numpy.array_equal(numpy.sort(order), numpy.arange(len(order))):
        raise bad_value("permutation: must have each of the numbers from 0 once")
    inverse: Array = _like(permutation, numpy.argsort(order))
    return inverse


def pack_padded_sequence(
    input: Operand, lengths: Operand, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs an array with padding, as torch.nn.utils.rnn.pack_padded_sequence()."""
    data, ends = _array(input), _whole("lengths", lengths)
    data = data.swapaxes(0, 1) if batch_first and len(data.shape) > 1 else data
    if len(data.shape) < 2 or len(ends) != data.shape[1]:
        raise bad_value(f"lengths: has {len(ends)} elements, and input has the shape {tuple(data.shape)}, steps first", "E_SHAPE")
    if len(ends) == 0:
        raise bad_value("input: has no items")
    if ends.min() < 1 or ends.max() > data.shape[0]:
        raise bad_value(f"lengths: are from {ends.min()} to {ends.max()}; they must be from 1 to {data.shape[0]}, the steps")
    numpy, order = numpy_of(_OP), None
    if enforce_sorted and (ends[1:] > ends[:-1]).any():
        raise bad_value("lengths: must be in descending order with enforce_sorted")
    if not enforce_sorted:
        order = numpy.argsort(-ends, kind="stable")
        data, ends = _take(data, order, 1), ends[order]
    sizes = (ends[None] > numpy.arange(ends[0])[:, None]).sum(axis=1).astype("int64")
    return PackedSequence(gather(data, sizes), _like(data, sizes), None if order is None else _like(data, order))


def pad_packed_sequence(
    sequence: Packed, batch_first: bool = False, padding_value: float = 0.0, total_length: Optional[int] = None
) -> Tuple[Array, Array]:
    """Returns the sequences with padding, and their lengths, as torch.nn.utils.rnn.pad_packed_sequence()."""
    packed = as_packed(sequence)
    if packed is None:
        raise bad_type("pad_packed_sequence: sequence must be a PackedSequence")
    sizes: Any = packed.batch_sizes
    steps = len(sizes)
    if total_length is not None and total_length < steps:
        raise bad_value(f"total_length: is {total_length}; it must be at least {steps}, the steps of the longest sequence")
    padded, lengths = spread(packed.data, packed.batch_sizes, padding_value, total_length)
    if packed.unsorted_indices is not None:
        back = _whole("unsorted_indices", packed.unsorted_indices)
        padded, lengths = _take(padded, back, 1), lengths[back]
    return padded.swapaxes(0, 1) if batch_first else padded, _like(padded, lengths)


def pad_sequence(
    sequences: Sequence[Operand],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: Literal["right", "left"] = "right",
) -> Array:
    """Returns arrays of several lengths as one with padding, as torch.nn.utils.rnn.pad_sequence()."""
    if padding_side not in ("right", "left"):
        raise bad_value(f"padding_side: '{padding_side}' is not accepted; it must be right or left")
    arrays = [_array(one) for one in sequences]
    if not arrays:
        raise bad_value("sequences: has no items")
    rest = tuple(arrays[0].shape[1:])
    if any(len(one.shape) < 1 or tuple(one.shape[1:]) != rest for one in arrays):
        raise bad_value("sequences: all must have the same sizes but the first", "E_SHAPE")
    longest = max(one.shape[0] for one in arrays)
    padded = _full(arrays[0], (len(arrays), longest, *rest), padding_value)
    for item, one in enumerate(arrays):
        first = longest - one.shape[0] if padding_side == "left" else 0
        padded[item, first : first + one.shape[0]] = one
    result: Array = padded if batch_first else padded.swapaxes(0, 1)
    return result


def pack_sequence(sequences: Sequence[Operand], enforce_sorted: bool = True) -> PackedSequence:
    """Packs arrays of several lengths, as torch.nn.utils.rnn.pack_sequence()."""
    arrays = [_array(one) for one in sequences]
    return pack_padded_sequence(pad_sequence(arrays), [one.shape[0] for one in arrays], False, enforce_sorted)


def unpad_sequence(padded_sequences: Operand, lengths: Operand, batch_first: bool = False) -> List[Array]:
    """Returns the sequences of an array with padding, as torch.nn.utils.rnn.unpad_sequence()."""
    padded, ends = _array(padded_sequences), _whole("lengths", lengths)
    padded = padded if batch_first else padded.swapaxes(0, 1)
    if len(ends) != padded.shape[0]:
        raise bad_value(f"lengths: has {len(ends)} elements, for {padded.shape[0]} items", "E_SHAPE")
    return [one[: int(end)] for one, end in zip(padded, ends)]


def unpack_sequence(packed_sequences: Packed) -> List[Array]:
    """Returns the sequences of a packed one, as torch.nn.utils.rnn.unpack_sequence()."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
