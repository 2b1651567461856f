/* backward.c - computes the gradients of recurrent layers.
 *
 * For each direction, the steps in the opposite order: threads take blocks of hidden units and compute the gradients by
 * the gates, which are kept for all steps, and then the gradient by the hidden state before the step. All others are
 * matrix products at the end. Rows of steps that an item does not have are 0, so that these products are over all rows.
 *
 * In a GRU whose reset gate comes before the product, the gradients by z and n come first. The gradient by r needs a
 * product with the gradient by n, and is computed with that by r times the hidden state, in another stage. */
#include "work.h"

enum { BY_INPUT, ADD_BY_INPUT, BY_IH, BY_HH, BY_HH_OF_N, BY_HR, BY_IH_BIAS, BY_HH_BIAS, PRODUCTS };

typedef struct prepared {
    bp__rnn_work work;                         /* must be first */
    bp__rnn_panels units, columns, projection; /* of hidden units; weight_hh and weight_hr, transposed */
    bp__rnn_panels candidate;                  /* the rows of n of weight_hh, in a GRU in two parts */
    bp_prepared *product[PRODUCTS];            /* NULL: not wanted */
    int64_t parts, width, cells;               /* parts of the items; numbers of a row of hidden states and of cells */
    bool copies_input;
    /* Offsets in the workspace. Arrays of the gradients by a direction's hidden state, and by its cell; of each step
     * and item: gradients by gates and by their recurrent parts, and by projected states; states before a projection;
     * states before the step, and r times these in a GRU in two parts; the input. */
    size_t panels, projection_panels, candidate_panels, hidden, cell, gates, recurrent, projected, raw, before, reset,
        input, first_cell, one, scratch;
} prepared;

typedef struct call {
    bp__rnn_call base; /* must be first */
    int direction;
    int64_t step, active;
} call;

static const prepared *plan_of(const call *c) {
    return (const prepared *)c->base.plan;
}

static const bp_rnn_problem *problem_of(const call *c) {
    return bp__rnn_problem_of(c->base.plan);
}

/* Whether the reset gate of a GRU comes before the product. */
static bool has_parts(const call *c) {
    return problem_of(c)->reset_before;
}

static int64_t length_of(const call *c, int64_t item) {
    const int64_t *lengths = (const int64_t *)(const void *)c->base.tensor[BP_RNN_LENGTHS];
    return lengths ? lengths[item * problem_of(c)->tensor[BP_RNN_LENGTHS].stride[0]] : problem_of(c)->steps;
}

/* Returns the step before `step` of an item in its direction's order; -1: `step` is the first. */
static int64_t step_before(const call *c, int64_t step, int64_t item) {
    if (!bp__rnn_descends(problem_of(c), c->direction)) {
        return step - 1;
    }
    return step + 1 < length_of(c, item) ? step + 1 : -1;
}

/* Returns the address of an array that has a row for each step and item. */
static char *row_at(const call *c, size_t array, int64_t step, int64_t item, int64_t size) {
    return bp__rnn_memory(&c->base, array, (step * problem_of(c)->batch + item) * size);
}

static char *hidden_at(const call *c, int64_t row, int64_t column) {
    return bp__rnn_memory(&c->base, plan_of(c)->hidden, row * plan_of(c)->width + column);
}

static char *cell_at(const call *c, int64_t row, int64_t unit) {
    return bp__rnn_memory(&c->base, plan_of(c)->cell, row * plan_of(c)->cells + unit);
}

/* Memory of a thread behind the sums of a panel, for a row of a panel. */
static char *spare(const call *c, int task, int which) {
    const bp__rnn_work *work = c->base.plan;
    return c->base.workspace + work->sums + (size_t)task * work->sums_bytes +
           (size_t)((BP__RNN_ROWS + which) * BP__RNN_VECTORS * work->kernels->lanes) * work->kernels->number;
}

/* ---- Parts of a step ---- */

typedef struct part {
    int64_t block, from, to; /* items, in the order of the states */
    int64_t first, count;    /* columns */
    char *sums;
} part;

