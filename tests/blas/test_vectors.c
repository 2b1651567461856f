/* test_vectors.c - tests that the algorithm gemm equals the library's own cblas gemm of the same row-major arrays bit
 * for bit, also for a single row or column. Runs on every library with the C interface. */
#include "blas/support_blas.h"
#include "support/arrays.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { ROW_MAJOR = 101, AS_IS = 111, TRANSPOSED = 112, MOST = 320 };

static union {
    float f32[2 * MOST * MOST];
    double f64[2 * MOST * MOST];
} a, b, c, own;

typedef struct product {
    bp_dtype dtype;
    int64_t m, n, k;
    bool a_transposed, b_transposed; /* layout in memory */
    double alpha, beta;
} product;

/* Calls the C interface of one type and integer width. Complex factors are addresses. */
#define CALL(INT, SCALAR, ALPHA, BETA)                                                                                 \
    ((void (*)(int, int, int, INT, INT, INT, SCALAR, const void *, INT, const void *, INT, SCALAR, void *, INT))gemm)( \
        ROW_MAJOR, p->a_transposed ? TRANSPOSED : AS_IS, p->b_transposed ? TRANSPOSED : AS_IS, (INT)p->m, (INT)p->n,   \
        (INT)p->k, ALPHA, &a, (INT)(p->a_transposed ? p->m : p->k), &b, (INT)(p->b_transposed ? p->k : p->n), BETA,    \
        &own, (INT)p->n)

static void call_own(void *symbol, int bits, const product *p) {
    void (*gemm)(void) = (void (*)(void))symbol;
    const float alpha[] = {(float)p->alpha, 0}, beta[] = {(float)p->beta, 0};
    const double wide_alpha[] = {p->alpha, 0}, wide_beta[] = {p->beta, 0};
    switch (p->dtype) {
    case BP_F32:
        bits == 64 ? CALL(int64_t, float, alpha[0], beta[0]) : CALL(int32_t, float, alpha[0], beta[0]);
        break;
    case BP_F64:
        bits == 64 ? CALL(int64_t, double, p->alpha, p->beta) : CALL(int32_t, double, p->alpha, p->beta);
        break;
    case BP_C64:
        bits == 64 ? CALL(int64_t, const void *, alpha, beta) : CALL(int32_t, const void *, alpha, beta);
        break;
    default:
        bits == 64 ? CALL(int64_t, const void *, wide_alpha, wide_beta)
                   : CALL(int32_t, const void *, wide_alpha, wide_beta);
        break;
    }
}

/* Finds cblas_dgemm for dgemm_, and cblas_dgemm64_ or cblas_dgemm_64 for dgemm_64_. */
static void *find_own(const bp_library_info *library, void *handle, bp_dtype dtype) {
    const char *suffix = library->suffix, letter = "sdcz"[dtype - BP_F32];
    size_t length = strlen(suffix), skipped = suffix[0] == '_';
    for (int way = 0; way < 3; way++) {
        char name[128];
        snprintf(name, sizeof name, "%scblas_%cgemm%.*s", library->prefix, letter,
                 (int)(way == 0                 ? length - skipped
                       : way == 1 && length > 0 ? length - 1
                                                : length),
                 suffix + (way == 0 ? skipped : 0));
        void *found = dlsym(handle, name);
        if (found) {
            return found;
        }
    }
    return NULL;
}

static void fill(void *memory, bp_dtype dtype, int64_t elements, unsigned seed) {
    test_array_random = seed;
    for (int64_t i = 0; i < 2 * elements; i++) { /* enough for complex elements */
        const double value = test_array_uniform();
        if (dtype == BP_F32 || dtype == BP_C64) {
            ((float *)memory)[i] = (float)value;
        } else {
            ((double *)memory)[i] = value;
        }
    }
}

/* Builds the problem as dispatch does: strides of dimensions of size 1 are 0. */
static bp_problem problem_of(const product *p) {
    bp_problem problem = {.struct_size = sizeof problem, .op = BP_OP_GEMM, .dtype = (uint32_t)p->dtype};
    bp_gemm_problem *g = &problem.of.gemm;
    *g = (bp_gemm_problem){.m = p->m, .n = p->n, .k = p->k, .batch = 1};
    g->a_row = p->m == 1 ? 0 : p->a_transposed ? 1 : p->k;
    g->a_column = p->k == 1 ? 0 : p->a_transposed ? p->m : 1;
    g->b_row = p->k == 1 ? 0 : p->b_transposed ? 1 : p->n;
    g->b_column = p->n == 1 ? 0 : p->b_transposed ? p->k : 1;
    g->c_row = p->m == 1 ? 0 : p->n;
    g->c_column = p->n == 1 ? 0 : 1;
    g->alpha = p->alpha == 1 ? BP_FACTOR_ONE : BP_FACTOR_ANY;
    g->beta = p->beta == 0 ? BP_FACTOR_ZERO : BP_FACTOR_ANY;
    problem.policy = (bp_policy){.threads = 1};
    return problem;
}

