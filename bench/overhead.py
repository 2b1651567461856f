"""overhead.py - times the overhead program, numpy.matmul and, if installed, torch.matmul in interleaved rounds.

    python bench/overhead.py build/bench/overhead [rounds]

All run on one thread. NumPy and PyTorch write into a given output, as Backplane does.
"""
import os
import statistics
import subprocess
import sys
import time

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy  # noqa: E402

try:
    import torch
    torch.set_num_threads(1)
except ImportError:
    torch = None


def per_call(function, *arguments, **keywords):
    repeats = 20000
    start = time.perf_counter_ns()
    for _ in range(repeats):
        function(*arguments, **keywords)
    return (time.perf_counter_ns() - start) / repeats


def main():
    program = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    rows = {}
    for _ in range(rounds):
        lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
        for line in lines[2:]:
            words = line.replace("[", " ").replace("]", " ").split()
            size = int(words[0])
            for name, value in (("cblas", words[1]), ("plan", words[2]), ("one-shot", words[3]),
                                ("plan - cblas", words[4]), ("one-shot - cblas", words[7])):
                rows.setdefault((size, name), []).append(float(value))
        for size in (2, 8, 64):
            a, b, c = numpy.random.rand(size, size), numpy.random.rand(size, size), numpy.empty((size, size))
            rows.setdefault((size, "numpy.matmul"), []).append(per_call(numpy.matmul, a, b, out=c))
            if torch:
                ta, tb, tc = torch.from_numpy(a), torch.from_numpy(b), torch.from_numpy(c)
                rows.setdefault((size, "torch.matmul"), []).append(per_call(torch.matmul, ta, tb, out=tc))
    print(lines[0])
    print("numpy", numpy.__version__, "| torch", torch.__version__ if torch else "not installed")
    print(f"{'size':>4} {'what':<18} {'median ns':>10} {'min':>9} {'max':>9}   ({rounds} rounds)")
    for (size, name), values in sorted(rows.items(), key=lambda row: row[0][0]):
        print(f"{size:>4} {name:<18} {statistics.median(values):>10.1f} {min(values):>9.1f} {max(values):>9.1f}")


main()
