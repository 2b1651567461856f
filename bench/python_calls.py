"""python_calls.py - times products of small arrays from Python against numpy.matmul and, if torch is installed, torch.mm.

    python bench/python_calls.py build/python [rounds]

The argument is the folder that has the built package. One thread, f32 and f64, 4x4 and 32x32, with and without `out`. The
last lines split the 4x4 call into an empty call of a builtin function, the new result (the difference between the calls without
and with `out`), and the rest: operands, the interpreter's lock, and the product.
"""
import statistics
import sys

import timing

timing.set_threads(1)
numpy, torch = timing.module("numpy"), timing.module("torch")
sys.path.insert(0, sys.argv[1])
import backplane  # noqa: E402


def cases(arrays, empty, peer):
    """Yields (title, candidates) for arrays of one library."""
    ours = backplane.matmul
    for size in (4, 32):
        for dtype in ("float32", "float64"):
            a, b, c = arrays(size, dtype), arrays(size, dtype), empty(size, dtype)
            yield f"{size}x{size} {dtype}, new result", {
                "backplane": lambda a=a, b=b: ours(a, b), peer.__name__: lambda a=a, b=b: peer(a, b)}
            yield f"{size}x{size} {dtype}, out", {
                "backplane": lambda a=a, b=b, c=c: ours(a, b, out=c), peer.__name__: lambda a=a, b=b, c=c: peer(a, b, out=c)}


def show_steps(name, arrays, empty, rounds):
    a, b, c = arrays(4, "float64"), arrays(4, "float64"), empty(4, "float64")
    times = timing.interleave({"call": backplane._core.is_frozen, "out": lambda: backplane.matmul(a, b, out=c),
                               "new": lambda: backplane.matmul(a, b)}, 1, rounds)
    call, out, new = (statistics.median(times[each]) for each in ("call", "out", "new"))
    print(f"{name}, 4x4 float64: empty call {call:.0f} ns, operands and product {out - call:.0f} ns, new result {new - out:.0f} ns")


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 11
    backplane.settings.num_threads = 1
    print(f"Python {sys.version.split()[0]}, backplane {backplane.__version__}, numpy {timing.version(numpy)}, torch {timing.version(torch)}")
    groups = [("NumPy arrays", lambda n, t: numpy.random.rand(n, n).astype(t), lambda n, t: numpy.empty((n, n), t), numpy.matmul)]
    if torch:
        torch.set_num_threads(1)
        groups.append(("torch tensors", lambda n, t: torch.rand(n, n, dtype=getattr(torch, t)),
                       lambda n, t: torch.empty(n, n, dtype=getattr(torch, t)), torch.mm))
    for name, arrays, empty, peer in groups:
        sums = {}
        for title, candidates in cases(arrays, empty, peer):
            timing.show(f"{name}, {title}", timing.interleave(candidates, 1, rounds), "backplane", sums)
        timing.show_means(name, sums, "backplane")
        show_steps(name, arrays, empty, rounds)


main()
