/* forward.c - computes recurrent layers.
 *
 * First, the input's part of the gates for all steps, a block of hidden units at a time. In each step, threads take
 * blocks of hidden units: the products with a block's panel, and then the states of its units. The hidden states before
 * and after a step are two arrays, so that no thread waits for another within a step. A projection is a second stage of
 * each step. So is n of a GRU whose reset gate comes before the product: the first stage computes r and z. */
#include "forward.h"

/* Rows of the input that are multiplied with a panel at a time. */
enum { INPUT_ROWS = 240 };

/* A step of a call. */
typedef struct call {
    bp__rnn_call base;                                     /* must be first */
    const char *input_panels, *panels, *projection_panels; /* NULL: the weight is where it is */
    const char *rows;                                      /* of the input, at equal distances */
    int64_t row;                                           /* numbers from one to the next */
    int64_t index;                                         /* of the step, 0 for the first in each direction's order */
} call;

static const bp__rnn_forward *plan_of(const call *c) {
    return (const bp__rnn_forward *)c->base.plan;
}

static int64_t step_of(const call *c, int direction) {
    const bp_rnn_problem *p = bp__rnn_problem_of(c->base.plan);
    return bp__rnn_descends(p, direction) ? p->steps - 1 - c->index : c->index;
}

/* Hidden states before (0) or after (1) the current step. */
static char *state_at(const call *c, int direction, int after, int64_t row, int64_t column) {
    const bp__rnn_forward *plan = plan_of(c);
    const int64_t batch = bp__rnn_problem_of(&plan->work)->batch, which = (c->index + after) % 2;
    return bp__rnn_memory(&c->base, plan->states, ((direction * 2 + which) * batch + row) * plan->columns + column);
}

static char *cell_at(const call *c, size_t array, int direction, int64_t row, int64_t unit) {
    const bp__rnn_forward *plan = plan_of(c);
    return bp__rnn_memory(&c->base, array,
                          (direction * bp__rnn_problem_of(&plan->work)->batch + row) * plan->cells + unit);
}

/* Returns the biases of a unit. Of a GRU in one part, both biases of n are apart. */
static int64_t slots_of(const bp__rnn_forward *plan) {
    return bp__rnn_problem_of(&plan->work)->mode == BP_RNN_GRU && !bp__rnn_has_parts(plan) ? 4 : plan->input.gates;
}

/* Writes the biases of all gates for each block: both of them added, or apart. */
static void load_biases(const call *c) {
    const bp__rnn_forward *plan = plan_of(c);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const bp__rnn_panels *panels = &plan->input;
    const int64_t slots = slots_of(plan);
    bp__rnn_clear(&plan->work, p->directions * panels->blocks * slots * panels->width,
                  bp__rnn_memory(&c->base, plan->bias, 0), 1);
    for (int64_t i = 0; i < p->directions * panels->blocks * panels->gates; i++) {
        const int64_t g = i % panels->gates, block = i / panels->gates, d = block / panels->blocks;
        const int64_t unit = block % panels->blocks * panels->width;
        const int64_t count = bp__least(panels->width, p->hidden_size - unit), row = g * p->hidden_size + unit;
        char *to = bp__rnn_memory(&c->base, plan->bias, (block * slots + g) * panels->width);
        if (c->base.tensor[BP_RNN_BIAS_IH]) {
            bp__rnn_copy(&plan->work, count, to, 1, bp__rnn_at(&c->base, BP_RNN_BIAS_IH, d, row, 0),
                         p->tensor[BP_RNN_BIAS_IH].stride[1]);
        }
        if (c->base.tensor[BP_RNN_BIAS_HH]) {
            const bool apart = slots > panels->gates && g == 2;
            char *own = bp__rnn_memory(&c->base, plan->work.sums, 0);
            bp__rnn_copy(&plan->work, count, own, 1, bp__rnn_at(&c->base, BP_RNN_BIAS_HH, d, row, 0),
                         p->tensor[BP_RNN_BIAS_HH].stride[1]);
            plan->work.kernels->add(count, apart ? to + (size_t)panels->width * bp__rnn_number(&plan->work) : to, own);
        }
    }
}

