/* strided.h - declares tensors of random layouts with memory between their elements, and random numbers for tests. */
#ifndef BP_TESTS_STRIDED_H
#define BP_TESTS_STRIDED_H

#include "backplane.h"

#include <stdbool.h>
#include <stdint.h>

/* A tensor, with memory between its elements. */
typedef struct strided_tensor {
    bp_view view;
    bp_dtype dtype;
    char *memory; /* NULL: absent */
    int64_t all;  /* elements of the memory */
    unsigned char *used;
} strided_tensor;

extern uint64_t strided_random; /* the state of the random numbers, not 0 */
uint64_t strided_next(void);
int64_t strided_between(int64_t low, int64_t high);
double strided_number(void); /* from -1 to 1 */

/* Makes a tensor; its dimensions are in a random order in memory, with gaps, unless `compact`. */
void strided_make(strided_tensor *t, bp_dtype dtype, int ndim, const int64_t *shape, bool compact);
void strided_fill(strided_tensor *t, double scale);
void strided_free(strided_tensor *t);

int64_t strided_elements(const strided_tensor *t);
/* Position in memory of element `index` of the compact order. */
int64_t strided_position(const strided_tensor *t, int64_t index);
double strided_get(const strided_tensor *t, int64_t index);
void strided_put(strided_tensor *t, int64_t index, double value);
/* The test fails if memory between the elements was written. */
void strided_check_gaps(const strided_tensor *t, const char *text);

#endif
