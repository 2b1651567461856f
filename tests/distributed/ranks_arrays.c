/* ranks_arrays.c - implements ranks_arrays.h. */
#include "distributed/ranks_arrays.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double two_pi = 6.283185307179586476925286766559;

/* ---- The definition ---- */

ranks_whole ranks_new_whole(int ndim, const int64_t *n) {
    ranks_whole w = {.ndim = ndim, .count = 1};
    for (int i = 0; i < ndim; i++) {
        w.n[i] = n[i];
        w.count *= n[i];
    }
    w.x = calloc((size_t)w.count + 1, sizeof *w.x);
    return w;
}

static double part_of(int64_t i, int part) {
    return ranks_random(i, 5, part);
}

ranks_whole ranks_input(int ndim, const int64_t *n, bool real) {
    ranks_whole w = ranks_new_whole(ndim, n);
    for (int64_t i = 0; i < w.count; i++) {
        w.x[i] = part_of(i, 0) + (real ? 0 : part_of(i, 1) * I);
    }
    return w;
}

/* Transforms one line of n elements with distance `step`. */
static void transform_line(double complex *x, int64_t n, int64_t step, int sign) {
    double complex *sums = calloc((size_t)n, sizeof *sums);
    for (int64_t k = 0; k < n; k++) {
        for (int64_t j = 0; j < n; j++) {
            const double angle = sign * two_pi * (double)(j * k % n) / (double)n;
            sums[k] += x[j * step] * (cos(angle) + sin(angle) * I);
        }
    }
    for (int64_t k = 0; k < n; k++) {
        x[k * step] = sums[k];
    }
    free(sums);
}

void ranks_transform(ranks_whole *w, bool inverse, double scale) {
    int64_t step = 1;
    for (int d = w->ndim - 1; d >= 0; d--) {
        for (int64_t i = 0; i < w->count; i++) {
            if (i / step % w->n[d] == 0) {
                transform_line(w->x + i, w->n[d], step, inverse ? 1 : -1);
            }
        }
        step *= w->n[d];
    }
    for (int64_t i = 0; i < w->count; i++) {
        w->x[i] *= scale;
    }
}

static double norm_of(const ranks_whole *w) {
    double sum = 0;
    for (int64_t i = 0; i < w->count; i++) {
        sum += creal(w->x[i] * conj(w->x[i]));
    }
    return sqrt(sum);
}

double ranks_scale(const ranks_whole *w, bool inverse, bp_fft_norm norm) {
    const double n = (double)w->count;
    return norm == BP_FFT_ORTHO ? 1 / sqrt(n) : inverse == (norm == BP_FFT_BACKWARD) ? 1 / n : 1;
}

/* ---- Distributed arrays ---- */

static bool is_real(bp_dtype dtype) {
    return dtype == BP_F32 || dtype == BP_F64;
}

static void put(const ranks_array *a, int64_t at, double complex value) {
    void *x = a->view.local;
    switch (a->dtype) {
    case BP_F32:
        ((float *)x)[at] = (float)creal(value);
        break;
    case BP_F64:
        ((double *)x)[at] = creal(value);
        break;
    case BP_C64:
        ((float *)x)[2 * at] = (float)creal(value), ((float *)x)[2 * at + 1] = (float)cimag(value);
        break;
    default:
        ((double *)x)[2 * at] = creal(value), ((double *)x)[2 * at + 1] = cimag(value);
    }
}

static double complex get(const ranks_array *a, int64_t at) {
    const void *x = a->view.local;
    return a->dtype == BP_F32   ? (double complex)((const float *)x)[at]
           : a->dtype == BP_F64 ? (double complex)((const double *)x)[at]
           : a->dtype == BP_C64 ? ((const float *)x)[2 * at] + ((const float *)x)[2 * at + 1] * I
                                : ((const double *)x)[2 * at] + ((const double *)x)[2 * at + 1] * I;
}

