"""Runs one program several times on one machine, each instance on its own cores and memory.

    python -m backplane.backends.xeon.run_cpu [options] program [arguments]

This is the counterpart of ``torch.backends.xeon.run_cpu`` and takes the same options; docs/how-to/run-instances.md describes them, and
docs/reference/differences.md what is different on purpose.
"""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import List, NamedTuple, Optional, Sequence, Tuple

from .environment import instance_environments
from .errors import LaunchError, logger
from .options import Options, create_args, read_options
from .plan import Instance, pins_threads, plan_instances
from .run import Job, Logs, run_jobs
from .topology import _CPUinfo, format_cpu_list, require_linux

__all__ = ["LaunchError", "_CPUinfo", "_Launcher", "create_args", "main"]


def __dir__() -> List[str]:
    return ["LaunchError", "create_args", "main"]  # the others are torch's names, which are private there


WRONG_USAGE = 2
SYSTEM_FAILED = 1


class _Binding(NamedTuple):
    """The methods of binding: CPUs by the launcher, CPUs by numactl, memory by numactl. Each may be off."""

    own_cpus: bool
    numactl_cpus: bool
    numactl_memory: bool


def _numactl(instance: Instance, binding: _Binding) -> Tuple[str, ...]:
    """Returns the words that precede an instance's command."""
    words: List[str] = []
    if binding.numactl_cpus:
        words += ["-C", format_cpu_list(instance.cpus)]
    if binding.numactl_memory:
        words += ["-m", format_cpu_list(instance.nodes)]
    return ("numactl", *words) if words else ()


def _program(options: Options) -> Tuple[str, ...]:
    if options.no_python:
        return (options.program, *options.program_args)
    module = ("-m",) if options.module else ()
    return (sys.executable, "-u", *module, options.program, *options.program_args)


class _Launcher:
    """Plans and runs the instances on the CPUs of this machine."""

    def __init__(self) -> None:
        self.cpuinfo = _CPUinfo()

    def launch(self, args: argparse.Namespace) -> int:
        """Runs the instances of the command line and returns the exit code."""
        options = read_options(args)
        instances = plan_instances(options, self.cpuinfo, os.environ)
        binding = self._binding(options, instances)
        environments = instance_environments(os.environ, options, [len(instance.cpus) for instance in instances],
                                             pins_threads(options) and (binding.own_cpus or binding.numactl_cpus))
        jobs = [
            Job(instance.index, (*_numactl(instance, binding), *_program(options)), environment,
                instance.cpus if binding.own_cpus else None)
            for instance, environment in zip(instances, environments)
        ]
        logs = _prepare_logs(options)
        _tell(instances, jobs)
        return run_jobs(jobs, logs, options.grace_period)

    def _binding(self, options: Options, instances: Sequence[Instance]) -> _Binding:
        """Checks whether numactl works, if it is needed; in containers it is often installed but not permitted."""
        if options.disable_numactl:
            return _Binding(not options.disable_taskset, False, False)
        if options.disable_taskset:
            by_numactl = _Binding(False, True, True)
            if not self.is_numactl_available(instances, by_numactl):
                raise LaunchError("--disable-taskset leaves the binding to numactl, which is missing or not permitted "
                                  "here; without that option CPUs are bound, and with --disable-numactl nothing is")
            return by_numactl
        # On a machine with one node all memory belongs to it, so memory needs neither binding nor a warning.
        if self.cpuinfo.machine_nodes == 1:
            return _Binding(True, False, False)
        memory = self.is_numactl_available(instances, _Binding(False, False, True))
        if not memory:
            logger.warning("numactl is missing or not permitted here: CPUs are bound, memory is not")
        return _Binding(True, False, memory)

    def is_numactl_available(self, instances: Sequence[Instance], binding: _Binding) -> bool:
        """Tries numactl with every binding that will be used. CPU 0 may not be available to this process."""
        return all(_succeeds((*command, "true")) for command in
                   dict.fromkeys(_numactl(instance, binding) for instance in instances))


def _succeeds(command: Sequence[str]) -> bool:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False)
    except OSError:
        return False
    return done.returncode == 0


def _prepare_logs(options: Options) -> Logs:
    if not options.log_path:
        return Logs(None, options.log_file_prefix)
    folder = Path(options.log_path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LaunchError(f"--log-path: {error}") from None
    return Logs(folder, options.log_file_prefix)


def _tell(instances: Sequence[Instance], jobs: Sequence[Job]) -> None:
    for instance, job in zip(instances, jobs):
        bound = "bound to" if job.cpus is not None or job.command[0] == "numactl" else "planned for"
        logger.info("instance %d is %s CPUs %s of NUMA nodes %s", instance.index, bound, format_cpu_list(instance.cpus),
                    format_cpu_list(instance.nodes))
        logger.info("%s", shlex.join(job.command))


def main(args: argparse.Namespace) -> int:
    """Runs a command line parsed by a parser of create_args(), and returns the exit code.

    Raises LaunchError, a RuntimeError, for what cannot be carried out, and OSError when a program cannot be started.
    """
    require_linux()
    return _Launcher().launch(args)


def _command_line(words: Optional[Sequence[str]] = None) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(name)s - %(levelname)s - %(message)s")
    parser = argparse.ArgumentParser(
        prog="run_cpu",
        usage="python -m backplane.backends.xeon.run_cpu [options] program [arguments]",
        description="Runs one program in one or several instances, each bound to its own cores and memory.",
        epilog="The exit code is the code of the first instance that fails, or 2 for wrong usage. See docs/how-to/run-instances.md.",
    )
    create_args(parser)
    args = parser.parse_args(words)
    try:
        return main(args)
    except LaunchError as error:
        parser.error(str(error))
    except OSError as error:
        logger.error("the program cannot be started: %s", error)
        return SYSTEM_FAILED


if __name__ == "__main__":
    sys.exit(_command_line())
