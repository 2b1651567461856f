/* bias.c - runs the gradient of a convolution by its bias: the sums of channels. */
#include "conv.h"

#include <stdatomic.h>

typedef struct call {
    const bp_conv_problem *problem;
    const bp__conv_set *set;
    const char *from;
    char *bias;
    _Atomic int64_t next;
    bp__stop *stop;
} call;

/* Adds up each channel of the second operand: Y, or X of a transposed convolution. */
static void sum_channels(void *context, int task) {
    call *w = context;
    const bp_conv_problem *c = w->problem;
    const int64_t element = (int64_t)w->set->products->element;
    const bool t = c->transposed != 0;
    const int64_t channels = c->groups * (t ? c->in_channels : c->out_channels);
    const int64_t *size = t ? c->in : c->out, *stride = t ? c->x : c->y;
    (void)task;
    for (;;) {
        const int64_t channel = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (channel >= channels || bp__stops(w->stop)) {
            return;
        }
        double sum = 0;
        for (int64_t row = 0; row < c->batch * size[0] * size[1]; row++) {
            const int64_t at = row / (size[0] * size[1]) * (t ? c->x_batch : c->y_batch) +
                               channel * (t ? c->x_channel : c->y_channel) + row / size[1] % size[0] * stride[0] +
                               row % size[1] * stride[1];
            sum += w->set->own->sum(size[2], w->from + at * element, stride[2]);
        }
        w->set->own->store(w->bias + channel * c->bias * element, sum);
    }
}

void bp__conv_sum_bias(const bp_host *host, const bp_problem *problem, const bp__conv_set *set, int threads,
                       const char *from, char *bias, bp__stop *stop) {
    call w = {.problem = &problem->of.conv, .set = set, .from = from, .bias = bias, .stop = stop};
    if (threads > 1) {
        host->parallel(threads, threads, sum_channels, &w);
    } else {
        sum_channels(&w, 0);
    }
}
