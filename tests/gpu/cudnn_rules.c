/* cudnn_rules.c - what the provider of cuDNN assumes of the library, checked on a real device: values of all passes in
 * all types and layouts, what the switches change, the order of streams, graphs and addresses. The double in
 * tests/cudnn/doubles keeps the same rules.
 *
 * Elements are small integers, so that every sum is exact in each type, and results are equal to the host's. */
#include "costs.h"

#include <stdlib.h>
#include <string.h>

#define EXACT "conv.preferred=cudnn, cudnn.conv.fp32_precision=ieee"

enum { INPUT, WEIGHT, BIAS, OUTPUT, TENSORS, ARRAY_BYTES = 1 << 16 };

static int32_t place;
static const bp_dtype types[] = {BP_F16, BP_BF16, BP_F32, BP_F64};

/* A tensor on the device, and on the host with the same layout. */
typedef struct array {
    DLManagedTensorVersioned *block;
    bp_view host;
    DLTensor device;
    uint8_t *bytes, *expected; /* before the run, and after it */
} array;

/* Sizes of a convolution over two dimensions. */
typedef struct window {
    int64_t batch, in_channels, out_channels, groups;
    int64_t in[2], kernel[2], stride[2], dilation[2], before[2], after[2], more[2];
} window;

typedef struct convolution {
    window w;
    bp_conv_call call, on_host;
    array of[TENSORS];
} convolution;

static outcome open_device(void) {
    bp_library_info info = {.struct_size = sizeof info};
    void *context = NULL;
    if (bp_library_find("cudnn", &info) != BP_OK) {
        return skip_rule("%s", bp_last_error());
    }
    LIBRARY(bp_device_find("cuda:0", &place));
    LIBRARY(bp_device_context(place, &context));
    NEEDS(open_driver());
    WORKS(cu.CtxSetCurrent(context));
    return PASSED;
}

/* ---- Tensors ---- */

/* Writes a number between -2 and 2. */
static void write_number(bp_dtype dtype, uint8_t *to, int value) {
    static const uint16_t half[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000};
    const float single = (float)value;
    const double wide = value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    const uint16_t brain = (uint16_t)(bits >> 16);
    const void *from = dtype == BP_F64   ? (const void *)&wide
                       : dtype == BP_F32 ? (const void *)&single
                       : dtype == BP_F16 ? (const void *)&half[value + 2]
                                         : &brain;
    memcpy(to, from, bp_dtype_size(dtype));
}

static void fill_array(array *a) {
    static unsigned state = 1;
    const bp_dtype dtype = bp_dtype_from_dlpack(a->host.tensor.dtype);
    const size_t size = bp_dtype_size(dtype);
    for (size_t at = 0; at + size <= ARRAY_BYTES; at += size) {
        state = state * 1664525u + 1013904223u;
        write_number(dtype, a->bytes + at, (int)(state >> 16) % 5 - 2);
    }
    memcpy(a->expected, a->bytes, ARRAY_BYTES);
}

static outcome copy_bytes(const array *a, uint8_t *bytes, bool to_device, bp_queue *queue) {
    const int64_t size = ARRAY_BYTES;
    bp_view host;
    DLTensor device = a->block->dl_tensor;
    LIBRARY(bp_view_init(&host, bytes, BP_U8, 1, &size, NULL));
    device.shape = host.tensor.shape;
    device.strides = host.tensor.strides;
    device.byte_offset = a->device.byte_offset;
    LIBRARY(to_device ? bp_copy(&device, &host.tensor, queue) : bp_copy(&host.tensor, &device, queue));
    return PASSED;
}

static outcome new_array(array *a, bp_dtype dtype, int ndim, const int64_t *shape, bool channels_last, size_t past) {
    const int64_t size = ARRAY_BYTES + 256;
    int64_t strides[4] = {0};
    int64_t step = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        const int d = channels_last && ndim == 4 ? (int[]){0, 2, 3, 1}[i] : i;
        strides[d] = step;
        step *= shape[d];
    }
    *a = (array){.bytes = calloc(1, ARRAY_BYTES), .expected = calloc(1, ARRAY_BYTES)};
    HOLDS(a->bytes && a->expected && step * (int64_t)bp_dtype_size(dtype) <= ARRAY_BYTES);
    LIBRARY(bp_tensor_empty_on(&a->block, place, BP_U8, 1, &size, NULL));
    LIBRARY(bp_view_init(&a->host, a->bytes, dtype, ndim, shape, strides));
    a->device = a->host.tensor;
    a->device.data = a->block->dl_tensor.data;
    a->device.device = a->block->dl_tensor.device;
    a->device.byte_offset = a->block->dl_tensor.byte_offset + past;
    fill_array(a);
    return copy_bytes(a, a->bytes, true, NULL);
}