/* ---- Before the steps ---- */

/* Returns the gates of a row, a number of the input's: of a block's units together, or in a matrix of all. */
static char *gates_at(const call *c, int direction, int64_t block, int64_t row) {
    const bp__rnn_forward *plan = plan_of(c);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    /* One step more than there is, because the blocks of a step would share a few places of a cache. */
    const int64_t rows = p->steps * p->batch, apart = rows + p->batch;
    const int64_t at = c->input_panels ? ((direction * plan->input.blocks + block) * apart + row) * plan->input.gates *
                                             plan->input.width
                                       : (direction * rows + row) * plan->gate_row + block * plan->input.width;
    return bp__rnn_memory(&c->base, plan->gates, at);
}

/* Multiplies some rows of the input with a panel. */
static void multiply_rows(void *context, int64_t unit, int task) {
    const call *c = context;
    const bp__rnn_forward *plan = plan_of(c);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const bp__rnn_panels *panels = &plan->input;
    const int64_t rows = p->steps * p->batch, chunks = (rows + INPUT_ROWS - 1) / INPUT_ROWS;
    const int64_t first = unit % chunks * INPUT_ROWS, block = unit / chunks; /* of all directions */
    (void)task;
    plan->work.kernels->product(bp__least(rows - first, INPUT_ROWS), panels->vectors, panels->inner, plan->work.block,
                                c->rows + first * c->row * (int64_t)bp__rnn_number(&plan->work), c->row, NULL,
                                c->input_panels + (size_t)block * panels->block_bytes, gates_at(c, 0, block, first));
}

/* Copies the input to rows at equal distances. */
static void copy_rows(call *c) {
    const bp__rnn_forward *plan = plan_of(c);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    for (int64_t t = 0; t < p->steps; t++) {
        plan->work.host->copy_matrix((bp_dtype)plan->work.problem.dtype, p->batch, p->input_size,
                                     bp__rnn_memory(&c->base, plan->rows, t * p->batch * p->input_size), p->input_size,
                                     1, bp__rnn_at(&c->base, BP_RNN_INPUT, t, 0, 0), p->tensor[BP_RNN_INPUT].stride[1],
                                     p->tensor[BP_RNN_INPUT].stride[2], 0);
    }
    c->rows = bp__rnn_memory(&c->base, plan->rows, 0);
    c->row = p->input_size;
}

static bp_status multiply_input(call *c) {
    const bp__rnn_forward *plan = plan_of(c);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const int64_t rows = p->steps * p->batch;
    bp_status status = BP_OK;
    if (c->input_panels) {
        c->rows = c->base.tensor[BP_RNN_INPUT];
        c->row = plan->work.x_row;
        if (plan->copies) {
            copy_rows(c);
        }
        bp__rnn_stage(&plan->work, multiply_rows, c,
                      p->directions * plan->input.blocks * ((rows + INPUT_ROWS - 1) / INPUT_ROWS));
        return BP_OK;
    }
    for (int d = 0; d < p->directions && status == BP_OK; d++) {
        status = bp__rnn_multiply(plan->product[BP__RNN_BY_INPUT], c->base.tensor[BP_RNN_INPUT],
                                  bp__rnn_at(&c->base, BP_RNN_WEIGHT_IH, d, 0, 0), gates_at(c, d, 0, 0), NULL,
                                  c->base.workspace + plan->scratch);
    }
    return status;
}

/* Copies a row of initial states, or zeros. */
static void load_state(const call *c, bp_rnn_tensor which, int d, int64_t row, int64_t count, char *to) {
    const bp__rnn_work *work = c->base.plan;
    if (c->base.tensor[which]) {
        bp__rnn_copy(work, count, to, 1, bp__rnn_at(&c->base, which, d, bp__rnn_item(&c->base, row), 0),
                     bp__rnn_problem_of(work)->tensor[which].stride[2]);
    } else {
        bp__rnn_clear(work, count, to, 1);
    }
}

