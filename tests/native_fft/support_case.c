/* support_case.c - allocates transforms, runs them and computes the expected results. */
#include "fft_case.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const bp_provider bp_provider_native;

bool fft_runs_here(int capability) {
#if defined(__x86_64__)
    return (int)test_plain_host()->hardware >= capability;
#else
    return capability == BP_CAPABILITY_DEFAULT;
#endif
}

static int rank_of(const test_case *what) {
    int rank = 0;
    while (rank < 3 && what->n[rank] > 0) {
        rank++;
    }
    return rank;
}

int64_t fft_elements(const test_case *what) {
    int64_t count = 1;
    for (int d = 0; d < rank_of(what); d++) {
        count *= what->n[d];
    }
    return count;
}

static bool is_real(const test_case *what, bool input) {
    return what->kind == (input ? BP_FFT_R2C : BP_FFT_C2R);
}

static double uniform(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return (double)(int32_t)*state / 2147483648.0;
}

int64_t fft_count(const test_side *side) {
    int64_t count = 1;
    for (int d = 0; d < side->ndim; d++) {
        count *= side->size[d];
    }
    return count;
}

/* Returns the offset from the first element in bytes. */
static int64_t offset_of(const test_side *side, int64_t index) {
    int64_t offset = 0;
    for (int d = side->ndim - 1; d >= 0; d--) {
        offset += index % side->size[d] * side->stride[d];
        index /= side->size[d];
    }
    return offset * (int64_t)side->element;
}

wide fft_get(const test_run *run, const test_side *side, int64_t index) {
    const char *at = side->first + offset_of(side, index);
    double part[2] = {0, 0};
    const size_t real = run->what.f64 ? 8 : 4;
    for (size_t i = 0; i < side->element / real; i++) {
        float narrow;
        if (run->what.f64) {
            memcpy(part + i, at + i * 8, 8);
        } else {
            memcpy(&narrow, at + i * 4, 4);
            part[i] = (double)narrow;
        }
    }
    return part[0] + part[1] * (wide)I;
}

void fft_set(const test_run *run, const test_side *side, int64_t index, wide value) {
    char *at = side->first + offset_of(side, index);
    const double part[2] = {(double)creall(value), (double)cimagl(value)};
    const float narrow[2] = {(float)part[0], (float)part[1]};
    memcpy(at, run->what.f64 ? (const void *)part : (const void *)narrow, side->element);
}

static void lay_out(test_side *side, const test_case *what, bool input) {
    const layout how = input ? what->in : what->out;
    const int rank = rank_of(what);
    int64_t step = how == SPACED ? 3 : 1, low = 0, high = 0;
    side->element = (what->f64 ? 8u : 4u) * (is_real(what, input) ? 1u : 2u);
    side->ndim = 0;
    for (int d = 0; d < 2 && what->batch[d] != 0; d++) {
        side->size[side->ndim++] = what->batch[d] < 0 ? 0 : what->batch[d];
    }
    const int batch = side->ndim;
    for (int d = 0; d < rank; d++) {
        const bool half = d == rank - 1 && what->kind != BP_FFT_C2C && !is_real(what, input);
        side->size[side->ndim++] = half ? what->n[d] / 2 + 1 : what->n[d];
    }
    for (int i = 0; i < side->ndim; i++) {
        const int d = how == COLUMNS ? i : side->ndim - 1 - i;
        const bool fixed = how == SINGLE || (how == CONSTANT && d < batch);
        side->stride[d] = fixed || side->size[d] == 1 ? 0 : how == REVERSED ? -step : step;
        step *= fixed ? 1 : side->size[d] + (how == SPACED ? 1 : 0);
        *(side->stride[d] < 0 ? &low : &high) += side->stride[d] * (side->size[d] > 0 ? side->size[d] - 1 : 0);
    }
    /* Margins on both sides detect writes outside of the operand. */
    side->bytes = (size_t)(high - low + 1 + 32) * side->element;
    side->memory = malloc(side->bytes);
    side->before = malloc(side->bytes);
    assert_true(side->memory && side->before);
    side->first = side->memory + (size_t)(16 - low) * side->element;
    memset(side->memory, 0x5a, side->bytes);
}

