"""The launcher with real programs: exit codes, termination, signals, output, logs, binding, and the command line."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys

import pytest
from conftest import ROOT
from run_cpu_support import UNBOUND, eight_cpus, environment, launch, launch_on_eight, parse, run, starts_shells, write_program

from backplane.backends.xeon import environment as environment_of_launcher
from backplane.backends.xeon import run_cpu
from backplane.backends.xeon.run import Job, Logs, run_jobs

pytestmark = pytest.mark.skipif(not starts_shells(), reason="sh does not run with the sanitizer's library")

PRINT_PREPARED = """
import os, sys
print(os.environ["OMP_NUM_THREADS"], sorted(os.sched_getaffinity(0)), *sys.argv[1:])
"""

# The first instance waits for the second, then fails. The second prints its process number and a child's.
FAIL_WITH_A_SECOND_INSTANCE = """
import os, pathlib, signal, subprocess, sys, time
folder, ignore = pathlib.Path(sys.argv[1]), sys.argv[2] == "ignore"
try:
    (folder / "first").mkdir()
except FileExistsError:
    if ignore:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "1000"])
    (folder / "new").write_text(f"{os.getpid()} {child.pid}")
    (folder / "new").rename(folder / "numbers")
    child.wait()
    time.sleep(1000)
else:
    while not (folder / "numbers").exists():
        time.sleep(0.01)
    sys.exit(3)
"""

REPORT_SIGNALS = """
import signal, sys, time
def report(number, frame):
    print("got", signal.Signals(number).name)
    sys.exit(0)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, report)
print("ready")
time.sleep(1000)
"""


def write_script(folder, text, name="script.py"):
    (folder / name).write_text(text)
    return str(folder / name)


def has_ended(pid):
    """Returns whether a process has ended. A zombie has: in containers without an init process it is never reaped."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


# Output and exit codes


def test_two_instances_of_a_program(tmp_path):
    done = launch_on_eight(tmp_path, "--ninstances", "2", "--no-python", "pwd")
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == [f"[run0]: {os.getcwd()}", f"[run1]: {os.getcwd()}"]


def test_multi_threads_as_pytorch_tests_it(tmp_path):
    done = launch_on_eight(tmp_path, "--ninstances", "4", *UNBOUND, "--log-path", str(tmp_path), "--no-python", "pwd")
    assert sum(line.split("-")[-1].strip() == "pwd" for line in done.stderr.splitlines()) == 4


def test_a_script_runs_alone_on_all_cores_and_keeps_its_arguments(tmp_path):
    script = write_script(tmp_path, PRINT_PREPARED)
    done = launch("--", script, "--rank", "7", "--", "-m")
    cores = len(run_cpu._CPUinfo().get_all_physical_cores())
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{cores} [") and done.stdout.endswith("] --rank 7 -- -m\n")


def test_a_double_dash_belongs_to_the_program():
    assert launch("--no-python", "echo", "--", "a").stdout == "-- a\n"


def test_a_module(tmp_path):
    write_script(tmp_path, "print('module', __name__)", "some_module.py")
    done = subprocess.run([sys.executable, "-m", "backplane.backends.xeon.run_cpu", "-m", "some_module"], cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True,
                          timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "module __main__\n")


@pytest.mark.parametrize("instances", ["1", "2"])
def test_the_exit_code_of_an_instance_is_returned(tmp_path, instances):
    done = launch_on_eight(tmp_path, "--ninstances", instances, "--no-python", "sh", "-c", "exit 3")
    assert done.returncode == 3
    assert "ended with exit code 3" in done.stderr


def test_an_instance_that_dies_by_a_signal(tmp_path):
    assert launch("--no-python", "sh", "-c", "kill -KILL $$").returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize("manner, grace", [("obey", "1000"), ("ignore", "0.1")])
def test_the_other_instances_of_a_failed_one_are_ended(tmp_path, manner, grace):
    script = write_script(tmp_path, FAIL_WITH_A_SECOND_INSTANCE)
    done = launch_on_eight(tmp_path, "--ninstances", "2", "--grace-period", grace, script, str(tmp_path), manner)
    assert done.returncode == 3
    assert ("are killed" in done.stderr) == (manner == "ignore")
    numbers = (tmp_path / "numbers").read_text().split()
    assert len(numbers) == 2 and all(has_ended(number) for number in numbers)


