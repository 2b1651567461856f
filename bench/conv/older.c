/* older.c - calls oneDNN 2 without Backplane: a peer of the benchmark, because it has Winograd convolutions of f32, on
 * processors with AVX-512. Version 3 has none. Images and weights are in the library's own layouts and are not
 * converted, so that the peer has every advantage. Compiled where dnnl.h of version 2 is installed (Debian 12's
 * libdnnl-dev); the library is loaded at run time. */
#include "conv.h"

#ifdef HAVE_ONEDNN_2
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(X)                                                                                                   \
    X(engine_create)                                                                                                   \
    X(stream_create)                                                                                                   \
    X(stream_wait)                                                                                                     \
    X(memory_desc_init_by_tag)                                                                                         \
    X(memory_desc_get_size)                                                                                            \
    X(memory_create)                                                                                                   \
    X(memory_destroy)                                                                                                  \
    X(convolution_forward_desc_init)                                                                                   \
    X(primitive_desc_create)                                                                                           \
    X(primitive_desc_query_md)                                                                                         \
    X(primitive_desc_destroy)                                                                                          \
    X(primitive_create)                                                                                                \
    X(primitive_execute)                                                                                               \
    X(primitive_destroy)

static struct {
#define X(name) __typeof__(&dnnl_##name) name;
    FUNCTIONS(X)
#undef X
    dnnl_engine_t engine;
    dnnl_stream_t stream;
} dnnl;

enum { OPERANDS = 3 };

struct older {
    dnnl_primitive_t primitive;
    dnnl_primitive_desc_t description;
    dnnl_exec_arg_t args[OPERANDS];
    void *memory[OPERANDS];
    bool winograd;
};

static void check(dnnl_status_t status, const char *what) {
    if (status != dnnl_success) {
        fprintf(stderr, "conv: oneDNN 2: %s failed with status %d\n", what, (int)status);
        exit(1);
    }
}

bool older_open(const char *path, int threads) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), *found;
    void (*set_threads)(int);
    if (!handle) {
        fprintf(stderr, "conv: %s\n", dlerror());
        return false;
    }
#define X(name)                                                                                                        \
    if (!(found = dlsym(handle, "dnnl_" #name))) {                                                                     \
        fprintf(stderr, "conv: %s lacks dnnl_" #name ": version 2 is needed\n", path);                                 \
        return false;                                                                                                  \
    }                                                                                                                  \
    memcpy(&dnnl.name, &found, sizeof found);
    FUNCTIONS(X)
#undef X
    found = dlsym(handle, "omp_set_num_threads");
    if (found) {
        memcpy(&set_threads, &found, sizeof found);
        set_threads(threads);
    }
    check(dnnl.engine_create(&dnnl.engine, dnnl_cpu, 0), "engine");
    check(dnnl.stream_create(&dnnl.stream, dnnl.engine, dnnl_stream_in_order), "stream");
    return true;
}

static dnnl_memory_desc_t describe(int ndim, const dnnl_dim_t *shape) {
    dnnl_memory_desc_t made;
    check(dnnl.memory_desc_init_by_tag(&made, ndim, shape, dnnl_f32, dnnl_format_tag_any), "description");
    return made;
}

static bool offers(older *made, dnnl_alg_kind_t algorithm, const layer *l, int batch) {
    const dnnl_dims_t in = {batch, l->in_channels, l->size, l->size};
    const dnnl_dims_t out = {batch, l->out_channels, layer_out(l), layer_out(l)};
    const dnnl_dims_t taps = {l->groups, l->out_channels / l->groups, l->in_channels / l->groups, l->kernel, l->kernel};
    const dnnl_dim_t pad = l->kernel / 2,
                     after = (dnnl_dim_t)(layer_out(l) - 1) * l->stride + l->kernel - l->size - pad;
    const dnnl_dims_t stride = {l->stride, l->stride}, begin = {pad, pad}, end = {after, after};
    const int skip = l->groups == 1;
    const dnnl_memory_desc_t source = describe(4, in), weight = describe(5 - skip, taps + skip),
                             result = describe(4, out);
    dnnl_convolution_desc_t asked;
    check(dnnl.convolution_forward_desc_init(&asked, dnnl_forward_inference, algorithm, &source, &weight, NULL, &result,
                                             stride, begin, end),
          "convolution");
    return dnnl.primitive_desc_create(&made->description, &asked, NULL, dnnl.engine, NULL) == dnnl_success;
}

static void give_memory(older *made, int i, dnnl_query_t query, int argument) {
    const dnnl_memory_desc_t *own = dnnl.primitive_desc_query_md(made->description, query, 0);
    const size_t bytes = (dnnl.memory_desc_get_size(own) + 63) / 64 * 64;
    made->memory[i] = aligned_alloc(64, bytes);
    memset(made->memory[i], 0, bytes);
    made->args[i].arg = argument;
    check(dnnl.memory_create(&made->args[i].memory, own, dnnl.engine, made->memory[i]), "memory");
}

older *older_new(const layer *l, int batch) {
    older *made = calloc(1, sizeof *made);
    made->winograd = offers(made, dnnl_convolution_winograd, l, batch);
    if (!made->winograd && !offers(made, dnnl_convolution_direct, l, batch)) {
        free(made);
        return NULL;
    }
    give_memory(made, 0, dnnl_query_src_md, DNNL_ARG_SRC);
    give_memory(made, 1, dnnl_query_weights_md, DNNL_ARG_WEIGHTS);
    give_memory(made, 2, dnnl_query_dst_md, DNNL_ARG_DST);
    check(dnnl.primitive_create(&made->primitive, made->description), "convolution");
    return made;
}

bool older_is_winograd(const older *made) {
    return made->winograd;
}

void older_run(void *context) {
    older *made = context;
    check(dnnl.primitive_execute(made->primitive, dnnl.stream, OPERANDS, made->args), "convolution");
    check(dnnl.stream_wait(dnnl.stream), "convolution");
}

void older_free(older *made) {
    dnnl.primitive_destroy(made->primitive);
    dnnl.primitive_desc_destroy(made->description);
    for (int i = 0; i < OPERANDS; i++) {
        dnnl.memory_destroy(made->args[i].memory);
        free(made->memory[i]);
    }
    free(made);
}

#else
#include <stdio.h>

bool older_open(const char *path, int threads) {
    (void)threads;
    fprintf(stderr, "conv: cannot load %s: built without dnnl.h of version 2 (libdnnl-dev)\n", path);
    return false;
}

older *older_new(const layer *l, int batch) {
    (void)l, (void)batch;
    return NULL;
}

bool older_is_winograd(const older *made) {
    (void)made;
    return false;
}

void older_run(void *made) {
    (void)made;
}

void older_free(older *made) {
    (void)made;
}
#endif
