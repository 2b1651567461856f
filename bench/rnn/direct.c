/* direct.c - calls recurrent layers of oneDNN without Backplane: the peer of the benchmark. */
#include "rnn.h"

#include "providers/onednn/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENUM(name) int
#define FUNCTIONS(X)                                                                                                   \
    BP__ONEDNN_FUNCTIONS(X, void *, void *, void *, const void *, void *, void *, const void *, void *, const void *,  \
                         void *, const void *, void *, const void *, bp__onednn_arg, ENUM, int64_t *)
static struct {
#define X(name, result, arguments) result(*name) arguments;
    FUNCTIONS(X)
#undef X
    void *engine, *stream;
} dnnl;

enum { ARGUMENTS = 5 };

struct direct {
    void *primitive, *description;
    bp__onednn_arg args[ARGUMENTS];
    void *owned[3]; /* weights and bias */
};

static void check(int error, const char *what) {
    if (error) {
        fprintf(stderr, "rnn: oneDNN: %s failed with status %d\n", what, error);
        exit(1);
    }
}

static void *symbol(void *handle, const char *name) {
    void *found = dlsym(handle, name);
    if (!found) {
        fprintf(stderr, "rnn: oneDNN lacks %s\n", name);
        exit(1);
    }
    return found;
}

int direct_open(const char *path, int threads) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "rnn: %s\n", dlerror());
        return 0;
    }
    void *found;
#define X(name, result, arguments)                                                                                     \
    found = symbol(handle, "dnnl_" #name);                                                                             \
    memcpy(&dnnl.name, &found, sizeof found);
    FUNCTIONS(X)
#undef X
    void (*set_threads)(int);
    found = symbol(handle, "omp_set_num_threads");
    memcpy(&set_threads, &found, sizeof found);
    set_threads(threads);
    check(dnnl.engine_create(&dnnl.engine, BP__ONEDNN_CPU, 0), "engine");
    check(dnnl.stream_create(&dnnl.stream, dnnl.engine, BP__ONEDNN_IN_ORDER), "stream");
    return 1;
}

/* Describes a compact tensor. */
static void *compact(int ndim, const int64_t *size) {
    int64_t shape[BP__ONEDNN_MOST_NDIM], stride[BP__ONEDNN_MOST_NDIM], step = 1;
    void *made = NULL;
    for (int d = ndim - 1; d >= 0; d--) {
        shape[d] = size[d];
        stride[d] = step;
        step *= size[d];
    }
    check(dnnl.memory_desc_create_with_strides(&made, ndim, shape, BP__ONEDNN_F32, stride), "description");
    return made;
}

/* Describes weights, whose rows are units of gates: with their strides, or in any layout. */
static void *weight_of(const layer *l, int any) {
    const int64_t gates = layer_gates(l), units = l->hidden;
    int64_t shape[] = {1, 1, units, gates, units};
    int64_t strides[] = {gates * units * units, gates * units * units, 1, units * units, units};
    void *made = NULL;
    check(any ? dnnl.memory_desc_create_with_tag(&made, 5, shape, BP__ONEDNN_F32, BP__ONEDNN_ANY)
              : dnnl.memory_desc_create_with_strides(&made, 5, shape, BP__ONEDNN_F32, strides),
          "description");
    return made;
}

static void *memory(const void *description, const void *data) {
    void *made = NULL;
    check(dnnl.memory_create(&made, description, dnnl.engine, (void *)(uintptr_t)data), "memory");
    return made;
}

/* Converts a weight to the layout of an argument. The order of the gates does not change the time. */
static void *convert_weight(direct *made, const layer *l, const float *weight, int argument, void **owned) {
    const void *own = dnnl.primitive_desc_query_md(made->description, BP__ONEDNN_QUERY_ARGUMENT, argument);
    void *plain = weight_of(l, 0), *description = NULL, *primitive = NULL;
    *owned = aligned_alloc(64, (dnnl.memory_desc_get_size(own) + 63) / 64 * 64);
    bp__onednn_arg args[] = {{BP__ONEDNN_ARG_SRC, memory(plain, weight)}, {BP__ONEDNN_ARG_DST, memory(own, *owned)}};
    check(dnnl.reorder_primitive_desc_create(&description, plain, dnnl.engine, own, dnnl.engine, NULL), "reorder");
    check(dnnl.primitive_create(&primitive, description), "reorder");
    check(dnnl.primitive_execute(primitive, dnnl.stream, 2, args), "reorder");
    check(dnnl.stream_wait(dnnl.stream), "reorder");
    dnnl.primitive_destroy(primitive);
    dnnl.primitive_desc_destroy(description);
    dnnl.memory_desc_destroy(plain);
    dnnl.memory_destroy(args[0].memory);
    return args[1].memory;
}

