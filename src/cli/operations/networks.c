/* networks.c - convolutions, linear and recurrent layers, pooling, normalization, attention and random numbers,
 * with their gradients, for the commands that take an operation. */
#include "described.h"
#include "sizing.h"

#include <string.h>

/* ---- What is special ---- */

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

static int adjust_pool(cli_job *job) {
    const bp_pool_call *call = &job->words.described.of.pool;
    const bool adaptive = !job_takes(job, "kernel");
    if (cli_has(job->args, "divisor") && call->divisor == 0) {
        return cli_fail(CLI_USAGE, "--divisor takes one number, which must not be 0");
    }
    if (adaptive ? call->output_size || !job_takes(job, "output-size") : call->kernel != NULL) {
        return CLI_OK;
    }
    return cli_fail(CLI_USAGE, "--%s is missing; %s needs it", adaptive ? "output-size" : "kernel",
                    job->operation->name);
}

/* Sets what a row is, and for rms_norm the distance of 1 to the next number of the type that it is computed in, which
 * PyTorch adds where none is given. */
static int adjust_layer_norm(cli_job *job) {
    bp_layer_norm_call *call = &job->words.described.of.layer_norm;
    const bp_dtype dtype = call->input ? bp_dtype_from_dlpack(call->input->dtype) : BP_F32;
    int64_t number;
    if (call->kind == BP_RMS_NORM && job_takes(job, "eps") && !cli_has(job->args, "eps")) {
        call->eps = dtype == BP_F64 ? 0x1p-52 : 0x1p-23;
    }
    if (call->inverse_std && !cli_has(job->args, "eps")) {
        call->eps = 0; /* the statistics have it already; the library refuses one that is given */
    }
    if (call->kind == BP_GROUP_NORM) {
        return cli_number(job->args, "groups", 1, INT64_MAX, 1, &call->groups);
    }
    const int64_t otherwise = call->weight && call->weight->ndim > 0 ? call->weight->ndim : 1;
    const int code = cli_number(job->args, "row-dims", 1, BP_MAX_NDIM, otherwise, &number);
    call->row_ndim = (int)number;
    return code;
}

/* Makes the seed, if there is dropout. One that is given without dropout is passed on, so that the library reports it.
 */