void ranks_make_array(ranks_array *a, bp_comm *comm, bp_dtype dtype, int ndim, const int64_t *n, int32_t block,
                      ranks_layout how) {
    const bool matrix = ndim == 2 && (how == MATRIX || how == MATRIX_WITH_GAPS);
    int64_t local[2];
    *a = (ranks_array){.dist = {.struct_size = sizeof a->dist, .comm = comm}, .rest = 1, .dtype = dtype};
    for (int i = 1; i < ndim; i++) {
        a->rest *= n[i];
    }
    a->dist.shape[0] = a->rest, a->dist.shape[1] = n[0];
    CHECK(bp_dist_slabs(&a->dist) == BP_OK, "slabs");
    a->dist.block[1] = block ? block : a->dist.block[1];
    CHECK(bp_dist_local_shape(&a->dist, -1, local) == BP_OK, "local shape");
    const int64_t leading = (local[0] > 1 ? local[0] : 1) + (how == MATRIX_WITH_GAPS ? 3 : 0);
    a->memory = malloc((size_t)(leading * local[1] + 1) * 16 + 64);
    char *start = (char *)a->memory + (how == NOT_ALIGNED ? bp_dtype_size(dtype) / (is_real(dtype) ? 1 : 2) : 0);
    CHECK((matrix ? bp_dist_view_init(&a->view, start, leading, dtype, &a->dist)
                  : bp_dist_view_array(&a->view, start, dtype, ndim, n, &a->dist)) == BP_OK,
          "view");
}

void ranks_free_array(ranks_array *a) {
    free(a->memory);
}

/* Visits the elements that this rank has. */
void ranks_fill(const ranks_array *a, const ranks_whole *w) {
    int at[2] = {0, 0};
    bp_dist_position(&a->dist, -1, at);
    for (int64_t j = 0; j < a->view.columns; j++) {
        const int64_t item = bp_dist_to_global(&a->dist, 1, at[1], j);
        for (int64_t i = 0; i < a->rest; i++) {
            put(a, j * a->view.leading + i, w ? w->x[item * a->rest + i] : NAN);
        }
    }
}

double ranks_difference(const ranks_array *a, const ranks_whole *w, int64_t half) {
    const int64_t length = w->n[w->ndim - 1], rows = a->rest / half, full = w->count / w->n[0];
    int at[2] = {0, 0};
    double most = 0;
    bp_dist_position(&a->dist, -1, at);
    for (int64_t j = 0; j < a->view.columns; j++) {
        const int64_t item = bp_dist_to_global(&a->dist, 1, at[1], j);
        for (int64_t i = 0; i < rows * half; i++) {
            const double complex wanted = w->x[item * full + i / half * length + i % half];
            const double error = cabs(get(a, j * a->view.leading + i) - wanted);
            most = error > most || isnan(error) ? error : most;
        }
    }
    return most;
}

const char *ranks_name(const ranks_trial *t) {
    static char text[160];
    snprintf(text, sizeof text, "%lldx%lldx%lld%s block %d, %s, %s, norm %d, layout %d", (long long)t->n[0],
             (long long)t->n[1], (long long)(t->ndim > 2 ? t->n[2] : 1), t->ndim > 2 ? "" : " (matrix)", (int)t->block,
             t->single ? "single" : "double", t->inverse ? "inverse" : "forward", (int)t->norm, (int)t->how);
    return text;
}

double ranks_bound(const ranks_trial *t, const ranks_whole *w) {
    return 8 * (t->single ? FLT_EPSILON : DBL_EPSILON) * (log2((double)w->count) + 2) * norm_of(w);
}

bp_status ranks_run(bp_fft_transform transform, const ranks_trial *t, const ranks_array *in, ranks_array *out) {
    const bp_fft_call call = {sizeof call, transform, t->norm, BP_FFT_ALL, NULL, NULL};
    return bp_fft_run(NULL, &call, &in->view.tensor, &out->view.tensor);
}
