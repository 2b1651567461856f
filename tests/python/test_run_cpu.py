"""The launcher up to the start of instances: topology, shares of cores, environment, libraries, and errors."""

import logging
import os
import pathlib
import platform
import sys

import pytest
from run_cpu_support import NO_LIBRARIES, machine, options, parse

from backplane.backends.xeon import environment as env
from backplane.backends.xeon import run_cpu, topology
from backplane.backends.xeon.plan import pins_threads, plan_instances
from backplane.backends.xeon.run_cpu import LaunchError, _CPUinfo

TWO_NODES = machine(nodes=2, cores=4, threads=2)


def shares(text, *words, **variables):
    return [list(instance.cpus) for instance in plan_instances(options(*words), _CPUinfo(text), variables)]


def refusal(text, *words, **variables):
    with pytest.raises(LaunchError) as caught:
        shares(text, *words, **variables)
    return str(caught.value)


# Topology


def test_cpu_info_as_pytorch_tests_it():
    cpuinfo = _CPUinfo(TWO_NODES)
    assert cpuinfo._physical_core_nums() == 8
    assert cpuinfo._logical_core_nums() == 16
    assert cpuinfo.get_node_physical_cores(0) == [0, 1, 2, 3]
    assert cpuinfo.get_node_physical_cores(1) == [4, 5, 6, 7]
    assert cpuinfo.get_node_logical_cores(0) == [0, 1, 2, 3, 8, 9, 10, 11]
    assert cpuinfo.get_node_logical_cores(1) == [4, 5, 6, 7, 12, 13, 14, 15]
    assert cpuinfo.get_all_physical_cores() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert cpuinfo.get_all_logical_cores() == [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15]
    assert cpuinfo.numa_aware_check([0, 1, 2, 3]) == [0]
    assert cpuinfo.numa_aware_check([4, 5, 6, 7]) == [1]
    assert cpuinfo.numa_aware_check([2, 3, 4, 5]) == [0, 1]
    assert cpuinfo.physical_core_node_map == {core: core // 4 for core in range(8)}
    with pytest.raises(RuntimeError):
        cpuinfo.numa_aware_check([])


def test_straddling_nodes_is_warned_of(caplog):
    _CPUinfo(TWO_NODES).numa_aware_check([0, 1, 2, 3])
    assert not caplog.records
    _CPUinfo(TWO_NODES).numa_aware_check([2, 3, 4, 5])
    assert "2-5 are on different NUMA nodes [0, 1]" in caplog.text


def test_twelve_nodes_are_twelve():
    cpuinfo = _CPUinfo(machine(nodes=12, cores=2))
    assert cpuinfo.node_nums == 12
    assert cpuinfo.get_node_physical_cores(11) == [22, 23]
    assert cpuinfo.get_node_physical_cores(1) == [2, 3]


@pytest.mark.parametrize("empty", ["", "-"])
def test_an_empty_node_column_is_node_0(empty):
    cpuinfo = _CPUinfo(f"0,0,0,{empty}\n1,1,0,{empty}\n")
    assert (cpuinfo.node_nums, cpuinfo.get_node_physical_cores(0)) == (1, [0, 1])


def test_an_empty_core_column_is_a_core_per_cpu():
    assert _CPUinfo("0,,,\n1,,,\n2,,,\n").get_all_physical_cores() == [0, 1, 2]


def test_alternating_numbers_are_sorted_by_node():
    cpuinfo = _CPUinfo(machine(nodes=2, cores=3, alternating=True))
    assert cpuinfo.get_all_physical_cores() == [0, 2, 4, 1, 3, 5]


def test_a_core_is_named_by_a_cpu_that_can_be_bound():
    """Hyper-threads with adjacent numbers: core 1 has the CPUs 2 and 3, and CPU 1 is on core 0."""
    assert _CPUinfo("0,0,0,0\n1,0,0,0\n2,1,0,0\n3,1,0,0\n").get_all_physical_cores() == [0, 2]


def test_equal_core_numbers_in_two_sockets_are_two_cores():
    assert _CPUinfo("0,0,0,0\n1,0,1,0\n").get_all_physical_cores() == [0, 1]


def test_missing_node_numbers_leave_gaps():
    cpuinfo = _CPUinfo("0,0,0,0\n1,1,8,8\n")
    assert cpuinfo.get_node_physical_cores(8) == [1]
    for node in (-1, 4, 9):
        with pytest.raises(ValueError, match=r"Valid node ids: \[0, 8\]"):
            cpuinfo.get_node_physical_cores(node)


def test_text_without_rows_is_refused():
    with pytest.raises(RuntimeError, match="no usable CPU"):
        _CPUinfo("# nothing\n")


def test_only_allowed_cpus_are_used(monkeypatch):
    """A container with CPU 5, and CPUs 1 and 9, which are one core."""
    monkeypatch.setattr(topology, "_run_lscpu", lambda: topology.parse_lscpu(TWO_NODES))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 5, 9})
    cpuinfo = _CPUinfo()
    assert cpuinfo.node_physical_cores == [[1], [5]]
    assert cpuinfo.node_logical_cores == [[1, 9], [5]]
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {9})
    assert (_CPUinfo().get_all_physical_cores(), _CPUinfo().machine_nodes) == ([9], 2)


