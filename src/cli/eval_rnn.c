/* eval_rnn.c - recurrent layers, for the commands that take an operation. */
#include "operations.h"

/* Sets the tensors of the call to the arrays, in their order. */
static void read_arrays(cli_job *job) {
    bp_rnn_call *call = &job->words.rnn;
    const DLTensor **const to[] = {&call->input,   &call->weight_ih, &call->weight_hh,      &call->weight_hr,
                                   &call->bias_ih, &call->bias_hh,   &call->initial_hidden, &call->initial_cell};
    const bool projects = call->mode == BP_RNN_LSTM && cli_has(job->args, "projection");
    for (int i = 0, at = 0; i < job->input_count && at < (int)(sizeof to / sizeof *to); i++, at++) {
        at += at == 3 && !projects;
        *to[at] = &job->inputs[i].tensor;
    }
}

static int result(cli_job *job, bp_rnn_tensor which, const DLTensor **to) {
    const int index = job->result_count++;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    const bp_status status = bp_rnn_shape(&job->words.rnn, which, &dtype, &ndim, shape);
    *to = &job->results[index].tensor;
    return status == BP_OK ? job_result(job, index, dtype, ndim, shape) : cli_fail_status(status);
}

static int prepare(cli_job *job) {
    bp_rnn_call *call = &job->words.rnn;
    const DLTensor *weight = &job->inputs[2].tensor;
    *call = (bp_rnn_call){.struct_size = sizeof *call,
                          .mode = (bp_rnn_mode)job->operation->number,
                          .directions = weight->ndim == 3 && weight->shape[0] != 1 ? 2 : 1,
                          .reverse = cli_has(job->args, "reverse")};
    if (call->mode == BP_RNN_TANH && cli_has(job->args, "relu")) {
        call->mode = BP_RNN_RELU;
    }
    read_arrays(job);
    job->result_count = 0;
    int code = result(job, BP_RNN_OUTPUT, &call->output);
    if (code == CLI_OK && job->wanted > 1) {
        code = result(job, BP_RNN_FINAL_HIDDEN, &call->final_hidden);
    }
    if (code == CLI_OK && job->wanted > 2) {
        code = result(job, BP_RNN_FINAL_CELL, &call->final_cell);
    }
    return code;
}

static bp_status run(cli_job *job) {
    return bp_rnn_run(job->options, &job->words.rnn);
}

static bp_status explain(const cli_job *job, bp_explanation **explanation) {
    return bp_rnn_explain(explanation, job->options, &job->words.rnn);
}

static bp_status plan(const cli_job *job, bp_plan **made, bp_operand *operands, int *count) {
    const bp_rnn_call *call = &job->words.rnn;
    const DLTensor *const tensors[] = {call->input,   call->weight_ih, call->weight_hh,      call->weight_hr,
                                       call->bias_ih, call->bias_hh,   call->initial_hidden, call->initial_cell,
                                       call->lengths, call->output,    call->final_hidden,   call->final_cell,
                                       call->reserve};
    for (*count = 0; *count < 13; ++*count) {
        operands[*count] = job_operand(tensors[*count]);
    }
    return bp_rnn_plan(made, job->options, call);
}

static const cli_measured measured = {NULL, plan, check_rnn};
static const char *const rnn_options[] = {"relu", "reverse", NULL};
static const char *const lstm_options[] = {"projection", "reverse", NULL};
static const char *const gru_options[] = {"reverse", NULL};
#define ARRAYS "INPUT WEIGHT_IH WEIGHT_HH [BIAS_IH BIAS_HH [HIDDEN]]"
#define LSTM_ARRAYS "INPUT WEIGHT_IH WEIGHT_HH [WEIGHT_HR] [BIAS_IH BIAS_HH [HIDDEN CELL]]"

const cli_operation operations_rnn[] = {
    {"rnn", ARRAYS, 3, 6, 2, BP_RNN_TANH, rnn_options, prepare, run, explain, false, &measured},
    {"lstm", LSTM_ARRAYS, 3, 8, 3, BP_RNN_LSTM, lstm_options, prepare, run, explain, false, &measured},
    {"gru", ARRAYS, 3, 6, 2, BP_RNN_GRU, gru_options, prepare, run, explain, false, &measured},
    {.name = NULL},
};
