"""inspect: the libraries of other processes, from outside; what ends, hides or breaks gives a message."""

import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import time

import pytest

from conftest import BUILD, COMMAND, HANGS, ROOT

PYTHON = ROOT / ".venv/bin/python"
SYSTEM = pathlib.Path("/usr/lib/x86_64-linux-gnu")
LIBRARIES = [path for path in (SYSTEM / "openblas-pthread/libopenblas.so.0", SYSTEM / "libopenblas.so.0") if path.exists()]
ONEDNN = next(iter(sorted((ROOT / ".venv").rglob("libdnnl.so*"))), None)


@pytest.fixture
def start(environment, tmp_path):
    """Starts a Python that says when it is ready, and then sleeps."""
    started = []

    def run(code, env=None, words=(str(PYTHON), "-c"), **options):
        process = subprocess.Popen(
            [*words, code + "\nprint('ready', flush=True)\nimport time; time.sleep(100)"],
            stdout=subprocess.PIPE, cwd=tmp_path, env={**environment, **(env or {})}, **options,
        )
        started.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()


def can_read_memory():
    return os.geteuid() == 0 or not pathlib.Path("/proc/sys/kernel/yama/ptrace_scope").exists()


def test_numpy(backplane, start):
    process = start("import numpy", {"OPENBLAS_NUM_THREADS": "2"})
    done = backplane("inspect", "--pid", process.pid, "--json")
    assert done.code == 0, done
    facts = done.json
    assert facts["pid"] == process.pid and facts["name"].startswith("python") and facts["processors"] >= 1
    (library,) = [row for row in facts["libraries"] if row["family"] == "openblas"]
    assert library["interfaces"] == ["blas", "lapack"] and library["int_bits"] == 64 and not library["deleted"]
    assert "_multiarray_umath" in library["needed_by"] and "scipy_openblas64" in library["path"]
    assert library["version"].startswith("0.3") and library["kernels"] and library["threading"] == "pthread"
    if can_read_memory():
        assert library["threads"] == min(2, os.cpu_count()) and facts["not_known"] == []
    text = backplane("inspect", "-p", process.pid)
    assert text.code == 0 and "openblas" in text.out and "LD_PRELOAD" not in text.out
    assert process.poll() is None


def test_kernels_are_those_of_the_process(backplane, start):
    """The inspector's environment selects nothing, and the process's does."""
    slow, other = {"OPENBLAS_CORETYPE": "Prescott"}, {"OPENBLAS_CORETYPE": "Haswell"}
    usual = backplane("inspect", "-p", start("import numpy").pid, "--json", env=slow).json
    found = backplane("inspect", "-p", start("import numpy", slow).pid, "--json", env=other).json
    kernels = [row["kernels"] for facts in (usual, found) for row in facts["libraries"] if row["family"] == "openblas"]
    assert kernels[1] in ("Prescott", "Katmai")  # OpenBLAS's two names of its oldest kernels
    assert kernels[0] not in ("Prescott", "Katmai", "")
    findings = [row for row in found["findings"] if f"runs its kernels {kernels[1]}" in row["finding"]]
    if backplane("version", "--json").json["cpu_hardware_capability"] in ("AVX2", "AVX512"):
        assert len(findings) == 1 and "OPENBLAS_CORETYPE=Prescott" in findings[0]["advice"]
    assert not [row for row in usual["findings"] if f"runs its kernels {kernels[1]}" in row["finding"]]


@pytest.mark.skipif(not ONEDNN, reason="oneDNN is not installed")
def test_kernels_of_onednn(backplane, start):
    """oneDNN names its kernels by the instruction set. The advice names this library's variable only."""
    code = f"import ctypes; ctypes.CDLL({str(ONEDNN)!r})"
    limit = {"ONEDNN_MAX_CPU_ISA": "SSE41", "OPENBLAS_CORETYPE": "Haswell"}
    usual = backplane("inspect", "-p", start(code).pid, "--json", env=limit).json
    found = backplane("inspect", "-p", start(code, limit).pid, "--json").json
    kernels = [row["kernels"] for facts in (usual, found) for row in facts["libraries"] if row["family"] == "onednn"]
    best = {"AVX2": "avx2", "AVX512": "avx512_core"}.get(backplane("version", "--json").json["cpu_hardware_capability"])
    assert len(kernels) == 2 and kernels[1] == "sse41"
    assert kernels[0].startswith(best) if best else kernels[0]
    findings = [row["advice"] for row in found["findings"] if "runs its kernels sse41" in row["finding"]]
    assert findings == ["start the program without ONEDNN_MAX_CPU_ISA=SSE41, unless it is intended."] if best else not findings
    assert not [row for row in usual["findings"] if "runs its kernels" in row["finding"]]


