/* test_bounds.c - every operation on every candidate, with operands that end at a page without access, or begin after
 * one.
 *
 * A candidate that accesses more than its operands ends this process. The probe found which libraries do, and the
 * lapack provider gives those copies. OpenBLAS 0.3.21 does so in potri, gesdd and gels of complex matrices. */
#include "backplane.h"
#include "ops/linalg/linalg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { REGION = 1 << 18, OPERANDS = BP_LINALG_OPERANDS };
static char *regions[OPERANDS];

static int map_regions(void **state) {
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < OPERANDS; i++) {
        char *block = mmap(NULL, REGION + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(block != MAP_FAILED);
        assert_int_equal(mprotect(block + page, REGION, PROT_READ | PROT_WRITE), 0);
        regions[i] = block + page;
    }
    return 0;
}

/* An operation, and its inputs: g general, m x n; h Hermitian and positive definite, n x n; b right sides, m x 3 (n x 3
 * next to h); p pivots; 2 pivots of blocks of 2x2. */
typedef struct operation {
    bp_op op;
    const char *inputs;
    int outputs; /* without optional ones behind them */
    bp_linalg_mode mode;
    double order;
    int upper, right, hermitian;
} operation;

static const operation operations[] = {
    {BP_OP_INV, "h", 1, 0, 0, 0, 0, 0},
    {BP_OP_CHOLESKY, "h", 1, 0, 0, 0, 0, 0},
    {BP_OP_CHOLESKY, "h", 1, 0, 0, 1, 0, 0},
    {BP_OP_CHOLESKY_SOLVE, "bh", 1, 0, 0, 0, 0, 0},
    {BP_OP_CHOLESKY_INVERSE, "h", 1, 0, 0, 0, 0, 0},
    {BP_OP_CHOLESKY_INVERSE, "h", 1, 0, 0, 1, 0, 0},
    {BP_OP_LU_FACTOR, "g", 2, 0, 0, 0, 0, 0},
    {BP_OP_LU, "g", 3, 0, 0, 0, 0, 0},
    {BP_OP_LU_SOLVE, "hpb", 1, 0, 0, 0, 0, 0},
    {BP_OP_LDL_FACTOR, "h", 2, 0, 0, 0, 0, 0},
    {BP_OP_LDL_FACTOR, "h", 2, 0, 0, 0, 0, 1},
    {BP_OP_LDL_SOLVE, "hpb", 1, 0, 0, 0, 0, 0},
    {BP_OP_LDL_SOLVE, "hpb", 1, 0, 0, 0, 0, 1},
    {BP_OP_LDL_SOLVE, "h2b", 1, 0, 0, 0, 0, 0},
    {BP_OP_LDL_SOLVE, "h2b", 1, 0, 0, 0, 0, 1},
    {BP_OP_SOLVE, "hb", 1, 0, 0, 0, 0, 0},
    {BP_OP_SOLVE_TRIANGULAR, "hb", 1, 0, 0, 0, 0, 0},
    {BP_OP_SOLVE_TRIANGULAR, "hb", 1, 0, 0, 1, 0, 0},
    {BP_OP_DET, "h", 1, 0, 0, 0, 0, 0},
    {BP_OP_SLOGDET, "h", 2, 0, 0, 0, 0, 0},
    {BP_OP_QR, "g", 2, BP_QR_REDUCED, 0, 0, 0, 0},
    {BP_OP_QR, "g", 2, BP_QR_COMPLETE, 0, 0, 0, 0},
    {BP_OP_EIGH, "h", 2, 0, 0, 0, 0, 0},
    {BP_OP_EIGH, "h", 1, 0, 0, 1, 0, 0},
    {BP_OP_EIG, "h", 2, 0, 0, 0, 0, 0},
    {BP_OP_EIG, "h", 1, 0, 0, 0, 0, 0},
    {BP_OP_SVD, "g", 3, BP_SVD_REDUCED, 0, 0, 0, 0},
    {BP_OP_SVD, "g", 3, BP_SVD_FULL, 0, 0, 0, 0},
    {BP_OP_LSTSQ, "gb", 1, BP_LSTSQ_GELS, 0, 0, 0, 0},
    {BP_OP_LSTSQ, "gb", 3, BP_LSTSQ_GELSY, 0, 0, 0, 0},
    {BP_OP_LSTSQ, "gb", 4, BP_LSTSQ_GELSD, 0, 0, 0, 0},
    {BP_OP_LSTSQ, "gb", 4, BP_LSTSQ_GELSS, 0, 0, 0, 0},
    {BP_OP_PINV, "g", 1, 0, 0, 0, 0, 0},
    {BP_OP_PINV, "h", 1, 0, 0, 0, 0, 1},
    {BP_OP_MATRIX_RANK, "g", 1, 0, 0, 0, 0, 0},
    {BP_OP_MATRIX_RANK, "h", 1, 0, 0, 0, 0, 1},
    {BP_OP_COND, "h", 1, BP_NORM_P, 1, 0, 0, 0},
    {BP_OP_COND, "g", 1, BP_NORM_P, 2, 0, 0, 0},
    {BP_OP_COND, "h", 1, BP_NORM_NUC, 0, 0, 0, 0},
    {BP_OP_MATRIX_NORM, "g", 1, BP_NORM_FRO, 0, 0, 0, 0},
    {BP_OP_MATRIX_NORM, "g", 1, BP_NORM_P, 1, 0, 0, 0},
    {BP_OP_MATRIX_NORM, "g", 1, BP_NORM_P, -1, 0, 0, 0},
    {BP_OP_MATRIX_NORM, "g", 1, BP_NORM_NUC, 0, 0, 0, 0},
};

