/* available_cpus.h - counts the CPUs of this thread, and declares functions that tests call with the files of another
 * machine. */
#ifndef BP_MACHINE_AVAILABLE_CPUS_H
#define BP_MACHINE_AVAILABLE_CPUS_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the CPUs that the calling thread may run on, a set of `*size` bytes; release it with bp__free(). Returns NULL
 * if out of memory or if the kernel reports none. */
cpu_set_t *bp__affinity(size_t *size);

/* Returns the number of cores that the CPU quotas of this process's cgroups (version 1 or 2) equal, rounded up; 0 for
 * no limit. `root` is prefixed to /proc and /sys. */
int64_t bp__cgroup_cpus(const char *root);

/* bp__available_cpus() without caching. */
int bp__count_available(const char *root);

#endif