/* ---- Convolutions ---- */

static void set_tensors(bp_conv_call *call, DLTensor *const tensors[TENSORS], bool has_bias) {
    DLTensor *const bias = has_bias ? tensors[BIAS] : NULL;
    switch (call->pass) {
    case BP_CONV_FORWARD:
        call->input = tensors[INPUT];
        call->weight = tensors[WEIGHT];
        call->bias = bias;
        call->output = tensors[OUTPUT];
        break;
    case BP_CONV_INPUT:
        call->output_gradient = tensors[OUTPUT];
        call->weight = tensors[WEIGHT];
        call->input_gradient = tensors[INPUT];
        break;
    default:
        call->input = tensors[INPUT];
        call->output_gradient = tensors[OUTPUT];
        call->weight_gradient = tensors[WEIGHT];
        call->bias_gradient = bias;
    }
}

static int64_t size_of_output(const window *w, int d, bool transposed) {
    const int64_t reach = w->dilation[d] * (w->kernel[d] - 1) + 1, pads = w->before[d] + w->after[d];
    return transposed ? (w->in[d] - 1) * w->stride[d] - pads + reach + w->more[d]
                      : (w->in[d] + pads - reach) / w->stride[d] + 1;
}

/* Bit i of `last`: tensor i has its channels last. */
static outcome new_convolution(convolution *c, const window *w, bp_dtype dtype, bp_conv_pass pass, bool transposed,
                               bool has_bias, unsigned last, size_t past) {
    const int64_t out[] = {size_of_output(w, 0, transposed), size_of_output(w, 1, transposed)};
    const int64_t shapes[TENSORS][4] = {{w->batch, w->in_channels, w->in[0], w->in[1]},
                                        {transposed ? w->in_channels : w->out_channels,
                                         (transposed ? w->out_channels : w->in_channels) / w->groups, w->kernel[0],
                                         w->kernel[1]},
                                        {w->out_channels},
                                        {w->batch, w->out_channels, out[0], out[1]}};
    DLTensor *device[TENSORS];
    c->w = *w;
    c->call = (bp_conv_call){.struct_size = sizeof c->call,
                             .pass = pass,
                             .ndim = 2,
                             .transposed = transposed,
                             .groups = w->groups,
                             .stride = c->w.stride,
                             .dilation = c->w.dilation,
                             .padding = c->w.before,
                             .padding_end = c->w.after,
                             .output_padding = transposed ? c->w.more : NULL};
    for (int i = 0; i < TENSORS; i++) {
        NEEDS(new_array(&c->of[i], dtype, i == BIAS ? 1 : 4, shapes[i], last >> i & 1, past));
        device[i] = &c->of[i].device;
    }
    set_tensors(&c->call, device, has_bias);
    return PASSED;
}

/* Computes on the host what is expected; results are in `expected` only. */
static outcome expect_values(convolution *c) {
    const bool has_bias = c->call.bias || c->call.bias_gradient;
    const bool forward = c->call.pass == BP_CONV_FORWARD, input = c->call.pass == BP_CONV_INPUT;
    DLTensor host[TENSORS], *tensors[TENSORS];
    for (int i = 0; i < TENSORS; i++) {
        const bool written = forward ? i == OUTPUT : input ? i == INPUT : i == WEIGHT || i == BIAS;
        host[i] = c->of[i].host.tensor;
        host[i].data = written ? c->of[i].expected : c->of[i].bytes;
        tensors[i] = &host[i];
    }
    c->on_host = c->call;
    set_tensors(&c->on_host, tensors, has_bias);
    LIBRARY(bp_conv_run(NULL, &c->on_host));
    return PASSED;
}

static outcome compare(convolution *c) {
    static uint8_t found[ARRAY_BYTES];
    NEEDS(expect_values(c));
    LIBRARY(bp_device_wait(place));
    for (int i = 0; i < TENSORS; i++) {
        NEEDS(copy_bytes(&c->of[i], found, false, NULL));
        LIBRARY(bp_device_wait(place));
        for (int at = 0; at < ARRAY_BYTES; at++) {
            if (found[at] != c->of[i].expected[at]) {
                return fail("byte %d of tensor %d of pass %d, %s, is %d, not %d", at, i, (int)c->call.pass,
                            c->call.transposed ? "transposed" : "not transposed", found[at], c->of[i].expected[at]);
            }
        }
    }
    return PASSED;
}