@pytest.mark.skipif(not LIBRARIES or not can_read_memory(), reason="needs OpenBLAS, and rights")
@pytest.mark.parametrize("code", [
    "import os; os.environ['OPENBLAS_CORETYPE'] = 'Prescott'; import numpy",
    f"import os, ctypes; os.environ['OPENBLAS_CORETYPE'] = 'Prescott'; ctypes.CDLL({str(next(iter(LIBRARIES), None))!r})",
    "import os, numpy; os.environ['OPENBLAS_CORETYPE'] = 'Prescott'",
])
def test_kernels_that_the_program_selected_itself(backplane, start, code):
    """The environment of its start does not tell. A variable that is set after the library was opened has no effect."""
    row = backplane("inspect", "-p", start(code, {"OPENBLAS_CORETYPE": ""}).pid, "--json").json
    kernels = [library["kernels"] for library in row["libraries"] if library["family"] == "openblas"]
    assert len(kernels) == 1
    findings = [finding for finding in row["findings"] if "runs its kernels Prescott" in finding["finding"]]
    if code.startswith("import os, numpy"):
        assert kernels[0] not in ("Prescott", "Katmai", "") and not findings
    else:
        assert kernels == ["Prescott"]
        if backplane("version", "--json").json["cpu_hardware_capability"] in ("AVX2", "AVX512"):
            assert len(findings) == 1 and "was set after the start" in findings[0]["advice"]


@pytest.mark.skipif(not LIBRARIES or not can_read_memory() or (os.cpu_count() or 1) < 2, reason="needs a second OpenBLAS, and rights")
def test_two_pools(backplane, start):
    code = f"import numpy, ctypes; ctypes.CDLL({str(LIBRARIES[0])!r})"
    done = backplane("inspect", "-p", start(code, {"OPENBLAS_NUM_THREADS": "2"}).pid)
    assert "2 thread pools of OpenBLAS, 4 threads in all" in done.out and "OPENBLAS_NUM_THREADS" in done.out
    assert "opened by name" in done.out and "different widths" not in done.out
    one = backplane("inspect", "-p", start(code, {"OPENBLAS_NUM_THREADS": "1"}).pid)
    assert "thread pools" not in one.out
    pinned = start(code, {"OPENBLAS_NUM_THREADS": "2"})
    os.sched_setaffinity(pinned.pid, {min(os.sched_getaffinity(0))})
    text = backplane("inspect", "-p", pinned.pid).out
    assert "may use 1 processor\n" in text and "has 2 threads, but the process may use 1 processors" in text


