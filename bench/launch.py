"""Compares programs with and without `backplane launch`: the same script, the same threads, in turns.

Usage: bench/launch.py COMMAND [--threads N] [--rounds N], where COMMAND is the backplane command. Programs that are not
installed are named and left out. Each script prints its times; the table has medians, and the smallest and largest ratio
of two neighbouring runs.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]

NUMPY = """
import time, numpy as np
rng = np.random.default_rng(1)
def best(f, n):
    f(); t = []
    for _ in range(n):
        s = time.perf_counter(); f(); t.append(time.perf_counter() - s)
    return sorted(t)[len(t) // 2]
a = rng.standard_normal((1000, 1000)); b = a[:300, :300].copy(); c = a.astype('f4'); small = a[:16, :16].copy()
print('product 1000 f64', best(lambda: a @ a, 5))
print('product 1000 f32', best(lambda: c @ c, 5))
print('product 300 f64', best(lambda: b @ b, 20))
print('product 16 f64', best(lambda: small @ small, 20000))
print('matrix-vector 1000 f64', best(lambda: a @ a[0], 50))
print('solve 1000 f64', best(lambda: np.linalg.solve(a, a[:, :10]), 3))
print('svd 300 f64', best(lambda: np.linalg.svd(b), 3))
"""
OCTAVE = """
function best(name, f, n)
  f(); t = zeros(1, n);
  for i = 1:n, s = tic; f(); t(i) = toc(s); end
  printf('%s %.9f\\n', name, median(t));
end
a = rand(1000); b = rand(300); c = single(a);
best('product 1000 f64', @() a * a, 5); best('product 1000 f32', @() c * c, 5); best('product 300 f64', @() b * b, 20);
best('solve 1000 f64', @() a \\ a(:, 1:10), 3); best('svd 300 f64', @() svd(b), 3);
best('fft 65536 f64', @() fft(rand(65536, 8)), 5);
"""
R = """
best <- function(name, f, n) { f(); t <- numeric(n); for (i in 1:n) { s <- Sys.time(); f(); t[i] <- as.numeric(Sys.time() - s, units = 'secs') }; cat(sprintf('%s %.9f\\n', name, median(t))) }
a <- matrix(rnorm(1e6), 1000); b <- matrix(rnorm(9e4), 300)
best('product 1000 f64', function() a %*% a, 5); best('product 300 f64', function() b %*% b, 20)
best('crossprod 1000 f64', function() crossprod(a), 5); best('solve 1000 f64', function() solve(a, a[, 1:10]), 3)
best('svd 300 f64', function() svd(b), 3)
"""


def programs():
    venv = ROOT / ".venv/bin/python"
    yield "NumPy, wheel", [str(venv), "-c", NUMPY] if venv.exists() else None
    debian = "/usr/bin/python3"
    has = os.path.exists(debian) and subprocess.run([debian, "-c", "import numpy"], capture_output=True).returncode == 0
    yield "NumPy, Debian", [debian, "-c", NUMPY] if has else None
    octave = shutil.which("octave-cli")
    yield "Octave", [octave, "--no-gui", "--quiet", "--eval", OCTAVE] if octave else None
    r = shutil.which("Rscript")
    yield "R", [r, "-e", R] if r else None


def times(words, environment):
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{words[:3]}: {done.stderr}")
    lines = [line.rsplit(" ", 1) for line in done.stdout.splitlines() if line.count(" ") >= 2]
    return {name: float(value) for name, value in lines}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "BACKPLANE_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, str(given.threads))}
    print(f"{given.threads} threads, {given.rounds} rounds\n")
    print("| program | operation | own library | launch | own / launch | lowest | highest |\n|---|---|---:|---:|---:|---:|---:|")
    for program, words in programs():
        if not words:
            print(f"| {program} | not installed | | | | | |")
            continue
        launched = [given.command, "launch", "--", *words]
        times(launched, environment)  # measures the machine's libraries if that was never done
        rounds = [(times(words, environment), times(launched, environment)) for _ in range(given.rounds)]
        for operation in rounds[0][0]:
            own = statistics.median(r[0][operation] for r in rounds)
            launch = statistics.median(r[1][operation] for r in rounds)
            ratios = [r[0][operation] / r[1][operation] for r in rounds]
            print(f"| {program} | {operation} | {own * 1e3:.4g} ms | {launch * 1e3:.4g} ms | {own / launch:.2f} "
                  f"| {min(ratios):.2f} | {max(ratios):.2f} |")


if __name__ == "__main__":
    main()
