/* rewrite_norm.c - folds batch normalization in inference into the weight and bias of the convolution or linear layer
 * in front of it: y = (x - mean) * s + b, with s = weight / sqrt(var + eps), is a scale and a shift of each channel. */
#include "graph/rewrite.h"

#include "backplane/conv.h"
#include "backplane/linear.h"
#include "backplane/norm.h"
#include "base/number.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { INPUT, WEIGHT, BIAS, MEAN, VARIANCE, OPERANDS }; /* of batch normalization; layers have the first three */

/* The constants of both nodes, as numbers. NULL: absent, or not read. */
typedef struct folding {
    const bp__node *norm, *layer;
    double *norm_numbers[OPERANDS], *layer_numbers[BIAS + 1];
    int64_t channels;
    double *scale, *shift; /* of each channel */
} folding;

static bool is_linear(const bp__node *node) {
    return strcmp(node->call->info.name, "linear") == 0;
}

/* Returns the activation of a layer. */
static int activation_of(const bp__node *layer) {
    return (int)(is_linear(layer) ? ((const bp_linear_call *)layer->arguments)->activation
                                  : ((const bp_conv_call *)layer->arguments)->activation);
}

static bool are_constants(const bp_graph *graph, const bp__node *node, int first, int end) {
    bool constant = true;
    for (int i = first; i < end; i++) {
        constant &= !node->operand[i] || graph->values[node->operand[i]].kind == BP__VALUE_CONSTANT;
    }
    return constant;
}

/* Returns the layer that computes what is normalized, if both have the same channels. */
static const bp__node *layer_of(const bp__rewriting *r, const bp__node *norm) {
    const bp__graph_value *result = &r->from->values[norm->operand[INPUT]];
    const bp__node *layer = bp__rewrite_maker(r, norm->operand[INPUT], BP_OP_CONV);
    if (!layer || activation_of(layer) != BP_UNARY_COPY || (is_linear(layer) && result->ndim != 2)) {
        return NULL;
    }
    const bp_dtype dtype = r->from->values[layer->operand[WEIGHT]].dtype;
    const bool real = dtype >= BP_F16 && dtype <= BP_F64;
    return real && are_constants(r->from, layer, WEIGHT, BIAS + 1) && are_constants(r->from, norm, WEIGHT, OPERANDS)
               ? layer
               : NULL;
}

static bp_status read_constants(const bp_graph *graph, const bp__node *node, int end, double **numbers) {
    for (int i = WEIGHT; i < end; i++) {
        if (node->operand[i]) {
            BP__TRY(bp__rewrite_read(&graph->values[node->operand[i]], &numbers[i]));
        }
    }
    return BP_OK;
}

static bp_status find_scales(folding *f) {
    const bp_batch_norm_call *call = f->norm->arguments;
    double *const *of = f->norm_numbers;
    f->scale = bp__alloc((size_t)f->channels * 2 * sizeof *f->scale);
    if (!f->scale) {
        return bp__fail_memory((size_t)f->channels * 2 * sizeof *f->scale, "a graph");
    }
    f->shift = f->scale + f->channels;
    for (int64_t c = 0; c < f->channels; c++) {
        f->scale[c] = (of[WEIGHT] ? of[WEIGHT][c] : 1) / sqrt(of[VARIANCE][c] + call->eps);
        const double bias = f->layer_numbers[BIAS] ? f->layer_numbers[BIAS][c] : 0;
        f->shift[c] = (bias - of[MEAN][c]) * f->scale[c] + (of[BIAS] ? of[BIAS][c] : 0);
    }
    return BP_OK;
}

/* Returns the channel of the result to which row `row` of the weight belongs: the first dimension is the channel, or,
 * in transposed convolutions, the second one within a group. */
static int64_t channel_of(const folding *f, const bp__graph_value *weight, int64_t row) {
    const bp_conv_call *call = f->layer->arguments;
    if (is_linear(f->layer) || !call->transposed) {
        return row;
    }
    const int64_t groups = call->groups ? call->groups : 1, width = weight->shape[1];
    return row / width / (weight->shape[0] / groups) * width + row % width;
}

