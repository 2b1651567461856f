/* step.h - between the files that decide how one step is done: its axes in their classes, and the recipe of a
 * product. */
#ifndef BP_OPS_EINSUM_PAIR_H
#define BP_OPS_EINSUM_PAIR_H

#include "ops/einsum/einsum.h"

typedef struct bp__pairing {
    bp__builder *builder;
    bp__term *in[2]; /* the second is NULL where one operand is summed alone */
    bp__term *result;
    bool last;  /* the result is the output */
    bool fixed; /* and its layout is given */
    bp__axis *axes;
    int count;
    bp__group batch, left, right, summed; /* of both and kept, of one and kept, of both and summed */
    bp__group alone;                      /* summed, where there is one operand */
    bp__group all;                        /* room for a list of axes */
    bool copies;                          /* the product that was tried last needs some */
    void *memory;
} bp__pairing;

/* Sizes of groups multiplied, as a double since they may be large. */
double bp__group_size(const bp__axis *axes, const bp__group *group);

/* The outermost first, by their strides in that operand. */
void bp__group_sort(const bp__axis *axes, bp__group *group, int operand);

/* Gives the axes of the groups compact strides in that operand, the first group outermost; axes that the operand lacks
 * are passed over. Returns its elements. */
double bp__axes_lay_out(bp__axis *axes, int operand, const bp__group *const *groups, int count);

/* Room in the workspace for a tensor of so many elements. */
bp_status bp__place_take(bp__builder *builder, double elements, bp__place *place);

/* The place of the result. */
bp_status bp__result_place(const bp__pairing *pairing, double elements, bp__place *place);

/* The result is a term with the strides that the axes have in C. */
bp_status bp__result_is(bp__pairing *pairing, const bp__axis *axes, bp__place place);

/* The step as a product, with copies where layouts ask for them. `demoting`: with the outermost labels as a batch where
 * that spares copies; *done tells whether there is such a way. (product.c) */
bp_status bp__pairing_multiply(bp__pairing *pairing, bool demoting, bool *done);

#endif
