/* layer_norm.c - normalizations of rows and groups, and their gradients, for the commands that take an operation. */
#include "rows.h"

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

/* ---- The operations ---- */

static const char *const norm_options[] = {"row-dims", "eps", NULL};
static const char *const group_options[] = {"groups", "eps", NULL};

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

#define ROW_SIZES                                                                                                      \
    { 64, 256, 1024, 4096 }
static const cli_sizing rows_sizing = NORM("256xn n n", NULL, ROW_SIZES, 0),
                        rms_sizing = NORM("256xn n", NULL, ROW_SIZES, 0),
                        group_sizing = NORM("8x32xnxn 32 32", "groups=8", IMAGE_SIZES, 0),
                        row_gradient_sizing = NORM("256xn 256xn n", NULL, ROW_SIZES, 3),
                        rms_gradient_sizing = NORM("256xn 256xn n", NULL, ROW_SIZES, 2),
                        group_gradient_sizing = NORM("8x32xnxn 8x32xnxn 32", "groups=8", IMAGE_SIZES, 3);

const cli_operation operations_layer_norm[] = {
    ROW("layer_norm", "INPUT [WEIGHT [BIAS]]", 1, 3, 3, norm_options, &layer_norm, &rows_sizing),
    ROW("rms_norm", "INPUT [WEIGHT]", 1, 2, 2, norm_options, &rms_norm, &rms_sizing),
    ROW("group_norm", "INPUT [WEIGHT [BIAS]]", 1, 3, 3, group_options, &group_norm, &group_sizing),
    ROW("layer_norm_gradients", GRADIENT_ARRAYS, 2, 5, 3, norm_options, &layer_norm_gradients, &row_gradient_sizing),
    ROW("rms_norm_gradients", "OUTPUT_GRADIENT INPUT [WEIGHT [INVERSE_STD]]", 2, 4, 2, norm_options,
        &rms_norm_gradients, &rms_gradient_sizing),
    ROW("group_norm_gradients", GRADIENT_ARRAYS, 2, 5, 3, group_options, &group_norm_gradients, &group_gradient_sizing),
    {.name = NULL},
};