static void load_states(const call *c) {
    const bp__rnn_forward *plan = plan_of(c);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    /* Lanes without a unit are computed, too. */
    bp__rnn_clear(&plan->work, 2 * p->directions * p->batch * plan->columns, state_at(c, 0, 0, 0, 0), 1);
    if (p->mode == BP_RNN_LSTM) {
        bp__rnn_clear(&plan->work, p->directions * p->batch * plan->cells, cell_at(c, plan->cell, 0, 0, 0), 1);
    }
    if (bp__rnn_has_parts(plan)) { /* products of matrices read items that have ended */
        bp__rnn_clear(&plan->work, p->directions * p->batch * plan->cells, cell_at(c, plan->reset, 0, 0, 0), 1);
    }
    for (int64_t i = 0; i < p->directions * p->batch; i++) {
        const int d = (int)(i / p->batch);
        const int64_t row = i % p->batch;
        load_state(c, BP_RNN_INITIAL_HIDDEN, d, row, p->output_size, state_at(c, d, 0, row, 0));
        if (p->mode == BP_RNN_LSTM) {
            load_state(c, BP_RNN_INITIAL_CELL, d, row, p->hidden_size, cell_at(c, plan->cell, d, row, 0));
        }
    }
}

static void store_states(const call *c) {
    const bp__rnn_forward *plan = plan_of(c);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    for (int64_t i = 0; i < p->directions * p->batch; i++) {
        const int d = (int)(i / p->batch);
        const int64_t row = i % p->batch, item = bp__rnn_item(&c->base, row);
        if (c->base.tensor[BP_RNN_FINAL_HIDDEN]) {
            bp__rnn_copy(&plan->work, p->output_size, bp__rnn_at(&c->base, BP_RNN_FINAL_HIDDEN, d, item, 0),
                         p->tensor[BP_RNN_FINAL_HIDDEN].stride[2], state_at(c, d, 0, row, 0), 1);
        }
        if (c->base.tensor[BP_RNN_FINAL_CELL]) {
            bp__rnn_copy(&plan->work, p->hidden_size, bp__rnn_at(&c->base, BP_RNN_FINAL_CELL, d, item, 0),
                         p->tensor[BP_RNN_FINAL_CELL].stride[2], cell_at(c, plan->cell, d, row, 0), 1);
        }
    }
}

/* ---- Steps ---- */

/* A part of a step: columns of hidden states, of some items. */
typedef struct part {
    int direction;
    int64_t block, step, active; /* active: items of the step */
    int64_t from, to;            /* items, in the order of the states */
    int64_t first, count;        /* columns */
} part;

static part part_of(const call *c, int64_t unit, const bp__rnn_panels *panels) {
    const bp__rnn_forward *plan = plan_of(c);
    const int64_t batch = bp__rnn_problem_of(&plan->work)->batch, at = unit % plan->parts;
    part s = {.direction = (int)(unit / plan->parts / panels->blocks),
              .block = unit / plan->parts % panels->blocks,
              .from = at * BP__RNN_ROWS,
              .to = bp__least((at + 1) * BP__RNN_ROWS, batch)};
    s.step = step_of(c, s.direction);
    s.active = bp__least(bp__rnn_active(&c->base, s.step), s.to);
    s.first = s.block * panels->width;
    s.count = bp__least(panels->width, panels->units - s.first);
    return s;
}

static char *output_at(const call *c, const part *s, int64_t row) {
    const bp_rnn_problem *p = bp__rnn_problem_of(c->base.plan);
    return bp__rnn_at(&c->base, BP_RNN_OUTPUT, s->step, bp__rnn_item(&c->base, row),
                      s->direction * p->output_size + s->first);
}

/* Writes the output of a part from the states after the step, from row `first` on; items that have ended keep their
 * states. */
static void write_output(const call *c, const part *s, int64_t first) {
    const bp__rnn_work *work = c->base.plan;
    const bp_rnn_problem *p = bp__rnn_problem_of(work);
    const int64_t stride = p->tensor[BP_RNN_OUTPUT].stride[2];
    for (int64_t row = first; row < s->to; row++) {
        char *after = state_at(c, s->direction, 1, row, s->first);
        char *to = output_at(c, s, row);
        if (row < s->active) {
            bp__rnn_copy(work, s->count, to, stride, after, 1);
        } else {
            bp__rnn_copy(work, s->count, after, 1, state_at(c, s->direction, 0, row, s->first), 1);
            bp__rnn_clear(work, s->count, to, stride);
        }
    }
}

