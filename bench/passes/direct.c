/* direct.c - calls oneDNN 3 without Backplane: the peer of the benchmark. Weights have the layout that the library
 * prefers and any values; they are not converted. */
#include "passes.h"

#include "providers/onednn/api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAXIMUM_OF_WINDOWS = 0x1ff }; /* an algorithm of pooling */

#define ENUM(name) int
#define FUNCTIONS(X)                                                                                                   \
    BP__ONEDNN_FUNCTIONS(X, void *, void *, void *, const void *, void *, void *, const void *, void *, const void *,  \
                         void *, const void *, void *, const void *, bp__onednn_arg, ENUM, int64_t *)
static struct {
#define X(name, result, arguments) result(*name) arguments;
    FUNCTIONS(X)
#undef X
    /* Not among the functions of the provider, which computes this gradient as a deconvolution. */
    int (*backward_data)(void **made, void *engine, int algorithm, const void *source, const void *weight,
                         const void *result, const int64_t *stride, const int64_t *dilation, const int64_t *begin,
                         const int64_t *end, const void *forward, const void *attributes);
    void *engine, *stream;
} dnnl;

struct direct {
    void *primitive, *description;
    void *weight;
    bp__onednn_arg args[3];
    int count;
};

/* The arguments of a layer, as oneDNN takes them. */
typedef struct geometry {
    void *input, *output, *weight;
    int64_t kernel[3], stride[3], dilation[3], begin[3], end[3];
} geometry;

static void check(int error, const char *what) {
    if (error) {
        fprintf(stderr, "passes: oneDNN: %s failed with status %d\n", what, error);
        exit(1);
    }
}

static void *symbol(void *handle, const char *name) {
    void *found = dlsym(handle, name);
    if (!found) {
        fprintf(stderr, "passes: oneDNN lacks %s: version 3 is needed\n", name);
        exit(1);
    }
    return found;
}

int direct_open(const char *path, int threads) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "passes: %s\n", dlerror());
        return 0;
    }
    void *found;
#define X(name, result, arguments)                                                                                     \
    found = symbol(handle, "dnnl_" #name);                                                                             \
    memcpy(&dnnl.name, &found, sizeof found);
    FUNCTIONS(X)
#undef X
    found = symbol(handle, "dnnl_convolution_backward_data_primitive_desc_create");
    memcpy(&dnnl.backward_data, &found, sizeof found);
    void (*set_threads)(int);
    found = symbol(handle, "omp_set_num_threads");
    memcpy(&set_threads, &found, sizeof found);
    set_threads(threads);
    check(dnnl.engine_create(&dnnl.engine, BP__ONEDNN_CPU, 0), "engine");
    check(dnnl.stream_create(&dnnl.stream, dnnl.engine, BP__ONEDNN_IN_ORDER), "stream");
    return 1;
}

/* Describes a channels-last image. */
static void *image(int ndim, int batch, int channels, int size) {
    int64_t shape[5] = {batch, channels}, strides[5] = {0, 1}, step = channels;
    void *made = NULL;
    for (int d = ndim + 1; d > 1; d--) {
        shape[d] = size;
        strides[d] = step;
        step *= size;
    }
    strides[0] = step;
    check(dnnl.memory_desc_create_with_strides(&made, ndim + 2, shape, BP__ONEDNN_F32, strides), "description");
    return made;
}

/* Describes a weight of any layout. */
static void *weight_of(const layer *l) {
    int64_t shape[6] = {l->groups, l->out_channels / l->groups, l->in_channels / l->groups};
    void *made = NULL;
    for (int d = 0; d < l->ndim; d++) {
        shape[3 + d] = l->kernel;
    }
    const int skip = l->groups == 1;
    check(dnnl.memory_desc_create_with_tag(&made, 3 + l->ndim - skip, shape + skip, BP__ONEDNN_F32, BP__ONEDNN_ANY),
          "description");
    return made;
}

static geometry geometry_of(const layer *l, int batch) {
    geometry g = {.input = image(l->ndim, batch, l->in_channels, l->size),
                  .output = image(l->ndim, batch, l->out_channels, layer_out(l)),
                  .weight = is_pooling(l) ? NULL : weight_of(l)};
    for (int d = 0; d < l->ndim; d++) {
        const int in = l->pass == TRANSPOSED ? layer_out(l) : l->size,
                  out = l->pass == TRANSPOSED ? l->size : layer_out(l);
        const int64_t end = (int64_t)(out - 1) * l->stride + l->kernel - in - l->padding;
        g.kernel[d] = l->kernel;
        g.stride[d] = l->stride;
        g.begin[d] = l->padding;
        g.end[d] = is_pooling(l) && end < 0 ? 0 : end;
    }
    return g;
}