static part part_of(const call *c, int64_t unit, int task, const bp__rnn_panels *panels) {
    const prepared *plan = plan_of(c);
    const int64_t at = unit % plan->parts, block = unit / plan->parts;
    return (part){.block = block,
                  .from = at * BP__RNN_ROWS,
                  .to = bp__least((at + 1) * BP__RNN_ROWS, c->active),
                  .first = block * panels->width,
                  .count = bp__least(panels->width, panels->units - block * panels->width),
                  .sums = c->base.workspace + plan->work.sums + (size_t)task * plan->work.sums_bytes};
}

/* Columns of an array that has rows of `size` numbers for each step and item: those from `first` on. */
typedef struct factor {
    size_t array;
    int64_t size, first;
} factor;

/* Multiplies rows of the current step with a panel. */
static void multiply(const call *c, const part *s, const bp__rnn_panels *panels, const factor *of, size_t memory) {
    const int64_t *item = c->base.item ? c->base.item + s->from : NULL;
    c->base.plan->kernels->product(
        s->to - s->from, panels->vectors, panels->inner, c->base.plan->block,
        row_at(c, of->array, c->step, item ? 0 : s->from, of->size) + (size_t)of->first * bp__rnn_number(c->base.plan),
        of->size, item, c->base.workspace + memory + (size_t)s->block * panels->block_bytes, s->sums);
}

/* Adds the output's gradient to that by the hidden state. */
static void add_output(const call *c, const part *s, int64_t row, int task) {
    const bp_rnn_problem *p = problem_of(c);
    if (c->base.tensor[BP_RNN_OUTPUT_GRADIENT]) {
        const int64_t column = c->direction * p->output_size + s->first;
        bp__rnn_copy(c->base.plan, s->count, spare(c, task, 0), 1,
                     bp__rnn_at(&c->base, BP_RNN_OUTPUT_GRADIENT, c->step, bp__rnn_item(&c->base, row), column),
                     p->tensor[BP_RNN_OUTPUT_GRADIENT].stride[2]);
        c->base.plan->kernels->add(s->count, hidden_at(c, row, s->first), spare(c, task, 0));
    }
}

/* With a projection, keeps the gradient by the projected state. */
static void keep_projected(void *context, int64_t unit, int task) {
    const call *c = context;
    const part s = part_of(c, unit, task, &plan_of(c)->columns);
    for (int64_t row = s.from; row < s.to; row++) {
        add_output(c, &s, row, task);
        bp__rnn_copy(
            c->base.plan, s.count,
            row_at(c, plan_of(c)->projected, c->step, bp__rnn_item(&c->base, row), problem_of(c)->output_size) +
                (size_t)s.first * bp__rnn_number(c->base.plan),
            1, hidden_at(c, row, s.first), 1);
    }
}

/* Returns the state that the functions' derivatives need: GRU that before the step, RNN that after it. */
static const char *state_for(const call *c, const part *s, int64_t item, int task) {
    const bp_rnn_problem *p = problem_of(c);
    if (p->mode == BP_RNN_GRU) {
        return row_at(c, plan_of(c)->before, c->step, item, p->output_size) +
               (size_t)s->first * bp__rnn_number(c->base.plan);
    }
    if (p->mode == BP_RNN_LSTM) {
        return NULL;
    }
    bp__rnn_copy(c->base.plan, s->count, spare(c, task, 1), 1,
                 bp__rnn_at(&c->base, BP_RNN_OUTPUT, c->step, item, c->direction * p->output_size + s->first),
                 p->tensor[BP_RNN_OUTPUT].stride[2]);
    return spare(c, task, 1);
}

/* Returns the cell before the step. */
static const char *cell_before(const call *c, const part *s, int64_t item) {
    const bp_rnn_problem *p = problem_of(c);
    const int64_t step = step_before(c, c->step, item), unit = 4 * p->hidden_size + s->first;
    return step < 0
               ? bp__rnn_memory(&c->base, plan_of(c)->first_cell, item * p->hidden_size + s->first)
               : bp__rnn_saved_at(&c->base, c->direction, step, item) + (size_t)unit * bp__rnn_number(c->base.plan);
}

