/* products.c - checks small matrix products in every data type and transposition against the plain sum.
 *
 * C is NaN if beta is zero, because the BLAS must not read it then. Integers are passed as 64-bit values: see
 * conventions.c; by value, a 32-bit routine takes the low half of the register or stack slot.
 */
#include "probe/numbers.h"
#include "probe/probe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 17, CAPACITY = 2 * MOST * MOST };

const number_type number_types[4] = {{'s', false, false}, {'d', true, false}, {'c', false, true}, {'z', true, true}};

/* A matrix of any of the four types; an element is read and written as a double complex. */
typedef union matrix {
    float f[CAPACITY];
    double d[CAPACITY];
} matrix;

typedef struct product {
    number_type type;
    char op_a, op_b; /* 'N', 'T', 'C' */
    int64_t m, n, k;
    double complex alpha, beta;
} product;

/* Returns element (i, j) of op(X); X is column-major with a leading dimension. */
static double complex element(const number_type *type, const matrix *of, char op, int64_t leading, int64_t i,
                              int64_t j) {
    double complex value = get_number(type, of, op == 'N' ? i + j * leading : j + i * leading);
    return op == 'C' ? conj(value) : value;
}

static void fill(const number_type *type, matrix *of, unsigned seed) {
    memset(of, 0, sizeof *of);
    for (int64_t i = 0; i < MOST * MOST; i++) {
        seed = seed * 1103515245u + 12345u;
        put_number(type, of, i, ((int)(seed >> 16) % 9 - 4) * 0.25 + ((int)(seed >> 20) % 7 - 3) * 0.5 * I);
    }
}

typedef void fortran_gemm(const char *, const char *, const int64_t *, const int64_t *, const int64_t *, const void *,
                          const void *, const int64_t *, const void *, const int64_t *, const void *, void *,
                          const int64_t *, size_t, size_t);
typedef void c_sgemm(int, int, int, int64_t, int64_t, int64_t, float, const void *, int64_t, const void *, int64_t,
                     float, void *, int64_t);
typedef void c_dgemm(int, int, int, int64_t, int64_t, int64_t, double, const void *, int64_t, const void *, int64_t,
                     double, void *, int64_t);
typedef void c_zgemm(int, int, int, int64_t, int64_t, int64_t, const void *, const void *, int64_t, const void *,
                     int64_t, const void *, void *, int64_t);

static void call_fortran(void *address, const product *p, const matrix *a, int64_t lda, const matrix *b, int64_t ldb,
                         matrix *c, int64_t ldc) {
    matrix factors[2];
    put_number(&p->type, &factors[0], 0, p->alpha);
    put_number(&p->type, &factors[1], 0, p->beta);
    ((fortran_gemm *)address)(&p->op_a, &p->op_b, &p->m, &p->n, &p->k, &factors[0], a, &lda, b, &ldb, &factors[1], c,
                              &ldc, 1, 1);
}

static int c_word(char op) {
    return op == 'N' ? 111 : op == 'T' ? 112 : 113; /* CblasNoTrans, CblasTrans, CblasConjTrans */
}

static void call_c(void *address, const product *p, const matrix *a, int64_t lda, const matrix *b, int64_t ldb,
                   matrix *c, int64_t ldc) {
    enum { COLUMN_MAJOR = 102 };
    int op_a = c_word(p->op_a), op_b = c_word(p->op_b);
    if (p->type.is_complex) {
        matrix factors[2];
        put_number(&p->type, &factors[0], 0, p->alpha);
        put_number(&p->type, &factors[1], 0, p->beta);
        ((c_zgemm *)address)(COLUMN_MAJOR, op_a, op_b, p->m, p->n, p->k, &factors[0], a, lda, b, ldb, &factors[1], c,
                             ldc);
    } else if (p->type.is_double) {
        ((c_dgemm *)address)(COLUMN_MAJOR, op_a, op_b, p->m, p->n, p->k, creal(p->alpha), a, lda, b, ldb,
                             creal(p->beta), c, ldc);
    } else {
        ((c_sgemm *)address)(COLUMN_MAJOR, op_a, op_b, p->m, p->n, p->k, (float)creal(p->alpha), a, lda, b, ldb,
                             (float)creal(p->beta), c, ldc);
    }
}

