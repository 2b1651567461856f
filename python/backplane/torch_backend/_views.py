"""Handlers of operations that move elements, or compute none: views, copies, concatenation, indices, tensors of one number."""

from __future__ import annotations

import math
from typing import Any, List, Optional, Sequence

import torch

from .._graph import Value
from ._lowering import Lowering, Numbers, Unsupported, axes_of, handles, name_of, size_hint

_SHAPED = ("view", "_unsafe_view", "reshape", "_reshape_copy", "view_copy")
_SAME = ("clone", "contiguous", "alias", "detach", "lift_fresh_copy", "lift_fresh", "positive", "resolve_conj", "resolve_neg")
_CAST = ("to", "_to_copy", "type_as")


@handles(*_SHAPED)
def reshape(to: Lowering, input: Value, size: Sequence[int] = (), shape: Sequence[int] = ()) -> Value:
    return to.graph.reshape(input, list(size) or list(shape))


@handles("view_as", "reshape_as", "expand_as")
def as_other(to: Lowering, input: Value, other: Any) -> Value:
    shape = list(other.shape)
    return to.graph.expand(input, shape) if "expand" in str(to.node.target) else to.graph.reshape(input, shape)


@handles(*_SAME)
def same(to: Lowering, input: Value, **ignored: Any) -> Value:
    return input


@handles(*_CAST)
def cast(to: Lowering, input: Value, **ignored: Any) -> Value:
    return to.graph.cast(input, to.dtype)


