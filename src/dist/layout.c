/* layout.c - computes which rank has which part of a block-cyclic matrix. Nothing here communicates. */
#include "dist/internal.h"

#include "settings/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Returns whether the program's struct can be read, and the communicator is there. */
static bp_status check_given(const bp_dist *dist) {
    BP__TRY(bp__struct_check(dist, sizeof *dist, "dist"));
    return dist->comm ? BP_OK : bp__fail(BP_E_ARGUMENT, "dist->comm must not be NULL");
}

/* Takes the grid of the setting. Returns false if it names none. */
static bool take_set_grid(bp_dist *dist, const char *text) {
    int rows = 0, columns = 0, end = 0;
    if (sscanf(text, "%9dx%9d%n", &rows, &columns, &end) != 2 || text[end] != '\0') {
        return false;
    }
    dist->grid[0] = rows;
    dist->grid[1] = columns;
    return true;
}

static bp_status choose_grid(bp_dist *dist) {
    const char *text = bp__setting_text(BP_SET_dist_grid);
    int rows = 1;
    if (strcmp(text, "auto") != 0) {
        return take_set_grid(dist, text) ? BP_OK
                                         : bp__fail(BP_E_ARGUMENT,
                                                    "dist.grid is '%s'; it must be auto, or rows and columns such "
                                                    "as 2x3",
                                                    text);
    }
    for (int r = 1; (int64_t)r * r <= dist->comm->size; r++) {
        rows = dist->comm->size % r == 0 ? r : rows;
    }
    dist->grid[0] = rows;
    dist->grid[1] = dist->comm->size / rows;
    return BP_OK;
}

bp_status bp_dist_complete(bp_dist *dist) {
    BP__TRY(check_given(dist));
    if (dist->grid[0] == 0 && dist->grid[1] == 0) {
        BP__TRY(choose_grid(dist));
    }
    if (dist->grid[0] < 1 || dist->grid[1] < 1 || (int64_t)dist->grid[0] * dist->grid[1] > dist->comm->size) {
        return bp__fail(BP_E_ARGUMENT,
                        "the grid is %dx%d; it must have at least one rank, and at most the %d of the "
                        "communicator",
                        (int)dist->grid[0], (int)dist->grid[1], dist->comm->size);
    }
    for (int d = 0; d < 2; d++) {
        dist->block[d] = dist->block[d] == 0 ? (int32_t)bp__setting_int(BP_SET_dist_block) : dist->block[d];
        if (dist->block[d] < 1) {
            return bp__fail(BP_E_ARGUMENT, "block[%d] is %d; it must be 1 or more", d, (int)dist->block[d]);
        }
        if (dist->source[d] < 0 || dist->source[d] >= dist->grid[d]) {
            return bp__fail(BP_E_ARGUMENT, "source[%d] is %d; it must be below the %d of the grid", d,
                            (int)dist->source[d], (int)dist->grid[d]);
        }
        if (dist->shape[d] < 0) {
            return bp__fail(BP_E_SHAPE, "shape[%d] is %" PRId64 "; it must be 0 or more", d, dist->shape[d]);
        }
    }
    return BP_OK;
}

bp_status bp_dist_slabs(bp_dist *dist) {
    BP__TRY(check_given(dist));
    const int64_t ranks = dist->comm->size, columns = dist->shape[1] > 0 ? (dist->shape[1] - 1) / ranks + 1 : 1;
    if (columns > INT32_MAX) {
        return bp__fail(BP_E_OVERFLOW, "a rank would have %" PRId64 " columns, but blocks have at most 2^31 - 1",
                        columns);
    }
    dist->grid[0] = 1;
    dist->grid[1] = dist->comm->size;
    dist->block[0] = 0;
    dist->block[1] = (int32_t)columns;
    dist->source[0] = dist->source[1] = 0;
    return bp_dist_complete(dist);
}

bp_status bp_dist_position(const bp_dist *dist, int rank, int at[2]) {
    BP__TRY(check_given(dist));
    if (!at || rank < -1 || rank >= dist->comm->size || dist->grid[1] < 1) {
        return bp__fail(BP_E_ARGUMENT, "bp_dist_position: rank is %d, of %d; at must not be NULL, and dist be complete",
                        rank, dist->comm->size);
    }
    rank = rank < 0 ? dist->comm->rank : rank;
    const bool has_one = rank < dist->grid[0] * dist->grid[1];
    at[0] = has_one ? rank / dist->grid[1] : -1;
    at[1] = has_one ? rank % dist->grid[1] : -1;
    return BP_OK;
}

/* Returns how many of `size` rows or columns a row or column of the grid has. */
static int64_t part_of(const bp_dist *dist, int d, int position) {
    const int64_t block = dist->block[d], grid = dist->grid[d], size = dist->shape[d];
    const int64_t behind = (position + grid - dist->source[d]) % grid; /* of the source */
    const int64_t blocks = size / block, own = blocks / grid, rest = blocks % grid;
    return own * block + (behind < rest ? block : behind == rest ? size % block : 0);
}

bp_status bp_dist_local_shape(const bp_dist *dist, int rank, int64_t shape[2]) {
    int at[2];
    if (!shape) {
        return bp__fail(BP_E_ARGUMENT, "bp_dist_local_shape: shape must not be NULL");
    }
    BP__TRY(bp_dist_position(dist, rank, at));
    for (int d = 0; d < 2; d++) {
        shape[d] = at[d] < 0 ? 0 : part_of(dist, d, at[d]);
    }
    return BP_OK;
}
