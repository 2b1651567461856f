/* kernel_rules.c - rules about kernels that NVRTC compiles: each operation has the host's results, in three types; and
 * the cost of a run on the host. */
#include "check.h"

#include "backplane.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 6,
    COLUMNS = 40,
    NUMBERS = ROWS * COLUMNS,
    OPERANDS_MOST = 4,
    NDIM = 4,
    COUNT_MOST = 2048,
    ITEM_MOST = 8
};

static int32_t place;

/* A tensor on the host and on the device. */
typedef struct both {
    bp_dtype dtype;
    int ndim;
    int64_t shape[NDIM], count;
    char bytes[COUNT_MOST * ITEM_MOST], found[COUNT_MOST * ITEM_MOST];
    bp_view host;
    DLManagedTensorVersioned *device;
} both;

static outcome open_kernels(void) {
    bp_library_info info = {.struct_size = sizeof info};
    if (bp_library_find("nvrtc", &info) != BP_OK) {
        return skip_rule("%s", bp_last_error());
    }
    LIBRARY(bp_device_find("cuda:0", &place));
    LIBRARY(bp_set("cudnn.enabled", "false")); /* convolutions run on it before the kernels */
    return PASSED;
}

/* ---- Tensors ---- */

static double next_number(void) {
    static unsigned state = 1;
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / (1 << 23) - 1;
}

static double number_at(const both *b, const char *bytes, int64_t i) {
    float narrow;
    double wide;
    uint16_t half;
    switch (b->dtype) {
    case BP_F64:
        memcpy(&wide, bytes + i * 8, sizeof wide);
        return wide;
    case BP_F32:
        memcpy(&narrow, bytes + i * 4, sizeof narrow);
        return (double)narrow;
    default:
        memcpy(&half, bytes + i * 2, sizeof half);
        narrow = ldexpf((float)(half & 0x3ff) + (half & 0x7c00 ? 1024 : 0),
                        ((half >> 10 & 31) ? (half >> 10 & 31) : 1) - 25);
        return (double)(half & 0x8000 ? -narrow : narrow);
    }
}

/* Makes a tensor of f32 or f64 with random numbers, or of f16 by a conversion. */
static outcome fill(both *b) {
    double wide[COUNT_MOST];
    bp_view from;
    for (int64_t i = 0; i < b->count; i++) {
        wide[i] = next_number();
    }
    LIBRARY(bp_view_init(&from, wide, BP_F64, b->ndim, b->shape, NULL));
    LIBRARY(bp_unary_run(NULL, BP_UNARY_COPY, &from.tensor, &b->host.tensor));
    return PASSED;
}

static outcome make(both *b, bp_dtype dtype, int ndim, const int64_t *shape) {
    b->dtype = dtype;
    b->ndim = ndim;
    b->count = 1;
    for (int d = 0; d < ndim; d++) {
        b->shape[d] = shape[d];
        b->count *= shape[d];
    }
    HOLDS(b->count <= COUNT_MOST);
    LIBRARY(bp_view_init(&b->host, b->bytes, dtype, ndim, b->shape, NULL));
    LIBRARY(bp_tensor_empty_on(&b->device, place, dtype, ndim, b->shape, NULL));
    NEEDS(fill(b));
    LIBRARY(bp_copy(&b->device->dl_tensor, &b->host.tensor, NULL));
    return PASSED;
}

static outcome compare(both *b, double bound) {
    bp_view found;
    LIBRARY(bp_view_init(&found, b->found, b->dtype, b->ndim, b->shape, NULL));
    LIBRARY(bp_copy(&found.tensor, &b->device->dl_tensor, NULL));
    LIBRARY(bp_device_wait(place));
    for (int64_t i = 0; i < b->count; i++) {
        const double right = number_at(b, b->bytes, i), got = number_at(b, b->found, i);
        if (!(fabs(got - right) <= bound * (1 + fabs(right)))) {
            return fail("element %lld is %g, not %g", (long long)i, got, right);
        }
    }
    return PASSED;
}

/* ---- Operations ---- */

/* The operands of a call on one side; the last one is the result. */
typedef DLTensor *const *side;

