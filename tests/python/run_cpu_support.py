"""Helpers of the launcher's tests: machines described by text, so that no test depends on the machine it runs on."""

import argparse
import os
import subprocess
import sys

import inherited
from conftest import BUILD
from conftest import PACKAGES as PACKAGE_FOLDER

from backplane.backends.xeon import options as launcher_options  # noqa: E402
from backplane.backends.xeon.run_cpu import create_args  # noqa: E402

NO_LIBRARIES = ("--use-default-allocator", "--disable-iomp")
UNBOUND = ("--disable-numactl", "--disable-taskset")

# Runs the launcher as on a machine with the eight CPUs of a fake lscpu; nothing is really bound.
ON_EIGHT_CPUS = """
import os, runpy
os.sched_getaffinity = lambda pid: set(range(8))
os.sched_setaffinity = lambda pid, cpus: None
runpy.run_module("backplane.backends.xeon.run_cpu", run_name="__main__", alter_sys=True)
"""


def machine(nodes, cores, threads=1, alternating=False):
    """Returns the output of lscpu for ``cores`` cores per node; ``alternating`` numbers CPUs alternately by node, as some firmware does."""
    rows = []
    for cpu in range(nodes * cores * threads):
        core = cpu % (nodes * cores)
        node = core % nodes if alternating else core // cores
        rows.append(f"{cpu},{core},{node},{node}")
    return "# CPU,Core,Socket,Node\n" + "\n".join(rows) + "\n"


def parse(*words):
    parser = argparse.ArgumentParser()
    create_args(parser)
    return parser.parse_args([*words, "--no-python", "true"])


def options(*words):
    return launcher_options.read_options(parse(*words))


def environment(**changes):
    """Returns the environment of a launcher. Only a sanitized build needs something preloaded."""
    given = {name: value for name, value in os.environ.items()
             if name not in ("OMP_NUM_THREADS", "LD_PRELOAD", "LOCAL_WORLD_SIZE", "LOCAL_RANK")}
    needed = {"LD_PRELOAD": inherited.preload(BUILD)} if inherited.preload(BUILD) else {}
    return {**given, **needed, "PYTHONPATH": str(PACKAGE_FOLDER), **changes}


def starts_shells():
    """Returns whether sh runs with what a sanitized build preloads: with ThreadSanitizer's library of gcc 12, dash ends by SIGSEGV."""
    return subprocess.run(["sh", "-c", "exit 3"], env=environment(), check=False).returncode == 3


def write_program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def eight_cpus(folder, *words, **changes):
    """Returns command and environment that start the launcher on two nodes of four cores."""
    write_program(folder / "lscpu", f"#!/bin/sh\ncat <<'END'\n{machine(nodes=2, cores=4)}END\n")
    changes.setdefault("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return {"args": [sys.executable, "-c", ON_EIGHT_CPUS, *NO_LIBRARIES, *words], "env": environment(**changes)}


def launch_on_eight(folder, *words, **changes):
    return run(**eight_cpus(folder, *words, **changes))


def launch(*words, **changes):
    """Runs the launcher on this machine."""
    command = [sys.executable, "-m", "backplane.backends.xeon.run_cpu", *NO_LIBRARIES, *words]
    return run(args=command, env=environment(**changes))


def run(**how):
    """Runs a command. The time limit only detects a launcher that hangs."""
    return subprocess.run(stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False, **how)
