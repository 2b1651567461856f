/* support_check.c - runs a product through the provider and compares it with sums in long double. */
#include "native.h"

#include "providers/native/gemm/choose.h"

#include <complex.h>
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

typedef long double complex wide;

static wide value_at(const operands *o, int operand, int64_t item, int64_t i, int64_t j) {
    bp_dtype dtype = (bp_dtype)o->problem.dtype;
    const void *at = element(o, operand, item, i, j);
    return get_part(dtype, at, 0) + (parts_of(dtype) == 2 ? get_part(dtype, at, 1) * (wide)I : 0);
}

static wide factor_of(bp_scalar s, bp_dtype dtype) {
    return s.re + (parts_of(dtype) == 2 ? s.im * (wide)I : 0);
}

/* One row of A or column of B: real and imaginary parts, and moduli for the error bound. */
typedef struct line {
    double *part[2];
    double *size;
} line;

/* Returns a number as products of bf16 numbers read it. */
static double as_bf16(double x) {
    uint16_t bits;
    set_part(BP_BF16, &bits, 0, x);
    const double rounded = get_part(BP_BF16, &bits, 0);
    return fabs(rounded) < 0x1p-126 ? 0 : rounded;
}

static line read_line(const operands *o, const product *p, int operand, int64_t item, int64_t at) {
    line x;
    double *memory = malloc(sizeof *memory * (size_t)(3 * p->k + 1));
    assert_non_null(memory);
    x.part[0] = memory, x.part[1] = memory + p->k, x.size = memory + 2 * p->k;
    const bool conjugate = operand == 0 ? p->conjugate_a : p->conjugate_b;
    for (int64_t l = 0; l < p->k; l++) {
        const void *e = operand == 0 ? element(o, 0, item, at, l) : element(o, 1, item, l, at);
        x.part[0][l] = get_part(p->dtype, e, 0);
        x.part[1][l] = parts_of(p->dtype) == 2 ? get_part(p->dtype, e, 1) * (conjugate ? -1 : 1) : 0;
        if (rounds_to_bf16(p)) {
            x.part[0][l] = as_bf16(x.part[0][l]);
        }
        x.size[l] = parts_of(p->dtype) == 2 ? hypot(x.part[0][l], x.part[1][l]) : fabs(x.part[0][l]);
    }
    return x;
}

/* Returns the sum of products in long double; *size is the sum of their moduli. */
static wide sum_of(const product *p, const line *a, const line *b, double *size) {
    long double re = 0, im = 0;
    *size = 0;
    for (int64_t l = 0; l < p->k; l++) {
        re += (long double)a->part[0][l] * b->part[0][l];
        *size += a->size[l] * b->size[l];
    }
    for (int64_t l = 0; parts_of(p->dtype) == 2 && l < p->k; l++) {
        re -= (long double)a->part[1][l] * b->part[1][l];
        im += (long double)a->part[0][l] * b->part[1][l] + (long double)a->part[1][l] * b->part[0][l];
    }
    return re + im * (wide)I;
}

/* Returns the unit roundoff of the sums, or of the result. */
static long double roundoff(bp_dtype dtype, bool result) {
    switch (dtype) {
    case BP_F16:
        return result ? 0x1p-11L : 0x1p-24L;
    case BP_BF16:
        return result ? 0x1p-8L : 0x1p-24L;
    case BP_F32:
    case BP_C64:
        return 0x1p-24L;
    default:
        return 0x1p-53L;
    }
}

/* Checks |error| <= gamma(k + 3) * (|alpha| |A| |B| + |beta| |C|), with gamma(n) = n u / (1 - n u), plus one rounding
 * of the result. u is doubled for products that are not fused, and again for complex ones, which have three roundings.
 */