def write_sysfs(root, packages=None):
    for cpu in range(4):
        folder = root / f"cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "core_id").write_text(f"{cpu % 2}\n" if packages else "-1\n")
        (folder / "physical_package_id").write_text(f"{packages[cpu]}\n" if packages else "-1\n")
    (root / "cpu/online").write_text("0-3\n")
    for node, cpus in ((0, "0-1"), (1, ""), (11, "2,3")):
        (root / f"node/node{node}").mkdir(parents=True)
        (root / f"node/node{node}/cpulist").write_text(cpus + "\n")


def test_sysfs_replaces_lscpu(tmp_path, monkeypatch):
    write_sysfs(tmp_path, packages=[0, 0, 1, 1])
    cpus = topology.read_sysfs(tmp_path)
    assert [(cpu.number, cpu.node) for cpu in cpus] == [(0, 0), (1, 0), (2, 11), (3, 11)]
    assert len({cpu.core for cpu in cpus}) == 4
    monkeypatch.setattr(topology, "LSCPU", (str(tmp_path / "no-lscpu"),))
    monkeypatch.setattr(topology, "SYSFS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3})
    assert _CPUinfo().get_node_physical_cores(11) == [2, 3]


def test_sysfs_without_core_numbers_is_a_core_per_cpu(tmp_path):
    write_sysfs(tmp_path)
    assert len({cpu.core for cpu in topology.read_sysfs(tmp_path)}) == 4


def test_without_lscpu_and_sysfs_the_affinity_mask_is_the_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(topology, "LSCPU", ("false",))
    monkeypatch.setattr(topology, "SYSFS", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 6})
    assert _CPUinfo().node_physical_cores == [[3, 6]]


@pytest.mark.parametrize("system", ["Windows", "Darwin", "FreeBSD"])
def test_other_systems_are_refused(system, monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: system)
    with pytest.raises(RuntimeError, match=f"{system} is not supported"):
        _CPUinfo(TWO_NODES)
    with pytest.raises(RuntimeError, match=f"{system} is not supported"):
        run_cpu.main(parse())


@pytest.mark.parametrize("text, numbers", [("0", [0]), ("0, 1, 2, 3", [0, 1, 2, 3]), ("8,0-2", [8, 0, 1, 2])])
def test_cpu_lists_are_read(text, numbers):
    assert topology.parse_cpu_list(text) == numbers


@pytest.mark.parametrize("text", ["", "a", "1,,2", "3-1", "-1", "1-2-3"])
def test_invalid_cpu_lists_are_refused(text):
    with pytest.raises(ValueError):
        topology.parse_cpu_list(text)


