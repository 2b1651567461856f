"""netlib_tests.py - runs netlib's testers of BLAS and LAPACK on the drop-in libraries, and on the libraries behind them

Usage: netlib_tests.py [blas|lapack|PRECISION ...]. Without an argument: blas and lapack. PRECISION is s, d, c or z. Needs Debian's
libblas-test and liblapack-test. BACKPLANE_BUILD is the build folder (default: build). Prints a table: a row for each way to
reach Backplane, a column for each library.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("BACKPLANE_BUILD", ROOT / "build")).resolve()
SYSTEM = pathlib.Path("/usr/lib/x86_64-linux-gnu")
BLAS, LAPACK = SYSTEM / "blas", SYSTEM / "lapack"
# Each library's id, and its file, which the plain run preloads.
LIBRARIES = {
    "openblas": SYSTEM / "openblas-pthread/libopenblas.so.0",
    "blis": SYSTEM / "blis-pthread/libblis.so.4",
    "netlib": BLAS / "libblas.so.3",
    "mkl": ROOT / ".venv/lib/libmkl_rt.so.3",
}
WAYS = ("plain", "audit", "preload", "library")


def environment(way, library, small=None):
    """The variables for one way: the netlib libraries lie below, because testers of CBLAS need two variables of theirs."""
    launch = BUILD / "backplane-launch"
    base = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "BACKPLANE_", "OPENBLAS_"))}
    base["LD_LIBRARY_PATH"] = f"{BLAS}:{LAPACK}"
    base["VIRTUAL_ENV"] = str(ROOT / ".venv")
    head = "BACKPLANE_DROPIN_" if way == "library" else "BACKPLANE_LAUNCH_"
    if way == "plain":
        file = LIBRARIES.get(library)
        return {**base, "LD_PRELOAD": str(file)} if file else base
    if library != "choice":
        base[head + "LIBRARY"] = library
    if small is not None:
        base[head + "SMALL"] = str(small)
    if way == "audit":
        base.update(LD_AUDIT=str(launch / "backplane-audit.so"), LD_PRELOAD=str(launch / "libbackplane-hooks.so"))
    elif way == "preload":
        base["LD_PRELOAD"] = str(launch / "libbackplane-preload.so")
    else:
        base["LD_LIBRARY_PATH"] = str(BUILD / "backplane-dropin")
    return base


def blas_testers():
    """Each tester with its input."""
    for letter in "sdcz":
        yield f"xblat1{letter}", None
        yield f"x{letter}cblat1", None
        for level in "23":
            yield f"xblat{level}{letter}", f"{letter}blat{level}.in"
            yield f"x{letter}cblat{level}", f"{letter}in{level}"


def run_blas(variables):
    """Runs the 24 testers of BLAS and CBLAS. Returns the numbers of lines with PASS and with FAIL, and the testers that a
    signal or the loader has ended."""
    ended = []
    with tempfile.TemporaryDirectory() as folder:
        for name, data in blas_testers():
            with open(BLAS / data, "rb") if data else open(os.devnull, "rb") as source, open(f"{folder}/{name}.log", "wb") as log:
                done = subprocess.run([BLAS / name], stdin=source, stdout=log, stderr=log, cwd=folder, env=variables, timeout=300)
            if done.returncode < 0 or done.returncode == 127:
                ended.append(name)
        files = [*pathlib.Path(folder).glob("*.log"), *pathlib.Path(folder).glob("*.out")]
        lines = [line for path in files for line in path.read_text(errors="replace").splitlines()]
    return sum("PASS" in line for line in lines), sum("FAIL" in line for line in lines), ended


def run_lapack(variables, precision=None):
    """Runs LAPACK's own tests. Returns the numbers of tests, numerical errors and other errors."""
    with tempfile.TemporaryDirectory() as folder:
        for path in [*LAPACK.glob("x*"), *LAPACK.glob("*.in")]:
            os.symlink(path, pathlib.Path(folder) / path.name)
        words = [sys.executable, LAPACK / "lapack_testing.py", "-d", ".", "-b", ".", "-r"]
        words += ["-p", precision] if precision else []
        done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=variables, timeout=900)
    rows = re.findall(r"^[A-Z][A-Z0-9 ]*\t+(\d+)\t+(\d+)\t\([\d.]+%\)\t+(\d+)", done.stdout, re.M)
    return tuple(int(count) for count in rows[-1]) if rows else (0, 0, 0)


def table(title, libraries, run):
    print(f"{title}\n{'':10}" + "".join(f"{name:>30}" for name in libraries))
    for way in WAYS:
        cells = []
        for library in libraries:
            cells.append("-" if way == "plain" and library.startswith("choice") else run(environment(
                way, library.partition(":")[0], 0 if library == "choice:all" else None)))
        print(f"{way:10}" + "".join(f"{cell:>30}" for cell in cells), flush=True)


def blas_cell(variables):
    passed, failed, ended = run_blas(variables)
    return f"{passed} / {failed}" + (f", {len(ended)} end" if ended else "")


def main(words):
    installed = [name for name, file in LIBRARIES.items() if file.exists()]
    if not (BLAS / "xblat1d").exists() or ("blas" not in words and not (LAPACK / "xlintstd").exists()):
        print("Debian's libblas-test or liblapack-test is not installed")
        return 1
    for word in words or ["blas", "lapack"]:
        if word == "blas":
            table("BLAS: lines with PASS / FAIL", [*installed, "choice", "choice:all"], blas_cell)
            continue
        precision = None if word == "lapack" else word
        libraries = [name for name in installed if name in ("openblas", "mkl")] + ["choice"]
        table(f"LAPACK {precision or 's, d, c, z'}: tests, numerical errors, other errors", libraries,
              lambda variables: ", ".join(map(str, run_lapack(variables, precision))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
