/* problem.c - allocates the operands of problems, and makes random numbers, the same in every run. */
#include "choice.h"

#include "../timing.h"

#include <math.h>

void must(bp_status status, const char *what) {
    if (status != BP_OK) {
        fprintf(stderr, "choice: %s: %s\n", what, bp_last_error());
        exit(1);
    }
}

void problem_add(problem *p, bp_dtype dtype, int ndim, const int64_t *shape) {
    int64_t elements = 1;
    for (int i = 0; i < ndim; i++) {
        elements *= shape[i];
    }
    if (p->operands == MOST_OPERANDS) {
        fprintf(stderr, "choice: too many operands\n");
        exit(1);
    }
    bool f64 = dtype == BP_F64 || dtype == BP_C128;
    size_t bytes = (size_t)elements * bp_dtype_size(dtype);
    void *block = timing_filled(f64 ? bytes / 8 : (bytes + 3) / 4, f64);
    must(bp_view_init(&p->views[p->operands], block, dtype, ndim, shape, NULL), "bp_view_init");
    p->memory[p->operands++].base = block;
}

void problem_release(problem *p) {
    for (int i = 0; i < p->operands; i++) {
        free(p->memory[i].base);
    }
}

int64_t random_bits(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (int64_t)(*state >> 11);
}

int random_below(uint64_t *state, int below) {
    return (int)((double)random_bits(state) / 9007199254740992.0 * below);
}

int64_t random_size(uint64_t *state, double most) {
    return (int64_t)floor(pow(2, (double)random_bits(state) / 9007199254740992.0 * log2(most + 1)));
}
