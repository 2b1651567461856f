"""launch.py - compares programs with and without `backplane launch`: the same script, the same threads, in turns

Usage: bench/launch.py COMMAND [--threads N] [--rounds N] [--own FOLDERS] [--library NAME] [--python PYTHON ...] [PROGRAM ...]
--own has directories for LD_LIBRARY_PATH in both runs, so that programs of the system have the libblas.so.3 and liblapack.so.3 of
another library as their own. --library goes to `launch`. COMMAND is the backplane command. --python names interpreters with
NumPy, SciPy or PyTorch (default: .venv's, and /usr/bin/python3). PROGRAM is numpy, scipy, torch, octave, r or hpcc; all of them by default. Programs
that are not installed are named and left out. A time is the least of a few calls in one process. The table has medians over the processes, and the
smallest and largest ratio of two neighbouring ones. "Ran" is where
`launch --profile` says that most of the time of math routines was spent, of a run that is not timed.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
from client_tests import HPCC_INPUT  # noqa: E402

PYTHON = """
import time
def best(f, n):
    f(); t = []
    for _ in range(n):
        s = time.perf_counter(); f(); t.append(time.perf_counter() - s)
    return min(t)
"""
NUMPY = PYTHON + """
import numpy as np
rng = np.random.default_rng(1)
a = rng.standard_normal((1000, 1000)); b = a[:300, :300].copy(); c = a.astype('f4'); small = a[:16, :16].copy(); z = b + 1j * b.T
tall = rng.standard_normal((20000, 40)); h = b @ b.T + 300 * np.eye(300)
print('version', np.__version__)
print('product 1000 f64', best(lambda: a @ a, 5))
print('product 1000 f32', best(lambda: c @ c, 5))
print('product 300 f64', best(lambda: b @ b, 20))
print('product 300 c128', best(lambda: z @ z, 10))
print('product 40x20000x40 f64', best(lambda: tall.T @ tall, 10))
print('product 16 f64', best(lambda: small @ small, 20000))
print('matrix-vector 1000 f64', best(lambda: a @ a[0], 50))
print('solve 1000 f64', best(lambda: np.linalg.solve(a, a[:, :10]), 3))
print('cholesky 300 f64', best(lambda: np.linalg.cholesky(h), 20))
print('eigh 300 f64', best(lambda: np.linalg.eigh(h), 3))
print('svd 300 f64', best(lambda: np.linalg.svd(b), 3))
"""
SCIPY = PYTHON + """
import numpy as np, scipy, scipy.linalg as la, scipy.linalg.blas as blas
rng = np.random.default_rng(1)
a = np.asfortranarray(rng.standard_normal((1000, 1000))); b = np.asfortranarray(a[:300, :300]); h = b @ b.T + 300 * np.eye(300)
print('version', scipy.__version__)
print('dgemm 1000 f64', best(lambda: blas.dgemm(1.0, a, a), 5))
print('lu_factor 1000 f64', best(lambda: la.lu_factor(a), 3))
print('cho_solve 300 f64', best(lambda: la.cho_solve(la.cho_factor(h), b), 10))
print('qr 300 f64', best(lambda: la.qr(b), 5))
print('eig 200 f64', best(lambda: la.eig(b[:200, :200]), 3))
print('expm 300 f64', best(lambda: la.expm(b / 100), 3))
"""
TORCH = PYTHON + """
import os, torch
torch.set_num_threads(int(os.environ['OMP_NUM_THREADS'])); torch.manual_seed(1)
a = torch.randn(1000, 1000, dtype=torch.float64); b = a[:300, :300].contiguous(); c = a.float()
layer = torch.nn.Linear(512, 512); x = torch.randn(64, 512)
print('version', torch.__version__)
print('product 1000 f64', best(lambda: a @ a, 5))
print('product 1000 f32', best(lambda: c @ c, 5))
print('product 300 f64', best(lambda: b @ b, 20))
with torch.no_grad():
    print('linear 64x512x512 f32', best(lambda: layer(x), 50))
print('solve 1000 f64', best(lambda: torch.linalg.solve(a, a[:, :10]), 3))
print('svd 300 f64', best(lambda: torch.linalg.svd(b), 3))
"""
OCTAVE = """
function best(name, f, n)
  f(); t = zeros(1, n);
  for i = 1:n, s = tic; f(); t(i) = toc(s); end
  printf('%s %.9f\\n', name, min(t));
