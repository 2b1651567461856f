/* support_check.c - runs a product through the provider and compares it with the reference. */
#include "native.h"

#include "providers/native/gemm/choose.h"
#include "support/conditions.h"
#include "support/results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const bp_provider bp_provider_native;
extern const bp__native_set bp__native_wide;
extern const bp__native_set bp__native_bf16_model;

/* Returns the processor's kernels for products of bf16 numbers; NULL if it has none. */
static const bp__native_set *own_bf16(void) {
    const char *why;
    bp_problem problem = {0};
    problem.policy.capability = BP_CAPABILITY_AVX512;
    return bp__native_bf16_set(test_plain_host(), &problem, &why);
}

bool runs_here(kernels set) {
    if (set == KERNELS_BF16) {
        return own_bf16() != NULL;
    }
#if defined(__x86_64__)
    return set == KERNELS_DEFAULT ||
           test_plain_host()->hardware >=
               (bp_capability)(set == KERNELS_AVX512 ? BP_CAPABILITY_AVX512 : BP_CAPABILITY_AVX2);
#else
    return set == KERNELS_DEFAULT || set == KERNELS_WIDE || set == KERNELS_BF16_MODEL;
#endif
}

const char *kernels_name(kernels set) {
    static const char *const name[] = {"default",     "avx2",      "avx512", "avx512 tiles in narrower registers",
                                       "AVX512_BF16", "bf16 model"};
    return name[set];
}

bool rounds_to_bf16(const product *p) {
    const bool computes = p->m > 0 && p->n > 0 && p->k > 0 && p->batch > 0;
    const bool zero = p->alpha.re == 0 && p->alpha.im == 0 && !p->any_factors; /* the class of alpha */
    return (p->set == KERNELS_BF16 || p->set == KERNELS_BF16_MODEL) && (p->dtype == BP_F32 || p->dtype == BP_BF16) &&
           computes && !zero;
}

/* The provider's offers for a product. `lowered` contains the choices of kernels that the provider does not offer here:
 * the same ones for KERNELS_WIDE, and "bf16". */
typedef struct offered {
    test_offers native;
    bp__native_choice lowered[BP__NATIVE_PATHS];
    int count;
} offered;

/* Replaces the offers by one of "bf16". */
static void offer_bf16(offered *all, const operands *o, const product *p) {
    const bp__native_set *set = p->set == KERNELS_BF16 ? own_bf16() : &bp__native_bf16_model;
    bp_verdict *verdict = &all->native.of[0].verdict;
    assert_non_null(set);
    assert_true(bp__native_choose_bf16(test_plain_host(), &o->problem, &set->of[p->dtype - BP_F16], &all->lowered[0]));
    verdict->algorithm = all->lowered[0].algorithm;
    verdict->packs = bp__native_packs(&all->lowered[0]);
    all->count = 1;
}

static void get_offers(offered *all, const operands *o, const product *p) {
    test_offers_ask(&all->native, &bp_provider_native, (void *)(uintptr_t)test_plain_host(), &o->problem);
    all->count = 0;
    /* The last offer is "bf16", which has sets of its own in these tests, or its refusal. */
    while (all->count < all->native.count &&
           strcmp(all->native.of[all->count].verdict.algorithm, BP__NATIVE_BF16) != 0) {
        all->count++;
    }
    for (int i = 0; i < all->count; i++) {
        const bp_verdict *verdict = &all->native.of[i].verdict;
        assert_int_equal(verdict->reason, BP_REASON_ACCEPTED);
        assert_true(verdict->threads >= 1 && verdict->threads <= p->threads);
        assert_true(verdict->cost_ns > 0 && verdict->cost_ns >= all->native.of[0].verdict.cost_ns);
    }
    if (p->set == KERNELS_WIDE) {
        assert_int_equal(bp__native_choose(test_plain_host(), &o->problem, all->lowered), all->count);
    } else if (rounds_to_bf16(p)) {
        offer_bf16(all, o, p);
    }
}

static bp_status prepare(offered *all, int index, const operands *o, const product *p, bp_prepared **prepared) {
    if (p->set == KERNELS_WIDE) {
        all->lowered[index].kernels = &bp__native_wide.of[p->dtype - BP_F16];
    }
    if (p->set == KERNELS_WIDE || rounds_to_bf16(p)) {
        return bp__native_prepare(test_plain_host(), &all->lowered[index], &o->problem.of.gemm, prepared);
    }
    return test_offers_plan(&all->native, index, &o->problem, prepared);
}

int count_offers(const operands *o, const product *p) {
    offered all;
    get_offers(&all, o, p);
    test_offers_free(&all.native);
    return all.count;
}

