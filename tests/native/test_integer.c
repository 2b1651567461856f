/* test_integer.c - tests products of 8-bit integers: every element against the reference, for all kernel
 * sets, signs, layouts, batches and threads; packed operands; and refusals. The linker replaces the function that
 * selects the kernels, so that the tile for AVX-512 runs on processors without it.
 */
#include "backplane.h"
#include "providers/native/gemm/gemm.h"
#include "support/arrays.h"
#include "support/modes.h"
#include "support/results.h"
#include "support/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define NATIVE "blas.preferred=native,dispatch.fallback=strict"

extern const bp__native_integer_set bp__native_integer_wide;
static bool wide;

const bp__native_integer_set *__real_bp__native_integers(bp__native_integer_isa isa);
const bp__native_integer_set *__wrap_bp__native_integers(bp__native_integer_isa isa);

const bp__native_integer_set *__wrap_bp__native_integers(bp__native_integer_isa isa) {
    return wide ? &bp__native_integer_wide : __real_bp__native_integers(isa);
}

/* What CPUID says in `instruction_sets`. */
static bool pretends;
static uint32_t pretended;

uint32_t __real_bp__native_vnni(void);
uint32_t __wrap_bp__native_vnni(void);

uint32_t __wrap_bp__native_vnni(void) {
    return pretends ? pretended : __real_bp__native_vnni();
}

/* ---- Operands ---- */

typedef enum order { ROWS, COLUMNS, PADDED, SPREAD, REVERSED, ORDERS } order;
typedef enum values { ANY, LOWEST, HIGHEST } values;

static unsigned char value(values kind, bp_dtype dtype) {
    static const unsigned char extremes[] = {0, 1, 127, 128, 129, 255};
    const uint64_t random = test_array_next();
    switch (kind) {
    case LOWEST:
        return dtype == BP_I8 ? 128 : 0;
    case HIGHEST:
        return dtype == BP_I8 ? 127 : 255;
    case ANY:
        break;
    }
    return random % 4 == 0 ? extremes[random / 4 % COUNT(extremes)] : (unsigned char)(random >> 40);
}

/* `items`: of a batch; 0: none, 1: broadcast. */
static void make(test_array *x, bp_dtype dtype, int64_t items, int64_t rows, int64_t columns, order layout,
                 values kind) {
    const int64_t gap = layout == PADDED ? 5 : 0, unit = layout == SPREAD ? 3 : 1, sign = layout == REVERSED ? -1 : 1;
    const int64_t shape[] = {items, rows, columns};
    const int64_t strides[] = {(rows * columns + rows * gap) * unit + 2,
                               layout == COLUMNS ? 1 : sign * (columns + gap) * unit,
                               layout == COLUMNS ? rows : sign * unit};
    const int skip = items == 0;
    test_array_make_strided(x, dtype, 3 - skip, shape + skip, strides + skip, (size_t)(rows % 4) * 16);
    for (int64_t i = 0; i < test_array_count(x) && dtype != BP_F32; i++) {
        test_array_set_i64(x, i, dtype == BP_I32 ? (int32_t)test_array_next() : value(kind, dtype));
    }
}

/* ---- Products ---- */

typedef struct product {
    bp_dtype a, b;
    int64_t items, m, n, k;
    order orders[3];
    values values;
    bool share_a, share_b, add;
} product;

typedef struct operands {
    test_array a, b, c, before;
    reference_results made;
} operands;

/* Integers have no error: the bound of the reference is 0. */
static void make_operands(operands *o, const product *p) {
    const bp_scalar kept = {p->add, 0};
    make(&o->a, p->a, p->items && p->share_a ? 1 : p->items, p->m, p->k, p->orders[0], p->values);
    make(&o->b, p->b, p->items && p->share_b ? 1 : p->items, p->k, p->n, p->orders[1], p->values);
    make(&o->c, BP_I32, p->items, p->m, p->n, p->orders[2], ANY);
    test_array_copy(&o->before, &o->c);
    assert_int_equal(reference_of_gemm(&o->made, BP_AS_IS, BP_AS_IS, NULL, &o->a.view.tensor, &o->b.view.tensor, &kept,
                                       &o->c.view.tensor),
                     BP_OK);
    assert_int_equal(o->made.of[0].values.count, o->made.of[0].values.total);
}

