/* forward.c - computes recurrent layers.
 *
 * First, the input's part of the gates for all steps, a block of hidden units at a time. In each step, threads take
 * blocks of hidden units: the products with a block's panel, and then the states of its units. The hidden states before
 * and after a step are two arrays, so that no thread waits for another within a step. A projection is a second stage of
 * each step. */
#include "work.h"

/* Products with weights where they are: of the input, and of states. */
enum { INPUT, RECURRENT, PROJECTION, PRODUCTS };

/* Steps up to which copying a weight to panels takes more time than it saves. */
enum { FEW_STEPS = 4 };

/* Rows of the input that are multiplied with a panel at a time. */
enum { INPUT_ROWS = 240 };

typedef struct prepared {
    bp__rnn_work work; /* must be first */
    bp__rnn_panels input, hidden, projection;
    bp_prepared *product[PRODUCTS]; /* NULL: not used */
    bool copies;                    /* the rows of the input are copied, because they are not at equal distances */
    int64_t parts;                  /* of the items, of BP__RNN_ROWS each */
    int64_t columns, cells;         /* of a row of the arrays of hidden states and of cells: whole panels */
    int64_t gate_row;               /* numbers from one row of gates to the next, if a matrix has all of them */
    size_t input_panels, panels, projection_panels, bias, rows, gates, states, cell, raw, products,
        scratch; /* offsets in the workspace */
} prepared;

/* A weight that was packed before the call. */
typedef struct packed {
    bp_packed base; /* must be first */
    const bp_host *host;
    char *memory;
} packed;

/* A step of a call. */
typedef struct call {
    bp__rnn_call base;                                     /* must be first */
    const char *input_panels, *panels, *projection_panels; /* NULL: the weight is where it is */
    const char *rows;                                      /* of the input, at equal distances */
    int64_t row;                                           /* numbers from one to the next */
    int64_t index;                                         /* of the step, 0 for the first in each direction's order */
} call;

static const prepared *plan_of(const call *c) {
    return (const prepared *)c->base.plan;
}

static int64_t step_of(const call *c, int direction) {
    const bp_rnn_problem *p = bp__rnn_problem_of(c->base.plan);
    return bp__rnn_descends(p, direction) ? p->steps - 1 - c->index : c->index;
}

/* Hidden states before (0) or after (1) the current step. */
static char *state_at(const call *c, int direction, int after, int64_t row, int64_t column) {
    const prepared *plan = plan_of(c);
    const int64_t batch = bp__rnn_problem_of(&plan->work)->batch, which = (c->index + after) % 2;
    return bp__rnn_memory(&c->base, plan->states, ((direction * 2 + which) * batch + row) * plan->columns + column);
}

static char *cell_at(const call *c, size_t array, int direction, int64_t row, int64_t unit) {
    const prepared *plan = plan_of(c);
    return bp__rnn_memory(&c->base, array,
                          (direction * bp__rnn_problem_of(&plan->work)->batch + row) * plan->cells + unit);
}

/* ---- Weights ---- */

static bp__rnn_strides strides_of(const prepared *plan, bp_rnn_tensor which) {
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const int64_t *stride = p->tensor[which].stride;
    return (bp__rnn_strides){stride[1] * p->hidden_size, stride[1], stride[2]};
}

static const bp__rnn_panels *panels_for(const prepared *plan, bp_rnn_tensor weight) {
    return weight == BP_RNN_WEIGHT_IH ? &plan->input : weight == BP_RNN_WEIGHT_HH ? &plan->hidden : &plan->projection;
}

/* Packs a weight of all directions. */
static void pack_weight(const prepared *plan, bp_rnn_tensor which, const char *from, char *to) {
    const bp__rnn_panels *panels = panels_for(plan, which);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const bp__rnn_strides strides = strides_of(plan, which);
    for (int d = 0; d < p->directions; d++) {
        bp__rnn_pack(&plan->work, panels, from + d * p->tensor[which].stride[0] * (int64_t)bp__rnn_number(&plan->work),
                     &strides, to + (size_t)(d * panels->blocks) * panels->block_bytes);
    }
}

static void destroy_packed(bp_packed *self) {
    packed *w = (packed *)self;
    w->host->release(w->memory);
    w->host->release(w);
}