def test_cpu_lists_are_written_short():
    assert topology.format_cpu_list([8, 0, 1, 2, 6, 7]) == "0-2,6-8"
    assert topology.format_cpu_list([5]) == "5"


# Instances and cores


@pytest.mark.parametrize("words, expected", [
    ((), [list(range(8))]),
    (("--use-logical-core",), [[0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15]]),
    (("--node-id", "0"), [[0, 1, 2, 3]]),
    (("--node-id", "1", "--use-logical-core"), [[4, 5, 6, 7, 12, 13, 14, 15]]),
    (("--ninstances", "3"), [[0, 1], [2, 3], [4, 5]]),
    (("--ninstances", "-1", "--ncores-per-instance", "-1"), [list(range(8))]),
    (("--ncores-per-instance", "3"), [[0, 1, 2], [3, 4, 5]]),
    (("--ninstances", "2", "--ncores-per-instance", "3"), [[0, 1, 2], [3, 4, 5]]),
    (("--ncores-per-instance", "3", "--skip-cross-node-cores"), [[0, 1, 2], [4, 5, 6]]),
    (("--ncores-per-instance", "2", "--skip-cross-node-cores"), [[0, 1], [2, 3], [4, 5], [6, 7]]),
    (("--ninstances", "3", "--skip-cross-node-cores"), [[0, 1], [2, 3], [4, 5]]),
    (("--ninstances", "1", "--skip-cross-node-cores"), [[0, 1, 2, 3]]),
    (("--latency-mode",), [[0, 1, 2, 3], [4, 5, 6, 7]]),
    (("--throughput-mode",), [[0, 1, 2, 3], [4, 5, 6, 7]]),
    (("--multi-instance",), [[0, 1, 2, 3], [4, 5, 6, 7]]),
    (("--multi-instance", "--ninstances", "1"), [list(range(8))]),
    (("--core-list", "0, 1, 2, 3", "--ncores-per-instance", "2"), [[0, 1], [2, 3]]),
    (("--core-list", "8-11", "--ncores-per-instance", "3"), [[8, 9, 10]]),
    (("--core-list", "12,0,13,1", "--ncores-per-instance", "2"), [[0, 1], [12, 13]]),
    (("--core-list", "0-3", "--ncores-per-instance", "2", "--ninstances", "1"), [[0, 1]]),
    (("--core-list", "2-7", "--ncores-per-instance", "4", "--skip-cross-node-cores"), [[4, 5, 6, 7]]),
    (("--ninstances", "3", "--rank", "0"), [[0, 1]]),
    (("--ninstances", "3", "--rank", "2"), [[4, 5]]),
])
def test_cores_of_instances(words, expected):
    assert shares(TWO_NODES, *words) == expected


def test_a_rank_keeps_its_number():
    (instance,) = plan_instances(options("--ninstances", "4", "--rank", "2"), _CPUinfo(TWO_NODES), {})
    assert (instance.index, instance.nodes) == (2, (1,))


def test_alternating_nodes_are_not_straddled():
    text = machine(nodes=2, cores=4, alternating=True)
    assert shares(text, "--throughput-mode") == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert shares(text, "--ninstances", "2") == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert shares(text, "--core-list", "0-3", "--ncores-per-instance", "2") == [[0, 2], [1, 3]]


def test_nodes_of_different_sizes():
    text = "0,0,0,0\n1,1,0,1\n2,2,0,1\n3,3,0,1\n"
    assert shares(text, "--throughput-mode") == [[0], [1, 2, 3]]
    assert shares(text, "--ncores-per-instance", "2", "--skip-cross-node-cores") == [[1, 2]]
    assert shares(text, "--ninstances", "2", "--skip-cross-node-cores") == [[0], [1]]


