/* map.c - registers maps, the places of distributed operands, and makes views.
 *
 * A map is a communicator, a grid, a block and a source, without the shape of a matrix: all operands of a call have one
 * map. Maps are found again by their contents, so that views of equal distributions have one place. A place is never
 * used for another map, because plans in caches keep it. */
#include "dist/internal.h"

#include "base/uncancelled.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MOST_MAPS = 65535, CHUNK = 256 };

typedef struct map {
    bp_comm *comm; /* NULL: it was closed */
    bp_dist dist;
    bp_dist_place place;
    bp_device_info facts;
    char id[16], name[96];
} map;

static map *chunks[(MOST_MAPS + CHUNK) / CHUNK]; /* under the lock of MPI; entries never move */
static atomic_int count;                         /* read without the lock */

static map *map_at(int32_t place) {
    const int index = place & 0xffff;
    return bp__place_is_map(place) && index < count ? &chunks[index / CHUNK][index % CHUNK] : NULL;
}

/* ---- What dispatch and providers see ---- */

const bp_device_info *bp__map_facts(int32_t place) {
    const map *m = map_at(place);
    return m && m->comm ? &m->facts : NULL;
}

bp_status bp__map_check(int32_t place) {
    const map *m = map_at(place);
    if (!m || !m->comm) {
        return bp__fail(BP_E_DEVICE, m ? "the communicator of this distributed operand was closed"
                                       : "there is no distribution with this number: make views with "
                                         "bp_dist_view_init()");
    }
    return bp__comm_usable(m->comm);
}

bp_status bp__map_can_run(int32_t place) {
    BP__TRY(bp__map_check(place));
    return bp__comm_can_run(map_at(place)->comm);
}

bp_status bp__map_refuse(void) {
    return bp__fail(BP_E_DEVICE, "this function takes no distributed operands (distributed.h)");
}

bp_status bp__map_open(int32_t place, void **opened) {
    *opened = NULL;
    BP__TRY(bp__map_check(place));
    *opened = &map_at(place)->place;
    return BP_OK;
}

bp_status bp__map_enter(int32_t place, const bp__dist_hashes *hashes, bool held) {
    const map *m = map_at(place);
    BP__TRY(m && m->comm ? bp__comm_check_process(m->comm) : BP_OK);
    bp__mpi_lock();
    bp_status status = bp__map_can_run(place);
    if (status != BP_OK) {
        bp__mpi_unlock();
        return status;
    }
    bp_comm *comm = map_at(place)->comm;
    comm->hashes = *hashes;
    comm->hashes.part[BP__DIST_LAYOUT] = (uint32_t)bp__hash(&map_at(place)->dist.grid, 3 * sizeof(int32_t[2]));
    comm->hashes.part[BP__DIST_VERSION] = (uint32_t)bp__hash(comm->version, strlen(comm->version)) ^
                                          (uint32_t)bp__hash(BP_VERSION_STRING, sizeof BP_VERSION_STRING);
    comm->held = held;
    comm->agreed = false;
    return BP_OK;
}

void bp__map_leave(int32_t place) {
    (void)place;
    bp__mpi_unlock();
}

bp_status bp__map_conclude(int32_t place, const bp__dist_hashes *hashes, bp_status status) {
    const bp__dist_hashes none = {{0}};
    bp__held_error held;
    bp__error_hold(&held);
    const bp_status entered = bp__map_enter(place, hashes ? hashes : &none, false);
    if (entered != BP_OK && status == BP_OK) {
        return entered;
    }
    bp__error_return(&held);
    if (entered != BP_OK) {
        return status;
    }
    bp_comm *comm = map_at(place)->comm;
    status = bp__comm_agree(comm, &comm->hashes, status, NULL);
    bp__map_leave(place);
    return status;
}

static bp_status agree_on(const bp_dist_place *place, bp_status status, int *flag) {
    bp_comm *comm = place->opaque;
    return comm->held && !flag ? status : bp__comm_agree(comm, &comm->hashes, status, flag);
}

static bp_status sum_of(const bp_dist_place *place, double *values, int number) {
    return bp__comm_reduce(place->opaque, values, number, false);
}

static bp_status largest_of(const bp_dist_place *place, double *values, int number) {
    return bp__comm_reduce(place->opaque, values, number, true);
}

static void add_closing(const bp_dist_place *place, bp_dist_closing *closing) {
    bp_comm *comm = place->opaque;
    closing->next = comm->closing;
    comm->closing = closing;
}

/* ---- Registration ---- */