/* The sums of a part's rows. */
typedef struct sums_of_part {
    const char *at;
    int64_t row, gate; /* numbers from one to the next */
} sums_of_part;

/* Multiplies the rows of a part, [items][size], with a panel; or returns where the product of a matrix has its sums, in
 * rows of `all` numbers. */
static sums_of_part sums_of(const call *c, const part *s, const bp__rnn_panels *panels, const char *weights,
                            const char *states, int64_t size, int64_t all, int task) {
    const bp__rnn_forward *plan = plan_of(c);
    if (!weights) {
        const int64_t row = s->direction * bp__rnn_problem_of(&plan->work)->batch + s->from;
        return (sums_of_part){bp__rnn_memory(&c->base, plan->products, row * all + s->first), all, panels->units};
    }
    char *sums = c->base.workspace + plan->work.sums + (size_t)task * plan->work.sums_bytes;
    if (s->from < s->active) {
        const int64_t block = s->direction * panels->blocks + s->block;
        plan->work.kernels->product(s->active - s->from, panels->vectors, panels->inner, plan->work.block, states, size,
                                    NULL, weights + (size_t)block * panels->block_bytes, sums);
    }
    return (sums_of_part){sums, panels->gates * panels->width, panels->width};
}

/* Multiplies states of all items with a weight where it is, or with some of its gates. */
static bp_status multiply_states(const call *c, int which) {
    const bp__rnn_forward *plan = plan_of(c);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const int64_t sizes[] = {[BP__RNN_BY_HIDDEN] = plan->hidden.gates * p->hidden_size,
                             [BP__RNN_BY_RESET] = p->hidden_size,
                             [BP__RNN_BY_RAW] = p->output_size};
    const int64_t first = which == BP__RNN_BY_RESET ? 2 * p->hidden_size : 0; /* row of the weight */
    const bp_rnn_tensor weight = which == BP__RNN_BY_RAW ? BP_RNN_WEIGHT_HR : BP_RNN_WEIGHT_HH;
    bp_status status = BP_OK;
    for (int d = 0; d < p->directions && status == BP_OK; d++) {
        const char *states = which == BP__RNN_BY_HIDDEN
                                 ? state_at(c, d, 0, 0, 0)
                                 : cell_at(c, which == BP__RNN_BY_RESET ? plan->reset : plan->raw, d, 0, 0);
        status = bp__rnn_multiply(plan->product[which], states, bp__rnn_at(&c->base, weight, d, first, 0),
                                  bp__rnn_memory(&c->base, plan->products, d * p->batch * sizes[which]), NULL,
                                  c->base.workspace + plan->scratch);
    }
    return status;
}

/* What a kernel computes of a part: r times the hidden state in a GRU of two parts, or states, also in the output. */
typedef enum computed { RESETS, STATES, STATES_AND_OUTPUT } computed;