static void free_convolution(convolution *c) {
    for (int i = 0; i < TENSORS; i++) {
        c->of[i].block->deleter(c->of[i].block);
        free(c->of[i].bytes);
        free(c->of[i].expected);
    }
}

static outcome run_convolution(const convolution *c, const char *settings) {
    bp_options *options;
    LIBRARY(bp_options_new(&options, settings));
    LIBRARY(bp_conv_run(options, &c->call));
    bp_options_release(options);
    return PASSED;
}

static outcome check(const window *w, bp_dtype dtype, int pass, bool transposed, bool has_bias, unsigned last,
                     size_t past, const char *settings) {
    convolution c;
    NEEDS(new_convolution(&c, w, dtype, (bp_conv_pass)pass, transposed, has_bias, last, past));
    NEEDS(run_convolution(&c, settings));
    NEEDS(compare(&c));
    free_convolution(&c);
    return PASSED;
}

/* ---- Values ---- */

static const window usual = {2, 4, 6, 1, {7, 5}, {3, 2}, {1, 1}, {1, 1}, {1, 0}, {1, 0}, {0, 0}};

static outcome values_are_right(void) {
    static const window windows[] = {
        {2, 4, 6, 1, {7, 5}, {3, 2}, {1, 1}, {1, 1}, {1, 0}, {1, 0}, {0, 0}},
        {2, 4, 6, 2, {9, 8}, {3, 3}, {2, 3}, {1, 1}, {0, 1}, {0, 1}, {1, 0}},
        {1, 3, 5, 1, {9, 9}, {2, 3}, {1, 2}, {3, 1}, {2, 1}, {0, 3}, {0, 0}},
        {3, 4, 4, 4, {6, 6}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}, {0, 1}},
        {1, 1, 1, 1, {1, 9}, {1, 4}, {1, 2}, {1, 1}, {0, 1}, {0, 2}, {0, 0}},
    };
    NEEDS(open_device());
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        for (int k = 0; k < 3 * 2 * 4; k++) {
            NEEDS(check(&windows[i], types[k / 6], k % 3, k / 3 % 2, false, 0, 0, EXACT));
        }
    }
    return PASSED;
}

/* Each tensor in each of the two layouts, with all others. */
static outcome layouts_are_right(void) {
    static const unsigned layouts[] = {0, 1, 2, 3, 8, 9, 10, 11}; /* a bias has one dimension */
    NEEDS(open_device());
    for (int k = 0; k < 3 * 2 * 4; k++) {
        for (int i = 0; i < 8; i++) {
            NEEDS(check(&usual, types[k / 6], k % 3, k / 3 % 2, k % 3 != 1, layouts[i], 0, EXACT));
        }
    }
    return PASSED;
}

static outcome biases_are_right(void) {
    NEEDS(open_device());
    for (int k = 0; k < 2 * 2 * 4; k++) {
        convolution c;
        NEEDS(check(&usual, types[k / 4], k % 2 ? BP_CONV_WEIGHT : BP_CONV_FORWARD, k / 2 % 2, true, 0, 0, EXACT));
        NEEDS(new_convolution(&c, &usual, types[k / 4], BP_CONV_FORWARD, false, k % 2, k / 2 % 2 ? 11 : 0, 0));
        c.call.activation = BP_UNARY_RELU;
        NEEDS(run_convolution(&c, EXACT));
        NEEDS(compare(&c));
        free_convolution(&c);
    }
    return PASSED;
}

static outcome addresses_are_right(void) {
    NEEDS(open_device());
    for (int k = 0; k < 3 * 4; k++) {
        NEEDS(check(&usual, types[k / 3], k % 3, false, false, 0, bp_dtype_size(types[k / 3]), EXACT));
    }
    return PASSED;
}

/* ---- Switches ---- */

/* A number that TF32 does not have. */
static void set_input(convolution *c, float value) {
    for (size_t at = 0; at < ARRAY_BYTES; at += sizeof value) {
        memcpy(c->of[INPUT].bytes + at, &value, sizeof value);
    }
    memcpy(c->of[INPUT].expected, c->of[INPUT].bytes, ARRAY_BYTES);
}

