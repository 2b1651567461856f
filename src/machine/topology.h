/* topology.h - the shape of the machine, from hwloc where it is installed and from sysfs where not. */
#ifndef BP_MACHINE_TOPOLOGY_H
#define BP_MACHINE_TOPOLOGY_H

#include "base/base.h"

/* Numbers are 0 when unknown. */
typedef struct bp__topology {
    int logical_cpus;
    int physical_cores;
    int packages;
    int numa_nodes;
    int64_t l1d_bytes, l2_bytes, l3_bytes; /* of one cache */
    char source[32];
} bp__topology;

/* False when there is no hwloc that fits; nothing is printed or kept as an error. */
bool bp__topology_hwloc(bp__topology *topology);

/* `root` stands before /sys: "" on a real machine. */
void bp__topology_sysfs(const char *root, bp__topology *topology);

#endif
