/* test_real_attention.c - the provider's graphs of attention with NVIDIA's library: cuDNN recognizes them and makes
 * execution plans, for devices that JSON describes. It compiles its kernels, which takes seconds for each. The driver
 * is tests/cudnn/driver. Nothing runs. */
#include "cudnn/support_real.h"

#include "providers/cudnn/attention.h"

#include <stdio.h>

/* ---- Problems ---- */

typedef struct shape {
    const char *name;
    int64_t batch, heads, key_heads, value_heads, queries, keys, size, value_size;
    bool causal, inside; /* rows of all heads are neighbours */
} shape;

static const shape shapes[] = {
    {"usual", 2, 4, 4, 4, 128, 128, 64, 64, false, false},
    {"causal, heads inside", 2, 4, 4, 4, 256, 128, 64, 64, true, true},
    {"odd lengths", 3, 3, 3, 3, 33, 77, 128, 128, false, true},
    {"one query", 2, 4, 2, 2, 1, 100, 64, 64, false, false},
    {"shared heads", 2, 8, 2, 4, 65, 129, 64, 32, true, false},
    {"small", 1, 1, 1, 1, 2, 2, 8, 8, false, false},
    {"wide", 1, 2, 1, 1, 40, 50, 256, 200, true, false},
    {"many items", 70, 1, 1, 1, 16, 16, 72, 24, false, false},
};

/* The heads of a problem, with those that share a key or a value as dimensions of their own. */
static int cut_heads(const shape *s, int64_t part[3]) {
    const int64_t least = s->key_heads < s->value_heads ? s->key_heads : s->value_heads;
    const int64_t most = s->key_heads + s->value_heads - least;
    part[0] = least;
    part[1] = most / least;
    part[2] = s->heads / most;
    return 3;
}

static void set_tensor(bp_attention_problem *p, const shape *s, bp_attention_tensor which, bp_dtype dtype,
                       int64_t heads, int64_t rows, int64_t columns) {
    bp_attention_layout *layout = &p->tensor[which];
    int64_t part[3], step = s->inside ? columns : rows * columns, missing = s->heads / heads;
    const int parts = cut_heads(s, part);
    layout->dtype = (uint32_t)dtype;
    layout->column = columns > 1;
    layout->row = rows > 1 ? (s->inside ? heads * columns : columns) : 0;
    layout->batch[0] = heads * rows * columns;
    for (int i = parts - 1; i >= 0; i--) {
        if (missing > 1) {
            missing /= part[i];
            continue;
        }
        layout->batch[1 + i] = part[i] > 1 ? step : 0;
        step *= part[i];
    }
}

/* Leaves out dimensions of size 1. */
static void drop_ones(bp_attention_problem *p) {
    int to = 0;
    for (int d = 0; d < p->batch_ndim; d++) {
        if (p->batch_shape[d] > 1) {
            p->batch_shape[to] = p->batch_shape[d];
            for (int i = 0; i < BP_ATTENTION_TENSORS; i++) {
                p->tensor[i].batch[to] = p->tensor[i].batch[d];
            }
            to++;
        }
    }
    p->batch_ndim = to;
}

/* Bits of `narrow`: the mask has one row, one column, one head. */
static void set_mask(bp_attention_problem *p, const shape *s, bp_dtype dtype, int narrow) {
    bp_attention_layout *layout = &p->tensor[BP_ATTENTION_MASK];
    set_tensor(p, s, BP_ATTENTION_MASK, dtype, s->heads, s->queries, s->keys);
    layout->row = narrow & 1 ? 0 : layout->row;
    layout->column = narrow & 2 ? 0 : layout->column;
    for (int d = 1; d < p->batch_ndim && (narrow & 4); d++) {
        layout->batch[d] = 0;
    }
}

