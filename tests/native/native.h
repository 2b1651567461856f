/* native.h - declares a matrix product in known layouts, its run by the native provider on a test host, and its check
 * against a reference. */
#ifndef TESTS_NATIVE_H
#define TESTS_NATIVE_H

#include "backplane/provider.h"
#include "support/host.h"
#include "support/offers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

typedef enum layout {
    ROWS,     /* compact, row by row */
    COLUMNS,  /* compact, column by column */
    PADDED,   /* row by row, with gaps between rows */
    STRIDED,  /* no direction is contiguous */
    BACKWARD, /* both strides negative */
    SAME_ROW, /* row stride 0; inputs only */
    LAYOUTS
} layout;

/* A kernel set: a capability of the library, or the AVX-512 tile compiled for AVX2 (see wide/). The last two are the
 * algorithm "bf16" of products of bf16 and f32, with the processor's instruction, and with a model of it; other
 * problems run with the default kernels then. */
typedef enum kernels {
    KERNELS_DEFAULT,
    KERNELS_AVX2,
    KERNELS_AVX512,
    KERNELS_WIDE,
    KERNELS_BF16,
    KERNELS_BF16_MODEL,
    KERNELS_SETS
} kernels;

typedef struct product {
    bp_dtype dtype;
    int64_t m, n, k, batch;
    layout a, b, c;
    bool conjugate_a, conjugate_b, share_b; /* share_b: one B for the whole batch */
    bp_scalar alpha, beta;
    bool any_factors; /* alpha and beta have the class ANY even if they are 0 or 1 */
    kernels set;
    int threads;
    unsigned seed;
    bool whole_numbers; /* small integers, so that every sum is exact */
} product;

/* The operands of a product and the memory around them. */
typedef struct operands {
    bp_problem problem;
    void *memory[3]; /* A, B, C as allocated: exactly the range of the layout */
    char *first[3];  /* element (0, 0) of the first product */
    size_t bytes[3];
} operands;

bool runs_here(kernels set);
const char *kernels_name(kernels set);
/* Returns whether the product runs with the algorithm "bf16", which rounds f32 inputs, and drops denormal numbers. */
bool rounds_to_bf16(const product *p);

int parts_of(bp_dtype dtype); /* 2 for complex types */
double get_part(bp_dtype dtype, const void *at, int part);
void set_part(bp_dtype dtype, void *at, int part, double value);
/* Returns the address of element (i, j) of product `item`, for operand 0..2. */
void *element(const operands *o, int operand, int64_t item, int64_t i, int64_t j);

/* Fills A, B and C with numbers from `seed`, including the gaps of C. */
void make_operands(operands *o, const product *p);
void free_operands(operands *o);
/* Runs the first offer on the operands. NULL as `c` means the operands' own C. */
bp_status run_product(const operands *o, const product *p, void *c);
/* Return the number of the provider's offers, and run one of them. */
int count_offers(const operands *o, const product *p);
bp_status run_offer(const operands *o, const product *p, int index, void *c);
/* Returns the threads of the verdict. */
int threads_planned(const operands *o, const product *p);
/* Runs every offer, with and without operands packed beforehand. Compares the results with sums in long double, within
 * the error bound of the type, and checks the bytes around C. */
void check_product(const product *p);

#endif
