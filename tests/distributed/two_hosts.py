"""Starts a program on two hosts, which are network namespaces with names and a network of their own, by Open MPI's launcher.

With --cut the program gets the name of a folder as its last argument. Each rank writes a file READY.<rank> there. Then the network is cut, the file
CUT is made, and each rank must write a file TOLD.<rank>. With --command the command `backplane run --hosts` starts the launcher. Exits with 77 if namespaces cannot be made, or Open MPI is not installed.

Usage: two_hosts.py [--says TEXT] [--cut] [--command FILE] PROGRAM [ARGUMENT ...]
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SECONDS = 250  # the program takes a twentieth of that on an idle machine
RANKS = 2
NETWORK = "10.77.0.0/24"
VARIABLES = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OPENBLAS_NUM_THREADS": "1"}


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Hosts:
    """Two hosts with a network between them."""

    def __init__(self, folder):
        self.folder, self.names, self.holders = folder, [f"bp{letter}{os.getpid()}" for letter in "ab"], []

    def __enter__(self):
        try:
            self._make()
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            skip(f"network namespaces cannot be made: {getattr(error, 'stderr', '') or error}")
        return self

    def _make(self):
        links = [name.replace("bp", "v") for name in self.names]
        for name in self.names:
            ip("netns", "add", name)
        ip("link", "add", links[0], "netns", self.names[0], "type", "veth", "peer", "name", links[1], "netns", self.names[1])
        for number, (name, link) in enumerate(zip(self.names, links), start=1):
            ip("-n", name, "address", "add", f"10.77.0.{number}/24", "dev", link)
            ip("-n", name, "link", "set", link, "up")
            ip("-n", name, "link", "set", "lo", "up")
        hosts = self.folder / "hosts"
        hosts.write_text("127.0.0.1 localhost\n" + "".join(f"10.77.0.{i} {name}\n" for i, name in enumerate(self.names, start=1)))
        for name in self.names:
            self._hold(name, hosts)
        shell = self.folder / "remote-shell"
        cases = "".join(f"{name}) process={holder.pid} ;;\n" for name, holder in zip(self.names, self.holders))
        shell.write_text(f'#!/bin/sh\nhost=$1\nshift\ncase $host in\n{cases}esac\nexec nsenter -t $process -n -u -m sh -c "$*"\n')
        shell.chmod(0o755)

    def _hold(self, name, hosts):
        """Starts a process that keeps a host's name and its list of names."""
        script = f"hostname {name} && mount --bind {hosts} /etc/hosts && echo ready && exec sleep 1000"
        holder = subprocess.Popen(["ip", "netns", "exec", name, "unshare", "--uts", "--mount", "sh", "-c", script], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        self.holders.append(holder)
        if holder.stdout.readline() != "ready\n":
            raise OSError(holder.stderr.read())

    def __exit__(self, *_):
        for name in self.names:  # launchers do not end ranks that they cannot reach
            found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
            for process in found.stdout.split():
                try:
                    os.kill(int(process), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
        for holder in self.holders:
            holder.wait()

    def command(self, words, starter):
        enter = ["nsenter", "-t", str(self.holders[0].pid), "-n", "-u", "-m"]
        hosts = ",".join(self.names)
        only = ["--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", NETWORK, "--mca", "oob_tcp_if_include", NETWORK, "--mca", "plm_rsh_agent",
                str(self.folder / "remote-shell")]
        if starter:
            return [*enter, starter, "run", "-n", str(RANKS), "--mpi", "openmpi", "--hosts", hosts, "--launcher-options", " ".join(only), "--", *words]
        return [*enter, "mpirun.openmpi", "-np", str(RANKS), "-H", hosts, "--map-by", "node", *only, *words]

    def cut(self):
        ip("-n", self.names[0], "link", "set", self.names[0].replace("bp", "v"), "down")


def wait_for(folder, stem, process):
    end = time.monotonic() + SECONDS
    while len(list(folder.glob(f"{stem}.*"))) < RANKS:
        if time.monotonic() > end:
            sys.exit(f"not all ranks have written {stem} within {SECONDS} s: {sorted(each.name for each in folder.iterdir())}")
        if process.poll() is not None:
            sys.exit(f"it ended before all ranks have written {stem}: {process.communicate()[0]}")
        time.sleep(0.1)


def run_cut(hosts, folder, words):
    with subprocess.Popen(hosts.command([*words, str(folder)], None), env={**os.environ, **VARIABLES}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as process:
        wait_for(folder, "READY", process)
        hosts.cut()
        (folder / "CUT").touch()
        wait_for(folder, "TOLD", process)
        hosts.__exit__()  # the launcher does not end by itself
        print(process.communicate()[0])


def run(hosts, words, says, starter):
    done = subprocess.run(hosts.command(words, starter), env={**os.environ, **VARIABLES}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=SECONDS, check=False)
    print(done.stdout)
    if done.returncode != 0 or done.stdout.count(says) != RANKS:
        sys.exit(f"exit code {done.returncode}; the output must have {says!r} {RANKS} times")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--says", default="")
    parser.add_argument("--cut", action="store_true")
    parser.add_argument("--command")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if os.geteuid() != 0:
        skip("only root makes network namespaces")
    if os.environ.get("TESTED_SANITIZERS"):
        skip("the tests on one host run with sanitizers")
    for program in ("ip", "nsenter", "unshare", "mpirun.openmpi"):
        if not shutil.which(program):
            skip(f"{program} is not installed")
    words = [options.program, *options.arguments]
    with tempfile.TemporaryDirectory() as name, Hosts(pathlib.Path(name)) as hosts:
        if options.cut:
            run_cut(hosts, pathlib.Path(name), words)
        else:
            run(hosts, words, options.says, options.command)


main()
