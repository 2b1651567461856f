/* support_transform.c - see support_transform.h. */
#include "fftw/support_transform.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN 0x5a
#define MOST_ITEM 70000
#define PI 3.14159265358979323846264338327950288L

typedef long double complex wide;

/* ---- Operands ---- */

static int count_dims(const int64_t *n, int most) {
    int count = 0;
    while (count < most && n[count] > 0) {
        count++;
    }
    return count;
}

/* Determines the position of each dimension, slowest first, for `batch` dimensions followed by the dimensions of the
 * transform.
 */
static void arrange(test_order order, int batch, int ndim, int *positions) {
    int at = 0;
    for (int d = batch; order == TEST_BATCH_INNER && d < ndim; d++) {
        positions[at++] = d;
    }
    for (int d = 0; d < batch; d++) {
        positions[at++] = d;
    }
    for (int d = batch; order != TEST_BATCH_INNER && d < ndim; d++) {
        positions[at++] = order == TEST_TRANSPOSED ? ndim - 1 - (d - batch) : d;
    }
}

static void make_strides(test_side *side, test_order order, int batch, bool broadcast) {
    int positions[5];
    int64_t next = order == TEST_APART ? 2 : 1;
    arrange(order, batch, side->ndim, positions);
    for (int i = side->ndim - 1; i >= 0; i--) {
        int d = positions[i];
        bool shared = broadcast && d == batch - 1;
        side->stride[d] = side->n[d] == 1 || shared ? 0 : order == TEST_BACKWARDS ? -next : next;
        next = (next * (shared ? 1 : side->n[d])) + (order == TEST_APART ? 3 : 0);
    }
}

static void make_memory(test_side *side, bool single, int odd) {
    int64_t below = 0, above = 0;
    for (int d = 0; d < side->ndim; d++) {
        int64_t reach = (side->n[d] - 1) * side->stride[d];
        below += reach < 0 ? -reach : 0;
        above += reach > 0 ? reach : 0;
    }
    size_t real = single ? 4 : 8;
    side->element = real * (side->is_complex ? 2 : 1);
    size_t first = (((size_t)below * side->element + 63) & ~(size_t)63) + (size_t)odd * real;
    side->bytes = (first + (size_t)(above + 1) * side->element + 127) & ~(size_t)63;
    side->memory = aligned_alloc(64, side->bytes);
    side->before = malloc(side->bytes);
    side->first = side->memory + first;
    memset(side->memory, PATTERN, side->bytes);
}

static double number(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / 4503599627370496.0 - 1;
}

/* Advances to the next element. Returns false after the last one. */
static bool next_index(const test_side *side, int64_t *index, int64_t *offset) {
    for (int d = side->ndim - 1; d >= 0; d--) {
        *offset += side->stride[d];
        if (++index[d] < side->n[d]) {
            return true;
        }
        *offset -= side->stride[d] * side->n[d];
        index[d] = 0;
    }
    return false;
}

static void fill_side(test_side *side, bool single) {
    uint64_t seed = 7;
    int64_t index[5] = {0}, offset = 0;
    do {
        for (int part = 0; part < (side->is_complex ? 2 : 1); part++) {
            char *at = side->first + offset * (int64_t)side->element;
            double x = number(&seed);
            if (single) {
                ((float *)at)[part] = (float)x;
            } else {
                ((double *)at)[part] = x;
            }
        }
    } while (next_index(side, index, &offset));
}

static void describe(bp_problem *p, const test_operands *o, const test_transform *t, int batch, int ndim) {
    bp_fft_problem *f = &p->of.fft;
    p->struct_size = sizeof *p;
    p->op = BP_OP_FFT;
    p->dtype = t->single ? BP_C64 : BP_C128;
    p->policy.threads = t->threads ? t->threads : 1;
    p->policy.deterministic = t->deterministic;
    p->policy.fft_planner = t->planner;
    f->kind = (uint8_t)t->kind;
    f->inverse = t->inverse;
    f->in_place = t->in_place;
    f->ndim = ndim;
    f->batch_ndim = batch;
    f->scale = t->scale == 0 ? 1 : t->scale;
    f->batch = 1;
    for (int d = 0; d < batch; d++) {
        f->batch_shape[d] = t->batch[d];
        f->batch_in[d] = o->in.stride[d];
        f->batch_out[d] = o->out.stride[d];
        f->batch *= t->batch[d];
    }
    for (int d = 0; d < ndim; d++) {
        f->n[d] = t->n[d];
        f->in[d] = o->in.stride[batch + d];
        f->out[d] = o->out.stride[batch + d];
        f->input_size[d] = o->in.n[batch + d];
    }
}

