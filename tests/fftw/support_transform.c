/* support_transform.c - see support_transform.h. */
#include "fftw/support_transform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Operands ---- */

static int count_dims(const int64_t *n, int most) {
    int count = 0;
    while (count < most && n[count] != 0) {
        count++;
    }
    return count;
}

/* Determines the position of each dimension, slowest first, for `batch` dimensions followed by the dimensions of the
 * transform.
 */
static void arrange(fft_order order, int batch, int ndim, int *positions) {
    int at = 0;
    for (int d = ndim - 1; order == FFT_FIRST_FASTEST && d >= 0; d--) {
        positions[at++] = d;
    }
    for (int d = batch; order == FFT_BATCH_INNER && d < ndim; d++) {
        positions[at++] = d;
    }
    for (int d = 0; order != FFT_FIRST_FASTEST && d < batch; d++) {
        positions[at++] = d;
    }
    for (int d = batch; at < ndim; d++) {
        positions[at++] = order == FFT_TRANSPOSED ? ndim - 1 - (d - batch) : d;
    }
}

static void make_side(test_array *side, const test_transform *t, bool input) {
    const fft_order order = input ? t->in : t->out;
    const bool is_real = t->kind == (input ? BP_FFT_R2C : BP_FFT_C2R);
    const int batch = count_dims(t->batch, 2), ndim = batch + count_dims(t->n, 3);
    int positions[5];
    int64_t shape[5], strides[5], next = order == FFT_APART ? 2 : 1;
    for (int d = 0; d < ndim; d++) {
        const bool half = d == ndim - 1 && t->kind != BP_FFT_C2C && !is_real;
        const int64_t n = d < batch ? t->batch[d] : t->n[d - batch];
        shape[d] = n < 0 ? 0 : half ? n / 2 + 1 : n;
    }
    arrange(order, batch, ndim, positions);
    for (int i = ndim - 1; i >= 0; i--) {
        const int d = positions[i];
        const bool shared = (input && t->broadcast && d == batch - 1) || order == FFT_ONE_ELEMENT ||
                            (order == FFT_ONE_ITEM && d < batch);
        strides[d] = shape[d] == 1 || shared ? 0 : order == FFT_BACKWARDS ? -next : next;
        next = next * (shared ? 1 : shape[d]) + (order == FFT_APART ? 3 : 0);
    }
    const bp_dtype dtype = is_real ? t->single ? BP_F32 : BP_F64 : t->single ? BP_C64 : BP_C128;
    const int odd = input ? t->odd_in : t->odd_out;
    test_array_make_strided(side, dtype, ndim, shape, strides, (size_t)odd * (t->single ? 4 : 8));
}

static void describe(test_operands *o, const test_transform *t) {
    bp_problem *p = &o->problem;
    bp_fft_problem *f = &p->of.fft;
    const DLTensor *in = &o->in.view.tensor, *out = &o->out.view.tensor;
    const int batch = count_dims(t->batch, 2), ndim = count_dims(t->n, 3);
    p->struct_size = sizeof *p;
    p->op = BP_OP_FFT;
    p->dtype = t->single ? BP_C64 : BP_C128;
    p->policy.threads = t->threads ? t->threads : 1;
    p->policy.deterministic = t->deterministic;
    p->policy.fft_planner = t->planner;
    p->policy.capability = t->capability;
    f->kind = (uint8_t)t->kind;
    f->inverse = t->inverse;
    f->in_place = t->in_place;
    f->batch_ndim = batch;
    f->scale = t->scale == 0 ? 1 : t->scale;
    f->batch = 1;
    for (int d = 0; d < batch; d++) {
        f->batch_shape[d] = in->shape[d];
        f->batch_in[d] = in->strides[d];
        f->batch_out[d] = out->strides[d];
        f->batch *= in->shape[d];
    }
    for (int d = 0; d < ndim; d++) {
        const bool halved = d == ndim - 1 && t->kind != BP_FFT_C2C;
        if (t->omits_ones && t->n[d] == 1 && !halved) {
            continue;
        }
        f->n[f->ndim] = t->n[d];
        f->in[f->ndim] = in->strides[batch + d];
        f->out[f->ndim] = out->strides[batch + d];
        f->input_size[f->ndim++] = in->shape[batch + d];
    }
}

void test_make(test_operands *o, const test_transform *t) {
    memset(o, 0, sizeof *o);
    make_side(&o->in, t, true);
    test_array_random = t->seed ? t->seed : 7;
    test_array_fill(&o->in, 1);
    test_array_copy(&o->in_before, &o->in);
    o->out = o->in;
    if (!t->in_place) {
        make_side(&o->out, t, false);
        test_array_copy(&o->out_before, &o->out);
    }
    o->first[0] = o->in.view.tensor.data;
    o->first[1] = o->out.view.tensor.data;
    describe(o, t);
}

