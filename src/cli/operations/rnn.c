/* rnn.c - recurrent layers and their gradients, for the commands that take an operation. */
#include "rows.h"

static int adjust_rnn(cli_job *job) {
    bp_rnn_call *call = &job->words.described.of.rnn;
    call->directions = call->weight_hh->ndim == 3 && call->weight_hh->shape[0] != 1 ? 2 : 1;
    if (call->mode == BP_RNN_TANH && cli_has(job->args, "relu")) {
        call->mode = BP_RNN_RELU;
    }
    return CLI_OK;
}

/* Each step multiplies all weights once, and in the gradients twice. */
static double work_recurrent(const cli_job *job) {
    const bp_rnn_call *call = &job->words.described.of.rnn;
    const double rows = sizing_elements_per(call->input, sizing_from_end(call->input, 1));
    const double weights = sizing_elements(call->weight_ih) + sizing_elements(call->weight_hh) +
                           (call->weight_hr ? sizing_elements(call->weight_hr) : 0);
    return 2 * rows * weights * (call->pass == BP_RNN_BACKWARD ? 2 : 1);
}

/* ---- The operations ---- */

static const char *const rnn_options[] = {"relu", "reverse", NULL};
static const char *const lstm_options[] = {"projection", "reverse", NULL};
static const char *const gru_options[] = {"reverse", "reset-before", NULL};
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

/* The gradients read the output and the reserve of training. */
static bp_status complete_rnn(cli_job *job) {
    bp_rnn_call call = job->words.described.of.rnn;
    call.pass = BP_RNN_TRAINING;
    call.output_gradient = NULL;
    call.input_gradient = call.initial_hidden_gradient = call.initial_cell_gradient = NULL;
    call.weight_ih_gradient = call.weight_hh_gradient = call.weight_hr_gradient = NULL;
    call.bias_ih_gradient = call.bias_hh_gradient = NULL;
    return bp_rnn_run(NULL, &call);
}

#define STEPS_OF(arrays, results, complete)                                                                            \
    { arrays, NULL, NULL, work_recurrent, PER_PRODUCT, false, {32, 128, 256, 512}, results, complete }
#define STEPS(arrays, results) STEPS_OF(arrays, results, NULL)
#define GRADIENT_STEPS(arrays) STEPS_OF(SEQUENCE " " SEQUENCE " " arrays, 5, complete_rnn)
#define SEQUENCE "16x16xn"
static const cli_sizing rnn_sizing = STEPS(SEQUENCE " nxn nxn n n", 0),
                        lstm_sizing = STEPS(SEQUENCE " 4nxn 4nxn 4n 4n", 0),
                        lstm_training_sizing = STEPS(SEQUENCE " 4nxn 4nxn 4n 4n", 2),
                        gru_sizing = STEPS(SEQUENCE " 3nxn 3nxn 3n 3n", 0),
                        gru_training_sizing = STEPS(SEQUENCE " 3nxn 3nxn 3n 3n", 2),
                        rnn_gradient_sizing = GRADIENT_STEPS("nxn nxn " SEQUENCE),
                        lstm_gradient_sizing = GRADIENT_STEPS("4nxn 4nxn " SEQUENCE " 16x16x5n:statistic"),
                        gru_gradient_sizing = GRADIENT_STEPS("3nxn 3nxn " SEQUENCE " 16x16x4n:statistic");

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
