"""client_tests.py - runs the test suites of programs with and without `backplane launch`, and compares the outcomes by name

Usage: client_tests.py [--way audit|preload] [--library NAME] [--python PYTHON ...] [--r-tests FOLDER] [SUITE ...]
A suite is numpy, scipy, torch, octave, r, hpcc or fortran; all of them by default. --python names interpreters with NumPy, SciPy,
PyTorch, pytest and hypothesis (default: .venv's, and /usr/bin/python3). --r-tests is the folder `tests` of R's sources.
BACKPLANE_BUILD is the build folder (default: build). What is not installed is named and left out. Exit code 1: an outcome
differs.
"""

import argparse
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("BACKPLANE_BUILD", ROOT / "build")).resolve()
OCTAVE_FUNCTIONS = """chol qr lu svd eig inv det schur hess balance expm logm sqrtm null orth pinv rank cond kron lscov lsqnonneg krylov
    expm trace mpower mldivide mtimes cholinv chol2inv cholupdate qrupdate givens gsvd qz ordschur sylvester rcond norm condest housh
    cross dot fft ifft fft2 ifft2 fftn ifftn fftfilt fftconv filter2 conv2 polyfit polyval roots cov corr quadgk glpk qp fminunc ols
    linsolve lu amd symbfact bandwidth isdefinite planerot commutation_matrix vecnorm subspace normest normest1 eigs svds pcg gmres"""
R_TESTS = "lapack reg-BLAS lm-tests simple-true arith-true complex reg-tests-1b reg-tests-2 reg-tests-3 reg-examples3 demos"
R_SYSTEM_TESTS = "reg-tests-1a reg-examples1"  # they print processes, files, memory and the number of variables
NUMPY = {"new": "numpy.linalg numpy.fft numpy._core.tests.test_multiarray numpy._core.tests.test_einsum numpy._core.tests.test_numeric",
         "old": "numpy.linalg numpy.fft numpy.core.tests.test_multiarray numpy.core.tests.test_einsum numpy.core.tests.test_numeric"}
