/* test_far_columns.c - small products whose columns are up to 2^31 elements apart, on every library: vector kernels may
 * compute distances in 32 bits. The memory between the columns is never touched. */
#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { M = 5, N = 10, K = 7, MOST = N };

typedef struct matrix {
    bp_view view;
    int64_t rows, columns, row, column;
    char *memory;
} matrix;

static const int64_t distances[] = {INT64_C(1) << 25, INT64_C(1) << 28, (INT64_C(1) << 31) - 1, INT64_C(1) << 31};
static const bp_dtype dtypes[] = {BP_F32, BP_F64};
enum { DISTANCES = sizeof distances / sizeof *distances, DTYPES = 2, OPERANDS = 3, FORMS = 4 };

static double get(const matrix *x, bp_dtype dtype, int64_t i, int64_t j) {
    const int64_t at = i * x->row + j * x->column;
    return dtype == BP_F32 ? (double)((const float *)(const void *)x->memory)[at]
                           : ((const double *)(const void *)x->memory)[at];
}

static void set(const matrix *x, bp_dtype dtype, int64_t i, int64_t j, double value) {
    const int64_t at = i * x->row + j * x->column;
    if (dtype == BP_F32) {
        ((float *)(void *)x->memory)[at] = (float)value;
    } else {
        ((double *)(void *)x->memory)[at] = value;
    }
}

/* Makes a matrix of small integers by columns, or by rows, whose columns or rows are that far apart. */
static void make(matrix *x, char *memory, bp_dtype dtype, int64_t rows, int64_t columns, bool by_rows, int64_t far) {
    const int64_t shape[] = {rows, columns}, strides[] = {by_rows ? far : 1, by_rows ? 1 : far};
    *x = (matrix){.rows = rows, .columns = columns, .row = strides[0], .column = strides[1], .memory = memory};
    assert_int_equal(bp_view_init(&x->view, memory, dtype, 2, shape, strides), BP_OK);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            set(x, dtype, i, j, (double)((3 * i + 5 * j) % 7 - 3));
        }
    }
}

/* One operand is far in the given form: 0 to 3, a bit for each factor that is by rows. */
static void check(const char *library, char *const memory[OPERANDS], bp_dtype dtype, int far, int form,
                  int64_t distance) {
    const int64_t rows[] = {M, K, M}, columns[] = {K, N, N};
    matrix x[OPERANDS];
    for (int i = 0; i < OPERANDS; i++) {
        make(&x[i], memory[i], dtype, rows[i], columns[i], i < 2 && form >> i & 1, i == far ? distance : MOST);
    }
    const bp_status status = bp_matmul(&x[0].view.tensor, &x[1].view.tensor, &x[2].view.tensor);
    if (status == BP_E_FALLBACK) {
        return;
    }
    if (status != BP_OK) {
        fail_msg("%s: %s", library, bp_last_error());
    }
    for (int64_t i = 0; i < M; i++) {
        for (int64_t j = 0; j < N; j++) {
            double sum = 0;
            for (int64_t k = 0; k < K; k++) {
                sum += get(&x[0], dtype, i, k) * get(&x[1], dtype, k, j);
            }
            if (get(&x[2], dtype, i, j) != sum) {
                fail_msg("%s: %s, form %d, operand %d is %lld apart: wrong at %d, %d", library, bp_dtype_name(dtype),
                         form, far, (long long)distance, (int)i, (int)j);
            }
        }
    }
}

static void products_of_far_columns(void **state) {
    const size_t bytes = ((size_t)distances[DISTANCES - 1] * MOST + MOST) * sizeof(double);
    bp_library_info library = {.struct_size = sizeof library};
    char *memory[OPERANDS];
    bp_scope *scope;
    (void)state;
    for (int i = 0; i < OPERANDS; i++) {
        memory[i] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory[i] == MAP_FAILED) {
            print_message("left out: this system has no %zu bytes of addresses\n", bytes);
            skip();
        }
    }
    for (int l = 0; bp_library_at(l, &library); l++) {
        if (library.state != BP_LIBRARY_OK ||
            !(library.kinds & (BP_LIB_BLAS | BP_LIB_SMM | BP_LIB_DNN | BP_LIB_BUILTIN))) {
            continue;
        }
        char settings[128];
        snprintf(settings, sizeof settings, "num_threads=1,dispatch.fallback=strict,blas.preferred=%s", library.id);
        assert_int_equal(bp_scope_enter(&scope, settings), BP_OK);
        for (int i = 0; i < DTYPES * OPERANDS * FORMS * DISTANCES; i++) {
            check(library.id, memory, dtypes[i % DTYPES], i / DTYPES % OPERANDS, i / DTYPES / OPERANDS % FORMS,
                  distances[i / DTYPES / OPERANDS / FORMS]);
        }
        assert_int_equal(bp_scope_leave(&scope), BP_OK);
    }
    for (int i = 0; i < OPERANDS; i++) {
        munmap(memory[i], bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_of_far_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
