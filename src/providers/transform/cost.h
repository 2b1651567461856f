/* cost.h - one model of how long Fourier transforms take on one core, shared by the providers that drive libraries of
 * transforms; each brings the numbers of its own library. For putting candidates in order, not for prediction. */
#ifndef BP_TRANSFORM_COST_H
#define BP_TRANSFORM_COST_H

#include "backplane/provider.h"

#include <stdbool.h>

#define BP__TRANSFORM_RATES 7
#define BP__TRANSFORM_PRIMES 6 /* 2, 3, 5, 7, 11, 13 */

/* Index 0 is f64, 1 is f32. */
typedef struct bp__transform_speed {
    /* Operations (5 n log2 n) per nanosecond by the memory of one item, in and out: 2^15 bytes, 2^17, ... 2^27. */
    double rates[BP__TRANSFORM_RATES][2];
    double weights[BP__TRANSFORM_PRIMES]; /* what a factor of a length costs, relative to the factor 2 */
    double other_primes[2];
    double real[2]; /* slower than a complex transform of as many operations, for real input or output */
    double strided; /* slower where no dimension of the transform lies in a row */
} bp__transform_speed;

/* All items of a problem: operations, and memory that streams through the caches. */
double bp__transform_items_ns(const bp_fft_problem *fft, bool single, const bp__transform_speed *speed);

/* Bytes that all items read and write. */
double bp__transform_bytes(const bp_fft_problem *fft, bool single);

/* Another pass over so many bytes: caches of the second level give them for nothing, main memory does not. */
double bp__transform_stream_ns(double bytes);

#endif