static void fill(map *m, const bp_dist *dist, int index) {
    m->comm = dist->comm;
    m->dist = *dist;
    m->place = (bp_dist_place){.struct_size = sizeof m->place,
                               .dist = &m->dist,
                               .serial = dist->comm->serial,
                               .rank = dist->comm->rank,
                               .size = dist->comm->size,
                               .communicator = dist->comm->engine,
                               .mpi = dist->comm->mpi ? dist->comm->mpi->handle : NULL,
                               .family = dist->comm->mpi ? bp__mpi_name(dist->comm->mpi) : "none",
                               .latency_ns = dist->comm->latency_ns,
                               .bytes_per_sec = dist->comm->bytes_per_sec,
                               .opaque = dist->comm,
                               .agree = agree_on,
                               .sum = sum_of,
                               .largest = largest_of,
                               .flops_per_sec = dist->comm->flops_per_sec,
                               .at_close = add_closing,
                               .engines = dist->comm->engines};
    bp_dist_position(dist, -1, m->place.at);
    snprintf(m->id, sizeof m->id, "mpi:%d", index);
    snprintf(m->name, sizeof m->name, "%d rank%s, grid %dx%d, blocks of %dx%d", dist->comm->size,
             dist->comm->size == 1 ? "" : "s", (int)dist->grid[0], (int)dist->grid[1], (int)dist->block[0],
             (int)dist->block[1]);
    m->facts = (bp_device_info){.struct_size = sizeof m->facts,
                                .place = kDLExtDev << 16 | index,
                                .type = kDLExtDev,
                                .index = index,
                                .state = BP_DEVICE_READY,
                                .id = m->id,
                                .runtime = "mpi",
                                .name = m->name,
                                .vendor = "",
                                .driver = dist->comm->version,
                                .version = "",
                                .platform = "",
                                .uuid = "",
                                .extensions = "",
                                .reason = "",
                                .arch = ""};
}

static bool same_map(const map *m, const bp_dist *dist) {
    return m->comm == dist->comm && memcmp(m->dist.grid, dist->grid, sizeof dist->grid) == 0 &&
           memcmp(m->dist.block, dist->block, sizeof dist->block) == 0 &&
           memcmp(m->dist.source, dist->source, sizeof dist->source) == 0;
}

static bp_status add_map(const bp_dist *dist, int *index) {
    for (int i = 0; i < count; i++) {
        if (same_map(&chunks[i / CHUNK][i % CHUNK], dist)) {
            *index = i;
            return BP_OK;
        }
    }
    if (count >= MOST_MAPS) {
        return bp__fail(BP_E_BUSY, "the process has made %d distributions; no further one has a number", MOST_MAPS);
    }
    map **chunk = &chunks[count / CHUNK];
    *chunk = *chunk ? *chunk : bp__alloc_zero(CHUNK, sizeof **chunk);
    if (!*chunk) {
        return bp__fail_memory(CHUNK * sizeof **chunk, "distributions");
    }
    *index = count;
    fill(&(*chunk)[*index % CHUNK], dist, *index);
    count++; /* after the map is complete */
    return BP_OK;
}

void bp__maps_close(const bp_comm *comm) {
    for (int i = 0; i < count; i++) {
        map *m = &chunks[i / CHUNK][i % CHUNK];
        m->comm = m->comm == comm ? NULL : m->comm;
    }
}

void bp__maps_reset(void) {
    bp__engines_reset();
    for (int i = 0; i * CHUNK < count; i++) {
        bp__free(chunks[i]);
        chunks[i] = NULL;
    }
    count = 0;
}

/* ---- Views ---- */

static bp_status check_type(bp_dtype dtype, const void *local) {
    const size_t item = bp_dtype_size(dtype), align = dtype == BP_C64 || dtype == BP_C128 ? item / 2 : item;
    if (item == 0) {
        return bp__fail(BP_E_DTYPE, "%d is not a bp_dtype", (int)dtype);
    }
    return (uintptr_t)local % align == 0
               ? BP_OK
               : bp__fail(BP_E_LAYOUT, "the local part starts at %p, which is not a multiple of %zu, as %s requires",
                          local, align, bp_dtype_name(dtype));
}

static bp_status make_view(bp_dist_view *view, void *local, bp_dtype dtype, int ndim, const bp_dist *dist) {
    int index = 0;
    BP__TRY(check_type(dtype, local));
    bp__mpi_lock();
    const bp_status status = add_map(dist, &index);
    bp__mpi_unlock();
    view->struct_size = sizeof *view;
    view->local = local;
    view->tensor = (DLTensor){.data = view,
                              .device = {kDLExtDev, index},
                              .ndim = ndim,
                              .dtype = bp_dtype_to_dlpack(dtype),
                              .shape = view->shape,
                              .strides = view->strides};
    return status;
}

static bp_status check_view(const bp_dist_view *view, const bp_dist *dist, bp_dist *whole) {
    if (!view) {
        return bp__fail(BP_E_ARGUMENT, "view must not be NULL");
    }
    BP__TRY(bp__struct_check(dist, sizeof *dist, "dist"));
    *whole = *dist;
    return bp_dist_complete(whole);
}

/* The strides are of a column-major matrix that has at least two rows, so that they tell a matrix from its
 * transpose, also with one row or column. No memory is reached by them. */
