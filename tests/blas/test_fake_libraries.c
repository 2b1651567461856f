/* test_fake_libraries.c - tests the provider on fake libraries: every interface, integer width and naming scheme on any
 * machine, arguments that a library would reject, missing symbols and failing allocations. */
#include "blas/support_blas.h"

#include <complex.h>
#include <stdio.h>
#include <string.h>

/* ---- A simple BLAS that checks its arguments, as xerbla would ---- */

static int calls, bad_arguments;
static int64_t last_m, last_n;

typedef struct shape {
    bp_dtype dtype;
    char transform_a, transform_b;
    int64_t m, n, k, lda, ldb, ldc;
} shape;

static double complex get(bp_dtype dtype, const void *x, int64_t i) {
    const float *f = x;
    const double *d = x;
    switch (dtype) {
    case BP_F32:
        return f[i];
    case BP_F64:
        return d[i];
    case BP_C64:
        return f[2 * i] + 1.0i * f[2 * i + 1];
    default:
        return d[2 * i] + 1.0i * d[2 * i + 1];
    }
}

static void put(bp_dtype dtype, void *x, int64_t i, double complex value) {
    float *f = x;
    double *d = x;
    switch (dtype) {
    case BP_F32:
        f[i] = (float)creal(value);
        break;
    case BP_F64:
        d[i] = creal(value);
        break;
    case BP_C64:
        f[2 * i] = (float)creal(value);
        f[2 * i + 1] = (float)cimag(value);
        break;
    default:
        d[2 * i] = creal(value);
        d[2 * i + 1] = cimag(value);
    }
}

static double complex element(const shape *s, char transform, const void *x, int64_t ld, int64_t i, int64_t j) {
    double complex value = get(s->dtype, x, transform == 'N' ? i + j * ld : j + i * ld);
    return transform == 'C' ? conj(value) : value;
}

static int64_t most(int64_t size) {
    return size > 1 ? size : 1;
}

static void multiply(const shape *s, double complex alpha, const void *a, const void *b, double complex beta, void *c) {
    calls++;
    last_m = s->m;
    last_n = s->n;
    if (!strchr("NTC", s->transform_a) || !strchr("NTC", s->transform_b) || s->m < 0 || s->n < 0 || s->k < 0 ||
        s->lda < most(s->transform_a == 'N' ? s->m : s->k) || s->ldb < most(s->transform_b == 'N' ? s->k : s->n) ||
        s->ldc < most(s->m)) {
        bad_arguments++;
        return;
    }
    for (int64_t j = 0; j < s->n; j++) {
        for (int64_t i = 0; i < s->m; i++) {
            double complex sum = 0;
            for (int64_t l = 0; l < s->k; l++) {
                sum += element(s, s->transform_a, a, s->lda, i, l) * element(s, s->transform_b, b, s->ldb, l, j);
            }
            double complex old = beta == 0 ? 0 : beta * get(s->dtype, c, i + j * s->ldc);
            put(s->dtype, c, i + j * s->ldc, alpha * sum + old);
        }
    }
}

static void multiply_vector(const shape *s, double complex alpha, const void *a, const void *x, int64_t incx,
                            double complex beta, void *y, int64_t incy) {
    calls++;
    last_m = s->m;
    last_n = s->n;
    if (!strchr("NTC", s->transform_a) || s->m < 0 || s->n < 0 || s->lda < most(s->m) || incx == 0 || incy == 0) {
        bad_arguments++;
        return;
    }
    int64_t rows = s->transform_a == 'N' ? s->m : s->n, columns = s->transform_a == 'N' ? s->n : s->m;
    int64_t x0 = incx < 0 ? -(columns - 1) * incx : 0, y0 = incy < 0 ? -(rows - 1) * incy : 0;
    for (int64_t i = 0; i < rows; i++) {
        double complex sum = 0;
        for (int64_t j = 0; j < columns; j++) {
            sum += element(s, s->transform_a, a, s->lda, i, j) * get(s->dtype, x, x0 + j * incx);
        }
        /* some libraries read y although beta is 0 */
        put(s->dtype, y, y0 + i * incy, alpha * sum + beta * get(s->dtype, y, y0 + i * incy));
    }
}

static char letter(unsigned transform) {
    return transform == 111 ? 'N' : transform == 112 ? 'T' : transform == 113 ? 'C' : '?';
}

#define VALUE_c(x) get(BP_C64, x, 0)
#define VALUE_z(x) get(BP_C128, x, 0)
#define VALUE_s(x) (x)
#define VALUE_d(x) (x)