static void describe(test_run *run) {
    const test_case *what = &run->what;
    bp_fft_problem *f = &run->problem.of.fft;
    run->problem = (bp_problem){
        .struct_size = sizeof run->problem,
        .op = BP_OP_FFT,
        .dtype = what->f64 ? BP_C128 : BP_C64,
        .policy = {.threads = what->threads > 0 ? what->threads : 1, .capability = (uint8_t)what->capability}};
    f->kind = (uint8_t)what->kind;
    f->inverse = what->inverse;
    f->in_place = what->in_place;
    f->scale = what->scale != 0 ? what->scale : 1;
    f->batch = 1;
    const int rank = rank_of(what), batch = run->in.ndim - rank;
    for (int d = 0; d < batch; d++) {
        f->batch_shape[d] = run->in.size[d];
        f->batch_in[d] = run->in.stride[d];
        f->batch_out[d] = run->out.stride[d];
        f->batch *= f->batch_shape[d];
    }
    f->batch_ndim = batch;
    for (int d = 0; d < rank; d++) {
        /* Dimensions of size 1 are omitted, except the halved dimension of a real transform. */
        if (what->n[d] == 1 && (what->kind == BP_FFT_C2C || d < rank - 1)) {
            continue;
        }
        f->n[f->ndim] = what->n[d];
        f->input_size[f->ndim] = run->in.size[batch + d];
        f->in[f->ndim] = run->in.stride[batch + d];
        f->out[f->ndim] = run->out.stride[batch + d];
        f->ndim++;
    }
}

void fft_make(test_run *run, const test_case *what, unsigned seed) {
    memset(run, 0, sizeof *run);
    run->what = *what;
    lay_out(&run->in, what, true);
    if (what->in_place) {
        run->out = run->in;
    } else {
        lay_out(&run->out, what, false);
    }
    describe(run);
    for (int64_t i = 0; i < fft_count(&run->in); i++) {
        const double re = uniform(&seed), im = uniform(&seed);
        fft_set(run, &run->in, i, re + im * (wide)I);
    }
    memcpy(run->in.before, run->in.memory, run->in.bytes);
    memcpy(run->out.before, run->out.memory, run->out.bytes);
}

void fft_free(test_run *run) {
    free(run->in.memory);
    free(run->in.before);
    if (!run->what.in_place) {
        free(run->out.memory);
        free(run->out.before);
    }
}

/* Checks that the bytes between elements are unchanged. */
static void check_gaps(const test_side *side) {
    char *expected = malloc(side->bytes);
    assert_non_null(expected);
    memcpy(expected, side->before, side->bytes);
    for (int64_t i = 0; i < fft_count(side); i++) {
        const ptrdiff_t at = side->first - side->memory + offset_of(side, i);
        memcpy(expected + at, side->memory + at, side->element);
    }
    assert_memory_equal(expected, side->memory, side->bytes);
    free(expected);
}

void fft_execute(test_run *run) {
    void *instance;
    bp_prepared *prepared = NULL;
    assert_int_equal(bp_provider_native.open(test_plain_host(), NULL, &instance), BP_OK);
    run->verdict = test_verdict(&bp_provider_native, instance, &run->problem);
    assert_int_equal(run->verdict.reason, BP_REASON_ACCEPTED);
    assert_true(run->verdict.threads >= 1 && run->verdict.threads <= run->problem.policy.threads);
    assert_true(run->verdict.cost_ns > 0 && isfinite(run->verdict.cost_ns));
    assert_non_null(run->verdict.algorithm);
    assert_int_equal(test_plan_first(&bp_provider_native, instance, &run->problem, &prepared), BP_OK);
    void *operands[] = {run->in.first, run->out.first};
    assert_int_equal(test_enqueue(prepared, operands, 2, NULL), BP_OK);
    prepared->destroy(prepared);
    if (!run->what.in_place) {
        assert_memory_equal(run->in.memory, run->in.before, run->in.bytes);
    }
    check_gaps(&run->out);
}

/* ---- The reference ---- */

/* Returns an element of the full input. The missing half of a C2R input follows from symmetry. */
static wide input_at(const test_run *run, int64_t item, const int64_t *index) {
    const test_case *what = &run->what;
    const int rank = rank_of(what), batch = run->in.ndim - rank;
    const bool mirrored = what->kind == BP_FFT_C2R && index[rank - 1] > what->n[rank - 1] / 2;
    int64_t at = item;
    for (int d = 0; d < rank; d++) {
        at = at * run->in.size[batch + d] + (mirrored ? (what->n[d] - index[d]) % what->n[d] : index[d]);
    }
    test_side before = run->in;
    before.first = run->in.before + (run->in.first - run->in.memory);
    const wide value = fft_get(run, &before, at);
    return mirrored ? conjl(value) : value;
}

/* Returns the part of an input element that has an effect. In one dimension, imaginary parts of elements that mirror
 * themselves have none. */
static wide counted(const test_case *what, int64_t index, wide value) {
    const bool own = what->kind == BP_FFT_C2R && rank_of(what) == 1 && 2 * index % what->n[0] == 0;
    return own ? creall(value) : value;
}