@pytest.mark.parametrize("words, sentence", [
    (("--ninstances", "9"), "there are 8 cores for 9 instances"),
    (("--ncores-per-instance", "9"), "no instance can have 9 cores"),
    (("--ninstances", "3", "--ncores-per-instance", "3"), "3 instances of 3 cores do not fit: at most 2 fit"),
    (("--ncores-per-instance", "5", "--skip-cross-node-cores"), "there are 4 on the largest NUMA node"),
    (("--skip-cross-node-cores",), "needs --ncores-per-instance or --ninstances"),
    (("--ninstances", "3", "--ncores-per-instance", "3", "--skip-cross-node-cores"), "at most 2 fit"),
    (("--latency-mode", "--throughput-mode"), "--latency-mode and --throughput-mode cannot be used together"),
    (("--core-list", "0-3"), "--core-list needs --ncores-per-instance"),
    (("--core-list", "0-3", "--ncores-per-instance", "5"), "no instance can have 5 cores: there are 4"),
    (("--core-list", "0-3", "--ncores-per-instance", "2", "--ninstances", "3"), "at most 2 fit"),
    (("--core-list", "0,99", "--ncores-per-instance", "1"), "names 99, but this process can use the CPUs 0-15 only"),
    (("--core-list", "0,1,0", "--ncores-per-instance", "1"), "names CPU 0 more than once"),
    (("--core-list", "0,x", "--ncores-per-instance", "1"), '--core-list: "x" is neither'),
    (("--core-list", "0", "--ncores-per-instance", "1", "--node-id", "0"), "--core-list and --node-id cannot"),
    (("--core-list", "0", "--ncores-per-instance", "1", "--latency-mode"), "--core-list and --latency-mode cannot"),
    (("--node-id", "2"), "Invalid node id: 2. Valid node ids: [0, 1]"),
    (("--node-id", "-2"), "--node-id is -2, but must be at least 0"),
    (("--ninstances", "0"), "--ninstances is 0, but must be at least 1"),
    (("--ncores-per-instance", "-3"), "--ncores-per-instance is -3"),
    (("--ninstances", "2", "--rank", "2"), "--rank is 2, but there are 2 instances"),
    (("--rank", "1"), "--rank is 1, but there are 1 instances"),
    (("--enable-tcmalloc", "--enable-jemalloc"), "--enable-tcmalloc and --enable-jemalloc cannot"),
    (("--enable-jemalloc", "--use-default-allocator"), "a program has one memory allocator"),
    (("-m",), "--module and --no-python cannot be used together"),
    (("--grace-period", "-1"), "--grace-period is -1"),
    (("--grace-period", "nan"), "--grace-period is nan"),
    (("--log-file-prefix", "a/b"), "the folder belongs into --log-path"),
])
def test_impossible_requests_are_refused(words, sentence):
    assert sentence in refusal(TWO_NODES, *words)


def test_latency_mode_needs_four_cores():
    assert "no instance can have 4 cores: there are 2" in refusal(machine(1, 2), "--latency-mode")


@pytest.mark.parametrize("mode", ["--latency-mode", "--throughput-mode"])
def test_modes_warn_about_ignored_options(mode, caplog):
    shares(TWO_NODES, mode)
    assert not caplog.records
    assert shares(TWO_NODES, mode, "--node-id", "0", "--ninstances", "5") == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert f"{mode} decides about all cores: --ninstances, --node-id has no effect" in caplog.text


def test_unused_cores_of_a_list_are_reported(caplog):
    shares(TWO_NODES, "--core-list", "0-3", "--ncores-per-instance", "2")
    assert not caplog.records
    shares(TWO_NODES, "--core-list", "0-3", "--ncores-per-instance", "3")
    assert "3 of the 4 cores in --core-list are used" in caplog.text


