/* test_topology.c - tests topology and CPU limits: from artificial /proc and /sys trees, and from this machine by two
 * methods that must agree. */
#include "machine/files.h"
#include "machine/internal.h"
#include "machine/topology.h"
#include "machine/available_cpus.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];

static int make_root(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/backplane-test-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

static void put(const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void put_cpu(int cpu, const char *threads, const char *package) {
    char name[128];
    snprintf(name, sizeof name, "sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    put(name, threads);
    snprintf(name, sizeof name, "sys/devices/system/cpu/cpu%d/topology/core_siblings_list", cpu);
    put(name, package);
}

static void put_cache(int cpu, int index, const char *level, const char *type, const char *size) {
    char name[128];
    snprintf(name, sizeof name, "sys/devices/system/cpu/cpu%d/cache/index%d/level", cpu, index);
    put(name, level);
    snprintf(name, sizeof name, "sys/devices/system/cpu/cpu%d/cache/index%d/type", cpu, index);
    put(name, type);
    snprintf(name, sizeof name, "sys/devices/system/cpu/cpu%d/cache/index%d/size", cpu, index);
    put(name, size);
}

/* Two packages with two cores each; one core has two threads, one processor is offline, and the first number is not 0.
 */
static void test_sysfs(void **state) {
    (void)state;
    put("sys/devices/system/cpu/online", "1-3,5,6\n");
    put("sys/devices/system/node/online", "0,2\n");
    put_cpu(1, "1,5\n", "1-2,5\n");
    put_cpu(2, "2\n", "1-2,5\n");
    put_cpu(3, "3\n", "3,6\n");
    put_cpu(5, "1,5\n", "1-2,5\n");
    put_cpu(6, "6\n", "3,6\n");
    put_cache(1, 0, "1\n", "Data\n", "48K\n");
    put_cache(1, 1, "1\n", "Instruction\n", "64K\n");
    put_cache(1, 2, "2\n", "Unified\n", "2048K\n");
    put_cache(1, 3, "3\n", "Unified\n", "32M\n");
    bp__topology topology;
    bp__topology_sysfs(root, &topology);
    assert_int_equal(topology.logical_cpus, 5);
    assert_int_equal(topology.physical_cores, 4);
    assert_int_equal(topology.packages, 2);
    assert_int_equal(topology.numa_nodes, 2);
    assert_int_equal(topology.l1d_bytes, 48 << 10);
    assert_int_equal(topology.l2_bytes, 2 << 20);
    assert_int_equal(topology.l3_bytes, 32 << 20);
    assert_string_equal(topology.source, "sysfs");
}

static void test_empty_sysfs(void **state) {
    (void)state;
    bp__topology topology;
    bp__topology_sysfs("/proc/none", &topology);
    assert_int_equal(topology.logical_cpus, 0);
    assert_int_equal(topology.physical_cores, 0);
    assert_int_equal(topology.l3_bytes, 0);
    put("sys/devices/system/cpu/online", "0-99999999999999999999");
    bp__topology_sysfs(root, &topology);
    assert_int_equal(topology.logical_cpus, 0);
    put("sys/devices/system/cpu/online", "7-3,x");
    bp__topology_sysfs(root, &topology);
    assert_int_equal(topology.logical_cpus, 0);
    put("sys/devices/system/cpu/online", "");
    bp__topology_sysfs(root, &topology);
    assert_int_equal(topology.logical_cpus, 0);
}

static void test_cgroup_v2(void **state) {
    (void)state;
    assert_int_equal(bp__cgroup_cpus("/proc/none"), 0);
    put("proc/self/cgroup", "0::/a/b\n");
    put("sys/fs/cgroup/cpu.max", "max 100000\n");
    assert_int_equal(bp__cgroup_cpus(root), 0);
    put("sys/fs/cgroup/a/b/cpu.max", "350000 100000\n");
    assert_int_equal(bp__cgroup_cpus(root), 4); /* rounded up */
    put("sys/fs/cgroup/a/cpu.max", "200000 100000\n");
    assert_int_equal(bp__cgroup_cpus(root), 2); /* the parent's quota is lower */
    put("sys/fs/cgroup/cpu.max", "1000 100000\n");
    assert_int_equal(bp__cgroup_cpus(root), 1);
    put("proc/self/cgroup", "0::/not/mounted/here\n");
    assert_int_equal(bp__cgroup_cpus(root), 1); /* a container has the quota at the root */
    put("sys/fs/cgroup/cpu.max", "-5 0\n");
    assert_int_equal(bp__cgroup_cpus(root), 0);
    put("sys/fs/cgroup/cpu.max", "9223372036854775807 1\n");
    assert_true(bp__cgroup_cpus(root) > 0);
}

static void test_quota_limits_affinity(void **state) {
    (void)state;
    int free_of_quota = bp__count_available("/proc/none");
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/cpu.max", "100000 100000\n");
    assert_int_equal(bp__count_available(root), 1);
    put("sys/fs/cgroup/cpu.max", "1000000000 1000\n");
    assert_int_equal(bp__count_available(root), free_of_quota);
}

static void test_cgroup_v1(void **state) {
    (void)state;
    put("proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/box\n1:name=systemd:/y\nnonsense\n");
    put("sys/fs/cgroup/cpuset/x/cpu.cfs_quota_us", "100000\n");
    put("sys/fs/cgroup/cpuset/x/cpu.cfs_period_us", "100000\n");
    assert_int_equal(bp__cgroup_cpus(root), 0);
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "500000\n"); /* the mount has a short name */
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(bp__cgroup_cpus(root), 5);
    put("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n");
    assert_int_equal(bp__cgroup_cpus(root), 0);
    put("sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "150000\n");
    assert_int_equal(bp__cgroup_cpus(root), 2);
}

static void test_fields(void **state) {
    (void)state;
    char path[128], value[8];
    put("fields", "processor : 0\nmodel\t: wrong\nmodel name\t:  A long name\nempty :\nlast: x");
    snprintf(path, sizeof path, "%s/fields", root);
    assert_true(bp__read_field(path, "model name", value, sizeof value));
    assert_string_equal(value, "A long ");
    assert_true(bp__read_field(path, "empty", value, sizeof value));
    assert_string_equal(value, "");
    assert_true(bp__read_field(path, "last", value, sizeof value));
    assert_string_equal(value, "x");
    assert_false(bp__read_field(path, "name", value, sizeof value));
    assert_false(bp__read_field("/proc/none", "name", value, sizeof value));
    assert_string_equal(value, "");
}

static void test_hwloc_and_sysfs_agree(void **state) {
    (void)state;
    bp__topology hwloc, sysfs;
    if (!bp__topology_hwloc(&hwloc)) {
        print_message("hwloc is not installed, or was not there when this was built\n");
        skip();
    }
    bp__topology_sysfs("", &sysfs);
    assert_true(strncmp(hwloc.source, "hwloc API 2.", 12) == 0);
    assert_int_equal(hwloc.logical_cpus, sysfs.logical_cpus);
    assert_int_equal(hwloc.physical_cores, sysfs.physical_cores);
    assert_int_equal(hwloc.packages, sysfs.packages);
    assert_int_equal(hwloc.numa_nodes, sysfs.numa_nodes);
    assert_int_equal(hwloc.l1d_bytes, sysfs.l1d_bytes);
    assert_int_equal(hwloc.l2_bytes, sysfs.l2_bytes);
    assert_int_equal(hwloc.l3_bytes, sysfs.l3_bytes);
}

static void test_machine(void **state) {
    (void)state;
    bp_machine_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_machine(&info), BP_OK);
    assert_int_equal(info.struct_size, sizeof info);
    assert_true(info.logical_cpus >= 1 && info.usable_cpus >= 1 && info.usable_cpus <= info.logical_cpus);
    assert_int_equal(info.usable_cpus, bp__available_cpus());
    assert_true(info.memory_bytes > 1 << 20);
    assert_true(*info.architecture && *info.topology_source);
    assert_non_null(info.cpu_model);
    bp_machine_info wrong = {.struct_size = sizeof info - 1, .memory_bytes = 7};
    assert_int_equal(bp_machine(&wrong), BP_E_ARGUMENT);
    assert_int_equal(wrong.memory_bytes, 7);
    assert_int_equal(bp_machine(NULL), BP_E_ARGUMENT);
}

static void test_facts_leave_no_memory_and_no_error(void **state) {
    (void)state;
    bp__fail(BP_E_INTERNAL, "untouched");
    int64_t before = bp__live_blocks();
    bp__topology topology;
    bp__topology_hwloc(&topology);
    bp__topology_sysfs("/proc/none", &topology);
    bp__cgroup_cpus("/proc/none");
    assert_int_equal(bp__live_blocks(), before);
    assert_string_equal(bp_last_error(), "untouched");
}

/* Runs in a child, because the count is cached. */
static int usable_when_pinned_to_one(void) {
    pid_t child = fork();
    if (child == 0) {
        cpu_set_t allowed, one;
        size_t first = 0;
        CPU_ZERO(&one);
        sched_getaffinity(0, sizeof allowed, &allowed);
        while (!CPU_ISSET(first, &allowed)) {
            first++;
        }
        CPU_SET(first, &one);
        sched_setaffinity(0, sizeof one, &one);
        _exit(bp__available_cpus());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_affinity_counts(void **state) {
    (void)state;
    cpu_set_t allowed;
    assert_int_equal(usable_when_pinned_to_one(), 1);
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int count = bp__available_cpus();
    assert_true(count <= CPU_COUNT(&allowed));
    if (bp__cgroup_cpus("") == 0) {
        assert_int_equal(count, CPU_COUNT(&allowed));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_affinity_counts),
        cmocka_unit_test_setup_teardown(test_sysfs, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_empty_sysfs, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_cgroup_v2, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_quota_limits_affinity, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_cgroup_v1, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_fields, make_root, remove_root),
        cmocka_unit_test(test_hwloc_and_sysfs_agree),
        cmocka_unit_test(test_machine),
        cmocka_unit_test(test_facts_leave_no_memory_and_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
