/* topology_hwloc.c - reads the topology from hwloc. The library is opened at run time, so that neither the build nor a
 * program requires it. */
#include "machine/topology.h"

#if defined(HAVE_HWLOC)
#include <dlfcn.h>
#include <hwloc.h>
#include <stdio.h>

/* The functions that are used: name, result, arguments. */
#define HWLOC_FUNCTIONS(X)                                                                                             \
    X(hwloc_get_api_version, unsigned, (void))                                                                         \
    X(hwloc_topology_init, int, (hwloc_topology_t *))                                                                  \
    X(hwloc_topology_set_components, int, (hwloc_topology_t, unsigned long, const char *))                             \
    X(hwloc_topology_set_flags, int, (hwloc_topology_t, unsigned long))                                                \
    X(hwloc_topology_load, int, (hwloc_topology_t))                                                                    \
    X(hwloc_topology_destroy, void, (hwloc_topology_t))                                                                \
    X(hwloc_get_type_depth, int, (hwloc_topology_t, hwloc_obj_type_t))                                                 \
    X(hwloc_get_nbobjs_by_depth, unsigned, (hwloc_topology_t, int))                                                    \
    X(hwloc_get_obj_by_depth, hwloc_obj_t, (hwloc_topology_t, int, unsigned))

typedef struct hwloc_table {
#define X(name, result, arguments) result(*name) arguments;
    HWLOC_FUNCTIONS(X)
#undef X
} hwloc_table;

/* Opens hwloc. The handle is never closed, because hwloc plugins may have started threads. */
static bool open_hwloc(hwloc_table *table) {
    void *handle = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        return false;
    }
    bool complete = true;
#define X(name, result, arguments)                                                                                     \
    table->name = (result(*) arguments)dlsym(handle, #name);                                                           \
    complete = complete && table->name != NULL;
    HWLOC_FUNCTIONS(X)
#undef X
    return complete && table->hwloc_get_api_version() >> 16 == HWLOC_API_VERSION >> 16;
}

static int count_of(const hwloc_table *hwloc, hwloc_topology_t loaded, hwloc_obj_type_t type) {
    int depth = hwloc->hwloc_get_type_depth(loaded, type);
    if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) {
        return 0;
    }
    return (int)hwloc->hwloc_get_nbobjs_by_depth(loaded, depth);
}

static int64_t cache_bytes(const hwloc_table *hwloc, hwloc_topology_t loaded, hwloc_obj_type_t type) {
    if (count_of(hwloc, loaded, type) == 0) {
        return 0;
    }
    hwloc_obj_t cache = hwloc->hwloc_get_obj_by_depth(loaded, hwloc->hwloc_get_type_depth(loaded, type), 0);
    return cache && cache->attr && cache->attr->cache.size <= INT64_MAX ? (int64_t)cache->attr->cache.size : 0;
}

static void describe(const hwloc_table *hwloc, hwloc_topology_t loaded, bp__topology *topology) {
    unsigned version = hwloc->hwloc_get_api_version();
    *topology = (bp__topology){
        .logical_cpus = count_of(hwloc, loaded, HWLOC_OBJ_PU),
        .physical_cores = count_of(hwloc, loaded, HWLOC_OBJ_CORE),
        .packages = count_of(hwloc, loaded, HWLOC_OBJ_PACKAGE),
        .numa_nodes = count_of(hwloc, loaded, HWLOC_OBJ_NUMANODE),
        .l1d_bytes = cache_bytes(hwloc, loaded, HWLOC_OBJ_L1CACHE),
        .l2_bytes = cache_bytes(hwloc, loaded, HWLOC_OBJ_L2CACHE),
        .l3_bytes = cache_bytes(hwloc, loaded, HWLOC_OBJ_L3CACHE),
    };
    /* The library reports only the version of its interface, not its own. */
    snprintf(topology->source, sizeof topology->source, "hwloc API %u.%u", version >> 16, version >> 8 & 0xff);
}

bool bp__topology_hwloc(bp__topology *topology) {
    hwloc_table hwloc;
    hwloc_topology_t loaded;
    if (!open_hwloc(&hwloc) || hwloc.hwloc_topology_init(&loaded) != 0) {
        return false;
    }
    /* The x86 component would move the calling thread over all cores to query each one, and Linux has the same data. If
     * disabling it fails, it stays in use. */
    (void)hwloc.hwloc_topology_set_components(loaded, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    bool done = hwloc.hwloc_topology_set_flags(loaded, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0 &&
                hwloc.hwloc_topology_load(loaded) == 0;
    if (done) {
        describe(&hwloc, loaded, topology);
    }
    hwloc.hwloc_topology_destroy(loaded);
    return done;
}
#else
bool bp__topology_hwloc(bp__topology *topology) {
    (void)topology;
    return false;
}
#endif
