"""einsum.py - runs the einsum program, then times backplane.einsum, numpy.einsum(optimize=True), torch.einsum and
opt_einsum.contract on NumPy in interleaved rounds, if installed. torch.einsum uses opt_einsum's order if that is installed.

    python bench/einsum.py build/bench/einsum [threads] [rounds] [peers] [table] [name]

`peers` skips the program. `name` selects cases by a part of their names. The package `backplane` is imported from build/python
of the program's build. Each call allocates its result, as in user code; torch gets tensors. `table` also prints the medians as
Markdown rows, with the speedup of Backplane. Results are first compared with NumPy's. peers.py uses the same calls with other
expressions."""
import re
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import timing  # noqa: E402

OURS = "backplane"
BOUNDS = {"float32": 1e-4, "float64": 1e-12}


def examples(wanted):
    text = (Path(__file__).parent / "einsum_cases.h").read_text()
    return [each for each in re.findall(r'^CASE\("(.*)", "(.*)", "(.*)"\)$', text, re.M) if wanted in each[0]]


def candidates(libraries, expression, arrays):
    yield OURS, lambda: libraries.backplane.einsum(expression, *arrays)
    yield "numpy", lambda: libraries.numpy.einsum(expression, *arrays, optimize=True)
    if libraries.torch:
        tensors = [libraries.torch.from_numpy(array) for array in arrays]
        yield "torch", lambda: libraries.torch.einsum(expression, *tensors)
    if libraries.opt_einsum:
        yield "opt_einsum", lambda: libraries.opt_einsum.contract(expression, *arrays)


def check(libraries, expression, arrays, bound):
    """Exits if a result differs from NumPy's by more than bound times the contraction of absolute values."""
    numpy = libraries.numpy
    wide = [array.astype(numpy.float64) for array in arrays]
    wanted = numpy.einsum(expression, *wide, optimize=True)
    scale = numpy.einsum(expression, *[abs(array) for array in wide], optimize=True)
    error = abs(libraries.backplane.einsum(expression, *arrays) - wanted)
    if not (error <= bound * scale).all():
        sys.exit(f"{expression}: wrong by {(error / scale).max():.3g}")


def cases(libraries, wanted):
    """Yields (element type, title, candidates) for (name, expression, sizes of labels)."""
    numpy = libraries.numpy
    random = numpy.random.default_rng(1)
    for dtype, bound in BOUNDS.items():
        for name, expression, groups in wanted:
            sizes = {label: int(size) for labels, size in (group.split("=") for group in groups.split(",")) for label in labels}
            shapes = [[sizes[label] for label in term] for term in expression.split("->")[0].split(",")]
            arrays = [numpy.asarray(random.standard_normal(shape)).astype(dtype) for shape in shapes]
            check(libraries, expression, arrays, bound)
            yield dtype, f"{name}: {expression}, {groups}", dict(candidates(libraries, expression, arrays))


def row(example, times):
    name, expression, groups = example
    medians = {peer: statistics.median(values) / 1e3 for peer, values in times.items()}
    cells = [f"{medians[OURS]:.4g}"]
    cells += [f"{median:.4g} ({median / medians[OURS]:.2f})" for peer, median in medians.items() if peer != OURS]
    return f"| {name} | `{expression}` | {groups} | " + " | ".join(cells) + " |"


def print_table(dtype, rows, sums):
    peers = " | ".join(f"{peer}, µs (×)" for peer in sums)
    print(f"\n| {dtype} | expression | sizes | ours, µs | {peers} |")
    print("|---|---|---|" + "---:|" * (1 + len(sums)))
    print("\n".join(rows) + "\n")


def main():
    program = Path(sys.argv[1])
    numbers = [int(word) for word in sys.argv[2:] if word.isdigit()]
    words = [word for word in sys.argv[2:] if not word.isdigit()]
    threads, rounds = (numbers + [1, 11][len(numbers):])[:2]
    wanted = next((word for word in words if word not in ("peers", "table")), "")
    libraries = timing.load(program.resolve().parent.parent / "python", threads)
    if "peers" not in words:
        subprocess.run([str(program), "f32,f64", str(threads), str(rounds), wanted], check=True)
    torch = libraries.torch
    order = getattr(torch.backends.opt_einsum, "is_available", bool)() if torch else False
    print(timing.versions(libraries, ("numpy", "torch", "opt_einsum")), "| torch", "with" if order else "without", "opt_einsum")
    chosen = examples(wanted)
    sums, rows = {}, {}
    for i, (dtype, title, calls) in enumerate(cases(libraries, chosen)):
        times = timing.interleave(calls, threads, rounds)
        timing.show(f"{dtype} {title}", times, OURS, sums.setdefault(dtype, {}))
        rows.setdefault(dtype, []).append(row(chosen[i % len(chosen)], times))
    for dtype, logs in sums.items():
        timing.show_means(dtype, logs, OURS)
        if "table" in words:
            print_table(dtype, rows[dtype], logs)


if __name__ == "__main__":
    main()
