/* usable.h - the part of usable.c that tests give a made-up machine. */
#ifndef BP_MACHINE_USABLE_H
#define BP_MACHINE_USABLE_H

#include <stdint.h>

/* Cores that the CPU quotas of this process's cgroups (version 1 or 2) amount to, rounded up; 0 for no limit. `root`
 * stands before /proc and /sys. */
int64_t bp__cgroup_cpus(const char *root);

/* bp__usable_cpus() without its memory. */
int bp__count_usable(const char *root);

#endif
