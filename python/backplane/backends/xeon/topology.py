"""Reads the core and NUMA node of each CPU of this machine from lscpu or, without it, from /sys.

The CPUs are those that this process may use, so that the launcher works in a container that was given some of them.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Dict, FrozenSet, Iterable, List, NamedTuple, Optional, Tuple

from .errors import LaunchError, logger

LSCPU = ("lscpu", "--parse=CPU,Core,Socket,Node")
SYSFS = Path("/sys/devices/system")

# A column may be empty or "-": many virtual machines and containers report no node, and some boards report no core.
LSCPU_ROW = re.compile(r"(\d+),(\d*|-),(\d*|-),(\d*|-)(?:,|$)")


class Cpu(NamedTuple):
    """One logical CPU. CPUs with the same core are hyper-threads of one physical core."""

    number: int
    core: Tuple[int, ...]
    node: int


def require_linux() -> None:
    if platform.system() != "Linux":
        raise RuntimeError(f"{platform.system()} is not supported: the launcher binds CPUs and memory as Linux does it")


def parse_cpu_list(text: str) -> List[int]:
    """Returns the numbers of a list such as ``0-3, 8``, in the given order. Raises ValueError."""
    numbers: List[int] = []
    for item in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", item.strip())
        if match is None:
            raise ValueError(f'"{item.strip()}" is neither a CPU number nor a range such as 0-3')
        first = int(match.group(1))
        last = int(match.group(2) or first)
        if last < first:
            raise ValueError(f'the range "{item.strip()}" ends before it begins')
        numbers.extend(range(first, last + 1))
    return numbers


def format_cpu_list(cpus: Iterable[int]) -> str:
    """Returns the shortest list in the syntax of ``numactl``, for example ``0-3,8``."""
    ranges: List[List[int]] = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def parse_lscpu(text: str) -> List[Cpu]:
    """Returns the rows of ``lscpu --parse=CPU,Core,Socket,Node``; skips other lines, such as comments."""
    cpus = []
    for line in text.splitlines():
        match = LSCPU_ROW.match(line.strip())
        if match is None:
            continue
        number, core, socket, node = (int(field) if field.isdigit() else None for field in match.groups())
        assert number is not None
        # A CPU without a core number is its own core; the third element makes it different from all numbered ones.
        identity = (socket or 0, core) if core is not None else (socket or 0, number, -1)
        cpus.append(Cpu(number, identity, node or 0))
    return cpus


def _read_number(path: Path, otherwise: int) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return otherwise


def _sysfs_nodes(root: Path) -> Dict[int, int]:
    """Returns the node of each CPU; empty if the kernel was built without NUMA."""
    nodes: Dict[int, int] = {}
    for folder in root.glob("node/node[0-9]*"):
        text = (folder / "cpulist").read_text().strip()
        for cpu in parse_cpu_list(text) if text else []:
            nodes[cpu] = int(folder.name[len("node"):])
    return nodes


def read_sysfs(root: Path) -> List[Cpu]:
    """Returns what lscpu reports, from the kernel's files. Empty if they cannot be read."""
    try:
        online = parse_cpu_list((root / "cpu/online").read_text())
        nodes = _sysfs_nodes(root)
    except (OSError, ValueError):
        return []
    cpus = []
    for number in online:
        topology = root / f"cpu/cpu{number}/topology"
        package = _read_number(topology / "physical_package_id", 0)
        core = _read_number(topology / "core_id", -1)
        # Some kernels report -1 for an unknown core. That means one core per CPU, not one core for all.
        identity = (package, core) if core >= 0 else (package, number, -1)
        cpus.append(Cpu(number, identity, nodes.get(number, 0)))
    return cpus


def _run_lscpu() -> List[Cpu]:
    try:
        done = subprocess.run(LSCPU, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return parse_lscpu(done.stdout.decode("ascii", "replace"))


def read_machine() -> List[Cpu]:
    """Returns all CPUs that are online. If the topology is unknown, each available CPU is a core of node 0."""
    return _run_lscpu() or read_sysfs(SYSFS) or [Cpu(cpu, (0, cpu), 0) for cpu in os.sched_getaffinity(0)]


class _CPUinfo:
    """The available CPUs by NUMA node. ``test_input``, output of lscpu, replaces this machine by another.

    A physical core is named by the first of its CPUs that may be used, so that every number here can be bound to.
    """

    def __init__(self, test_input: str = "") -> None:
        require_linux()
        machine = parse_lscpu(test_input) if test_input else read_machine()
        allowed: Optional[FrozenSet[int]] = None if test_input else frozenset(os.sched_getaffinity(0))
        usable = sorted(cpu for cpu in machine if allowed is None or cpu.number in allowed)
        if not usable:
            raise LaunchError("no usable CPU was found: lscpu and /sys name none that this process may run on")
        self.machine_nodes = len({cpu.node for cpu in machine})
        self.node_nums = max(cpu.node for cpu in usable) + 1
        self.node_physical_cores: List[List[int]] = [[] for _ in range(self.node_nums)]
        self.node_logical_cores: List[List[int]] = [[] for _ in range(self.node_nums)]
        self.physical_core_node_map: Dict[int, int] = {}
        self.logical_core_node_map: Dict[int, int] = {}
        self._sort_in(usable)

    def _sort_in(self, usable: List[Cpu]) -> None:
        seen = set()
        for cpu in usable:
            self.node_logical_cores[cpu.node].append(cpu.number)
            self.logical_core_node_map[cpu.number] = cpu.node
            if cpu.core not in seen:
                seen.add(cpu.core)
                self.node_physical_cores[cpu.node].append(cpu.number)
                self.physical_core_node_map[cpu.number] = cpu.node

    def _physical_core_nums(self) -> int:
        return len(self.physical_core_node_map)

    def _logical_core_nums(self) -> int:
        return len(self.logical_core_node_map)

    def _check_node(self, node_id: int) -> None:
        valid = [node for node, cpus in enumerate(self.node_logical_cores) if cpus]
        if node_id not in valid:
            raise ValueError(f"Invalid node id: {node_id}. Valid node ids: {valid}")

    def get_node_physical_cores(self, node_id: int) -> List[int]:
        self._check_node(node_id)
        return self.node_physical_cores[node_id]

    def get_node_logical_cores(self, node_id: int) -> List[int]:
        self._check_node(node_id)
        return self.node_logical_cores[node_id]

    def get_all_physical_cores(self) -> List[int]:
        """Returns the CPUs in order of nodes, so that a slice straddles nodes only if it must."""
        return [core for cores in self.node_physical_cores for core in cores]

    def get_all_logical_cores(self) -> List[int]:
        return [core for cores in self.node_logical_cores for core in cores]

    def nodes_of(self, core_list: Iterable[int]) -> List[int]:
        """Returns the nodes of the CPUs, each once, in order of first occurrence."""
        return list(dict.fromkeys(self.logical_core_node_map[core] for core in core_list))

    def numa_aware_check(self, core_list: List[int]) -> List[int]:
        """Returns the nodes of the CPUs. Warns if there are several, because memory of another node is slower."""
        nodes = self.nodes_of(core_list)
        if not nodes:
            raise RuntimeError("an instance without cores has no NUMA node")
        if len(nodes) > 1:
            logger.warning(
                "cores %s are on different NUMA nodes %s; choose --ncores-per-instance so that it divides the cores of "
                "a node, or use --skip-cross-node-cores",
                format_cpu_list(core_list), nodes,
            )
        return nodes
