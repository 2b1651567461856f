"""linalg.py - runs the linalg program, then times backplane.linalg, numpy.linalg, scipy.linalg and torch.linalg in interleaved
rounds, if installed.

    python bench/linalg.py build/bench/linalg [threads] [rounds] [largest] [peers]

`peers` skips the program. The package `backplane` is imported from build/python of the program's build. Matrices are row-major
and random. Each call allocates its results, as in user code."""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402

PROGRAM = Path(sys.argv[1])
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 7
LARGEST = int(sys.argv[4]) if len(sys.argv) > 4 else 2048
timing.set_threads(THREADS)
sys.path.insert(0, str(PROGRAM.resolve().parent.parent / "python"))

import numpy  # noqa: E402

scipy, torch = timing.module("scipy"), timing.module("torch")
if scipy:
    import scipy.linalg
if torch:
    torch.set_num_threads(THREADS)

import backplane  # noqa: E402
import backplane.linalg  # noqa: E402

# Operation: whether its matrix must be positive definite, the largest size, and the calls of NumPy (None: it has none), SciPy, and
# Backplane and PyTorch.
OPERATIONS = {
    "inv": (False, 2048, "inv(a)", "inv(a)", "inv(a)"),
    "cholesky": (True, 2048, "cholesky(a)", "cholesky(a, lower=True)", "cholesky(a)"),
    "lu_factor": (False, 2048, None, "lu_factor(a)", "lu_factor(a)"),
    "solve": (False, 2048, "solve(a, b)", "solve(a, b)", "solve(a, b)"),
    "det": (False, 2048, "det(a)", "det(a)", "det(a)"),
    "qr": (False, 2048, "qr(a)", "qr(a, mode='economic')", "qr(a)"),
    "eigh": (True, 1024, "eigh(a)", "eigh(a, driver='evd')", "eigh(a)"),
    "svd": (False, 1024, "svd(a, full_matrices=False)", "svd(a, full_matrices=False)", "svd(a, full_matrices=False)"),
    "eig": (False, 512, "eig(a)", "eig(a)", "eig(a)"),
    "lstsq": (False, 512, "lstsq(a, b, rcond=None)", "lstsq(a, b, lapack_driver='gelsy')", "lstsq(a, b)"),
}


def candidates(row, a, b):
    texts = {"backplane": (backplane.linalg, row[4]), "numpy": (numpy.linalg, row[2])}
    if scipy:
        texts["scipy"] = (scipy.linalg, row[3])
    for name, (module, text) in texts.items():
        if text:
            yield name, eval(f"lambda: f.{text}", {"f": module, "a": a, "b": b})
    if torch:
        yield "torch", eval(f"lambda: f.{row[4]}", {"f": torch.linalg, "a": torch.from_numpy(a), "b": torch.from_numpy(b)})


def main():
    if "peers" not in sys.argv:
        subprocess.run([str(PROGRAM)], check=True)
    print("numpy", numpy.__version__, "| scipy", timing.version(scipy), "| torch", timing.version(torch), f"| {THREADS} threads")
    backplane.settings.num_threads = THREADS
    random = numpy.random.default_rng(1)
    for dtype in (numpy.float64, numpy.float32):
        sums = {}
        for name, row in OPERATIONS.items():
            for n in (64, 128, 256, 512, 1024, 2048):
                if n > min(row[1], LARGEST):
                    continue
                a, b = random.standard_normal((n, n)).astype(dtype), random.standard_normal((n, 16)).astype(dtype)
                a = (a @ a.T + n * numpy.eye(n, dtype=dtype)).astype(dtype) if row[0] else a
                times = timing.interleave(dict(candidates(row, a, b)), THREADS, ROUNDS)
                timing.show(f"{name} {numpy.dtype(dtype).name} {n}", times, "backplane", sums)
        timing.show_means(numpy.dtype(dtype).name, sums, "backplane")


main()
