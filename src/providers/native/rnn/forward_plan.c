/* forward_plan.c - plans recurrent layers, and packs their weights. */
#include "forward.h"

/* ---- Weights ---- */

static bp__rnn_strides strides_of(const bp__rnn_forward *plan, bp_rnn_tensor which) {
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const int64_t *stride = p->tensor[which].stride;
    return (bp__rnn_strides){stride[1] * p->hidden_size, stride[1], stride[2]};
}

static const bp__rnn_panels *panels_for(const bp__rnn_forward *plan, bp_rnn_tensor weight) {
    return weight == BP_RNN_WEIGHT_IH ? &plan->input : weight == BP_RNN_WEIGHT_HH ? &plan->hidden : &plan->projection;
}

/* Packs gates of a weight, of all directions. */
static void pack_gates(const bp__rnn_forward *plan, bp_rnn_tensor which, const bp__rnn_panels *panels, const char *from,
                       char *to) {
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const bp__rnn_strides strides = strides_of(plan, which);
    for (int d = 0; d < p->directions; d++) {
        bp__rnn_pack(&plan->work, panels, from + d * p->tensor[which].stride[0] * (int64_t)bp__rnn_number(&plan->work),
                     &strides, to + (size_t)(d * panels->blocks) * panels->block_bytes);
    }
}

void bp__rnn_pack_weight(const bp__rnn_forward *plan, bp_rnn_tensor which, const char *from, char *to) {
    pack_gates(plan, which, panels_for(plan, which), from, to);
    if (which == BP_RNN_WEIGHT_HH && bp__rnn_has_parts(plan)) {
        const int64_t gates = 2 * strides_of(plan, which).gate;
        pack_gates(plan, which, &plan->candidate, from + gates * (int64_t)bp__rnn_number(&plan->work),
                   to + bp__rnn_candidate_at(plan));
    }
}

static void destroy_packed(bp_packed *self) {
    bp__rnn_packed *w = (bp__rnn_packed *)self;
    w->host->release(w->memory);
    w->host->release(w);
}

static bp_status pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **result) {
    const bp__rnn_forward *plan = (const bp__rnn_forward *)self;
    const bp_host *host = plan->work.host;
    const bp__rnn_panels *panels = panels_for(plan, (bp_rnn_tensor)operand);
    size_t bytes = 0;
    bp__rnn_reserve(&bytes, panels->block_bytes, bp__rnn_problem_of(&plan->work)->directions, panels->blocks);
    if (operand == BP_RNN_WEIGHT_HH && bp__rnn_has_parts(plan)) {
        bp__rnn_reserve(&bytes, plan->candidate.block_bytes, bp__rnn_problem_of(&plan->work)->directions,
                        plan->candidate.blocks);
    }
    bp__rnn_packed *w = host->allocate(sizeof *w);
    char *memory = host->allocate(bytes > 0 ? bytes : 1);
    if (!w || !memory) {
        host->release(w);
        host->release(memory);
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a packed weight", bytes);
    }
    *w = (bp__rnn_packed){.base = {.struct_size = sizeof w->base, .size = bytes, .destroy = destroy_packed},
                          .host = host,
                          .memory = memory};
    *result = &w->base;
    bp__rnn_pack_weight(plan, (bp_rnn_tensor)operand, bp__native_address(source), memory);
    return BP_OK;
}

/* ---- Plans ---- */

static void destroy(bp_prepared *self) {
    bp__rnn_forward *plan = (bp__rnn_forward *)self;
    for (int i = 0; i < BP__RNN_PRODUCTS; i++) {
        if (plan->product[i]) {
            plan->product[i]->destroy(plan->product[i]);
        }
    }
    plan->work.host->release(plan);
}

/* Prepares the product of the input with a weight where it is. */
static bp_status prepare_input(bp__rnn_forward *plan) {
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
    const bool packs = p->steps > BP__RNN_FEW_STEPS && p->input_size > 0;
    return packs ? BP_OK : bp__rnn_product(&plan->work, &shape, NULL, &plan->product[BP__RNN_BY_INPUT]);
}