@handles("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
def dropout(to: Lowering, input: Value, p: float, train: bool) -> Value:
    if train and p != 0:
        raise Unsupported("in training: call eval() of the model")
    return input


@handles("permute")
def permute(to: Lowering, input: Value, dims: Sequence[int]) -> Value:
    return to.graph.permute(input, axes_of(list(dims), input.ndim) if dims else [])


@handles("transpose", "swapaxes", "swapdims")
def transpose(to: Lowering, input: Value, **axes: int) -> Value:
    order = list(range(input.ndim))
    a, b = (axis % max(input.ndim, 1) for axis in axes.values())
    if order:
        order[a], order[b] = order[b], order[a]
    return to.graph.permute(input, order)


@handles("t", "numpy_T", "mT", "adjoint", "matrix_H")
def turned(to: Lowering, input: Value) -> Value:
    order = list(range(input.ndim))
    whole = "numpy_T" in str(to.node.target) or input.ndim < 2
    return to.graph.permute(input, order[::-1] if whole else order[:-2] + [order[-1], order[-2]])


@handles("movedim", "moveaxis")
def movedim(to: Lowering, input: Value, source: Numbers, destination: Numbers) -> Value:
    moved, places = axes_of(source, input.ndim), axes_of(destination, input.ndim)
    left = iter([axis for axis in range(input.ndim) if axis not in moved])
    return to.graph.permute(input, [moved[places.index(i)] if i in places else next(left) for i in range(input.ndim)])


@handles("unsqueeze")
def unsqueeze(to: Lowering, input: Value, dim: int) -> Value:
    place = dim % (input.ndim + 1)
    return to.graph.reshape(input, input.shape[:place] + (1,) + input.shape[place:])


@handles("squeeze")
def squeeze(to: Lowering, input: Value, dim: Optional[Numbers] = None) -> Value:
    axes = range(input.ndim) if dim is None else [] if dim == [] else axes_of(dim, input.ndim)
    return to.graph.reshape(input, [n for axis, n in enumerate(input.shape) if axis not in axes or n != 1])


@handles("flatten")
def flatten(to: Lowering, input: Value, start_dim: int = 0, end_dim: int = -1) -> Value:
    if input.ndim == 0:
        return to.graph.reshape(input, [1])
    first, last = start_dim % input.ndim, end_dim % input.ndim
    return to.graph.reshape(input, input.shape[:first] + (math.prod(input.shape[first : last + 1]),) + input.shape[last + 1 :])


@handles("unflatten")
def unflatten(to: Lowering, input: Value, dim: int, sizes: Sequence[int]) -> Value:
    axis = dim % input.ndim
    known = -math.prod(sizes) if -1 in sizes else 1
    sizes = [input.shape[axis] // max(known, 1) if n == -1 else n for n in sizes]
    return to.graph.reshape(input, input.shape[:axis] + tuple(sizes) + input.shape[axis + 1 :])


@handles("expand", "broadcast_to", "expand_copy")
def expand(to: Lowering, input: Value, size: Sequence[int], implicit: bool = False) -> Value:
    own = (1,) * (len(size) - input.ndim) + input.shape
    return to.graph.expand(input, [own[i] if n == -1 else n for i, n in enumerate(size)])


@handles("repeat", "tile")
def repeat(to: Lowering, input: Value, repeats: Sequence[int] = (), dims: Sequence[int] = ()) -> Value:
    counts = list(repeats) or list(dims)
    counts = [1] * (input.ndim - len(counts)) + counts
    own = (1,) * (len(counts) - input.ndim) + input.shape
    doubled = [size for n in own for size in (1, n)]
    wide = to.graph.expand(to.graph.reshape(input, doubled), [size for count, n in zip(counts, own) for size in (count, n)])
    return to.graph.reshape(wide, [count * n for count, n in zip(counts, own)])


@handles("repeat_interleave")
def repeat_interleave(to: Lowering, input: Value, repeats: Any, dim: Optional[int] = None, output_size: Any = None) -> Value:
    if not isinstance(repeats, int):
        raise Unsupported("counts that are a tensor")
    if dim is None:
        input, dim = to.graph.reshape(input, [-1]), 0
    axis = dim % input.ndim
    before, after = input.shape[: axis + 1], input.shape[axis + 1 :]
    wide = to.graph.expand(to.graph.reshape(input, before + (1,) + after), before + (repeats,) + after)
    return to.graph.reshape(wide, before[:-1] + (before[-1] * repeats,) + after)


# ---- Parts ----


@handles("slice")
def slice_(
    to: Lowering, input: Value, dim: int = 0, start: Optional[int] = None, end: Optional[int] = None, step: int = 1
) -> Value:
    return to.graph.slice(input, dim, start, end, step)


@handles("narrow")
def narrow(to: Lowering, input: Value, dim: int, start: int, length: int) -> Value:
    first = start % max(input.shape[dim], 1) if start < 0 else start
    return to.graph.slice(input, dim, first, first + length)


def _at(to: Lowering, input: Value, axis: int, index: int) -> Value:
    part = to.graph.slice(input, axis, index, index + 1)
    return to.graph.reshape(part, part.shape[:axis] + part.shape[axis + 1 :])


@handles("select")
def select(to: Lowering, input: Value, dim: int, index: int) -> Value:
    axis = dim % input.ndim
    return _at(to, input, axis, index % input.shape[axis])


@handles("unbind")
def unbind(to: Lowering, input: Value, dim: int = 0) -> List[Value]:
    axis = dim % input.ndim
    return [_at(to, input, axis, index) for index in range(input.shape[axis])]


def _parts(to: Lowering, input: Value, axis: int, sizes: Sequence[int]) -> List[Value]:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [to.graph.slice(input, axis, end - size, end) for end, size in zip(ends, sizes)]


@handles("split", "unsafe_split", "split_with_sizes", "unsafe_split_with_sizes")
def split(to: Lowering, input: Value, split_size: Any = None, split_sizes: Any = None, dim: int = 0) -> List[Value]:
    sizes, length = split_size if split_sizes is None else split_sizes, input.shape[dim]
    if isinstance(sizes, int):
        sizes = [min(sizes, length - first) for first in range(0, length, sizes)] if length else [0]
    return _parts(to, input, dim % input.ndim, sizes)


@handles("chunk", "unsafe_chunk")
def chunk(to: Lowering, input: Value, chunks: int, dim: int = 0) -> List[Value]:
    length = input.shape[dim]
    size = -(-length // chunks)
    sizes = [min(size, length - first) for first in range(0, length, size)] if length else [0] * chunks
    return _parts(to, input, dim % input.ndim, sizes)


@handles("flip")
def flip(to: Lowering, input: Value, dims: Sequence[int]) -> Value:
    for axis in dims:
        input = to.graph.slice(input, axis, None, None, -1)
    return input


@handles("roll")
def roll(to: Lowering, input: Value, shifts: Numbers, dims: Numbers = ()) -> Value:
    moves = [shifts] if isinstance(shifts, int) else list(shifts)
    flat = dims == () or dims == []
    value = to.graph.reshape(input, [-1]) if flat else input
    axes = [0] if flat else [axis % max(input.ndim, 1) for axis in ([dims] if isinstance(dims, int) else dims)]
    if len(set(axes)) < len(axes):  # each moves what the one before has moved
        moves = [sum(move for move, own in zip(moves, axes) if own == axis) for axis in dict.fromkeys(axes)]
        axes = list(dict.fromkeys(axes))
    made: Value = to.call("roll", value, axes=axes, shifts=moves) if input.ndim > 0 else input
    return to.graph.reshape(made, input.shape) if flat else made


# ---- Joining and indices ----


def _joined(to: Lowering, values: Sequence[Value], axis: int) -> Value:
    made: Value = values[0] if len(values) == 1 else to.call("concat", *values, axis=axis)
    return made


@handles("cat", "concat", "concatenate")
def cat(to: Lowering, tensors: Sequence[Any], dim: int = 0) -> Value:
    # torch leaves out tensors of shape [0], whatever the rank of the others is.
    kept = [one for one in tensors if tuple(one.shape) != (0,)] or [tensors[0]]
    return _joined(to, [to.value(one, to.dtype) for one in kept], dim)


@handles("stack")
def stack(to: Lowering, tensors: Sequence[Any], dim: int = 0) -> Value:
    values = [to.value(one, to.dtype) for one in tensors]
    axis = dim % (values[0].ndim + 1)
    return _joined(to, [unsqueeze(to, one, axis) for one in values], axis)


@handles("embedding")
def embedding(to: Lowering, weight: Any, indices: Any, **ignored: Any) -> Value:
    made: Value = to.call("take", to.value(weight), to.value(indices), axis=0)
    return made


@handles("index_select")
def index_select(to: Lowering, input: Any, dim: int, index: Any) -> Value:
    made: Value = to.call("take", to.value(input), to.value(index), axis=dim)
    return made


@handles("gather")
def gather(to: Lowering, input: Any, dim: int, index: Any, sparse_grad: bool = False) -> Value:
    made: Value = to.call("gather", to.value(input), to.value(index), axis=dim)
    return made


def _from_first(to: Lowering, index: Any, size: int) -> Value:
    """Converts indices that may count from the end."""
    value = to.value(index)
    wrapped = to.binary("add", value, size, value.dtype)
    made: Value = to.call("where", to.binary("less", value, 0, value.dtype), wrapped, value)
    return made


@handles("index")
def index(to: Lowering, input: Any, indices: Sequence[Any]) -> Value:
    given = [(axis, one) for axis, one in enumerate(indices) if one is not None]
    if len(given) != 1 or (given[0][1].dtype in (torch.bool, torch.uint8, "bool", "u8")):
        raise Unsupported("more than one tensor of indices, or a mask")
    value, (axis, one) = to.value(input), given[0]
    made: Value = to.call("take", value, _from_first(to, one, value.shape[axis]), axis=axis)
    return made


# ---- Tensors of one number ----


@handles("zeros_like", "new_zeros", "empty_like", "new_empty")
def zeros_like(to: Lowering, input: Value, size: Any = None, **ignored: Any) -> Any:
    return to.run_torch(torch.zeros, list(input.shape if size is None else size), dtype=to.meta().dtype)


@handles("ones_like", "new_ones")
def ones_like(to: Lowering, input: Value, size: Any = None, **ignored: Any) -> Any:
    return to.run_torch(torch.ones, list(input.shape if size is None else size), dtype=to.meta().dtype)


@handles("full_like", "new_full")
def full_like(to: Lowering, input: Value, fill_value: Any, size: Any = None, **ignored: Any) -> Any:
    return to.run_torch(torch.full, list(input.shape if size is None else size), fill_value, dtype=to.meta().dtype)


# ---- Sizes ----


@handles("sym_size")
def sym_size(to: Lowering, input: Value, dim: Optional[int] = None) -> Any:
    return input.shape if dim is None else input.shape[dim]


@handles("sym_numel", "numel")
def sym_numel(to: Lowering, input: Value) -> int:
    return math.prod(input.shape)


# ---- Images ----


@handles("pixel_shuffle")
def pixel_shuffle(to: Lowering, input: Value, upscale_factor: int) -> Value:
    *batch, channels, height, width = input.shape
    r, n = upscale_factor, len(batch)
    parts = to.graph.reshape(input, [*batch, channels // (r * r), r, r, height, width])
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return to.graph.reshape(to.graph.permute(parts, order), [*batch, channels // (r * r), height * r, width * r])


@handles("pixel_unshuffle")
def pixel_unshuffle(to: Lowering, input: Value, downscale_factor: int) -> Value:
    *batch, channels, height, width = input.shape
    r, n = downscale_factor, len(batch)
    parts = to.graph.reshape(input, [*batch, channels, height // r, r, width // r, r])
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    return to.graph.reshape(to.graph.permute(parts, order), [*batch, channels * r * r, height // r, width // r])


@handles("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def upsample_nearest(to: Lowering, input: Value, output_size: Any = None, **ignored: Any) -> Value:
    wanted = [size_hint(size) for size in to.meta().shape[2:]]
    factors = [n // size if size and n % size == 0 else 0 for n, size in zip(wanted, input.shape[2:])]
    if 0 in factors:
        raise Unsupported("sizes that are no whole multiples")
    doubled = list(input.shape[:2]) + [size for n in input.shape[2:] for size in (n, 1)]
    wide = list(input.shape[:2]) + [size for n, factor in zip(input.shape[2:], factors) for size in (n, factor)]
    return to.graph.reshape(to.graph.expand(to.graph.reshape(input, doubled), wide), list(input.shape[:2]) + list(wanted))


_MODES = {"reflection": "reflect", "replication": "replicate", "constant": "constant"}


@handles("pad", "constant_pad_nd", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
@handles("replication_pad1d", "replication_pad2d", "replication_pad3d")
def pad(to: Lowering, input: Value, pad: Sequence[int] = (), padding: Sequence[int] = (), mode: str = "", value: Any = None) -> Value:
    amounts = list(pad) or list(padding)
    if not amounts:
        return input
    mode = mode or next((own for word, own in _MODES.items() if word in name_of(to.node)))
    # torch begins with the last dimension.
    before, after = amounts[-2::-2], amounts[::-2]
    fields = {"value": float(value)} if value else {}
    made: Value = to.call("pad", input, mode=mode, before=before, after=after, **fields)
    return made
