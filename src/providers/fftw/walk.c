/* walk.c - copies and scales strided memory: see walk.h. */
#include "providers/fftw/walk.h"

#include <stdlib.h>

void bp__fftw_walk_add(bp__fftw_walk *walk, int64_t n, int64_t from, int64_t to) {
    if (n != 1) {
        walk->n[walk->ndim] = n;
        walk->from[walk->ndim] = from;
        walk->to[walk->ndim] = to;
        walk->ndim++;
    }
}

static void swap(int64_t *x, int64_t *y) {
    int64_t keep = *x;
    *x = *y;
    *y = keep;
}

static void sort(bp__fftw_walk *walk) {
    for (int i = 1; i < walk->ndim; i++) {
        for (int d = i; d > 0 && llabs(walk->to[d]) > llabs(walk->to[d - 1]); d--) {
            swap(&walk->n[d], &walk->n[d - 1]);
            swap(&walk->from[d], &walk->from[d - 1]);
            swap(&walk->to[d], &walk->to[d - 1]);
        }
    }
}

void bp__fftw_walk_merge(bp__fftw_walk *walk) {
    sort(walk);
    int last = 0;
    for (int d = 1; d < walk->ndim; d++) {
        if (walk->from[last] == walk->from[d] * walk->n[d] && walk->to[last] == walk->to[d] * walk->n[d]) {
            walk->n[last] *= walk->n[d];
        } else {
            walk->n[++last] = walk->n[d];
        }
        walk->from[last] = walk->from[d];
        walk->to[last] = walk->to[d];
    }
    walk->ndim = walk->ndim > 0 ? last + 1 : 0;
}

int64_t bp__fftw_walk_span(const bp__fftw_walk *walk, const int64_t *strides, int64_t *below) {
    int64_t above = 0;
    *below = 0;
    for (int d = 0; d < walk->ndim; d++) {
        int64_t reach = (walk->n[d] - 1) * strides[d];
        *below -= reach < 0 ? reach : 0;
        above += reach > 0 ? reach : 0;
    }
    return *below + above + 1;
}

/* ---- Passes over all elements, one row at a time ---- */

typedef struct position {
    int64_t index[BP__FFTW_WALK_NDIM];
    int64_t from, to;
} position;

/* Advances to the next row of the first `ndim` dimensions. Returns false after the last one. */
static bool next_row(const bp__fftw_walk *walk, int ndim, position *at) {
    for (int d = ndim - 1; d >= 0; d--) {
        at->from += walk->from[d];
        at->to += walk->to[d];
        if (++at->index[d] < walk->n[d]) {
            return true;
        }
        at->index[d] = 0;
        at->from -= walk->from[d] * walk->n[d];
        at->to -= walk->to[d] * walk->n[d];
    }
    return false;
}

static int64_t size_of(bp_dtype dtype) {
    return dtype == BP_C128 ? 16 : dtype == BP_F32 ? 4 : 8;
}

void bp__fftw_walk_copy(const bp_host *host, const bp__fftw_walk *walk, bp_dtype dtype, const void *from, void *to) {
    int64_t size = size_of(dtype);
    int outer = walk->ndim > 2 ? walk->ndim - 2 : 0;
    int row = walk->ndim > 1 ? walk->ndim - 2 : -1, column = walk->ndim - 1;
    int64_t rows = row >= 0 ? walk->n[row] : 1, columns = column >= 0 ? walk->n[column] : 1;
    position at = {0};
    do {
        host->copy_matrix(dtype, rows, columns, (char *)to + at.to * size, row >= 0 ? walk->to[row] : 0,
                          column >= 0 ? walk->to[column] : 0, (const char *)from + at.from * size,
                          row >= 0 ? walk->from[row] : 0, column >= 0 ? walk->from[column] : 0, 0);
    } while (next_row(walk, outer, &at));
}

/* Scales one row of `n` elements of `parts` real numbers each. A contiguous row is scaled one vector at a time. */
#define SCALE_ROW(T)                                                                                                   \
    typedef T vector_##T __attribute__((vector_size(32), aligned(sizeof(T)), may_alias));                              \
    static void scale_row_##T(T *x, int64_t n, int64_t stride, int parts, T factor) {                                  \
        const int64_t lanes = (int64_t)(sizeof(vector_##T) / sizeof(T));                                               \
        int64_t i = 0;                                                                                                 \
        if (stride == 1) {                                                                                             \
            for (n *= parts, parts = 1; i + lanes <= n; i += lanes) {                                                  \
                *(vector_##T *)(x + i) *= factor;                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        for (; i < n; i++) {                                                                                           \
            for (int part = 0; part < parts; part++) {                                                                 \
                x[i * stride * parts + part] *= factor;                                                                \
            }                                                                                                          \
        }                                                                                                              \
    }
SCALE_ROW(float)
SCALE_ROW(double)

void bp__fftw_walk_scale(const bp__fftw_walk *walk, bp_dtype dtype, void *to, double factor) {
    int64_t size = size_of(dtype);
    int parts = dtype == BP_C64 || dtype == BP_C128 ? 2 : 1;
    int outer = walk->ndim > 0 ? walk->ndim - 1 : 0;
    int64_t n = walk->ndim > 0 ? walk->n[outer] : 1, stride = walk->ndim > 0 ? walk->to[outer] : 1;
    position at = {0};
    do {
        void *row = (char *)to + at.to * size;
        if (dtype == BP_F32 || dtype == BP_C64) {
            scale_row_float(row, n, stride, parts, (float)factor);
        } else {
            scale_row_double(row, n, stride, parts, factor);
        }
    } while (next_row(walk, outer, &at));
}