static bp_status run_exp(side t) {
    return bp_unary_run(NULL, BP_UNARY_EXP, t[0], t[1]);
}
static bp_status run_erf(side t) {
    return bp_unary_run(NULL, BP_UNARY_ERF, t[0], t[1]);
}
static bp_status run_add(side t) {
    return bp_binary_run(NULL, BP_BINARY_ADD, t[0], t[1], t[2]);
}
static bp_status run_atan2(side t) {
    return bp_binary_run(NULL, BP_BINARY_ATAN2, t[0], t[1], t[2]);
}
static bp_status run_sum(side t) {
    return bp_reduce_run(NULL, BP_REDUCE_SUM, t[0], 1, (const int[]){1}, 0, t[1]);
}
static bp_status run_max(side t) {
    return bp_reduce_run(NULL, BP_REDUCE_MAX, t[0], 1, (const int[]){1}, 0, t[1]);
}
static bp_status run_variance(side t) {
    return bp_variance_run(NULL, BP_VAR, t[0], 1, (const int[]){1}, 1, 0, t[1]);
}
static bp_status run_softmax(side t) {
    return bp_softmax_run(NULL, BP_SOFTMAX, t[0], 1, t[1]);
}
static bp_status run_layer_norm(side t) {
    const bp_layer_norm_call call = {.struct_size = sizeof call,
                                     .kind = BP_LAYER_NORM,
                                     .row_ndim = 1,
                                     .eps = 1e-5,
                                     .input = t[0],
                                     .weight = t[1],
                                     .bias = t[2],
                                     .output = t[3]};
    return bp_layer_norm_run(NULL, &call);
}
static bp_status run_batch_norm(side t) {
    return bp_batch_norm(t[0], t[1], t[2], NULL, NULL, 2, t[3]);
}
static bp_status run_pool(side t, bp_pool_kind kind) {
    const int64_t two[] = {2, 2};
    const bp_pool_call call = {
        .struct_size = sizeof call, .kind = kind, .ndim = 2, .kernel = two, .input = t[0], .output = t[1]};
    return bp_pool_run(NULL, &call);
}
static bp_status run_max_pool(side t) {
    return run_pool(t, BP_POOL_MAX);
}
static bp_status run_average_pool(side t) {
    return run_pool(t, BP_POOL_AVERAGE);
}
static bp_status run_pad(side t) {
    const int64_t before[] = {1, 2}, after[] = {3, 0};
    return bp_pad_run(NULL, BP_PAD_REFLECT, t[0], 2, before, after, 0, t[1]);
}
static bp_status run_convolution(side t) {
    const int64_t one[] = {1, 1};
    const bp_conv_call call = {
        .struct_size = sizeof call, .ndim = 2, .padding = one, .input = t[0], .weight = t[1], .output = t[2]};
    return bp_conv_run(NULL, &call);
}
static bp_status run_attention(side t) {
    return bp_attention(t[0], t[1], t[2], NULL, 1, t[3]);
}
static bp_status run_contraction(side t) {
    return bp_einsum("abc,cbd->da", 2, (const DLTensor *[]){t[0], t[1]}, t[2]);
}
static bp_status run_product(side t) {
    bp_options *options;
    bp_status status = bp_options_new(&options, "dispatch.exclude=\"cublas,cublaslt\"");
    status = status == BP_OK ? bp_matmul_run(options, t[0], t[1], t[2]) : status;
    bp_options_release(options);
    return status;
}

typedef struct operation {
    const char *name;
    bp_status (*run)(side operands);
    int count;
    int ndim[OPERANDS_MOST];
    int64_t shape[OPERANDS_MOST][NDIM];
} operation;