static int describe_convolution(void **made, const layer *l, geometry *g) {
    void *forward = NULL;
    if (l->pass == TRANSPOSED) {
        return dnnl.deconvolution_forward_primitive_desc_create(
            made, dnnl.engine, BP__ONEDNN_INFERENCE, BP__ONEDNN_DECONVOLUTION, g->input, g->weight, NULL, g->output,
            g->stride, g->dilation, g->begin, g->end, NULL);
    }
    const int kind = l->pass == CONVOLUTION ? BP__ONEDNN_INFERENCE : BP__ONEDNN_FORWARD;
    const int error = dnnl.convolution_forward_primitive_desc_create(
        &forward, dnnl.engine, kind, BP__ONEDNN_CONVOLUTION, g->input, g->weight, NULL, g->output, g->stride,
        g->dilation, g->begin, g->end, NULL);
    if (error || l->pass == CONVOLUTION) {
        *made = forward;
        return error;
    }
    return l->pass == INPUT_GRADIENT
               ? dnnl.backward_data(made, dnnl.engine, BP__ONEDNN_CONVOLUTION, g->input, g->weight, g->output,
                                    g->stride, g->dilation, g->begin, g->end, forward, NULL)
               : dnnl.convolution_backward_weights_primitive_desc_create(
                     made, dnnl.engine, BP__ONEDNN_CONVOLUTION, g->input, g->weight, NULL, g->output, g->stride,
                     g->dilation, g->begin, g->end, forward, NULL);
}

static int describe_pooling(void **made, const layer *l, geometry *g) {
    const int algorithm = l->pass == MAXIMUM ? MAXIMUM_OF_WINDOWS : BP__ONEDNN_AVERAGE_INCLUDING;
    const int kind = l->pass == AVERAGE_GRADIENT ? BP__ONEDNN_FORWARD : BP__ONEDNN_INFERENCE;
    void *forward = NULL;
    const int error =
        dnnl.pooling_forward_primitive_desc_create(&forward, dnnl.engine, kind, algorithm, g->input, g->output,
                                                   g->stride, g->kernel, g->dilation, g->begin, g->end, NULL);
    *made = forward;
    return error || l->pass != AVERAGE_GRADIENT
               ? error
               : dnnl.pooling_backward_primitive_desc_create(made, dnnl.engine, algorithm, g->input, g->output,
                                                             g->stride, g->kernel, g->dilation, g->begin, g->end,
                                                             forward, NULL);
}

static void add(direct *made, int argument, const void *description, void *data) {
    void *memory = NULL;
    check(dnnl.memory_create(&memory, description, dnnl.engine, data), "memory");
    made->args[made->count++] = (bp__onednn_arg){argument, memory};
}

direct *direct_new(const layer *l, int batch, float *input, float *output) {
    const bool gradient = l->pass == WEIGHT_GRADIENT, back = l->pass == INPUT_GRADIENT || l->pass == AVERAGE_GRADIENT;
    direct *made = calloc(1, sizeof *made);
    geometry g = geometry_of(l, batch);
    if (!made || (is_pooling(l) ? describe_pooling : describe_convolution)(&made->description, l, &g)) {
        free(made);
        return NULL;
    }
    check(dnnl.primitive_create(&made->primitive, made->description), "primitive");
    add(made, back ? BP__ONEDNN_ARG_DIFF_SRC : BP__ONEDNN_ARG_SRC, g.input, input);
    add(made, back || gradient ? BP__ONEDNN_ARG_DIFF_DST : BP__ONEDNN_ARG_DST, g.output, output);
    if (g.weight) {
        const void *own = dnnl.primitive_desc_query_md(
            made->description, gradient ? BP__ONEDNN_QUERY_DIFF_WEIGHTS : BP__ONEDNN_QUERY_WEIGHTS, 0);
        const size_t bytes = (dnnl.memory_desc_get_size(own) + 63) / 64 * 64;
        made->weight = aligned_alloc(64, bytes);
        if (!made->weight) {
            check(BP__ONEDNN_OUT_OF_MEMORY, "weight");
        }
        memset(made->weight, 0, bytes);
        for (size_t i = 0; i < bytes / sizeof(float); i++) {
            ((float *)made->weight)[i] = (float)(i % 17) / 16 - 0.5F;
        }
        add(made, gradient ? BP__ONEDNN_ARG_DIFF_WEIGHTS : BP__ONEDNN_ARG_WEIGHTS, own, made->weight);
    }
    return made;
}

void direct_run(void *context) {
    direct *made = context;
    check(dnnl.primitive_execute(made->primitive, dnnl.stream, made->count, made->args), "run");
    check(dnnl.stream_wait(dnnl.stream), "run");
}

void direct_free(direct *made) {
    dnnl.primitive_destroy(made->primitive);
    dnnl.primitive_desc_destroy(made->description);
    free(made->weight);
    free(made);
}
