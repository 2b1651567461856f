"""Checks that the Python tests do not depend on what they inherit: starts Python in a state that hardly any user has, and looks what
tests/inherited.py leaves of it. tests/base/test_inherited.c checks the same for C programs."""

import os
import resource
import signal
import subprocess
import sys

import common

IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD)
RESERVED = 3 << 31  # the signals 32 and 33 of the C library, which no program can change
VARIABLES = {"LC_ALL": "de_DE.UTF-8", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "BACKPLANE_NUM_THREADS": "1"}
LOOK = f"""
import os, resource, signal, subprocess, sys
sys.path.insert(0, {str(common.ROOT / "tests")!r})
import inherited
inherited.reset()
def said(what, true):
    print(what, "is usual" if true else "is not usual")
said("SIGINT here", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
status = open("/proc/self/status").read().split()
said("the mask", int(status[status.index("SigBlk:") + 1], 16) == 0)
child = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout.split()
said("a child's signals", int(child[child.index("SigIgn:") + 1], 16) & ~{RESERVED:#x} == 0)
said("the umask", os.umask(0o022) == 0o022)
said("the limit", len(set(resource.getrlimit(resource.RLIMIT_FSIZE))) == 1)
said("the folder", os.getcwd() == {str(common.ROOT)!r})
said("the environment", not any(name in os.environ for name in {list(VARIABLES)}))
"""
LOOKS = LOOK.count("\nsaid(")


def make_unusual():
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGINT, signal.SIGUSR1])
    os.umask(0o777)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def main():
    done = subprocess.run([sys.executable, "-B", "-c", LOOK], cwd="/", env={**os.environ, **VARIABLES}, preexec_fn=make_unusual,
                          capture_output=True, text=True, check=False)
    said = done.stdout.splitlines()
    failures = [line for line in said if line.endswith("not usual")]
    if len(said) != LOOKS:
        failures.append(f"{len(said)} of {LOOKS} looks: {done.stderr}")
    common.finish(failures, len(said))


main()
