"""Times functions on arrays in many layouts, channels-last images and short rows among them, against PyTorch.

Usage: python bench/layouts.py [PART ...]

PART is elements, reductions, rows, moves, conversions or images; without one, all. Each line is one call whose time is more than LIMIT times
PyTorch's, and each part ends with the mean of all its calls. Both libraries take turns on one thread; the least of all rounds counts, so that the
rest of the machine has little influence.
"""

import math
import sys
import time

import torch

import backplane as bp
from backplane import elementwise, reduce
from backplane.nn import functional as F

LIMIT = 1.5
ROUNDS = 12
T = torch.nn.functional
TYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "i64": torch.int64}
SHAPES = ((512, 768), (8, 64, 28, 28), (37, 41, 43))


def layouts(shape, dtype):
    """Yields names of layouts, and a tensor in each."""

    def random(*sizes):
        return (torch.randn(sizes) * 100).to(dtype)

    yield "rows", random(*shape)
    yield "reversed dimensions", random(*shape[::-1]).permute(*range(len(shape) - 1, -1, -1))
    yield "every second element", random(*shape[:-1], shape[-1] * 2)[..., ::2]
    yield "every second row", random(shape[0] * 2, *shape[1:])[::2]
    if len(shape) == 4:
        yield "channels last", random(*shape).contiguous(memory_format=torch.channels_last)


def each(types, shapes=SHAPES):
    for name in types:
        for shape in shapes:
            for layout, x in layouts(shape, TYPES[name]):
                yield f"{name} {'x'.join(map(str, shape))}, {layout}", x


def elements():
    for title, x in each(("f32", "f64", "bf16", "i64")):
        c, row = torch.ones_like(x, memory_format=torch.contiguous_format), torch.ones(x.shape[-1], dtype=x.dtype)
        yield f"add {title}", lambda: elementwise.add(x, c), lambda: x + c
        yield f"add a row {title}", lambda: elementwise.add(x, row), lambda: x + row
        yield f"less {title}", lambda: elementwise.less(x, c), lambda: x < c
        yield f"where {title}", lambda: elementwise.where(x > 0, x, c), lambda: torch.where(x > 0, x, c)
        if x.is_floating_point():
            yield f"exp {title}", lambda: elementwise.exp(x), lambda: x.exp()
            yield f"gelu {title}", lambda: F.gelu(x), lambda: T.gelu(x)


def reductions():
    for title, x in each(("f32", "f64", "bf16", "i64"), (*SHAPES, (100000, 3), (3, 100000))):
        for axis in (*range(x.dim()), None):
            dims = () if axis is None else (axis,)
            at = f"axis {axis} of {title}"
            yield f"sum, {at}", lambda: reduce.sum(x, axis=axis), lambda: x.sum(*dims)
            yield f"max, {at}", lambda: reduce.max(x, axis=axis), lambda: x.amax(*dims)
            if x.is_floating_point():
                yield f"var, {at}", lambda: reduce.var(x, axis=axis), lambda: x.var(*dims, correction=0)


def rows():
    for title, x in each(("f32", "bf16")):
        for axis in (0, 1, -1):
            yield f"softmax, axis {axis} of {title}", lambda: F.softmax(x, axis), lambda: T.softmax(x, axis)
        yield f"layer_norm {title}", lambda: F.layer_norm(x, x.shape[-1:]), lambda: T.layer_norm(x, x.shape[-1:])


def moves():
    for title, x in each(("f32", "bf16", "i64"), SHAPES[:2]):
        at, places = torch.randint(0, x.shape[0], (300,)), torch.randint(0, x.shape[-1], x.shape)
        yield f"flip {title}", lambda: elementwise.flip(x, axis=-1), lambda: x.flip(-1)
        yield f"roll {title}", lambda: elementwise.roll(x, 3, axis=0), lambda: x.roll(3, 0)
        yield f"pad {title}", lambda: F.pad(x, (1, 1, 2, 2)), lambda: T.pad(x, (1, 1, 2, 2))
        yield f"take {title}", lambda: elementwise.take(x, at, axis=0), lambda: x.index_select(0, at)
        yield f"gather {title}", lambda: elementwise.take_along_axis(x, places, axis=-1), lambda: x.gather(-1, places)
        yield f"concat {title}", lambda: elementwise.concat([x, x], axis=1), lambda: torch.cat([x, x], 1)


def conversions():
    types = {**TYPES, "f16": torch.float16, "i32": torch.int32, "u8": torch.uint8, "i8": torch.int8, "bool": torch.bool}
    for source in ("f32", "f64", "bf16", "f16", "i32", "i64"):
        x = (torch.randn(512, 768) * 100).to(types[source])
        for to in types:
            if to != source:
                yield f"{source} to {to}, 512x768", lambda: elementwise.astype(x, to), lambda: x.to(types[to])


def images():
    for shape in ((4, 32, 28, 28), (8, 64, 56, 56), (16, 128, 14, 14), (1, 3, 224, 224)):
        for title, x in each(("f32", "bf16"), (shape,)):
            weight, channels = torch.randn(16, shape[1], 3, 3).to(x.dtype), torch.ones(shape[1]).to(x.dtype)
            yield f"conv2d {title}", lambda: F.conv2d(x, weight, padding=1), lambda: T.conv2d(x, weight, padding=1)
            yield f"max_pool2d {title}", lambda: F.max_pool2d(x, 3, stride=2, padding=1), lambda: T.max_pool2d(x, 3, stride=2, padding=1)
            yield f"avg_pool2d {title}", lambda: F.avg_pool2d(x, 2), lambda: T.avg_pool2d(x, 2)
            yield f"batch_norm {title}", lambda: F.batch_norm(x, channels, channels), lambda: T.batch_norm(x, channels, channels)
            yield f"training {title}", lambda: F.batch_norm(x, None, None, training=True), lambda: T.batch_norm(x, None, None, training=True)
            groups = 4 if shape[1] % 4 == 0 else 1
            yield f"group_norm {title}", lambda: F.group_norm(x, groups), lambda: T.group_norm(x, groups)


PARTS = (elements, reductions, rows, moves, conversions, images)


def least(calls):
    """Returns the least time of each call in seconds; the calls take turns."""
    times = [math.inf] * len(calls)
    for call in calls:
        call()
    for _ in range(ROUNDS):
        for i, call in enumerate(calls):
            start = time.perf_counter()
            call()
            times[i] = min(times[i], time.perf_counter() - start)
    return times


def main():
    torch.set_num_threads(1)
    bp.set_num_threads(1)
    wanted = sys.argv[1:] or [part.__name__ for part in PARTS]
    unknown = set(wanted) - {part.__name__ for part in PARTS}
    if unknown:
        sys.exit(f"layouts.py: there is no part {unknown.pop()!r}; {', '.join(part.__name__ for part in PARTS)}")
    for part in PARTS:
        ratios = []
        for title, ours, theirs in part() if part.__name__ in wanted else ():
            mine, torchs = least((ours, theirs))
            ratios.append(torchs / mine)
            if mine > LIMIT * torchs:
                print(f"  {title:<60} {mine * 1e6:10.1f} us, PyTorch {torchs * 1e6:10.1f} us, {torchs / mine:.2f}", flush=True)
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{part.__name__}: {mean:.2f} times as fast as PyTorch {torch.__version__} (geometric mean of {len(ratios)} calls; "
                  f"least {min(ratios):.2f}, greatest {max(ratios):.2f})", flush=True)


if __name__ == "__main__":
    main()
