/* topology.h - reads the topology of the machine, from hwloc if it is installed and from sysfs otherwise. */
#ifndef BP_MACHINE_TOPOLOGY_H
#define BP_MACHINE_TOPOLOGY_H

#include "base/base.h"

/* Numbers are 0 if unknown. */
typedef struct bp__topology {
    int logical_cpus;
    int physical_cores;
    int packages;
    int numa_nodes;
    int64_t l1d_bytes, l2_bytes, l3_bytes; /* of one cache */
    char source[32];
} bp__topology;

/* Returns false if there is no matching hwloc; it then prints nothing and sets no error. */
bool bp__topology_hwloc(bp__topology *topology);

/* `root` is prefixed to /sys; it is "" on a real machine. */
void bp__topology_sysfs(const char *root, bp__topology *topology);

#endif