/* Computes the gradients by the gates, of the units of one block. */
static void compute_slopes(void *context, int64_t unit, int task) {
    const call *c = context;
    const prepared *plan = plan_of(c);
    const bp_rnn_problem *p = problem_of(c);
    const bool projects = p->tensor[BP_RNN_WEIGHT_HR].dtype != 0, lstm = p->mode == BP_RNN_LSTM;
    const size_t number = bp__rnn_number(&plan->work);
    const part s = part_of(c, unit, task, &plan->units);
    if (projects && s.from < s.to) {
        multiply(c, &s, &plan->projection, &(const factor){plan->projected, p->output_size, 0},
                 plan->projection_panels);
    }
    for (int64_t row = s.from; row < s.to; row++) {
        const int64_t item = bp__rnn_item(&c->base, row);
        const size_t at = (size_t)s.first * number;
        if (!projects) {
            add_output(c, &s, row, task);
        }
        const bp__rnn_slope slope = {
            .units = s.count,
            .gate = p->hidden_size,
            .saved = bp__rnn_saved(p) ? bp__rnn_saved_at(&c->base, c->direction, c->step, item) + at : NULL,
            .before = state_for(c, &s, item, task),
            .cell_before = lstm ? cell_before(c, &s, item) : NULL,
            .hidden =
                projects ? s.sums + (size_t)((row - s.from) * plan->units.width) * number : hidden_at(c, row, s.first),
            .cell = lstm ? cell_at(c, row, s.first) : NULL,
            .gates = row_at(c, plan->gates, c->step, item, plan->work.rows) + at,
            .recurrent = row_at(c, plan->recurrent, c->step, item, plan->work.rows) + at};
        (has_parts(c) ? plan->work.kernels->backward_parts[0] : plan->work.kernels->backward[p->mode])(&slope);
        if (projects) {
            plan->work.kernels->hidden(s.count, p->hidden_size, slope.saved,
                                       row_at(c, plan->raw, c->step, item, p->hidden_size) + at);
        }
    }
}

/* Computes the gradients by r and by its product with the hidden state, of the units of one block. */
static void compute_resets(void *context, int64_t unit, int task) {
    const call *c = context;
    const prepared *plan = plan_of(c);
    const bp_rnn_problem *p = problem_of(c);
    const part s = part_of(c, unit, task, &plan->candidate);
    const size_t number = bp__rnn_number(&plan->work), at = (size_t)s.first * number;
    if (s.from < s.to) {
        multiply(c, &s, &plan->candidate, &(const factor){plan->gates, plan->work.rows, 2 * p->hidden_size},
                 plan->candidate_panels);
    }
    for (int64_t row = s.from; row < s.to; row++) {
        const int64_t item = bp__rnn_item(&c->base, row);
        const bp__rnn_slope slope = {.units = s.count,
                                     .gate = p->hidden_size,
                                     .saved = bp__rnn_saved_at(&c->base, c->direction, c->step, item) + at,
                                     .before = state_for(c, &s, item, task),
                                     .hidden = hidden_at(c, row, s.first),
                                     .gates = row_at(c, plan->gates, c->step, item, plan->work.rows) + at,
                                     .by_reset = s.sums + (size_t)((row - s.from) * plan->candidate.width) * number};
        plan->work.kernels->backward_parts[1](&slope);
    }
}

/* Computes the gradient by the hidden state before the step, for some of its columns. */
static void compute_hidden(void *context, int64_t unit, int task) {
    const call *c = context;
    const prepared *plan = plan_of(c);
    const part s = part_of(c, unit, task, &plan->columns);
    if (s.from >= s.to) {
        return;
    }
    multiply(c, &s, &plan->columns, &(const factor){plan->recurrent, plan->work.rows, 0}, plan->panels);
    for (int64_t row = s.from; row < s.to; row++) {
        const char *sums = s.sums + (size_t)((row - s.from) * plan->columns.width) * bp__rnn_number(&plan->work);
        if (problem_of(c)->mode == BP_RNN_GRU) {
            plan->work.kernels->add(s.count, hidden_at(c, row, s.first), sums);
        } else {
            bp__rnn_copy(&plan->work, s.count, hidden_at(c, row, s.first), 1, sums, 1);
        }
    }
}

