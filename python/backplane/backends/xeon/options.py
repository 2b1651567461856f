"""Parses the launcher's command line and checks it for contradictions."""

from __future__ import annotations

import argparse
import os
import shutil
from dataclasses import dataclass
from typing import Any, Iterable, List, Optional, Tuple

from .errors import LaunchError
from .topology import parse_cpu_list

NOT_GIVEN = -1
LONGEST_GRACE = 1e6


@dataclass(frozen=True)
class Options:
    """The parsed command line. Numbers that were not given are None."""

    program: str
    program_args: Tuple[str, ...]
    multi_instance: bool
    module: bool
    no_python: bool
    enable_tcmalloc: bool
    enable_jemalloc: bool
    use_default_allocator: bool
    disable_iomp: bool
    ncores_per_instance: Optional[int]
    ninstances: Optional[int]
    skip_cross_node_cores: bool
    rank: Optional[int]
    latency_mode: bool
    throughput_mode: bool
    node_id: Optional[int]
    use_logical_core: bool
    disable_numactl: bool
    disable_taskset: bool
    core_list: Optional[Tuple[int, ...]]
    log_path: str
    log_file_prefix: str
    grace_period: float


def _flag(group: argparse._ActionsContainer, name: str, text: str, short: Tuple[str, ...] = ()) -> None:
    group.add_argument(*short, *_spellings(name), action="store_true", default=False, help=text)


def _spellings(name: str) -> Tuple[str, ...]:
    """Returns ``--a-b`` and ``--a_b``; one spelling if the name has no dash, because argparse would list it twice."""
    return tuple(dict.fromkeys((f"--{name}", f"--{name.replace('-', '_')}")))


def _number(group: argparse._ActionsContainer, name: str, text: str) -> None:
    group.add_argument(*_spellings(name), metavar="N", type=int, default=NOT_GIVEN, help=text)


def _text(group: argparse._ActionsContainer, name: str, metavar: str, default: Optional[str], text: str) -> None:
    group.add_argument(*_spellings(name), metavar=metavar, type=str, default=default, help=text)


