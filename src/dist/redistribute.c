/* redistribute.c - copies a matrix from one distribution to another.
 *
 * Both sides walk through the columns of the matrix in the same order, so that the bytes from one rank to another need
 * no description: they are the elements that both have, column by column. */
#include "dist/internal.h"

#include "base/uncancelled.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define CHUNK_BYTES (INT64_C(16) << 20) /* of each of the two buffers */

/* One side of the copy on this rank: its view and distribution, and the distribution of the other side. */
typedef struct side {
    const bp_dist_view *view;
    bp_dist own, other;
    int at[2];
    char *buffer;
    int *counts, *offsets; /* bytes for each rank; offsets advance while bytes are moved */
} side;

typedef struct redistribution {
    bp_comm *comm;
    size_t item;
    int64_t width; /* columns of a chunk */
    side from, to;
    char *memory;
} redistribution;

typedef enum action { COUNT, PACK, UNPACK } action;

static void move_run(side *s, action what, int rank, char *local, size_t bytes) {
    if (what == PACK) {
        memcpy(s->buffer + s->offsets[rank], local, bytes);
    } else if (what == UNPACK) {
        memcpy(local, s->buffer + s->offsets[rank], bytes);
    }
    *(what == COUNT ? &s->counts[rank] : &s->offsets[rank]) += (int)bytes;
}

/* Visits the elements that this rank has of one column: runs of rows that one rank has on the other side. */
static void walk_column(side *s, action what, int64_t local_column, int other_column, size_t item) {
    const int64_t rows = s->view->rows, block = s->own.block[0], other_block = s->other.block[0];
    char *column = (char *)s->view->local + (size_t)(local_column * s->view->leading) * item;
    for (int64_t i = 0; i < rows;) {
        int other_row;
        const int64_t global = bp_dist_to_global(&s->own, 0, s->at[0], i);
        bp_dist_to_local(&s->other, 0, global, &other_row);
        int64_t run = block - i % block, other_run = other_block - global % other_block;
        run = run < other_run ? run : other_run;
        run = run < rows - i ? run : rows - i;
        move_run(s, what, other_row * s->other.grid[1] + other_column, column + (size_t)i * item, (size_t)run * item);
        i += run;
    }
}

static void walk(side *s, action what, int64_t first, int64_t end, size_t item) {
    for (int64_t j = first; j < end && s->at[0] >= 0; j++) {
        int own_column, other_column;
        const int64_t local = bp_dist_to_local(&s->own, 1, j, &own_column);
        bp_dist_to_local(&s->other, 1, j, &other_column);
        if (own_column == s->at[1]) {
            walk_column(s, what, local, other_column, item);
        }
    }
}

static void set_offsets(side *s, int size) {
    int at = 0;
    for (int i = 0; i < size; i++) {
        s->offsets[i] = at;
        at += s->counts[i];
    }
}

static bp_status copy_chunk(redistribution *r, int64_t first, int64_t end) {
    const bp__mpi *mpi = r->comm->mpi;
    side *sides[2] = {&r->from, &r->to};
    intptr_t request = 0;
    for (int i = 0; i < 2; i++) {
        memset(sides[i]->counts, 0, (size_t)r->comm->size * sizeof(int));
        walk(sides[i], COUNT, first, end, r->item);
        sides[i]->counts[r->comm->rank]++; /* Open MPI 4 skips the call of a rank without any byte, and then hangs */
        set_offsets(sides[i], r->comm->size);
    }
    walk(&r->from, PACK, first, end, r->item);
    r->from.buffer[r->from.offsets[r->comm->rank]] = 0;
    set_offsets(&r->from, r->comm->size);
    const int started = mpi->Ialltoallv(r->from.buffer, r->from.counts, r->from.offsets, mpi->byte, r->to.buffer,
                                        r->to.counts, r->to.offsets, mpi->byte, r->comm->handle, &request);
    BP__TRY(bp__comm_wait(r->comm, &request, started, "bp_redistribute"));
    walk(&r->to, UNPACK, first, end, r->item);
    return BP_OK;
}

/* ---- Checks ---- */

static bp_status check_local(const bp_dist_view *view, const char *name) {
    return view->local || view->rows == 0 || view->columns == 0
               ? BP_OK
               : bp__fail(BP_E_ARGUMENT, "bp_redistribute: the local part of '%s' is NULL", name);
}

static bool overlap(const bp_dist_view *a, const bp_dist_view *b, size_t item) {
    const size_t bytes_a = (size_t)(a->leading * a->columns) * item, bytes_b = (size_t)(b->leading * b->columns) * item;
    const char *at_a = a->local, *at_b = b->local;
    return a->rows > 0 && b->rows > 0 && at_a < at_b + bytes_b && at_b < at_a + bytes_a;
}

static bool is_array(const bp_dist_view *view) {
    return view->strides[0] > 1;
}

static const char *shape_text(const bp_dist_view *view, char *buffer, size_t size) {
    size_t used = 0;
    for (int i = 0; i < view->tensor.ndim && used < size; i++) {
        used += (size_t)snprintf(buffer + used, size - used, "%s%" PRId64, i > 0 ? "x" : "", view->shape[i]);
    }
    return buffer;
}