end
a = rand(1000); b = rand(300); c = single(a);
printf('version %s\\n', version());
best('product 1000 f64', @() a * a, 5); best('product 1000 f32', @() c * c, 5); best('product 300 f64', @() b * b, 20);
best('solve 1000 f64', @() a \\ a(:, 1:10), 3); best('svd 300 f64', @() svd(b), 3);
best('fft 65536 f64', @() fft(rand(65536, 8)), 5);
"""
R = """
best <- function(name, f, n) { f(); t <- numeric(n); for (i in 1:n) { s <- Sys.time(); f(); t[i] <- as.numeric(Sys.time() - s, units = 'secs') }; cat(sprintf('%s %.9f\\n', name, min(t))) }
cat('version', paste(R.version$major, R.version$minor, sep = '.'), '\\n')
a <- matrix(rnorm(1e6), 1000); b <- matrix(rnorm(9e4), 300)
best('product 1000 f64', function() a %*% a, 5); best('product 300 f64', function() b %*% b, 20)
best('crossprod 1000 f64', function() crossprod(a), 5); best('solve 1000 f64', function() solve(a, a[, 1:10]), 3)
best('svd 300 f64', function() svd(b), 3)
"""


def programs(given):
    """The name of each program, and the words that run it."""
    for python in given.python:
        for module, script in (("numpy", NUMPY), ("scipy", SCIPY), ("torch", TORCH)):
            if module in given.program:
                has = shutil.which(python) and subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0
                where = "Debian" if python.startswith("/usr/bin/") else "wheel"
                yield f"{module}, {where}", [python, "-c", script] if has else None
    octave, r, hpcc = shutil.which("octave-cli"), shutil.which("Rscript"), shutil.which("hpcc")
    if "octave" in given.program:
        yield "Octave", [octave, "--no-gui", "--quiet", "--norc", "--eval", OCTAVE] if octave else None
    if "r" in given.program:
        yield "R", [r, "-e", R] if r else None
    if "hpcc" in given.program:
        yield "HPCC", [hpcc] if hpcc else None


def hpcc_times(folder):
    """Seconds for 10^12 operations, so that less is better, as for the others."""
    text = (pathlib.Path(folder) / "hpccoutf.txt").read_text()
    found = dict(re.findall(r"^(\w+)=(\S+)$", text, re.M))
    if found.get("Success") != "1":
        raise SystemExit(f"hpcc failed: {text[-1000:]}")
    return {"HPL 3000 f64": 1 / float(found["HPL_Tflops"]), "StarDGEMM f64": 1000 / float(found["StarDGEMM_Gflops"])}, "1.5.0"


def times(words, environment, folder):
    """The time of each operation, and the program's version."""
    (pathlib.Path(folder) / "hpccoutf.txt").unlink(missing_ok=True)
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=folder)
    if done.returncode:
        raise SystemExit(f"{words[:3]}: {done.stderr}")
    if words[-1].endswith("hpcc"):
        return hpcc_times(folder)
    lines = dict(line.strip().rsplit(" ", 1) for line in done.stdout.splitlines() if re.match(r".* [\d.e-]+ *$|^version ", line))
    version = lines.pop("version", "?")
    return {name: float(value) for name, value in lines.items()}, version


def where(words, environment, folder):
    """The libraries that took most of the time with `launch`, from its profile."""
    with tempfile.NamedTemporaryFile("r") as file:
        subprocess.run([*words[:2], "--profile", "-o", file.name, *words[2:]], capture_output=True, env=environment, cwd=folder)
        rows = [re.split(r"\s{2,}", line.strip()) for line in file.read().splitlines()]
    shares = {}
    for row in rows:
        share = re.search(r"([\d.]+) %", " ".join(row))
        if len(row) >= 5 and share:
            shares[row[-1]] = shares.get(row[-1], 0) + float(share.group(1))
    return ", ".join(f"{name} {share:.0f} %" for name, share in sorted(shares.items(), key=lambda item: -item[1])[:3])


def measure(program, words, given, environment, folder):
    launched = [given.command, "launch", *(["--library", given.library] if given.library else []), "--", *words]
    times(launched, environment, folder)  # measures the machine's libraries if that was never done
    rounds = [(times(words, environment, folder), times(launched, environment, folder)) for _ in range(given.rounds)]
    version = rounds[0][0][1]
    for operation in rounds[0][0][0]:
        own = statistics.median(r[0][0][operation] for r in rounds)
        launch = statistics.median(r[1][0][operation] for r in rounds)
        ratios = [r[0][0][operation] / r[1][0][operation] for r in rounds]
        print(f"| {program} {version} | {operation} | {own * 1e3:.4g} | {launch * 1e3:.4g} | {own / launch:.2f} | {min(ratios):.2f} | {max(ratios):.2f} |", flush=True)
    return f"{program}: {where(launched, environment, folder)}"


def main():
    every = ["numpy", "scipy", "torch", "octave", "r", "hpcc"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", type=os.path.abspath)
    parser.add_argument("program", nargs="*", default=every)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--own")
    parser.add_argument("--library")
    parser.add_argument("--python", nargs="*", default=[str(ROOT / ".venv/bin/python"), "/usr/bin/python3"])
    given = parser.parse_args()
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "BACKPLANE_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, str(given.threads)), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if given.own:
        environment["LD_LIBRARY_PATH"] = given.own
    print(f"{given.threads} threads, {given.rounds} rounds; times in ms (of HPCC: for 10^9 operations, in us)\n")
    print("| program | operation | own library | launch | own / launch | lowest | highest |\n|---|---|---:|---:|---:|---:|---:|")
    ran = []
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "hpccinf.txt").write_text(HPCC_INPUT.format(n=3000))
        for program, words in programs(given):
            if words:
                ran.append(measure(program, words, given, environment, folder))
            else:
                print(f"| {program} | not installed | | | | | |")
    print("\nRan, with launch:\n\n" + "\n".join(f"- {line}" for line in ran))


if __name__ == "__main__":
    main()