static bool product_is_right(void *address, bool c_interface, const product *p) {
    matrix a, b, c, before;
    int64_t lda = p->op_a == 'N' ? p->m : p->k, ldb = p->op_b == 'N' ? p->k : p->n, ldc = p->m;
    double tolerance = (p->type.is_double ? 1e-13 : 1e-5) * (double)(p->k + 1) * 16;
    fill(&p->type, &a, 1);
    fill(&p->type, &b, 2);
    fill(&p->type, &c, 3);
    for (int64_t i = 0; p->beta == 0 && i < p->m * p->n; i++) {
        put_number(&p->type, &c, i, (double)NAN);
    }
    before = c;
    (c_interface ? call_c : call_fortran)(address, p, &a, lda, &b, ldb, &c, ldc);
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            double complex sum = 0;
            for (int64_t l = 0; l < p->k; l++) {
                sum += element(&p->type, &a, p->op_a, lda, i, l) * element(&p->type, &b, p->op_b, ldb, l, j);
            }
            sum *= p->alpha;
            if (p->beta != 0) {
                sum += p->beta * get_number(&p->type, &before, i + j * ldc);
            }
            if (!(cabs(get_number(&p->type, &c, i + j * ldc) - sum) <= tolerance)) {
                return false;
            }
        }
    }
    return true;
}

/* Checks all transpositions, sizes and factors of one routine; reports the first wrong result. */
static void check_routine(void *address, bool c_interface, const number_type *type, const char *name) {
    static const int64_t sizes[][3] = {{1, 1, 1}, {3, 4, 5}, {MOST, 9, 13}};
    static const char ops[] = "NTC";
    for (int s = 0; s < 3; s++) {
        for (int variant = 0; variant < 18; variant++) {
            product p = {*type, ops[variant % 3], ops[variant / 3 % 3], sizes[s][0], sizes[s][1], sizes[s][2], 1, 0};
            if (variant >= 9) {
                p.alpha = type->is_complex ? 1.5 - 0.5 * I : 1.5;
                p.beta = type->is_complex ? -0.75 + 0.25 * I : -0.75;
            }
            if (!product_is_right(address, c_interface, &p)) {
                report("wrong", "%s (op %c%c, %dx%dx%d)", name, p.op_a, p.op_b, (int)p.m, (int)p.n, (int)p.k);
                return;
            }
        }
    }
}

void check_products(const subject *library) {
    char name[32], step[64];
    for (int t = 0; t < 4; t++) {
        for (int c_interface = 0; c_interface < 2; c_interface++) {
            snprintf(name, sizeof name, "%s%cgemm", c_interface ? "cblas_" : "", number_types[t].letter);
            bool offered = (library->kinds & (c_interface ? BP_LIB_CBLAS : BP_LIB_BLAS)) != 0;
            void *address = !offered ? NULL : c_interface ? c_routine(library, name) : fortran_routine(library, name);
            if (address) {
                snprintf(step, sizeof step, "in %s", name);
                report("step", "%s", step);
                check_routine(address, c_interface != 0, &number_types[t], name);
            }
        }
    }
}

void multiply_squares(const subject *library, int first_type, int64_t side, void *memory) {
    const bool c_interface = !(library->kinds & BP_LIB_BLAS);
    const size_t size = (size_t)(side * side) * sizeof(double complex);
    memset(memory, 0, 3 * size);
    matrix *a = memory, *b = (matrix *)((char *)memory + size), *c = (matrix *)((char *)memory + 2 * size);
    for (int t = first_type; t < 4 && library->kinds & (BP_LIB_BLAS | BP_LIB_CBLAS); t++) {
        const product square = {number_types[t], 'N', 'N', side, side, side, 1, 0};
        char name[16];
        snprintf(name, sizeof name, "%s%cgemm", c_interface ? "cblas_" : "", number_types[t].letter);
        void *address = c_interface ? c_routine(library, name) : fortran_routine(library, name);
        if (address) {
            (c_interface ? call_c : call_fortran)(address, &square, a, side, b, side, c, side);
        }
    }
}

void try_product(const subject *library) {
    const product small = {number_types[0], 'N', 'N', 3, 4, 5, 1, 0};
    bool c_interface = !(library->kinds & BP_LIB_BLAS);
    void *address = c_interface ? c_routine(library, "cblas_sgemm") : fortran_routine(library, "sgemm");
    if (address) {
        product_is_right(address, c_interface, &small);
    }
}