static bp_status check_pair(const DLTensor *from, const DLTensor *to) {
    const bp_dtype dtype = bp_dtype_from_dlpack(from->dtype);
    const bp_dist_view *a = from->data, *b = to->data;
    int64_t matrix[2];
    if (from->ndim < 2 || to->ndim < 2) {
        return bp__fail(BP_E_SHAPE, "bp_redistribute: '%s' is no matrix", from->ndim < 2 ? "from" : "to");
    }
    if (from->ndim != to->ndim || is_array(a) != is_array(b)) {
        return bp__fail(BP_E_SHAPE,
                        "bp_redistribute: from and to must both be matrices, or arrays of as many dimensions");
    }
    if (dtype != bp_dtype_from_dlpack(to->dtype)) {
        return bp__fail(BP_E_DTYPE, "bp_redistribute: from is %s, but to is %s", bp_dtype_name(dtype),
                        bp_dtype_name(bp_dtype_from_dlpack(to->dtype)));
    }
    if (memcmp(a->shape, b->shape, sizeof a->shape) != 0) {
        char one[64], other[64];
        return bp__fail(BP_E_SHAPE, "bp_redistribute: from is %s, but to is %s", shape_text(a, one, sizeof one),
                        shape_text(b, other, sizeof other));
    }
    bp__dist_view_matrix(a, matrix);
    if (matrix[0] > INT_MAX / (int64_t)bp_dtype_size(dtype)) {
        return bp__fail(BP_E_OVERFLOW,
                        "bp_redistribute: a column of %" PRId64 " elements has more bytes than a message "
                        "of MPI can have (32 bits)",
                        matrix[0]);
    }
    BP__TRY(check_local(a, "from"));
    BP__TRY(check_local(b, "to"));
    return overlap(a, b, bp_dtype_size(dtype)) ? bp__fail(BP_E_OVERLAP, "bp_redistribute: the local parts overlap")
                                               : BP_OK;
}

/* ---- The call ---- */

static void set_side(side *s, const bp_dist_view *view, const bp_dist_place *own, const bp_dist_place *other) {
    s->view = view;
    s->own = *own->dist;
    s->other = *other->dist;
    bp__dist_view_matrix(view, s->own.shape);
    memcpy(s->other.shape, s->own.shape, sizeof s->own.shape);
    memcpy(s->at, own->at, sizeof s->at);
}

/* Returns the bytes of the largest part that this rank has of a chunk. */
static size_t buffer_bytes(const redistribution *r, const side *s) {
    return (size_t)(s->view->rows * (r->width < s->view->columns ? r->width : s->view->columns)) * r->item + 1;
}

static bp_status allocate(redistribution *r) {
    const size_t ranks = (size_t)r->comm->size, one = buffer_bytes(r, &r->from), other = buffer_bytes(r, &r->to);
    const size_t size = 4 * ranks * sizeof(int) + one + other;
    r->memory = bp__alloc(size);
    if (!r->memory) {
        return bp__fail_memory(size, "the buffers of bp_redistribute");
    }
    int *numbers = (int *)(void *)r->memory;
    r->from.counts = numbers;
    r->from.offsets = numbers + ranks;
    r->to.counts = numbers + 2 * ranks;
    r->to.offsets = numbers + 3 * ranks;
    r->from.buffer = r->memory + 4 * ranks * sizeof(int);
    r->to.buffer = r->from.buffer + one;
    return BP_OK;
}

static bp_status prepare(redistribution *r, const DLTensor *from, const DLTensor *to) {
    BP__TRY(check_pair(from, to));
    r->item = bp_dtype_size(bp_dtype_from_dlpack(from->dtype));
    const int64_t column = r->from.own.shape[0] * (int64_t)r->item;
    r->width = column > 0 && CHUNK_BYTES / column > 0 ? CHUNK_BYTES / column : 1;
    return allocate(r);
}

static void hash_call(bp__dist_hashes *hashes, const DLTensor *from, const redistribution *r) {
    const int64_t call[] = {INT64_C(0x7265646973), from->dtype.code, from->dtype.bits, r->from.own.shape[0],
                            r->from.own.shape[1]};
    const int32_t *own = r->from.own.grid, *other = r->to.own.grid;
    memset(hashes, 0, sizeof *hashes);
    hashes->part[BP__DIST_CALL] = (uint32_t)bp__hash(call, sizeof call);
    hashes->part[BP__DIST_LAYOUT] = (uint32_t)(bp__hash(own, 6 * sizeof *own) ^ bp__hash(other, 6 * sizeof *other) * 3);
}

static bp_status run_redistribution(redistribution *r, const DLTensor *from, const DLTensor *to) {
    bp__dist_hashes hashes;
    BP__TRY(bp__comm_can_run(r->comm));
    bp_status status = prepare(r, from, to);
    hash_call(&hashes, from, r);
    BP__TRY(bp__comm_agree(r->comm, &hashes, status, NULL));
    const int64_t columns = r->from.own.shape[1];
    for (int64_t j = 0; j < columns && status == BP_OK; j += r->width) {
        const int64_t end = r->width < columns - j ? j + r->width : columns;
        status = copy_chunk(r, j, end);
    }
    return status;
}

bp_status bp_redistribute(const DLTensor *from, DLTensor *to) {
    BP__UNCANCELLED;
    const bp_dist_place *source, *target;
    const bp_dist_view *read = bp__dist_view_of(from, "from", &source);
    const bp_dist_view *written = read ? bp__dist_view_of(to, "to", &target) : NULL;
    if (!written) {
        return bp_last_status();
    }
    if (source->opaque != target->opaque) {
        return bp__fail(BP_E_DEVICE, "bp_redistribute: from and to are of two communicators");
    }
    redistribution r = {.comm = source->opaque};
    set_side(&r.from, read, source, target);
    set_side(&r.to, written, target, source);
    bp__mpi_lock();
    const bp_status status = run_redistribution(&r, from, to);
    bp__mpi_unlock();
    if (!r.comm->lost) { /* else a request that has not ended may use it */
        bp__free(r.memory);
    }
    return status;
}