static outcome tf32_is_a_switch(void) {
    convolution c;
    const window w = {8, 64, 64, 1, {4, 4}, {1, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {0, 0}};
    NEEDS(open_device());
    bp_device_info info = {.struct_size = sizeof info};
    LIBRARY(bp_device_describe(place, &info));
    if (info.capability < 800) {
        return skip_rule("the device has no TF32");
    }
    NEEDS(new_convolution(&c, &w, BP_F32, BP_CONV_FORWARD, false, false, 0, 0));
    set_input(&c, 1.000244140625f); /* 1 + 2^-12: sums of multiples are exact in f32 */
    NEEDS(copy_bytes(&c.of[INPUT], c.of[INPUT].bytes, true, NULL));
    NEEDS(run_convolution(&c, "cudnn.allow_tf32=false, conv.preferred=cudnn:direct"));
    NEEDS(compare(&c));
    NEEDS(run_convolution(&c, "conv.preferred=cudnn, cudnn.allow_tf32=true"));
    LIBRARY(bp_device_wait(place));
    static uint8_t found[ARRAY_BYTES];
    NEEDS(copy_bytes(&c.of[OUTPUT], found, false, NULL));
    LIBRARY(bp_device_wait(place));
    HOLDS(memcmp(found, c.of[OUTPUT].expected, ARRAY_BYTES) != 0);
    free_convolution(&c);
    return PASSED;
}

/* Random fractions, for which the order of additions matters. */
static outcome bits_repeat(void) {
    static uint8_t first[ARRAY_BYTES], found[ARRAY_BYTES];
    const window w = {4, 8, 8, 1, {10, 10}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}};
    NEEDS(open_device());
    for (int pass = 0; pass < 3; pass++) {
        convolution c;
        const int written = pass == 0 ? OUTPUT : pass == 1 ? INPUT : WEIGHT;
        NEEDS(new_convolution(&c, &w, BP_F32, (bp_conv_pass)pass, false, false, 0, 0));
        for (int i = 0; i < TENSORS; i++) {
            for (size_t at = 0; at < ARRAY_BYTES; at += sizeof(float)) {
                const float value = 1 / (3.0f + (float)(at * 7 % 1009));
                memcpy(c.of[i].bytes + at, &value, sizeof value);
            }
            NEEDS(copy_bytes(&c.of[i], c.of[i].bytes, true, NULL));
        }
        for (int round = 0; round < 20; round++) {
            NEEDS(run_convolution(&c, "conv.preferred=cudnn, cudnn.deterministic=true, cudnn.allow_tf32=true"));
            LIBRARY(bp_device_wait(place));
            NEEDS(copy_bytes(&c.of[written], round == 0 ? first : found, false, NULL));
            LIBRARY(bp_device_wait(place));
            HOLDS(round == 0 || memcmp(first, found, ARRAY_BYTES) == 0);
        }
        free_convolution(&c);
    }
    return PASSED;
}

static outcome engines_are_measured(void) {
    NEEDS(open_device());
    for (int k = 0; k < 3 * 4; k++) {
        NEEDS(check(&usual, types[k / 3], k % 3, false, k % 3 != 1, 0, 0, "cudnn.benchmark=true, " EXACT));
    }
    return PASSED;
}

/* ---- Streams ---- */

/* A plan that is held, and its queue. It has run once, because loading kernels may wait for the device. */
typedef struct held {
    convolution c;
    bp_plan *plan;
    bp_operand operands[4];
    bp_queue *queue;
    bp_exec exec;
} held;

static outcome hold(held *h) {
    static const int order[] = {INPUT, WEIGHT, BIAS, OUTPUT};
    bp_options *options;
    LIBRARY(bp_queue_new(&h->queue, place, 0));
    NEEDS(new_convolution(&h->c, &usual, BP_F32, BP_CONV_FORWARD, false, true, 1u << OUTPUT, 0));
    LIBRARY(bp_device_wait(place)); /* another queue has written the operands */
    LIBRARY(bp_options_new(&options, EXACT));
    LIBRARY(bp_conv_plan(&h->plan, options, &h->c.call));
    bp_options_release(options);
    for (int i = 0; i < 4; i++) {
        const DLTensor *tensor = &h->c.of[order[i]].device;
        h->operands[i] = (bp_operand){tensor->data, tensor->byte_offset};
    }
    h->exec = (bp_exec){.struct_size = sizeof h->exec, .queue = h->queue};
    LIBRARY(bp_execute(h->plan, h->operands, &h->exec));
    LIBRARY(bp_queue_wait(h->queue));
    return compare(&h->c);
}