void test_make(test_operands *o, const test_transform *t) {
    int batch = count_dims(t->batch, 2), ndim = count_dims(t->n, 3);
    memset(o, 0, sizeof *o);
    o->in.is_complex = t->kind != BP_FFT_R2C;
    o->out.is_complex = t->kind != BP_FFT_C2R;
    o->in.ndim = o->out.ndim = batch + ndim;
    for (int d = 0; d < batch + ndim; d++) {
        int64_t n = d < batch ? t->batch[d] : t->n[d - batch];
        bool last = d == batch + ndim - 1;
        o->in.n[d] = last && t->kind == BP_FFT_C2R ? n / 2 + 1 : n;
        o->out.n[d] = last && t->kind == BP_FFT_R2C ? n / 2 + 1 : n;
    }
    make_strides(&o->in, t->in, batch, t->broadcast);
    make_strides(&o->out, t->out, batch, false);
    make_memory(&o->in, t->single, t->odd_in);
    fill_side(&o->in, t->single);
    memcpy(o->in.before, o->in.memory, o->in.bytes);
    if (t->in_place) {
        o->out = o->in;
    } else {
        make_memory(&o->out, t->single, t->odd_out);
        memcpy(o->out.before, o->out.memory, o->out.bytes);
    }
    describe(&o->problem, o, t, batch, ndim);
}

void test_release_operands(test_operands *o) {
    free(o->in.memory);
    free(o->in.before);
    if (o->out.memory != o->in.memory) {
        free(o->out.memory);
        free(o->out.before);
    }
}

void test_refill(test_operands *o) {
    memcpy(o->in.memory, o->in.before, o->in.bytes);
    memcpy(o->out.memory, o->out.before, o->out.bytes);
}

/* ---- The reference ---- */

static wide element(const test_side *side, const char *memory, int64_t offset, bool single) {
    const char *at = memory + (side->first - side->memory) + offset * (int64_t)side->element;
    if (single) {
        const float *x = (const float *)at;
        return x[0] + (side->is_complex ? (wide)x[1] * I : 0);
    }
    const double *x = (const double *)at;
    return x[0] + (side->is_complex ? (wide)x[1] * I : 0);
}

/* Transforms one dimension of a compact array of `outer` x n x `inner` elements. */
static void transform_dim(wide *x, int64_t outer, int64_t n, int64_t inner, bool inverse) {
    wide *roots = malloc((size_t)n * sizeof *roots), *sums = malloc((size_t)n * sizeof *sums);
    for (int64_t k = 0; k < n; k++) {
        long double angle = 2 * PI * (long double)k / (long double)n;
        roots[k] = cosl(angle) + (inverse ? 1 : -1) * sinl(angle) * I;
    }
    for (int64_t line = 0; line < outer * inner; line++) {
        wide *first = x + line / inner * n * inner + line % inner;
        for (int64_t k = 0; k < n; k++) {
            long double real = 0, imaginary = 0; /* by components, because C's complex product checks for infinities */
            for (int64_t j = 0, at = 0; j < n; j++) {
                wide in = first[j * inner], root = roots[at];
                real += creall(in) * creall(root) - cimagl(in) * cimagl(root);
                imaginary += creall(in) * cimagl(root) + cimagl(in) * creall(root);
                at += k;
                at -= at >= n ? n : 0;
            }
            sums[k] = real + imaginary * I;
        }
        for (int64_t k = 0; k < n; k++) {
            first[k * inner] = sums[k];
        }
    }
    free(roots);
    free(sums);
}

/* Expands rows of n/2+1 elements to n by symmetry. Drops components that must be zero. */
static void mirror(wide *x, int64_t rows, int64_t n) {
    int64_t half = n / 2 + 1;
    for (int64_t row = rows - 1; row >= 0; row--) {
        memmove(x + row * n, x + row * half, (size_t)half * sizeof *x);
        wide *line = x + row * n;
        line[0] = creall(line[0]);
        if (n % 2 == 0) {
            line[n / 2] = creall(line[n / 2]);
        }
        for (int64_t k = half; k < n; k++) {
            line[k] = conjl(line[n - k]);
        }
    }
}

/* Transforms all dimensions of one compact item. The result has full rows in any case. */
static void transform_item(wide *x, const test_transform *t, int ndim) {
    bool c2r = t->kind == BP_FFT_C2R;
    int64_t total = 1, outer = 1;
    for (int d = 0; d < ndim; d++) {
        total *= c2r && d == ndim - 1 ? t->n[d] / 2 + 1 : t->n[d];
    }
    for (int d = 0; d < ndim - 1; d++) {
        transform_dim(x, outer, t->n[d], total / outer / t->n[d], t->inverse);
        outer *= t->n[d];
    }
    if (ndim > 0) {
        if (c2r) {
            mirror(x, outer, t->n[ndim - 1]);
        }
        transform_dim(x, outer, t->n[ndim - 1], 1, t->inverse);
    }
}

/* ---- Comparing ---- */

/* Reads one item from the copy made before the run. */
static void read_item(const test_side *side, int64_t first, int batch, wide *x, bool single) {
    test_side item = *side;
    item.ndim -= batch;
    memmove(item.n, item.n + batch, sizeof item.n - (size_t)batch * sizeof *item.n);
    memmove(item.stride, item.stride + batch, sizeof item.stride - (size_t)batch * sizeof *item.stride);
    int64_t index[5] = {0}, offset = 0;
    do {
        *x++ = element(side, side->before, first + offset, single);
    } while (next_index(&item, index, &offset));
}