/* Computes the rows of a part, of the units of one block of the input's gates: `at` units behind the first. */
static void compute_block(const call *c, const part *s, const sums_of_part *sums, computed what, int64_t at,
                          void (*kernel)(const bp__rnn_row *row)) {
    const bp__rnn_forward *plan = plan_of(c);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const bool projects = p->tensor[BP_RNN_WEIGHT_HR].dtype != 0, lstm = p->mode == BP_RNN_LSTM,
               saves = bp__rnn_saved(p) && c->base.tensor[BP_RNN_RESERVE];
    const int64_t number = (int64_t)bp__rnn_number(&plan->work), width = plan->input.width, first = s->first + at;
    const int64_t block = first / width, all = s->direction * plan->input.blocks + block;
    bp__rnn_row r = {.units = bp__least(width, s->count - at),
                     .gate = p->hidden_size,
                     .input = c->input_panels ? width : p->hidden_size,
                     .width = width,
                     .sum = sums->gate,
                     .bias = bp__rnn_memory(&c->base, plan->bias, all * slots_of(plan) * width)};
    for (int64_t row = s->from; row < s->active; row++) {
        const int64_t item = bp__rnn_item(&c->base, row);
        r.x = gates_at(c, s->direction, block, s->step * p->batch + item);
        r.sums = sums->at + ((row - s->from) * sums->row + at) * number;
        r.before = projects ? NULL : state_at(c, s->direction, 0, row, first);
        r.after = projects         ? cell_at(c, plan->raw, s->direction, row, first)
                  : what == RESETS ? cell_at(c, plan->reset, s->direction, row, first)
                                   : state_at(c, s->direction, 1, row, first);
        r.output = what == STATES_AND_OUTPUT ? output_at(c, s, row) + at * number : NULL;
        r.cell =
            lstm || p->reset_before ? cell_at(c, lstm ? plan->cell : plan->update, s->direction, row, first) : NULL;
        r.saved = saves ? bp__rnn_saved_at(&c->base, s->direction, s->step, item) + first * number : NULL;
        kernel(&r);
    }
}

static void compute_rows(const call *c, const part *s, const sums_of_part *sums, computed what,
                         void (*kernel)(const bp__rnn_row *row)) {
    for (int64_t at = 0; at < s->count; at += plan_of(c)->input.width) {
        compute_block(c, s, sums, what, at, kernel);
    }
}

/* Computes r and z of the units of one block, and the product of r and the hidden state. */
static void compute_resets(void *context, int64_t unit, int task) {
    const call *c = context;
    const bp__rnn_forward *plan = plan_of(c);
    const part s = part_of(c, unit, &plan->hidden);
    const sums_of_part sums = sums_of(c, &s, &plan->hidden, c->panels, state_at(c, s.direction, 0, s.from, 0),
                                      plan->columns, 2 * plan->hidden.units, task);
    compute_rows(c, &s, &sums, RESETS, plan->work.kernels->forward_parts[0]);
}

/* Returns the sums of a part from which its states follow. */
static sums_of_part last_sums(const call *c, const part *s, int task) {
    const bp__rnn_forward *plan = plan_of(c);
    if (bp__rnn_has_parts(plan)) {
        return sums_of(c, s, &plan->candidate, c->panels ? c->panels + bp__rnn_candidate_at(plan) : NULL,
                       cell_at(c, plan->reset, s->direction, s->from, 0), plan->cells, plan->candidate.units, task);
    }
    return sums_of(c, s, &plan->hidden, c->panels, state_at(c, s->direction, 0, s->from, 0), plan->columns,
                   plan->work.rows, task);
}

/* Computes the states of the units of one block. */
static void compute_states(void *context, int64_t unit, int task) {
    const call *c = context;
    const bp__rnn_forward *plan = plan_of(c);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const bool projects = p->tensor[BP_RNN_WEIGHT_HR].dtype != 0;
    const int64_t number = (int64_t)bp__rnn_number(&plan->work);
    const part s = part_of(c, unit, bp__rnn_has_parts(plan) ? &plan->candidate : &plan->hidden);
    const bool stores = !projects && (p->tensor[BP_RNN_OUTPUT].stride[2] == 1 || p->directions * p->output_size == 1);
    if (!projects && plan->work.threads > 1 && s.active > s.from) {
        plan->work.kernels->claim(s.active - s.from, plan->columns * number, s.count * number,
                                  state_at(c, s.direction, 1, s.from, s.first));
        for (int64_t row = s.from; row < s.active && stores; row++) {
            plan->work.kernels->claim(1, 0, s.count * number, output_at(c, &s, row));
        }
    }
    const sums_of_part sums = last_sums(c, &s, task);
    compute_rows(c, &s, &sums, stores ? STATES_AND_OUTPUT : STATES,
                 bp__rnn_has_parts(plan) ? plan->work.kernels->forward_parts[1] : plan->work.kernels->forward[p->mode]);
    if (!projects) {
        write_output(c, &s, stores && s.active > s.from ? s.active : s.from);
    }
}

