/* bounds.c - checks that matrix products access their operands only.
 *
 * Each operand lies between pages that cannot be accessed, at their end and then at their start. The first call that
 * goes beyond one is reported. Kernels for vectors have a main loop and tails, and some of these read whole vectors, so
 * that sizes around the lengths of vectors are taken, also with increments and leading dimensions. The routines are
 * those that the blas provider calls.
 */
#include "probe/checks.h"
#include "probe/guards.h"

#include "providers/blas/routines.h"

#include <stdio.h>

enum { OPERANDS = 3, REGION = 1 << 18 };

typedef BP__BLAS_FORTRAN_GEMV(fortran_gemv, void, int64_t);
typedef BP__BLAS_FORTRAN_GEMM(fortran_gemm, void, int64_t);
typedef BP__BLAS_C_GEMV(c_sgemv, float, float, int64_t);
typedef BP__BLAS_C_GEMV(c_dgemv, double, double, int64_t);
typedef BP__BLAS_C_GEMV(c_zgemv, const void *, void, int64_t);
typedef BP__BLAS_C_GEMM(c_sgemm, float, float, int64_t);
typedef BP__BLAS_C_GEMM(c_dgemm, double, double, int64_t);
typedef BP__BLAS_C_GEMM(c_zgemm, const void *, void, int64_t);

/* One routine, and the numbers of the current call. gemv takes A, x and y; x and y are named B and C here. */
typedef struct bounded {
    trial *t;
    void *routine;
    bool c_interface, vector;
    product_call *call; /* in memory that outlives this process, for the report if the routine does not return */
    int64_t alpha, beta;
    guard_access access; /* of memory outside of the operands; the shapes end there */
} bounded;

static size_t element_of(const bounded *b) {
    return (size_t)(b->t->type->is_double ? 8 : 4) * (b->t->type->is_complex ? 2 : 1);
}

/* ---- Memory ---- */

static bool open_ones(const number_type *type) {
    const number_type real = {type->letter, type->is_double, false};
    const bool enough = guards_begin(OPERANDS, REGION, type);
    for (int operand = 0; operand < OPERANDS && enough; operand++) {
        char *region = guards_place(operand, REGION, true);
        for (int64_t i = 0; i < REGION / (type->is_double ? 8 : 4); i++) {
            put_number(&real, region, i, 1);
        }
    }
    return enough;
}

/* Returns the address of an operand of that many elements, at the start or the end of its region. */
static char *place(const bounded *b, int operand, int64_t elements, bool at_end) {
    return guards_place(operand, (size_t)elements * element_of(b), at_end);
}

static int64_t matrix_elements(int64_t rows, int64_t columns, int64_t ld) {
    return (columns - 1) * ld + rows;
}

static int64_t vector_elements(int64_t length, int64_t increment) {
    return (length - 1) * (increment < 0 ? -increment : increment) + 1;
}

/* ---- Calls ---- */

static unsigned c_op(char op) {
    return op == 'N' ? BP__BLAS_AS_IS : op == 'T' ? BP__BLAS_TRANSPOSE : BP__BLAS_CONJUGATE_TRANSPOSE;
}

static void call_gemv(const bounded *b, const void *alpha, const void *beta, const void *a, const void *x, void *y) {
    const product_call *c = b->call;
    const number_type *type = b->t->type;
    const unsigned op = c_op(c->op_a);
    if (!b->c_interface) {
        ((fortran_gemv *)b->routine)(&c->op_a, &c->m, &c->n, alpha, a, &c->ld_a, x, &c->ld_b, beta, y, &c->ld_c, 1);
    } else if (type->is_complex) {
        ((c_zgemv *)b->routine)(BP__BLAS_COLUMN_MAJOR, op, c->m, c->n, alpha, a, c->ld_a, x, c->ld_b, beta, y, c->ld_c);
    } else if (type->is_double) {
        ((c_dgemv *)b->routine)(BP__BLAS_COLUMN_MAJOR, op, c->m, c->n, (double)b->alpha, a, c->ld_a, x, c->ld_b,
                                (double)b->beta, y, c->ld_c);
    } else {
        ((c_sgemv *)b->routine)(BP__BLAS_COLUMN_MAJOR, op, c->m, c->n, (float)b->alpha, a, c->ld_a, x, c->ld_b,
                                (float)b->beta, y, c->ld_c);
    }
}

