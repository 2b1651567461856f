/* contract.h - a contraction with any strides, run by the native provider through a host of the tests, beside plain
 * loops in long double. */
#ifndef TESTS_NATIVE_CONTRACT_H
#define TESTS_NATIVE_CONTRACT_H

#include "backplane/provider.h"
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

/* A capability of the library, or the vectors of AVX-512 compiled for AVX2 (see wide/). */
typedef enum kernels { KERNELS_DEFAULT, KERNELS_AVX2, KERNELS_AVX512, KERNELS_WIDE, KERNELS_SETS } kernels;
bool runs_here(kernels set);
#define EACH_SET(set)                                                                                                  \
    for (kernels set = KERNELS_DEFAULT; set < KERNELS_SETS; set++)                                                     \
        if (runs_here(set))
#define EACH_DTYPE(dtype) for (bp_dtype dtype = BP_F16; dtype <= BP_C128; dtype++)

typedef struct task {
    bp_dtype dtype;
    int ndim, kept;
    int64_t size[BP_MAX_CONTRACT_NDIM];
    int64_t step[SIDES][BP_MAX_CONTRACT_NDIM]; /* in elements */
    bool second, in_place;
    bool aside; /* addresses are off by the least that they may be */
    kernels set;
    int threads;
    unsigned seed;
} task;

/* A task's operands in memory. */
typedef struct operands {
    task t;
    bp_problem problem;
    char *memory[SIDES]; /* exactly what the strides span */
    char *before[SIDES]; /* what it held before the call */
    size_t bytes[SIDES];
    char *first[SIDES]; /* element 0; NULL where the operand is not there */
    bp_verdict verdict;
} operands;

bool is_complex(bp_dtype dtype);
/* Half the distance from 1 to the next number of the type. */
long double roundoff(bp_dtype dtype);

/* The next number of a generator of its own, below `below`. */
uint64_t draw(uint64_t *state, uint64_t below);

/* All operands with their memory: inputs are random numbers around 0, and C is marked. */
void make_operands(operands *o, const task *t);
void free_operands(operands *o);
bp_status run_task(operands *o);

/* The element of an operand in a place, given by an index for each dimension. */
char *element(const operands *o, int side, const int64_t *index);
wide value_of(bp_dtype dtype, const void *at);
wide get(const operands *o, int side, const int64_t *index);
/* Puts a value that the type has exactly. */
void put(const operands *o, int side, const int64_t *index, wide value);
/* The next index over dimensions `from` to `until`, the last one fastest; false after the last one. */
bool advance(const task *t, int from, int until, int64_t *index);
/* What C should be in a place of the kept dimensions, and the sum of the moduli of all terms. */
wide reference(const operands *o, int64_t *index, long double *moduli);

/* Every element of C against the reference, within what the roundings of a sum in pieces can be; and nothing else was
 * written. */
void check_results(const operands *o);
void check_surroundings(const operands *o);
/* All of it. */
void check_task(const task *t);

/* Gives an operand strides as if it had been made with its dimensions in this order, the fastest last, each with room
 * for `gap` more elements than it has. */
void lay_out(task *t, int side, const int *order, int count, int64_t gap);

#endif