void test_release_operands(test_operands *o) {
    for (int64_t i = 0; o->expected && i < o->parts; i++) {
        reference_results_free(&o->expected[i]);
    }
    free(o->expected);
    test_array_free(&o->in);
    test_array_free(&o->in_before);
    if (!o->problem.of.fft.in_place) {
        test_array_free(&o->out);
        test_array_free(&o->out_before);
    }
}

void test_refill(test_operands *o) {
    test_array_restore(&o->in, &o->in_before);
    if (!o->problem.of.fft.in_place) {
        test_array_restore(&o->out, &o->out_before);
    }
}

/* ---- Comparisons ---- */

static int64_t elements_of_part(const test_operands *o, const test_array *side) {
    return o->parts > 0 ? test_array_count(side) / o->parts : 0;
}

/* Makes the view of an item, or of the whole batch if that is the only part. */
static void view_part(bp_view *part, const test_operands *o, const test_array *side, int64_t index) {
    const DLTensor *all = &side->view.tensor;
    const int batch = o->parts > 1 ? o->problem.of.fft.batch_ndim : 0;
    assert_int_equal(bp_view_init(part, test_array_at(side, index * elements_of_part(o, side)), side->dtype,
                                  all->ndim - batch, all->shape + batch, all->strides + batch),
                     BP_OK);
}

/* The reference of a transform is unscaled. The values of any other scale are its multiples. */
static void scale_values(reference *made, double scale) {
    for (int64_t i = 0; i < made->count; i++) {
        made->values[i].re *= scale;
        made->values[i].im *= scale;
        made->values[i].scale *= scale;
    }
}

/* In several dimensions every item has a reference of its own, because one of a large batch would have some of the
 * elements only. */
static void expect(test_operands *o, const test_transform *t) {
    static const bp_fft_transform transforms[][2] = {
        [BP_FFT_C2C] = {BP_FFT, BP_IFFT}, [BP_FFT_R2C] = {BP_RFFT, BP_IHFFT}, [BP_FFT_C2R] = {BP_HFFT, BP_IRFFT}};
    const int ndim = count_dims(t->n, 3);
    const bp_fft_call call = {.struct_size = sizeof call,
                              .transform = transforms[t->kind][t->inverse],
                              .axis_count = ndim,
                              .norm = t->inverse ? BP_FFT_FORWARD : BP_FFT_BACKWARD};
    if (o->expected) {
        return;
    }
    o->parts = o->problem.of.fft.batch == 0 || ndim > 1 ? o->problem.of.fft.batch : 1;
    o->expected = calloc((size_t)o->parts + 1, sizeof *o->expected);
    assert_non_null(o->expected);
    for (int64_t i = 0; i < o->parts; i++) {
        bp_view in, out;
        view_part(&in, o, &o->in_before, i);
        view_part(&out, o, &o->out, i);
        assert_int_equal(reference_of_fft(&o->expected[i], &call, &in.tensor, &out.tensor), BP_OK);
        scale_values(&o->expected[i].of[0].values, o->problem.of.fft.scale);
    }
}

void test_check_surroundings(const test_operands *o) {
    test_array_check_gaps(&o->out, "transform");
    if (!o->problem.of.fft.in_place) {
        test_array_check_unchanged(&o->in, &o->in_before, "transform");
    }
}

void test_check(test_operands *o, const test_transform *t) {
    expect(o, t);
    for (int64_t i = 0; i < o->parts; i++) {
        bp_view out;
        char text[160];
        view_part(&out, o, &o->out, i);
        o->expected[i].of[0].tensor = &out.tensor;
        snprintf(text, sizeof text, "kind %d inverse %d single %d n %lldx%lldx%lld layouts %d %d, part %lld", t->kind,
                 t->inverse, t->single, (long long)t->n[0], (long long)t->n[1], (long long)t->n[2], t->in, t->out,
                 (long long)i);
        test_compare_results(&o->expected[i], 1, text);
    }
    test_check_surroundings(o);
}

double test_norm_error(test_operands *o, const test_transform *t) {
    long double error = 0, size = 0;
    expect(o, t);
    for (int64_t part = 0; part < o->parts; part++) {
        const reference *values = &o->expected[part].of[0].values;
        for (int64_t i = 0; i < values->count; i++) {
            const reference_value *value = &values->values[i];
            const bp_scalar got = test_array_get_complex(&o->out, part * elements_of_part(o, &o->out) + value->index);
            const long double re = got.re - (long double)value->re, im = got.im - (long double)value->im;
            error += re * re + im * im;
            size += (long double)value->re * value->re + (long double)value->im * value->im;
        }
    }
    return (double)(size > 0 ? sqrtl(error / size) : sqrtl(error));
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
    if (test_enqueue(prepared, (void *[]){o->first[0], o->first[1]}, 2, NULL) != BP_OK) {
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
