"""Writes that fail: a limit of a file's size, a full disk. Each is told, has an exit code that is not 0, and leaves no file behind."""

import os
import resource
import signal
import subprocess

import numpy as np
import pytest

from conftest import COMMAND, needs_hooks


def limited(command, environment, cwd, size=512, ignored=False):
    """Runs the command with a limit of the size of files. Python itself ignores SIGXFSZ, a shell does not."""

    def prepare():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN if ignored else signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    words = [str(COMMAND), *map(str, command)]
    return subprocess.run(words, capture_output=True, env=environment, cwd=cwd, timeout=120, preexec_fn=prepare, text=True, errors="replace")


# The command's writers of files: words before the file's name.
WRITERS = {
    "eval": ["eval", "matmul", "../a.npy", "../a.npy", "-o"],
    "report": ["report", "-o"],
    "bench": ["bench", "matmul", "--sizes", "16", "--threads", "1", "--dtype", "f64", "--libraries", "native", "--html"],
}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "files"
    made.mkdir()
    np.save(tmp_path / "a.npy", np.ones((40, 40)))
    return made


@pytest.fixture
def warm(backplane, environment):
    """Libraries are known before, so that only the command writes."""
    assert backplane("list").code == 0
    return environment


@pytest.mark.parametrize("writer", ["eval", "report", "bench"])
@pytest.mark.parametrize("ignored", [False, True])
def test_a_limit_of_the_size_is_told(warm, folder, writer, ignored):
    done = limited([*WRITERS[writer], folder / "out"], warm, folder, ignored=ignored)
    assert done.returncode == 6 and "File too large" in done.stderr, done
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("writer", ["eval", "report", "bench"])
def test_a_limit_keeps_the_old_file(warm, folder, writer):
    file = folder / "out"
    file.write_text("before")
    assert limited([*WRITERS[writer], file], warm, folder).returncode == 6
    assert file.read_text() == "before" and list(folder.iterdir()) == [file]


@pytest.mark.parametrize("words", [["list", "--json"], ["settings"], ["help"], ["report"], ["eval", "matmul", "../a.npy", "../a.npy", "-o", "-"]])
def test_a_limit_of_standard_output_is_told(warm, folder, words):
    with open(folder / "out", "wb") as out:
        prepare = lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_DFL), resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)))
        done = subprocess.run([COMMAND, *words], stdout=out, stderr=subprocess.PIPE, env=warm, cwd=folder, timeout=120, preexec_fn=prepare, text=True)
    assert done.returncode == 6 and "standard output" in done.stderr and "File too large" in done.stderr, done


@pytest.mark.parametrize("writer", ["eval", "report", "bench"])
def test_a_full_disk_is_told(backplane, folder, writer):
    done = backplane(*WRITERS[writer], "/dev/full", cwd=folder)
    assert done.code == 6 and "No space left" in done.err, done


@pytest.mark.parametrize("words", [["list", "--json"], ["settings"], ["help"], ["version"], ["explain", "gemm", "f64", "8x8", "8x8"]])
def test_a_full_standard_output_is_told(warm, words):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([COMMAND, *words], stdout=full, stderr=subprocess.PIPE, env=warm, timeout=120, text=True)
    assert done.returncode == 6 and "No space left" in done.stderr, done


@pytest.mark.parametrize("words", [["list", "--json"], ["help"]])
def test_a_reader_that_has_ended(warm, words):
    """With SIGPIPE ignored, as under some servers, the write's failure is told."""
    prepare = lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([COMMAND, *words], stdout=write, stderr=subprocess.PIPE, env=warm, timeout=120, preexec_fn=prepare, text=True)
    os.close(write)
    assert done.returncode == 6 and "Broken pipe" in done.stderr, done


# ---- launch ----


@needs_hooks
@pytest.mark.parametrize("option", [["--profile"], ["--explain"], ["--trace", "t"], ["--tune", "t"]])
def test_launch_under_a_limit(warm, folder, option):
    """The file of the calls does not fit: launch says so, and does not start the program."""
    temporary = folder / "tmp"
    temporary.mkdir()
    done = limited(["launch", *option, "--", "python3", "-c", "print('ran')"], {**warm, "TMPDIR": str(temporary)}, folder)
    assert done.returncode == 6 and "File too large" in done.stderr and "ran" not in done.stdout, done
    assert list(temporary.iterdir()) == [] and list(folder.iterdir()) == [temporary]


@needs_hooks
@pytest.mark.parametrize("words", [["launch", "--"], ["launch", "--profile", "--"], ["inspect", "--"]])
@pytest.mark.parametrize("ignored", [False, True])
def test_programs_get_the_action_of_the_parent(warm, folder, words, ignored):
    """SIGXFSZ is ignored by the command only. The program is a shell, because Python ignores the signal itself."""
    done = limited([*words, "sh", "-c", "grep SigIgn /proc/self/status"], warm, folder, size=1 << 30, ignored=ignored)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("SigIgn")]
    assert done.returncode == 0 and bool(int(line.split()[1], 16) >> (signal.SIGXFSZ - 1) & 1) == ignored, done


@needs_hooks
@pytest.mark.parametrize("words", [["launch", "--profile"], ["launch", "--explain"], ["inspect"]])
def test_tables_are_written_wholly_or_not_at_all(backplane, folder, words):
    assert backplane(*words, "-o", "/dev/full", "--", "sleep", "0.2").code == 6
    file = folder / "out"
    done = backplane(*words, "-o", file, "--", "sleep", "0.2")
    assert done.code == 0 and done.err == "" and len(file.read_text()) > 10, done
    with open("/dev/full", "wb") as full:
        words = [str(COMMAND), *words, "--", "sleep", "0.2"]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=full, timeout=120)
    assert done.returncode == 6 and done.stdout == b""