/* One call, and its operands. */
typedef struct problem {
    bp_linalg_call call;
    bp_view views[OPERANDS];
    int operands;
    bool by_columns, at_end;
} problem;

static bool is_double(bp_dtype dtype) {
    return dtype == BP_F64 || dtype == BP_C128;
}

static void put(bp_dtype dtype, char *at, int64_t index, double value) {
    const int64_t wide = dtype == BP_C64 || dtype == BP_C128 ? 2 : 1;
    for (int64_t part = 0; part < wide; part++) {
        const double x = part == 0 ? value : 0;
        if (is_double(dtype)) {
            ((double *)(void *)at)[wide * index + part] = x;
        } else {
            ((float *)(void *)at)[wide * index + part] = (float)x;
        }
    }
}

/* Adds an operand with its memory at one end of a region, compact by rows or by columns. */
static char *add(problem *p, int index, bp_dtype dtype, int ndim, const int64_t *shape) {
    int64_t count = 1, strides[BP_MAX_NDIM];
    for (int i = 0; i < ndim; i++) {
        strides[p->by_columns ? i : ndim - 1 - i] = count;
        count *= shape[p->by_columns ? i : ndim - 1 - i];
    }
    const size_t bytes = (size_t)count * bp_dtype_size(dtype);
    char *at = regions[index] + (p->at_end ? REGION - bytes : 0);
    assert_true(bytes <= REGION);
    assert_int_equal(bp_view_init(&p->views[index], at, dtype, ndim, shape, strides), BP_OK);
    bp__linalg_set(&p->call, index, &p->views[index].tensor);
    p->operands = index + 1;
    return at;
}

static void add_matrix(problem *p, bp_dtype dtype, int64_t rows, int64_t columns, bool hermitian) {
    const int64_t shape[2] = {rows, columns};
    const int index = p->operands;
    char *at = add(p, index, dtype, 2, shape);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            const int64_t low = hermitian && j < i ? j : i, high = hermitian && j < i ? i : j;
            const double value = i == j ? 4 : (double)((low * 7 + high * 13) % 11 - 5) / 64;
            put(dtype, at, p->by_columns ? i + j * rows : i * columns + j, value);
        }
    }
}

