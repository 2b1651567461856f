/* least.h - the smaller and the larger of two numbers, for all providers. */
#ifndef BP_PROVIDERS_LEAST_H
#define BP_PROVIDERS_LEAST_H

#include <stdint.h>

static inline int64_t bp__least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t bp__most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Of numbers that are not NaN. */
static inline double bp__most_real(double a, double b) {
    return a > b ? a : b;
}

#endif