/* Scales the weight. Returns whether all new numbers are finite in the type. */
static bool scale_weight(const folding *f, const bp__graph_value *weight, double greatest) {
    const bp_conv_call *call = f->layer->arguments;
    const bool transposed = !is_linear(f->layer) && call->transposed;
    const int64_t rows = transposed ? weight->shape[0] * weight->shape[1] : weight->shape[0];
    const int64_t elements = bp__value_elements(weight), each = rows ? elements / rows : 0;
    bool finite = true;
    for (int64_t row = 0; row < rows; row++) {
        const double scale = f->scale[channel_of(f, weight, row)];
        for (int64_t i = row * each; i < (row + 1) * each; i++) {
            f->layer_numbers[WEIGHT][i] *= scale;
            finite &= fabs(f->layer_numbers[WEIGHT][i]) <= greatest;
        }
    }
    for (int64_t c = 0; c < f->channels; c++) {
        finite &= fabs(f->shift[c]) <= greatest;
    }
    return finite;
}

static double greatest_of(bp_dtype dtype) {
    return dtype == BP_F16 ? 65504 : dtype == BP_BF16 ? 0x1.fep127 : dtype == BP_F32 ? (double)FLT_MAX : DBL_MAX;
}

/* Adds the layer with the new constants, and with the relu of the normalization. */
static bp_status add_layer(bp__rewriting *r, const folding *f) {
    const bp__graph_value *weight = &r->from->values[f->layer->operand[WEIGHT]];
    const bp__graph_value bias = {.dtype = weight->dtype, .ndim = 1, .shape = (int64_t[]){f->channels}};
    const bp_batch_norm_call *call = f->norm->arguments;
    bp_value operands[] = {r->map[f->layer->operand[INPUT]], 0, 0}, result;
    BP__TRY(bp__rewrite_constant(r, weight, f->layer_numbers[WEIGHT], &operands[WEIGHT]));
    BP__TRY(bp__rewrite_constant(r, &bias, f->shift, &operands[BIAS]));
    bp__text fields = {0};
    bp__text_addf(&fields, "activation=%s", call->relu ? "relu" : "copy");
    bp__fields_write(f->layer, &fields);
    bp_status status =
        bp__rewrite_call(r, f->layer, f->layer->call->info.name, bp__text_get(&fields), 3, operands, &result);
    bp__text_free(&fields);
    BP__TRY(status);
    r->map[f->norm->first] = result;
    r->made.norms += result != 0;
    return BP_OK;
}

static bp_status fold(bp__rewriting *r, folding *f) {
    const bp__graph_value *weight = &r->from->values[f->layer->operand[WEIGHT]];
    BP__TRY(read_constants(r->from, f->norm, OPERANDS, f->norm_numbers));
    BP__TRY(read_constants(r->from, f->layer, BIAS + 1, f->layer_numbers));
    BP__TRY(find_scales(f));
    return scale_weight(f, weight, greatest_of(weight->dtype)) ? add_layer(r, f) : BP_OK;
}

static void free_numbers(const folding *f) {
    for (int i = WEIGHT; i < OPERANDS; i++) {
        bp__free(f->norm_numbers[i]);
    }
    bp__free(f->layer_numbers[WEIGHT]);
    bp__free(f->layer_numbers[BIAS]);
    bp__free(f->scale);
}

bp_status bp__rewrite_norm(bp__rewriting *r, const bp__node *node) {
    folding f = {.norm = node};
    f.layer = node->pass->info.op == BP_OP_BATCH_NORM ? layer_of(r, node) : NULL;
    if (!f.layer) {
        return BP_OK;
    }
    f.channels = r->from->values[node->operand[INPUT]].shape[1];
    bp_status status = fold(r, &f);
    free_numbers(&f);
    return status;
}