static bp_status pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **result) {
    const prepared *plan = (const prepared *)self;
    const bp_host *host = plan->work.host;
    const bp__rnn_panels *panels = panels_for(plan, (bp_rnn_tensor)operand);
    size_t bytes = 0;
    bp__rnn_reserve(&bytes, panels->block_bytes, bp__rnn_problem_of(&plan->work)->directions, panels->blocks);
    packed *w = host->allocate(sizeof *w);
    char *memory = host->allocate(bytes > 0 ? bytes : 1);
    if (!w || !memory) {
        host->release(w);
        host->release(memory);
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a packed weight", bytes);
    }
    *w = (packed){.base = {.struct_size = sizeof w->base, .size = bytes, .destroy = destroy_packed},
                  .host = host,
                  .memory = memory};
    *result = &w->base;
    pack_weight(plan, (bp_rnn_tensor)operand, bp__native_address(source), memory);
    return BP_OK;
}

static const packed *packed_of(const bp_exec *exec, bp_rnn_tensor which) {
    return exec->packed ? (const packed *)exec->packed[which] : NULL;
}

/* Writes the biases of all gates for each block: both of them added, except the biases of n in a GRU. */
static void load_biases(const call *c) {
    const prepared *plan = plan_of(c);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const bp__rnn_panels *panels = &plan->hidden;
    const int64_t slots = p->mode == BP_RNN_GRU ? 4 : panels->gates;
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
            const bool apart = p->mode == BP_RNN_GRU && g == 2;
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
    const prepared *plan = plan_of(c);
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
    const prepared *plan = plan_of(c);
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
    const prepared *plan = plan_of(c);
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
    const prepared *plan = plan_of(c);
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
        status = bp__rnn_multiply(plan->product[INPUT], c->base.tensor[BP_RNN_INPUT],
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
    const prepared *plan = plan_of(c);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    /* Lanes without a unit are computed, too. */
    bp__rnn_clear(&plan->work, 2 * p->directions * p->batch * plan->columns, state_at(c, 0, 0, 0, 0), 1);
    if (p->mode == BP_RNN_LSTM) {
        bp__rnn_clear(&plan->work, p->directions * p->batch * plan->cells, cell_at(c, plan->cell, 0, 0, 0), 1);
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
    const prepared *plan = plan_of(c);
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
    const prepared *plan = plan_of(c);
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
    const prepared *plan = plan_of(c);
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

/* Multiplies the states of all items with a weight where it is. */
static bp_status multiply_states(const call *c, int which) {
    const prepared *plan = plan_of(c);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const bool recurrent = which == RECURRENT;
    const int64_t all = recurrent ? plan->work.rows : p->output_size;
    bp_status status = BP_OK;
    for (int d = 0; d < p->directions && status == BP_OK; d++) {
        status = bp__rnn_multiply(
            plan->product[which], recurrent ? state_at(c, d, 0, 0, 0) : cell_at(c, plan->raw, d, 0, 0),
            bp__rnn_at(&c->base, recurrent ? BP_RNN_WEIGHT_HH : BP_RNN_WEIGHT_HR, d, 0, 0),
            bp__rnn_memory(&c->base, plan->products, d * p->batch * all), NULL, c->base.workspace + plan->scratch);
    }
    return status;
}

/* Computes the states of the units of one block. */
static void compute_states(void *context, int64_t unit, int task) {
    const call *c = context;
    const prepared *plan = plan_of(c);
    const bp__rnn_panels *panels = &plan->hidden;
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const bool projects = p->tensor[BP_RNN_WEIGHT_HR].dtype != 0,
               saves = bp__rnn_saved(p) && c->base.tensor[BP_RNN_RESERVE];
    const int64_t number = (int64_t)bp__rnn_number(&plan->work), slots = p->mode == BP_RNN_GRU ? 4 : panels->gates;
    const part s = part_of(c, unit, panels);
    const int64_t block = s.direction * panels->blocks + s.block;
    const bool stores = !projects && (p->tensor[BP_RNN_OUTPUT].stride[2] == 1 || p->directions * p->output_size == 1);
    if (!projects && plan->work.threads > 1 && s.active > s.from) {
        plan->work.kernels->claim(s.active - s.from, plan->columns * number, s.count * number,
                                  state_at(c, s.direction, 1, s.from, s.first));
        for (int64_t row = s.from; row < s.active && stores; row++) {
            plan->work.kernels->claim(1, 0, s.count * number, output_at(c, &s, row));
        }
    }
    const sums_of_part sums =
        sums_of(c, &s, panels, c->panels, state_at(c, s.direction, 0, s.from, 0), plan->columns, plan->work.rows, task);
    for (int64_t row = s.from; row < s.active; row++) {
        const int64_t item = bp__rnn_item(&c->base, row);
        const bp__rnn_row r = {
            .units = s.count,
            .gate = p->hidden_size,
            .input = c->input_panels ? panels->width : p->hidden_size,
            .width = panels->width,
            .sum = sums.gate,
            .x = gates_at(c, s.direction, s.block, s.step * p->batch + item),
            .sums = sums.at + (row - s.from) * sums.row * number,
            .bias = bp__rnn_memory(&c->base, plan->bias, block * slots * panels->width),
            .before = projects ? NULL : state_at(c, s.direction, 0, row, s.first),
            .after =
                projects ? cell_at(c, plan->raw, s.direction, row, s.first) : state_at(c, s.direction, 1, row, s.first),
            .output = stores ? output_at(c, &s, row) : NULL,
            .cell = p->mode == BP_RNN_LSTM ? cell_at(c, plan->cell, s.direction, row, s.first) : NULL,
            .saved = saves ? bp__rnn_saved_at(&c->base, s.direction, s.step, item) + s.first * number : NULL};
        plan->work.kernels->forward[p->mode](&r);
    }
    if (!projects) {
        write_output(c, &s, stores && s.active > s.from ? s.active : s.from);
    }
}

/* Computes the projection of the hidden states, for some of its columns. */
static void compute_projection(void *context, int64_t unit, int task) {
    const call *c = context;
    const prepared *plan = plan_of(c);
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

/* Returns the panels of a weight: packed before the call, or now; NULL if they are not worth it. */
static const char *panels_of(const call *c, bp_rnn_tensor which, const packed *given, size_t memory) {
    if (given || !c->base.tensor[which] || bp__rnn_problem_of(c->base.plan)->steps <= FEW_STEPS) {
        return given ? given->memory : NULL;
    }
    pack_weight(plan_of(c), which, c->base.tensor[which], c->base.workspace + memory);
    return c->base.workspace + memory;
}

static bp_status run_step(call *c) {
    const prepared *plan = plan_of(c);
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    bp_status status = c->panels ? BP_OK : multiply_states(c, RECURRENT);
    if (status == BP_OK) {
        bp__rnn_stage(&plan->work, compute_states, c, p->directions * plan->hidden.blocks * plan->parts);
    }
    if (status == BP_OK && p->tensor[BP_RNN_WEIGHT_HR].dtype) {
        status = c->projection_panels ? BP_OK : multiply_states(c, PROJECTION);
        bp__rnn_stage(&plan->work, compute_projection, c, p->directions * plan->projection.blocks * plan->parts);
    }
    return status;
}

static bp_status run_rnn_forward(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
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

/* Prepares the product of the input with a weight where it is. */
static bp_status prepare_input(prepared *plan) {
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const int64_t *x = p->tensor[BP_RNN_INPUT].stride, *w = p->tensor[BP_RNN_WEIGHT_IH].stride;
    const bool one = plan->work.is_one_item;
    const bp__rnn_shape shape = {.batch = one ? 1 : p->steps,
                                 .m = one ? p->steps * p->batch : p->batch,
                                 .n = plan->work.rows,
                                 .k = p->input_size,
                                 .a = {plan->work.x_row, x[2], x[0]},
                                 .b = {w[2], w[1], 0},
                                 .c = {plan->gate_row, 1, p->batch * plan->gate_row}};
    const bool packs = p->steps > FEW_STEPS && p->input_size > 0;
    return packs ? BP_OK : bp__rnn_product(&plan->work, &shape, NULL, &plan->product[INPUT]);
}

/* Prepares the products of states with weights where they are. */
static bp_status prepare_states(prepared *plan) {
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const int64_t *hh = p->tensor[BP_RNN_WEIGHT_HH].stride, *hr = p->tensor[BP_RNN_WEIGHT_HR].stride;
    const bp__rnn_shape recurrent = {.batch = 1,
                                     .m = p->batch,
                                     .n = plan->work.rows,
                                     .k = p->output_size,
                                     .a = {plan->columns, 1, 0},
                                     .b = {hh[2], hh[1], 0},
                                     .c = {plan->work.rows, 1, 0}};
    const bp__rnn_shape projection = {.batch = 1,
                                      .m = p->batch,
                                      .n = p->output_size,
                                      .k = p->hidden_size,
                                      .a = {plan->cells, 1, 0},
                                      .b = {hr[2], hr[1], 0},
                                      .c = {p->output_size, 1, 0}};
    if (p->steps > FEW_STEPS) {
        return BP_OK;
    }
    const bp_status status = bp__rnn_product(&plan->work, &recurrent, NULL, &plan->product[RECURRENT]);
    return status == BP_OK && p->tensor[BP_RNN_WEIGHT_HR].dtype
               ? bp__rnn_product(&plan->work, &projection, NULL, &plan->product[PROJECTION])
               : status;
}

static void lay_out(prepared *plan) {
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const size_t number = bp__rnn_number(&plan->work);
    const bool lstm = p->mode == BP_RNN_LSTM, projects = p->tensor[BP_RNN_WEIGHT_HR].dtype != 0;
    const bool few = p->steps <= FEW_STEPS;
    const int64_t rows = p->directions * p->batch;
    size_t *end = &plan->work.base.workspace, most = 0;
    const int64_t block = plan->input.blocks * plan->input.gates * plan->input.width;
    plan->input_panels = bp__rnn_reserve(end, plan->input.block_bytes, few ? 0 : p->directions, plan->input.blocks);
    plan->rows = bp__rnn_reserve(end, number, plan->copies ? p->steps * p->batch : 0, p->input_size);
    plan->panels = bp__rnn_reserve(end, plan->hidden.block_bytes, few ? 0 : p->directions, plan->hidden.blocks);
    plan->projection_panels = bp__rnn_reserve(end, plan->projection.block_bytes, projects && !few ? p->directions : 0,
                                              plan->projection.blocks);
    plan->bias = bp__rnn_reserve(end, number, 4 * p->directions, plan->cells);
    plan->gates = bp__rnn_reserve(end, number, p->directions * (p->steps + 1) * p->batch,
                                  block > plan->gate_row ? block : plan->gate_row);
    plan->states = bp__rnn_reserve(end, number, 2 * rows, plan->columns);
    plan->cell = bp__rnn_reserve(end, number, lstm ? rows : 0, plan->cells);
    plan->raw = bp__rnn_reserve(end, number, projects ? rows : 0, plan->cells);
    plan->products = bp__rnn_reserve(end, number, few ? rows : 0,
                                     plan->work.rows > p->output_size ? plan->work.rows : p->output_size);
    for (int i = 0; i < PRODUCTS; i++) {
        most = plan->product[i] && plan->product[i]->workspace > most ? plan->product[i]->workspace : most;
    }
    plan->scratch = bp__rnn_reserve(end, 1, 1, (int64_t)most);
}

/* Returns a length of rows, at least `least`: an odd number of 64-byte lines, because lines at distances of powers of 2
 * share a few places of a cache. */
static int64_t spread(const prepared *plan, int64_t least) {
    enum { LINE = 64, FEW_LINES = 8 };
    const int64_t number = (int64_t)bp__rnn_number(&plan->work), lines = (least * number + LINE - 1) / LINE;
    return lines < FEW_LINES ? least : (lines | 1) * LINE / number;
}

bp_status bp__rnn_plan_forward(const bp_host *host, const bp_problem *problem, const bp__rnn_kernels *kernels,
                               int threads, bp_prepared **result) {
    const bp_rnn_problem *p = &problem->of.rnn;
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return bp__rnn_no_memory(host, sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    bp__rnn_begin(&plan->work, host, problem, kernels, threads);
    plan->work.base.enqueue = run_rnn_forward;
    plan->work.base.destroy = destroy;
    plan->work.base.pack = pack;
    plan->input = bp__rnn_panels_of(&plan->work, bp__rnn_gates(p), p->hidden_size, p->input_size);
    plan->hidden = bp__rnn_panels_of(&plan->work, bp__rnn_gates(p), p->hidden_size, p->output_size);
    plan->projection = bp__rnn_panels_of(&plan->work, 1, p->output_size, p->hidden_size);
    const bp__rnn_panels *output = p->tensor[BP_RNN_WEIGHT_HR].dtype ? &plan->projection : &plan->hidden;
    plan->columns = spread(plan, output->blocks * output->width);
    plan->cells = spread(plan, plan->hidden.blocks * plan->hidden.width);
    plan->gate_row = spread(plan, plan->work.rows);
    plan->copies = !plan->work.is_one_item || (p->tensor[BP_RNN_INPUT].stride[2] != 1 && p->input_size > 1);
    plan->parts = (p->batch + BP__RNN_ROWS - 1) / BP__RNN_ROWS;
    bp_status status = prepare_input(plan);
    status = status == BP_OK ? prepare_states(plan) : status;
    if (status != BP_OK) {
        destroy(&plan->work.base);
        return status;
    }
    lay_out(plan);
    *result = &plan->work.base;
    return BP_OK;
}
