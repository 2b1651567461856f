/* timing.h - times functions in interleaved rounds, so that a temporary slowdown of the machine affects all of them.
 * Reports the median, the minimum and the quartiles. */
#ifndef BP_BENCH_TIMING_H
#define BP_BENCH_TIMING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIMING_MOST 512

typedef struct candidate {
    const char *name;
    void (*run)(void *context);
    void *context;
    int64_t repeats; /* calls per sample; 0: found by timing_calibrate */
    int rounds;
    double ns[TIMING_MOST]; /* per call, one sample for each round */
} candidate;

static inline int64_t timing_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline double timing_sample(candidate *c, int64_t repeats) {
    int64_t start = timing_now();
    for (int64_t i = 0; i < repeats; i++) {
        c->run(c->context);
    }
    return (double)(timing_now() - start) / (double)repeats;
}

/* Finds the number of calls that take about `ns`; also warms up. */
static inline void timing_calibrate(candidate *c, double ns) {
    int64_t repeats = 1;
    double each = timing_sample(c, 1);
    while (each * (double)repeats < ns / 4 && repeats < 1 << 28) {
        repeats *= 4;
        each = timing_sample(c, repeats);
    }
    double wanted = ns / (each > 0.1 ? each : 0.1);
    c->repeats = wanted < 1 ? 1 : (int64_t)wanted;
    c->rounds = 0;
}

/* Waits until idle library threads sleep. After a call they spin and would take the other core from the next candidate:
 * OpenBLAS's for 2^26 cycles (20 ms at 3 GHz). */
static inline void timing_rest(int threads) {
    if (threads > 1) {
        nanosleep(&(struct timespec){.tv_nsec = 40000000}, NULL);
    }
}

/* Times the candidates in the order A B C A B C ... Each sample follows an untimed call, because the previous candidate
 * has left other data in the caches. */
static inline void timing_interleave(candidate *list, int count, int rounds, double sample_ns, int threads) {
    for (int i = 0; i < count; i++) {
        timing_calibrate(&list[i], sample_ns);
    }
    for (int t = 0; t < rounds && t < TIMING_MOST; t++) {
        for (int i = 0; i < count; i++) {
            timing_rest(threads);
            list[i].run(list[i].context);
            list[i].ns[list[i].rounds++] = timing_sample(&list[i], list[i].repeats);
        }
    }
}

static inline int timing_order(const void *x, const void *y) {
    double a = *(const double *)x;
    double b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Returns a quantile of the samples, and sorts them. */
static inline double timing_quantile(candidate *c, double fraction) {
    qsort(c->ns, (size_t)c->rounds, sizeof c->ns[0], timing_order);
    return c->rounds ? c->ns[(int)(fraction * (double)(c->rounds - 1) + 0.5)] : 0.0;
}

static inline double timing_median(candidate *c) {
    return timing_quantile(c, 0.5);
}

/* Returns the positive number at the start of an argument, and its end; 0 if there is none or it is out of range. */
static inline int timing_number(const char *text, char **end) {
    long number = strtol(text, end, 10);
    return number > 0 && number <= INT_MAX ? (int)number : 0;
}

/* Splits a comma-separated list in place. Returns the number of items. */
static inline int timing_split(char *text, const char *words[], int most) {
    int count = 0;
    for (char *word = strtok(text, ","); word && count < most; word = strtok(NULL, ",")) {
        words[count++] = word;
    }
    return count;
}

/* Fill with random numbers in (-1, 1), the same in every run. */
static inline void timing_fill_f64(double *x, size_t n) {
    uint64_t s = 88172645463325252u;
    for (size_t i = 0; i < n; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        x[i] = (double)(int64_t)s / 9.3e18;
    }
}

static inline void timing_fill_f32(float *x, size_t n) {
    uint64_t s = 88172645463325252u;
    for (size_t i = 0; i < n; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        x[i] = (float)((double)(int64_t)s / 9.3e18);
    }
}

/* Returns `count` random numbers, aligned to 64 bytes; free() releases them. Ends the program if there is no memory. */
static inline void *timing_filled(size_t count, bool f64) {
    size_t bytes = (count * (f64 ? 8 : 4) + 127) / 64 * 64;
    void *block = aligned_alloc(64, bytes);
    if (!block) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(1);
    }
    if (f64) {
        timing_fill_f64(block, count);
    } else {
        timing_fill_f32(block, count);
    }
    return block;
}

#endif
