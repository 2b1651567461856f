/* measuring.c - what measuring attention needs. */
#include "ops/attention/classes.h"
#include "ops/attention/attention.h"
#include "ops/sample.h"

#include <math.h>
#include <string.h>

/* The positions of BP_OP_MAP that matter here. */
enum { PAGED_PAGES = 5, PAGED_LENGTHS = 6 };
enum { BACKWARD_QUERY = 1, BACKWARD_OUTPUT = 6, BACKWARD_LOGSUMEXP = 7 };
enum { LENGTHS = 5 }; /* of ATTENTION_LENGTHS; in the gradients, this and what follows is one further */

static bool is_backward(const bp_problem *problem) {
    return problem->op == BP_OP_ATTENTION_BACKWARD || problem->op == BP_OP_ATTENTION_LENGTHS_BACKWARD;
}

/* Computes output and logsumexp, which must belong to the other inputs. */
static bp_status compute_forward(const bp__trial *trial) {
    bp_problem forward = *trial->problem;
    bp_attention_layout *tensor = forward.of.attention.tensor;
    forward.op = bp__attention_has_lengths_alone(&forward) ? BP_OP_ATTENTION_LENGTHS : BP_OP_ATTENTION;
    memset(&tensor[BP_ATTENTION_OUTPUT_GRADIENT], 0,
           (BP_ATTENTION_PAGES - BP_ATTENTION_OUTPUT_GRADIENT) * sizeof *tensor);
    return bp__problem_run(&forward, trial->operands + BACKWARD_QUERY); /* the same tensors follow in this order */
}

/* All keys are used. */
static void fill_lengths(const bp__trial *trial, const bp__trial_operand *o, char *memory) {
    bp__walk walk;
    for (bool more = bp__walk_begin(&walk, o); more; more = bp__walk_next(&walk, o, 0)) {
        bp__trial_store_index(o, memory, walk.at, trial->problem->of.attention.keys);
    }
}

static void fill_with_lengths(bp__trial_operand *operand) {
    operand->values = BP__VALUES_FILLED;
    operand->fill = fill_lengths;
}

static void finish_trial(bp__trial *trial) {
    const bp_attention_problem *p = &trial->problem->of.attention;
    const double keys = (double)p->keys;
    trial->roundings = sqrt(keys) + sqrt((double)p->size) + sqrt((double)p->value_size);
    trial->scale = 1 / (3 * sqrt(keys + 1)); /* of a mean of numbers in [-1, 1] */
    if (trial->problem->op == BP_OP_ATTENTION_PAGED) {
        trial->operand[PAGED_PAGES].values = BP__VALUES_INDICES;
        trial->operand[PAGED_PAGES].limit = p->pool;
        fill_with_lengths(&trial->operand[PAGED_LENGTHS]);
        return;
    }
    const bool counted = bp__attention_has_lengths_alone(trial->problem), backward = is_backward(trial->problem);
    if (counted) {
        fill_with_lengths(&trial->operand[LENGTHS + backward]);
    }
    if (backward) {
        trial->operand[BACKWARD_OUTPUT + counted].values = BP__VALUES_COMPUTED;
        trial->operand[BACKWARD_LOGSUMEXP + counted].values = BP__VALUES_COMPUTED;
        trial->compute = compute_forward;
    }
}

/* Returns the variant of the class of an algorithm; -1 if it is not measured by itself. */
static int variant_of(const char *algorithm) {
    for (int i = 0; i < BP__CLASSES; i++) {
        const bp__class *class = &bp__classes[i];
        if (class->op == BP_OP_ATTENTION && strcmp(class->algorithm, algorithm) == 0) {
            return class->variant;
        }
    }
    return -1;
}

static void place(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place) {
    const bp_attention_problem *p = &problem->of.attention;
    const bp_op op = !bp__attention_has_lengths_alone(problem) ? (bp_op)problem->op
                     : is_backward(problem)                    ? BP_OP_ATTENTION_BACKWARD
                                                               : BP_OP_ATTENTION;
    place->class = bp__class_find(op, (bp_dtype)problem->dtype, variant_of(verdict->algorithm));
    place->sizes[0] = sqrt((double)p->queries * (double)p->keys);
    place->sizes[1] = (double)p->batch;
    place->differs = true;
}

static bp_status sample(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]) {
    enum { COLUMNS = 64, VIEWS = 4 };
    const int64_t shape[] = {sizes[1], sizes[0], COLUMNS};
    bp__sample_tensor views[VIEWS];
    for (int i = 0; i < VIEWS; i++) {
        bp__sample_tensor_init(&views[i], class->dtype, 3, shape, NULL);
    }
    bp_attention_call call = {.struct_size = sizeof call,
                              .query = &views[0].tensor,
                              .key = &views[1].tensor,
                              .value = &views[2].tensor,
                              .output = &views[3].tensor};
    if (class->op == BP_OP_ATTENTION_BACKWARD) {
        return bp__sample_gradient(problem, &bp__attention_call, &call, BP_ATTENTION_BACKWARD, bp__attention_make);
    }
    const bp__call_request request = {.call = &call, .data_optional = true};
    return bp__attention_make(problem, &request);
}

const bp__measuring bp__measuring_attention = {
    .sample = sample,
    .place = place,
    .finish_trial = finish_trial,
};
