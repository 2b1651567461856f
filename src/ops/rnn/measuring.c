/* measuring.c - what measuring recurrent layers needs. */
#include "ops/rnn/classes.h"
#include "ops/rnn/rnn.h"
#include "ops/sample.h"

#include <math.h>
#include <string.h>

/* The position of a tensor among the operands of an operation; -1: it has none. */
static int place_of(const bp__pass *pass, bp_rnn_tensor which) {
    for (int i = 0; i < pass->info.operand_count; i++) {
        if (pass->operand[i].shape == (int)which) {
            return i;
        }
    }
    return -1;
}

static const bp__pass *pass_of(bp_rnn_pass pass) {
    const bp_rnn_call call = {.pass = pass};
    return bp__rnn_pass(&call);
}

/* Computes output and reserve, which must belong to the other inputs. */
static bp_status compute_forward(const bp__trial *trial) {
    const bp__pass *forward = pass_of(BP_RNN_TRAINING), *backward = pass_of(BP_RNN_BACKWARD);
    bp_problem problem = *trial->problem;
    bp_rnn_layout *tensor = problem.of.rnn.tensor;
    bp_operand operands[BP__TRIAL_OPERANDS] = {{NULL, 0}};
    problem.op = BP_OP_RNN;
    memset(&tensor[BP_RNN_OUTPUT_GRADIENT], 0, (BP_RNN_TENSORS - BP_RNN_OUTPUT_GRADIENT) * sizeof *tensor);
    for (int i = 0; i < forward->info.operand_count; i++) {
        const int from = place_of(backward, (bp_rnn_tensor)forward->operand[i].shape);
        operands[i] = from >= 0 ? trial->operands[from] : operands[i];
    }
    return bp__problem_run(&problem, operands);
}

/* All steps are there. */
static void fill_lengths(const bp__trial *trial, const bp__trial_operand *o, char *memory) {
    bp__walk walk;
    for (bool more = bp__walk_begin(&walk, o); more; more = bp__walk_next(&walk, o, 0)) {
        bp__trial_store_index(o, memory, walk.at, trial->problem->of.rnn.steps);
    }
}

static void finish_trial(bp__trial *trial) {
    const bp_rnn_problem *p = &trial->problem->of.rnn;
    const bool backward = trial->problem->op == BP_OP_RNN_BACKWARD;
    const bp__pass *pass = pass_of(backward ? BP_RNN_BACKWARD : BP_RNN_TRAINING);
    bp__trial_operand *lengths = &trial->operand[place_of(pass, BP_RNN_LENGTHS)];
    lengths->values = BP__VALUES_FILLED;
    lengths->fill = fill_lengths;
    if (backward) {
        trial->operand[place_of(pass, BP_RNN_OUTPUT)].values = BP__VALUES_COMPUTED;
        trial->operand[place_of(pass, BP_RNN_RESERVE)].values = BP__VALUES_COMPUTED;
        trial->compute = compute_forward;
    }
    /* The errors of a step are in the states of the later ones. */
    trial->roundings = ((double)p->steps + 1) * (sqrt((double)p->input_size) + sqrt((double)p->hidden_size));
}

static void place(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place) {
    const bp_rnn_problem *p = &problem->of.rnn;
    (void)verdict;
    const int variant = p->mode == BP_RNN_RELU ? BP_RNN_TANH : p->reset_before ? BP__RNN_GRU_BEFORE : p->mode;
    place->class = bp__class_find((bp_op)problem->op, (bp_dtype)problem->dtype, variant);
    place->sizes[0] = sqrt((double)p->hidden_size * (double)p->input_size);
    place->sizes[1] = (double)p->batch;
    place->differs = true;
}

static bp_status sample(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    enum { STEPS = 16 };
    const bool before = class->variant == BP__RNN_GRU_BEFORE, gru = before || class->variant == BP_RNN_GRU;
    const int64_t units = sizes[0], gates = class->variant == BP_RNN_LSTM ? 4 : gru ? 3 : 1;
    const int64_t steps[] = {STEPS, sizes[1], units}, weight[] = {gates * units, units};
    bp__sample_tensor input, output, ih, hh;
    bp__sample_tensor_init(&input, class->dtype, 3, steps, NULL);
    bp__sample_tensor_init(&output, class->dtype, 3, steps, NULL);
    bp__sample_tensor_init(&ih, class->dtype, 2, weight, NULL);
    bp__sample_tensor_init(&hh, class->dtype, 2, weight, NULL);
    const bool gradient = class->op == BP_OP_RNN_BACKWARD;
    bp_rnn_call call = {.struct_size = sizeof call,
                        .pass = gradient ? BP_RNN_TRAINING : BP_RNN_INFERENCE,
                        .mode = gru ? BP_RNN_GRU : (bp_rnn_mode) class->variant,
                        .reset_before = before,
                        .input = &input.tensor,
                        .weight_ih = &ih.tensor,
                        .weight_hh = &hh.tensor,
                        .output = &output.tensor};
    if (gradient) {
        return bp__sample_gradient(problem, &bp__rnn_call, &call, BP_RNN_BACKWARD, bp__rnn_make);
    }
    const bp__call_request request = {.call = &call, .data_optional = true};
    return bp__rnn_make(problem, &request);
}

const bp__measuring bp__measuring_rnn = {
    .sample = sample,
    .place = place,
    .finish_trial = finish_trial,
};
