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
    # The ranks stay for a moment. If they end while MPICH's launcher starts them, it sometimes dies of SIGPIPE (41 of 1508 times on a busy machine).
    done = job(mpi, "--threads", "3", "--", "sh", "-c", "echo $BACKPLANE_NUM_THREADS $OMP_NUM_THREADS; sleep 0.5; exit 5")
    assert done.code == 5 and "3 3" in done.out, done


@pytest.mark.parametrize("words, code, text", [
    (("--mpi", "other", "--", "true"), 2, "it must be openmpi or mpich"),
    (("--threads", "0", "--", "true"), 2, "--threads"),
    (("--timeout", "x", "--", "true"), 2, "--timeout"),
    (("--hosts", "", "--", "true"), 2, "--hosts has ''"),
    (("--hosts", "a,,b", "--", "true"), 2, "--hosts has ''"),
    (("--hosts", "a,b:", "--", "true"), 2, "--hosts has 'b:'"),
    (("--hosts", "a:0,b:2", "--", "true"), 2, "--hosts has 'a:0'"),
    (("--hosts", "a:1x,b:1", "--", "true"), 2, "--hosts has 'a:1x'"),
    (("--hosts", "a:99999999999999999999", "--", "true"), 2, "--hosts has 'a:9"),
    (("--hosts", "--help", "--", "true"), 2, "--hosts has '--help'"),
    (("--hosts", "a b", "--", "true"), 2, "--hosts has 'a b'"),
    (("--hosts", "a:1,b", "--", "true"), 2, "ranks of some hosts only"),
    (("--hosts", "a:2,b:2", "--", "true"), 2, "--hosts has 4 ranks, but -n is 2"),
])
def test_wrong_use(backplane, words, code, text):
    done = backplane("run", "-n", "2", *words)
    assert done.code == code and text in done.err, done


@pytest.mark.parametrize("option", ["mpi", "threads", "timeout", "hosts", "launcher-options"])
def test_options_without_ranks(backplane, option):
    for words in (("run", "model.onnx"), ("eval", "cholesky", "x.npy", "-o", "y.npy")):
        done = backplane(*words, f"--{option}", "1")
        assert done.code == 2 and f"--{option} is for a program on several ranks" in done.err, done


@pytest.fixture
def fake_launcher(backplane, tmp_path):
    """Returns what a launcher gets: its words, and with them variables."""
    def run(name, *words, env=None):
        program = tmp_path / name
        program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
        program.chmod(0o755)
        done = backplane("run", *words, env={"PATH": f"{tmp_path}:/usr/bin:/bin", **(env or {})})
        assert done.code == 0, done
        return done.out.split("\n")[:-1]

    return run


HOSTS = [(4, "a,b", "a:2,b:2"), (5, "a,b,c.example.org", "a:2,b:2,c.example.org:1"), (1, "a,b", "a:1"), (4, "a:1,b:3", "a:1,b:3"),
         (2, "10.0.0.1", "10.0.0.1:2"), (3, "a,a", "a:2,a:1")]


@pytest.mark.parametrize("ranks, hosts, wanted", HOSTS)
def test_hosts_of_open_mpi(fake_launcher, ranks, hosts, wanted):
    words = fake_launcher("mpirun.openmpi", "-n", str(ranks), "--mpi", "openmpi", "--hosts", hosts, "--launcher-options", "--mca btl self,tcp", "--",
                          "program", "-x", "a b", env={"BACKPLANE_DIST_BLOCK": "32"})
    at = words.index("-H")
    assert words[:2] == ["-n", str(ranks)] and words[at + 1] == wanted, words
    assert words[-6:] == ["--mca", "btl", "self,tcp", "program", "-x", "a b"], words
    exported = {words[i + 1] for i in range(at, len(words) - 3) if words[i] == "-x"}
    assert {"BACKPLANE_DIST_BLOCK", "BACKPLANE_RANK_RECORDS", "BACKPLANE_NUM_THREADS", "OMP_NUM_THREADS"} <= exported, words
    assert "PATH" not in exported, words


@pytest.mark.parametrize("ranks, hosts, wanted", HOSTS)
def test_hosts_of_mpich(fake_launcher, ranks, hosts, wanted):
    words = fake_launcher("mpiexec.mpich", "-n", str(ranks), "--mpi", "mpich", "--hosts", hosts, "--", "program", "x")
    assert words == ["-n", str(ranks), "-hosts", wanted, "program", "x"], words


@pytest.mark.parametrize("hosts, oversubscribed", [("a,b", False), ("a", True)])
def test_more_ranks_than_cores_of_a_host(fake_launcher, hosts, oversubscribed):
    ranks = 2 * len(os.sched_getaffinity(0))
    words = fake_launcher("mpirun.openmpi", "-n", str(ranks), "--mpi", "openmpi", "--hosts", hosts, "--", "program")
    assert ("--oversubscribe" in words) == oversubscribed, words


# A host is this machine, behind a program in the place of a remote shell.
# tests/distributed/two_hosts.py does the same with Open MPI, which needs names that can be found.
@needs_program
@pytest.mark.parametrize("mpi", MPIS[1:])
def test_ranks_on_hosts(job, tmp_path, mpi):
    shell, log = tmp_path / "remote-shell", tmp_path / "hosts"
    shell.write_text(f"#!/bin/sh\nwhile [ \"${{1#-}}\" != \"$1\" ]; do shift; done\necho $1 >>{log}\nshift\nexec sh -c \"$*\"\n")
    shell.chmod(0o755)
    done = job(mpi, "--hosts", "host-a.invalid:1,host-b.invalid:1", "--launcher-options", f"-launcher ssh -launcher-exec {shell}", "--", PROGRAM)
    assert done.code == 0 and done.out.count(" 0 failed") == 2, done
    assert sorted(log.read_text().split()) == ["host-a.invalid", "host-b.invalid"]


def test_no_launcher(backplane, tmp_path):
    done = backplane("run", "-n", "2", "--", "true", env={"PATH": str(tmp_path)})
    assert done.code == 4 and "no launcher" in done.err, done
