"""fft.py - runs the fft program, then times backplane.fft, numpy.fft, scipy.fft and torch.fft in interleaved rounds, if installed.

    python bench/fft.py build/bench/fft [threads] [rounds] [peers]

`peers` skips the program. The package `backplane` is imported from build/python of the program's build. All transforms are
forward and complex. Each call allocates its result, as in user code."""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402

PROGRAM = Path(sys.argv[1])
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 11
timing.set_threads(THREADS)
sys.path.insert(0, str(PROGRAM.resolve().parent.parent / "python"))

import numpy  # noqa: E402

scipy, torch = timing.module("scipy"), timing.module("torch")
if scipy:
    import scipy.fft
if torch:
    torch.set_num_threads(THREADS)

import backplane  # noqa: E402
import backplane.fft  # noqa: E402

SHAPES = [(2**k,) for k in range(4, 21, 2)] + [(1000,), (10007,), (512, 512), "64*1024"]


def candidates(x, dims):
    yield "backplane", lambda: backplane.fft.fftn(x, dim=dims)
    yield "numpy", lambda: numpy.fft.fftn(x, axes=dims)
    if scipy:
        yield "scipy", lambda: scipy.fft.fftn(x, axes=dims, workers=THREADS)
    if torch:
        t = torch.from_numpy(x)
        yield "torch", lambda: torch.fft.fftn(t, dim=dims)


def main():
    if "peers" not in sys.argv:
        subprocess.run([str(PROGRAM)], check=True)
    print("numpy", numpy.__version__, "| scipy", timing.version(scipy), "| torch", timing.version(torch), f"| {THREADS} threads")
    backplane.settings.num_threads = THREADS
    random = numpy.random.default_rng(1)
    for dtype in (numpy.complex64, numpy.complex128):
        sums = {}
        for shape in SHAPES:
            sizes, dims = ((64, 1024), (1,)) if shape == "64*1024" else (shape, tuple(range(len(shape))))
            x = (random.standard_normal(sizes) + 1j * random.standard_normal(sizes)).astype(dtype)
            times = timing.interleave(dict(candidates(x, dims)), THREADS, ROUNDS)
            timing.show(f"{numpy.dtype(dtype).name} {shape}", times, "backplane", sums)
        timing.show_means(numpy.dtype(dtype).name, sums, "backplane")


main()