int threads_planned(const operands *o, const product *p) {
    bp_problem problem = o->problem;
    problem.policy.threads = p->threads;
    return test_verdict(&bp_provider_native, (void *)(uintptr_t)test_plain_host(), &problem).threads;
}

bp_status run_offer(const operands *o, const product *p, int index, void *c) {
    offered all;
    bp_prepared *prepared;
    get_offers(&all, o, p);
    bp_status status = prepare(&all, index, o, p, &prepared);
    if (status == BP_OK) {
        const bp_scalar scalars[2] = {p->alpha, p->beta};
        status = test_enqueue(prepared, (void *[]){o->first[0], o->first[1], c ? c : o->first[2]}, 3, scalars);
        prepared->destroy(prepared);
    }
    test_offers_free(&all.native);
    return status;
}

bp_status run_product(const operands *o, const product *p, void *c) {
    return run_offer(o, p, 0, c);
}

/* Rounds A and B as products of bf16 numbers read them. */
static void round_to_bf16(const operands *o, const product *p) {
    const size_t size = p->dtype == BP_F32 ? 4 : 2;
    for (int i = 0; i < 2; i++) {
        for (size_t at = 0; at < o->bytes[i]; at += size) {
            char *number = (char *)o->memory[i] + at;
            uint16_t bits;
            set_part(BP_BF16, &bits, 0, get_part(p->dtype, number, 0));
            const double rounded = get_part(BP_BF16, &bits, 0);
            set_part(p->dtype, number, 0, fabs(rounded) < 0x1p-126 ? 0 : rounded);
        }
    }
}

/* The reference of some rows and columns of C: all of a small one. */
typedef struct sample {
    bp_view views[3];
    reference_results made;
} sample;

static int64_t step_of(int64_t size) {
    return size > 24 ? size / 12 : 1;
}

/* Makes the view of an operand with the sampled rows and columns; the last ones are among them if `back`, else the
 * first ones. */
static void view_operand(bp_view *view, const operands *o, const product *p, int operand, bool back) {
    const bp_gemm_problem *g = &o->problem.of.gemm;
    const int64_t row[] = {g->a_row, g->b_row, g->c_row}, column[] = {g->a_column, g->b_column, g->c_column};
    const int64_t item[] = {g->batch_a[0], g->batch_b[0], g->batch_c[0]};
    const int64_t size[] = {operand == 1 ? p->k : p->m, operand == 0 ? p->k : p->n};
    int64_t shape[3] = {p->batch}, strides[3] = {item[operand], row[operand], column[operand]}, first[2] = {0, 0};
    for (int d = 0; d < 2; d++) {
        const bool whole = d == 0 ? operand == 1 : operand == 0;
        const int64_t step = whole ? 1 : step_of(size[d]);
        shape[d + 1] = size[d] > 0 ? (size[d] - 1) / step + 1 : 0;
        first[d] = back && size[d] > 0 ? (size[d] - 1) % step : 0;
        strides[d + 1] *= step;
    }
    assert_int_equal(bp_view_init(view, element(o, operand, 0, first[0], first[1]), p->dtype, 3, shape, strides),
                     BP_OK);
}

/* A and B are read from `inputs`, and C, which is as before the run, from `o`. */
static void make_sample(sample *s, const product *p, const operands *inputs, const operands *o, bool back) {
    const bool parts = parts_of(p->dtype) == 2;
    const bp_scalar alpha = {p->alpha.re, parts ? p->alpha.im : 0}, beta = {p->beta.re, parts ? p->beta.im : 0};
    for (int i = 0; i < 3; i++) {
        view_operand(&s->views[i], i < 2 ? inputs : o, p, i, back);
    }
    assert_int_equal(reference_of_gemm(&s->made, p->conjugate_a ? BP_CONJUGATE : BP_AS_IS,
                                       p->conjugate_b ? BP_CONJUGATE : BP_AS_IS, &alpha, &s->views[0].tensor,
                                       &s->views[1].tensor, &beta, &s->views[2].tensor),
                     BP_OK);
}

/* The bound is k + 3 roundings, twice as many because products may not be fused (four times for complex types), and the
 * rounding of the result. The reference's bound is larger by one hundredth, and by up to 13 % more where the result's
 * own rounding counts twice. */
static void compare(const product *p, const char *algorithm, const sample *s) {
    char text[256];
    const double part = (p->k == 0 || parts_of(p->dtype) == 2 ? 0.87 : 1) / 1.01;
    snprintf(text, sizeof text,
             "%s '%s' %s, %lldx%lldx%lld, %lld items, layouts %d %d %d, conj %d %d, alpha %g%+gi beta %g%+gi, threads "
             "%d",
             kernels_name(p->set), algorithm, bp_dtype_name(p->dtype), (long long)p->m, (long long)p->n,
             (long long)p->k, (long long)p->batch, p->a, p->b, p->c, p->conjugate_a, p->conjugate_b, p->alpha.re,
             p->alpha.im, p->beta.re, p->beta.im, p->threads);
    test_compare_results(&s->made, p->whole_numbers ? 0 : part, text);
}

