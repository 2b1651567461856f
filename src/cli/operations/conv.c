/* conv.c - convolutions and linear layers, with their gradients, for the commands that take an operation. */
#include "rows.h"

#include <string.h>

/* Reads --relu, which is short for --activation relu. */
static int read_relu(const cli_job *job, bp_unary_kind *activation) {
    if (cli_has(job->args, "relu") && cli_has(job->args, "activation")) {
        return cli_fail(CLI_USAGE, "%s: --relu is the same as --activation relu; give one of them",
                        job->operation->name);
    }
    *activation = cli_has(job->args, "relu") ? BP_UNARY_RELU : *activation;
    return CLI_OK;
}

/* Reads --padding: numbers, or a word. */
static int adjust_conv(cli_job *job) {
    described_words *words = &job->words.described;
    bp_conv_call *call = &words->of.conv;
    const char *text = cli_value(job->args, "padding");
    const int code = read_relu(job, &call->activation);
    if (code != CLI_OK) {
        return code;
    }
    if (text && (strcmp(text, "same") == 0 || strcmp(text, "valid") == 0)) {
        call->mode = *text == 's' ? BP_CONV_SAME : BP_CONV_VALID;
        return CLI_OK;
    }
    return job_each(job, "padding", call->ndim, words->sizes[words->size_count++], &call->padding);
}

static int adjust_linear(cli_job *job) {
    return read_relu(job, &job->words.described.of.linear.activation);
}

/* ---- Work ---- */

static const DLTensor *or_gradient(const DLTensor *tensor, const DLTensor *gradient) {
    return tensor ? tensor : gradient;
}

/* Each pass has as many products as the forward one. */
static double work_convolution(const cli_job *job) {
    const bp_conv_call *call = &job->words.described.of.conv;
    const DLTensor *input = or_gradient(call->input, call->input_gradient);
    const DLTensor *weight = or_gradient(call->weight, call->weight_gradient);
    const DLTensor *many = call->transposed ? input : or_gradient(call->output, call->output_gradient);
    return 2 * sizing_elements(many) * sizing_elements_per(weight, (double)weight->shape[0]);
}

static double work_linear(const cli_job *job) {
    const bp_linear_call *call = &job->words.described.of.linear;
    return 2 * sizing_elements(or_gradient(call->output, call->output_gradient)) *
           sizing_from_end(or_gradient(call->input, call->input_gradient), 1);
}

/* ---- The operations ---- */

#define CONV_OPTIONS "stride", "padding", "padding-end", "dilation", "groups"
static const char *const conv_options[] = {CONV_OPTIONS, "activation", "relu", NULL};
static const char *const transposed_options[] = {CONV_OPTIONS, "output-padding", "activation", "relu", NULL};
static const char *const conv_size_options[] = {CONV_OPTIONS, "size", NULL};
static const char *const transposed_size_options[] = {CONV_OPTIONS, "output-padding", "size", NULL};
static const char *const linear_options[] = {"activation", "relu", NULL};
static const char conv_own[] = "padding";

#define CONV(fixed, inputs, results) DESCRIBED("conv", fixed, inputs, results, adjust_conv, conv_own)
static const cli_described conv[] = CONV("pass=forward", "input,weight,bias", "output"),
                           conv_input[] = CONV("pass=input", "output_gradient,weight", "input_gradient"),
                           conv_weight[] =
                               CONV("pass=weight", "input,output_gradient", "weight_gradient,bias_gradient"),
                           transposed[] = CONV("transposed=1,pass=forward", "input,weight,bias", "output"),
                           transposed_input[] =
                               CONV("transposed=1,pass=input", "output_gradient,weight", "input_gradient"),
                           transposed_weight[] = CONV("transposed=1,pass=weight", "input,output_gradient",
                                                      "weight_gradient,bias_gradient");
static const cli_described
    linear_forward = {"linear", "pass=forward", "input,weight,bias", "output", adjust_linear, NULL},
    linear_input = {"linear", "pass=input", "output_gradient,weight", "input_gradient", NULL, NULL},
    linear_weight = {"linear", "pass=weight", "input,output_gradient", "weight_gradient,bias_gradient", NULL, NULL};

#define WEIGHTS "32x32x3*"
static const cli_sizing conv_sizing[] = SIZED(IMAGES " " WEIGHTS, "padding=1", work_convolution, PER_PRODUCT, false, 0),
                        conv_input_sizing[] = SIZED(IMAGES " " WEIGHTS, "padding=1 size=" IMAGES, work_convolution,
                                                    PER_PRODUCT, false, 0),
                        conv_weight_sizing[] = SIZED(IMAGES " " IMAGES, "padding=1 size=" WEIGHTS, work_convolution,
                                                     PER_PRODUCT, false, 2);
#define LINEAR_SIZES                                                                                                   \
    { 64, 256, 512, 1024 }
static const cli_sizing linear_sizing = {"64xn nxn", NULL,         NULL, work_linear, PER_PRODUCT,
                                         false,      LINEAR_SIZES, 0,    NULL},
                        linear_weight_sizing = {"64xn 64xn", NULL,         NULL, work_linear, PER_PRODUCT,
                                                false,       LINEAR_SIZES, 2,    NULL};

const cli_operation operations_conv[] = {
    EACH_DIMENSION("conv", "", "INPUT WEIGHT [BIAS]", 2, 3, 1, conv_options, conv, conv_sizing),
    EACH_DIMENSION("conv_transpose", "", "INPUT WEIGHT [BIAS]", 2, 3, 1, transposed_options, transposed, conv_sizing),
    ROW("linear", "INPUT WEIGHT [BIAS]", 2, 3, 1, linear_options, &linear_forward, &linear_sizing),
    EACH_DIMENSION("conv", "_input", "OUTPUT_GRADIENT WEIGHT", 2, 2, 1, conv_size_options, conv_input,
                   conv_input_sizing),
    EACH_DIMENSION("conv", "_weight", "INPUT OUTPUT_GRADIENT", 2, 2, 2, conv_size_options, conv_weight,
                   conv_weight_sizing),
    EACH_DIMENSION("conv_transpose", "_input", "OUTPUT_GRADIENT WEIGHT", 2, 2, 1, transposed_size_options,
                   transposed_input, conv_input_sizing),
    EACH_DIMENSION("conv_transpose", "_weight", "INPUT OUTPUT_GRADIENT", 2, 2, 2, transposed_size_options,
                   transposed_weight, conv_weight_sizing),
    ROW("linear_input", "OUTPUT_GRADIENT WEIGHT", 2, 2, 1, NULL, &linear_input, &linear_sizing),
    ROW("linear_weight", "INPUT OUTPUT_GRADIENT", 2, 2, 2, NULL, &linear_weight, &linear_weight_sizing),
    {.name = NULL},
};
