/* measuring.c - what measuring calls that pad, reverse and rotate tensors needs. */
#include "ops/pad/call.h"
#include "ops/pad/classes.h"
#include "tuning/trial.h"

static void place(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place) {
    const bp_pad_problem *p = &problem->of.pad;
    (void)verdict;
    place->class = bp__class_find(BP_OP_PAD, (bp_dtype)problem->dtype, 0);
    place->sizes[0] = p->ndim > 0 ? (double)p->size[p->ndim - 1] : 1;
    place->sizes[1] = 1;
    for (int d = 0; d < p->ndim - 1; d++) {
        place->sizes[1] *= (double)p->size[d];
    }
    place->differs = true;
}

/* Rows with an element added at each end. */
static bp_status sample(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    static const int64_t amount = 1;
    const int64_t shape[] = {sizes[1], sizes[0] - 2}, padded[] = {sizes[1], sizes[0]};
    bp__sample_tensor input, output;
    bp__sample_tensor_init(&input, class->dtype, 2, shape, NULL);
    bp__sample_tensor_init(&output, class->dtype, 2, padded, NULL);
    const bp__pad_arguments call = {sizeof call,   BP_PAD_CONSTANT, 1, 0, &amount, &amount,
                                    &input.tensor, &output.tensor};
    const bp__call_request request = {.call = &call, .data_optional = true, .described = &bp__pad_call};
    return bp__pad_make(problem, &request);
}

const bp__measuring bp__measuring_pad = {
    .sample = sample,
    .place = place,
};