static wide *roots_of(int64_t n, bool inverse) {
    wide *roots = malloc((size_t)n * sizeof *roots);
    assert_non_null(roots);
    for (int64_t t = 0; t < n; t++) {
        /* Angles are reduced to [-pi, pi], for accuracy in the last digits. */
        const long double turn = (long double)(2 * t > n ? t - n : t) / (long double)n;
        const long double angle = 6.283185307179586476925286766559005768L * turn;
        roots[t] = cosl(angle) + (inverse ? sinl(angle) : -sinl(angle)) * (wide)I;
    }
    return roots;
}

/* Transforms one dimension of `values` in place: lines of n elements, `step` apart. */
static void transform_dimension(wide *values, int64_t count, int64_t n, int64_t step, const wide *roots) {
    wide *line = malloc((size_t)n * sizeof *line);
    assert_non_null(line);
    for (int64_t first = 0; first < count; first++) {
        if (first / step % n != 0) {
            continue;
        }
        for (int64_t k = 0; k < n; k++) {
            line[k] = 0;
            for (int64_t j = 0; j < n; j++) {
                line[k] += values[first + j * step] * roots[j * k % n];
            }
        }
        for (int64_t k = 0; k < n; k++) {
            values[first + k * step] = line[k];
        }
    }
    free(line);
}

typedef struct sums {
    long double error, size;
} sums;

static void compare(const test_run *run, int64_t item, int64_t at, wide expected, sums *s) {
    const long double scale = run->problem.of.fft.scale;
    const wide got = fft_get(run, &run->out, item * (fft_count(&run->out) / run->problem.of.fft.batch) + at);
    expected *= scale;
    if (run->what.kind == BP_FFT_C2R) {
        expected = creall(expected);
    }
    const wide off = got - expected;
    s->error += creall(off) * creall(off) + cimagl(off) * cimagl(off);
    s->size += creall(expected) * creall(expected) + cimagl(expected) * cimagl(expected);
}

/* Compares some outputs of a long line, each computed from the definition. */
static void sample_line(const test_run *run, int64_t item, int64_t most, sums *s) {
    const int64_t n = run->what.n[0], outputs = fft_count(&run->out) / run->problem.of.fft.batch;
    wide *roots = roots_of(n, run->what.inverse), *line = malloc((size_t)n * sizeof *line);
    assert_non_null(line);
    for (int64_t j = 0; j < n; j++) {
        line[j] = counted(&run->what, j, input_at(run, item, &j));
    }
    for (int64_t i = 0; i < most; i++) {
        const int64_t k = i < 3 ? i : (i * 7919 + outputs * i / most) % outputs;
        wide sum = 0;
        for (int64_t j = 0, at = 0; j < n; j++, at = (at + k) % n) {
            sum += line[j] * roots[at];
        }
        compare(run, item, k, sum, s);
    }
    free(roots);
    free(line);
}

static void whole_item(const test_run *run, int64_t item, sums *s) {
    const test_case *what = &run->what;
    const int rank = rank_of(what), batch = run->out.ndim - rank;
    const int64_t count = fft_elements(what), outputs = fft_count(&run->out) / run->problem.of.fft.batch;
    wide *values = malloc((size_t)count * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++) {
        int64_t index[3], rest = i;
        for (int d = rank - 1; d >= 0; d--) {
            index[d] = rest % what->n[d];
            rest /= what->n[d];
        }
        values[i] = counted(what, i, input_at(run, item, index));
    }
    int64_t step = 1;
    for (int d = rank - 1; d >= 0; d--) {
        wide *roots = roots_of(what->n[d], what->inverse);
        transform_dimension(values, count, what->n[d], step, roots);
        free(roots);
        step *= what->n[d];
    }
    for (int64_t i = 0; i < outputs; i++) {
        int64_t at = 0, rest = i, factor = 1;
        for (int d = rank - 1; d >= 0; d--) {
            at += rest % run->out.size[batch + d] * factor;
            rest /= run->out.size[batch + d];
            factor *= what->n[d];
        }
        compare(run, item, i, values[at], s);
    }
    free(values);
}

double fft_error(const test_run *run, int64_t most) {
    sums s = {0, 0};
    for (int64_t item = 0; item < run->problem.of.fft.batch; item++) {
        if (most > 0) {
            sample_line(run, item, most, &s);
        } else {
            whole_item(run, item, &s);
        }
    }
    const long double epsilon = run->what.f64 ? DBL_EPSILON : FLT_EPSILON;
    return s.size > 0 ? (double)(sqrtl(s.error / s.size) / epsilon) : (double)sqrtl(s.error);
}
