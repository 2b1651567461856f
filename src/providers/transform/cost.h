/* cost.h - declares a cost model of Fourier transforms on one core, which providers of transforms share. Each provider
 * passes the numbers of its library. The estimates only rank candidates; they are not predictions. */
#ifndef BP_TRANSFORM_COST_H
#define BP_TRANSFORM_COST_H

#include "backplane/provider.h"

#include <stdbool.h>

#define BP__TRANSFORM_RATES 7
#define BP__TRANSFORM_PRIMES 6 /* 2, 3, 5, 7, 11, 13 */

/* Index 0 is f64, 1 is f32. */
typedef struct bp__transform_speed {
    /* Operations (5 n log2 n) per nanosecond, by the bytes of one item's input and output: 2^15, 2^17, ... 2^27. */
    double rates[BP__TRANSFORM_RATES][2];
    /* Cost of a prime factor p of a length, in terms of log2 p factors 2: of those up to 13; of those up to 61, divided
     * by p in place of log2 p; of larger ones. */
    double weights[2][BP__TRANSFORM_PRIMES], middle_primes[2], large_primes[2];
    double dimension[2]; /* factors 2 that each dimension but one costs in addition */
    double real[2];      /* slowdown factor of real input or output, for the same number of operations */
    double odd[2];  /* slowdown factor of the last dimension of a real transform if its length is odd, in addition */
    double strided; /* slowdown factor if no transformed dimension is contiguous */
} bp__transform_speed;

/* Returns the nanoseconds of all items of a problem: operations, and memory traffic beyond the caches. */
double bp__transform_items_ns(const bp_fft_problem *fft, bool single, const bp__transform_speed *speed);

/* Returns the bytes that all items read and write. */
double bp__transform_bytes(const bp_fft_problem *fft, bool single);

/* Returns the nanoseconds of another pass over `bytes` bytes. It costs nothing in a second-level cache. */
double bp__transform_stream_ns(double bytes);

#endif
