/* attention_rules.c - what the provider of cuDNN assumes of attention, checked on a real device: values of the forward
 * pass and of the gradients, masks, rows without a key, and graphs. The double in tests/cudnn/doubles
 * keeps the same rules.
 *
 * Results are compared with the host's, which sums in f32 too; both round to the type of the tensors. */
#include "check.h"

#include "backplane.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUERY,
    KEY,
    VALUE,
    MASK,
    OUTPUT,
    LOGSUMEXP,
    OUTPUT_GRADIENT,
    QUERY_GRADIENT,
    KEY_GRADIENT,
    VALUE_GRADIENT,
    TENSORS
};

static int32_t place;
static const bp_dtype types[] = {BP_F16, BP_BF16};

/* A tensor on the device, and the same one on the host. */
typedef struct array {
    DLManagedTensorVersioned *block; /* NULL: absent */
    bp_view host;
    DLTensor device;
    size_t bytes;
    void *own; /* what the host has computed, or both have as input */
} array;

/* Sizes of a call; the mask has no type if there is none. */
typedef struct sizes {
    int64_t batch, heads, key_heads, queries, keys, columns;
    bool causal, backward;
    bp_dtype mask;
} sizes;

typedef struct attention {
    sizes of;
    bp_dtype dtype;
    array tensor[TENSORS];
} attention;

static outcome open_device(void) {
    bp_library_info info = {.struct_size = sizeof info};
    bp_device_info device = {.struct_size = sizeof device};
    if (bp_library_find("cudnn", &info) != BP_OK) {
        return skip_rule("%s", bp_last_error());
    }
    LIBRARY(bp_device_find("cuda:0", &place));
    LIBRARY(bp_device_describe(place, &device));
    return device.capability >= 800 && device.capability <= 1210
               ? PASSED
               : skip_rule("the device has compute capability %u.%u", device.capability / 100,
                           device.capability / 10 % 10);
}

/* ---- Tensors ---- */

