/* topology_sysfs.c - reads the topology from the kernel's sysfs files, for systems without hwloc.
 *
 * Cores and packages are counted by their first processor: the one whose number is first in its list of siblings. That
 * needs no memory for any numbering.
 */
#include "machine/files.h"
#include "machine/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIGHEST_CPU = 1 << 16, CACHE_INDICES = 8, LIST_BYTES = 4096 };

/* Reads the next range of a list like "0-3,8,10-11". Returns false at its end. */
static bool next_range(const char **list, long *first, long *last) {
    char *end;
    *first = strtol(*list, &end, 10);
    if (end == *list || *first < 0 || *first > HIGHEST_CPU) {
        return false;
    }
    *last = *first;
    if (*end == '-') {
        const char *from = end + 1;
        *last = strtol(from, &end, 10);
        if (end == from || *last < *first || *last > HIGHEST_CPU) {
            return false;
        }
    }
    *list = *end == ',' ? end + 1 : end;
    return true;
}

static int count_list(const char *list) {
    long first;
    long last;
    int count = 0;
    while (next_range(&list, &first, &last)) {
        count += (int)(last - first + 1);
    }
    return count;
}

static bool is_first_of(const char *root, long cpu, const char *siblings) {
    char path[512];
    int64_t first;
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%ld/topology/%s", root, cpu, siblings);
    return bp__read_number(path, &first) && first == cpu;
}

static void read_cache(const char *root, long cpu, int index, bp__topology *topology) {
    char path[512];
    char type[32];
    char size[32];
    int64_t level;
    int stem = snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%ld/cache/index%d/", root, cpu, index);
    if (stem < 0 || (size_t)stem + 8 > sizeof path) {
        return;
    }
    memcpy(path + stem, "level", sizeof "level");
    bool known = bp__read_number(path, &level);
    memcpy(path + stem, "type", sizeof "type");
    known = known && bp__read_text(path, type, sizeof type) && strncmp(type, "Instruction", 11) != 0;
    memcpy(path + stem, "size", sizeof "size");
    known = known && bp__read_text(path, size, sizeof size);
    if (!known || level < 1 || level > 3) {
        return;
    }
    char *unit;
    long long amount = strtoll(size, &unit, 10);
    int shift = *unit == 'K' ? 10 : *unit == 'M' ? 20 : 0;
    if (amount > 0 && amount < INT64_MAX >> 20) {
        int64_t *bytes[] = {&topology->l1d_bytes, &topology->l2_bytes, &topology->l3_bytes};
        *bytes[level - 1] = (int64_t)amount << shift;
    }
}

void bp__topology_sysfs(const char *root, bp__topology *topology) {
    char path[512];
    char list[LIST_BYTES];
    *topology = (bp__topology){.source = "sysfs"};
    snprintf(path, sizeof path, "%s/sys/devices/system/node/online", root);
    bp__read_text(path, list, sizeof list);
    topology->numa_nodes = count_list(list);
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/online", root);
    bp__read_text(path, list, sizeof list);
    topology->logical_cpus = count_list(list);

    const char *rest = list;
    long first;
    long last;
    while (next_range(&rest, &first, &last)) {
        for (long cpu = first; cpu <= last; cpu++) {
            topology->physical_cores += is_first_of(root, cpu, "thread_siblings_list");
            topology->packages += is_first_of(root, cpu, "core_siblings_list");
        }
    }
    char *end;
    long lowest = strtol(list, &end, 10);
    for (int index = 0; end != list && index < CACHE_INDICES; index++) {
        read_cache(root, lowest, index, topology);
    }
}