static bp_problem problem_of(const shape *s, bp_dtype dtype, bool backward, bp_dtype mask, int narrow) {
    bp_problem problem = {.struct_size = sizeof problem,
                          .op = backward ? BP_OP_ATTENTION_BACKWARD : BP_OP_ATTENTION,
                          .dtype = (uint32_t)dtype};
    bp_attention_problem *p = &problem.of.attention;
    int64_t part[3];
    p->queries = s->queries;
    p->keys = s->keys;
    p->size = s->size;
    p->value_size = s->value_size;
    p->scale = 0.125;
    p->causal = s->causal && !mask;
    p->batch = s->batch * s->heads;
    p->batch_ndim = 1 + cut_heads(s, part);
    p->batch_shape[0] = s->batch;
    for (int i = 0; i < 3; i++) {
        p->batch_shape[1 + i] = part[i];
    }
    for (int k = 0; k <= backward; k++) {
        const int first = k ? BP_ATTENTION_QUERY_GRADIENT : BP_ATTENTION_QUERY;
        set_tensor(p, s, (bp_attention_tensor)first, dtype, s->heads, s->queries, s->size);
        set_tensor(p, s, (bp_attention_tensor)(first + 1), dtype, s->key_heads, s->keys, s->size);
        set_tensor(p, s, (bp_attention_tensor)(first + 2), dtype, s->value_heads, s->keys, s->value_size);
        set_tensor(p, s, k ? BP_ATTENTION_OUTPUT_GRADIENT : BP_ATTENTION_OUTPUT, dtype, s->heads, s->queries,
                   s->value_size);
    }
    shape compact = *s;
    compact.inside = false;
    set_tensor(p, &compact, BP_ATTENTION_LOGSUMEXP, BP_F32, s->heads, s->queries, 1);
    p->tensor[BP_ATTENTION_LOGSUMEXP].row = s->queries > 1;
    if (mask) {
        set_mask(p, &compact, mask, narrow);
    }
    drop_ones(p);
    return problem;
}

/* ---- Plans ---- */

static void try_problem(const bp_problem *problem, int capability, const char *text) {
    const bp_device_info facts = {.capability = (uint32_t)capability};
    const bp__cudnn_filter filter = {.workspace = INT64_MAX, .rank = -1};
    bp_verdict verdict = BP_VERDICT_INIT;
    bp__cudnn_attention attention;
    bp__cudnn_graph graph;
    bp__cudnn_execution execution = {0};
    if (!bp__cudnn_attention_of(&real_instance, problem, &facts, &attention, &verdict)) {
        fail_msg("%s: %s", text, verdict.text);
    }
    bp__cudnn_graph_begin(&graph, &real_instance.api, NULL, real_device);
    bp__cudnn_attention_describe(&attention, 0, &graph, BP__CUDNN_ALIGNMENT);
    bp__cudnn_graph_complete(&graph);
    if (graph.status != BP__CUDNN_STATUS_SUCCESS) {
        real_fail(text);
    }
    if (bp__cudnn_first_execution(&graph, &filter, &execution) != BP__CUDNN_STATUS_SUCCESS) {
        fail_msg("%s: no engine makes a plan", text);
    }
    print_message("%s: engine %d, workspace of %lld bytes\n", text, (int)execution.engine.number,
                  (long long)execution.workspace);
    bp__cudnn_execution_free(&real_instance.api, &execution);
    bp__cudnn_graph_free(&graph);
}

/* Heads of more than 128 columns are offered on some devices only, and without gradients. */
static bool is_offered(const shape *s, int capability, bool backward) {
    const bool wide = s->size > 128 || s->value_size > 128;
    return !(backward && s->queries == 1) &&
           (!wide ||
            (!backward && (capability / 100 == 9 || capability / 100 == 10) && real_instance.vendor.version >= 9023));
}

/* Tries a shape without a mask, with two of the sixteen kinds of masks (sizes and types), and its gradients. */
static void try_shape(int number, int capability) {
    enum { PLAIN, FIRST_MASK, BACKWARD = FIRST_MASK + 2 };
    const shape *s = &shapes[number];
    const bp_dtype dtype = number % 2 ? BP_BF16 : BP_F16;
    for (int k = PLAIN; k <= BACKWARD; k++) {
        const bool backward = k == BACKWARD, masked = k > PLAIN && !backward;
        const int kind = masked ? (2 * number + k - FIRST_MASK) % 16 : 0;
        const bp_dtype mask = !masked ? BP_DTYPE_NONE : kind < 8 ? BP_F32 : dtype;
        char text[160];
        if (is_offered(s, capability, backward)) {
            const bp_problem problem = problem_of(s, dtype, backward, mask, kind % 8);
            snprintf(text, sizeof text, "sm_%d, %s, %s%s%s%s, sizes of the mask %d", capability / 10, s->name,
                     bp_dtype_name(dtype), backward ? ", backward" : "", masked ? ", mask " : "",
                     masked ? bp_dtype_name(mask) : "", kind % 8);
            try_problem(&problem, capability, text);
        }
    }
}

static void try_device(int capability) {
    real_need();
    real_begin(capability);
    for (int i = 0; i < (int)(sizeof shapes / sizeof shapes[0]); i++) {
        try_shape(i, capability);
    }
    real_instance.api.DescriptorDestroy(real_device);
}

int main(void) {
    real_open(CUDNN_REAL, CUDA_DRIVER);
    return real_group(try_device);
}
