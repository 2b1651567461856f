/* walk.c - divides reductions, contractions and normalizations among work items: into tiles of results, and parts of
 * the elements of a result. */
#include "providers/kernels/families.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 1024 }; /* of a result, on GPUs */

/* Lanes of a tile. On GPUs they are loads of a work item that do not wait for each other. */
static int lanes_of(const bp_device_info *facts, const bp__kernel_walk_limits *limits) {
    return bp__kernel_is_cpu(facts) ? limits->lanes : 4;
}

/* The largest power of two up to `limit`, or 1. */
static int64_t power_within(int64_t limit) {
    int64_t power = 1;
    while (power <= limit / 2) {
        power *= 2;
    }
    return power;
}

/* Work items of a group. */
static int64_t group_of(const bp_device_info *facts) {
    const int64_t most = facts->group_items > 0 ? (int64_t)facts->group_items : 256;
    return bp__kernel_is_cpu(facts) ? 1 : power_within(bp__least(most, 256));
}

void bp__kernel_walk_options(bp__kernel_options *options, const bp_device_info *facts,
                             const bp__kernel_walk_limits *limits) {
    bp__kernel_options_add(options, " -DLANES=%d -DGROUP=%d", lanes_of(facts, limits), (int)group_of(facts));
}

/* Whether neighbouring results are closer together than the elements of a row. */
static bool lies_across(const bp__kernel_walk *w, int operands) {
    int64_t across = 0, along = 0;
    for (int i = 0; i < operands - 1; i++) { /* the last operand is the output */
        across = bp__most(across, llabs(w->stride[i][w->kept_ndim - 1]));
        along = bp__most(along, llabs(w->stride[i][w->ndim - 1]));
    }
    return across <= along;
}

/* Whether neighbouring lanes or work items should take neighbouring results. Those are closer together than the
 * elements of a row, or rows have fewer elements than `few`. */
static bool takes_columns(const bp__kernel_walk *w, int operands, int few) {
    if (w->kept_ndim == 0 || w->size[w->kept_ndim - 1] == 1) {
        return false;
    }
    return w->ndim == w->kept_ndim || w->reduced < few || lies_across(w, operands);
}

void bp__kernel_walk_pack(const bp__kernel_walk *walk, int operands, int dims, bp__kernel_walk_bytes *packed) {
    const size_t line = (size_t)dims * sizeof(int64_t);
    char *to = packed->bytes;
    memcpy(to, walk, offsetof(bp__kernel_walk, size));
    to += offsetof(bp__kernel_walk, size);
    memcpy(to, walk->size, line);
    to += line;
    for (int i = 0; i < operands; i++, to += line) {
        memcpy(to, walk->stride[i], line);
    }
    packed->size = (size_t)(to - packed->bytes);
}

static void divide_rows(bp__kernel_walk *w, const bp_device_info *facts, const bp__kernel_walk_limits *limits) {
    const int64_t units = facts->units ? facts->units : 1;
    int64_t parts = w->tiles > 0 ? bp__kernel_divide_up(4 * units, w->tiles) : 1;
    parts = bp__least(bp__least(parts, w->reduced / limits->least), limits->most_parts);
    if (w->reduced > limits->longest && !w->columns) {
        parts = bp__most(parts, bp__least(4, limits->most_parts));
    }
    w->parts = bp__most(parts, 1);
}

/* Divides the results among the groups of a GPU. Each member should have 8 elements. If neighbouring work items take
 * neighbouring results, 32 of them do so, where there are as many. Too few groups take several parts of each result,
 * which cost further kernels. */
static void divide_groups(bp__kernel_walk *w, const bp_device_info *facts) {
    enum { ELEMENTS = 8, NEIGHBOURS = 32, GROUPS_OF_UNIT = 8 };
    const int64_t units = facts->units ? facts->units : 1, group = group_of(facts);
    int64_t most = group;
    if (!w->interleaved) {
        most = bp__most(group / power_within(bp__least(2 * w->tiles - 1, NEIGHBOURS)), 1);
    }
    w->members = (int32_t)power_within(bp__least(w->reduced / ELEMENTS, most));
    const int64_t groups = bp__kernel_divide_up(w->tiles, group / w->members);
    int64_t parts = groups > 0 && groups < 2 * units ? GROUPS_OF_UNIT * units / groups : 1;
    parts = bp__least(parts, w->reduced / (2 * ELEMENTS * w->members));
    w->parts = bp__most(bp__least(parts, MOST_PARTS), 1);
}

bool bp__kernel_walk_divide(bp__kernel_walk *w, int operands, const bp_device_info *facts,
                            const bp__kernel_walk_limits *limits) {
    const bool cpu = bp__kernel_is_cpu(facts);
    const int lanes = lanes_of(facts, limits);
    bool fits = true;
    w->results = w->reduced = 1;
    for (int d = 0; d < w->ndim; d++) {
        if (w->size[d] == 0) {
            *(d < w->kept_ndim ? &w->results : &w->reduced) = 0;
        }
    }
    for (int d = 0; d < w->ndim; d++) {
        fits = bp__kernel_multiply(d < w->kept_ndim ? &w->results : &w->reduced, w->size[d]) && fits;
    }
    const int64_t width = w->kept_ndim > 0 ? bp__most(w->size[w->kept_ndim - 1], 1) : 1;
    const bool columns = takes_columns(w, operands, lanes);
    w->columns = cpu && columns;
    w->interleaved = !cpu && !columns;
    w->chunks = w->columns ? bp__kernel_divide_up(width, lanes) : width;
    w->tiles = w->results / width * w->chunks;
    w->members = 1;
    if (cpu) {
        divide_rows(w, facts, limits);
    } else {
        divide_groups(w, facts);
    }
    w->part = bp__most(bp__kernel_divide_up(w->reduced, w->parts), 1);
    w->parts = bp__most(bp__kernel_divide_up(w->reduced, w->part), 1);
    int64_t values = 16; /* bytes of the largest one */
    return fits && bp__kernel_multiply(&values, w->parts) && bp__kernel_multiply(&values, w->results);
}

void bp__kernel_walk_spread(bp__kernel_step *step, const bp__kernel_walk *w, const bp_device_info *facts, bool joined) {
    const int64_t group = group_of(facts), units = facts->units ? facts->units : 1;
    const int64_t most = bp__least(1 << 20, 256 * units); /* groups; the kernels loop */
    const int64_t groups = bp__least(bp__kernel_divide_up(w->tiles, group / w->members), most);
    step->dimensions = 2;
    step->global[0] = (size_t)(groups * group);
    step->local[0] = (size_t)group;
    step->global[1] = (size_t)(joined ? 1 : w->parts);
    step->local[1] = 1;
}