/* ---- Before and after the steps of a direction ---- */

/* Copies a row of a tensor, or zeros. */
static void load(const call *c, bp_rnn_tensor which, int64_t item, int64_t count, char *to) {
    if (c->base.tensor[which]) {
        bp__rnn_copy(c->base.plan, count, to, 1, bp__rnn_at(&c->base, which, c->direction, item, 0),
                     problem_of(c)->tensor[which].stride[2]);
    } else {
        bp__rnn_clear(c->base.plan, count, to, 1);
    }
}

/* Packs the transposed weights of the direction. */
static void pack_weights(const call *c) {
    const prepared *plan = plan_of(c);
    const int64_t *hh = problem_of(c)->tensor[BP_RNN_WEIGHT_HH].stride,
                  *hr = problem_of(c)->tensor[BP_RNN_WEIGHT_HR].stride;
    bp__rnn_pack(&plan->work, &plan->columns, bp__rnn_at(&c->base, BP_RNN_WEIGHT_HH, c->direction, 0, 0),
                 &(const bp__rnn_strides){0, hh[2], hh[1]}, c->base.workspace + plan->panels);
    if (has_parts(c)) {
        bp__rnn_pack(&plan->work, &plan->candidate,
                     bp__rnn_at(&c->base, BP_RNN_WEIGHT_HH, c->direction, 2 * problem_of(c)->hidden_size, 0),
                     &(const bp__rnn_strides){0, hh[2], hh[1]}, c->base.workspace + plan->candidate_panels);
    }
    if (c->base.tensor[BP_RNN_WEIGHT_HR]) {
        bp__rnn_pack(&plan->work, &plan->projection, bp__rnn_at(&c->base, BP_RNN_WEIGHT_HR, c->direction, 0, 0),
                     &(const bp__rnn_strides){0, hr[2], hr[1]}, c->base.workspace + plan->projection_panels);
    }
}

static void load_states(const call *c) {
    const prepared *plan = plan_of(c);
    const bp_rnn_problem *p = problem_of(c);
    bp__rnn_clear(&plan->work, p->batch * plan->width, hidden_at(c, 0, 0), 1);
    for (int64_t row = 0; row < p->batch; row++) {
        load(c, BP_RNN_FINAL_HIDDEN_GRADIENT, bp__rnn_item(&c->base, row), p->output_size, hidden_at(c, row, 0));
    }
    if (p->mode == BP_RNN_LSTM) {
        bp__rnn_clear(&plan->work, p->batch * plan->cells, cell_at(c, 0, 0), 1);
        for (int64_t row = 0; row < p->batch; row++) {
            load(c, BP_RNN_FINAL_CELL_GRADIENT, bp__rnn_item(&c->base, row), p->hidden_size, cell_at(c, row, 0));
            load(c, BP_RNN_INITIAL_CELL, row, p->hidden_size,
                 bp__rnn_memory(&c->base, plan->first_cell, row * p->hidden_size));
        }
    }
}

/* Copies the hidden states before each step, in a GRU in two parts their products with r, and the input if its rows are
 * not a matrix or too many. */
