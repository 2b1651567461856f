/* support_cudnn.c - implements support_cudnn.h. */
#include "cudnn/support_cudnn.h"

#define ALL CUDNN_DOUBLES "/good:" DOUBLES "/good"

cudnn_controls *the_cudnn(void) {
    static cudnn_controls *found;
    found = found ? found : controls_of(CUDNN_DOUBLES "/good/libcudnn.so.9", "cudnn_double");
    return found;
}

/* ---- Setup ---- */

int start_cudnn(void **state) {
    unsetenv("CUDNN_DOUBLE");
    return start_cuda(state) == 0 && restart_with(ALL) == BP_OK ? 0 : -1;
}

int stop_cudnn(void **state) {
    const int stopped = stop_cuda(state);
    const cudnn_controls *d = the_cudnn();
    if (d->handles || d->descriptors) {
        fprintf(stderr, "%d handles and %d descriptors are left\n", d->handles, d->descriptors);
    }
    return stopped != 0 || d->handles || d->descriptors;
}

/* Returns the number of a fault that CUDNN_FAULT names, as the tests of local.cmake do. */
static int planted_fault(void) {
    static const char *const names[CUDNN_FAULT_MOST] = {
        [CUDNN_FAULT_NONE] = "",
        [CUDNN_FAULT_ORDER] = "order",
        [CUDNN_FAULT_STREAM] = "stream",
        [CUDNN_FAULT_WORKSPACE] = "workspace",
        [CUDNN_FAULT_PADDING] = "padding",
        [CUDNN_FAULT_STEPS] = "steps",
        [CUDNN_FAULT_DILATION] = "dilation",
        [CUDNN_FAULT_GROUPS] = "groups",
        [CUDNN_FAULT_LAYOUT] = "layout",
        [CUDNN_FAULT_NOTES] = "notes",
        [CUDNN_FAULT_BETA] = "beta",
        [CUDNN_FAULT_BIAS] = "bias",
        [CUDNN_FAULT_RELU] = "relu",
        [CUDNN_FAULT_SCALE] = "scale",
        [CUDNN_FAULT_CAUSAL] = "causal",
        [CUDNN_FAULT_MASK] = "mask",
        [CUDNN_FAULT_HEADS] = "heads",
        [CUDNN_FAULT_STATS] = "stats",
        [CUDNN_FAULT_EMPTY] = "empty",
        [CUDNN_FAULT_SUMS] = "sums",
    };
    return number_of_fault("CUDNN_FAULT", names, CUDNN_FAULT_MOST);
}

int begin_cudnn(void **state) {
    cudnn_controls *d = the_cudnn();
    d->refuse_plans = 0;
    d->refuse_calls = 0;
    d->refuse_lists = 0;
    d->refuse_create = 0;
    d->plain_only = false;
    d->violations = 0;
    d->fault = planted_fault();
    const int begun = begin_cuda(state);
    the_double()->longest_delay_us = 20;
    return begun;
}

int end_cudnn(void **state) {
    const cudnn_controls *d = the_cudnn();
    const bool violated = d->violations != 0;
    if (violated) {
        fprintf(stderr, "cudnn: %d violations (%s)\n", d->violations, d->violation);
    }
    return end_cuda(state) != 0 || violated ? -1 : 0;
}

/* ---- Convolutions ---- */

static int64_t or_one(int64_t value) {
    return value ? value : 1;
}

/* Sets the sizes of a convolution's tensors, by the formulas of conv.h. */
static void set_sizes(const conv_case *c, int64_t sizes[CONV_TENSORS][5]) {
    const int64_t groups = or_one(c->groups);
    const int64_t all[CONV_TENSORS][2] = {
        {c->batch, c->in_channels},
        {c->transposed ? c->in_channels : c->out_channels, (c->transposed ? c->out_channels : c->in_channels) / groups},
        {c->out_channels, 0},
        {c->batch, c->out_channels}};
    for (int i = 0; i < CONV_TENSORS; i++) {
        memcpy(sizes[i], all[i], sizeof all[i]);
    }
    for (int d = 0; d < c->ndim; d++) {
        const int64_t step = or_one(c->stride[d]), window = or_one(c->dilation[d]) * (c->kernel[d] - 1) + 1;
        const int64_t pads = c->before[d] + c->after[d];
        sizes[CONV_INPUT][d + 2] = c->in[d];
        sizes[CONV_WEIGHT][d + 2] = c->kernel[d];
        sizes[CONV_OUTPUT][d + 2] =
            c->transposed ? (c->in[d] - 1) * step - pads + window + c->more[d] : (c->in[d] + pads - window) / step + 1;
    }
}