def test_processes_of_a_failed_instance_are_ended(tmp_path):
    """The child does not use the instance's output and ignores SIGTERM, so only its process group identifies it."""
    text = 'trap "" TERM; sleep 1000 >/dev/null 2>&1 & echo $! > "$0"; exit 4'
    done = launch("--grace-period", "0.1", "--no-python", "sh", "-c", text, str(tmp_path / "number"))
    assert done.returncode == 4
    assert has_ended((tmp_path / "number").read_text().strip())


def test_processes_of_a_successful_instance_are_not_ended(tmp_path):
    text = 'sleep 1000 >/dev/null 2>&1 & echo $! > "$0"'
    assert launch("--no-python", "sh", "-c", text, str(tmp_path / "number")).returncode == 0
    number = int((tmp_path / "number").read_text())
    assert not has_ended(number)
    os.kill(number, signal.SIGKILL)


@contextlib.contextmanager
def start(how):
    """Runs a launcher, and kills it if the test fails."""
    running = subprocess.Popen(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               **how)
    try:
        yield running
    finally:
        running.kill()
        running.wait()
        running.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_are_passed_on(tmp_path, number):
    script = write_script(tmp_path, REPORT_SIGNALS)
    with start(eight_cpus(tmp_path, "--ninstances", "2", script)) as running:
        ready = sorted(running.stdout.readline() for _ in range(2))
        running.send_signal(number)
        answers, _ = running.communicate(timeout=60)
    assert ready == ["[run0]: ready\n", "[run1]: ready\n"]
    assert sorted(answers.splitlines()) == [f"[run0]: got {number.name}", f"[run1]: got {number.name}"]
    assert running.returncode == 128 + number


def test_an_ignored_signal_stays_ignored(tmp_path):
    """As under nohup: the launcher does not forward a signal that it ignores."""
    script = write_script(tmp_path, REPORT_SIGNALS.replace("signal.SIGINT, ", ""))
    how = eight_cpus(tmp_path, script)
    how["args"] = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *how["args"]]
    with start(how) as running:
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGINT)
        running.send_signal(signal.SIGTERM)
        answers, _ = running.communicate(timeout=60)
    assert (answers, running.returncode) == ("got SIGTERM\n", 128 + signal.SIGTERM)


def test_exit_codes_survive_a_parent_that_ignores_its_children(tmp_path):
    how = eight_cpus(tmp_path, "--no-python", "sh", "-c", "exit 3")
    how["args"][2] = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n" + how["args"][2]
    with start(how) as running:
        assert running.wait(timeout=60) == 3


def test_handlers_and_affinity_are_restored():
    before = signal.getsignal(signal.SIGINT), os.sched_getaffinity(0)
    cpu = min(os.sched_getaffinity(0))
    assert run_jobs([Job(0, ("true",), {}, (cpu,))], Logs(None, "run"), 1.0) == 0
    assert (signal.getsignal(signal.SIGINT), os.sched_getaffinity(0)) == before


def test_when_one_cannot_start_the_others_are_ended(tmp_path):
    waits = Job(0, ("sh", "-c", 'echo $$ > "$0"; sleep 1000', str(tmp_path / "number")), dict(os.environ), None)
    missing = Job(1, (str(tmp_path / "missing"),), {}, None)
    with pytest.raises(FileNotFoundError):
        run_jobs([waits, missing], Logs(None, "run"), 1000.0)
    number = tmp_path / "number"
    assert not number.exists() or not number.read_text() or has_ended(number.read_text().strip())


def test_a_reader_that_leaves_ends_the_instances(tmp_path):
    """As in a shell: a program that writes to a closed pipe ends, and the launcher ends too."""
    how = eight_cpus(tmp_path, "--ninstances", "2", "--no-python", "yes")
    with start(how) as running:
        running.stdout.readline()
        running.stdout.close()
        assert running.wait(timeout=60) == 128 + signal.SIGPIPE


def test_only_a_single_instance_reads_the_input(tmp_path):
    for count, expected in (("1", "hello"), ("2", "")):
        how = eight_cpus(tmp_path, "--ninstances", count, "--no-python", "sh", "-c", "cat")
        done = subprocess.run(input="hello", capture_output=True, text=True, timeout=60, check=False, **how)
        assert done.stdout == expected


# Logs


def test_logs_per_instance(tmp_path):
    logs = tmp_path / "some" / "logs"
    done = launch_on_eight(tmp_path, "--ninstances", "2", "--log-path", str(logs), "--log-file-prefix", "my",
                           "--no-python", "sh", "-c", "echo out; printf 'no end' >&2")
    assert done.returncode == 0
    assert {path.name: path.read_text() for path in logs.iterdir()} == {
        "my_0.stdout.log": "out\n", "my_0.stderr.log": "no end",
        "my_1.stdout.log": "out\n", "my_1.stderr.log": "no end",
    }
    assert sorted(done.stdout.splitlines()) == ["[my0]: out", "[my1]: out"]
    assert {"[my0]: no end", "[my1]: no end"} <= set(done.stderr.splitlines())