static void load_step(void *context, int64_t step, int task) {
    const call *c = context;
    const prepared *plan = plan_of(c);
    const bp_rnn_problem *p = problem_of(c);
    const size_t row = (size_t)p->hidden_size * bp__rnn_number(&plan->work);
    (void)task;
    for (int64_t item = 0; item < p->batch; item++) {
        char *to = row_at(c, plan->before, step, item, p->output_size),
             *input = row_at(c, plan->input, step, item, p->input_size);
        const bool active = step < length_of(c, item);
        const int64_t from = step_before(c, step, item);
        if (!active) {
            bp__rnn_clear(&plan->work, p->output_size, to, 1);
        } else if (from < 0) {
            load(c, BP_RNN_INITIAL_HIDDEN, item, p->output_size, to);
        } else {
            bp__rnn_copy(&plan->work, p->output_size, to, 1,
                         bp__rnn_at(&c->base, BP_RNN_OUTPUT, from, item, c->direction * p->output_size),
                         p->tensor[BP_RNN_OUTPUT].stride[2]);
        }
        if (has_parts(c)) {
            char *reset = row_at(c, plan->reset, step, item, p->hidden_size);
            const char *saved = bp__rnn_saved_at(&c->base, c->direction, step, item);
            if (active) {
                memcpy(reset, saved + 3 * row, row);
            } else {
                memset(reset, 0, row);
            }
        }
        if (plan->copies_input && active) {
            bp__rnn_copy(&plan->work, p->input_size, input, 1, bp__rnn_at(&c->base, BP_RNN_INPUT, step, item, 0),
                         p->tensor[BP_RNN_INPUT].stride[2]);
        } else if (plan->copies_input) {
            bp__rnn_clear(&plan->work, p->input_size, input, 1);
        }
    }
}

/* Sets what the steps do not write, because items have ended, to 0. */
static void clear_rows(const call *c) {
    const prepared *plan = plan_of(c);
    const bp_rnn_problem *p = problem_of(c);
    const int64_t rows = p->steps * p->batch;
    const bool projects = c->base.tensor[BP_RNN_WEIGHT_HR] != NULL;
    bp__rnn_clear(&plan->work, rows * plan->work.rows, row_at(c, plan->gates, 0, 0, 0), 1);
    bp__rnn_clear(&plan->work, rows * plan->work.rows, row_at(c, plan->recurrent, 0, 0, 0), 1);
    bp__rnn_clear(&plan->work, projects ? rows * p->output_size : 0, row_at(c, plan->projected, 0, 0, 0), 1);
    bp__rnn_clear(&plan->work, projects ? rows * p->hidden_size : 0, row_at(c, plan->raw, 0, 0, 0), 1);
}

static void store_states(const call *c) {
    const bp_rnn_problem *p = problem_of(c);
    for (int64_t row = 0; row < p->batch; row++) {
        const int64_t item = bp__rnn_item(&c->base, row);
        if (c->base.tensor[BP_RNN_INITIAL_HIDDEN_GRADIENT]) {
            bp__rnn_copy(c->base.plan, p->output_size,
                         bp__rnn_at(&c->base, BP_RNN_INITIAL_HIDDEN_GRADIENT, c->direction, item, 0),
                         p->tensor[BP_RNN_INITIAL_HIDDEN_GRADIENT].stride[2], hidden_at(c, row, 0), 1);
        }
        if (c->base.tensor[BP_RNN_INITIAL_CELL_GRADIENT]) {
            bp__rnn_copy(c->base.plan, p->hidden_size,
                         bp__rnn_at(&c->base, BP_RNN_INITIAL_CELL_GRADIENT, c->direction, item, 0),
                         p->tensor[BP_RNN_INITIAL_CELL_GRADIENT].stride[2], cell_at(c, row, 0), 1);
        }
    }
}

/* ---- Products over all steps ---- */

/* Runs a product that writes rows of a gradient, from `row` on. */
static bp_status run_rows(const call *c, int which, const char *a, const char *b, bp_rnn_tensor gradient, int64_t row) {
    const prepared *plan = plan_of(c);
    const int64_t direction = gradient == BP_RNN_INPUT_GRADIENT ? 0 : c->direction;
    return !plan->product[which]
               ? BP_OK
               : bp__rnn_multiply(plan->product[which], a, b, bp__rnn_at(&c->base, gradient, direction, row, 0), NULL,
                                  c->base.workspace + plan->scratch);
}

