/* measuring.c - what measuring convolutions needs. */
#include "ops/conv/classes.h"
#include "ops/conv/conv.h"
#include "ops/sample.h"

#include <math.h>
#include <string.h>

static double product_of(const int64_t size[BP_MAX_CONV_NDIM]) {
    return (double)size[0] * (double)size[1] * (double)size[2];
}

static void finish_trial(bp__trial *trial) {
    const bp_problem *problem = trial->problem;
    const bp_conv_problem *c = &problem->of.conv;
    const double products = /* in one sum */
        problem->op == BP_OP_CONV_WEIGHT
            ? (double)c->batch * product_of(c->out)
            : product_of(c->kernel) * (double)(problem->op == BP_OP_CONV ? c->in_channels : c->out_channels);
    trial->roundings = sqrt(products);
    trial->scale = sqrt(products) / 3 + 1; /* of a sum of products of numbers in [-1, 1] */
}

static bool is_depthwise(const bp_conv_problem *c) {
    return c->in_channels == 1 && c->groups > 1;
}

/* Only Winograd's algorithm was measured by itself, and only with one thread and a packed weight. */
static void place(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place) {
    const bp_conv_problem *c = &problem->of.conv;
    const bool winograd = strncmp(verdict->algorithm, "winograd", strlen("winograd")) == 0;
    const int variant = winograd                     ? BP__CONV_WINOGRAD
                        : is_depthwise(c)            ? BP__CONV_DEPTHWISE
                        : product_of(c->kernel) == 1 ? BP__CONV_POINTS
                                                     : BP__CONV_DENSE;
    place->class = bp__class_find((bp_op)problem->op, (bp_dtype)problem->dtype, variant);
    place->sizes[0] = is_depthwise(c) ? (double)c->groups : sqrt((double)c->in_channels * (double)c->out_channels);
    place->sizes[1] = sqrt((double)c->batch * product_of(c->out));
    place->differs = true;
}

/* Images are channels-last, as most libraries prefer. */
static bp_status sample(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    const bool depthwise = class->variant == BP__CONV_DEPTHWISE;
    const int64_t channels = sizes[0], side = sizes[1], kernel = class->variant == BP__CONV_POINTS ? 1 : 3;
    const int64_t image[] = {1, channels, side, side},
                  strides[] = {channels * side * side, 1, side * channels, channels},
                  taps[] = {channels, depthwise ? 1 : channels, kernel, kernel};
    bp__sample_tensor in, weight, out;
    bp__sample_tensor_init(&in, class->dtype, 4, image, strides);
    bp__sample_tensor_init(&weight, class->dtype, 4, taps, NULL);
    bp__sample_tensor_init(&out, class->dtype, 4, image, strides);
    bp_conv_call call = {.struct_size = sizeof call,
                         .ndim = 2,
                         .mode = BP_CONV_SAME,
                         .groups = depthwise ? channels : 1,
                         .input = &in.tensor,
                         .weight = &weight.tensor,
                         .output = &out.tensor};
    if (class->op != BP_OP_CONV) {
        const bp_conv_pass pass = class->op == BP_OP_CONV_INPUT ? BP_CONV_INPUT : BP_CONV_WEIGHT;
        return bp__sample_gradient(problem, &bp__conv_call, &call, (int)pass, bp__conv_make);
    }
    const bp__call_request request = {.call = &call, .data_optional = true};
    return bp__conv_make(problem, &request);
}

const bp__measuring bp__measuring_conv = {
    .sample = sample,
    .place = place,
    .finish_trial = finish_trial,
};
