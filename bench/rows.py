"""Times reductions, softmax and normalization of rows against NumPy, and against PyTorch if it is installed.

Usage: python bench/rows.py [THREADS]

Calls of all libraries take turns, so that a change of the machine's speed reaches all. The table has medians in microseconds.
"""

import statistics
import sys
import time

import numpy as np

import backplane as bp
from backplane import reduce
from backplane.nn import functional as F
from backplane.nn import grad

try:
    import torch
except ImportError:
    torch = None

THREADS = int(sys.argv[1]) if len(sys.argv) > 1 else 1
ROUNDS = 15


def normalize(x):
    center = x - x.mean(-1, keepdims=True)
    return center / np.sqrt((center * center).mean(-1, keepdims=True) + 1e-5)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    e /= e.sum(axis, keepdims=True)
    return e


def cases():
    """Yields a name, and a call for each library."""
    rng = np.random.default_rng(0)
    for shape in ((1000, 1000), (4096, 4096), (100000, 16), (32, 100)):
        x = rng.standard_normal(shape, dtype="float32")
        t = torch and torch.from_numpy(x)
        size = "x".join(map(str, shape))
        for axis in (0, 1, None):
            for name in ("sum", "max", "argmax"):
                ours, numpys = getattr(reduce, name), getattr(np, name)
                theirs = torch and getattr(torch, {"max": "amax"}.get(name, name))
                dims = () if axis is None else (axis,)
                yield (f"{name} {size} axis {axis}", lambda ours=ours, x=x, axis=axis: ours(x, axis=axis),
                       lambda numpys=numpys, x=x, axis=axis: numpys(x, axis=axis),
                       torch and (lambda theirs=theirs, t=t, dims=dims: theirs(t, *dims)))
        for axis in (0, 1):
            yield (f"softmax {size} axis {axis}", lambda x=x, axis=axis: F.softmax(x, axis),
                   lambda x=x, axis=axis: softmax(x, axis), torch and (lambda t=t, axis=axis: torch.softmax(t, axis)))
        yield (f"layer_norm {size}", lambda x=x: F.layer_norm(x, x.shape[1]), lambda x=x: normalize(x),
               torch and (lambda t=t: torch.nn.functional.layer_norm(t, t.shape[1:])))
        yield (f"rms_norm {size}", lambda x=x: F.rms_norm(x, x.shape[1]), lambda x=x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5),
               torch and (lambda t=t: torch.nn.functional.rms_norm(t, t.shape[1:])))
        mean, variance = rng.random(shape[1], "float32"), rng.random(shape[1], "float32")
        yield (f"batch_norm {size}", lambda x=x, mean=mean, variance=variance: F.batch_norm(x, mean, variance),
               lambda x=x, mean=mean, variance=variance: (x - mean) / np.sqrt(variance + 1e-5),
               torch and (lambda t=t, mean=torch.from_numpy(mean), variance=torch.from_numpy(variance): torch.nn.functional.batch_norm(t, mean, variance)))
        yield from strided_cases(x)
        yield (f"layer_norm_gradients {size}", lambda x=x: grad.layer_norm_gradients(x, x, x.shape[1]), None, None)


def strided_cases(x):
    """Yields normalizations of rows whose elements are not neighbours, written to the same layout or to compact rows. NumPy and
    PyTorch are not measured: the ratio to the compact rows above is what counts."""
    rows, columns = x.shape
    columns_first, wide = np.asfortranarray(x), np.repeat(x, 2, 1)
    for name, of, out in (("transposed", columns_first, np.empty_like(columns_first)), ("transposed to compact", columns_first, np.empty_like(x)),
                          ("compact to transposed", x, np.empty_like(columns_first)), ("every second", wide[:, ::2], np.empty_like(x))):
        size = f"{rows}x{columns} {name}"
        yield f"layer_norm {size}", lambda of=of, out=out: F.layer_norm(of, columns, out=out), None, None
        yield f"softmax {size}", lambda of=of, out=out: F.softmax(of, 1, out=out), None, None


def median_times(calls):
    times = [[] for _ in calls]
    for call in calls:
        call()
    start = time.perf_counter()
    calls[0]()
    inner = max(1, int(0.002 / (time.perf_counter() - start)))
    for _ in range(ROUNDS):
        for call, found in zip(calls, times):
            start = time.perf_counter()
            for _ in range(inner):
                call()
            found.append((time.perf_counter() - start) / inner * 1e6)
    return [statistics.median(found) for found in times]


def main():
    bp.set_num_threads(THREADS)
    if torch:
        torch.set_num_threads(THREADS)
    print(f"{'f32, ' + str(THREADS) + ' threads':40} {'backplane':>10} {'NumPy':>10} {'PyTorch':>10}")
    for name, *calls in cases():
        there = [call for call in calls if call]
        times = iter(median_times(there))
        print(f"{name:40} " + " ".join(f"{next(times):10.1f}" if call else f"{'-':>10}" for call in calls))


if __name__ == "__main__":
    main()