def test_torchrun_divides_each_share():
    assert shares(TWO_NODES, LOCAL_WORLD_SIZE="2", LOCAL_RANK="1") == [[4, 5, 6, 7]]
    assert shares(TWO_NODES, "--ninstances", "2", LOCAL_WORLD_SIZE="3", LOCAL_RANK="0") == [[0], [4]]
    assert shares(TWO_NODES, LOCAL_WORLD_SIZE="1") == [list(range(8))]
    assert shares(TWO_NODES, LOCAL_RANK="5") == [list(range(8))]


@pytest.mark.parametrize("size, rank, sentence", [
    ("9", "0", "8 cores cannot be divided between the 9 processes"),
    ("2", "2", "LOCAL_RANK is 2, but must be"),
    ("0", "0", "below LOCAL_WORLD_SIZE, 0"),
    ("two", "0", 'LOCAL_WORLD_SIZE is "two", which is not a number'),
    ("2", "", 'LOCAL_RANK is "", which is not a number'),
])
def test_torchrun_variables_are_checked(size, rank, sentence):
    assert sentence in refusal(TWO_NODES, LOCAL_WORLD_SIZE=size, LOCAL_RANK=rank)


@pytest.mark.parametrize("words, pins", [
    ((), True), (("--use-logical-core",), False), (("--use-logical-core", "--node-id", "0"), True),
    (("--use-logical-core", "--latency-mode"), True), (("--use-logical-core", "--multi-instance"), True),
    (("--use-logical-core", "--core-list", "0", "--ncores-per-instance", "1"), True),
])
def test_threads_are_not_pinned_on_all_logical_cores(words, pins):
    assert pins_threads(options(*words)) == pins


def test_every_option_has_two_spellings():
    for dashed in ("--multi-instance", "--enable-tcmalloc", "--use-default-allocator", "--disable-iomp", "--no-python",
                   "--skip-cross-node-cores", "--latency-mode", "--throughput-mode", "--use-logical-core",
                   "--disable-numactl", "--disable-taskset", "--enable-jemalloc"):
        assert vars(parse(dashed)) == vars(parse("--" + dashed[2:].replace("-", "_")))
        assert getattr(parse(dashed), dashed[2:].replace("-", "_")) is True
    for dashed in ("--ncores-per-instance", "--node-id", "--core-list", "--log-path", "--log-file-prefix",
                   "--grace-period"):
        assert vars(parse(dashed, "7")) == vars(parse("--" + dashed[2:].replace("-", "_"), "7"))


# Environment


def make_library(folder, name, header=None):
    """Writes a file with the ELF header of this machine, which is all that the search reads."""
    folder.mkdir(parents=True, exist_ok=True)
    if header is None:
        header = pathlib.Path("/proc/self/exe").read_bytes()[:64]
    (folder / name).write_bytes(header)
    return str(folder / name)


def built(base, folders, *words, threads=(4,), pins=True):
    return env.instance_environments(base, options(*words), threads, pins, folders)


def test_thread_counts_differ_per_instance():
    first, second = built({"A": "b"}, [], *NO_LIBRARIES, threads=(4, 2))
    assert (first, second) == ({"A": "b", "OMP_NUM_THREADS": "4"}, {"A": "b", "OMP_NUM_THREADS": "2"})


def test_a_thread_count_that_was_set_stays(caplog):
    assert built({"OMP_NUM_THREADS": "7"}, [], *NO_LIBRARIES) == [{"OMP_NUM_THREADS": "7"}]
    assert "OMP_NUM_THREADS=7 was set before and is kept; it would have become 4" in caplog.text


def test_the_base_environment_stays_as_it_was(tmp_path):
    make_library(tmp_path, "libtcmalloc.so")
    base = {"LD_PRELOAD": "/missing/liba.so"}
    built(base, [tmp_path])
    assert base == {"LD_PRELOAD": "/missing/liba.so"}


