"""launch: its reports say what a program's calls were, where they ran, and why the program is slow."""

import json
import os
import shlex

import pytest

from conftest import SANITIZED, needs_hooks
from test_launch import PYTHON, python


@needs_hooks
def test_profile_and_explanation(backplane, tmp_path):
    done = backplane("launch", "--profile", "--explain", "-o", "report.txt", "--", *python("print('out'); [a @ b for _ in range(3)]"))
    assert done.code == 0 and done.out == "out\n" and done.err == ""
    text = (tmp_path / "report.txt").read_text()
    explained, profile = text.split("ROUTINE", 2)[1:]
    assert "RAN ON" in explained and "x110" in explained
    row = next(line for line in profile.splitlines() if line.startswith("cblas_dgemm"))
    assert row.split()[1] == "3" and row.split()[-1] != "-"
    assert "tune --machine" in profile  # nothing was measured here, so no savings are claimed


@needs_hooks
def test_profile_says_why_it_is_slow(backplane, tmp_path):
    """Kernels and threads that the program used, what another library saves, by which times, and the command."""
    slow = {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "1", "OPENBLAS_L2_SIZE": "", "OMP_NUM_THREADS": ""}
    code = python("import time; [a @ b for _ in range(9)]; time.sleep(0.3)")
    done = backplane("launch", "--profile", "--observe", "-o", "report.txt", "--", *code, env=slow)
    assert done.code == 0 and done.err == ""
    text = (tmp_path / "report.txt").read_text()
    libraries = text[text.index("\nLibraries of python") :].splitlines()
    (row,) = [line.split() for line in libraries if line.startswith("libscipy_openblas")]
    assert row[1] in ("Prescott", "Katmai") and row[2] == "1"
    if backplane("version", "--json").json["cpu_hardware_capability"] not in ("AVX2", "AVX512"):
        return
    assert "runs its kernels" in text and "without OPENBLAS_CORETYPE=Prescott" in text
    saved = text[text.index("Another library would have saved") :].splitlines()
    (row,) = [line.split() for line in saved if line.startswith("cblas_dgemm")]
    assert row[-1] == "estimated" and row[-2] != row[-4]
    assert f"In all {row[-4]} {row[-3]} estimated," in text  # SAVED is a number and its unit
    (command,) = [line.split(": ", 1)[1] for line in saved if line.startswith("To save it: ")]
    assert shlex.split(command) == ["backplane", "launch", "--", *map(str, code)]


@needs_hooks
def test_tables_go_to_standard_error(backplane):
    done = backplane("launch", "--profile", "--", str(PYTHON), "-c", "print(1)")
    assert done.out == "1\n" and "no call of BLAS" in done.err


@needs_hooks
def test_problems_for_tune(backplane, tmp_path):
    code = "a @ b; a.T @ a[:, :50]; np.linalg.solve(a[:, :100], a); np.linalg.cholesky(a.T @ a + np.eye(110))"
    done = backplane("launch", "--tune", "problems.txt", "--", *python(code))
    assert done.code == 0, done
    lines = [line for line in (tmp_path / "problems.txt").read_text().splitlines() if not line.startswith("#")]
    assert "gemm f64 100x110 110x120" in lines and "solve f64 100x100 100x110" in lines and "cholesky f64 110x110" in lines
    assert "gemm f64 100x110 100x50 --trans-a" in lines
    done = backplane("tune", "--from", "problems.txt", "--seconds", "1", env={"BACKPLANE_CACHE_DIR": str(tmp_path / "cache")})
    assert done.code == 0, done


@needs_hooks
def test_nothing_stays_behind(launch, tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir()
    done, rows = launch([], *python("a @ b"), env={"TMPDIR": str(folder)})
    assert done.code == 0 and rows and not list(folder.iterdir())


@needs_hooks
@pytest.mark.parametrize("option", ["--trace", "--tune"])
def test_files_are_checked_before_the_program_starts(backplane, tmp_path, option):
    done = backplane("launch", option, "no/such/file", "--", "touch", "ran")
    assert done.code == 6 and "no/such/file: cannot be written" in done.err and not (tmp_path / "ran").exists()


@needs_hooks
@pytest.mark.parametrize("option", ["--trace", "--tune"])
def test_files_that_exist_keep_what_they_are(backplane, tmp_path, option):
    """A link leads to the file, the file keeps its rights, and a device or a pipe is written to, not replaced."""
    (tmp_path / "file").write_text("before")
    (tmp_path / "file").chmod(0o640)
    (tmp_path / "link").symlink_to("file")
    assert backplane("launch", option, "link", "--", "true").code == 0
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    assert "before" not in (tmp_path / "file").read_text()
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert backplane("launch", option, "pipe", "--", *python("a @ b")).code == 0
    assert os.read(reader, 1 << 16) and (tmp_path / "pipe").is_fifo()
    os.close(reader)
    (tmp_path / "new").unlink(missing_ok=True)
    assert backplane("launch", option, "new", "--", "true").code == 0
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o666 & ~mask


@needs_hooks
def test_damaged_calls(backplane, tmp_path):
    """The program may write anything to the file of its calls, or make it shorter."""
    code = """
import os, sys
path = os.environ['BACKPLANE_LAUNCH_RECORD']
with open(path, 'r+b') as file:
    data = bytearray(file.read())
    row = int.from_bytes(data[12:16], 'little')
    for i in range(32, len(data), STEP):
        data[i] = 0xff if i % 7 else 0x25
    for at in range(32, len(data) - row, row):
        data[at : at + 4] = (2).to_bytes(4, 'little')
        data[at + 72 : at + 76] = (4).to_bytes(4, 'little') if at // row % 3 else b'%%%%'  # the number of sizes
    file.seek(0); file.write(data)
if sys.argv[1:]:
    os.truncate(path, int(sys.argv[1]))
"""
    words = [str(PYTHON), "-c", code.replace("STEP", "5" if SANITIZED else "1")]
    done = backplane("launch", "--profile", "--explain", "--trace", "trace.json", "--tune", "problems.txt", "--", *words)
    assert done.code == 0, done.err[-1000:]
    rows = [json.loads(line) for line in (tmp_path / "trace.json").read_text().splitlines()]
    assert rows and all(len(row["sizes"]) == 4 for row in rows)
    for size in ("0", "100", "1000000"):
        done = backplane("launch", "--profile", "--", *words, size)
        assert done.code == 6 and "made shorter" in done.err
