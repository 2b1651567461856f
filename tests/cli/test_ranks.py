"""`backplane run -n N -- PROGRAM`: a program on several ranks of MPI, and ranks that are lost."""

import os
import shutil

import conftest
import pytest

PROGRAM = conftest.BUILD / "tests/distributed/ranks_refusals"
ROOT_OF_OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
MPIS = [pytest.param(mpi, marks=pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not installed"))
        for mpi, program in (("openmpi", "mpirun.openmpi"), ("mpich", "mpiexec.mpich"))]
needs_program = pytest.mark.skipif(not PROGRAM.exists() or bool(conftest.SANITIZED),
                                   reason="the programs of tests/distributed are not built, or have a sanitizer")


@pytest.fixture
def job(backplane, tmp_path):
    def run(mpi, *words):
        folder = tmp_path / "records"
        folder.mkdir(exist_ok=True)
        done = backplane("run", "-n", "2", "--mpi", mpi, *words, env={**ROOT_OF_OPEN_MPI, "TMPDIR": str(folder)})
        assert not [name for name in os.listdir(folder) if name.startswith("backplane")]  # Open MPI may leave its own
        return done

    return run


@needs_program
@pytest.mark.parametrize("mpi", MPIS)
def test_a_program(job, mpi):
    done = job(mpi, "--", PROGRAM)
    assert done.code == 0 and done.out.count(" 0 failed") == 2, done


@needs_program
@pytest.mark.parametrize("how", ["exit", "kill"])
@pytest.mark.parametrize("mpi", MPIS)
def test_a_lost_rank(job, mpi, how):
    done = job(mpi, "--", PROGRAM, how)
    assert done.code != 0, done
    # MPICH's launcher returns 0, unless it sees the lost rank before the other rank ends, and kills that.
    if (mpi, how) == ("mpich", "exit") and "BAD TERMINATION" not in done.out:
        assert done.code == 1 and "without closing its communicators" in done.err, done


@pytest.mark.parametrize("mpi", MPIS)
def test_the_time_limit(job, mpi):
    done = job(mpi, "--timeout", "1", "--", "sleep", "60")
    assert done.code == 124 and "--timeout" in done.err, done


@pytest.mark.parametrize("mpi", MPIS)
def test_threads_and_exit_code(job, mpi):
    done = job(mpi, "--threads", "3", "--", "sh", "-c", "echo $BACKPLANE_NUM_THREADS $OMP_NUM_THREADS; exit 5")
    assert done.code == 5 and "3 3" in done.out, done


@pytest.mark.parametrize("words, code, text", [
    (("--mpi", "other", "--", "true"), 2, "it must be openmpi or mpich"),
    (("--threads", "0", "--", "true"), 2, "--threads"),
    (("--timeout", "x", "--", "true"), 2, "--timeout"),
])
def test_wrong_use(backplane, words, code, text):
    done = backplane("run", "-n", "2", *words)
    assert done.code == code and text in done.err, done


def test_no_launcher(backplane, tmp_path):
    done = backplane("run", "-n", "2", "--", "true", env={"PATH": str(tmp_path)})
    assert done.code == 4 and "no launcher" in done.err, done