static const operation operations[] = {
    {"exp", run_exp, 2, {2, 2}, {{ROWS, COLUMNS}, {ROWS, COLUMNS}}},
    {"erf", run_erf, 2, {2, 2}, {{ROWS, COLUMNS}, {ROWS, COLUMNS}}},
    {"add", run_add, 3, {2, 1, 2}, {{ROWS, COLUMNS}, {COLUMNS}, {ROWS, COLUMNS}}},
    {"atan2", run_atan2, 3, {2, 2, 2}, {{ROWS, COLUMNS}, {ROWS, COLUMNS}, {ROWS, COLUMNS}}},
    {"sum", run_sum, 2, {2, 1}, {{ROWS, COLUMNS}, {ROWS}}},
    {"max", run_max, 2, {2, 1}, {{ROWS, COLUMNS}, {ROWS}}},
    {"variance", run_variance, 2, {2, 1}, {{ROWS, COLUMNS}, {ROWS}}},
    {"softmax", run_softmax, 2, {2, 2}, {{ROWS, COLUMNS}, {ROWS, COLUMNS}}},
    {"long sum", run_sum, 2, {2, 1}, {{1, 2000}, {1}}},
    {"long variance", run_variance, 2, {2, 1}, {{2, 1000}, {2}}},
    {"long softmax", run_softmax, 2, {2, 2}, {{1, 2000}, {1, 2000}}},
    {"batch norm", run_batch_norm, 4, {4, 1, 1, 4}, {{2, 3, 5, 7}, {3}, {3}, {2, 3, 5, 7}}},
    {"layer norm", run_layer_norm, 4, {2, 1, 1, 2}, {{ROWS, COLUMNS}, {COLUMNS}, {COLUMNS}, {ROWS, COLUMNS}}},
    {"max pool", run_max_pool, 2, {4, 4}, {{2, 3, 6, 8}, {2, 3, 3, 4}}},
    {"average pool", run_average_pool, 2, {4, 4}, {{2, 3, 6, 8}, {2, 3, 3, 4}}},
    {"pad", run_pad, 2, {2, 2}, {{ROWS, COLUMNS}, {ROWS + 4, COLUMNS + 2}}},
    {"convolution", run_convolution, 3, {4, 4, 4}, {{2, 3, 6, 8}, {5, 3, 3, 3}, {2, 5, 6, 8}}},
    {"attention", run_attention, 4, {3, 3, 3, 3}, {{2, 5, 16}, {2, 9, 16}, {2, 9, 8}, {2, 5, 8}}},
    {"contraction", run_contraction, 3, {3, 3, 2}, {{7, 3, 5}, {5, 3, 4}, {4, 7}}},
    {"product", run_product, 3, {2, 2, 2}, {{33, 17}, {17, 40}, {33, 40}}},
};

static outcome check_operation(const operation *o, bp_dtype dtype, double bound) {
    static both operands[OPERANDS_MOST];
    DLTensor *host[OPERANDS_MOST], *device[OPERANDS_MOST];
    bp_plan_info plan = {.struct_size = sizeof plan};
    for (int i = 0; i < o->count; i++) {
        NEEDS(make(&operands[i], dtype, o->ndim[i], o->shape[i]));
        host[i] = &operands[i].host.tensor;
        device[i] = &operands[i].device->dl_tensor;
    }
    LIBRARY(o->run(device));
    LIBRARY(bp_last_plan(&plan));
    HOLDS(strcmp(plan.provider, "nvrtc") == 0);
    LIBRARY(o->run(host));
    const outcome found = compare(&operands[o->count - 1], bound);
    for (int i = 0; i < o->count; i++) {
        operands[i].device->deleter(operands[i].device);
    }
    return found == PASSED ? PASSED : fail("%s of %s", o->name, bp_dtype_name(dtype));
}

static outcome values_are_the_hosts(bp_dtype dtype, double bound) {
    NEEDS(open_kernels());
    const int64_t begin = now_ns();
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        NEEDS(check_operation(&operations[i], dtype, bound));
    }
    note("all operations took %.1f s, with compiling", (double)(now_ns() - begin) * 1e-9);
    return PASSED;
}

static outcome values_of_f32(void) {
    return values_are_the_hosts(BP_F32, 1e-5);
}
static outcome values_of_f64(void) {
    return values_are_the_hosts(BP_F64, 1e-12);
}
static outcome values_of_f16(void) {
    return values_are_the_hosts(BP_F16, 4e-3);
}

/* Integers of 8 bits have a sign, as on the host. */
static outcome bytes_have_signs(void) {
    enum { BYTES = 256 };
    const int64_t count = BYTES;
    static int8_t bytes[BYTES];
    static float found[BYTES];
    bp_view host, back;
    DLManagedTensorVersioned *from, *to;
    NEEDS(open_kernels());
    for (int i = 0; i < BYTES; i++) {
        bytes[i] = (int8_t)(i - 128);
    }
    LIBRARY(bp_view_init(&host, bytes, BP_I8, 1, &count, NULL));
    LIBRARY(bp_view_init(&back, found, BP_F32, 1, &count, NULL));
    LIBRARY(bp_tensor_empty_on(&from, place, BP_I8, 1, &count, NULL));
    LIBRARY(bp_tensor_empty_on(&to, place, BP_F32, 1, &count, NULL));
    LIBRARY(bp_copy(&from->dl_tensor, &host.tensor, NULL));
    LIBRARY(bp_unary_run(NULL, BP_UNARY_COPY, &from->dl_tensor, &to->dl_tensor));
    LIBRARY(bp_copy(&back.tensor, &to->dl_tensor, NULL));
    LIBRARY(bp_device_wait(place));
    for (int i = 0; i < BYTES; i++) {
        HOLDS(found[i] == (float)(i - 128));
    }
    from->deleter(from);
    to->deleter(to);
    return PASSED;
}