def test_openmp_is_preloaded_and_configured(tmp_path):
    path = make_library(tmp_path, "libiomp5.so")
    words = ("--use-default-allocator",)
    (pinned,) = built({}, [tmp_path], *words)
    assert pinned == {"LD_PRELOAD": path, "KMP_AFFINITY": "granularity=fine,compact,1,0", "KMP_BLOCKTIME": "1",
                      "OMP_NUM_THREADS": "4"}
    (loose,) = built({"KMP_BLOCKTIME": "0"}, [tmp_path], *words, pins=False)
    assert loose == {"LD_PRELOAD": path, "KMP_BLOCKTIME": "0", "OMP_NUM_THREADS": "4"}
    assert built({}, [tmp_path], *NO_LIBRARIES) == [{"OMP_NUM_THREADS": "4"}]
    (absent,) = built({}, [], *words)
    assert absent == {"OMP_NUM_THREADS": "4"}


@pytest.mark.parametrize("there, words, taken, configured", [
    (("tcmalloc", "jemalloc"), (), "tcmalloc", False),
    (("jemalloc",), (), "jemalloc", False),
    ((), (), None, False),
    (("tcmalloc", "jemalloc"), ("--enable-jemalloc",), "jemalloc", True),
    (("tcmalloc", "jemalloc"), ("--enable-tcmalloc",), "tcmalloc", False),
    (("tcmalloc",), ("--enable-jemalloc",), None, False),
    (("tcmalloc", "jemalloc"), ("--use-default-allocator",), None, False),
    (("tcmalloc_minimal", "jemalloc"), (), "tcmalloc_minimal", False),
    (("tcmalloc_minimal", "tcmalloc"), (), "tcmalloc", False),
    (("tcmalloc_minimal", "jemalloc"), ("--enable-tcmalloc",), "tcmalloc_minimal", False),
    (("tcmalloc_minimal_debug",), (), None, False),
])
def test_order_of_allocators(tmp_path, there, words, taken, configured):
    paths = {name: make_library(tmp_path, f"lib{name}.so") for name in there}
    (made,) = built({}, [tmp_path], "--disable-iomp", *words)
    assert made.get("LD_PRELOAD") == paths.get(taken)
    assert made.get("MALLOC_CONF") == (env.JEMALLOC_SETTINGS if configured else None)


def test_missing_allocators_are_reported(tmp_path, caplog):
    built({}, [tmp_path], "--disable-iomp")
    assert f"neither tcmalloc nor jemalloc was found; the default allocator is used. Folders searched: {tmp_path}" \
        in caplog.text
    built({}, [tmp_path], "--disable-iomp", "--enable-tcmalloc")
    assert f"libtcmalloc.so or libtcmalloc_minimal.so was not found in {tmp_path}" in caplog.text


def test_debians_tcmalloc_is_found(tmp_path):
    """The package libtcmalloc-minimal4 has no link without a number. The full library is preferred in any folder."""
    near, far = tmp_path / "near", tmp_path / "far"
    minimal = make_library(near, "libtcmalloc_minimal.so.4")
    make_library(near, "libtcmalloc_minimal_debug.so.4")
    assert built({}, [near, far], "--disable-iomp")[0]["LD_PRELOAD"] == minimal
    whole = make_library(far, "libtcmalloc.so.4")
    assert built({}, [near, far], "--disable-iomp")[0]["LD_PRELOAD"] == whole
    assert built({"LD_PRELOAD": minimal}, [far], "--disable-iomp")[0]["LD_PRELOAD"] == minimal


def test_preloads_are_kept_behind_and_missing_ones_dropped(tmp_path, caplog):
    mine, taken = make_library(tmp_path, "libmine.so"), make_library(tmp_path, "libtcmalloc.so")
    base = {"LD_PRELOAD": f"{mine}:/missing/liba.so libshort.so:/$LIB/libtoken.so"}
    (made,) = built(base, [tmp_path], "--disable-iomp")
    assert made["LD_PRELOAD"] == f"{taken}:{mine}:libshort.so:/$LIB/libtoken.so"
    assert caplog.text.count("is removed from LD_PRELOAD") == 1
    (emptied,) = built({"LD_PRELOAD": "/missing/liba.so"}, [], *NO_LIBRARIES)
    assert "LD_PRELOAD" not in emptied