static double element(const array *a, const void *bytes, int64_t index) {
    const bp_dtype dtype = bp_dtype_from_dlpack(a->host.tensor.dtype);
    if (dtype == BP_F32) {
        return (double)((const float *)bytes)[index];
    }
    const uint16_t half = ((const uint16_t *)bytes)[index];
    if (dtype == BP_BF16) {
        const uint32_t bits = (uint32_t)half << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double size = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                        : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                       : ldexp(fraction, -24);
    return half >> 15 ? -size : size;
}

/* Writes multiples of 1/8 between -1 and 1, and in masks -infinity in every fourth place. */
static void fill(array *a, bool is_mask) {
    static const uint16_t halves[] = {0, 0x3000, 0x3400, 0x3600, 0x3800, 0x3900, 0x3a00, 0x3b00, 0x3c00};
    static unsigned state = 1;
    const bp_dtype dtype = bp_dtype_from_dlpack(a->host.tensor.dtype);
    for (size_t i = 0; i < a->bytes / bp_dtype_size(dtype); i++) {
        state = state * 1664525u + 1013904223u;
        const int eighths = (int)(state >> 16) % 9;
        const bool negative = state >> 30 & 1, closed = is_mask && (state >> 24) % 4 == 0;
        const float value = closed ? -INFINITY : (float)(negative ? -eighths : eighths) / 8;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        const uint16_t half = closed ? 0xfc00 : (uint16_t)(halves[eighths] | (negative ? 0x8000 : 0));
        if (dtype == BP_F32) {
            ((float *)a->own)[i] = value;
        } else {
            ((uint16_t *)a->own)[i] = dtype == BP_F16 ? half : (uint16_t)(bits >> 16);
        }
    }
}

static outcome send(array *a) {
    LIBRARY(bp_copy(&a->device, &a->host.tensor, NULL));
    LIBRARY(bp_device_wait(place));
    return PASSED;
}

static outcome new_array(array *a, bp_dtype dtype, int ndim, const int64_t *shape, bool is_mask) {
    a->bytes = bp_dtype_size(dtype);
    for (int d = 0; d < ndim; d++) {
        a->bytes *= (size_t)shape[d];
    }
    a->own = calloc(1, a->bytes);
    HOLDS(a->own != NULL);
    LIBRARY(bp_tensor_empty_on(&a->block, place, dtype, ndim, shape, NULL));
    LIBRARY(bp_view_init(&a->host, a->own, dtype, ndim, shape, NULL));
    a->device = a->block->dl_tensor;
    fill(a, is_mask);
    return send(a);
}

/* ---- Calls ---- */

static outcome new_attention(attention *a, const sizes *s, bp_dtype dtype) {
    const int64_t query[] = {s->batch, s->heads, s->queries, s->columns};
    const int64_t key[] = {s->batch, s->key_heads, s->keys, s->columns};
    const int64_t mask[] = {s->batch, 1, s->queries, s->keys};
    memset(a, 0, sizeof *a);
    a->of = *s;
    a->dtype = dtype;
    for (int i = 0; i < TENSORS; i++) {
        const bool keys = i == KEY || i == VALUE || i == KEY_GRADIENT || i == VALUE_GRADIENT;
        const bp_dtype own = i == LOGSUMEXP ? BP_F32 : i == MASK ? s->mask : dtype;
        if (own != BP_DTYPE_NONE && (i < OUTPUT_GRADIENT || s->backward)) {
            NEEDS(new_array(&a->tensor[i], own, i == LOGSUMEXP ? 3 : 4,
                            i == MASK ? mask
                            : keys    ? key
                                      : query,
                            i == MASK));
        }
    }
    return PASSED;
}

static void free_attention(attention *a) {
    for (int i = 0; i < TENSORS; i++) {
        if (a->tensor[i].block) {
            a->tensor[i].block->deleter(a->tensor[i].block);
            free(a->tensor[i].own);
        }
    }
}

static bp_attention_call call_of(attention *a, bool on_device, bool backward) {
    DLTensor *at[TENSORS];
    for (int i = 0; i < TENSORS; i++) {
        array *tensor = &a->tensor[i];
        const bool absent = !tensor->block || (i >= OUTPUT_GRADIENT && !backward);
        at[i] = absent ? NULL : on_device ? &tensor->device : &tensor->host.tensor;
    }
    return (bp_attention_call){.struct_size = sizeof(bp_attention_call),
                               .pass = backward ? BP_ATTENTION_BACKWARD : BP_ATTENTION_FORWARD,
                               .is_causal = a->of.causal,
                               .enable_gqa = 1,
                               .has_scale = 1,
                               .scale = 0.375,
                               .query = at[QUERY],
                               .key = at[KEY],
                               .value = at[VALUE],
                               .mask = at[MASK],
                               .output = at[OUTPUT],
                               .logsumexp = at[LOGSUMEXP],
                               .output_gradient = at[OUTPUT_GRADIENT],
                               .query_gradient = at[QUERY_GRADIENT],
                               .key_gradient = at[KEY_GRADIENT],
                               .value_gradient = at[VALUE_GRADIENT]};
}

/* Compares a tensor of the device with the host's. The errors of sums grow with the numbers of queries and keys. */
static outcome compare(attention *a, int which) {
    const double unit = a->dtype == BP_F16 ? 0x1p-11 : 0x1p-8;
    array *tensor = &a->tensor[which];
    void *found = calloc(1, tensor->bytes);
    bp_view view;
    HOLDS(found != NULL);
    LIBRARY(bp_view_init(&view, found, bp_dtype_from_dlpack(tensor->host.tensor.dtype), tensor->host.tensor.ndim,
                         tensor->host.tensor.shape, NULL));
    LIBRARY(bp_copy(&view.tensor, &tensor->device, NULL));
    LIBRARY(bp_device_wait(place));
    const size_t item = which == LOGSUMEXP ? sizeof(float) : sizeof(uint16_t);
    for (int64_t i = 0; i < (int64_t)(tensor->bytes / item); i++) {
        const double is = element(tensor, found, i), want = element(tensor, tensor->own, i);
        const double bound =
            which == LOGSUMEXP ? 1e-4 : unit * (8 + 4 * fabs(want) + (which > OUTPUT_GRADIENT ? 16 : 0));
        if (!(is == want || fabs(is - want) <= bound)) {
            return fail("element %d of tensor %d in %s is %g, not %g: %d queries, %d keys, %d columns", (int)i, which,
                        bp_dtype_name(a->dtype), is, want, (int)a->of.queries, (int)a->of.keys, (int)a->of.columns);
        }
    }
    free(found);
    return PASSED;
}

static outcome run_on_device(attention *a, bool backward) {
    bp_options *options;
    bp_plan_info info = {.struct_size = sizeof info};
    const bp_attention_call call = call_of(a, true, backward);
    LIBRARY(bp_options_new(&options, "attention.preferred=cudnn"));
    LIBRARY(bp_attention_run(options, &call));
    bp_options_release(options);
    LIBRARY(bp_last_plan(&info));
    HOLDS(strcmp(info.algorithm, "cudnn") == 0);
    LIBRARY(bp_device_wait(place));
    return PASSED;
}

static outcome run_on_host(attention *a, bool backward) {
    const bp_attention_call call = call_of(a, false, backward);
    LIBRARY(bp_attention_run(NULL, &call));
    return PASSED;
}

/* Gradients read the output and the logarithms that the device has written. */
static outcome check(const sizes *s, bp_dtype dtype) {
    attention a;
    NEEDS(new_attention(&a, s, dtype));
    NEEDS(run_on_device(&a, false));
    NEEDS(run_on_host(&a, false));
    NEEDS(compare(&a, OUTPUT));
    NEEDS(compare(&a, LOGSUMEXP));
    if (s->backward) {
        NEEDS(run_on_device(&a, true));
        NEEDS(run_on_host(&a, true));
        for (int i = QUERY_GRADIENT; i <= VALUE_GRADIENT; i++) {
            NEEDS(compare(&a, i));
        }
    }
    free_attention(&a);
    return PASSED;
}

/* ---- Rules ---- */

static const sizes usual[] = {
    {2, 4, 4, 16, 16, 16, false, false, BP_DTYPE_NONE}, {2, 4, 4, 33, 77, 64, false, false, BP_DTYPE_NONE},
    {1, 6, 2, 65, 33, 40, true, false, BP_DTYPE_NONE},  {3, 4, 1, 9, 130, 128, true, false, BP_DTYPE_NONE},
    {2, 2, 2, 64, 192, 8, false, false, BP_DTYPE_NONE}, {70, 1, 1, 5, 2, 24, false, false, BP_DTYPE_NONE}};
enum { USUAL = sizeof usual / sizeof usual[0] };

static outcome values_are_right(void) {
    const sizes one = {2, 3, 3, 1, 37, 64, false, false, BP_DTYPE_NONE};
    NEEDS(open_device());
    for (int i = 0; i < 2 * USUAL; i++) {
        NEEDS(check(&usual[i / 2], types[i % 2]));
    }
    NEEDS(check(&one, BP_F16));
    return check(&one, BP_BF16);
}

static outcome gradients_are_right(void) {
    NEEDS(open_device());
    for (int i = 0; i < 2 * USUAL; i++) {
        sizes s = usual[i / 2];
        s.backward = true;
        NEEDS(check(&s, types[i % 2]));
    }
    return PASSED;
}

static outcome masks_are_right(void) {
    NEEDS(open_device());
    for (int i = 0; i < 2 * 2 * 2; i++) {
        const bp_dtype dtype = types[i % 2];
        sizes s = usual[i / 2 % 2];
        s.mask = i / 4 ? BP_F32 : dtype;
        NEEDS(check(&s, dtype));
    }
    return PASSED;
}

/* Every second row sees no key. */
static outcome empty_rows_are_zero(void) {
    NEEDS(open_device());
    for (int i = 0; i < 2 * 2; i++) {
        attention a;
        sizes s = usual[1];
        s.mask = i / 2 ? BP_F32 : types[i % 2];
        NEEDS(new_attention(&a, &s, types[i % 2]));
        array *mask = &a.tensor[MASK];
        for (int64_t at = 0; at < s.batch * s.queries * s.keys; at++) {
            if (at / s.keys % 2 && s.mask == BP_F32) {
                ((float *)mask->own)[at] = -INFINITY;
            } else if (at / s.keys % 2) {
                ((uint16_t *)mask->own)[at] = s.mask == BP_F16 ? 0xfc00 : 0xff80;
            }
        }
        NEEDS(send(mask));
        NEEDS(run_on_device(&a, false));
        NEEDS(run_on_host(&a, false));
        NEEDS(compare(&a, OUTPUT));
        NEEDS(compare(&a, LOGSUMEXP));
        free_attention(&a);
    }
    return PASSED;
}

/* The numbers of a call, such as the scale, are in the graph, also after the plan was released. */
static outcome attention_is_captured(void) {
    static const int order[] = {QUERY, KEY, VALUE, -1, -1, OUTPUT, LOGSUMEXP};
    attention a;
    bp_plan *plan;
    bp_queue *queue;
    bp_queue_graph *graph;
    bp_operand operands[7] = {{NULL, 0}};
    bp_options *options;
    NEEDS(open_device());
    NEEDS(new_attention(&a, &usual[2], BP_F16));
    const bp_attention_call call = call_of(&a, true, false);
    LIBRARY(bp_queue_new(&queue, place, 0));
    LIBRARY(bp_options_new(&options, "attention.preferred=cudnn"));
    LIBRARY(bp_attention_plan(&plan, options, &call));
    bp_options_release(options);
    for (int i = 0; i < 7; i++) {
        operands[i] = order[i] < 0
                          ? (bp_operand){NULL, 0}
                          : (bp_operand){a.tensor[order[i]].device.data, a.tensor[order[i]].device.byte_offset};
    }
    const bp_exec exec = {.struct_size = sizeof exec, .queue = queue};
    LIBRARY(bp_execute(plan, operands, &exec));
    LIBRARY(bp_queue_wait(queue));
    LIBRARY(bp_queue_capture_begin(queue));
    LIBRARY(bp_execute(plan, operands, &exec));
    LIBRARY(bp_queue_capture_end(&graph, queue));
    bp_plan_release(plan);
    for (int round = 0; round < 2; round++) {
        fill(&a.tensor[QUERY], false);
        NEEDS(send(&a.tensor[QUERY]));
        LIBRARY(bp_queue_graph_launch(graph, queue));
        LIBRARY(bp_queue_wait(queue));
        NEEDS(run_on_host(&a, false));
        NEEDS(compare(&a, OUTPUT));
    }
    bp_queue_graph_release(graph);
    bp_queue_release(queue);
    free_attention(&a);
    return PASSED;
}

const rule attention_rules[] = {
    {"attention.values", "Attention, and its logarithms, have the values of the host's.", values_are_right},
    {"attention.masks", "Masks of both types are added to the scores.", masks_are_right},
    {"attention.empty", "Rows whose scores all are -infinity are 0.", empty_rows_are_zero},
    {"attention.gradients", "Gradients of attention have the values of the host's.", gradients_are_right},
    {"attention.captured", "Attention can be captured, and its graph can be launched after the plan was released.",
     attention_is_captured},
    {NULL, NULL, NULL},
};
