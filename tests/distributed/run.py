"""Starts a program on several ranks, with the launcher of one MPI, and checks how it ends. Exits with 77 if that MPI is not installed.

With --engine mkl, calls run on MKL's ScaLAPACK, and otherwise on the library that Debian builds for the MPI. --fftw: FFTW-MPI is needed.

Usage: run.py BUILD openmpi|mpich|none RANKS [--engine NAME] [--says TEXT] [--fails] [--preload FILE] [--set NAME=VALUE] [--fftw] PROGRAM [ARGUMENT ...]
"""

import argparse
import ctypes.util
import os
import pathlib
import shutil
import subprocess
import sys

SECONDS = 300  # no program takes a hundredth of that on an idle machine
LAUNCHERS = {"openmpi": ("mpirun.openmpi", "mpirun", "libscalapack-openmpi"), "mpich": ("mpiexec.mpich", "mpiexec.hydra", "libscalapack-mpich"),
             "none": ("env", "env", "libscalapack-openmpi")}
# Ranks share processors here, and Open MPI refuses to run as root.
OPEN_MPI = ["--oversubscribe", "--mca", "btl", "self,vader"]
VARIABLES = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OPENBLAS_NUM_THREADS": "1"}


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def launcher_of(mpi):
    names = LAUNCHERS[mpi]
    found = shutil.which(names[0]) or shutil.which(names[1])
    if not found:
        skip(f"{names[0]} is not installed (Debian: {'openmpi-bin' if mpi == 'openmpi' else 'mpich'})")
    if not ctypes.util.find_library(names[2][3:]):
        skip(f"{names[2]} is not installed (Debian: {names[2]}2.2)")
    return found


def need_fftw():
    if not ctypes.util.find_library("fftw3_mpi"):
        skip("libfftw3_mpi is not installed (Debian: libfftw3-mpi3)")


def engine_variables(engine):
    """The setting that leaves one library. `both`: none."""
    folder = pathlib.Path(os.environ.get("VIRTUAL_ENV", "")) / "lib"
    if engine != "scalapack" and not list(folder.glob("libmkl_scalapack_lp64.so.*")):
        skip(f"MKL is not installed in {folder} (PyPI: mkl)")
    return {"scalapack": {"BACKPLANE_DISPATCH_EXCLUDE": "mkl"}, "mkl": {"BACKPLANE_DISPATCH_EXCLUDE": "scalapack"}, "both": {}}[engine]


def command_of(options, preload):
    launcher = launcher_of(options.mpi)
    own = ["env", "LD_PRELOAD=" + ":".join(filter(None, preload)), options.program, *options.arguments]
    if options.mpi == "none":
        return own
    return [launcher, "-np", str(options.ranks), *(OPEN_MPI if options.mpi == "openmpi" else []), *own]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("mpi", choices=LAUNCHERS)
    parser.add_argument("ranks", type=int)
    parser.add_argument("--engine", choices=("scalapack", "mkl", "both"), default="scalapack")
    parser.add_argument("--says", action="append", default=[])
    parser.add_argument("--fails", action="store_true")
    parser.add_argument("--preload", default="")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--fftw", action="store_true", help="the program needs FFTW-MPI")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    sanitizers = os.environ.get("TESTED_SANITIZERS", "")
    if "thread" in sanitizers:
        skip("MPI is not instrumented for the thread sanitizer")
    if options.fftw:
        need_fftw()
    environment = {**os.environ, **VARIABLES, **engine_variables(options.engine), **dict(each.split("=", 1) for each in options.set)}
    if sanitizers:  # MPI never frees some of its memory
        environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    command = command_of(options, [os.environ.get("TESTED_PRELOAD", "") if options.preload else "", options.preload])
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                               errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
        print(output)
        sys.exit(f"it did not end within {SECONDS} s")
    print(output)
    missing = [text for text in options.says if text not in output]
    if missing:
        sys.exit(f"the output lacks {missing[0]!r}")
    if (process.returncode != 0) != options.fails:
        sys.exit(f"exit code {process.returncode}")


main()