static void call_gemm(const bounded *b, const void *alpha, const void *beta, const void *x, const void *y, void *z) {
    const product_call *c = b->call;
    const number_type *type = b->t->type;
    const unsigned op_a = c_op(c->op_a), op_b = c_op(c->op_b);
    if (!b->c_interface) {
        ((fortran_gemm *)b->routine)(&c->op_a, &c->op_b, &c->m, &c->n, &c->k, alpha, x, &c->ld_a, y, &c->ld_b, beta, z,
                                     &c->ld_c, 1, 1);
    } else if (type->is_complex) {
        ((c_zgemm *)b->routine)(BP__BLAS_COLUMN_MAJOR, op_a, op_b, c->m, c->n, c->k, alpha, x, c->ld_a, y, c->ld_b,
                                beta, z, c->ld_c);
    } else if (type->is_double) {
        ((c_dgemm *)b->routine)(BP__BLAS_COLUMN_MAJOR, op_a, op_b, c->m, c->n, c->k, (double)b->alpha, x, c->ld_a, y,
                                c->ld_b, (double)b->beta, z, c->ld_c);
    } else {
        ((c_sgemm *)b->routine)(BP__BLAS_COLUMN_MAJOR, op_a, op_b, c->m, c->n, c->k, (float)b->alpha, x, c->ld_a, y,
                                c->ld_b, (float)b->beta, z, c->ld_c);
    }
}

/* Makes the call with the operands at both places. Returns whether it stayed within them. */
static bool call_at_both(bounded *b, int64_t size_a, int64_t size_b, int64_t size_c) {
    double alpha[2], beta[2];
    put_number(b->t->type, alpha, 0, (double)b->alpha);
    put_number(b->t->type, beta, 0, (double)b->beta);
    for (int at_end = 0; at_end < 2 && b->access == GUARD_UNTOUCHED; at_end++) {
        (b->vector ? call_gemv : call_gemm)(b, alpha, beta, place(b, 0, size_a, at_end), place(b, 1, size_b, at_end),
                                            place(b, 2, size_c, at_end));
        b->access = guards_accessed();
    }
    return b->access == GUARD_UNTOUCHED;
}

void print_product(const product_call *c, char *text, size_t size) {
    text[0] = 0;
    if (c->k > 0) {
        snprintf(text, size, " (op %c%c, %dx%dx%d)", c->op_a, c->op_b, (int)c->m, (int)c->n, (int)c->k);
    } else if (c->m > 0) {
        snprintf(text, size, " (op %c, %dx%d, ld %d, increments %d and %d)", c->op_a, (int)c->m, (int)c->n,
                 (int)c->ld_a, (int)c->ld_b, (int)c->ld_c);
    }
}

/* ---- Shapes ---- */

/* Number `index` selects the layout and the factors, so that all of them occur with sizes of every kind. */
static bool try_gemv(bounded *b, char op, int64_t m, int64_t n, int index) {
    static const int64_t increments[] = {1, 1, 2, 1, -1, 1, -3};
    const int64_t length_x = op == 'N' ? n : m, length_y = op == 'N' ? m : n;
    product_call *c = b->call;
    *c = (product_call){.op_a = op, .m = m, .n = n};
    c->ld_a = m + (index % 5 == 4 ? 3 : 0);
    c->ld_b = increments[index % 7];
    c->ld_c = increments[index / 2 % 7];
    b->alpha = 1 + index % 2;
    b->beta = index % 3 == 0;
    return call_at_both(b, matrix_elements(m, n, c->ld_a), vector_elements(length_x, c->ld_b),
                        vector_elements(length_y, c->ld_c));
}

