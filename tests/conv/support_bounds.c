/* support_bounds.c - computes what the error bounds of algorithms that transform their inputs are relative to. */
#include "conv/cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static double largest(const conv_tensor *t) {
    double most = 0;
    for (int64_t i = 0; i < conv_elements(t); i++) {
        most = fmax(most, fabs(conv_get(t, i)));
    }
    return most;
}

/* Adds up the weights' absolute values for each channel of the result. */
static void sum_weights(const conv_case *c, double *sums, int64_t channels) {
    const DLTensor *weight = &c->weight.view.tensor;
    const int64_t groups = c->call.groups ? c->call.groups : 1, first = weight->shape[0] / groups,
                  second = weight->shape[1];
    const bool by_first = (c->call.pass == BP_CONV_FORWARD) == (c->call.transposed == 0);
    int64_t taps = 1;
    for (int d = 0; d < c->call.ndim; d++) {
        taps *= weight->shape[2 + d];
    }
    assert_int_equal(channels, groups * (by_first ? first : second));
    for (int64_t i = 0; i < conv_elements(&c->weight); i++) {
        const int64_t row = i / taps / second, column = i / taps % second;
        sums[by_first ? row : row / first * second + column] += fabs(conv_get(&c->weight, i));
    }
}

double *conv_bounds(conv_case *c) {
    conv_tensor *written[2];
    conv_written(c, written);
    const DLTensor *t = &written[0]->view.tensor;
    const int ndim = c->call.ndim;
    const int64_t channels = t->shape[t->ndim - 1 - ndim];
    const double most = largest(c->call.pass == BP_CONV_FORWARD ? &c->input : &c->output);
    double *sizes = calloc((size_t)conv_elements(written[0]) + 1, sizeof *sizes);
    double *sums = calloc((size_t)channels + 1, sizeof *sums);
    int64_t positions = 1;
    assert_non_null(sizes);
    assert_non_null(sums);
    for (int d = 0; d < ndim; d++) {
        positions *= t->shape[t->ndim - ndim + d];
    }
    sum_weights(c, sums, channels);
    for (int64_t i = 0; i < conv_elements(written[0]); i++) {
        const int64_t channel = i / positions % channels;
        sizes[i] = most * sums[channel] + (c->call.bias ? fabs(conv_get(&c->bias, channel)) : 0);
    }
    free(sums);
    return sizes;
}