/* Computes the projection of the hidden states, for some of its columns. */
static void compute_projection(void *context, int64_t unit, int task) {
    const call *c = context;
    const bp__rnn_forward *plan = plan_of(c);
    const bp__rnn_panels *panels = &plan->projection;
    const part s = part_of(c, unit, panels);
    const int64_t number = (int64_t)bp__rnn_number(&plan->work);
    const sums_of_part sums =
        sums_of(c, &s, panels, c->projection_panels, cell_at(c, plan->raw, s.direction, s.from, 0), plan->cells,
                bp__rnn_problem_of(&plan->work)->output_size, task);
    for (int64_t row = s.from; row < s.active; row++) {
        memcpy(state_at(c, s.direction, 1, row, s.first), sums.at + (row - s.from) * sums.row * number,
               (size_t)(s.count * number));
    }
    write_output(c, &s, s.from);
}

static const bp__rnn_packed *packed_of(const bp_exec *exec, bp_rnn_tensor which) {
    return exec->packed ? (const bp__rnn_packed *)exec->packed[which] : NULL;
}

/* Returns the panels of a weight: packed before the call, or now; NULL if they are not worth it. */
static const char *panels_of(const call *c, bp_rnn_tensor which, const bp__rnn_packed *given, size_t memory) {
    if (given || !c->base.tensor[which] || bp__rnn_problem_of(c->base.plan)->steps <= BP__RNN_FEW_STEPS) {
        return given ? given->memory : NULL;
    }
    bp__rnn_pack_weight(plan_of(c), which, c->base.tensor[which], c->base.workspace + memory);
    return c->base.workspace + memory;
}

static bp_status run_step(call *c) {
    const bp__rnn_forward *plan = plan_of(c);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    bp_status status = c->panels ? BP_OK : multiply_states(c, BP__RNN_BY_HIDDEN);
    if (status == BP_OK && bp__rnn_has_parts(plan)) {
        bp__rnn_stage(&plan->work, compute_resets, c, p->directions * plan->hidden.blocks * plan->parts);
        status = c->panels ? BP_OK : multiply_states(c, BP__RNN_BY_RESET);
    }
    const bp__rnn_panels *last = bp__rnn_has_parts(plan) ? &plan->candidate : &plan->hidden;
    if (status == BP_OK) {
        bp__rnn_stage(&plan->work, compute_states, c, p->directions * last->blocks * plan->parts);
    }
    if (status == BP_OK && p->tensor[BP_RNN_WEIGHT_HR].dtype) {
        status = c->projection_panels ? BP_OK : multiply_states(c, BP__RNN_BY_RAW);
        bp__rnn_stage(&plan->work, compute_projection, c, p->directions * plan->projection.blocks * plan->parts);
    }
    return status;
}

bp_status bp__rnn_run_forward(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__rnn_forward *plan = (const bp__rnn_forward *)self;
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    call c;
    memset(&c, 0, sizeof c);
    bp_status status = bp__rnn_open(&plan->work, operands, exec, &c.base);
    if (status != BP_OK) {
        return status;
    }
    c.input_panels = panels_of(&c, BP_RNN_WEIGHT_IH, packed_of(exec, BP_RNN_WEIGHT_IH), plan->input_panels);
    status = p->steps > 0 && p->batch > 0 ? multiply_input(&c) : BP_OK;
    if (status != BP_OK) {
        return status;
    }
    c.panels = panels_of(&c, BP_RNN_WEIGHT_HH, packed_of(exec, BP_RNN_WEIGHT_HH), plan->panels);
    c.projection_panels = panels_of(&c, BP_RNN_WEIGHT_HR, packed_of(exec, BP_RNN_WEIGHT_HR), plan->projection_panels);
    load_biases(&c);
    load_states(&c);
    for (c.index = 0; c.index < p->steps && status == BP_OK && !bp__stops(&c.base.stop); c.index++) {
        status = run_step(&c);
    }
    store_states(&c);
    return status == BP_OK ? bp__stop_status(&c.base.stop) : status;
}
