"""Computes the cores of each instance from the options and the topology. Has no side effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Mapping, Optional, Tuple

from .errors import LaunchError, logger
from .options import Options, names_given
from .topology import _CPUinfo, format_cpu_list

LATENCY_CORES = 4


@dataclass(frozen=True)
class Instance:
    """One process to start. ``index`` is its rank among all instances, also if only some are started."""

    index: int
    cpus: Tuple[int, ...]
    nodes: Tuple[int, ...]


# The cores of one division. Instances are cut out of one pool, so they straddle nodes only if a pool does.
Pool = List[int]
Share = Tuple[int, ...]


def _cut(pools: List[Pool], size: int) -> List[Share]:
    """Cuts as many shares of one size as fit; the rest of each pool stays unused."""
    return [tuple(pool[at:at + size]) for pool in pools for at in range(0, len(pool) - size + 1, size)]


def _largest_size(pools: List[Pool], count: int) -> int:
    """Returns the largest number of cores that each of ``count`` instances can have."""
    total = sum(len(pool) for pool in pools)
    if count > total:
        raise LaunchError(f"there are {total} cores for {count} instances; --ninstances can be {total} at most")
    size = total // count
    # Pools whose size is not a multiple of the share leave cores unused, so the total alone may overestimate.
    while len(_cut(pools, size)) < count:
        size -= 1
    return size


def _divide(pools: List[Pool], count: Optional[int], size: Optional[int]) -> List[Share]:
    if size is None:
        count = count or 1
        return _cut(pools, _largest_size(pools, count))[:count]
    shares = _cut(pools, size)
    if not shares:
        raise LaunchError(f"no instance can have {size} cores: there are {max(len(pool) for pool in pools)}"
                          + (" on the largest NUMA node" if len(pools) > 1 else ""))
    if count is None:
        return shares
    if count > len(shares):
        raise LaunchError(f"{count} instances of {size} cores do not fit: at most {len(shares)} fit; make sure "
                          "that --ninstances times --ncores-per-instance is at most the number of cores")
    return shares[:count]


def _pools(cpus_by_node: List[Pool], apart: bool) -> List[Pool]:
    """Returns one pool per node if instances must not straddle nodes, otherwise one pool of all cores in order of nodes."""
    if apart:
        return [cpus for cpus in cpus_by_node if cpus]
    return [[cpu for cpus in cpus_by_node for cpu in cpus]]


def _warn_of_ignored(options: Options, mode: str) -> None:
    ignored = names_given(options, ("ninstances", "ncores_per_instance", "node_id", "use_logical_core"))
    if ignored:
        logger.warning("%s decides about all cores: %s has no effect", mode, ", ".join(ignored))


def _listed_cores(options: Options, cpuinfo: _CPUinfo) -> List[Pool]:
    """Returns the cores of --core-list by node, in ascending order."""
    assert options.core_list is not None
    unusable = [core for core in options.core_list if core not in cpuinfo.logical_core_node_map]
    if unusable:
        raise LaunchError(f"--core-list names {format_cpu_list(unusable)}, but this process can use the CPUs "
                          f"{format_cpu_list(cpuinfo.logical_core_node_map)} only")
    by_node: List[Pool] = [[] for _ in range(cpuinfo.node_nums)]
    for core in sorted(options.core_list):
        by_node[cpuinfo.logical_core_node_map[core]].append(core)
    return by_node


def _chosen_cores(options: Options, cpuinfo: _CPUinfo) -> List[Pool]:
    if options.core_list is not None:
        return _listed_cores(options, cpuinfo)
    by_node = cpuinfo.node_logical_cores if options.use_logical_core else cpuinfo.node_physical_cores
    if options.node_id is None:
        return by_node
    try:
        cpuinfo.get_node_logical_cores(options.node_id)
    except ValueError as error:
        raise LaunchError(f"--node-id: {error}") from None
    return [by_node[options.node_id]]


def _by_throughput(options: Options) -> bool:
    alone = options.core_list is None and options.ninstances is None and options.ncores_per_instance is None
    return options.throughput_mode or (options.multi_instance and alone and not options.latency_mode)


def _shares(options: Options, cpuinfo: _CPUinfo) -> List[Share]:
    apart = options.skip_cross_node_cores
    if _by_throughput(options):
        _warn_of_ignored(options, "--throughput-mode" if options.throughput_mode else "--multi-instance")
        return [tuple(cores) for cores in cpuinfo.node_physical_cores if cores]
    if options.latency_mode:
        _warn_of_ignored(options, "--latency-mode")
        return _divide(_pools(cpuinfo.node_physical_cores, apart), None, LATENCY_CORES)
    count, size = options.ninstances, options.ncores_per_instance
    if apart and count is None and size is None:
        raise LaunchError("--skip-cross-node-cores needs --ncores-per-instance or --ninstances")
    pools = _pools(_chosen_cores(options, cpuinfo), apart)
    shares = _divide(pools, count, size)
    if options.core_list is not None and sum(map(len, shares)) < len(options.core_list):
        logger.warning("%d of the %d cores in --core-list are used", sum(map(len, shares)), len(options.core_list))
    return shares


def _whole_number(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except (KeyError, ValueError):
        raise LaunchError(f"LOCAL_WORLD_SIZE is set, as torchrun does, but {name} is "
                          f'"{environment.get(name, "")}", which is not a number') from None


def local_share(share: Share, environment: Mapping[str, str]) -> Share:
    """Returns the part of a share for this process, if torchrun started several launchers on this machine."""
    if "LOCAL_WORLD_SIZE" not in environment:
        return share
    size = _whole_number(environment, "LOCAL_WORLD_SIZE")
    if size == 1:
        return share
    rank = _whole_number(environment, "LOCAL_RANK")
    if not 0 <= rank < size:
        raise LaunchError(f"LOCAL_RANK is {rank}, but must be at least 0 and below LOCAL_WORLD_SIZE, {size}")
    each = len(share) // size
    if each == 0:
        raise LaunchError(f"{len(share)} cores cannot be divided between the {size} processes of LOCAL_WORLD_SIZE")
    return share[rank * each:(rank + 1) * each]


def plan_instances(options: Options, cpuinfo: _CPUinfo, environment: Mapping[str, str]) -> List[Instance]:
    """Returns the instances to start, with their cores. Raises LaunchError if the machine or the options do not allow it."""
    shares = list(enumerate(_shares(options, cpuinfo)))
    if options.rank is not None:
        if options.rank >= len(shares):
            raise LaunchError(f"--rank is {options.rank}, but there are {len(shares)} instances, counted from 0")
        shares = [shares[options.rank]]
    instances = []
    for index, share in shares:
        cpus = local_share(share, environment)
        instances.append(Instance(index, cpus, tuple(cpuinfo.numa_aware_check(list(cpus)))))
    return instances


def pins_threads(options: Options) -> bool:
    """Returns whether KMP_AFFINITY may be set. Its compact order leaves hyper-threads idle if all of them are to be used."""
    return not options.use_logical_core or options.node_id is not None or options.core_list is not None \
        or options.latency_mode or _by_throughput(options)