def test_the_log_of_a_single_rank(tmp_path):
    done = launch_on_eight(tmp_path, "--ninstances", "4", "--rank", "2", "--log-path", str(tmp_path / "logs"),
                           "--no-python", "echo", "out")
    assert done.stdout == "out\n"
    assert "CPUs 4-5 of NUMA nodes 1" in done.stderr
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == ["run_2.stderr.log", "run_2.stdout.log"]


def test_a_reader_that_leaves_does_not_end_the_log(tmp_path):
    how = eight_cpus(tmp_path, "--log-path", str(tmp_path), "--no-python", "sh", "-c",
                     'read -r go < "$0"; seq 20000', str(tmp_path / "gate"))
    os.mkfifo(tmp_path / "gate")
    with start(how) as running:
        running.stdout.close()
        gate = os.open(tmp_path / "gate", os.O_RDWR)  # does not wait for the reader, which may have failed
        os.write(gate, b"go\n")
        assert running.wait(timeout=60) == 0
        os.close(gate)
    assert len((tmp_path / "run_0.stdout.log").read_text().splitlines()) == 20000


# Binding


def test_a_real_cpu_is_bound(tmp_path):
    script = write_script(tmp_path, PRINT_PREPARED)
    cpu = max(os.sched_getaffinity(0))
    done = launch("--core-list", str(cpu), "--ncores-per-instance", "1", "--disable-numactl", script)
    assert done.stdout == f"1 [{cpu}]\n"


def test_nothing_is_bound_when_both_are_disabled(tmp_path):
    script = write_script(tmp_path, PRINT_PREPARED)
    cpus = sorted(os.sched_getaffinity(0))
    done = launch("--core-list", str(cpus[0]), "--ncores-per-instance", "1", *UNBOUND, script)
    assert done.stdout == f"1 {cpus}\n"
    assert "is planned for CPUs" in done.stderr


def write_numactl(folder, permitted=True):
    """A fake numactl: records its arguments, then runs the command, or fails as in a container."""
    last = 'while [ "${1#-}" != "$1" ]; do shift 2; done; exec "$@"' if permitted else "exit 1"
    write_program(folder / "numactl", f'#!/bin/sh\necho "$*" >> {folder}/calls\n{last}\n')


@pytest.mark.parametrize("words, calls", [
    ((), ["-m 0 true", "-m 1 true", "-m 0 echo", "-m 1 echo"]),
    (("--disable-taskset",), ["-C 0-3 -m 0 true", "-C 4-7 -m 1 true", "-C 0-3 -m 0 echo", "-C 4-7 -m 1 echo"]),
    (("--disable-numactl",), []),
])
def test_arguments_of_numactl(tmp_path, words, calls):
    write_numactl(tmp_path)
    (tmp_path / "calls").touch()
    done = launch_on_eight(tmp_path, "--throughput-mode", *words, "--no-python", "echo")
    assert done.returncode == 0
    assert sorted((tmp_path / "calls").read_text().splitlines()) == sorted(calls)


def test_numactl_that_is_not_permitted(tmp_path):
    write_numactl(tmp_path, permitted=False)
    done = launch_on_eight(tmp_path, "--throughput-mode", "--no-python", "echo")
    assert (done.returncode, "CPUs are bound, memory is not" in done.stderr) == (0, True)
    refused = launch_on_eight(tmp_path, "--disable-taskset", "--no-python", "touch", str(tmp_path / "started"))
    assert (refused.returncode, "--disable-taskset leaves the binding to numactl" in refused.stderr) == (2, True)
    assert not (tmp_path / "started").exists()


# Real runtimes in the children

# Prints the CPUs of the process, and of each thread of Intel's OpenMP runtime in a parallel region.
PRINT_OPENMP = """
import ctypes, os
runtime, thread = ctypes.CDLL(os.environ["RUNTIME"]), ctypes.CDLL(None).gettid
cpus = {}
class Place(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in "abcd"] + [("source", ctypes.c_char_p)]
@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
def body(number, bound):
    cpus[thread()] = sorted(os.sched_getaffinity(thread()))
before = sorted(os.sched_getaffinity(0))
runtime.__kmpc_fork_call(ctypes.byref(Place(0, 2, 0, 0, b";unknown;unknown;0;0;;")), ctypes.c_int32(0), body)
assert len(cpus) == int(os.environ["OMP_NUM_THREADS"])
print(before, sorted(cpus.values()))
"""