static void compare(const product *p, const char *algorithm, const operands *o, const operands *before, int64_t item,
                    int64_t i, int64_t j, const line *a, const line *b) {
    const wide alpha = factor_of(p->alpha, p->dtype), beta = factor_of(p->beta, p->dtype);
    double size;
    const wide sum = sum_of(p, a, b, &size);
    const wide old = beta == 0 ? 0 : value_at(before, 2, item, i, j);
    const wide expected = alpha * sum + beta * old;
    const long double nu = (long double)(p->k + 3) * (parts_of(p->dtype) == 2 ? 4 : 2) * roundoff(p->dtype, false);
    const long double bound = nu / (1 - nu) * (cabsl(alpha) * size + cabsl(beta) * cabsl(old)) +
                              roundoff(p->dtype, true) * cabsl(expected) + (p->dtype == BP_F16 ? 0x1p-25L : 0x1p-133L) +
                              (rounds_to_bf16(p) ? 0x1p-126L * p->k * cabsl(alpha) : 0); /* denormal sums are 0 */
    const wide got = value_at(o, 2, item, i, j);
    const bool equal = p->whole_numbers ? got == expected : cabsl(got - expected) <= bound;
    if (!equal) {
        print_message(
            "%s '%s' %s, %lldx%lldx%lld item %lld, layouts %d %d %d, conj %d %d, alpha %g%+gi beta %g%+gi, threads "
            "%d: (%lld, %lld) is %.17Lg%+.17Lgi, not %.17Lg%+.17Lgi\n",
            kernels_name(p->set), algorithm,
            p->dtype == BP_F16    ? "f16"
            : p->dtype == BP_BF16 ? "bf16"
            : p->dtype == BP_F32  ? "f32"
            : p->dtype == BP_F64  ? "f64"
            : p->dtype == BP_C64  ? "c64"
                                  : "c128",
            (long long)p->m, (long long)p->n, (long long)p->k, (long long)item, p->a, p->b, p->c, p->conjugate_a,
            p->conjugate_b, p->alpha.re, p->alpha.im, p->beta.re, p->beta.im, p->threads, (long long)i, (long long)j,
            creall(got), cimagl(got), creall(expected), cimagl(expected));
        fail();
    }
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

/* Returns the next index of a sample; the last index is always included. */
static int64_t next_of(int64_t i, int64_t step, int64_t size) {
    return i + step < size || i == size - 1 ? i + step : size - 1;
}

/* Returns whether to skip a product. Instrumented code takes ten times as long, so it checks one product in four. */
static bool skipped_under_sanitizers(void) {
    static int count;
    const char *sanitizer = getenv("TESTED_SANITIZERS");
    return sanitizer && sanitizer[0] && count++ % 4 != 0;
}

/* Checks all elements of a small C, and of a large one a sample that includes corners and edges. */
static void check_elements(const product *p, const char *algorithm, const operands *o, const operands *before) {
    const int64_t step_i = p->m > 24 ? p->m / 12 : 1, step_j = p->n > 24 ? p->n / 12 : 1;
    for (int64_t item = 0; item < p->batch; item++) {
        for (int64_t j = 0; j < p->n; j = next_of(j, step_j, p->n)) {
            line b = read_line(before, p, 1, item, j);
            for (int64_t i = 0; i < p->m; i = next_of(i, step_i, p->m)) {
                line a = read_line(before, p, 0, item, i);
                compare(p, algorithm, o, before, item, i, j, &a, &b);
                free(a.part[0]);
            }
            free(b.part[0]);
        }
    }
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

static void check_offer(const product *p, offered *all, int index, operands *o, const operands *before) {
    const bp_verdict *verdict = &all->native.of[index].verdict;
    const bp_scalar scalars[2] = {p->alpha, p->beta};
    bp_prepared *prepared;
    assert_int_equal(prepare(all, index, o, p, &prepared), BP_OK);
    assert_int_equal(test_enqueue(prepared, (void *[]){o->first[0], o->first[1], o->first[2]}, 3, scalars), BP_OK);
    check_elements(p, verdict->algorithm, o, before);
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
    operands o, before;
    offered all;
    make_operands(&o, p);
    make_operands(&before, p);
    get_offers(&all, &o, p);
    for (int i = 0; i < all.count; i++) {
        check_offer(p, &all, i, &o, &before);
    }
    test_offers_free(&all.native);
    free_operands(&o);
    free_operands(&before);
}