static bp_status run_product(const call *c, int which, const char *a, const char *b, bp_rnn_tensor gradient) {
    return run_rows(c, which, a, b, gradient, 0);
}

/* The rows of n of the gradient by weight_hh, in a GRU in two parts. */
static bp_status run_candidate(const call *c) {
    const int64_t first = 2 * problem_of(c)->hidden_size;
    return run_rows(c, BY_HH_OF_N, row_at(c, plan_of(c)->gates, 0, 0, 0) + (size_t)first * bp__rnn_number(c->base.plan),
                    row_at(c, plan_of(c)->reset, 0, 0, 0), BP_RNN_WEIGHT_HH_GRADIENT, first);
}

static bp_status run_products(const call *c) {
    const prepared *plan = plan_of(c);
    const char *gates = row_at(c, plan->gates, 0, 0, 0), *recurrent = row_at(c, plan->recurrent, 0, 0, 0);
    const char *input = plan->copies_input ? row_at(c, plan->input, 0, 0, 0) : c->base.tensor[BP_RNN_INPUT];
    const char *one = row_at(c, plan->one, 0, 0, 0);
    bp_status status = run_product(c, c->direction == 0 ? BY_INPUT : ADD_BY_INPUT, gates,
                                   bp__rnn_at(&c->base, BP_RNN_WEIGHT_IH, c->direction, 0, 0), BP_RNN_INPUT_GRADIENT);
    status = status != BP_OK ? status : run_product(c, BY_IH, gates, input, BP_RNN_WEIGHT_IH_GRADIENT);
    status = status != BP_OK
                 ? status
                 : run_product(c, BY_HH, recurrent, row_at(c, plan->before, 0, 0, 0), BP_RNN_WEIGHT_HH_GRADIENT);
    status = status != BP_OK ? status : run_candidate(c);
    status = status != BP_OK ? status
                             : run_product(c, BY_HR, row_at(c, plan->projected, 0, 0, 0), row_at(c, plan->raw, 0, 0, 0),
                                           BP_RNN_WEIGHT_HR_GRADIENT);
    status = status != BP_OK ? status : run_product(c, BY_IH_BIAS, gates, one, BP_RNN_BIAS_IH_GRADIENT);
    return status != BP_OK ? status : run_product(c, BY_HH_BIAS, recurrent, one, BP_RNN_BIAS_HH_GRADIENT);
}

static bp_status run_direction(call *c) {
    const prepared *plan = plan_of(c);
    const bp_rnn_problem *p = problem_of(c);
    pack_weights(c);
    load_states(c);
    bp__rnn_stage(&plan->work, load_step, c, p->steps);
    if (c->base.item) {
        clear_rows(c);
    }
    for (int64_t i = p->steps - 1; i >= 0 && !bp__stops(&c->base.stop); i--) {
        c->step = bp__rnn_descends(p, c->direction) ? p->steps - 1 - i : i;
        c->active = bp__rnn_active(&c->base, c->step);
        if (c->base.tensor[BP_RNN_WEIGHT_HR]) {
            bp__rnn_stage(&plan->work, keep_projected, c, plan->columns.blocks * plan->parts);
        }
        bp__rnn_stage(&plan->work, compute_slopes, c, plan->units.blocks * plan->parts);
        if (has_parts(c)) {
            bp__rnn_stage(&plan->work, compute_resets, c, plan->candidate.blocks * plan->parts);
        }
        bp__rnn_stage(&plan->work, compute_hidden, c, plan->columns.blocks * plan->parts);
    }
    if (bp__stopped(&c->base.stop)) {
        return BP_E_CANCELLED;
    }
    store_states(c);
    return run_products(c);
}

static bp_status run_rnn_backward(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    const bool single = bp__rnn_number(&plan->work) == sizeof(float);
    call c;
    memset(&c, 0, sizeof c);
    bp_status status = bp__rnn_open(&plan->work, operands, exec, &c.base);
    if (status == BP_OK) {
        memcpy(c.base.workspace + plan->one, single ? (const void *)&(const float){1} : &(const double){1},
               bp__rnn_number(&plan->work));
    }
    for (; c.direction < bp__rnn_problem_of(&plan->work)->directions && status == BP_OK; c.direction++) {
        status = run_direction(&c);
    }
    return status;
}

