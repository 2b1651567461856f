/* labels.h - reads expressions such as "ij,jk->ik" with sizes such as "ij=12,k=8", for the benchmarks of einsum. */
#ifndef BP_BENCH_LABELS_H
#define BP_BENCH_LABELS_H

#include "timing.h"

/* Sets the size of each label. */
static inline void labels_read_sizes(int64_t size[128], const char *text) {
    for (const char *group = text; *group;) {
        char *end;
        const char *equals = strchr(group, '=');
        int value = timing_number(equals + 1, &end);
        for (; group < equals; group++) {
            size[*group & 127] = value;
        }
        group = *end ? end + 1 : end;
    }
}

/* Fills the shape of the first term of an expression that has an explicit output, and returns the number of its labels.
 * *next is the start of the next term; NULL after the output. */
static inline int labels_shape(const int64_t size[128], const char *term, int64_t *shape, const char **next) {
    int count = 0;
    for (; *term && *term != ',' && *term != '-'; term++) {
        shape[count++] = size[*term & 127];
    }
    *next = *term == ',' ? term + 1 : *term == '-' ? term + 2 : NULL;
    return count;
}

#endif