@pytest.mark.parametrize("name", ["libasan.so.8", "libtsan.so", "libclang_rt.asan-x86_64.so"])
def test_a_sanitizer_stays_the_first(tmp_path, name):
    """It ends a program in which it is not."""
    sanitizer, mine, taken = (make_library(tmp_path, one) for one in (name, "libmine.so", "libtcmalloc.so"))
    (made,) = built({"LD_PRELOAD": f"{sanitizer}:{mine}"}, [tmp_path], "--disable-iomp")
    assert made["LD_PRELOAD"] == f"{sanitizer}:{taken}:{mine}"


def test_an_allocator_that_is_preloaded_stays_the_choice(tmp_path):
    make_library(tmp_path, "libtcmalloc.so")
    mine = make_library(tmp_path / "mine", "libjemalloc.so.2")
    (made,) = built({"LD_PRELOAD": mine}, [tmp_path], "--disable-iomp")
    assert made["LD_PRELOAD"] == mine


def test_the_search_knows_versions_and_order_of_folders(tmp_path):
    far, near = tmp_path / "far", tmp_path / "near"
    plain = make_library(far, "libx.so")
    assert env.find_library("x", [near, far]) == plain
    make_library(near, "libx.so.9")
    newest = make_library(near, "libx.so.10")
    for other in ("libx.so.conf", "libxy.so", "libx.so-old"):
        make_library(near, other)
    assert env.find_library("x", [near, far]) == newest
    exact = make_library(near, "libx.so")
    assert env.find_library("x", [near, far]) == exact
    assert env.find_library("absent", [near, far]) is None


def test_the_search_skips_files_that_cannot_be_loaded(tmp_path):
    make_library(tmp_path, "libx.so", b"/* GNU ld script */ INPUT(libx.so.1)")
    other = bytearray(pathlib.Path("/proc/self/exe").read_bytes()[:64])
    other[4] = 3 - other[4]  # the word size: 1 is 32 bits, 2 is 64 bits
    make_library(tmp_path, "libx.so.3", bytes(other))
    right = make_library(tmp_path, "libx.so.1")
    assert env.find_library("x", [tmp_path]) == right
    make_library(tmp_path / "a b", "liby.so")
    assert env.find_library("y", [tmp_path / "a b"]) is None


def test_folders_of_libraries(monkeypatch):
    monkeypatch.setattr(env, "_multiarch", lambda: "riscv64-linux-gnu")
    folders = env.library_folders({"CONDA_PREFIX": "/c", "VIRTUAL_ENV": "/v", "HOME": "/h"}, pathlib.Path("/r"))
    assert [str(folder) for folder in folders] == [
        "/c/lib", "/v/lib", f"{sys.prefix}/lib", "/h/.local/lib",
        "/r/usr/local/lib/riscv64-linux-gnu", "/r/usr/local/lib", "/r/usr/local/lib64",
        "/r/usr/lib/riscv64-linux-gnu", "/r/usr/lib", "/r/usr/lib64",
    ]


@pytest.mark.parametrize("told, machine_name, expected", [
    ("x86_64-linux-gnu", "x86_64", "x86_64-linux-gnu"), (None, "aarch64", "aarch64-linux-gnu"),
])
def test_the_multiarch_folder(monkeypatch, told, machine_name, expected):
    monkeypatch.setattr(env.sysconfig, "get_config_var", lambda name: told)
    monkeypatch.setattr(platform, "machine", lambda: machine_name)
    assert env._multiarch() == expected


def test_what_is_set_is_logged(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    path = make_library(tmp_path, "libtcmalloc.so")
    built({"LD_LIBRARY_PATH": "/x"}, [tmp_path], "--disable-iomp")
    assert f"LD_PRELOAD={path}" in caplog.text and "LD_LIBRARY_PATH" not in caplog.text