/* ---- Plans ---- */

static void destroy(bp_prepared *self) {
    prepared *plan = (prepared *)self;
    for (int i = 0; i < PRODUCTS; i++) {
        if (plan->product[i]) {
            plan->product[i]->destroy(plan->product[i]);
        }
    }
    plan->work.host->release(plan);
}

/* The gradient by the input, of the first direction or added to it. */
static bp_status prepare_by_input(prepared *plan, bool adds) {
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const int64_t *w = p->tensor[BP_RNN_WEIGHT_IH].stride, *g = p->tensor[BP_RNN_INPUT_GRADIENT].stride;
    const bool one = p->steps == 1 || p->batch == 1 || g[0] == g[1] * p->batch;
    const bp__rnn_shape shape = {.batch = one ? 1 : p->steps,
                                 .m = one ? p->steps * p->batch : p->batch,
                                 .n = p->input_size,
                                 .k = plan->work.rows,
                                 .a = {plan->work.rows, 1, p->batch * plan->work.rows},
                                 .b = {w[1], w[2], 0},
                                 .c = {p->batch == 1 ? g[0] : g[1], g[2], g[0]},
                                 .adds = adds};
    return bp__rnn_product(&plan->work, &shape, NULL, &plan->product[adds ? ADD_BY_INPUT : BY_INPUT]);
}

/* The gradient by a weight: a sum over all steps and items, of `m` numbers of rows of `row` with rows of B. */
static bp_status prepare_sum(prepared *plan, int which, bp_rnn_tensor gradient, int64_t m, int64_t row, int64_t n,
                             bp__rnn_matrix b) {
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const int64_t *g = p->tensor[gradient].stride;
    const bp__rnn_shape shape = {
        .batch = 1, .m = m, .n = n, .k = p->steps * p->batch, .a = {1, row, 0}, .b = b, .c = {g[1], g[2], 0}};
    return p->tensor[gradient].dtype ? bp__rnn_product(&plan->work, &shape, NULL, &plan->product[which]) : BP_OK;
}

static bp_status prepare_products(prepared *plan) {
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const int64_t rows = plan->work.rows, *x = p->tensor[BP_RNN_INPUT].stride;
    const bp__rnn_matrix input = plan->copies_input ? (bp__rnn_matrix){p->input_size, 1, 0}
                                                    : (bp__rnn_matrix){plan->work.x_row, x[2], 0},
                         one = {0, 0, 0};
    const bp__rnn_matrix before = {p->output_size, 1, 0}, hidden = {p->hidden_size, 1, 0};
    bp_status status = prepare_sum(plan, BY_IH, BP_RNN_WEIGHT_IH_GRADIENT, rows, rows, p->input_size, input);
    status = status != BP_OK ? status
                             : prepare_sum(plan, BY_HH, BP_RNN_WEIGHT_HH_GRADIENT, plan->columns.inner, rows,
                                           p->output_size, before);
    if (status == BP_OK && p->reset_before) {
        status = prepare_sum(plan, BY_HH_OF_N, BP_RNN_WEIGHT_HH_GRADIENT, p->hidden_size, rows, p->hidden_size, hidden);
    }
    status = status != BP_OK ? status
                             : prepare_sum(plan, BY_HR, BP_RNN_WEIGHT_HR_GRADIENT, p->output_size, p->output_size,
                                           p->hidden_size, hidden);
    status = status != BP_OK ? status : prepare_sum(plan, BY_IH_BIAS, BP_RNN_BIAS_IH_GRADIENT, rows, rows, 1, one);
    status = status != BP_OK ? status : prepare_sum(plan, BY_HH_BIAS, BP_RNN_BIAS_HH_GRADIENT, rows, rows, 1, one);
    for (int d = 0; d < p->directions && status == BP_OK && p->tensor[BP_RNN_INPUT_GRADIENT].dtype; d++) {
        status = prepare_by_input(plan, d > 0);
    }
    return status;
}

