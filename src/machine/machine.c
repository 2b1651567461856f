/* machine.c - collects the facts about this machine once (bp_machine). */
#include "machine/cpu.h"
#include "base/uncancelled.h"
#include "machine/topology.h"

#include <pthread.h>
#include <sys/utsname.h>
#include <unistd.h>

static bp_machine_info facts;
static atomic_bool gathered;
/* Not pthread_once: fork waits for this mutex, so that no child starts in the middle of hwloc's work. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static int64_t memory_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    int64_t bytes;
    return pages > 0 && page > 0 && !__builtin_mul_overflow((int64_t)pages, (int64_t)page, &bytes) ? bytes : 0;
}

static void gather(void) {
    static bp__cpu_identity cpu;
    static bp__topology topology;
    static struct utsname system;
    bp__cpu_identify(&cpu);
    if (!bp__topology_hwloc(&topology)) {
        bp__topology_sysfs("", &topology);
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    facts = (bp_machine_info){
        .struct_size = sizeof facts,
        .architecture = uname(&system) == 0 ? system.machine : "",
        .cpu_vendor = cpu.vendor,
        .cpu_model = cpu.model,
        .cpu_family = cpu.family,
        .cpu_model_number = cpu.model_number,
        .cpu_stepping = cpu.stepping,
        .logical_cpus = online > 0 ? (int)online : topology.logical_cpus,
        .usable_cpus = bp__available_cpus(),
        .physical_cores = topology.physical_cores,
        .packages = topology.packages,
        .numa_nodes = topology.numa_nodes,
        .l1d_bytes = topology.l1d_bytes,
        .l2_bytes = topology.l2_bytes,
        .l3_bytes = topology.l3_bytes,
        .memory_bytes = memory_bytes(),
        .topology_source = topology.source,
    };
}

static void gather_once(void) {
    BP__UNCANCELLED;
    pthread_mutex_lock(&mutex);
    if (!atomic_load_explicit(&gathered, memory_order_relaxed)) {
        bp__foreign_enter(); /* plugins of hwloc may start programs */
        gather();
        bp__foreign_leave();
        atomic_store_explicit(&gathered, true, memory_order_release);
    }
    pthread_mutex_unlock(&mutex);
}

void bp__machine_fork_lock(void) {
    pthread_mutex_lock(&mutex);
    bp__region_fork_lock();
    bp__load_fork_lock();
}

void bp__machine_fork_unlock(void) {
    bp__load_fork_unlock();
    bp__region_fork_unlock();
    pthread_mutex_unlock(&mutex);
}

bp_status bp_machine(bp_machine_info *info) {
    BP__TRY(bp__struct_check(info, sizeof *info, "info"));
    if (!atomic_load_explicit(&gathered, memory_order_acquire)) {
        gather_once();
    }
    bp__struct_write(info, &facts, sizeof facts);
    return BP_OK;
}