static outcome write_input(held *h) {
    fill_array(&h->c.of[INPUT]);
    return copy_bytes(&h->c.of[INPUT], h->c.of[INPUT].bytes, true, h->queue);
}

static void release(held *h) {
    bp_plan_release(h->plan);
    bp_queue_release(h->queue);
    free_convolution(&h->c);
}

static outcome convolutions_keep_the_order(void) {
    held h;
    NEEDS(open_device());
    NEEDS(hold(&h));
    gate *own = close_gate(bp_queue_native(h.queue));
    HOLDS(own != NULL);
    NEEDS(write_input(&h));
    LIBRARY(bp_execute(h.plan, h.operands, &h.exec));
    WORKS(cu.StreamSynchronize(NULL)); /* a call that is in the default stream by mistake has run then */
    open_gate(own);
    LIBRARY(bp_queue_wait(h.queue));
    NEEDS(compare(&h.c));
    release(&h);
    return PASSED;
}

/* Also after the plan was released. */
static outcome convolutions_are_captured(void) {
    held h;
    bp_queue_graph *graph;
    NEEDS(open_device());
    NEEDS(hold(&h));
    LIBRARY(bp_queue_capture_begin(h.queue));
    LIBRARY(bp_execute(h.plan, h.operands, &h.exec));
    LIBRARY(bp_queue_capture_end(&graph, h.queue));
    for (int round = 0; round < 3; round++) {
        NEEDS(write_input(&h));
        LIBRARY(bp_queue_graph_launch(graph, h.queue));
        LIBRARY(bp_queue_wait(h.queue));
        NEEDS(compare(&h.c));
        bp_plan_release(h.plan);
        h.plan = NULL;
    }
    bp_queue_graph_release(graph);
    release(&h);
    return PASSED;
}

/* ---- Costs ---- */

static outcome run_plan(void *user) {
    const held *h = user;
    LIBRARY(bp_execute(h->plan, h->operands, &h->exec));
    return PASSED;
}

static outcome run_once(void *user) {
    const held *h = user;
    LIBRARY(bp_conv_run(NULL, &h->c.call));
    return PASSED;
}

/* Without a copy: all tensors are compact. The library that does nothing has no values. */
static outcome costs_of_convolutions(void) {
    static const int order[] = {INPUT, WEIGHT, BIAS, OUTPUT};
    held h;
    double plan, once;
    NEEDS(open_device());
    LIBRARY(bp_queue_new(&h.queue, place, 0));
    LIBRARY(bp_queue_use(place, h.queue));
    NEEDS(new_convolution(&h.c, &usual, BP_F32, BP_CONV_FORWARD, false, true, 0, 0));
    LIBRARY(bp_conv_plan(&h.plan, NULL, &h.c.call));
    for (int i = 0; i < 4; i++) {
        const DLTensor *tensor = &h.c.of[order[i]].device;
        h.operands[i] = (bp_operand){tensor->data, tensor->byte_offset};
    }
    h.exec = (bp_exec){.struct_size = sizeof h.exec, .queue = h.queue};
    NEEDS(least_time(run_plan, &h, h.queue, &plan));
    NEEDS(least_time(run_once, &h, h.queue, &once));
    note("a convolution of 2x4x7x5 f32 with a bias, enqueued: bp_execute %.0f ns, bp_conv_run %.0f ns", plan, once);
    LIBRARY(bp_queue_use(place, NULL));
    release(&h);
    return PASSED;
}

const rule cudnn_rules[] = {
    {"convolutions.values", "Convolutions, their transposes and gradients have the values of the host's.",
     values_are_right},
    {"convolutions.layouts", "Strides of tensors mean what the provider tells.", layouts_are_right},
    {"convolutions.biases", "Biases, relu and gradients by biases have the values of the host's.", biases_are_right},
    {"convolutions.addresses", "Addresses may be multiples of an element.", addresses_are_right},
    {"convolutions.tf32", "The note TENSOR_CORE tells which engines use TF32.", tf32_is_a_switch},
    {"convolutions.bits", "Engines without the note NONDETERMINISTIC repeat their bits.", bits_repeat},
    {"convolutions.measured", "Engines that are measured have the values of the host's.", engines_are_measured},
    {"convolutions.order", "A call is behind the earlier commands of the stream.", convolutions_keep_the_order},
    {"convolutions.captured", "A call can be captured, and its graph can be launched after the plan was released.",
     convolutions_are_captured},
    {"costs.convolutions", "Times of starting a convolution.", costs_of_convolutions},
    {NULL, NULL, NULL},
};