#define DEFINE(l, type, S, T, BITS)                                                                                    \
    static BP__BLAS_FORTRAN_GEMM(l##gemm##BITS, T, int##BITS##_t) {                                                    \
        bad_arguments += length_a != 1 || length_b != 1;                                                               \
        multiply(&(shape){type, *transform_a, *transform_b, *m, *n, *k, *lda, *ldb, *ldc}, get(type, alpha, 0), a, b,  \
                 get(type, beta, 0), c);                                                                               \
    }                                                                                                                  \
    static BP__BLAS_FORTRAN_GEMV(l##gemv##BITS, T, int##BITS##_t) {                                                    \
        bad_arguments += length != 1;                                                                                  \
        multiply_vector(&(shape){type, *transform, 'N', *m, *n, 0, *lda, 0, 0}, get(type, alpha, 0), a, x, *incx,      \
                        get(type, beta, 0), y, *incy);                                                                 \
    }                                                                                                                  \
    static BP__BLAS_C_GEMM(cblas_##l##gemm##BITS, S, T, int##BITS##_t) {                                               \
        bad_arguments += order != 102;                                                                                 \
        multiply(&(shape){type, letter(transform_a), letter(transform_b), m, n, k, lda, ldb, ldc}, VALUE_##l(alpha),   \
                 a, b, VALUE_##l(beta), c);                                                                            \
    }                                                                                                                  \
    static BP__BLAS_C_GEMV(cblas_##l##gemv##BITS, S, T, int##BITS##_t) {                                               \
        bad_arguments += order != 102;                                                                                 \
        multiply_vector(&(shape){type, letter(transform), 'N', m, n, 0, lda, 0, 0}, VALUE_##l(alpha), a, x, incx,      \
                        VALUE_##l(beta), y, incy);                                                                     \
    }
#define DEFINE_BOTH(l, type, S, T) DEFINE(l, type, S, T, 32) DEFINE(l, type, S, T, 64)
BP__BLAS_TYPES(DEFINE_BOTH)

/* ---- Names of the routines in each naming scheme ---- */

typedef struct spelling {
    const char *what;
    unsigned kinds;
    int int_bits;
    const char *prefix, *suffix; /* of the library entry */
    const char *fortran, *c;     /* the actual suffix of the names; NULL: that interface is missing */
} spelling;

static const spelling *spoken;

#define ENTRY(l, type, S, T)                                                                                           \
    {#l "gemm", false, 32, (void (*)(void))l##gemm32}, {#l "gemm", false, 64, (void (*)(void))l##gemm64},              \
        {#l "gemv", false, 32, (void (*)(void))l##gemv32}, {#l "gemv", false, 64, (void (*)(void))l##gemv64},          \
        {#l "gemm", true, 32, (void (*)(void))cblas_##l##gemm32},                                                      \
        {#l "gemm", true, 64, (void (*)(void))cblas_##l##gemm64},                                                      \
        {#l "gemv", true, 32, (void (*)(void))cblas_##l##gemv32},                                                      \
        {#l "gemv", true, 64, (void (*)(void))cblas_##l##gemv64},

static void *find(const char *name) {
    static const struct {
        const char *name;
        bool c;
        int bits;
        void (*routine)(void);
    } table[] = {BP__BLAS_TYPES(ENTRY)};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const char *suffix = table[i].c ? spoken->c : spoken->fortran;
        char full[64];
        snprintf(full, sizeof full, "%s%s%s%s", spoken->prefix, table[i].c ? "cblas_" : "", table[i].name,
                 suffix ? suffix : "");
        if (suffix && table[i].bits == spoken->int_bits && strcmp(full, name) == 0) {
            return (void *)table[i].routine;
        }
    }
    return NULL;
}

static const spelling spellings[] = {
    {"usual", BP_LIB_BLAS | BP_LIB_CBLAS, 32, "", "_", "_", ""},
    {"64 bits, no suffix", BP_LIB_BLAS, 64, "", "_", "_", NULL},
    {"64 bits, 64_", BP_LIB_BLAS, 64, "", "64_", "64_", NULL},
    {"C only", BP_LIB_CBLAS, 32, "", "_", NULL, ""},
    {"C only, as OpenBLAS suffixes", BP_LIB_CBLAS, 64, "scipy_", "_64_", NULL, "64_"},
    {"C only, as MKL suffixes", BP_LIB_CBLAS, 64, "", "_64_", NULL, "_64"},
    {"C only, same suffix", BP_LIB_CBLAS, 64, "", "$NEW", NULL, "$NEW"},
    {"no underscore", BP_LIB_BLAS, 32, "", "", "", NULL},
    {"Fortran missing", BP_LIB_BLAS | BP_LIB_CBLAS, 64, "x_", "_64_", NULL, "_64"},
};

static void *open_fake(const spelling *s, bp_library_info *row) {
    *row = test_row("unheard-of", "serial");
    row->kinds = s->kinds;
    row->int_bits = s->int_bits;
    row->prefix = s->prefix;
    row->suffix = s->suffix;
    spoken = s;
    test_fake = find;
    void *instance;
    assert_int_equal(bp_provider_blas.open(test_host(), row, &instance), BP_OK);
    return instance;
}

static void expect(void *instance, const test_product *p) {
    bp_verdict verdict;
    if (!test_run_product(instance, p, &verdict)) {
        fail_msg("refused: %s", verdict.text);
    }
    assert_int_equal(bad_arguments, 0);
}

static void test_interfaces(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{4, 3, 5}, {1, 3, 5}, {4, 1, 5}, {1, 1, 5}, {4, 3, 1}};
    for (size_t s = 0; s < sizeof spellings / sizeof spellings[0]; s++) {
        bp_library_info row;
        void *instance = open_fake(&spellings[s], &row);
        for (int i = 0; i < 5 * MATRIX_LAYOUTS * MATRIX_LAYOUTS; i++) {
            calls = 0;
            const int64_t *size = shapes[i % 5];
            test_product p = {
                .dtype = (bp_dtype)(BP_F32 + i % 4), .m = size[0], .n = size[1], .k = size[2], .alpha = 1};
            p.a = (matrix_layout)(i / 5 % MATRIX_LAYOUTS);
            p.b = (matrix_layout)(i / 5 / MATRIX_LAYOUTS);
            p.c = (matrix_layout)(i % TEST_REPEATED);
            p.alpha = i % 3 ? 1 : 2;
            p.beta = i % 2 ? 0 : 1;
            p.conjugate_a = i % 4 > 1;
            p.conjugate_b = i % 8 > 5;
            const bool vector = p.m == 1 || p.n == 1;
            expect(instance, &p);
            assert_int_equal(calls, vector ? 2 : 1); /* first gemv, then gemm */
        }
        bp_provider_blas.close(instance);
    }
    test_fake = NULL;
}

/* A batch with a shared factor is one call, but not if results must not depend on the position in a batch. */
static void test_batches_are_merged(void **state) {
    (void)state;
    bp_library_info row;
    void *instance = open_fake(&spellings[0], &row);
    test_product p = {.dtype = BP_F32, .m = 3, .n = 4, .k = 5, .alpha = 1, .batch = {2, 6}, .broadcast_b = true};
    for (int i = 0; i < 4; i++) {
        static const struct {
            bool a, b;
            matrix_layout layout_a, layout_b, layout_c;
            int calls;
        } cases[] = {{false, true, TEST_ROWS, TEST_ROWS, TEST_ROWS, 2},
                     {true, false, TEST_COLUMNS, TEST_COLUMNS, TEST_COLUMNS, 2},
                     {false, true, TEST_ROWS_APART, TEST_ROWS, TEST_ROWS, 12},
                     {false, false, TEST_ROWS, TEST_ROWS, TEST_ROWS, 12}};
        p.broadcast_a = cases[i].a;
        p.broadcast_b = cases[i].b;
        p.a = cases[i].layout_a;
        p.b = cases[i].layout_b;
        p.c = cases[i].layout_c;
        const bool folds = cases[i].calls < 12;
        calls = 0;
        expect(instance, &p);
        assert_int_equal(calls,
                         cases[i].calls + (folds ? 12 : 0)); /* a merged batch is also offered product by product */
        calls = 0;
        test_run_algorithm(instance, &p, "gemm per product");
        assert_int_equal(calls, 12);
    }
    bp_provider_blas.close(instance);
    test_fake = NULL;
}

/* gemv runs if a side is 1 in any orientation. Nothing is called if there is nothing to multiply. */
static void test_routines(void **state) {
    (void)state;
    bp_library_info row;
    void *instance = open_fake(&spellings[0], &row);
    static const struct {
        int64_t m, n, k;
        double alpha;
        const char *algorithm, *other;
        int calls;
    } cases[] = {{3, 4, 5, 1, "gemm", NULL, 1},         {1, 4, 5, 1, "gemv", "gemm", 1},
                 {3, 1, 5, 1, "gemv", "gemm", 1},       {1, 1, 5, 1, "gemv", "gemm", 1},
                 {3, 4, 0, 1, "scale", NULL, 0},        {3, 4, 5, 0, "scale", NULL, 0},
                 {1, 1, 0, 1, "scale", NULL, 0},        {0, 4, 5, 1, "nothing to do", NULL, 0},
                 {3, 0, 5, 1, "nothing to do", NULL, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bp_verdict verdict;
        test_product p = {.dtype = BP_C128, .m = cases[i].m, .n = cases[i].n, .k = cases[i].k, .alpha = cases[i].alpha};
        assert_true(test_run_product(instance, &p, &verdict));
        assert_string_equal(verdict.algorithm, cases[i].algorithm);
        for (int other = 0; other < (cases[i].other ? 2 : 1); other++) {
            calls = 0;
            test_run_algorithm(instance, &p, other ? cases[i].other : cases[i].algorithm);
            assert_int_equal(calls, cases[i].calls);
        }
    }
    bp_provider_blas.close(instance);
    test_fake = NULL;
}

static void test_missing_symbols(void **state) {
    (void)state;
    static const spelling nothing = {"empty", BP_LIB_BLAS | BP_LIB_CBLAS, 64, "p_", "_64_", NULL, NULL};
    bp_library_info row;
    void *instance = open_fake(&nothing, &row);
    test_product p = {.dtype = BP_F64, .m = 3, .n = 1, .k = 5, .alpha = 1};
    bp_problem problem = test_problem(&p);
    bp_verdict verdict = test_verdict(&bp_provider_blas, instance, &problem);
    assert_int_equal(verdict.reason, BP_REASON_ACCEPTED);
    bp_prepared *prepared;
    test_offers offers; /* the later offer of gemm has no routine either */
    test_offers_ask(&offers, &bp_provider_blas, instance, &problem);
    assert_int_equal(test_offers_plan(&offers, test_offers_find(&offers, "gemm"), &problem, &prepared), BP_E_SYMBOL);
    assert_non_null(strstr(test_error, "p_dgemm_64_ and p_cblas_dgemm64_"));
    test_offers_free(&offers);
    assert_int_equal(test_plan_first(&bp_provider_blas, instance, &problem, &prepared), BP_E_SYMBOL);
    assert_non_null(strstr(test_error, "p_dgemv_64_ and p_cblas_dgemv64_"));
    bp_provider_blas.close(instance);

    row = test_row("openblas", "pthread"); /* its thread functions are missing too */
    assert_int_equal(bp_provider_blas.open(test_host(), &row, &instance), BP_OK);
    assert_int_equal(test_plan_first(&bp_provider_blas, instance, &problem, &prepared), BP_E_SYMBOL);
    assert_non_null(strstr(test_error, "thread count"));
    bp_provider_blas.close(instance);
    assert_int_equal(test_blocks, 0);
    test_fake = NULL;
}

static void test_no_memory(void **state) {
    (void)state;
    bp_library_info row;
    void *instance = open_fake(&spellings[0], &row);
    test_product p = {.dtype = BP_F64, .m = 3, .n = 2, .k = 5, .a = TEST_GENERAL, .alpha = 1};
    bp_problem problem = test_problem(&p);
    bp_verdict verdict = test_verdict(&bp_provider_blas, instance, &problem);
    assert_int_equal(verdict.properties & (BP_PROPERTY_PACKS_A | BP_PROPERTY_PACKS_B | BP_PROPERTY_PACKS_C),
                     BP_PROPERTY_PACKS_A);
    assert_non_null(strstr(verdict.text, "copies A: no stride is 1"));
    bp_prepared *prepared;
    test_fail_allocation = 1;
    assert_int_equal(test_plan_first(&bp_provider_blas, instance, &problem, &prepared), BP_E_NO_MEMORY);
    assert_int_equal(test_plan_first(&bp_provider_blas, instance, &problem, &prepared), BP_OK);
    double a[64] = {0}, b[64] = {0}, c[6] = {1, 2, 3, 4, 5, 6};
    assert_int_equal(prepared->workspace, (3 * 5 * sizeof(double) + 63) / 64 * 64); /* A's copy */
    test_fail_scratch = true; /* a run gets its workspace, and allocates nothing else */
    test_fail_allocation = 1;
    assert_int_equal(test_enqueue(prepared, (void *[]){a, b, c}, 3, NULL), BP_OK);
    assert_int_equal(test_fail_allocation, 1);
    test_fail_scratch = false;
    test_fail_allocation = 0;
    prepared->destroy(prepared);
    bp_provider_blas.close(instance);

    test_fail_allocation = 1;
    assert_int_equal(bp_provider_blas.open(test_host(), &row, &instance), BP_E_NO_MEMORY);
    assert_int_equal(bp_provider_blas.open(test_host(), NULL, &instance), BP_E_ARGUMENT);
    assert_int_equal(test_blocks, 0);
    test_fake = NULL;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interfaces), cmocka_unit_test(test_batches_are_merged),
        cmocka_unit_test(test_routines),   cmocka_unit_test(test_missing_symbols),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("fakes", tests, NULL, NULL);
}
