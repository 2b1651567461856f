"""einsum_path.py - runs the einsum_path program, then times backplane.einsum_path and, if installed, opt_einsum on the same
networks.

    python bench/einsum_path.py build/bench/einsum_path [peers]

Times are minima of several calls, from Python and without a cache. Backplane gets shapes and the expression as text, or lists of
labels if there are more than 52. opt_einsum gets sets that were made before. All costs are counted by opt_einsum's function.
`peers` skips the program. tools/einsum_picture.py reads the lines that begin with "net"."""
import math
import statistics
import string
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = Path(sys.argv[1])
sys.path.insert(0, str(PROGRAM.resolve().parent.parent / "python"))

import backplane  # noqa: E402
from networks import circuit, regular  # noqa: E402

try:
    import opt_einsum
except ImportError:
    opt_einsum = None


def cost(terms, sizes, output, path):
    """Returns log10 of the operations of a path, counted as opt_einsum counts them."""
    left, total = [frozenset(term) for term in terms], 0
    uses = {}
    for labels in [*left, output]:
        for label in labels:
            uses[label] = uses.get(label, 0) + 1
    for step in path:
        taken = [left.pop(i) for i in sorted(step, reverse=True)]
        labels = frozenset().union(*taken)
        gone = set()
        for label in labels:
            count = sum(label in each for each in taken)
            uses[label] -= count
            if uses[label] == 0:
                gone.add(label)
            else:
                uses[label] += 1
        total += math.prod(sizes[label] for label in labels) * (max(1, len(taken) - 1) + bool(gone))
        left.append(labels - gone)
    return math.log10(total)


def timed(function, least=0.05):
    """Returns the minimum time of several calls, and the result. Makes one call if that takes longer than `least` seconds."""
    best, spent, result = math.inf, 0.0, None
    while spent < least:
        start = time.perf_counter()
        result = function()
        took = time.perf_counter() - start
        best, spent = min(best, took), spent + took
    return best, result


def ours(terms, sizes, output, strategy, seed=0):
    shapes = [tuple(sizes[label] for label in term) for term in terms]
    call = [each for pair in zip(shapes, terms) for each in pair] + [output]
    if len(sizes) <= 52:
        words = ["".join(string.ascii_letters[label] for label in term) for term in [*terms, output]]
        call = [",".join(words[:-1]) + "->" + words[-1], *shapes]
    return timed(lambda: backplane.einsum_path(*call, shapes=True, optimize=strategy, seed=seed)[0])


def as_long(net, allowed, taken):
    """Runs random-greedy for about the time `allowed` that auto-hq took; `taken` is the time of 128 trials."""
    t, path = ours(*net, f"random-greedy-{max(1, math.ceil(128 * allowed / taken))}")
    return t, cost(*net, path)


def theirs(terms, sizes, output, strategy):
    sets, known = [frozenset(term) for term in terms], dict(enumerate(sizes))
    functions = {"dp": opt_einsum.paths.dynamic_programming, "greedy": opt_einsum.paths.greedy, "auto": opt_einsum.paths.auto,
                 "random-greedy-128": opt_einsum.path_random.random_greedy_128}
    return timed(lambda: functions[strategy](sets, frozenset(output), known))


def compare(name, nets, mine, peers):
    """Prints mean time and cost over the networks for each strategy, and the cost relative to the first one."""
    found = {}
    for strategy in mine:
        found["backplane " + strategy] = [(t, cost(*net, path)) for net in nets for t, path in [ours(*net, strategy)]]
    if "auto-hq" in mine:
        found["backplane random-greedy, as long"] = [as_long(net, *times) for net, *times in zip(
            nets, *([row[0] for row in found["backplane " + each]] for each in ("auto-hq", "random-greedy-128")))]
    for strategy in peers if opt_einsum else ():
        found["opt_einsum " + strategy] = [(t, cost(*net, path)) for net in nets for t, path in [theirs(*net, strategy)]]
    base = next(iter(found.values()))
    for who, rows in found.items():
        worse = max(row[1] - first[1] for row, first in zip(rows, base))
        print(f"net {name:<14} {who:<32} {statistics.mean(row[0] for row in rows) * 1e6:>12.1f} us  log10 {statistics.mean(row[1] for row in rows):>8.4f}"
              f"  largest factor above the first line {10**worse:.4g}")
    sys.stdout.flush()


def main():
    if "peers" not in sys.argv:
        subprocess.run([str(PROGRAM)], check=True)
    backplane.set_flags(**{"einsum.path_cache.max_size": 0})
    print("opt_einsum", opt_einsum.__version__ if opt_einsum else "not installed")
    for n in (4, 6, 8, 10, 12, 14, 16, 18, 20):
        compare(f"regular-{n}", [regular(n, seed, 9) for seed in range(5)], ["auto", "dp"], ["dp", "auto"])
    for n in (25, 50, 100):
        compare(f"regular-{n}", [regular(n, seed, 6) for seed in range(3)], ["random-greedy-128", "auto", "greedy", "auto-hq", "random-greedy-1024"],
                ["random-greedy-128", "greedy"])
    compare("circuit-379", [circuit(6, 9, 12, 8)], ["random-greedy-128", "auto", "greedy", "auto-hq", "random-greedy-512"],
            ["random-greedy-128", "greedy"])
    everywhere = [regular(n, seed, 6) for n in (25, 50, 100) for seed in range(12)]
    everywhere += [circuit(rows, columns, depth, 0) for rows, columns in ((3, 3), (4, 4), (4, 5), (5, 6)) for depth in (6, 8, 10, 12)]
    compare("mixed-52", everywhere, ["greedy"], ["greedy"])


main()