static void compare(void *instance, const bp_library_info *library, const product *p) {
    bp_problem problem = problem_of(p);
    test_offers offers;
    bp_prepared *prepared;
    int got;
    test_offers_ask(&offers, &bp_provider_blas, instance, &problem);
    int gemm = test_offers_find(&offers, "gemm");
    assert_true(gemm >= 0);
    assert_string_equal(offers.of[gemm].verdict.algorithm, "gemm");
    assert_int_equal(
        offers.of[gemm].verdict.properties & (BP_PROPERTY_PACKS_A | BP_PROPERTY_PACKS_B | BP_PROPERTY_PACKS_C), 0);
    assert_int_equal(test_offers_plan(&offers, gemm, &problem, &prepared), BP_OK);
    test_offers_free(&offers);
    fill(&a, p->dtype, p->m * p->k, 1);
    fill(&b, p->dtype, p->k * p->n, 2);
    fill(&c, p->dtype, p->m * p->n, 3);
    fill(&own, p->dtype, p->m * p->n, 3);
    const bp_scalar scalars[2] = {{p->alpha, 0}, {p->beta, 0}};
    void *addresses[] = {&a, &b, &c};
    assert_int_equal(test_enqueue(prepared, addresses, 3, scalars), BP_OK);
    prepared->destroy(prepared);
    bp_provider_blas.threads(instance, 1, &got);
    void *symbol = find_own(library, ((bp__driver *)instance)->handle, p->dtype);
    assert_non_null(symbol);
    call_own(symbol, library->int_bits, p);
    if (memcmp(&c, &own, (size_t)(p->m * p->n) * bp_dtype_size(p->dtype)) != 0) {
        fail_msg("%s: %s %ldx%ldx%ld, %s, %s, alpha %g, beta %g: differs from its cblas gemm", library->id,
                 bp_dtype_name(p->dtype), (long)p->m, (long)p->n, (long)p->k, p->a_transposed ? "A^T" : "A",
                 p->b_transposed ? "B^T" : "B", p->alpha, p->beta);
    }
}

static void visit_shapes(void *instance, const bp_library_info *library, bp_dtype dtype) {
    static const int64_t sizes[] = {1, 2, 7, 64, 300};
    for (int i = 0; i < 5 * 5 * 3 * 2 * 2; i++) {
        const int64_t k = sizes[i % 5], other = sizes[i / 5 % 5], what = i / 25 % 3;
        const bool transposed = i / 75 % 2, factors = i / 150 % 2;
        product p = {.dtype = dtype, .m = what == 0 ? 1 : other, .n = what == 1 ? 1 : other, .k = k};
        /* A vector has the same layout in both forms; it counts as not transposed. */
        p.a_transposed = transposed && p.m > 1 && k > 1;
        p.b_transposed = transposed && p.n > 1 && k > 1;
        p.alpha = factors ? 1.5 : 1;
        p.beta = factors ? -0.75 : 0;
        compare(instance, library, &p);
    }
}

static void visit_library(const bp_library_info *library) {
    void *instance;
    assert_int_equal(test_open(library, &instance), BP_OK);
    for (int dtype = BP_F32; dtype <= BP_C128; dtype++) {
        visit_shapes(instance, library, (bp_dtype)dtype);
    }
    bp_provider_blas.close(instance);
}

/* MKL makes its names visible to all libraries that are opened later. Without RTLD_DEEPBIND, as under sanitizers, these
 * would call MKL instead of themselves. So MKL runs last. */
static void gemm_equals_cblas_gemm_bit_for_bit(void **state) {
    (void)state;
    int count, compared = 0;
    const bp_library_info **rows = test_libraries(&count);
    for (int i = 0; i < 2 * count; i++) {
        const bp_library_info *library = rows[i % count];
        bool is_mkl = strcmp(library->family, "mkl") == 0;
        if ((library->kinds & BP_LIB_CBLAS) && is_mkl == (i >= count)) {
            visit_library(library);
            compared++;
        }
    }
    if (compared == 0) {
        print_message("skipped: no library with the C interface is installed\n");
        skip();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_equals_cblas_gemm_bit_for_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
