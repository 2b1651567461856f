/* walk.c - divides reductions, contractions and normalizations among work items: into tiles of results, and parts of
 * the elements of a result. */
#include "families.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 1024 }; /* of a result */

int bp__cl_walk_lanes(const bp_device_info *facts, const bp__cl_walk_limits *limits) {
    return bp__cl_is_cpu(facts) ? limits->lanes : 1;
}

/* Whether the lanes of a tile should be neighbouring results: they are closer together than the elements of a row, or
 * rows are short. */
static bool takes_columns(const bp__cl_walk *w, int operands, int lanes) {
    const int kept = w->kept_ndim - 1, last = w->ndim - 1;
    int64_t across = 0, along = 0;
    if (lanes == 1 || w->kept_ndim == 0 || w->size[kept] == 1) {
        return false;
    }
    if (w->ndim == w->kept_ndim || w->reduced < lanes) {
        return true;
    }
    for (int i = 0; i < operands - 1; i++) { /* the last operand is the output */
        across = bp__cl_most(across, llabs(w->stride[i][kept]));
        along = bp__cl_most(along, llabs(w->stride[i][last]));
    }
    return across <= along;
}

void bp__cl_walk_pack(const bp__cl_walk *walk, int operands, int dims, bp__cl_walk_bytes *packed) {
    const size_t line = (size_t)dims * sizeof(int64_t);
    char *to = packed->bytes;
    memcpy(to, walk, offsetof(bp__cl_walk, size));
    to += offsetof(bp__cl_walk, size);
    memcpy(to, walk->size, line);
    to += line;
    for (int i = 0; i < operands; i++, to += line) {
        memcpy(to, walk->stride[i], line);
    }
    packed->size = (size_t)(to - packed->bytes);
}

static void divide_rows(bp__cl_walk *w, const bp_device_info *facts, const bp__cl_walk_limits *limits) {
    const int64_t units = facts->units ? facts->units : 1;
    const int64_t more = bp__cl_is_cpu(facts) ? 0 : w->reduced / 16384; /* as many roundings as the parts save */
    const int64_t most = bp__cl_least(limits->most_parts + more, MOST_PARTS);
    const int64_t wanted = bp__cl_is_cpu(facts) ? 4 * units : 128 * units;
    int64_t parts = w->tiles > 0 ? bp__cl_divide_up(wanted, w->tiles) : 1;
    parts = bp__cl_least(bp__cl_least(parts, w->reduced / limits->least), most);
    if (w->reduced > limits->longest && !w->columns) {
        parts = bp__cl_most(parts, bp__cl_least(4, most));
    }
    if (!bp__cl_is_cpu(facts)) { /* a power of two, for the size of groups; neighbours read rows together */
        parts = w->interleaved ? bp__cl_most(parts, bp__cl_least(w->reduced / 8, 32)) : parts;
        int64_t power = 1;
        while (2 * power <= bp__cl_least(parts, most)) {
            power *= 2;
        }
        parts = power;
    }
    w->parts = bp__cl_most(parts, 1);
    w->part = bp__cl_most(bp__cl_divide_up(w->reduced, w->parts), 1);
    if (!w->interleaved) {
        w->parts = bp__cl_most(bp__cl_divide_up(w->reduced, w->part), 1);
    }
    w->interleaved = w->interleaved && w->parts > 1;
}

bool bp__cl_walk_divide(bp__cl_walk *w, int operands, const bp_device_info *facts, const bp__cl_walk_limits *limits) {
    const int lanes = bp__cl_walk_lanes(facts, limits);
    bool fits = true;
    w->results = w->reduced = 1;
    for (int d = 0; d < w->ndim; d++) {
        if (w->size[d] == 0) {
            *(d < w->kept_ndim ? &w->results : &w->reduced) = 0;
        }
    }
    for (int d = 0; d < w->ndim; d++) {
        fits = bp__cl_multiply(d < w->kept_ndim ? &w->results : &w->reduced, w->size[d]) && fits;
    }
    const int64_t width = w->kept_ndim > 0 ? bp__cl_most(w->size[w->kept_ndim - 1], 1) : 1;
    w->columns = takes_columns(w, operands, lanes);
    w->chunks = w->columns ? bp__cl_divide_up(width, lanes) : width;
    w->tiles = w->results / width * w->chunks;
    w->interleaved = lanes == 1 && w->ndim > w->kept_ndim && w->kept_ndim + 1 == w->ndim &&
                     (w->kept_ndim == 0 || llabs(w->stride[0][w->ndim - 1]) < llabs(w->stride[0][w->kept_ndim - 1]));
    divide_rows(w, facts, limits);
    int64_t values = 16; /* bytes of the largest one */
    return fits && bp__cl_multiply(&values, w->parts) && bp__cl_multiply(&values, w->results);
}

void bp__cl_walk_spread(bp__cl_step *step, const bp__cl_walk *w, const bp_device_info *facts, bool joined) {
    const bool cpu = bp__cl_is_cpu(facts);
    const int64_t parts = joined ? 1 : w->parts, group = cpu ? 1 : 64;
    const bool swapped = w->interleaved && !joined;
    const int64_t group_parts = swapped && !cpu ? bp__cl_least(parts, group) : 1, group_tiles = group / group_parts;
    const int64_t units = facts->units ? facts->units : 1;
    const int64_t most = bp__cl_least(swapped ? 60000 : 1 << 20, 256 * units); /* groups; the kernels loop */
    const int64_t tiles = bp__cl_least(bp__cl_divide_up(w->tiles, group_tiles), most) * group_tiles;
    step->dimensions = 2;
    step->global[swapped] = (size_t)tiles;
    step->local[swapped] = (size_t)group_tiles;
    step->global[!swapped] = (size_t)parts;
    step->local[!swapped] = (size_t)group_parts;
}
