/* attention.c - attention and its gradients, for the commands that take an operation. */
#include "rows.h"

/* Makes a view of numbers of the call. An explanation of a call on a device has no data. */
static bp_status view_numbers(const cli_job *job, bp_view *view, int64_t *numbers, int64_t count) {
    const bp_status status = bp_view_init(view, numbers, BP_I64, 1, &count, NULL);
    if (status == BP_OK && job->dry && job->device.device_type) {
        view->tensor.device = job->device;
        view->tensor.data = NULL;
    }
    return status;
}

/* Makes the seed, if there is dropout. One that is given without dropout is passed on, so that the library reports it.
 */
static int adjust_seed(cli_job *job) {
    described_words *words = &job->words.described;
    bp_attention_call *call = &words->of.attention;
    const int code = cli_number(job->args, "seed", 0, INT64_MAX, 0, &words->seed[0]);
    if (code != CLI_OK || (call->dropout == 0 && !cli_has(job->args, "seed"))) {
        return code;
    }
    const bp_status status = view_numbers(job, &words->seed_view, words->seed, 2);
    call->seed = job->seed = &words->seed_view.tensor;
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

static int adjust_lengths(cli_job *job) {
    described_words *words = &job->words.described;
    int count;
    const int code = operand_numbers(job->args, "lengths", words->lengths, &count);
    if (code != CLI_OK || count == 0) {
        return code;
    }
    const bp_status status = view_numbers(job, &words->lengths_view, words->lengths, count);
    words->of.attention.lengths = job->lengths = &words->lengths_view.tensor;
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

static int adjust_attention(cli_job *job) {
    bp_attention_call *call = &job->words.described.of.attention;
    const bool left = cli_has(job->args, "window-left"), right = cli_has(job->args, "window-right");
    call->has_scale = cli_has(job->args, "scale");
    call->has_window = left || right;
    call->window_left = call->has_window && !left ? -1 : call->window_left;
    call->window_right = call->has_window && !right ? -1 : call->window_right;
    const int code = adjust_seed(job);
    return code == CLI_OK ? adjust_lengths(job) : code;
}

/* Two products, and five in the gradients. */
static double work_attention(const cli_job *job) {
    const bp_attention_call *call = &job->words.described.of.attention;
    const double columns = sizing_from_end(call->query, 1);
    const double scores = sizing_elements_per(call->query, columns) * sizing_from_end(call->key, 2);
    const bool gradients = call->pass == BP_ATTENTION_BACKWARD;
    return 2 * scores *
           (gradients ? 3 * columns + 2 * sizing_from_end(call->value, 1) : columns + sizing_from_end(call->value, 1));
}

/* ---- The operations ---- */

static const char *const attention_options[] = {"causal",      "gqa",          "scale",       "softcap",
                                                "window-left", "window-right", "lower-right", "lengths",
                                                "dropout",     "seed",         NULL};
static const cli_described sdpa = {"attention",        "pass=forward",   "query,key,value,mask",
                                   "output,logsumexp", adjust_attention, "seed,lengths"},
                           sdpa_gradients = {"attention",
                                             "pass=backward",
                                             "output_gradient,query,key,value,output,logsumexp,mask",
                                             "query_gradient,key_gradient,value_gradient,mask_gradient",
                                             adjust_attention,
                                             "seed,lengths"};

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
