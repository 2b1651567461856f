"""python_calls.py - times calls of small arrays from Python against NumPy and, if it is installed, torch.

    python bench/python_calls.py build/python [rounds]

The argument is the folder that has the built package. One thread. First products, f32 and f64, 4x4 and 32x32, with and without `out`. The
next lines split the 4x4 call into an empty call of a builtin function, the new result (the difference between the calls without
and with `out`), and the rest: operands, the interpreter's lock, and the product. Then functions of elements, reductions, norms and layers, whose new
results need no frame of Python.
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


def pair(ours, peer, *given):
    """Returns the candidates of one call. The functions are found before, because the search is no part of the call."""
    return {"backplane": lambda: ours(*given), "peer": lambda: peer(*given)}


def small_cases(arrays, peer, layers):
    """Yields (title, candidates) of other functions: functions of a library of arrays, and of its layers if it has some."""
    x, y = arrays((16,)), arrays((16,))
    yield "sum of 16 elements", pair(backplane.reduce.sum, peer.sum, x)
    yield "sum of 16 elements, method of the peer", pair(backplane.reduce.sum, type(x).sum, x)
    yield "add of 16 elements", pair(backplane.elementwise.add, peer.add, x, y)
    yield "exp of 16 elements", pair(backplane.elementwise.exp, peer.exp, x)
    for size in (16, 64):
        yield f"norm of {size}x{size}", pair(backplane.linalg.norm, peer.linalg.norm, arrays((size, size)))
    if layers:
        q, rows, weight, functional = arrays((1, 1, 4, 8)), arrays((2, 4)), arrays((3, 4)), backplane.nn.functional
        yield "attention of 4x8", pair(functional.scaled_dot_product_attention, layers.scaled_dot_product_attention, q, q, q)
        yield "linear layer of 2x4 and 3x4", pair(functional.linear, layers.linear, rows, weight)


def show_small(rounds):
    groups = [("NumPy arrays", lambda shape: numpy.random.rand(*shape).astype("float32"), numpy, None)]
    if torch:
        torch.set_grad_enabled(False)
        groups.append(("torch tensors", lambda shape: torch.rand(shape), torch, torch.nn.functional))
    for name, arrays, peer, layers in groups:
        sums = {}
        for title, candidates in small_cases(arrays, peer, layers):
            timing.show(f"{name}, f32, {title}", timing.interleave(candidates, 1, rounds), "backplane", sums)
        timing.show_means(name, sums, "backplane")


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
    show_small(rounds)


main()
