/* clock.c - time that only moves forward, for measuring. */
#define _GNU_SOURCE
#include "base/base.h"

#include <time.h>

int64_t bp__now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