static outcome wrong_indices_are_reported(void) {
    static both table, out;
    int64_t indices[] = {0, 5, 2, 99};
    const int64_t count = 4;
    bp_view host;
    DLManagedTensorVersioned *device;
    NEEDS(open_kernels());
    NEEDS(make(&table, BP_F32, 1, &(int64_t){7}));
    NEEDS(make(&out, BP_F32, 1, &count));
    LIBRARY(bp_view_init(&host, indices, BP_I64, 1, &count, NULL));
    LIBRARY(bp_tensor_empty_on(&device, place, BP_I64, 1, &count, NULL));
    LIBRARY(bp_copy(&device->dl_tensor, &host.tensor, NULL));
    LIBRARY(bp_take_run(NULL, &table.device->dl_tensor, &device->dl_tensor, 0, &out.device->dl_tensor));
    HOLDS(bp_device_wait(place) == BP_E_DEVICE);
    HOLDS(strstr(bp_last_error(), "index") != NULL);
    NEEDS(compare(&out, 0)); /* nothing was written */
    indices[3] = 6;
    LIBRARY(bp_copy(&device->dl_tensor, &host.tensor, NULL));
    LIBRARY(bp_take_run(NULL, &table.device->dl_tensor, &device->dl_tensor, 0, &out.device->dl_tensor));
    LIBRARY(bp_device_wait(place));
    LIBRARY(bp_take_run(NULL, &table.host.tensor, &host.tensor, 0, &out.host.tensor));
    NEEDS(compare(&out, 0));
    device->deleter(device);
    table.device->deleter(table.device);
    out.device->deleter(out.device);
    return PASSED;
}

/* ---- Costs ---- */

static outcome costs_of_runs(void) {
    enum { RUNS = 50, ROUNDS = 12 };
    static both in, out;
    double held = 1e9, once = 1e9;
    bp_plan *plan;
    bp_queue *queue;
    NEEDS(open_kernels());
    NEEDS(make(&in, BP_F32, 1, &(int64_t){64}));
    NEEDS(make(&out, BP_F32, 1, &(int64_t){64}));
    LIBRARY(bp_queue_current(&queue, place));
    LIBRARY(bp_unary_plan(&plan, NULL, BP_UNARY_RELU, &in.device->dl_tensor, &out.device->dl_tensor));
    const bp_operand operands[] = {{in.device->dl_tensor.data, in.device->dl_tensor.byte_offset},
                                   {out.device->dl_tensor.data, out.device->dl_tensor.byte_offset}};
    const bp_exec exec = {.struct_size = sizeof exec, .queue = queue};
    for (int round = 0; round < ROUNDS; round++) {
        for (int way = 0; way < 2; way++) {
            const int64_t begin = now_ns();
            for (int i = 0; i < RUNS; i++) {
                LIBRARY(way == 0 ? bp_execute(plan, operands, &exec)
                                 : bp_unary_run(NULL, BP_UNARY_RELU, &in.device->dl_tensor, &out.device->dl_tensor));
            }
            double *least = way == 0 ? &held : &once;
            *least = fmin(*least, (double)(now_ns() - begin) / RUNS);
            LIBRARY(bp_queue_wait(queue));
        }
    }
    note("relu of 64 elements, enqueued: bp_execute %.0f ns, bp_unary_run %.0f ns", held, once);
    bp_plan_release(plan);
    bp_queue_release(queue);
    in.device->deleter(in.device);
    out.device->deleter(out.device);
    return PASSED;
}

const rule kernel_rules[] = {
    {"kernels.values.f32", "Operations that run kernels have the host's results, in f32.", values_of_f32},
    {"kernels.values.f64", "The same in f64.", values_of_f64},
    {"kernels.values.f16", "The same in f16.", values_of_f16},
    {"kernels.bytes", "Integers of 8 bits have a sign.", bytes_have_signs},
    {"kernels.indices", "A wrong index is reported by the next wait, and nothing is written.",
     wrong_indices_are_reported},
    {"costs.kernels", "The cost of a kernel's run on the host.", costs_of_runs},
    {NULL, NULL, NULL},
};
