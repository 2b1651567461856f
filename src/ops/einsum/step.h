/* step.h - declarations shared by step.c and product.c: the axes of a step in their classes. */
#ifndef BP_OPS_EINSUM_PAIR_H
#define BP_OPS_EINSUM_PAIR_H

#include "ops/einsum/einsum.h"

typedef struct bp__pairing {
    bp__builder *builder;
    bp__term *in[2]; /* the second is NULL if one operand is summed alone */
    bp__term *result;
    bool last;  /* the result is the output */
    bool fixed; /* and its layout is given */
    bp__axis *axes;
    int count;
    bp__group batch, left, right, summed; /* in both and kept, in one and kept, in both and summed */
    bp__group alone;                      /* summed, if there is only one operand */
    bp__group all;                        /* memory for a list of axes */
    bool copies;                          /* the last product that was tried contains copies */
    void *memory;
} bp__pairing;

/* Returns the product of the sizes. It is a double, because it may be large. */
double bp__group_size(const bp__axis *axes, const bp__group *group);

/* Sorts the axes by their strides in the operand, outermost first. */
void bp__group_sort(const bp__axis *axes, bp__group *group, int operand);

/* Gives the axes of the groups compact strides in the operand, the first group outermost. Skips axes that the operand
 * does not have. Returns the operand's number of elements. */
double bp__axes_lay_out(bp__axis *axes, int operand, const bp__group *const *groups, int count);

/* Reserves memory in the workspace for a tensor of `elements` elements. */
bp_status bp__place_take(bp__builder *builder, double elements, bp__place *place);

/* Returns the location of the result. */
bp_status bp__result_place(const bp__pairing *pairing, double elements, bp__place *place);

/* Makes the result a term with the strides of the axes in C. */
bp_status bp__result_is(bp__pairing *pairing, const bp__axis *axes, bp__place place);

/* Builds the step as a product, with copies if the layouts require them. `batch_outer`: the outermost labels become a
 * batch if that avoids copies. *done returns whether that is possible. (product.c) */
bp_status bp__pairing_multiply(bp__pairing *pairing, bool batch_outer, bool *done);

#endif
