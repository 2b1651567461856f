"""einsum.py - runs the einsum program, then times backplane.einsum, numpy.einsum(optimize=True), torch.einsum and
opt_einsum.contract on NumPy in interleaved rounds, if installed. torch.einsum uses opt_einsum's order if that is installed.

    python bench/einsum.py build/bench/einsum [threads] [rounds] [peers] [table] [name]

`peers` skips the program. `name` selects cases by a part of their names. The package `backplane` is imported from build/python
of the program's build. Each call allocates its result, as in user code; torch gets tensors. `table` also prints the medians as
Markdown rows, with the speedup of Backplane. Results are first compared with NumPy's."""
import re
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402

PROGRAM = Path(sys.argv[1])
NUMBERS = [int(word) for word in sys.argv[2:] if word.isdigit()]
WORDS = [word for word in sys.argv[2:] if not word.isdigit()]
THREADS, ROUNDS = (NUMBERS + [1, 11][len(NUMBERS):])[:2]
WANTED = next((word for word in WORDS if word not in ("peers", "table")), "")
timing.set_threads(THREADS)
sys.path.insert(0, str(PROGRAM.resolve().parent.parent / "python"))

import numpy  # noqa: E402

torch, opt_einsum = timing.module("torch"), timing.module("opt_einsum")
if torch:
    torch.set_num_threads(THREADS)

import backplane  # noqa: E402

OURS = "backplane"


def cases():
    text = (Path(__file__).parent / "einsum_cases.h").read_text()
    for name, expression, groups in re.findall(r'^CASE\("(.*)", "(.*)", "(.*)"\)$', text, re.M):
        sizes = {label: int(size) for labels, size in (group.split("=") for group in groups.split(",")) for label in labels}
        shapes = [[sizes[label] for label in term] for term in expression.split("->")[0].split(",")]
        if WANTED in name:
            yield name, expression, groups, shapes


def candidates(expression, arrays):
    yield OURS, lambda: backplane.einsum(expression, *arrays)
    yield "numpy", lambda: numpy.einsum(expression, *arrays, optimize=True)
    if torch:
        tensors = [torch.from_numpy(array) for array in arrays]
        yield "torch", lambda: torch.einsum(expression, *tensors)
    if opt_einsum:
        yield "opt_einsum", lambda: opt_einsum.contract(expression, *arrays)


def check(expression, arrays, bound):
    """Exits if a result differs from NumPy's by more than bound times the contraction of absolute values."""
    wide = [array.astype(numpy.float64) for array in arrays]
    wanted = numpy.einsum(expression, *wide, optimize=True)
    scale = numpy.einsum(expression, *[abs(array) for array in wide], optimize=True)
    error = abs(backplane.einsum(expression, *arrays) - wanted)
    if not (error <= bound * scale).all():
        sys.exit(f"{expression}: wrong by {(error / scale).max():.3g}")


def row(name, expression, groups, times):
    medians = {peer: statistics.median(values) / 1e3 for peer, values in times.items()}
    cells = [f"{medians[OURS]:.4g}"]
    cells += [f"{median:.4g} ({median / medians[OURS]:.2f})" for peer, median in medians.items() if peer != OURS]
    return f"| {name} | `{expression}` | {groups} | " + " | ".join(cells) + " |"


def benchmark_all(dtype, bound, sums):
    random = numpy.random.default_rng(1)
    rows = []
    for name, expression, groups, shapes in cases():
        arrays = [numpy.asarray(random.standard_normal(shape)).astype(dtype) for shape in shapes]
        check(expression, arrays, bound)
        times = timing.interleave(dict(candidates(expression, arrays)), THREADS, ROUNDS)
        timing.show(f"{numpy.dtype(dtype).name} {name}: {expression}, {groups}", times, OURS, sums)
        rows.append(row(name, expression, groups, times))
    return rows


def main():
    if "peers" not in WORDS:
        subprocess.run([str(PROGRAM), "f32,f64", str(THREADS), str(ROUNDS), WANTED], check=True)
    order = getattr(torch.backends.opt_einsum, "is_available", bool)() if torch else False
    print("numpy", numpy.__version__, "| torch", timing.version(torch), "with opt_einsum" if order else "without opt_einsum",
          "| opt_einsum", timing.version(opt_einsum), f"| {THREADS} threads")
    backplane.settings.num_threads = THREADS
    for dtype, bound in ((numpy.float32, 1e-4), (numpy.float64, 1e-12)):
        sums = {}
        rows = benchmark_all(dtype, bound, sums)
        timing.show_means(numpy.dtype(dtype).name, sums, OURS)
        if "table" in WORDS:
            peers = " | ".join(f"{peer}, µs (×)" for peer in sums)
            print(f"\n| {numpy.dtype(dtype).name} | expression | sizes | ours, µs | {peers} |")
            print("|---|---|---|" + "---:|" * (1 + len(sums)))
            print("\n".join(rows) + "\n")


main()