def openmp_of(tmp_path, *words, **changes):
    """Returns the output of each instance, in order."""
    folders = environment_of_launcher.library_folders({**os.environ, "VIRTUAL_ENV": str(ROOT / ".venv")})
    path = environment_of_launcher.find_library("iomp5", folders)
    if path is None:
        pytest.skip("libiomp5 is not installed")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("with one CPU all instances are on the same")
    script = write_script(tmp_path, PRINT_OPENMP)
    done = run(args=[sys.executable, "-m", "backplane.backends.xeon.run_cpu", "--use-default-allocator", *words, script],
               env=environment(RUNTIME=path, VIRTUAL_ENV=str(pathlib.Path(path).parents[1]), **changes))
    assert done.returncode == 0, done.stderr
    lines = sorted(line for line in done.stdout.splitlines())
    return [line.partition("]: ")[2] if line.startswith("[run") else line for line in lines]


def test_openmp_threads_are_pinned_to_the_cores_of_their_instance(tmp_path):
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("with one CPU all instances are on the same")
    first, second = allowed[:2]
    cores = ("--core-list", f"{first},{second}")
    for changes in ({}, {"KMP_AFFINITY": "compact"}, {"KMP_AFFINITY": "granularity=fine,compact,1,0"}):
        assert openmp_of(tmp_path, "--ncores-per-instance", "1", *cores, **changes) == [
            f"[{first}] [[{first}]]", f"[{second}] [[{second}]]"]
        assert openmp_of(tmp_path, "--ncores-per-instance", "2", *cores, **changes) == [
            f"[{first}, {second}] [[{first}], [{second}]]"]


def test_openmp_threads_of_unbound_instances_are_not_pinned(tmp_path):
    """Otherwise the threads of all instances would be pinned to the first CPUs."""
    everywhere = sorted(os.sched_getaffinity(0))
    said = openmp_of(tmp_path, "--ninstances", "2", "--ncores-per-instance", "1", *UNBOUND)
    assert said == [f"{everywhere} [{everywhere}]"] * 2


def test_an_installed_tcmalloc_is_in_the_children(tmp_path):
    folders = environment_of_launcher.library_folders(os.environ)
    names = [name for name in ("tcmalloc", "tcmalloc_minimal") if environment_of_launcher.find_library(name, folders)]
    if not names:
        pytest.skip("tcmalloc is not installed")
    script = write_script(tmp_path, "print(open('/proc/self/maps').read())")
    done = run(args=[sys.executable, "-m", "backplane.backends.xeon.run_cpu", "--disable-iomp", "--enable-tcmalloc", script],
               env=environment())
    assert done.returncode == 0 and f"/lib{names[0]}.so" in done.stdout, done.stderr


# The command line


@pytest.mark.parametrize("words, sentence", [
    (("--no-python",), "the following arguments are required"),
    (("--ninstances", "many", "--no-python", "true"), "invalid int value"),
    (("--ninstances", "2", "--rank", "2", "--no-python", "true"), "--rank is 2, but there are 2 instances"),
    (("--latency-mode", "--throughput-mode", "--no-python", "true"), "cannot be used together"),
    (("--no-python", "no-such-program"), 'the program "no-such-program" was not found'),
    (("no_such_script.py",), 'the script "no_such_script.py" was not found'),
    (("true",), "use --no-python to run a program, or -m"),
    (("--log-path", "/dev/null/logs", "--no-python", "true"), "--log-path: "),
])
def test_wrong_usage_ends_with_2_and_a_message(tmp_path, words, sentence):
    done = launch_on_eight(tmp_path, *words)
    assert done.returncode == 2
    assert sentence in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr and done.stdout == ""


def test_help_names_every_option_in_both_spellings():
    text = launch("--help").stdout
    for option in ("--core-list", "--core_list", "--ncores-per-instance", "--ncores_per_instance", "--rank"):
        assert option in text


def test_a_file_that_is_no_program_is_reported(tmp_path):
    done = launch("--no-python", write_program(tmp_path / "empty-header", "\x7fELF"))
    assert (done.returncode, "cannot be started" in done.stderr) == (1, True)


def test_main_returns_the_code_and_leaves_the_environment_alone():
    before = dict(os.environ)
    assert run_cpu.main(parse("--use-default-allocator", "--disable-iomp")) == 0
    assert dict(os.environ) == before
    with pytest.raises(RuntimeError, match="cannot be used together"):
        run_cpu.main(parse("--latency-mode", "--throughput-mode"))
