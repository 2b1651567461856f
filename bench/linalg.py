"""linalg.py - runs the linalg program, then times backplane.linalg, numpy.linalg, scipy.linalg and torch.linalg in interleaved
rounds, if installed.

    python bench/linalg.py build/bench/linalg [threads] [rounds] [largest] [peers]

`peers` skips the program. The package `backplane` is imported from build/python of the program's build. Matrices are row-major
and random. Each call allocates its results, as in user code. peers.py uses the same calls with other sizes."""
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402

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
SIZES = ("64", "128", "256", "512", "1024", "2048")
RIGHT_SIDES = 16


def candidates(libraries, row, a, b):
    texts = {"backplane": (libraries.backplane.linalg, row[4]), "numpy": (libraries.numpy.linalg, row[2])}
    if libraries.scipy:
        texts["scipy"] = (libraries.scipy.linalg, row[3])
    for name, (module, text) in texts.items():
        if text:
            yield name, eval(f"lambda: f.{text}", {"f": module, "a": a, "b": b})
    if libraries.torch:
        torch = libraries.torch
        yield "torch", eval(f"lambda: f.{row[4]}", {"f": torch.linalg, "a": torch.from_numpy(a), "b": torch.from_numpy(b)})


def cases(libraries, names=tuple(OPERATIONS), sizes=SIZES, largest=2048):
    """Yields (element type, title, candidates); 50*7 are 50 matrices of 7x7."""
    numpy = libraries.numpy
    random = numpy.random.default_rng(1)
    for dtype in ("float64", "float32"):
        for name in names:
            row = OPERATIONS[name]
            for size in sizes:
                batch, _, n = size.rpartition("*")
                n, shape = int(n), (int(batch),) if batch else ()
                if n > min(row[1], largest):
                    continue
                a, b = random.standard_normal((*shape, n, n)).astype(dtype), random.standard_normal((*shape, n, RIGHT_SIDES)).astype(dtype)
                a = (a @ a.swapaxes(-1, -2) + n * numpy.eye(n, dtype=dtype)).astype(dtype) if row[0] else a
                yield dtype, f"{name} {size}", dict(candidates(libraries, row, a, b))


def main():
    program = Path(sys.argv[1])
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    largest = int(sys.argv[4]) if len(sys.argv) > 4 else 2048
    libraries = timing.load(program.resolve().parent.parent / "python", threads)
    if "peers" not in sys.argv:
        subprocess.run([str(program)], check=True)
    print(timing.versions(libraries, ("numpy", "scipy", "torch")))
    timing.show_all(cases(libraries, largest=largest), threads, rounds)


if __name__ == "__main__":
    main()
