/* conv.c - random convolutions and their gradients, and linear layers. Numbers are small integers. */
#include "../../support/passes.h"
#include "trial.h"

static struct {
    bp_conv_call call;
    int64_t stride[3], dilation[3], padding[3], padding_end[3], output_padding[3];
} p;

static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16};

static void draw_fields(source *s) {
    bp_conv_call *c = &p.call;
    *c = (bp_conv_call){.struct_size = sizeof *c, .pass = (bp_conv_pass)draw(s, 3), .ndim = 1 + draw(s, 3)};
    c->transposed = chance(s, 3);
    for (int d = 0; d < 3; d++) {
        p.stride[d] = draw_wild(s, 1 + draw(s, 3));
        p.dilation[d] = draw_wild(s, 1 + draw(s, 3));
        p.padding[d] = draw_wild(s, draw(s, 3));
        p.padding_end[d] = draw_wild(s, draw(s, 3));
        p.output_padding[d] = draw_wild(s, draw(s, 2));
    }
    c->groups = draw_wild(s, draw(s, 4));
    c->stride = draw(s, 2) ? p.stride : NULL;
    c->dilation = chance(s, 3) ? p.dilation : NULL;
    c->mode = c->stride || c->transposed || !chance(s, 6) ? BP_CONV_EXPLICIT : (bp_conv_padding)(1 + draw(s, 2));
    c->padding = c->mode == BP_CONV_EXPLICIT && draw(s, 2) ? p.padding : NULL;
    c->padding_end = c->padding && chance(s, 3) ? p.padding_end : NULL;
    c->output_padding = c->transposed && chance(s, 3) ? p.output_padding : NULL;
    c->activation = c->pass == BP_CONV_FORWARD && chance(s, 4) ? BP_UNARY_RELU : BP_UNARY_COPY;
}

static void make(trial *t) {
    source *s = &t->source;
    int64_t input[BP_MAX_NDIM], weight[BP_MAX_NDIM], output[BP_MAX_NDIM];
    bp_dtype type = draw_type(s, 4, types);
    int ndim = 0, out_ndim;
    draw_fields(s);
    const int64_t groups = p.call.groups > 0 && p.call.groups < 9 ? p.call.groups : 1;
    const int64_t channels = groups * draw_size(s, 8), filters = groups * draw_size(s, 8);
    if (!chance(s, 5)) {
        input[ndim++] = draw_size(s, 4);
    }
    input[ndim++] = channels;
    weight[0] = p.call.transposed ? channels : filters;
    weight[1] = (p.call.transposed ? filters : channels) / groups;
    for (int d = 0; d < p.call.ndim; d++) {
        input[ndim++] = draw_size(s, p.call.ndim == 3 ? 6 : 11);
        weight[2 + d] = draw_size(s, 3);
    }
    operand *x = add(t, "input", type, ndim, input), *w = add(t, "weight", type, 2 + p.call.ndim, weight);
    const bool bias = p.call.pass != BP_CONV_INPUT && draw(s, 2);
    operand *b = bias ? add(t, "bias", type, 1, &filters) : NULL;
    if (!bias) {
        add_absent(t);
    }
    bp_conv_call c = p.call;
    DLTensor shapes[2] = {x->tensor, w->tensor};
    shapes[0].shape = x->shape;
    shapes[1].shape = w->shape;
    c.input = &shapes[0];
    c.weight = &shapes[1];
    test_call_to_pass("conv", &c, (int)c.pass);
    if (bp_conv_shape(&c, &type, &out_ndim, output) != BP_OK) {
        t->invalid = true;
        return;
    }
    operand *y = add(t, "output", type, out_ndim, output);
    operand *written = p.call.pass == BP_CONV_FORWARD ? y : p.call.pass == BP_CONV_INPUT ? x : w;
    written->written = true;
    written->tolerance = 512; /* winograd and fft */
    if (b && p.call.pass == BP_CONV_WEIGHT) {
        b->written = true;
        b->tolerance = 8;
    }
    order_of_plan(t, 4,
                  p.call.pass == BP_CONV_FORWARD ? (const int[]){0, 1, 2, 3}
                  : p.call.pass == BP_CONV_INPUT ? (const int[]){3, 1, -1, 0}
                                                 : (const int[]){0, 3, 1, 2});
    describe(t,
             "conv pass %d ndim %d transposed %d groups %lld stride %d (%lld %lld %lld) dilation %d (%lld %lld %lld) "
             "padding %d (%lld %lld %lld) end %d mode %d activation %d",
             (int)p.call.pass, p.call.ndim, p.call.transposed, (long long)p.call.groups, p.call.stride != NULL,
             (long long)p.stride[0], (long long)p.stride[1], (long long)p.stride[2], p.call.dilation != NULL,
             (long long)p.dilation[0], (long long)p.dilation[1], (long long)p.dilation[2], p.call.padding != NULL,
             (long long)p.padding[0], (long long)p.padding[1], (long long)p.padding[2], p.call.padding_end != NULL,
             (int)p.call.mode, (int)p.call.activation);
}