static void free_operands(operands *o) {
    reference_results_free(&o->made);
    test_array_free(&o->a);
    test_array_free(&o->b);
    test_array_free(&o->c);
    test_array_free(&o->before);
}

/* Compares all elements, and requires that no byte between them changed; restores C. */
static void check_result(const product *p, operands *o, const char *settings) {
    char text[320];
    snprintf(text, sizeof text, "%s%s %s x %s, %ld x %ldx%ldx%ld, orders %d %d %d", settings, wide ? " wide" : "",
             bp_dtype_name(p->a), bp_dtype_name(p->b), (long)p->items, (long)p->m, (long)p->k, (long)p->n, p->orders[0],
             p->orders[1], p->orders[2]);
    test_compare_results(&o->made, 1, text);
    test_array_check_gaps(&o->c, text);
    test_array_restore(&o->c, &o->before);
}

static bp_options *options_of(const char *settings) {
    return test_options(settings);
}

static void run(const product *p, operands *o, const char *settings) {
    const bp_scalar one = {1, 0};
    const DLTensor *a = &o->a.view.tensor, *b = &o->b.view.tensor;
    bp_options *options = options_of(settings);
    const bp_status status = p->add ? bp_gemm_run(options, BP_AS_IS, BP_AS_IS, NULL, a, b, &one, &o->c.view.tensor)
                                    : bp_matmul_run(options, a, b, &o->c.view.tensor);
    if (status != BP_OK) {
        fail_msg("%s: %s", settings, bp_last_error());
    }
    check_result(p, o, settings);
    bp_options_release(options);
}

static void check_with(const product *p, const char *settings) {
    operands o;
    make_operands(&o, p);
    run(p, &o, settings);
    free_operands(&o);
}

static const bp_dtype types[] = {BP_I8, BP_U8};
#define SIGNS 4
static bp_dtype of_a(int signs) {
    return types[signs & 1];
}
static bp_dtype of_b(int signs) {
    return types[signs >> 1];
}

static const char *const sets[] = {NATIVE ",cpu.capability=default,num_threads=1",
                                   NATIVE ",cpu.capability=avx2,num_threads=1", NATIVE ",num_threads=1"};

/* Checks a product with each set of kernels. The last one is the highest of the processor. */
static void check(const product *p) {
    operands o;
    make_operands(&o, p);
    for (size_t i = 0; i < COUNT(sets); i++) {
        run(p, &o, sets[i]);
    }
    wide = true;
    run(p, &o, sets[0]);
    wide = false;
    free_operands(&o);
}

static void all_layouts(void **state) {
    (void)state;
    for (int i = 0; i < SIGNS * ORDERS * ORDERS * ORDERS; i++) {
        const int at_order = i / SIGNS;
        check(&(product){.a = of_a(i % SIGNS),
                         .b = of_b(i % SIGNS),
                         .m = 9,
                         .n = 19,
                         .k = 7,
                         .add = i % 3 == 0,
                         .orders = {(order)(at_order % ORDERS), (order)(at_order / ORDERS % ORDERS),
                                    (order)(at_order / ORDERS / ORDERS)}});
    }
}

static void odd_sizes(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {
        {0, 3, 2},    {3, 0, 2},    {3, 2, 0},   {0, 0, 0},    {1, 1, 1},     {1, 1, 9},    {1, 9, 1},
        {9, 1, 9},    {1, 5, 17},   {17, 5, 1},  {2, 3, 2},    {1, 70, 3001}, {70, 1, 5},   {31, 33, 29},
        {64, 64, 64}, {65, 63, 67}, {3, 2, 301}, {130, 70, 2}, {49, 41, 1},   {50, 9, 769}, {17, 23, 1537}};
    for (size_t i = 0; i < COUNT(sizes) * SIGNS; i++) {
        const int64_t *s = sizes[i / SIGNS];
        product p = {.a = of_a(i % SIGNS), .b = of_b(i % SIGNS), .m = s[0], .n = s[1], .k = s[2]};
        check(&p);
        p = (product){p.a, p.b, 0, s[0], s[1], s[2], {COLUMNS, COLUMNS, PADDED}, ANY, false, false, true};
        check(&p);
    }
}

