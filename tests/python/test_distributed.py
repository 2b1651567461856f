"""backplane.distributed, in programs that the launcher of an MPI starts on several ranks."""

import ctypes.util
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import conftest
import pytest

pytest.importorskip("numpy")
PROGRAM = pathlib.Path(__file__).with_name("distributed_program.py")
SECONDS = 120
LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "--mca", "btl", "self,vader"], "mpich": ["mpiexec.mpich"]}


def run(mpi, ranks, *words, libraries=None):
    command = LAUNCHERS[mpi]
    if not shutil.which(command[0]) or not ctypes.util.find_library(f"scalapack-{mpi}"):
        pytest.skip(f"{mpi} or its ScaLAPACK is not installed")
    if os.environ.get("TESTED_SANITIZERS"):
        pytest.skip("MPI under a sanitizer is tested in C (tests/distributed)")
    environment = {**os.environ, "PYTHONPATH": str(conftest.PACKAGES), "OPENBLAS_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if libraries:
        environment["LD_LIBRARY_PATH"] = str(libraries)
    done = subprocess.run([*command, "-np", str(ranks), sys.executable, str(PROGRAM), *words], env=environment, capture_output=True, text=True,
                          timeout=SECONDS, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


CASES = [("openmpi", 2), ("mpich", 2)] + ([("openmpi", 1), ("openmpi", 4)] if os.environ.get("TESTED_ALL") else [])


@pytest.mark.parametrize("mpi, ranks", CASES)
def test_all_functions(mpi, ranks, tmp_path):
    assert run(mpi, ranks, str(tmp_path / "matrix.npy")).count("all right") == ranks


def test_a_rank_that_differs():
    said = run("openmpi", 2, "differs")
    assert said.count("rank 1 has another operation, type or size than rank 0") == 2, said


@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_communicator_of_mpi4py(mpi, tmp_path):
    libraries = None
    if mpi == "mpich":  # mpi4py from PyPI loads it by its own name, libmpi.so.12, which Debian does not use
        found = sorted(pathlib.Path("/usr/lib").glob("*/libmpich.so.12")) or pytest.skip("Debian's MPICH is not installed")
        (tmp_path / "libmpi.so.12").symlink_to(found[0])
        libraries = tmp_path
    assert run(mpi, 2, "mpi4py", str(tmp_path / "matrix.npy"), libraries=libraries).count("all right") == 2