/* All rows with few columns and the other way round, in the plain layout, and every third one in another one. */
static void try_all_gemv(bounded *b) {
    static const int64_t longer[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 16, 17, 18, 31, 32, 33, 34, 63, 66, 126};
    static const int64_t shorter[] = {1, 2, 3, 5, 8, 17};
    const int ops = b->t->type->is_complex ? 3 : 2;
    int index = 0;
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++) {
        for (size_t j = 0; j < sizeof shorter / sizeof *shorter; j++) {
            for (int op = 0; op < 2 * ops; op++, index++) {
                const bool wide = op >= ops;
                const int64_t m = wide ? shorter[j] : longer[i], n = wide ? longer[i] : shorter[j];
                if (!try_gemv(b, "NTC"[op % ops], m, n, 0) ||
                    ((i + j) % 3 == 0 && !try_gemv(b, "NTC"[op % ops], m, n, index))) {
                    return;
                }
            }
        }
    }
}

static bool try_gemm(bounded *b, int ops, int64_t m, int64_t n, int64_t k, int index) {
    const int64_t gap = index % 5 == 4 ? 3 : 0;
    product_call *c = b->call;
    *c = (product_call){.op_a = "NTC"[ops % 3], .op_b = "NTC"[ops / 3], .m = m, .n = n, .k = k};
    c->ld_a = (c->op_a == 'N' ? m : k) + gap;
    c->ld_b = (c->op_b == 'N' ? k : n) + gap;
    c->ld_c = m + gap;
    b->alpha = 1 + index % 2;
    b->beta = index % 3 == 0;
    return call_at_both(b, c->op_a == 'N' ? matrix_elements(m, k, c->ld_a) : matrix_elements(k, m, c->ld_a),
                        c->op_b == 'N' ? matrix_elements(k, n, c->ld_b) : matrix_elements(n, k, c->ld_b),
                        matrix_elements(m, n, c->ld_c));
}

/* Every shape with some transpositions; each one occurs with sizes of every kind. */
static void try_all_gemm(bounded *b) {
    static const int64_t sizes[] = {1, 2, 3, 7, 8, 17, 34};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    const int step = b->t->type->is_complex ? 9 : 4;
    for (int shape = 0, index = 0; shape < SIZES * SIZES * SIZES; shape++) {
        for (int ops = 0; ops < 9; ops++) {
            const bool conjugates = ops % 3 == 2 || ops / 3 == 2;
            if ((shape + ops) % step == 0 && (b->t->type->is_complex || !conjugates) &&
                !try_gemm(b, ops, sizes[shape % SIZES], sizes[shape / SIZES % SIZES], sizes[shape / SIZES / SIZES],
                          index++)) {
                return;
            }
        }
    }
}

/* ---- The checks ---- */

/* Finds the routine in the interface that the library has, and records its name. */
static bool find_routine(bounded *b, const char *stem) {
    const subject *library = b->t->library;
    char *name = b->t->state->routine;
    b->c_interface = !(library->kinds & BP_LIB_BLAS);
    snprintf(name, sizeof b->t->state->routine, "%s%c%s", b->c_interface ? "cblas_" : "", b->t->type->letter, stem);
    b->routine = (b->c_interface ? c_routine : fortran_routine)(library, name);
    return b->routine != NULL;
}

static const char *describe(const bounded *b) {
    static char text[192];
    char call[96];
    print_product(b->call, call, sizeof call);
    snprintf(text, sizeof text, "%s memory outside of its operands in probe: %s%s", guard_access_text(b->access),
             b->t->state->routine, call);
    return text;
}

/* Returns NULL, also if the library does not have the routine, which the provider then does not call. */
static const char *check(trial *t, const char *stem, bool vector, void (*try_all)(bounded *)) {
    bounded b = {.t = t, .vector = vector, .call = &t->state->product};
    if (!find_routine(&b, stem)) {
        return NULL;
    }
    const bool enough = open_ones(t->type);
    if (enough) {
        try_all(&b);
    }
    guards_end();
    return !enough ? "not tested: no memory" : b.access == GUARD_UNTOUCHED ? NULL : describe(&b);
}

const char *check_gemv_memory(trial *t) {
    return check(t, "gemv", true, try_all_gemv);
}

const char *check_gemm_memory(trial *t) {
    return check(t, "gemm", false, try_all_gemm);
}