static int adjust_attention(cli_job *job) {
    described_words *words = &job->words.described;
    bp_attention_call *call = &words->of.attention;
    call->has_scale = cli_has(job->args, "scale");
    const int code = cli_number(job->args, "seed", 0, INT64_MAX, 0, &words->seed[0]);
    if (code != CLI_OK || (call->dropout == 0 && !cli_has(job->args, "seed"))) {
        return code;
    }
    const int64_t shape[] = {2};
    const bp_status status = bp_view_init(&words->seed_view, words->seed, BP_I64, 1, shape, NULL);
    call->seed = job->seed = &words->seed_view.tensor;
    if (job->dry && job->device.device_type) {
        words->seed_view.tensor.device = job->device;
        words->seed_view.tensor.data = NULL;
    }
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

static int adjust_rnn(cli_job *job) {
    bp_rnn_call *call = &job->words.described.of.rnn;
    call->directions = call->weight_hh->ndim == 3 && call->weight_hh->shape[0] != 1 ? 2 : 1;
    if (call->mode == BP_RNN_TANH && cli_has(job->args, "relu")) {
        call->mode = BP_RNN_RELU;
    }
    return CLI_OK;
}

/* ---- The operations ---- */

#define ROW(name, arrays, least, most, results, options, described, sizing)                                            \
    {                                                                                                                  \
        name, arrays, least, most, results, 0, options, described_prepare, described_run, described_explain, false,    \
            &measured_call, described, sizing                                                                          \
    }

/* Three rows: of one, two and three dimensions. `text` and `tail` are the name before and after the number. */
#define EACH_DIMENSION(text, tail, arrays, least, most, results, options, described, sizing)                           \
    ROW(text "1d" tail, arrays, least, most, results, options, &described[0], &sizing[0]),                             \
        ROW(text "2d" tail, arrays, least, most, results, options, &described[1], &sizing[1]),                         \
        ROW(text "3d" tail, arrays, least, most, results, options, &described[2], &sizing[2])
#define DESCRIBED(call, fixed, inputs, results, adjust, own)                                                           \
    {                                                                                                                  \
        {call, fixed ",ndim=1", inputs, results, adjust, own}, {call, fixed ",ndim=2", inputs, results, adjust, own},  \
        {                                                                                                              \
            call, fixed ",ndim=3", inputs, results, adjust, own                                                        \
        }                                                                                                              \
    }

/* The sizings of such rows; the text of the shapes is the same. */
#define SIZED(arrays, options, work, count, moves, results)                                                            \
    {                                                                                                                  \
        {arrays, options, NULL, work, count, moves, {64, 256, 1024, 4096}, results, NULL},                             \
            {arrays, options, NULL, work, count, moves, {8, 16, 32, 64}, results, NULL}, {                             \
            arrays, options, NULL, work, count, moves, {4, 8, 16, 24}, results, NULL                                   \
        }                                                                                                              \
    }
#define PER_PRODUCT "2 for each product"
#define PER_ELEMENT "1 for each element"

static const cli_measured measured_call = {0, described_plan, check_described};

/* ---- Convolutions and linear layers ---- */

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

/* All tensors of a convolution and of its gradients have these shapes. */
#define IMAGES "8x32xn*"
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

/* ---- Pooling ---- */

static const char *const max_options[] = {"kernel", "stride", "padding", "dilation", "ceil", NULL};
static const char *const avg_options[] = {"kernel", "stride", "padding", "ceil", "exclude-padding", "divisor", NULL};
static const char *const adaptive_options[] = {"output-size", NULL};
static const char *const max_size_options[] = {"kernel", "stride", "padding", "dilation", "ceil", "size", NULL};
static const char *const avg_size_options[] = {"kernel",          "stride",  "padding", "ceil",
                                               "exclude-padding", "divisor", "size",    NULL};
static const char *const adaptive_size_options[] = {"output-size", "size", NULL};

#define POOL(fixed, inputs, results) DESCRIBED("pool", fixed, inputs, results, adjust_pool, NULL)
static const cli_described max_pool[] = POOL("kind=max,pass=forward", "input", "output,indices"),
                           avg_pool[] = POOL("kind=average,pass=forward", "input", "output"),
                           max_pool_backward[] =
                               POOL("kind=max,pass=backward", "output_gradient,indices", "input_gradient"),
                           avg_pool_backward[] =
                               POOL("kind=average,pass=backward", "output_gradient", "input_gradient");

#define WINDOWS "kernel=3 stride=1 padding=1"
#define POOLED(arrays, options, results) SIZED(arrays, options, work_elements, PER_ELEMENT, true, results)
static const cli_sizing window_sizing[] = POOLED(IMAGES, WINDOWS, 0),
                        adaptive_sizing[] = POOLED(IMAGES, "output-size=4", 0),
                        max_input_sizing[] = POOLED(IMAGES " " IMAGES ":below:n*", WINDOWS " size=" IMAGES, 0),
                        avg_input_sizing[] = POOLED(IMAGES, WINDOWS " size=" IMAGES, 0),
                        adaptive_max_input_sizing[] =
                            POOLED("8x32x4* 8x32x4*:below:n*", "output-size=4 size=" IMAGES, 0),
                        adaptive_avg_input_sizing[] = POOLED("8x32x4*", "output-size=4 size=" IMAGES, 0);

const cli_operation operations_pool[] = {
    EACH_DIMENSION("max_pool", "", "INPUT", 1, 1, 2, max_options, max_pool, window_sizing),
    EACH_DIMENSION("avg_pool", "", "INPUT", 1, 1, 1, avg_options, avg_pool, window_sizing),
    EACH_DIMENSION("adaptive_max_pool", "", "INPUT", 1, 1, 2, adaptive_options, max_pool, adaptive_sizing),
    EACH_DIMENSION("adaptive_avg_pool", "", "INPUT", 1, 1, 1, adaptive_options, avg_pool, adaptive_sizing),
    EACH_DIMENSION("max_pool", "_input", "OUTPUT_GRADIENT INDICES", 2, 2, 1, max_size_options, max_pool_backward,
                   max_input_sizing),
    EACH_DIMENSION("avg_pool", "_input", "OUTPUT_GRADIENT", 1, 1, 1, avg_size_options, avg_pool_backward,
                   avg_input_sizing),
    EACH_DIMENSION("adaptive_max_pool", "_input", "OUTPUT_GRADIENT INDICES", 2, 2, 1, adaptive_size_options,
                   max_pool_backward, adaptive_max_input_sizing),
    EACH_DIMENSION("adaptive_avg_pool", "_input", "OUTPUT_GRADIENT", 1, 1, 1, adaptive_size_options, avg_pool_backward,
                   adaptive_avg_input_sizing),
    {.name = NULL},
};

/* ---- Normalization ---- */

static const char *const batch_options[] = {"eps", "relu", NULL};
static const char *const eps_options[] = {"eps", NULL};
static const char *const norm_options[] = {"row-dims", "eps", NULL};
static const char *const group_options[] = {"groups", "eps", NULL};

static const cli_described
    batch_norm = {"batch_norm", "pass=inference", "input,running_mean,running_var,weight,bias", "output", NULL, NULL},
    batch_norm_training = {"batch_norm", "pass=training", "input,weight,bias", "output,mean,inverse_std", NULL, NULL},
    batch_norm_gradients = {"batch_norm",
                            "pass=backward",
                            "output_gradient,input,mean,inverse_std,weight",
                            "input_gradient,weight_gradient,bias_gradient",
                            NULL,
                            NULL};
#define LAYER(fixed)                                                                                                   \
    {                                                                                                                  \
        "layer_norm", fixed ",pass=forward", "input,weight,bias", "output,mean,inverse_std", adjust_layer_norm,        \
            "row-dims,groups"                                                                                          \
    }
#define RMS                                                                                                            \
    { "layer_norm", "kind=rms,pass=forward", "input,weight", "output,inverse_std", adjust_layer_norm, "row-dims" }
#define LAYER_GRADIENTS(fixed)                                                                                         \
    {                                                                                                                  \
        "layer_norm", fixed ",pass=backward", "output_gradient,input,weight,mean,inverse_std",                         \
            "input_gradient,weight_gradient,bias_gradient", adjust_layer_norm, "row-dims,groups"                       \
    }
static const cli_described layer_norm = LAYER("kind=layer"), group_norm = LAYER("kind=group"), rms_norm = RMS,
                           layer_norm_gradients = LAYER_GRADIENTS("kind=layer"),
                           group_norm_gradients = LAYER_GRADIENTS("kind=group"),
                           rms_norm_gradients = {"layer_norm",
                                                 "kind=rms,pass=backward",
                                                 "output_gradient,input,weight,inverse_std",
                                                 "input_gradient,weight_gradient",
                                                 adjust_layer_norm,
                                                 "row-dims"};
#define GRADIENT_ARRAYS "OUTPUT_GRADIENT INPUT [WEIGHT [MEAN INVERSE_STD]]"

#define NORM_SIZES                                                                                                     \
    { 8, 16, 32, 64 }
#define ROW_SIZES                                                                                                      \
    { 64, 256, 1024, 4096 }
#define NORM(arrays, options, sizes, results)                                                                          \
    { arrays, options, NULL, work_elements, PER_ELEMENT, true, sizes, results, NULL }
static const cli_sizing batch_norm_sizing = NORM("8x32xnxn 32 32:positive 32 32", NULL, NORM_SIZES, 0),
                        batch_training_sizing = NORM("8x32xnxn 32 32", NULL, NORM_SIZES, 3),
                        batch_gradient_sizing = NORM("8x32xnxn 8x32xnxn 32 32:positive 32", NULL, NORM_SIZES, 3),
                        rows_sizing = NORM("256xn n n", NULL, ROW_SIZES, 0),
                        rms_sizing = NORM("256xn n", NULL, ROW_SIZES, 0),
                        group_sizing = NORM("8x32xnxn 32 32", "groups=8", NORM_SIZES, 0),
                        row_gradient_sizing = NORM("256xn 256xn n", NULL, ROW_SIZES, 3),
                        rms_gradient_sizing = NORM("256xn 256xn n", NULL, ROW_SIZES, 2),
                        group_gradient_sizing = NORM("8x32xnxn 8x32xnxn 32", "groups=8", NORM_SIZES, 3);

const cli_operation operations_norm[] = {
    ROW("batch_norm", "INPUT MEAN VARIANCE [WEIGHT [BIAS]]", 3, 5, 1, batch_options, &batch_norm, &batch_norm_sizing),
    ROW("batch_norm_training", "INPUT [WEIGHT [BIAS]]", 1, 3, 3, eps_options, &batch_norm_training,
        &batch_training_sizing),
    ROW("batch_norm_gradients", "OUTPUT_GRADIENT INPUT MEAN INVERSE_STD [WEIGHT]", 4, 5, 3, NULL, &batch_norm_gradients,
        &batch_gradient_sizing),
    ROW("layer_norm", "INPUT [WEIGHT [BIAS]]", 1, 3, 3, norm_options, &layer_norm, &rows_sizing),
    ROW("rms_norm", "INPUT [WEIGHT]", 1, 2, 2, norm_options, &rms_norm, &rms_sizing),
    ROW("group_norm", "INPUT [WEIGHT [BIAS]]", 1, 3, 3, group_options, &group_norm, &group_sizing),
    ROW("layer_norm_gradients", GRADIENT_ARRAYS, 2, 5, 3, norm_options, &layer_norm_gradients, &row_gradient_sizing),
    ROW("rms_norm_gradients", "OUTPUT_GRADIENT INPUT [WEIGHT [INVERSE_STD]]", 2, 4, 2, norm_options,
        &rms_norm_gradients, &rms_gradient_sizing),
    ROW("group_norm_gradients", GRADIENT_ARRAYS, 2, 5, 3, group_options, &group_norm_gradients, &group_gradient_sizing),
    {.name = NULL},
};

/* ---- Attention ---- */

static const char *const attention_options[] = {"causal", "gqa", "scale", "dropout", "seed", NULL};
static const cli_described sdpa = {"attention",        "pass=forward",   "query,key,value,mask",
                                   "output,logsumexp", adjust_attention, "seed"},
                           sdpa_gradients = {"attention",
                                             "pass=backward",
                                             "output_gradient,query,key,value,output,logsumexp,mask",
                                             "query_gradient,key_gradient,value_gradient,mask_gradient",
                                             adjust_attention,
                                             "seed"};

#define HEADS "1x8xnx64"
/* The gradients read the output and the logarithms of the forward pass. */
static bp_status complete_attention(cli_job *job) {
    bp_attention_call call = job->words.described.of.attention;
    call.pass = BP_ATTENTION_FORWARD;
    call.output_gradient = call.query_gradient = call.key_gradient = call.value_gradient = call.mask_gradient = NULL;
    return bp_attention_run(NULL, &call);
}

static const cli_sizing attention_sizing = {HEADS " " HEADS " " HEADS, NULL, NULL, work_attention, PER_PRODUCT, false,
                                            {64, 128, 256, 512},       0,    NULL},
                        attention_gradient_sizing = {HEADS " " HEADS " " HEADS " " HEADS " " HEADS " 1x8xn:statistic",
                                                     NULL,
                                                     NULL,
                                                     work_attention,
                                                     PER_PRODUCT,
                                                     false,
                                                     {64, 128, 256, 512},
                                                     3,
                                                     complete_attention};

const cli_operation operations_attention[] = {
    ROW("sdpa", "QUERY KEY VALUE [MASK]", 3, 4, 2, attention_options, &sdpa, &attention_sizing),
    ROW("sdpa_gradients", "OUTPUT_GRADIENT QUERY KEY VALUE OUTPUT LOGSUMEXP [MASK]", 6, 7, 4, attention_options,
        &sdpa_gradients, &attention_gradient_sizing),
    {.name = NULL},
};

/* ---- Recurrent layers ---- */

static const char *const rnn_options[] = {"relu", "reverse", NULL};
static const char *const lstm_options[] = {"projection", "reverse", NULL};
static const char *const gru_options[] = {"reverse", NULL};
#define ARRAYS "INPUT WEIGHT_IH WEIGHT_HH [BIAS_IH BIAS_HH [HIDDEN]]"
#define LSTM_ARRAYS "INPUT WEIGHT_IH WEIGHT_HH [WEIGHT_HR] [BIAS_IH BIAS_HH [HIDDEN CELL]]"
#define RNN_GRADIENT_ARRAYS "OUTPUT_GRADIENT INPUT WEIGHT_IH WEIGHT_HH OUTPUT [HIDDEN]"
#define GRU_GRADIENT_ARRAYS "OUTPUT_GRADIENT INPUT WEIGHT_IH WEIGHT_HH OUTPUT RESERVE [HIDDEN]"
#define LSTM_GRADIENT_ARRAYS "OUTPUT_GRADIENT INPUT WEIGHT_IH WEIGHT_HH [WEIGHT_HR] OUTPUT RESERVE [HIDDEN CELL]"
#define IN "input,weight_ih,weight_hh,bias_ih,bias_hh,initial_hidden"
#define LSTM_IN "input,weight_ih,weight_hh,weight_hr?,bias_ih,bias_hh,initial_hidden,initial_cell"
#define GRADIENTS                                                                                                      \
    "input_gradient,weight_ih_gradient,weight_hh_gradient,bias_ih_gradient,bias_hh_gradient,initial_hidden_gradient"

static const cli_described
    rnn = {"rnn", "pass=inference,mode=rnn_tanh", IN, "output,final_hidden", adjust_rnn, "relu"},
    lstm = {"rnn", "pass=inference,mode=lstm", LSTM_IN, "output,final_hidden,final_cell", adjust_rnn, "projection"},
    gru = {"rnn", "pass=inference,mode=gru", IN, "output,final_hidden", adjust_rnn, NULL},
    lstm_training = {"rnn",      "pass=training,mode=lstm",
                     LSTM_IN,    "output,reserve,final_hidden,final_cell",
                     adjust_rnn, "projection"},
    gru_training = {"rnn", "pass=training,mode=gru", IN, "output,reserve,final_hidden", adjust_rnn, NULL},
    rnn_gradients = {"rnn",
                     "pass=backward,mode=rnn_tanh",
                     "output_gradient,input,weight_ih,weight_hh,output,initial_hidden",
                     GRADIENTS,
                     adjust_rnn,
                     "relu"},
    lstm_gradients = {"rnn",
                      "pass=backward,mode=lstm",
                      "output_gradient,input,weight_ih,weight_hh,weight_hr?,output,reserve,initial_hidden,initial_cell",
                      GRADIENTS ",initial_cell_gradient,weight_hr_gradient",
                      adjust_rnn,
                      "projection"},
    gru_gradients = {"rnn",
                     "pass=backward,mode=gru",
                     "output_gradient,input,weight_ih,weight_hh,output,reserve,initial_hidden",
                     GRADIENTS,
                     adjust_rnn,
                     NULL};

#define STEPS(arrays, results)                                                                                         \
    { arrays, NULL, NULL, work_recurrent, PER_PRODUCT, false, {32, 128, 256, 512}, results, NULL }
#define SEQUENCE "16x16xn"
static const cli_sizing rnn_sizing = STEPS(SEQUENCE " nxn nxn n n", 0),
                        lstm_sizing = STEPS(SEQUENCE " 4nxn 4nxn 4n 4n", 0),
                        lstm_training_sizing = STEPS(SEQUENCE " 4nxn 4nxn 4n 4n", 2),
                        gru_sizing = STEPS(SEQUENCE " 3nxn 3nxn 3n 3n", 0),
                        gru_training_sizing = STEPS(SEQUENCE " 3nxn 3nxn 3n 3n", 2),
                        rnn_gradient_sizing = STEPS(SEQUENCE " " SEQUENCE " nxn nxn " SEQUENCE, 5),
                        lstm_gradient_sizing =
                            STEPS(SEQUENCE " " SEQUENCE " 4nxn 4nxn " SEQUENCE " 16x16x5n:statistic", 5),
                        gru_gradient_sizing =
                            STEPS(SEQUENCE " " SEQUENCE " 3nxn 3nxn " SEQUENCE " 16x16x4n:statistic", 5);

const cli_operation operations_rnn[] = {
    ROW("rnn", ARRAYS, 3, 6, 2, rnn_options, &rnn, &rnn_sizing),
    ROW("lstm", LSTM_ARRAYS, 3, 8, 3, lstm_options, &lstm, &lstm_sizing),
    ROW("gru", ARRAYS, 3, 6, 2, gru_options, &gru, &gru_sizing),
    ROW("lstm_training", LSTM_ARRAYS, 3, 8, 4, lstm_options, &lstm_training, &lstm_training_sizing),
    ROW("gru_training", ARRAYS, 3, 6, 3, gru_options, &gru_training, &gru_training_sizing),
    ROW("rnn_gradients", RNN_GRADIENT_ARRAYS, 5, 6, 6, rnn_options, &rnn_gradients, &rnn_gradient_sizing),
    ROW("lstm_gradients", LSTM_GRADIENT_ARRAYS, 6, 9, 8, lstm_options, &lstm_gradients, &lstm_gradient_sizing),
    ROW("gru_gradients", GRU_GRADIENT_ARRAYS, 6, 7, 6, gru_options, &gru_gradients, &gru_gradient_sizing),
    {.name = NULL},
};

/* ---- Random numbers ---- */

static const char *const random_options[] = {"seed", "offset", "size", "to", NULL};
static const cli_described uniform = {"random", "kind=uniform", "", "output", NULL, "to"},
                           normal = {"random", "kind=normal", "", "output", NULL, "to"},
                           bits = {"random", "kind=bits", "", "output", NULL, "to"};

#define NUMBERS(options)                                                                                               \
    { "n", options, NULL, work_elements, PER_ELEMENT, true, {64, 4096, 262144, 4194304}, 0, NULL }
static const cli_sizing random_sizing = NUMBERS(NULL), bits_sizing = NUMBERS("to=i64");

const cli_operation operations_random[] = {
    ROW("random_uniform", "[LIKE]", 0, 1, 1, random_options, &uniform, &random_sizing),
    ROW("random_normal", "[LIKE]", 0, 1, 1, random_options, &normal, &random_sizing),
    ROW("random_bits", "[LIKE]", 0, 1, 1, random_options, &bits, &bits_sizing),
    {.name = NULL},
};