/* Returns the largest error of one item relative to the mean size of its elements. Marks the bytes that belong to
 * elements. */
static long double compare_item(const test_side *side, int64_t first, int batch, const wide *x, int64_t row,
                                const test_transform *t, char *written) {
    int64_t index[5] = {0}, offset = 0;
    long double worst = 0, sum = 0, scale = t->scale == 0 ? 1 : t->scale;
    test_side item = *side;
    item.ndim -= batch;
    memmove(item.n, item.n + batch, sizeof item.n - (size_t)batch * sizeof *item.n);
    memmove(item.stride, item.stride + batch, sizeof item.stride - (size_t)batch * sizeof *item.stride);
    int64_t last = item.ndim > 0 ? item.n[item.ndim - 1] : 1, count = 0;
    do {
        wide wanted = scale * x[count / last * row + count % last];
        wide got = element(side, side->memory, first + offset, t->single);
        long double error = cabsl(got - (side->is_complex ? wanted : creall(wanted)));
        worst = error > worst || isnan(error) ? error : worst;
        sum += cabsl(wanted) * cabsl(wanted);
        count++;
        memset(written + (side->first - side->memory) + (first + offset) * (int64_t)side->element, 1, side->element);
    } while (next_index(&item, index, &offset));
    return worst / sqrtl(sum / (long double)count);
}

static void check_gaps(const test_side *side, const char *written) {
    for (size_t i = 0; i < side->bytes; i++) {
        if (!written[i] && side->memory[i] != side->before[i]) {
            fail_msg("byte %zu outside of the output was written", i);
        }
    }
}

void test_check(const test_operands *o, const test_transform *t) {
    wide *x = malloc(MOST_ITEM * sizeof *x);
    int batch = o->problem.of.fft.batch_ndim, ndim = o->problem.of.fft.ndim;
    int64_t row = ndim > 0 ? t->n[ndim - 1] : 1, in = 0, out = 0, index[2] = {0}, size = 1;
    char *written = calloc(1, o->out.bytes);
    for (int d = 0; d < ndim; d++) {
        size *= t->n[d] + 2;
    }
    assert_true(size <= MOST_ITEM);
    long double bound = (t->single ? 1.2e-7L : 2.3e-16L) * 8 * (2 + log2l((long double)size));
    for (int64_t item = 0; item < o->problem.of.fft.batch; item++) {
        read_item(&o->in, in, batch, x, t->single);
        transform_item(x, t, ndim);
        long double error = compare_item(&o->out, out, batch, x, row, t, written);
        if (!(error <= bound)) {
            fail_msg("item %lld: error %Lg exceeds %Lg", (long long)item, error, bound);
        }
        for (int d = batch - 1; d >= 0; d--) {
            in += o->in.stride[d];
            out += o->out.stride[d];
            if (++index[d] < o->in.n[d]) {
                break;
            }
            in -= o->in.stride[d] * o->in.n[d];
            out -= o->out.stride[d] * o->out.n[d];
            index[d] = 0;
        }
    }
    check_gaps(&o->out, written);
    free(written);
    free(x);
    if (!t->in_place && memcmp(o->in.memory, o->in.before, o->in.bytes) != 0) {
        fail_msg("the input was written");
    }
}

/* ---- Providers ---- */

bp_prepared *test_plan(const bp_provider *provider, void *instance, const bp_problem *problem) {
    bp_prepared *prepared = NULL;
    if (test_plan_first(provider, instance, problem, &prepared) != BP_OK) {
        fail_msg("planning failed: %s", bp_last_error());
    }
    return prepared;
}

void test_execute(const bp_prepared *prepared, const test_operands *o) {
    void *operands[] = {o->in.first, o->out.first};
    if (test_enqueue(prepared, operands, 2, NULL) != BP_OK) {
        fail_msg("the run failed: %s", bp_last_error());
    }
}

void test_run(const bp_provider *provider, void *instance, const test_transform *t) {
    test_operands o;
    test_make(&o, t);
    bp_prepared *prepared = test_plan(provider, instance, &o.problem);
    for (int run = 0; run < 2; run++) {
        test_refill(&o);
        test_execute(prepared, &o);
        test_check(&o, t);
    }
    prepared->destroy(prepared);
    test_release_operands(&o);
}

const bp_library_info *test_library(const char *id) {
    static bp_library_info rows[8];
    static int used;
    bp_library_info *row = &rows[used % 8];
    row->struct_size = sizeof *row;
    if (bp_library_find(id, row) != BP_OK || strcmp(row->id, id) != 0 || row->state != BP_LIBRARY_OK) {
        print_message("skipped: library '%s' is not installed\n", id);
        return NULL;
    }
    used++;
    return row;
}
