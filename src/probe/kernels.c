/* kernels.c - checks the kernels that libxsmm generates for small matrix products, and finds the width of its integers.
 *
 * The elements are small integers, so that every right result is exact in any order of the sums. C is NaN if beta is 0,
 * because a kernel must not read it then. Elements between the columns must keep their value.
 */
#include "probe/numbers.h"
#include "probe/probe.h"

#include "providers/xsmm/api.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 33, GAP = 3, CAPACITY = (MOST + GAP) * MOST };

typedef void any_kernel(const void *a, const void *b, void *c, ...);
typedef BP__XSMM_DISPATCH(any_dispatch, any_kernel *, int64_t, void);

/* A matrix of either type. */
typedef union matrix {
    float f[CAPACITY];
    double d[CAPACITY];
} matrix;

typedef struct product {
    const number_type *type;
    int64_t m, n, k, gap;  /* gap: elements between the columns of each matrix */
    bool transposed, adds; /* B is passed transposed; beta is 1 */
} product;

static any_kernel *kernel_of(any_dispatch *dispatch, const product *p, int64_t lda, int64_t ldb, int64_t ldc) {
    matrix factors[2]; /* alpha and beta in the product's type */
    const int flags = p->transposed ? BP__XSMM_FLAG_TRANS_B : BP__XSMM_FLAG_NONE, prefetch = BP__XSMM_PREFETCH_NONE;
    put_number(p->type, &factors[0], 0, 1);
    put_number(p->type, &factors[1], 0, p->adds);
    return dispatch(p->m, p->n, p->k, &lda, &ldb, &ldc, &factors[0], &factors[1], &flags, &prefetch);
}

static double of_a(int64_t i, int64_t l) {
    return (double)((i * 7 + l * 3) % 11 - 5);
}

static double of_b(int64_t l, int64_t j) {
    return (double)((j * 5 + l * 2) % 7 - 3);
}

static bool is_right(any_kernel *kernel, const product *p, int64_t lda, int64_t ldb, int64_t ldc) {
    static matrix a, b, c;
    const double mark = 77, before = p->adds ? 9 : (double)NAN;
    for (int64_t i = 0; i < CAPACITY; i++) { /* also between the columns */
        put_number(p->type, &a, i, (double)NAN);
        put_number(p->type, &b, i, (double)NAN);
        put_number(p->type, &c, i, mark);
    }
    for (int64_t l = 0; l < p->k; l++) {
        for (int64_t i = 0; i < p->m; i++) {
            put_number(p->type, &a, i + l * lda, of_a(i, l));
        }
        for (int64_t j = 0; j < p->n; j++) {
            put_number(p->type, &b, p->transposed ? j + l * ldb : l + j * ldb, of_b(l, j));
        }
    }
    for (int64_t j = 0; j < p->n; j++) {
        for (int64_t i = 0; i < p->m; i++) {
            put_number(p->type, &c, i + j * ldc, before);
        }
    }
    kernel(&a, &b, &c);
    for (int64_t at = 0; at < CAPACITY; at++) {
        const int64_t i = at % ldc, j = at / ldc;
        double expected = i < p->m && j < p->n ? (p->adds ? before : 0) : mark;
        for (int64_t l = 0; l < p->k && i < p->m && j < p->n; l++) {
            expected += of_a(i, l) * of_b(l, j);
        }
        if (!(creal(get_number(p->type, &c, at)) == expected)) {
            return false;
        }
    }
    return true;
}

static const char *name_of(const number_type *type) {
    return type->is_double ? "libxsmm_dmmdispatch" : "libxsmm_smmdispatch";
}

/* Checks kernels of several sizes; returns false after the first report. */
static bool check_type(any_dispatch *dispatch, const number_type *type) {
    static const int64_t sizes[][3] = {{1, 1, 1}, {3, 4, 5}, {8, 8, 8}, {17, 9, 13}, {MOST, 31, 32}, {1, MOST, 6}};
    for (int variant = 0; variant < 4 * 6; variant++) {
        const int64_t *size = sizes[variant / 4];
        const product p = {type, size[0], size[1], size[2], variant / 4 % 2 ? GAP : 0, variant & 1, variant & 2};
        const int64_t lda = p.m + p.gap, ldb = (p.transposed ? p.n : p.k) + p.gap, ldc = p.m + p.gap;
        any_kernel *kernel = kernel_of(dispatch, &p, lda, ldb, ldc);
        if (!kernel) {
            report("unusable", "it generates no kernel for this processor, or may not make memory executable (%s)",
                   name_of(type));
            return false;
        }
        if (!is_right(kernel, &p, lda, ldb, ldc)) {
            report("wrong", "%s (op N%c, %dx%dx%d)", name_of(type), p.transposed ? 'T' : 'N', (int)p.m, (int)p.n,
                   (int)p.k);
            return false;
        }
    }
    return true;
}

/* Passes leading dimensions that are 8 in their low half and too large as a whole: only a library with integers of 32
 * bits generates a kernel. */
static void find_width(subject *library, any_dispatch *dispatch) {
    const product p = {.type = &number_types[0], .m = 8, .n = 8, .k = 8};
    const int64_t leading = (INT64_C(1) << 40) + 8;
    library->int_bits = kernel_of(dispatch, &p, leading, leading, leading) ? 32 : 64;
    report("int_bits", "%d", library->int_bits);
    report_how("int_bits", "leading dimensions that differ by width");
}

void check_generated_kernels(subject *library) {
    any_dispatch *dispatch[2];
    for (int t = 0; t < 2 && (library->kinds & BP_LIB_SMM); t++) {
        const char *name = name_of(&number_types[t]);
        char step[64];
        dispatch[t] = (any_dispatch *)own_symbol(library, name);
        if (!dispatch[t]) {
            report("unusable", "it lacks %s: the provider needs the interface of version 1", name);
            return;
        }
        snprintf(step, sizeof step, "in a kernel of %s", name);
        report("step", "%s", step);
        if (!check_type(dispatch[t], &number_types[t])) {
            return;
        }
        if (t == 1) {
            find_width(library, dispatch[0]);
        }
    }
}
