/* direct.c - calls oneDNN without Backplane: the peer of the benchmark. */
#include "conv.h"

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

struct direct {
    void *primitive, *description;
    bp__onednn_arg args[3];
};

static void check(int error, const char *what) {
    if (error) {
        fprintf(stderr, "conv: oneDNN: %s failed with status %d\n", what, error);
        exit(1);
    }
}

static void *symbol(void *handle, const char *name) {
    void *found = dlsym(handle, name);
    if (!found) {
        fprintf(stderr, "conv: oneDNN lacks %s\n", name);
        exit(1);
    }
    return found;
}

int direct_open(const char *path, int threads) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "conv: %s\n", dlerror());
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

/* Describes a channels-last image. */
static void *image(int batch, int channels, int size) {
    int64_t shape[] = {batch, channels, size, size};
    int64_t strides[] = {(int64_t)channels * size * size, 1, (int64_t)channels * size, channels};
    void *made = NULL;
    check(dnnl.memory_desc_create_with_strides(&made, 4, shape, BP__ONEDNN_F32, strides), "description");
    return made;
}

/* Describes a weight: with its strides, or in any layout. */
static void *weight_of(const layer *l, int any) {
    const int64_t taps = (int64_t)l->kernel * l->kernel, in = l->in_channels / l->groups;
    int64_t shape[5] = {l->groups, l->out_channels / l->groups, in, l->kernel, l->kernel};
    int64_t strides[5] = {l->out_channels / l->groups * in * taps, in * taps, taps, l->kernel, 1};
    const int skip = l->groups == 1;
    void *made = NULL;
    check(any ? dnnl.memory_desc_create_with_tag(&made, 5 - skip, shape + skip, BP__ONEDNN_F32, BP__ONEDNN_ANY)
              : dnnl.memory_desc_create_with_strides(&made, 5 - skip, shape + skip, BP__ONEDNN_F32, strides + skip),
          "description");
    return made;
}

static void *memory(const void *description, const void *data) {
    void *made = NULL;
    check(dnnl.memory_create(&made, description, dnnl.engine, (void *)(uintptr_t)data), "memory");
    return made;
}

static void *convert_weight(const layer *l, const float *weight, const void *own) {
    void *plain = weight_of(l, 0), *description = NULL, *primitive = NULL;
    void *block = aligned_alloc(64, (dnnl.memory_desc_get_size(own) + 63) / 64 * 64);
    bp__onednn_arg args[] = {{BP__ONEDNN_ARG_SRC, memory(plain, weight)}, {BP__ONEDNN_ARG_DST, memory(own, block)}};
    check(dnnl.reorder_primitive_desc_create(&description, plain, dnnl.engine, own, dnnl.engine, NULL), "reorder");
    check(dnnl.primitive_create(&primitive, description), "reorder");
    check(dnnl.primitive_execute(primitive, dnnl.stream, 2, args), "reorder");
    check(dnnl.stream_wait(dnnl.stream), "reorder");
    return args[1].memory;
}

direct *direct_new(const layer *l, int batch, const float *input, const float *weight, float *output) {
    direct *made = calloc(1, sizeof *made);
    int64_t strides[] = {l->stride, l->stride}, dilation[] = {0, 0}, padding[] = {l->kernel / 2, l->kernel / 2};
    void *source = image(batch, l->in_channels, l->size), *result = image(batch, l->out_channels, layer_out(l));
    const int64_t after = (int64_t)(layer_out(l) - 1) * l->stride + l->kernel - l->size - padding[0];
    int64_t end[] = {after, after};
    check(dnnl.convolution_forward_primitive_desc_create(&made->description, dnnl.engine, BP__ONEDNN_INFERENCE,
                                                         BP__ONEDNN_CONVOLUTION, source, weight_of(l, 1), NULL, result,
                                                         strides, dilation, padding, end, NULL),
          "convolution");
    check(dnnl.primitive_create(&made->primitive, made->description), "convolution");
    const void *own = dnnl.primitive_desc_query_md(made->description, BP__ONEDNN_QUERY_WEIGHTS, 0);
    made->args[0] = (bp__onednn_arg){BP__ONEDNN_ARG_SRC, memory(source, input)};
    made->args[1] = (bp__onednn_arg){BP__ONEDNN_ARG_WEIGHTS, convert_weight(l, weight, own)};
    made->args[2] = (bp__onednn_arg){BP__ONEDNN_ARG_DST, memory(result, output)};
    return made;
}

void direct_run(void *context) {
    direct *made = context;
    check(dnnl.primitive_execute(made->primitive, dnnl.stream, 3, made->args), "convolution");
    check(dnnl.stream_wait(dnnl.stream), "convolution");
}

void direct_free(direct *made) {
    dnnl.primitive_destroy(made->primitive);
    dnnl.primitive_desc_destroy(made->description);
    free(made);
}
