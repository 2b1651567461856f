/* samples.c - reads the clock, and summarises the times of a call. For compare and bench. */
#include "candidates.h"

#include <stdlib.h>
#include <time.h>

double cli_now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

void cli_rest_ns(double ns) {
    nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1e9), .tv_nsec = (long)ns % 1000000000L}, NULL);
}

void samples_add(samples *s, double ns) {
    if (s->count == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 16;
        s->ns = cli_grow(s->ns, (size_t)s->capacity * sizeof *s->ns);
    }
    s->ns[s->count++] = ns;
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void samples_summarise(samples *s) {
    int n = s->count;
    if (n == 0) {
        return;
    }
    qsort(s->ns, (size_t)n, sizeof *s->ns, ascending);
    s->fastest = s->ns[0];
    s->median = (s->ns[(n - 1) / 2] + s->ns[n / 2]) / 2;
    s->low = s->ns[n / 4];
    s->high = s->ns[(3 * n) / 4 < n ? (3 * n) / 4 : n - 1];
}