/* One to five columns or rows: products that read an operand in place, slices of C, and blocks of k. */
static void skinny(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{37, 67}, {1031, 9}, {6, 2101}, {1, 33}, {1030, 1}, {2051, 2}}; /* k, rows */
    for (int i = 0; i < (int)COUNT(sizes) * 5 * ORDERS * 2; i++) {
        const int64_t *size = sizes[i / (5 * ORDERS * 2)], few = i / (ORDERS * 2) % 5 + 1;
        const order layout = (order)(i / 2 % ORDERS);
        product p = {.a = of_a(i % SIGNS), .b = of_b(i / 3 % SIGNS), .m = size[1], .n = few, .k = size[0]};
        p.orders[i % 2] = layout;
        p.orders[2] = (order)(i % ORDERS);
        p.add = i % 7 < 3;
        check(&p);
        p.m = few, p.n = size[1];
        check(&p);
    }
}

static void batches(void **state) {
    (void)state;
    for (int i = 0; i < 32; i++) { /* two bits are the signs */
        check(&(product){.a = of_a(i % SIGNS),
                         .b = of_b(i % SIGNS),
                         .items = 5,
                         .m = 6,
                         .n = 11,
                         .k = 13,
                         .orders = {i & 4 ? COLUMNS : ROWS, i & 8 ? PADDED : ROWS, ROWS},
                         .share_a = i & 4,
                         .share_b = i & 8,
                         .add = (i & 16) || (i & 12) == 12}); /* only gemm repeats both factors */
    }
}

/* Pairs of products of these values exceed 16 bits, and sums of many exceed 32. */
static void extreme_values(void **state) {
    (void)state;
    for (int i = 0; i < SIGNS * 2; i++) {
        const values kind = i / SIGNS ? HIGHEST : LOWEST;
        check(&(product){.a = of_a(i % SIGNS), .b = of_b(i % SIGNS), .m = 9, .n = 17, .k = 1001, .values = kind});
        check(&(product){.a = of_a(i % SIGNS), .b = of_b(i % SIGNS), .m = 3, .n = 5, .k = 140001, .values = kind});
    }
}

static void any_threads(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 3, 7};
    for (size_t i = 0; i < COUNT(threads) * SIGNS; i++) {
        char settings[160];
        if (test_leaves_out((int)(i / SIGNS + i % SIGNS), 4)) {
            continue;
        }
        snprintf(settings, sizeof settings, NATIVE ",deterministic=threads,num_threads=%d", threads[i / SIGNS]);
        product p = {.a = of_a(i % SIGNS), .b = of_b(i % SIGNS), .m = 301, .n = 111, .k = 1000};
        check_with(&p, settings);
        p = (product){.a = p.a, .b = p.b, .items = 9, .m = 70, .n = 61, .k = 300, .share_b = true};
        check_with(&p, settings);
        p = (product){.a = p.a, .b = p.b, .m = 1, .n = 7001, .k = 1101, .add = true}; /* in parts, read in place */
        check_with(&p, settings);
        p = (product){.a = p.a, .b = p.b, .m = 7001, .n = 2, .k = 1101};
        check_with(&p, settings);
        p = (product){.a = p.a, .b = p.b, .m = 1501, .n = 1303, .k = 1};
        check_with(&p, settings);
    }
}

/* ---- Packed operands ---- */

static void packed_operands(void **state) {
    (void)state;
    for (int i = 0; i < SIGNS * 3; i++) {
        const product p = {.a = of_a(i % SIGNS), .b = of_b(i % SIGNS), .m = 33, .n = 65, .k = 1601};
        const int which = 1 + i / SIGNS; /* bit 0: A, bit 1: B */
        operands o;
        bp_plan *plan;
        bp_packed *packed[3] = {NULL};
        make_operands(&o, &p);
        bp_options *options = options_of(NATIVE);
        assert_int_equal(bp_matmul_plan(&plan, options, &o.a.view.tensor, &o.b.view.tensor, &o.c.view.tensor), BP_OK);
        bp_plan_info info = {.struct_size = sizeof info};
        assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
        assert_int_equal(info.alignment, 4);
        assert_int_equal(info.packs, 3);
        const bp_operand addresses[3] = {
            {o.a.view.tensor.data, 0}, {o.b.view.tensor.data, 0}, {o.c.view.tensor.data, 0}};
        for (int side = 0; side < 2; side++) {
            if (which >> side & 1) {
                assert_int_equal(bp_plan_pack(&packed[side], plan, side, &addresses[side]), BP_OK);
            }
        }
        const bp_exec exec = {.struct_size = sizeof exec, .packed = (const bp_packed *const *)packed};
        assert_int_equal(bp_execute(plan, addresses, &exec), BP_OK);
        check_result(&p, &o, "packed");
        bp_packed_release(packed[0]);
        bp_packed_release(packed[1]);
        bp_plan_release(plan);
        bp_options_release(options);
        free_operands(&o);
    }
}