static int describe(const layer *l, void *x, void *weight, void *bias, void *y, void **made) {
    if (l->mode == BP_RNN_LSTM) {
        return dnnl.lstm_forward_primitive_desc_create(made, dnnl.engine, BP__ONEDNN_INFERENCE, BP__ONEDNN_ASCENDING, x,
                                                       NULL, NULL, weight, weight, NULL, NULL, bias, y, NULL, NULL, 0,
                                                       NULL);
    }
    if (l->mode == BP_RNN_GRU) {
        return dnnl.lbr_gru_forward_primitive_desc_create(made, dnnl.engine, BP__ONEDNN_INFERENCE, BP__ONEDNN_ASCENDING,
                                                          x, NULL, weight, weight, bias, y, NULL, 0, NULL);
    }
    return dnnl.vanilla_rnn_forward_primitive_desc_create(
        made, dnnl.engine, BP__ONEDNN_INFERENCE, l->mode == BP_RNN_RELU ? BP__ONEDNN_RELU : BP__ONEDNN_TANH,
        BP__ONEDNN_ASCENDING, x, NULL, weight, weight, bias, y, NULL, 0, 0, 0, NULL);
}

direct *direct_new(const layer *l) {
    direct *made = calloc(1, sizeof *made);
    const int64_t image[] = {l->steps, l->batch, l->hidden};
    const int64_t slots = layer_gates(l) + (l->mode == BP_RNN_GRU), biases[] = {1, 1, slots, l->hidden};
    void *x = compact(3, image), *bias = compact(4, biases), *any = weight_of(l, 1);
    check(describe(l, x, any, bias, x, &made->description), "layer");
    check(dnnl.primitive_create(&made->primitive, made->description), "layer");
    made->owned[2] = calloc((size_t)(slots * l->hidden), sizeof(float));
    memcpy(made->owned[2], l->bias, (size_t)(layer_gates(l) * l->hidden) * sizeof(float));
    made->args[0] = (bp__onednn_arg){BP__ONEDNN_ARG_SRC, memory(x, l->input)};
    made->args[1] = (bp__onednn_arg){BP__ONEDNN_ARG_WEIGHTS,
                                     convert_weight(made, l, l->weight_ih, BP__ONEDNN_ARG_WEIGHTS, &made->owned[0])};
    made->args[2] =
        (bp__onednn_arg){BP__ONEDNN_ARG_WEIGHTS_ITER,
                         convert_weight(made, l, l->weight_hh, BP__ONEDNN_ARG_WEIGHTS_ITER, &made->owned[1])};
    made->args[3] = (bp__onednn_arg){BP__ONEDNN_ARG_BIAS, memory(bias, made->owned[2])};
    made->args[4] = (bp__onednn_arg){BP__ONEDNN_ARG_DST, memory(x, l->output)};
    dnnl.memory_desc_destroy(x);
    dnnl.memory_desc_destroy(bias);
    dnnl.memory_desc_destroy(any);
    return made;
}

void direct_run(void *context) {
    direct *made = context;
    check(dnnl.primitive_execute(made->primitive, dnnl.stream, ARGUMENTS, made->args), "layer");
    check(dnnl.stream_wait(dnnl.stream), "layer");
}

void direct_free(direct *made) {
    for (int i = 0; i < ARGUMENTS; i++) {
        dnnl.memory_destroy(made->args[i].memory);
    }
    for (int i = 0; i < 3; i++) {
        free(made->owned[i]);
    }
    dnnl.primitive_destroy(made->primitive);
    dnnl.primitive_desc_destroy(made->description);
    free(made);
}
