/* taken.h - references whose elements are elements of other tensors, which are only moved. (elements.c) */
#ifndef BP_REFERENCE_TAKEN_H
#define BP_REFERENCE_TAKEN_H

#include "reference/results.h"

/* Integers, or floating numbers. */
typedef struct taken_numbers {
    bool whole;
    wholes integers;
    wide_tensor reals;
} taken_numbers;

bp_status taken_open(taken_numbers *of, const DLTensor *tensor);
void taken_close(taken_numbers *of);

/* Returns the index of the element of `from` that element `index` of the output is; -1: it has no reference. */
typedef int64_t taken_find(const void *user, int64_t index, const taken_numbers **from);

/* Adds a result whose elements are elements of other tensors. */
bp_status taken_add(reference_results *made, const DLTensor *output, taken_find *find, const void *user);

#endif