/* ---- Refusals ---- */

static void refused_types(void **state) {
    (void)state;
    static const struct {
        bp_dtype a, b, c;
        const char *text;
    } cases[] = {
        {BP_I8, BP_I8, BP_I8, "a is i8 and b is i8, but output is i8; the product of integers is i32"},
        {BP_U8, BP_I8, BP_F32, "a is u8 and b is i8, but output is f32; the product of integers is i32"},
        {BP_I8, BP_F32, BP_I32, "a is i8 and b is f32; they must have the same type, or both be i8 or u8"},
        {BP_F32, BP_F32, BP_I32, "a and b are f32, but output is i32; they must have the same type"},
        {BP_I32, BP_I32, BP_I32, "a is i32; matrix products take f16, bf16, f32, f64, c64 and c128, i8 and u8"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        test_array a, b, c;
        make(&a, cases[i].a, 0, 2, 2, ROWS, ANY);
        make(&b, cases[i].b, 0, 2, 2, ROWS, ANY);
        make(&c, cases[i].c, 0, 2, 2, ROWS, ANY);
        assert_int_equal(bp_matmul(&a.view.tensor, &b.view.tensor, &c.view.tensor), BP_E_DTYPE);
        assert_string_equal(bp_last_error(), cases[i].text);
        test_array_free(&a);
        test_array_free(&b);
        test_array_free(&c);
    }
}

static void refused_factors_and_overlap(void **state) {
    (void)state;
    test_array a, b, c;
    make(&a, BP_I8, 0, 2, 2, ROWS, ANY);
    make(&b, BP_U8, 0, 2, 2, ROWS, ANY);
    make(&c, BP_I32, 0, 2, 2, ROWS, ANY);
    const bp_scalar zero = {0, 0}, one = {1, 0}, two = {2, 0};
    const bp_scalar *const factors[][2] = {{&two, &one}, {&zero, &one}, {NULL, &two}};
    for (size_t i = 0; i < COUNT(factors); i++) {
        assert_int_equal(bp_gemm(BP_AS_IS, BP_AS_IS, &one, &a.view.tensor, &b.view.tensor, &one, &c.view.tensor),
                         BP_OK);
        assert_int_equal(
            bp_gemm(BP_AS_IS, BP_AS_IS, factors[i][0], &a.view.tensor, &b.view.tensor, factors[i][1], &c.view.tensor),
            BP_E_ARGUMENT);
        assert_non_null(strstr(bp_last_error(), i == 2 ? "beta is 2; for integers beta must be 0 or 1"
                                                       : "for integers alpha must be 1"));
    }
    bp_view inside;
    const int64_t shape[] = {2, 2};
    assert_int_equal(bp_view_init(&inside, c.memory + 12, BP_I8, 2, shape, NULL), BP_OK);
    assert_int_equal(bp_matmul(&inside.tensor, &b.view.tensor, &c.view.tensor), BP_E_OVERLAP);
    assert_int_equal(bp_matmul_dtype(&a.view.tensor, &b.view.tensor), BP_I32);
    assert_int_equal(bp_matmul_dtype(&c.view.tensor, &b.view.tensor), BP_I32);
    assert_int_equal(bp_matmul_dtype(NULL, &b.view.tensor), BP_DTYPE_NONE);
    test_array_free(&a);
    test_array_free(&b);
    test_array_free(&c);
}

/* Every candidate accepts the product with the properties that integers have, or says that it does not take them. */
static void candidates(void **state) {
    (void)state;
    bp_explanation *explanation;
    test_array a, b, c;
    make(&a, BP_U8, 0, 64, 64, ROWS, ANY);
    make(&b, BP_I8, 0, 64, 64, ROWS, ANY);
    make(&c, BP_I32, 0, 64, 64, ROWS, ANY);
    assert_int_equal(bp_matmul_explain(&explanation, NULL, &a.view.tensor, &b.view.tensor, &c.view.tensor), BP_OK);
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    int native = 0;
    for (int n = 0; bp_explanation_at(explanation, n, &candidate); n++) {
        const uint32_t wanted = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_ROW_INVARIANT;
        if (candidate.accepted) {
            assert_string_equal(candidate.library, "native");
            assert_int_equal(candidate.properties & wanted, wanted);
            assert_int_equal(candidate.properties & (BP_PROPERTY_ACCUMULATES_F32 | BP_PROPERTY_ACCUMULATES_F64 |
                                                     BP_PROPERTY_PROPAGATES_NAN),
                             0);
            native++;
        }
    }
    assert_int_equal(native, 2); /* small and packed */
    bp_explanation_release(explanation);
    test_array_free(&a);
    test_array_free(&b);
    test_array_free(&c);
}

/* The kernels follow what the processor has and cpu.capability permits. Nothing is run. */
static void instruction_sets(void **state) {
    (void)state;
    static const struct {
        bp_capability hardware, capability;
        uint32_t vnni;
        bp__native_integer_isa wanted;
    } cases[] = {
        {BP_CAPABILITY_DEFAULT, BP_CAPABILITY_DEFAULT, 3, BP__INTEGER_DEFAULT},
        {BP_CAPABILITY_AVX2, BP_CAPABILITY_AVX2, 0, BP__INTEGER_AVX2},
        {BP_CAPABILITY_AVX2, BP_CAPABILITY_AVX2, BP__NATIVE_HAS_AVX_VNNI, BP__INTEGER_AVX_VNNI},
        {BP_CAPABILITY_AVX2, BP_CAPABILITY_AVX512, 3, BP__INTEGER_AVX_VNNI},
        {BP_CAPABILITY_AVX2, BP_CAPABILITY_AVX2, BP__NATIVE_HAS_AVX512_VNNI, BP__INTEGER_AVX2},
        {BP_CAPABILITY_AVX2, BP_CAPABILITY_DEFAULT, 3, BP__INTEGER_DEFAULT},
        {BP_CAPABILITY_AVX512, BP_CAPABILITY_AVX512, 0, BP__INTEGER_AVX512},
        {BP_CAPABILITY_AVX512, BP_CAPABILITY_AVX512, BP__NATIVE_HAS_AVX_VNNI, BP__INTEGER_AVX512},
        {BP_CAPABILITY_AVX512, BP_CAPABILITY_AVX512, BP__NATIVE_HAS_AVX512_VNNI, BP__INTEGER_AVX512_VNNI},
        {BP_CAPABILITY_AVX512, BP_CAPABILITY_AVX2, BP__NATIVE_HAS_AVX512_VNNI, BP__INTEGER_AVX2},
        {BP_CAPABILITY_AVX512, BP_CAPABILITY_AVX2, 3, BP__INTEGER_AVX_VNNI},
    };
#if defined(__x86_64__)
    for (size_t i = 0; i < COUNT(cases); i++) {
        const bp_host host = {.hardware = cases[i].hardware};
        const bp_problem problem = {.policy.capability = (uint8_t)cases[i].capability};
        pretends = true, pretended = cases[i].vnni;
        const bp__native_integer_isa got = bp__native_integer_isa_of(&host, &problem);
        pretends = false;
        if (got != cases[i].wanted) {
            fail_msg("case %zu: %d and not %d", i, (int)got, (int)cases[i].wanted);
        }
    }
#else
    (void)cases;
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_layouts),
        cmocka_unit_test(odd_sizes),
        cmocka_unit_test(skinny),
        cmocka_unit_test(batches),
        cmocka_unit_test(extreme_values),
        cmocka_unit_test(any_threads),
        cmocka_unit_test(packed_operands),
        cmocka_unit_test(instruction_sets),
        cmocka_unit_test(refused_types),
        cmocka_unit_test(candidates),
        cmocka_unit_test(refused_factors_and_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
