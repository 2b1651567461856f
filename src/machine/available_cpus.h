/* available_cpus.h - the cores of this thread, and the part of available_cpus.c that tests give a made-up machine. */
#ifndef BP_MACHINE_USABLE_H
#define BP_MACHINE_USABLE_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

/* The cores that the calling thread may run on, a set of `*size` bytes for bp__free(); NULL when there is no memory or
 * the kernel does not say. */
cpu_set_t *bp__affinity(size_t *size);

/* Cores that the CPU quotas of this process's cgroups (version 1 or 2) amount to, rounded up; 0 for no limit. `root`
 * stands before /proc and /sys. */
int64_t bp__cgroup_cpus(const char *root);

/* bp__available_cpus() without its memory. */
int bp__count_available(const char *root);

#endif