bp_status bp_dist_view_init(bp_dist_view *view, void *local, int64_t leading, bp_dtype dtype, const bp_dist *dist) {
    bp_dist whole;
    int64_t shape[2];
    BP__TRY(check_view(view, dist, &whole));
    BP__TRY(bp_dist_local_shape(&whole, -1, shape));
    const int64_t least = shape[0] > 1 ? shape[0] : 1;
    if (leading != 0 && leading < least) {
        return bp__fail(BP_E_ARGUMENT, "leading is %" PRId64 ", but the local part has %" PRId64 " rows", leading,
                        shape[0]);
    }
    memset(view, 0, sizeof *view);
    view->rows = shape[0];
    view->columns = shape[1];
    view->leading = leading ? leading : least;
    memcpy(view->shape, whole.shape, sizeof whole.shape);
    view->strides[0] = 1;
    view->strides[1] = whole.shape[0] > 2 ? whole.shape[0] : 2;
    return make_view(view, local, dtype, 2, &whole);
}

bp_status bp_dist_view_replicated(bp_dist_view *view, void *local, bp_dtype dtype, int ndim, int64_t size,
                                  const bp_dist *dist) {
    bp_dist whole;
    BP__TRY(check_view(view, dist, &whole));
    if (ndim != 0 && ndim != 1) {
        return bp__fail(BP_E_ARGUMENT, "ndim is %d; it must be 0 or 1, as matrices are distributed", ndim);
    }
    if (size < 0) {
        return bp__fail(BP_E_SHAPE, "size is %" PRId64 "; it must be 0 or more", size);
    }
    memset(view, 0, sizeof *view);
    view->rows = ndim == 1 ? size : 1;
    view->columns = 1;
    view->leading = view->rows > 1 ? view->rows : 1;
    view->shape[0] = view->rows;
    view->strides[0] = 1;
    return make_view(view, local, dtype, ndim, &whole);
}

/* Returns the number of elements of array[i]. */
static bp_status size_of_parts(int ndim, const int64_t *shape, int64_t *size) {
    *size = 1;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0) {
            return bp__fail(BP_E_SHAPE, "shape[%d] is %" PRId64 "; it must be 0 or more", i, shape[i]);
        }
        if (i > 0 && __builtin_mul_overflow(*size, shape[i], size)) {
            return bp__fail(BP_E_OVERFLOW, "the array has more elements than memory can hold");
        }
    }
    return BP_OK;
}

/* The stride of the divided dimension is larger than all others, also where dimensions have one element, so that it can
 * be told from them. No memory is reached by it. */
static void set_array_strides(bp_dist_view *view, int ndim) {
    int64_t step = 1;
    for (int i = ndim - 1; i > 0; i--) {
        view->strides[i] = view->shape[i] > 1 ? step : 1;
        step *= view->shape[i] > 1 ? view->shape[i] : 1;
    }
    view->strides[0] = step > 2 ? step : 2;
}

bp_status bp_dist_view_array(bp_dist_view *view, void *local, bp_dtype dtype, int ndim, const int64_t *shape,
                             const bp_dist *dist) {
    bp_dist whole;
    int64_t own[2];
    BP__TRY(check_view(view, dist, &whole));
    if (ndim < 2 || ndim > BP_MAX_DIST_NDIM || !shape) {
        return bp__fail(BP_E_ARGUMENT, "bp_dist_view_array: ndim is %d; it must be 2 or %d, and shape not be NULL",
                        ndim, BP_MAX_DIST_NDIM);
    }
    BP__TRY(size_of_parts(ndim, shape, &whole.shape[0]));
    whole.shape[1] = shape[0];
    BP__TRY(bp_dist_local_shape(&whole, -1, own));
    memset(view, 0, sizeof *view);
    view->rows = own[0];
    view->columns = own[1];
    view->leading = own[0] > 1 ? own[0] : 1;
    memcpy(view->shape, shape, (size_t)ndim * sizeof *shape);
    set_array_strides(view, ndim);
    return make_view(view, local, dtype, ndim, &whole);
}

/* The first dimension of a matrix has stride 1, the first one of an array a larger stride. */
void bp__dist_view_matrix(const bp_dist_view *view, int64_t shape[2]) {
    const bool is_array = view->tensor.ndim > 1 && view->strides[0] > 1;
    shape[0] = is_array ? 1 : view->shape[0];
    shape[1] = is_array ? view->shape[0] : view->shape[1];
    for (int i = 1; i < view->tensor.ndim && is_array; i++) {
        shape[0] *= view->shape[i];
    }
}

const bp_dist_view *bp__dist_view_of(const DLTensor *tensor, const char *name, const bp_dist_place **place) {
    if (!tensor || !bp__place_is_map(bp__place_of(tensor->device)) || !tensor->data || tensor->byte_offset != 0 ||
        ((const bp_dist_view *)tensor->data)->struct_size != sizeof(bp_dist_view)) {
        bp__fail(BP_E_ARGUMENT, "'%s' is not a distributed matrix: make a view of one with bp_dist_view_init()", name);
        return NULL;
    }
    void *opened;
    if (bp__map_open(bp__place_of(tensor->device), &opened) != BP_OK) {
        return NULL;
    }
    if (place) {
        *place = opened;
    }
    return tensor->data;
}