/* Makes the call of a case. */
static bp_conv_call call_of(const conv_trial *t, DLTensor *const tensors[CONV_TENSORS]) {
    static const int64_t ones[] = {1, 1, 1};
    const conv_case *c = &t->c;
    const bool has_stride = c->stride[0] != 0, has_dilation = c->dilation[0] != 0;
    bp_conv_call call = {.struct_size = sizeof call,
                         .pass = c->pass,
                         .ndim = c->ndim,
                         .transposed = c->transposed,
                         .groups = c->groups,
                         .stride = has_stride ? c->stride : ones,
                         .dilation = has_dilation ? c->dilation : ones,
                         .padding = c->before,
                         .padding_end = c->after,
                         .output_padding = c->transposed ? c->more : NULL,
                         .activation = c->activation};
    if (c->pass == BP_CONV_FORWARD) {
        call.input = tensors[CONV_INPUT];
        call.weight = tensors[CONV_WEIGHT];
        call.bias = c->has_bias ? tensors[CONV_BIAS] : NULL;
        call.output = tensors[CONV_OUTPUT];
    } else if (c->pass == BP_CONV_INPUT) {
        call.output_gradient = tensors[CONV_OUTPUT];
        call.weight = tensors[CONV_WEIGHT];
        call.input_gradient = tensors[CONV_INPUT];
    } else {
        call.input = tensors[CONV_INPUT];
        call.output_gradient = tensors[CONV_OUTPUT];
        call.weight_gradient = tensors[CONV_WEIGHT];
        call.bias_gradient = c->has_bias ? tensors[CONV_BIAS] : NULL;
    }
    return call;
}

void make_conv(conv_trial *t, const conv_case *c) {
    int64_t sizes[CONV_TENSORS][5];
    DLTensor *host[CONV_TENSORS], *device[CONV_TENSORS];
    t->c = *c;
    set_sizes(c, sizes);
    snprintf(t->text, sizeof t->text,
             "%s pass %d%s%s, %d positions, %d x %d -> %d channels in %d groups, kernel %d, layouts %d %d %d",
             bp_dtype_name(c->dtype), (int)c->pass, c->transposed ? " transposed" : "", c->has_bias ? " with bias" : "",
             c->ndim, (int)c->batch, (int)c->in_channels, (int)c->out_channels, (int)or_one(c->groups),
             (int)c->kernel[0], (int)c->layout[0], (int)c->layout[1], (int)c->layout[3]);
    for (int i = 0; i < CONV_TENSORS; i++) {
        test_array_make(&t->host[i], c->dtype, i == CONV_BIAS ? 1 : c->ndim + 2, sizes[i], c->layout[i]);
        test_array_fill(&t->host[i], 1);
        put(&t->device[i], &t->host[i], 0, c->past);
        host[i] = &t->host[i].view.tensor;
        device[i] = &t->device[i].tensor;
    }
    assert_ok(bp_device_wait(cuda_place(0))); /* tests may run it on another queue */
    t->on_host = call_of(t, host);
    t->call = call_of(t, device);
}

void free_conv(conv_trial *t) {
    for (int i = 0; i < CONV_TENSORS; i++) {
        drop(&t->device[i]);
        test_array_free(&t->host[i]);
    }
}

bp_status run_conv(const conv_trial *t, const char *settings) {
    bp_options *options;
    assert_ok(bp_options_new(&options, settings));
    const bp_status status = bp_conv_run(options, &t->call);
    bp_options_release(options);
    return status == BP_OK ? bp_device_wait(cuda_place(0)) : status;
}

void expect_conv(conv_trial *t) {
    reference_results made;
    assert_ok(reference_of_conv(&made, &t->on_host));
    for (int i = 0; i < CONV_TENSORS; i++) {
        get(&t->device[i]);
        test_array_check_gaps(&t->host[i], t->text);
    }
    test_check_results(&made, t->text);
}

void check_conv(const conv_case *c, const char *settings) {
    conv_trial t;
    make_conv(&t, c);
    if (run_conv(&t, settings) != BP_OK) {
        fail_msg("%s: %s", t.text, bp_last_error());
    }
    expect_conv(&t);
    free_conv(&t);
}

const char *explained_conv(const conv_trial *t, const char *settings) {
    static char text[32768];
    bp_options *options;
    bp_explanation *e;
    assert_ok(bp_options_new(&options, settings));
    assert_ok(bp_conv_explain(&e, options, &t->call));
    snprintf(text, sizeof text, "%s", bp_explanation_text(e));
    bp_explanation_release(e);
    bp_options_release(options);
    return text;
}

bp_plan *plan_conv(const conv_trial *t, const char *settings, bp_operand operands[4]) {
    static const int order[3][4] = {{CONV_INPUT, CONV_WEIGHT, CONV_BIAS, CONV_OUTPUT},
                                    {CONV_OUTPUT, CONV_WEIGHT, -1, CONV_INPUT},
                                    {CONV_INPUT, CONV_OUTPUT, CONV_WEIGHT, CONV_BIAS}};
    bp_options *options;
    bp_plan *plan;
    assert_ok(bp_options_new(&options, settings));
    if (bp_conv_plan(&plan, options, &t->call) != BP_OK) {
        fail_msg("%s: %s", t->text, bp_last_error());
    }
    bp_options_release(options);
    for (int i = 0; i < 4; i++) {
        const int from = order[t->c.pass][i];
        const bool absent = from < 0 || (from == CONV_BIAS && !t->c.has_bias);
        operands[i] = absent ? (bp_operand){NULL, 0}
                             : (bp_operand){t->device[from].tensor.data, t->device[from].tensor.byte_offset};
    }
    return plan;
}