SCIPY = "scipy.linalg scipy.sparse.linalg scipy.optimize.tests.test_lsq_linear scipy.stats.tests.test_multivariate"
TORCH = """
import torch
torch.manual_seed(1)
def show(name, ok):
    print(name, "passed" if bool(ok) else "failed")
for dtype in (torch.float32, torch.float64, torch.complex64, torch.complex128):
    limit = 1e-3 if dtype in (torch.float32, torch.complex64) else 1e-10
    for n in (1, 2, 17, 64, 129, 400):
        a = torch.randn(n, n, dtype=dtype); b = torch.randn(n, 7, dtype=dtype); h = a @ a.mH + n * torch.eye(n, dtype=dtype)
        near = lambda x, y: (x - y).abs().max() <= limit * (1 + y.abs().max())
        wide = a.to(torch.complex128) @ b.to(torch.complex128)
        show(f"matmul {dtype} {n}", near((a @ b).to(torch.complex128), wide))
        show(f"matmul transposed {dtype} {n}", near((b.mT @ a.mT).mT.to(torch.complex128), wide))
        show(f"bmm {dtype} {n}", near(torch.bmm(torch.stack([a, a]), torch.stack([b, b]))[1], a @ b))
        show(f"solve {dtype} {n}", near(h @ torch.linalg.solve(h, b), b))
        show(f"cholesky {dtype} {n}", near((lambda l: l @ l.mH)(torch.linalg.cholesky(h)), h))
        show(f"qr {dtype} {n}", near((lambda q, r: q @ r)(*torch.linalg.qr(a)), a))
        show(f"svd {dtype} {n}", near((lambda u, s, v: (u * s.to(dtype)) @ v)(*torch.linalg.svd(a)), a))
        show(f"eigh {dtype} {n}", near((lambda w, v: (v * w.to(dtype)) @ v.mH)(*torch.linalg.eigh(h)), h))
        show(f"inv {dtype} {n}", near(torch.linalg.inv(h) @ h, torch.eye(n, dtype=dtype)))
"""
FORTRAN = ROOT / "tests/dropin/client.f90"
HPCC_INPUT = """HPLinpack benchmark input file
Backplane
HPL.out      output file name (if any)
8            device out
1            # of problems sizes (N)
{n}          Ns
1            # of NBs
64           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
1            Qs
16.0         threshold
1            # of panel fact
1            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0            Number of additional problem sizes for PTRANS
{n}          values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""


def launched(given):
    """The words in front of a program, and more variables."""
    options = ["--library", given.library] if given.library else []
    if given.way == "audit":
        return [str(BUILD / "backplane"), "launch", *options, "--"], {}
    library = {"BACKPLANE_LAUNCH_LIBRARY": given.library} if given.library else {}
    return [], {"LD_PRELOAD": str(BUILD / "backplane-launch/libbackplane-preload.so"), **library}


def run(words, front, variables, folder, text=None):
    kept = {name: value for name, value in os.environ.items() if name != "BACKPLANE_BUILD"}
    environment = {**kept, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "MPLBACKEND": "Agg", **variables}
    return subprocess.run([*front, *map(str, words)], cwd=folder, env=environment, input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")


def pytest_suite(python, names):
    def outcomes(front, variables, folder):
        file = folder / "tests.xml"
        done = run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={file}", "-m", "not slow and not xslow", "--pyargs", *names.split()],
                   front, variables, folder)
        if not file.exists():
            return {"pytest": done.stdout[-2000:]}
        found = {}
        for case in xml.etree.ElementTree.parse(file).iter("testcase"):
            kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            found[f"{case.get('classname')}.{case.get('name')}"] = kinds[0] if kinds else "passed"
        return found

    return outcomes


def torch_suite(python):
    def outcomes(front, variables, folder):
        done = run([python, "-c", TORCH], front, variables, folder)
        lines = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines() if line.endswith((" passed", " failed")))
        return {**lines, "exit code": str(done.returncode)}

    return outcomes


def octave_suite(program):
    def outcomes(front, variables, folder):
        code = "".join(f"try, [n, most, xfail, xbug, skip] = test('{name}', 'quiet', 'log.txt'); printf('{name} %d/%d\\n', n, most); "
                       f"catch, printf('{name} none\\n'); end; " for name in dict.fromkeys(OCTAVE_FUNCTIONS.split()))
        done = run([program, "--no-gui", "--quiet", "--norc", "--eval", code], front, variables, folder)
        found = {}
        for name, passed, total in re.findall(r"^(\w+) (\d+)/(\d+)$", done.stdout, re.M):
            for i in range(int(total)):
                found[f"{name} {i}"] = "passed" if i < int(passed) else "failure"
        return {**found, "exit code": str(done.returncode)}

    return outcomes


def r_suite(program, tests):
    """Also compares what the tests print: those lines that two runs without `launch` have in common, because others tell times,
    processes and random numbers."""
    common, printed = {}, {}

    def output(name, front, variables, folder):
        shutil.copytree(tests, folder / "r", dirs_exist_ok=True)
        return run([program, "--vanilla", "--no-echo", "-f", tests / f"{name}.R"], front, {**variables, "LANGUAGE": "en", "SRCDIR": str(tests)}, folder / "r")

    def outcomes(front, variables, folder):
        found = {}
        for name in f"{R_TESTS} {R_SYSTEM_TESTS}".split():
            done = output(name, front, variables, folder)
            found[name] = "passed" if done.returncode == 0 else f"exit code {done.returncode}: {done.stdout[-200:]}"
            if name in R_SYSTEM_TESTS.split():
                continue
            lines = done.stdout.splitlines()
            if name not in common:
                again = output(name, front, variables, folder).stdout.splitlines()
                common[name] = {line for line in set(lines) & set(again) if "BLAS:" not in line}  # sessionInfo() names the file
                printed[name] = [line for line in lines if line in common[name]]
            lines = [line for line in lines if line in common[name]]
            other = [pair for pair in itertools.zip_longest(printed[name], lines) if pair[0] != pair[1]]
            found[f"{name}: output"] = f"other output: {other[0]}" if other else "passed"
        return found

    return outcomes


def hpcc_suite(program):
    def outcomes(front, variables, folder):
        (folder / "hpccinf.txt").write_text(HPCC_INPUT.format(n=1200))
        (folder / "hpccoutf.txt").unlink(missing_ok=True)
        done = run([program], front, variables, folder)
        text = (folder / "hpccoutf.txt").read_text() if (folder / "hpccoutf.txt").exists() else done.stdout
        found = {f"{line.split('=')[0]}": line.split("=")[1] for line in text.splitlines() if re.match(r"^\w+_(errCount|error|Success)=|^Success=", line)}
        checks = re.findall(r"(PASSED|FAILED)", text)
        return {**found, **{f"residual {i}": word for i, word in enumerate(checks)}, "exit code": str(done.returncode)}

    return outcomes


def fortran_suite(compiler):
    def outcomes(front, variables, folder):
        program = folder / "client"
        if not program.exists():
            subprocess.run([compiler, "-O1", "-o", program, FORTRAN, "-llapack", "-lblas"], check=True, cwd=folder)
        done = run([program], front, variables, folder)
        lines = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines() if line.endswith((" passed", " failed")))
        return {**lines, "exit code": str(done.returncode)}

    return outcomes


def has(python, module):
    return shutil.which(python) and subprocess.run([python, "-c", f"import {module}, pytest"], capture_output=True).returncode == 0


def version_of(python, module):
    return subprocess.run([python, "-c", f"import {module}; print({module}.__version__)"], capture_output=True, text=True).stdout.strip()


def suites(given):
    for python in given.python:
        for module, make in (("numpy", lambda p, v: pytest_suite(p, NUMPY["old" if v.startswith("1.") else "new"])),
                             ("scipy", lambda p, v: pytest_suite(p, SCIPY)), ("torch", lambda p, v: torch_suite(p))):
            if module in given.suite and has(python, module):
                version = version_of(python, module)
                yield f"{module} {version}", make(python, version)
    tools = {"octave": ("octave-cli", octave_suite), "hpcc": ("hpcc", hpcc_suite), "fortran": ("gfortran", fortran_suite)}
    for name, (program, make) in tools.items():
        if name in given.suite and shutil.which(program):
            yield name, make(shutil.which(program))
    if "r" in given.suite and shutil.which("R") and given.r_tests:
        yield "r", r_suite(shutil.which("R"), given.r_tests.resolve())


def compare(name, outcomes, given):
    with tempfile.TemporaryDirectory() as folder:
        front, variables = launched(given)
        plain = outcomes([], {}, pathlib.Path(folder))
        with_launch = outcomes(front, variables, pathlib.Path(folder))
    differing = sorted(key for key in {**plain, **with_launch} if plain.get(key) != with_launch.get(key))
    passed = [sum(value == "passed" or value == "PASSED" for value in found.values()) for found in (plain, with_launch)]
    print(f"| {name} | {len(plain)} | {passed[0]} | {passed[1]} | {len(differing)} |", flush=True)
    for key in differing[:given.show]:
        print(f"  {key}:\n    without {str(plain.get(key))[-600:]!r}\n    with    {str(with_launch.get(key))[-600:]!r}", flush=True)
    return len(differing)


def main():
    every = ["numpy", "scipy", "torch", "octave", "r", "hpcc", "fortran"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", nargs="*", default=every)
    parser.add_argument("--way", choices=("audit", "preload"), default="audit")
    parser.add_argument("--library")
    parser.add_argument("--python", nargs="*", default=[str(ROOT / ".venv/bin/python"), "/usr/bin/python3"])
    parser.add_argument("--r-tests", type=pathlib.Path)
    parser.add_argument("--show", type=int, default=20, help="how many differing outcomes to print")
    given = parser.parse_args()
    print(f"{given.way}, {given.library or 'free choice'}\n\n| suite | outcomes | passed without | passed with | differing |\n|---|---:|---:|---:|---:|")
    return 1 if sum(compare(name, outcomes, given) for name, outcomes in suites(given)) else 0


if __name__ == "__main__":
    sys.exit(main())