static bp_status call(const trial *t, request what, const bp_options *set, void *made) {
    bp_conv_call c = p.call;
    c.input = t->tensor[0];
    c.weight = t->tensor[1];
    c.bias = t->tensor[2];
    c.output = t->tensor[3];
    test_call_to_pass("conv", &c, (int)c.pass);
    return what == RUN ? bp_conv_run(set, &c) : request_described(t, what, "conv", &c, set, made);
}

const family family_conv = {"conv", "conv.preferred", make, call, NULL, false};

/* ---- Linear layers ---- */

static bp_linear_call linear;

static void make_linear(trial *t) {
    source *s = &t->source;
    int64_t shape[BP_MAX_NDIM];
    const bp_dtype type = draw_type(s, 4, types);
    const int ndim = 1 + draw(s, 4);
    linear = (bp_linear_call){.struct_size = sizeof linear, .pass = (bp_linear_pass)draw(s, 3)};
    linear.activation =
        linear.pass == BP_LINEAR_FORWARD && chance(s, 3) ? (bp_unary_kind)draw(s, BP_ACTIVATION_KINDS) : BP_UNARY_COPY;
    linear.activation = (bp_unary_kind)draw_wild(s, linear.activation);
    for (int d = 0; d < ndim; d++) {
        shape[d] = draw_size(s, d == ndim - 1 ? 50 : 6);
    }
    const int64_t features = draw_size(s, 50), columns = shape[ndim - 1];
    operand *x = add(t, "input", type, ndim, shape),
            *w = add(t, "weight", type, 2, (const int64_t[]){features, columns}), *b = NULL;
    if (linear.pass != BP_LINEAR_INPUT && draw(s, 2)) {
        b = add(t, "bias", type, 1, &features);
    } else {
        add_absent(t);
    }
    shape[ndim - 1] = features;
    operand *y = add(t, "output", type, ndim, shape);
    operand *written = linear.pass == BP_LINEAR_FORWARD ? y : linear.pass == BP_LINEAR_INPUT ? x : w;
    written->written = true;
    written->tolerance = 64;
    if (b && linear.pass == BP_LINEAR_WEIGHT) {
        b->written = true;
        b->tolerance = 8;
    }
    order_of_plan(t, 4,
                  linear.pass == BP_LINEAR_FORWARD ? (const int[]){0, 1, 2, 3}
                  : linear.pass == BP_LINEAR_INPUT ? (const int[]){3, 1, -1, 0}
                                                   : (const int[]){0, 3, 1, 2});
    describe(t, "linear pass %d activation %d", (int)linear.pass, (int)linear.activation);
}

static bp_status call_linear(const trial *t, request what, const bp_options *set, void *made) {
    bp_linear_call c = linear;
    c.input = t->tensor[0];
    c.weight = t->tensor[1];
    c.bias = t->tensor[2];
    c.output = t->tensor[3];
    test_call_to_pass("linear", &c, (int)c.pass);
    return what == RUN ? bp_linear_run(set, &c) : request_described(t, what, "linear", &c, set, made);
}

const family family_linear = {"linear", "conv.preferred", make_linear, call_linear, NULL, false};