static void lay_out(prepared *plan) {
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const size_t number = bp__rnn_number(&plan->work);
    const bool lstm = p->mode == BP_RNN_LSTM, projects = p->tensor[BP_RNN_WEIGHT_HR].dtype != 0;
    const int64_t all = p->steps * p->batch;
    size_t *end = &plan->work.base.workspace, most = 0;
    plan->width = plan->columns.blocks * plan->columns.width;
    plan->cells = plan->units.blocks * plan->units.width;
    plan->panels = bp__rnn_reserve(end, plan->columns.block_bytes, 1, plan->columns.blocks);
    plan->projection_panels =
        bp__rnn_reserve(end, projects ? plan->projection.block_bytes : 0, 1, plan->projection.blocks);
    plan->candidate_panels = bp__rnn_reserve(end, plan->candidate.block_bytes, 1, plan->candidate.blocks);
    plan->hidden = bp__rnn_reserve(end, number, p->batch, plan->width);
    plan->cell = bp__rnn_reserve(end, number, lstm ? p->batch : 0, plan->cells);
    plan->first_cell = bp__rnn_reserve(end, number, lstm ? p->batch : 0, p->hidden_size);
    plan->gates = bp__rnn_reserve(end, number, all, plan->work.rows);
    /* Only in a GRU in one part the gradients by the gates and by their recurrent parts differ. */
    plan->recurrent =
        p->mode == BP_RNN_GRU && !p->reset_before ? bp__rnn_reserve(end, number, all, plan->work.rows) : plan->gates;
    plan->projected = bp__rnn_reserve(end, number, projects ? all : 0, p->output_size);
    plan->raw = bp__rnn_reserve(end, number, projects ? all : 0, p->hidden_size);
    plan->before = bp__rnn_reserve(end, number, all, p->output_size);
    plan->reset = bp__rnn_reserve(end, number, p->reset_before ? all : 0, p->hidden_size);
    plan->input = bp__rnn_reserve(end, number, plan->copies_input ? all : 0, p->input_size);
    plan->one = bp__rnn_reserve(end, number, 1, 1);
    for (int i = 0; i < PRODUCTS; i++) {
        most = plan->product[i] && plan->product[i]->workspace > most ? plan->product[i]->workspace : most;
    }
    plan->scratch = bp__rnn_reserve(end, 1, 1, (int64_t)most);
}

bp_status bp__rnn_plan_backward(const bp_host *host, const bp_problem *problem, const bp__rnn_kernels *kernels,
                                int threads, bp_prepared **result) {
    const bp_rnn_problem *p = &problem->of.rnn;
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return bp__rnn_no_memory(host, sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    bp__rnn_begin(&plan->work, host, problem, kernels, threads);
    plan->work.base.enqueue = run_rnn_backward;
    plan->work.base.destroy = destroy;
    plan->units = bp__rnn_panels_of(&plan->work, 1, p->hidden_size, 0);
    plan->columns =
        bp__rnn_panels_of(&plan->work, 1, p->output_size, p->reset_before ? 2 * p->hidden_size : plan->work.rows);
    if (p->reset_before) {
        plan->candidate = bp__rnn_panels_of(&plan->work, 1, p->hidden_size, p->hidden_size);
    }
    plan->projection = bp__rnn_panels_of(&plan->work, 1, p->hidden_size, p->output_size);
    plan->parts = (p->batch + BP__RNN_ROWS - 1) / BP__RNN_ROWS;
    plan->copies_input = p->tensor[BP_RNN_LENGTHS].dtype || !plan->work.is_one_item;
    const bp_status status = prepare_products(plan);
    if (status != BP_OK) {
        destroy(&plan->work.base);
        return status;
    }
    lay_out(plan);
    *result = &plan->work.base;
    return BP_OK;
}