/* Checks that only elements of C have changed: restores the old elements and compares all bytes. */
static void check_surroundings(const product *p, operands *o, const operands *before) {
    size_t size = p->dtype == BP_C128 ? 16 : p->dtype == BP_F64 || p->dtype == BP_C64 ? 8 : p->dtype == BP_F32 ? 4 : 2;
    for (int64_t item = 0; item < p->batch; item++) {
        for (int64_t i = 0; i < p->m; i++) {
            for (int64_t j = 0; j < p->n; j++) {
                memcpy(element(o, 2, item, i, j), element(before, 2, item, i, j), size);
            }
        }
    }
    for (int i = 0; i < 3; i++) {
        assert_memory_equal(o->memory[i], before->memory[i], o->bytes[i]);
    }
}

/* Returns whether to skip a product. Instrumented code takes ten times as long, so it checks one product in four. */
static bool skipped_under_sanitizers(void) {
    static int count;
    return test_sanitized() && count++ % 4 != 0;
}

/* Checks that operands packed beforehand give bitwise the same result. The original operands are overwritten with NaN.
 */
static void check_packed(const product *p, const bp_prepared *prepared, uint32_t which, operands *o,
                         const operands *before) {
    const bp_scalar scalars[2] = {p->alpha, p->beta};
    const bp_packed *packed[3] = {NULL};
    bp_packed *own[2] = {NULL};
    char *expected = malloc(o->bytes[2]);
    assert_non_null(expected);
    memcpy(expected, o->memory[2], o->bytes[2]);
    memcpy(o->memory[2], before->memory[2], o->bytes[2]);
    for (int i = 0; i < 2; i++) {
        if (which >> i & 1) {
            const bp_operand source = {o->first[i], 0};
            assert_int_equal(prepared->pack(prepared, i, &source, &own[i]), BP_OK);
            assert_true(own[i]->struct_size >= sizeof *own[i] && own[i]->size > 0);
            memset(o->memory[i], 0xff, o->bytes[i]);
            packed[i] = own[i];
        }
    }
    assert_int_equal(
        test_enqueue_packed(prepared, (void *[]){o->first[0], o->first[1], o->first[2]}, 3, scalars, packed), BP_OK);
    for (int i = 0; i < 2; i++) {
        if (own[i]) {
            own[i]->destroy(own[i]);
            memcpy(o->memory[i], before->memory[i], o->bytes[i]);
        }
    }
    if (memcmp(o->memory[2], expected, o->bytes[2]) != 0) {
        fail_msg("%s type %u, %lldx%lldx%lld, threads %d: the result differs with operands %u packed beforehand",
                 kernels_name(p->set), (unsigned)p->dtype, (long long)p->m, (long long)p->n, (long long)p->k,
                 p->threads, (unsigned)which);
    }
    free(expected);
}

static void check_offer(const product *p, offered *all, int index, operands *o, const operands *before,
                        const sample *of) {
    const bp_verdict *verdict = &all->native.of[index].verdict;
    const bp_scalar scalars[2] = {p->alpha, p->beta};
    bp_prepared *prepared;
    assert_int_equal(prepare(all, index, o, p, &prepared), BP_OK);
    assert_int_equal(test_enqueue(prepared, (void *[]){o->first[0], o->first[1], o->first[2]}, 3, scalars), BP_OK);
    compare(p, verdict->algorithm, of);
    for (uint32_t which = 1; which < 4; which++) {
        if ((verdict->packs & which) == which) {
            check_packed(p, prepared, which, o, before);
        }
    }
    prepared->destroy(prepared);
    check_surroundings(p, o, before); /* restores C too */
}

void check_product(const product *p) {
    const bool bf16 = p->set == KERNELS_BF16 || p->set == KERNELS_BF16_MODEL;
    if ((bf16 && !rounds_to_bf16(p)) || skipped_under_sanitizers()) {
        return;
    }
    operands o, before, inputs;
    offered all;
    sample of;
    make_operands(&o, p);
    make_operands(&before, p);
    make_operands(&inputs, p);
    if (rounds_to_bf16(p)) {
        round_to_bf16(&inputs, p);
    }
    make_sample(&of, p, &inputs, &o, (p->m + p->n + p->k) % 2 == 1);
    get_offers(&all, &o, p);
    for (int i = 0; i < all.count; i++) {
        check_offer(p, &all, i, &o, &before, &of);
    }
    reference_results_free(&of.made);
    test_offers_free(&all.native);
    free_operands(&o);
    free_operands(&before);
    free_operands(&inputs);
}
