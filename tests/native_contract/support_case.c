/* support_case.c - makes the operands of a contraction, runs it through the provider, and checks the result. */
#include "contract.h"

#include "providers/native/contract/contract.h"
#include "support/results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const bp_provider bp_provider_native;
extern const bp__contract_kernels bp__contract_wide[BP__CONTRACT_DTYPES];

bool runs_here(kernels set) {
#if defined(__x86_64__)
    return set == KERNELS_DEFAULT ||
           test_plain_host()->hardware >=
               (bp_capability)(set == KERNELS_AVX512 ? BP_CAPABILITY_AVX512 : BP_CAPABILITY_AVX2);
#else
    return set == KERNELS_DEFAULT || set == KERNELS_WIDE;
#endif
}

bool is_complex(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

long double roundoff(bp_dtype dtype) {
    switch (dtype) {
    case BP_F16:
        return 0x1p-11L;
    case BP_BF16:
        return 0x1p-8L;
    case BP_F32:
    case BP_C64:
        return 0x1p-24L;
    default:
        return 0x1p-53L;
    }
}

int draw(int below) {
    return (int)test_array_between(0, below - 1);
}

/* ---- Elements ---- */

static const test_array *array_of(const operands *o, int side) {
    return &o->array[side == C && o->t.in_place ? A : side];
}

/* Returns the number of an element in row-major order; C has the output dimensions only. */
static int64_t number_of(const operands *o, int side, const int64_t *index) {
    int64_t number = 0;
    for (int d = 0; d < (side == C ? o->t.output_ndim : o->t.ndim); d++) {
        number = number * o->t.size[d] + index[d];
    }
    return number;
}

char *element(const operands *o, int side, const int64_t *index) {
    return test_array_at(array_of(o, side), number_of(o, side, index));
}

wide get(const operands *o, int side, const int64_t *index) {
    const bp_scalar value = test_array_get_complex(array_of(o, side), number_of(o, side, index));
    const long double parts[2] = {value.re, value.im};
    wide made;
    memcpy(&made, parts, sizeof made); /* a product with I would turn infinity into NaN */
    return made;
}

void put(const operands *o, int side, const int64_t *index, wide value) {
    test_array_set_complex((test_array *)(uintptr_t)array_of(o, side), number_of(o, side, index),
                           (bp_scalar){(double)creall(value), (double)cimagl(value)});
}

bool advance(const task *t, int from, int until, int64_t *index) {
    for (int d = until - 1; d >= from; d--) {
        if (++index[d] < t->size[d]) {
            return true;
        }
        index[d] = 0;
    }
    return false;
}

/* ---- Memory ---- */

void lay_out(task *t, int side, const int *order, int count, int64_t gap) {
    int64_t step = 1;
    for (int i = count - 1; i >= 0; i--) {
        t->step[side][order[i]] = step;
        step *= t->size[order[i]] + gap;
    }
}

static bool is_there(const task *t, int side) {
    return side == A || (side == B ? t->has_b : !t->in_place);
}

/* Addresses have the smallest alignment that is allowed, or any multiple of 16. */
static void make_array(operands *o, int side) {
    const task *t = &o->t;
    const size_t part = bp_dtype_size(t->dtype) / (is_complex(t->dtype) ? 2 : 1);
    const int ndim = side == C ? t->output_ndim : t->ndim;
    test_array_make_strided(&o->array[side], t->dtype, ndim, t->size, t->step[side],
                            t->seed % 3 * 16 + (t->misaligned ? part : 0));
    if (side != C) {
        test_array_fill(&o->array[side], 1);
    }
    o->first[side] = o->array[side].view.tensor.data;
}

size_t bytes_of(const operands *o, int side) {
    return (size_t)o->array[side].all * bp_dtype_size(o->t.dtype);
}

static void describe(operands *o) {
    const task *t = &o->t;
    bp_contract_problem *p = &o->problem.of.contract;
    const kernels wanted = t->set == KERNELS_WIDE ? KERNELS_AVX2 : t->set;
    o->problem.struct_size = sizeof o->problem;
    o->problem.op = BP_OP_CONTRACT;
    o->problem.dtype = (uint32_t)t->dtype;
    o->problem.policy.threads = t->threads ? t->threads : 1;
    o->problem.policy.capability = (uint8_t)wanted;
    p->ndim = t->ndim;
    p->output_ndim = t->output_ndim;
    p->has_b = t->has_b;
    p->in_place = t->in_place;
    for (int d = 0; d < t->ndim; d++) {
        p->size[d] = t->size[d];
        p->a[d] = t->step[A][d];
        p->b[d] = t->has_b ? t->step[B][d] : 0;
        p->c[d] = t->in_place ? t->step[A][d] : t->step[C][d];
    }
}

void make_operands(operands *o, const task *t) {
    memset(o, 0, sizeof *o);
    o->t = *t;
    test_array_random = t->seed + 1;
    describe(o);
    for (int side = 0; side < SIDES; side++) {
        if (is_there(t, side)) {
            make_array(o, side);
        }
    }
    if (t->in_place) {
        o->first[C] = o->first[A];
        memcpy(o->t.step[C], o->t.step[A], sizeof o->t.step[C]);
    }
}

void free_operands(operands *o) {
    for (int side = 0; side < SIDES; side++) {
        test_array_free(&o->array[side]);
        test_array_free(&o->before[side]);
    }
}

static void save_contents(operands *o) {
    for (int side = 0; side < SIDES; side++) {
        if (o->array[side].memory) {
            test_array_free(&o->before[side]);
            test_array_copy(&o->before[side], &o->array[side]);
        }
    }
}

static bp_status plan_for(operands *o, bp_prepared **plan) {
    void *instance;
    assert_int_equal(bp_provider_native.open(test_plain_host(), NULL, &instance), BP_OK);
    o->verdict = test_verdict(&bp_provider_native, instance, &o->problem);
    assert_int_equal(o->verdict.reason, BP_REASON_ACCEPTED);
    assert_non_null(o->verdict.algorithm);
    assert_true(o->verdict.threads >= 1 && o->verdict.threads <= o->problem.policy.threads);
    assert_true(o->verdict.cost_ns > 0 && isfinite(o->verdict.cost_ns));
    if (o->t.set != KERNELS_WIDE) {
        return test_plan_first(&bp_provider_native, instance, &o->problem, plan);
    }
    bp__contract_tiling tiling;
    bp__contract_choose_tiling(test_plain_host(), &o->problem, 2, &tiling);
    return bp__contract_prepare(test_plain_host(), &bp__contract_wide[o->t.dtype - BP_F16], &tiling, o->verdict.threads,
                                plan);
}

bp_status run_task(operands *o) {
    bp_prepared *plan;
    bp_status status = plan_for(o, &plan);
    if (status != BP_OK) {
        return status;
    }
    save_contents(o);
    status = test_enqueue(plan, (void *const *)o->first, 3, NULL);
    plan->destroy(plan);
    return status;
}

/* ---- Checks ---- */

static int64_t terms_of(const task *t) {
    int64_t terms = 1;
    for (int d = t->output_ndim; d < t->ndim; d++) {
        terms *= t->size[d];
    }
    return terms;
}

/* Makes the reference from the operands as they were before the run, because C may be A. All operands have all
 * dimensions, with strides of 0 where they lack one. */
static void make_reference(reference_results *made, const operands *o, double roundings) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEF";
    const task *t = &o->t;
    const DLTensor *inputs[] = {&o->before[A].view.tensor, &o->before[B].view.tensor};
    char text[4 * BP_MAX_CONTRACT_NDIM];
    snprintf(text, sizeof text, "%.*s%s%.*s->%.*s", t->ndim, letters, t->has_b ? "," : "", t->has_b ? t->ndim : 0,
             letters, t->output_ndim, letters);
    assert_int_equal(reference_of_sums(made, text, 1 + t->has_b, inputs, roundings, &array_of(o, C)->view.tensor),
                     BP_OK);
}

/* No chain of additions has more than some hundred terms, however long the sum is. */
void check_results(const operands *o, double roundings) {
    const task *t = &o->t;
    const int64_t terms = terms_of(t);
    const double split = (double)(terms < 160 ? terms + 1 : 159 + terms / 1000);
    char text[128];
    reference_results made;
    snprintf(text, sizeof text, "%s, set %d, seed %u, %s", bp_dtype_name(t->dtype), t->set, t->seed,
             o->verdict.algorithm);
    make_reference(&made, o, roundings > 0 ? roundings : split);
    test_check_results_within(&made, terms == 1 && !t->has_b ? 0 : 1, text); /* copies are exact */
    for (int side = 0; side < SIDES; side++) {
        if (o->array[side].memory && side != C && !(side == A && t->in_place)) {
            test_array_check_unchanged(&o->array[side], &o->before[side], text);
        }
    }
    test_array_check_gaps(array_of(o, C), text);
}

void check_task(const task *t) {
    operands o;
    make_operands(&o, t);
    assert_int_equal(run_task(&o), BP_OK);
    check_results(&o, 0);
    free_operands(&o);
}