/* Prepares the products of states with weights where they are. */
static bp_status prepare_states(bp__rnn_forward *plan) {
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const int64_t *hh = p->tensor[BP_RNN_WEIGHT_HH].stride, *hr = p->tensor[BP_RNN_WEIGHT_HR].stride;
    const bp__rnn_shape recurrent = {.batch = 1,
                                     .m = p->batch,
                                     .n = plan->hidden.gates * p->hidden_size,
                                     .k = p->output_size,
                                     .a = {plan->columns, 1, 0},
                                     .b = {hh[2], hh[1], 0},
                                     .c = {plan->hidden.gates * p->hidden_size, 1, 0}};
    const bp__rnn_shape candidate = {.batch = 1,
                                     .m = p->batch,
                                     .n = p->hidden_size,
                                     .k = p->hidden_size,
                                     .a = {plan->cells, 1, 0},
                                     .b = {hh[2], hh[1], 0},
                                     .c = {p->hidden_size, 1, 0}};
    const bp__rnn_shape projection = {.batch = 1,
                                      .m = p->batch,
                                      .n = p->output_size,
                                      .k = p->hidden_size,
                                      .a = {plan->cells, 1, 0},
                                      .b = {hr[2], hr[1], 0},
                                      .c = {p->output_size, 1, 0}};
    if (p->steps > BP__RNN_FEW_STEPS) {
        return BP_OK;
    }
    bp_status status = bp__rnn_product(&plan->work, &recurrent, NULL, &plan->product[BP__RNN_BY_HIDDEN]);
    if (status == BP_OK && bp__rnn_has_parts(plan)) {
        status = bp__rnn_product(&plan->work, &candidate, NULL, &plan->product[BP__RNN_BY_RESET]);
    }
    return status == BP_OK && p->tensor[BP_RNN_WEIGHT_HR].dtype
               ? bp__rnn_product(&plan->work, &projection, NULL, &plan->product[BP__RNN_BY_RAW])
               : status;
}

static void lay_out(bp__rnn_forward *plan) {
    const bp_rnn_problem *p = bp__rnn_problem_of(&plan->work);
    const size_t number = bp__rnn_number(&plan->work);
    const bool lstm = p->mode == BP_RNN_LSTM, projects = p->tensor[BP_RNN_WEIGHT_HR].dtype != 0;
    const bool few = p->steps <= BP__RNN_FEW_STEPS;
    const int64_t rows = p->directions * p->batch;
    size_t *end = &plan->work.base.workspace, most = 0;
    const int64_t block = plan->input.blocks * plan->input.gates * plan->input.width;
    plan->input_panels = bp__rnn_reserve(end, plan->input.block_bytes, few ? 0 : p->directions, plan->input.blocks);
    plan->rows = bp__rnn_reserve(end, number, plan->copies ? p->steps * p->batch : 0, p->input_size);
    plan->panels = bp__rnn_reserve(end, plan->hidden.block_bytes, few ? 0 : p->directions, plan->hidden.blocks);
    bp__rnn_reserve(end, plan->candidate.block_bytes, few ? 0 : p->directions, plan->candidate.blocks);
    plan->projection_panels = bp__rnn_reserve(end, plan->projection.block_bytes, projects && !few ? p->directions : 0,
                                              plan->projection.blocks);
    plan->bias = bp__rnn_reserve(end, number, 4 * p->directions, plan->cells);
    plan->gates = bp__rnn_reserve(end, number, p->directions * (p->steps + 1) * p->batch,
                                  block > plan->gate_row ? block : plan->gate_row);
    plan->states = bp__rnn_reserve(end, number, 2 * rows, plan->columns);
    plan->cell = bp__rnn_reserve(end, number, lstm ? rows : 0, plan->cells);
    plan->raw = bp__rnn_reserve(end, number, projects ? rows : 0, plan->cells);
    plan->reset = bp__rnn_reserve(end, number, bp__rnn_has_parts(plan) ? rows : 0, plan->cells);
    plan->update = bp__rnn_reserve(end, number, bp__rnn_has_parts(plan) ? rows : 0, plan->cells);
    plan->products = bp__rnn_reserve(end, number, few ? rows : 0,
                                     plan->work.rows > p->output_size ? plan->work.rows : p->output_size);
    for (int i = 0; i < BP__RNN_PRODUCTS; i++) {
        most = plan->product[i] && plan->product[i]->workspace > most ? plan->product[i]->workspace : most;
    }
    plan->scratch = bp__rnn_reserve(end, 1, 1, (int64_t)most);
}

/* Returns a length of rows, at least `least`: an odd number of 64-byte lines, because lines at distances of powers of 2
 * share a few places of a cache. */
static int64_t spread(const bp__rnn_forward *plan, int64_t least) {
    enum { LINE = 64, FEW_LINES = 8 };
    const int64_t number = (int64_t)bp__rnn_number(&plan->work), lines = (least * number + LINE - 1) / LINE;
    return lines < FEW_LINES ? least : (lines | 1) * LINE / number;
}

bp_status bp__rnn_plan_forward(const bp_host *host, const bp_problem *problem, const bp__rnn_kernels *kernels,
                               int threads, bp_prepared **result) {
    const bp_rnn_problem *p = &problem->of.rnn;
    bp__rnn_forward *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return bp__rnn_no_memory(host, sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    bp__rnn_begin(&plan->work, host, problem, kernels, threads);
    plan->work.base.enqueue = bp__rnn_run_forward;
    plan->work.base.destroy = destroy;
    plan->work.base.pack = pack;
    plan->input = bp__rnn_panels_of(&plan->work, bp__rnn_gates(p), p->hidden_size, p->input_size);
    plan->hidden =
        bp__rnn_panels_of(&plan->work, p->reset_before ? 2 : bp__rnn_gates(p), p->hidden_size, p->output_size);
    if (p->reset_before) {
        plan->candidate = bp__rnn_panels_of(&plan->work, 1, p->hidden_size, p->hidden_size);
    }
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
