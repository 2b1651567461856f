"""timing.py - times functions in interleaved rounds for the Python benchmarks, and reports medians with quartiles.

The thread count of a library is set before it is imported, so a benchmark runs with one count."""
import importlib
import math
import os
import statistics
import sys
import time
import types

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def set_threads(count):
    """Sets the thread count. Must be called before NumPy, SciPy and PyTorch are imported."""
    for variable in VARIABLES:
        os.environ[variable] = str(count)


def module(name):
    """Returns an optional module, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def load(package, threads):
    """Imports backplane from the folder `package`, and its peers, as far as they are installed, with this number of threads."""
    set_threads(threads)
    sys.path.insert(0, str(package))
    names = {"numpy": (), "scipy": ("scipy.fft", "scipy.linalg"), "torch": (), "opt_einsum": ()}
    found = {name: module(name) for name in names}
    for name, parts in names.items():
        for part in parts if found[name] else ():
            importlib.import_module(part)
    if found["torch"]:
        found["torch"].set_num_threads(threads)
    backplane = importlib.import_module("backplane")
    for part in ("fft", "linalg"):
        importlib.import_module(f"backplane.{part}")
    backplane.settings.num_threads = threads
    return types.SimpleNamespace(backplane=backplane, threads=threads, **found)


def versions(libraries, names):
    return " | ".join(f"{name} {version(getattr(libraries, name))}" for name in names) + f" | {libraries.threads} threads"


def version(of):
    return of.__version__ if of else "not installed"


def per_call(function, repeats):
    start = time.perf_counter_ns()
    for _ in range(repeats):
        function()
    return (time.perf_counter_ns() - start) / repeats


def interleave(candidates, threads, rounds, sample_ns=2e6):
    """Returns the nanoseconds per call of each round, by name. With several threads, waits until idle library threads sleep."""
    repeats, times = {}, {name: [] for name in candidates}
    for name, function in candidates.items():
        function()
        repeats[name] = max(1, int(sample_ns / max(per_call(function, 1), 1)))
    for _ in range(rounds):
        for name, function in candidates.items():
            if threads > 1:
                time.sleep(0.04)
            function()
            times[name].append(per_call(function, repeats[name]))
    return times


def show(title, times, ours, sums):
    """Prints one case, and adds log(peer / ours) to the sums of each peer."""
    print(title)
    mine = statistics.median(times[ours])
    for name, values in times.items():
        low, _, high = statistics.quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
        median = statistics.median(values)
        print(f"  {name:<12} {median / 1e3:>12.2f} us [{low / 1e3:>10.2f}, {high / 1e3:>10.2f}]  {median / mine:>7.3f} x {ours}")
        if name != ours:
            sums.setdefault(name, []).append(math.log(median / mine))
    sys.stdout.flush()


def show_all(cases, threads, rounds):
    """Times all cases: (element type, title, candidates). Prints each, and the means of each element type."""
    sums = {}
    for kind, title, candidates in cases:
        show(f"{kind} {title}", interleave(candidates, threads, rounds), "backplane", sums.setdefault(kind, {}))
    for kind, logs in sums.items():
        show_means(kind, logs, "backplane")


def show_means(title, sums, ours):
    for name, logs in sums.items():
        print(f"{title}: {ours} is {math.exp(sum(logs) / len(logs)):.3f} times as fast as {name} (geometric mean of {len(logs)} cases)")