static void add_pivots(problem *p, int64_t count, bool pairs) {
    const int index = p->operands;
    int32_t *at = (int32_t *)(void *)add(p, index, BP_I32, 1, &count);
    for (int64_t i = 0; i < count; i++) {
        at[i] = pairs && (i % 2 || i + 1 < count) ? -2 * ((int32_t)i / 2 + 1) : (int32_t)i + 1;
    }
}

static void make(problem *p, const operation *o, bp_dtype dtype, int64_t m, int64_t n) {
    const bool square = strchr(o->inputs, 'h') != NULL;
    p->call = (bp_linalg_call){.struct_size = sizeof p->call,
                               .op = o->op,
                               .mode = o->mode,
                               .order = o->order,
                               .upper = o->upper,
                               .right = o->right,
                               .hermitian = o->hermitian};
    p->operands = 0;
    for (const char *input = o->inputs; *input; input++) {
        if (*input == 'p' || *input == '2') {
            add_pivots(p, n, *input == '2');
        } else {
            add_matrix(p, dtype, *input == 'g' || !square ? m : n, *input == 'b' ? 3 : n, *input == 'h');
        }
    }
    /* eigh and eig have their values first; U and Vh of svd and Q of qr come with the others */
    for (int output = 0; output < o->outputs; output++) {
        bp_dtype type;
        int ndim;
        int64_t shape[BP_MAX_NDIM];
        const int index = (int)strlen(o->inputs) + output;
        assert_int_equal(bp_linalg_shape(&p->call, output, &type, &ndim, shape), BP_OK);
        add(p, index, type, ndim, shape);
    }
}

/* Runs each accepted candidate. The last line that was printed tells which one ended the process. */
static int run_all(const problem *p, bp_dtype dtype, int64_t m, int64_t n) {
    bp_explanation *explanation;
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    bp_options *alone;
    int ran = 0;
    assert_int_equal(bp_options_new(&alone, "num_threads=1"), BP_OK);
    assert_int_equal(bp_linalg_explain(&explanation, alone, &p->call), BP_OK);
    bp_options_release(alone);
    for (int i = 0; bp_explanation_at(explanation, i, &candidate); i++) {
        char settings[256];
        bp_options *options;
        if (candidate.reason != BP_REASON_ACCEPTED) {
            continue;
        }
        snprintf(settings, sizeof settings, "num_threads=1,dispatch.fallback=strict,linalg.preferred=%s",
                 candidate.library);
        print_message("%s, %s %s %dx%d, by %s, at %s\n", settings, bp_op_name(p->call.op), bp_dtype_name(dtype), (int)m,
                      (int)n, p->by_columns ? "columns" : "rows", p->at_end ? "the end" : "the start");
        assert_int_equal(bp_options_new(&options, settings), BP_OK);
        const bp_status status = bp_linalg_run(options, &p->call);
        assert_string_equal(status == BP_OK ? "" : bp_last_error(), "");
        bp_options_release(options);
        ran++;
    }
    bp_explanation_release(explanation);
    return ran;
}

static void every_candidate_stays_within_its_operands(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{1, 1}, {3, 2}, {2, 5}, {9, 7}, {13, 17}, {34, 33}, {70, 71}};
    for (bp_dtype dtype = BP_F32; dtype <= BP_C128; dtype = (bp_dtype)(dtype + 1)) {
        for (size_t o = 0; o < sizeof operations / sizeof *operations; o++) {
            int ran = 0;
            for (size_t i = 0; i < 4 * sizeof shapes / sizeof *shapes; i++) {
                static problem p;
                const int64_t m = shapes[i / 4][0], n = shapes[i / 4][1];
                p.by_columns = i % 2 == 1;
                p.at_end = i / 2 % 2 == 1;
                make(&p, &operations[o], dtype, m, n);
                ran += run_all(&p, dtype, m, n);
            }
            print_message("%s %s: %d calls\n", bp_op_name(operations[o].op), bp_dtype_name(dtype), ran);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_candidate_stays_within_its_operands)};
    return cmocka_run_group_tests(tests, map_regions, NULL);
}