@pytest.mark.skipif(not can_read_memory(), reason="needs rights")
def test_times_and_commands(backplane, start):
    """A command is there if, and only if, products are faster with it by the times; it is the process's own command line."""
    process = start("import numpy; 'a\"b'", {"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "1", "OPENBLAS_L2_SIZE": "", "OMP_NUM_THREADS": ""})
    facts = backplane("inspect", "-p", process.pid, "--json").json
    times = {row["how"]: row for row in facts["times"]}
    used, launched = times["as in the process"], times["with `backplane launch`"]
    assert used["library"].startswith("scipy-openblas") and used["threads"] == 1 and used["time_ns"] > 1e5
    wanted = {}
    best = times.get("with its best kernels, on all processors")
    if backplane("version", "--json").json["cpu_hardware_capability"] in ("AVX2", "AVX512"):
        assert best["library"] == used["library"] and best["threads"] == facts["processors"]
        assert used["kernels"] in ("Prescott", "Katmai") and best["kernels"] not in ("Prescott", "Katmai", "")
    if best and used["time_ns"] > 1.2 * best["time_ns"]:
        wanted["env -u OPENBLAS_CORETYPE -u OPENBLAS_NUM_THREADS "] = used["time_ns"] / best["time_ns"]
    if used["time_ns"] > 1.2 * launched["time_ns"]:
        wanted["backplane launch -- "] = used["time_ns"] / launched["time_ns"]
    assert len(facts["commands"]) == len(wanted)
    for row, (head, ratio) in zip(facts["commands"], wanted.items()):
        assert row["command"].startswith(head) and row["times_as_fast"] == pytest.approx(ratio, rel=1e-3)
        assert shlex.split(row["command"][len(head):]) == process.args
    text = backplane("inspect", "-p", process.pid).out
    assert "512x512 matrices in f64, measured now" in text and "as in the process" in text
    if " times as fast  " in text:  # lines of a word stay, so that the command can be copied
        assert shlex.split(text.split(" times as fast  ")[-1])[-len(process.args):] == process.args
    quick = backplane("inspect", "--quick", "-p", process.pid, "--json").json
    assert quick["times"] == quick["commands"] == [] and quick["libraries"] == facts["libraries"]
    assert process.poll() is None


def test_ends_of_children_are_ignored(start, environment):
    """A parent may ignore the ends of its children, which this command inherits: then the system waits for them."""
    process = start("import numpy")
    done = subprocess.run([COMMAND, "inspect", "-p", str(process.pid), "--json"], env=environment, capture_output=True, timeout=HANGS,
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.returncode == 0 and json.loads(done.stdout)["times"]


@pytest.mark.skipif(not can_read_memory() or (os.cpu_count() or 1) < 2, reason="needs two processors, and rights")
def test_threads_below_the_processors(backplane, start):
    for env, advice in (({"OPENBLAS_NUM_THREADS": "1"}, "without OPENBLAS_NUM_THREADS=1,"), ({}, "the program limits them itself")):
        code = "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'; import numpy" if not env else "import numpy"
        process = start(code, {"OPENBLAS_NUM_THREADS": "", "OMP_NUM_THREADS": "", **env})
        found = backplane("inspect", "--quick", "-p", process.pid, "--json").json["findings"]
        (finding,) = [row for row in found if "has 1 thread, but the process may use" in row["finding"]]
        assert advice in finding["advice"]
    whole = start("import numpy", {"OPENBLAS_NUM_THREADS": "", "OMP_NUM_THREADS": ""})
    assert "the process may use" not in str(backplane("inspect", "--quick", "-p", whole.pid, "--json").json["findings"])


@pytest.mark.skipif(not (SYSTEM / "blas/libblas.so.3").exists(), reason="libblas3 is not installed")
def test_reference_code(backplane, start):
    process = start(f"import ctypes; ctypes.CDLL({str(SYSTEM / 'blas/libblas.so.3')!r})")
    facts = backplane("inspect", "-p", process.pid, "--json").json
    assert any("netlib's reference code" in row["finding"] and "backplane launch" in row["advice"] for row in facts["findings"])
    assert [row["library"] for row in facts["times"] if row["how"] == "as in the process"] == ["netlib"]


@pytest.mark.skipif(not LIBRARIES, reason="libopenblas0 is not installed")
def test_a_file_that_was_replaced(backplane, start, tmp_path):
    copy = tmp_path / "libopenblas.so.0"
    shutil.copy(LIBRARIES[0], copy)
    process = start(f"import ctypes; ctypes.CDLL({str(copy)!r})")
    copy.unlink()
    (tmp_path / "libopenblas.so.0").write_text("another file")
    done = backplane("inspect", "-p", process.pid, "--json")
    (library,) = [row for row in done.json["libraries"] if row["family"] == "openblas"]
    assert library["deleted"] and library["path"] == str(copy)
    assert any("was replaced or removed" in row["finding"] for row in done.json["findings"])


def test_other_files(backplane, start, tmp_path):
    """Mapped files that are no libraries, or damaged ones."""
    source = next(iter(LIBRARIES), None) or next((ROOT / ".venv").rglob("libscipy_openblas64*"))
    whole = source.resolve().read_bytes()
    head = bytearray(whole[:8192])
    damaged = {"cut": whole[: len(whole) // 2], "head": bytes(head), "text": b"text" * 2000, "elf": b"\x7fELF\2\1\1" + b"\xff" * 8000}
    sections = int.from_bytes(whole[40:48], "little")
    for i in range(0, 2048, 8):  # section headers with huge sizes and offsets
        if sections + i + 8 <= len(whole):
            whole_ = bytearray(whole)
            whole_[sections + i : sections + i + 8] = b"\xff" * 7 + b"\x7f"
            damaged[f"section{i}"] = bytes(whole_[:8192]) if i % 64 else bytes(whole_)
    damaged = dict(list(damaged.items())[:24])
    for name, data in damaged.items():
        (tmp_path / f"lib{name}.so").write_bytes(data)
    code = f"""
import mmap, glob
kept = []
for name in glob.glob({str(tmp_path)!r} + '/lib*.so'):
    file = open(name, 'rb'); kept.append(mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ))"""
    done = backplane("inspect", "-p", start(code).pid)
    assert done.code == 0, done


@pytest.mark.skipif(not LIBRARIES, reason="libopenblas0 is not installed")
def test_names_of_any_bytes(backplane, start, tmp_path):
    """No control character reaches the terminal, and JSON stays valid. A name may look like the name of a deleted file."""
    names = ["a b:c.so", "red\x1b[31m.so", "two\nlines.so", "kept (deleted)", "byte\udcff.so"]
    for name in names:
        shutil.copy(LIBRARIES[0], tmp_path / name)
    code = "import ctypes, os\nopen('/proc/self/comm', 'w').write('x\x1b[31my')\nfor n in os.listdir('.'):\n    if 'python' not in n: ctypes.CDLL('./' + n)"
    (tmp_path / "libraries").mkdir()
    for name in names:
        (tmp_path / name).rename(tmp_path / "libraries" / name)
    process = start("import os; os.chdir('libraries')\n" + code, {"LD_PRELOAD": "/no/\x1b[31m.so"}, stderr=subprocess.DEVNULL)
    text = backplane("inspect", "-p", process.pid)
    assert text.code == 0 and "\x1b" not in text.out and "x?[31my" in text.out
    facts = backplane("inspect", "-p", process.pid, "--json").json
    rows = {os.path.basename(row["path"]): row["deleted"] for row in facts["libraries"]}
    assert rows["kept (deleted)"] is rows["a b:c.so"] is rows["red\x1b[31m.so"] is False and len(facts["libraries"]) >= 5


def mounted(tmp_path, what, start, code):
    """Starts a program in other mounts, which are made by a command. Skips the test if that needs rights."""
    probe = subprocess.run(["unshare", "-m", "sh", "-c", what], capture_output=True, cwd=tmp_path)
    if probe.returncode != 0:
        pytest.skip("mounts cannot be changed here: " + probe.stderr.decode())
    words = ["unshare", "-m", "sh", "-c", what + ' && exec "$0" -c "$1"', str(PYTHON)]
    return start(code, words=words)


@pytest.mark.skipif(os.geteuid() != 0 or not LIBRARIES or not shutil.which("unshare"), reason="needs root, unshare and libopenblas0")
def test_other_mounts(backplane, start, tmp_path):
    """The path of a library means another file here, so this file's version is not told."""
    inside, outside = tmp_path / "inside", tmp_path / "libopenblas.so.0"
    shutil.copy(LIBRARIES[0], inside)
    outside.symlink_to(LIBRARIES[0])
    real = outside.resolve()
    process = mounted(tmp_path, f"mount --bind {inside} {real}", start, f"import ctypes; ctypes.CDLL({str(real)!r})")
    (library,) = [row for row in backplane("inspect", "-p", process.pid, "--json").json["libraries"] if row["family"] == "openblas"]
    assert library["path"] == str(real) and library["version"] == "" and not library["deleted"]
    plain = start(f"import ctypes; ctypes.CDLL({str(real)!r})")
    (library,) = [row for row in backplane("inspect", "-p", plain.pid, "--json").json["libraries"] if row["family"] == "openblas"]
    assert library["version"].startswith("0.3")


def test_thousands_of_files(backplane, start, tmp_path):
    """Files without a name are opened by their mappings, which takes no search."""
    code = """
import mmap, os
kept = []
for i in range(7000):
    with open(f'm{i}', 'w+b') as file:
        file.write(b'\\x7fELF' * 1024)
        file.flush()
        kept.append(mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ))
    os.unlink(f'm{i}')"""
    done = backplane("inspect", "-p", start(code).pid, "--json")
    assert done.code == 0 and done.json["libraries"] == [], done


def test_preloaded(backplane, start):
    process = start("pass", {"LD_PRELOAD": "/no/such/file.so", "SECRET": "hidden"})
    done = backplane("inspect", "-p", process.pid)
    assert "LD_PRELOAD  /no/such/file.so" in done.out and "hidden" not in done.out


# ---- Processes that cannot be read ----


def test_a_number_that_is_no_program(backplane):
    done = backplane("inspect", "4711")
    assert done.code == 127 and "backplane inspect -p 4711" in done.err
    assert "-p" not in backplane("inspect", "nonsense").err


def test_no_such_process(backplane):
    ended = subprocess.Popen(["true"])
    ended.wait()
    done = backplane("inspect", "-p", ended.pid)
    assert done.code == 3 and f"there is no process {ended.pid}" in done.err
    for word in ("0", "-1", "x", "99999999999"):
        assert backplane("inspect", "-p", word).code == 2
    assert backplane("inspect").code == 2 and backplane("inspect", "-p", os.getpid(), "true").code == 2


def test_ended_process(backplane):
    process = subprocess.Popen(["true"])
    while pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
        time.sleep(0.01)
    done = backplane("inspect", "-p", process.pid)
    process.wait()
    assert done.code == 3 and "has ended" in done.err


def test_kernel_thread(backplane):
    kernel = pathlib.Path("/proc/2/status")
    if os.geteuid() != 0 or not kernel.exists() or "PPid:\t0" not in kernel.read_text() or os.path.exists("/proc/2/exe"):
        pytest.skip("no thread of the kernel is visible")
    done = backplane("inspect", "-p", 2)
    assert done.code == 3 and "thread of the kernel" in done.err


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root, to run as another user")
def test_process_of_another_user(start, environment, tmp_path):
    process = start("pass")
    os.chmod(tmp_path, 0o755)
    env = {**environment, "HOME": "/", "XDG_CONFIG_HOME": "/nonexistent", "BACKPLANE_CACHE_DIR": "/nonexistent"}
    words = ["setpriv", "--reuid=65534", "--clear-groups", COMMAND, "inspect", "-p", str(process.pid)]
    done = subprocess.run(words, capture_output=True, env=env, timeout=60)
    if b"Permission denied" in done.stderr and b"inspect" not in done.stderr:
        pytest.skip("another user cannot run the command in this folder")
    assert done.returncode == 6 and b"belongs to another user" in done.stderr, done


def test_processes_that_end(backplane, environment, tmp_path):
    """Each process is asked for at a later moment of its short life; none may crash the command."""
    codes = set()
    moments = 30 if os.environ.get("TESTED_ALL") else 10
    for i in range(moments):
        process = subprocess.Popen([str(PYTHON), "-c", "import numpy"], env=environment, cwd=tmp_path)
        time.sleep(i * 0.15 / moments)
        codes.add(backplane("inspect", "-p", process.pid).code)
        process.kill()
        process.wait()
    assert codes <= {0, 3, 6}


# ---- Programs ----


def test_program(backplane, tmp_path):
    done = backplane("inspect", "--", PYTHON, "-c", "import numpy, sys, time; print('out'); time.sleep(0.3); sys.exit(7)")
    assert done.code == 7 and done.out == "out\n" and "openblas" in done.err
    assert " 0.3." in done.err
    done = backplane("inspect", "--json", "-o", "report.json", "--", PYTHON, "-c", "import numpy, time; time.sleep(0.3)")
    assert done.code == 0 and done.err == ""
    facts = json.loads((tmp_path / "report.json").read_text())
    assert [row["family"] for row in facts["libraries"]].count("openblas") == 1
    assert backplane("inspect", "--", "no-such-program").code == 127
    killed = backplane("inspect", "--", "sh", "-c", "kill -KILL $$")
    assert killed.code == 128 + signal.SIGKILL
    assert backplane("inspect", "-o", "no/such/file", "--", "touch", "ran").code == 6 and not (tmp_path / "ran").exists()


@pytest.mark.skipif(not (BUILD / "backplane-launch/backplane-audit.so").exists(), reason="no audit object in this build")
def test_launched_program_is_named(backplane):
    done = backplane("launch", "--", COMMAND, "inspect", "--", PYTHON, "-c", "import numpy, time; time.sleep(0.3)")
    assert done.code == 0 and "LD_AUDIT" in done.err and "libbackplane-hooks.so" in done.err