def _add_instances(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("instances and their cores")
    _number(group, "ninstances", "how many instances to run")
    _number(group, "ncores-per-instance", "cores of each instance")
    _flag(group, "skip-cross-node-cores", "leave cores unused if an instance would straddle NUMA nodes")
    _number(group, "rank", "start only the instance of this index, counted from 0")
    _flag(group, "latency-mode", "instances of 4 cores each, on all physical cores")
    _flag(group, "throughput-mode", "one instance per NUMA node, on all its physical cores")
    _number(group, "node-id", "use the cores of this NUMA node only")
    _flag(group, "use-logical-core", "use all CPUs, not only the first of each physical core")
    _text(group, "core-list", "LIST", None, 'the CPUs to use, as in "0,1,4-7"; needs --ncores-per-instance')


def _add_binding(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("binding")
    _flag(group, "disable-numactl", "do not use numactl, so that memory is not bound to NUMA nodes")
    _flag(group, "disable-taskset", "do not bind CPUs without numactl; with --disable-numactl nothing is bound")


def _add_libraries(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("memory allocator and OpenMP")
    _flag(group, "enable-tcmalloc", "preload tcmalloc")
    _flag(group, "enable-jemalloc", "preload jemalloc and configure it by MALLOC_CONF")
    _flag(group, "use-default-allocator", "preload no allocator (default: tcmalloc, else jemalloc, else none)")
    _flag(group, "disable-iomp", "do not preload Intel's OpenMP runtime, libiomp5")


def _add_running(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("logs and ending")
    _text(group, "log-path", "DIR", "", "folder for the output of each instance (default: no logs)")
    _text(group, "log-file-prefix", "TEXT", "run", "how the names of the logs begin (default: run)")
    group.add_argument(
        *_spellings("grace-period"), metavar="SECONDS", type=float, default=30.0,
        help="time from asking instances to end until they are killed (default: 30)",
    )


class _Program(argparse.Action):
    """Takes the program and its arguments in one piece: as two, argparse drops a "--" between them."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any,
                 option_string: Optional[str] = None) -> None:
        words = values[1:] if values[0] == "--" else values
        namespace.program, *namespace.program_args = words


def create_args(parser: argparse.ArgumentParser) -> None:
    """Adds every option, the program and its arguments to ``parser``."""
    _flag(parser, "multi-instance", "without a number of instances or cores: as --throughput-mode")
    _flag(parser, "module", 'run the program as a Python module, as "python -m" does', short=("-m",))
    _flag(parser, "no-python", "run the program itself, not Python with it")
    _add_instances(parser)
    _add_binding(parser)
    _add_libraries(parser)
    _add_running(parser)
    parser.add_argument(
        "program", action=_Program, nargs=argparse.PARSER,
        help="the Python script, module (-m) or program (--no-python) to run; all words after it are its arguments",
    )


def _given(args: argparse.Namespace, name: str, least: int) -> Optional[int]:
    value: int = getattr(args, name)
    if value == NOT_GIVEN:
        return None
    if value < least:
        raise LaunchError(f"--{name.replace('_', '-')} is {value}, but must be at least {least}")
    return value


def _core_list(text: Optional[str]) -> Optional[Tuple[int, ...]]:
    if text is None:
        return None
    try:
        cores = parse_cpu_list(text)
    except ValueError as error:
        raise LaunchError(f"--core-list: {error}") from None
    twice = sorted({core for core in cores if cores.count(core) > 1})
    if twice:
        raise LaunchError(f"--core-list names CPU {twice[0]} more than once")
    return tuple(cores)


def names_given(options: Options, names: Iterable[str]) -> List[str]:
    """Returns the named options that were given, in their spelling on the command line."""
    values = ((name, getattr(options, name)) for name in names)
    # Compared by identity, because node 0 and rank 0 are equal to False.
    return [f"--{name.replace('_', '-')}" for name, value in values if value is not None and value is not False]


def _refuse_together(options: Options, names: Iterable[str], why: str) -> None:
    given = names_given(options, names)
    if len(given) > 1:
        raise LaunchError(f"{' and '.join(given)} cannot be used together: {why}")


def _check_contradictions(options: Options) -> None:
    _refuse_together(options, ["latency_mode", "throughput_mode"], "each decides how all cores are divided")
    _refuse_together(options, ["enable_tcmalloc", "enable_jemalloc", "use_default_allocator"],
                     "a program has one memory allocator")
    _refuse_together(options, ["module", "no_python"], "a module is run by Python")
    for name in ("node_id", "latency_mode", "throughput_mode"):
        _refuse_together(options, ["core_list", name], "the list already says which cores are used")
    if options.core_list is not None and options.ncores_per_instance is None:
        raise LaunchError("--core-list needs --ncores-per-instance, to know how the cores are divided")
    # Written so that "nan" fails as well.
    if not 0 <= options.grace_period <= LONGEST_GRACE:
        raise LaunchError(f"--grace-period is {options.grace_period:g}, but must be from 0 to {LONGEST_GRACE:g}")
    if os.sep in options.log_file_prefix:
        raise LaunchError("--log-file-prefix is the beginning of a file name; the folder belongs into --log-path")


def _check_program(options: Options) -> None:
    """Detects, before the first instance starts, errors that every instance would fail with."""
    if options.module:
        return
    if options.no_python:
        if shutil.which(options.program) is None:
            raise LaunchError(f'the program "{options.program}" was not found, or is not executable')
        return
    if not options.program.endswith(".py"):
        raise LaunchError(f'"{options.program}" is not a Python script (*.py): use --no-python to run a program, or -m '
                          "to run a module")
    if not os.path.exists(options.program):
        raise LaunchError(f'the script "{options.program}" was not found')


def read_options(args: argparse.Namespace) -> Options:
    """Returns the checked command line. Raises LaunchError if a value is out of range, contradictory or missing."""
    numbers = {
        "ncores_per_instance": _given(args, "ncores_per_instance", 1),
        "ninstances": _given(args, "ninstances", 1),
        "rank": _given(args, "rank", 0),
        "node_id": _given(args, "node_id", 0),
    }
    given = {**vars(args), **numbers}
    given["core_list"] = _core_list(args.core_list)
    given["program_args"] = tuple(args.program_args)
    options = Options(**{name: given[name] for name in Options.__dataclass_fields__})
    _check_contradictions(options)
    _check_program(options)
    return options
