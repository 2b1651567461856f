/* contract.h - declares a contraction with any strides, its run by the native provider on a test host, and its check
 * against the reference. */
#ifndef TESTS_NATIVE_CONTRACT_H
#define TESTS_NATIVE_CONTRACT_H

#include "backplane/provider.h"
#include "support/arrays.h"
#include "support/host.h"
#include "support/offers.h"

#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

typedef long double complex wide;
enum { A, B, C, SIDES };

/* A capability of the library, or the AVX-512 vectors compiled for AVX2 (see wide/). */
typedef enum kernels { KERNELS_DEFAULT, KERNELS_AVX2, KERNELS_AVX512, KERNELS_WIDE, KERNELS_SETS } kernels;
bool runs_here(kernels set);
#define EACH_SET(set)                                                                                                  \
    for (kernels set = KERNELS_DEFAULT; set < KERNELS_SETS; set++)                                                     \
        if (runs_here(set))
#define EACH_DTYPE(dtype) for (bp_dtype dtype = BP_F16; dtype <= BP_C128; dtype++)

typedef struct task {
    bp_dtype dtype;
    int ndim, output_ndim;
    int64_t size[BP_MAX_CONTRACT_NDIM];
    int64_t step[SIDES][BP_MAX_CONTRACT_NDIM]; /* in elements */
    bool has_b, in_place;
    bool misaligned; /* addresses have the smallest alignment that is allowed */
    kernels set;
    int threads;
    unsigned seed;
} task;

/* The operands of a task. */
typedef struct operands {
    task t;
    bp_problem problem;
    test_array array[SIDES]; /* without memory: there is no such operand, or C is A */
    test_array before[SIDES];
    char *first[SIDES]; /* element 0; NULL if there is no such operand */
    bp_verdict verdict;
} operands;

bool is_complex(bp_dtype dtype);
/* Returns half the distance from 1 to the next number of the type. */
long double roundoff(bp_dtype dtype);

/* Returns the next random number below `below`, of test_array_random. */
int draw(int below);

/* Makes all operands. Inputs are random numbers around 0. */
void make_operands(operands *o, const task *t);
void free_operands(operands *o);
bp_status run_task(operands *o);

/* Return the address of an element, and read and write it; `index` has an entry for each dimension. */
char *element(const operands *o, int side, const int64_t *index);
wide get(const operands *o, int side, const int64_t *index);
void put(const operands *o, int side, const int64_t *index, wide value);
/* Advances the index over dimensions [from, until), the last one fastest. Returns false after the last index. */
bool advance(const task *t, int from, int until, int64_t *index);
/* Returns the bytes of an operand from its lowest to its highest element. */
size_t bytes_of(const operands *o, int side);

/* Checks every element of C against the reference, within so many roundings of its sum (0: the roundings of a split
 * sum), and checks that nothing else was written. The task has run. */
void check_results(const operands *o, double roundings);
/* Makes the operands, runs the task and checks everything. */
void check_task(const task *t);

/* Sets an operand's strides as if its dimensions had been allocated in this order, fastest last, with `gap` extra
 * elements in each. */
void lay_out(task *t, int side, const int *order, int count, int64_t gap);

#endif
