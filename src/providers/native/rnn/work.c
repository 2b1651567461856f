/* work.c - calls, panels of weights and products of recurrent layers. */
#include "work.h"

/* ---- Copies ---- */

void bp__rnn_copy(const bp__rnn_work *plan, int64_t count, void *to, int64_t to_stride, const void *from,
                  int64_t from_stride) {
    if (to_stride == 1 && from_stride == 1) {
        memcpy(to, from, (size_t)count * bp__rnn_number(plan));
    } else if (bp__rnn_number(plan) == sizeof(float)) {
        for (int64_t i = 0; i < count; i++) {
            memcpy((char *)to + i * to_stride * 4, (const char *)from + i * from_stride * 4, 4);
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            memcpy((char *)to + i * to_stride * 8, (const char *)from + i * from_stride * 8, 8);
        }
    }
}

void bp__rnn_clear(const bp__rnn_work *plan, int64_t count, void *to, int64_t to_stride) {
    const int64_t number = (int64_t)bp__rnn_number(plan);
    if (to_stride == 1) {
        memset(to, 0, (size_t)(count * number));
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        memset((char *)to + i * to_stride * number, 0, (size_t)number);
    }
}

/* ---- Plans ---- */

bp_status bp__rnn_no_memory(const bp_host *host, size_t size) {
    return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", size);
}

size_t bp__rnn_reserve(size_t *end, size_t element, int64_t rows, int64_t columns) {
    const size_t too_much = (size_t)1 << 60, at = *end;
    size_t bytes;
    if (__builtin_mul_overflow((size_t)rows, (size_t)columns, &bytes) ||
        __builtin_mul_overflow(bytes, element, &bytes) || bytes > too_much || at + bytes > too_much) {
        *end = too_much;
        return at;
    }
    *end = at + (bytes + 63) / 64 * 64;
    return at;
}

/* Returns the terms of a sum that products of matrices add up at a time. */
static int64_t block_of(const bp__rnn_work *plan) {
    enum { SIDE = 16 };
    bp_problem problem = {
        .struct_size = sizeof problem, .op = BP_OP_GEMM, .dtype = plan->problem.dtype, .policy = plan->problem.policy};
    bp__native_choice choices[BP__NATIVE_PATHS];
    problem.of.gemm = (bp_gemm_problem){.m = SIDE,
                                        .n = SIDE,
                                        .k = SIDE,
                                        .a_row = SIDE,
                                        .a_column = 1,
                                        .b_row = SIDE,
                                        .b_column = 1,
                                        .c_row = SIDE,
                                        .c_column = 1,
                                        .alpha = BP_FACTOR_ONE,
                                        .batch = 1};
    bp__native_choose(plan->host, &problem, choices);
    return choices[0].kernels->k_block;
}

void bp__rnn_begin(bp__rnn_work *plan, const bp_host *host, const bp_problem *problem, const bp__rnn_kernels *kernels,
                   int threads) {
    const bp_rnn_problem *p = &problem->of.rnn;
    const int64_t *x = p->tensor[BP_RNN_INPUT].stride;
    const bool lengths = p->tensor[BP_RNN_LENGTHS].dtype != 0;
    plan->base = (bp_prepared){.struct_size = sizeof plan->base};
    plan->host = host;
    plan->problem = *problem;
    plan->kernels = kernels;
    plan->threads = threads;
    plan->rows = bp__rnn_gates(p) * p->hidden_size;
    plan->is_one_item = p->steps == 1 || p->batch == 1 || x[0] == x[1] * p->batch;
    plan->x_row = p->batch == 1 ? x[0] : x[1];
    plan->block = block_of(plan);
    plan->order = bp__rnn_reserve(&plan->base.workspace, sizeof(int64_t), lengths, p->batch);
    plan->active = bp__rnn_reserve(&plan->base.workspace, sizeof(int64_t), lengths, p->steps + 1);
    plan->sums_bytes = (size_t)(BP__RNN_ROWS * BP__RNN_VECTORS_FEW * kernels->lanes) * kernels->number;
    plan->sums = bp__rnn_reserve(&plan->base.workspace, 1, threads, (int64_t)plan->sums_bytes);
}

/* ---- Calls ---- */

/* Orders the items by length, the longest first, and counts the items of each step. */
static bp_status order_items(const bp__rnn_work *plan, bp__rnn_call *call) {
    const bp_rnn_problem *p = bp__rnn_problem_of(plan);
    const int64_t *lengths = (const int64_t *)(const void *)call->tensor[BP_RNN_LENGTHS];
    const int64_t stride = p->tensor[BP_RNN_LENGTHS].stride[0];
    int64_t *item = (int64_t *)(void *)(call->workspace + plan->order),
            *active = (int64_t *)(void *)(call->workspace + plan->active);
    memset(active, 0, (size_t)(p->steps + 1) * sizeof *active);
    for (int64_t n = 0; n < p->batch; n++) {
        const int64_t length = lengths[n * stride];
        if (length < 0 || length > p->steps) {
            return plan->host->fail(BP_E_ARGUMENT, "rnn: lengths[%lld] is %lld; it must be from 0 to %lld, the steps",
                                    (long long)n, (long long)length, (long long)p->steps);
        }
        active[length]++;
    }
    int64_t longer = 0; /* active[t] becomes the number of items with more than t steps */
    for (int64_t t = p->steps; t >= 0; t--) {
        const int64_t own = active[t];
        active[t] = longer;
        longer += own;
    }
    for (int64_t n = 0; n < p->batch; n++) { /* active[t] becomes the number of those with t steps or more */
        item[active[lengths[n * stride]]++] = n;
    }
    for (int64_t t = 0; t < p->steps; t++) {
        active[t] = active[t + 1];
    }
    call->item = item;
    call->active = active;
    return BP_OK;
}

const bp_rnn_tensor *bp__rnn_order(bp_op op, int *inputs) {
    static const bp_rnn_tensor forward[] = {
        BP_RNN_INPUT,        BP_RNN_WEIGHT_IH,      BP_RNN_WEIGHT_HH,    BP_RNN_WEIGHT_HR, BP_RNN_BIAS_IH,
        BP_RNN_BIAS_HH,      BP_RNN_INITIAL_HIDDEN, BP_RNN_INITIAL_CELL, BP_RNN_LENGTHS,   BP_RNN_OUTPUT,
        BP_RNN_FINAL_HIDDEN, BP_RNN_FINAL_CELL,     BP_RNN_RESERVE,      BP_RNN_TENSORS};
    static const bp_rnn_tensor backward[] = {BP_RNN_OUTPUT_GRADIENT,
                                             BP_RNN_FINAL_HIDDEN_GRADIENT,
                                             BP_RNN_FINAL_CELL_GRADIENT,
                                             BP_RNN_INPUT,
                                             BP_RNN_WEIGHT_IH,
                                             BP_RNN_WEIGHT_HH,
                                             BP_RNN_WEIGHT_HR,
                                             BP_RNN_INITIAL_HIDDEN,
                                             BP_RNN_INITIAL_CELL,
                                             BP_RNN_LENGTHS,
                                             BP_RNN_OUTPUT,
                                             BP_RNN_RESERVE,
                                             BP_RNN_INPUT_GRADIENT,
                                             BP_RNN_INITIAL_HIDDEN_GRADIENT,
                                             BP_RNN_INITIAL_CELL_GRADIENT,
                                             BP_RNN_WEIGHT_IH_GRADIENT,
                                             BP_RNN_WEIGHT_HH_GRADIENT,
                                             BP_RNN_WEIGHT_HR_GRADIENT,
                                             BP_RNN_BIAS_IH_GRADIENT,
                                             BP_RNN_BIAS_HH_GRADIENT,
                                             BP_RNN_TENSORS};
    *inputs = op == BP_OP_RNN ? 9 : 12;
    return op == BP_OP_RNN ? forward : backward;
}

bp_status bp__rnn_open(const bp__rnn_work *plan, const bp_operand *operands, const bp_exec *exec, bp__rnn_call *call) {
    int inputs;
    const bp_rnn_tensor *order = bp__rnn_order((bp_op)plan->problem.op, &inputs);
    const bp_rnn_problem *p = bp__rnn_problem_of(plan);
    *call = (bp__rnn_call){.plan = plan,
                           .workspace = bp_operand_address(&exec->workspace),
                           .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    for (int i = 0; order[i] != BP_RNN_TENSORS; i++) {
        call->tensor[order[i]] = p->tensor[order[i]].dtype ? bp__native_address(&operands[i]) : NULL;
    }
    return call->tensor[BP_RNN_LENGTHS] ? order_items(plan, call) : BP_OK;
}

/* ---- Threads ---- */

typedef struct stage {
    void (*compute)(void *context, int64_t unit, int task);
    void *context;
    int64_t units;
    int tasks;
} stage;

static void run_task(void *context, int task) {
    const stage *s = context;
    const int64_t end = s->units * (task + 1) / s->tasks;
    for (int64_t unit = s->units * task / s->tasks; unit < end; unit++) {
        s->compute(s->context, unit, task);
    }
}

void bp__rnn_stage(const bp__rnn_work *plan, void (*compute)(void *context, int64_t unit, int task), void *context,
                   int64_t units) {
    stage s = {compute, context, units, (int)bp__least(plan->threads, units)};
    if (s.tasks > 1) {
        plan->host->parallel(s.tasks, s.tasks, run_task, &s);
    } else if (units > 0) {
        s.tasks = 1;
        run_task(&s, 0);
    }
}

/* ---- Panels ---- */

enum { FEW_ITEMS = 4 }; /* fewer are few */

bp__rnn_panels bp__rnn_panels_of(const bp__rnn_work *plan, int64_t gates, int64_t units, int64_t inner) {
    bp__rnn_panels p = {.gates = gates, .units = units, .inner = inner};
    size_t end = 0;
    const bool few = bp__rnn_problem_of(plan)->batch < FEW_ITEMS;
    /* With the reset gate before the product, blocks of the input have as many units as panels of r and z. */
    const bool twice = few || bp__rnn_problem_of(plan)->reset_before;
    p.vectors = gates != 3 ? BP__RNN_VECTORS : twice ? BP__RNN_VECTORS_FEW : BP__RNN_VECTORS_GRU;
    p.width = p.vectors / gates * plan->kernels->lanes;
    p.blocks = (units + p.width - 1) / p.width;
    bp__rnn_reserve(&end, plan->kernels->number, inner, gates * p.width);
    p.block_bytes = end;
    return p;
}

typedef struct packing {
    const bp__rnn_work *plan;
    const bp__rnn_panels *panels;
    const bp__rnn_strides *strides;
    const char *from;
    char *to;
} packing;

static void pack_block(void *context, int64_t unit, int task) {
    const packing *w = context;
    const bp__rnn_panels *p = w->panels;
    const int64_t number = (int64_t)bp__rnn_number(w->plan), first = unit * p->width;
    const int64_t count = bp__least(p->width, p->units - first);
    char *to = w->to + (size_t)unit * p->block_bytes;
    (void)task;
    if (count < p->width) {
        memset(to, 0, p->block_bytes);
    }
    for (int64_t g = 0; g < p->gates; g++) {
        w->plan->host->copy_matrix((bp_dtype)w->plan->problem.dtype, p->inner, count, to + g * p->width * number,
                                   p->gates * p->width, 1,
                                   w->from + (g * w->strides->gate + first * w->strides->unit) * number,
                                   w->strides->inner, w->strides->unit, 0);
    }
}

void bp__rnn_pack(const bp__rnn_work *plan, const bp__rnn_panels *panels, const char *from,
                  const bp__rnn_strides *strides, char *to) {
    packing w = {plan, panels, strides, from, to};
    bp__rnn_stage(plan, pack_block, &w, panels->blocks);
}

/* ---- Products ---- */

static bp__rnn_matrix canonical(bp__rnn_matrix m, int64_t rows, int64_t columns) {
    return (bp__rnn_matrix){rows == 1 ? 0 : m.row, columns == 1 ? 0 : m.column, m.batch};
}

bp_status bp__rnn_product(const bp__rnn_work *plan, const bp__rnn_shape *s, bool *packs, bp_prepared **product) {
    bp_problem problem = {
        .struct_size = sizeof problem, .op = BP_OP_GEMM, .dtype = plan->problem.dtype, .policy = plan->problem.policy};
    bp__native_choice choices[BP__NATIVE_PATHS];
    const bp__rnn_matrix a = canonical(s->a, s->m, s->k), b = canonical(s->b, s->k, s->n),
                         c = canonical(s->c, s->m, s->n);
    bp_gemm_problem *g = &problem.of.gemm;
    *g = (bp_gemm_problem){.m = s->m,
                           .n = s->n,
                           .k = s->k,
                           .a_row = a.row,
                           .a_column = a.column,
                           .b_row = b.row,
                           .b_column = b.column,
                           .c_row = c.row,
                           .c_column = c.column,
                           .alpha = BP_FACTOR_ONE,
                           .beta = s->adds ? BP_FACTOR_ONE : BP_FACTOR_ZERO,
                           .batch_ndim = s->batch != 1,
                           .batch = s->batch};
    g->batch_shape[0] = s->batch != 1 ? s->batch : 0;
    g->batch_a[0] = s->batch != 1 ? a.batch : 0;
    g->batch_b[0] = s->batch != 1 ? b.batch : 0;
    g->batch_c[0] = s->batch != 1 ? c.batch : 0;
    problem.policy.precision = problem.policy.packed = problem.policy.simulate = 0;
    bp__native_choose(plan->host, &problem, choices);
    if (packs) {
        *packs = (bp__native_packs(&choices[0]) & 2u) != 0;
    }
    return bp__native_prepare(plan->host, &choices[0], g, product);
}

bp_status bp__rnn_multiply(const bp_prepared *product, const void *a, const void *b, const void *c,
                           const bp_packed *packed, char *workspace) {
    static const bp_scalar factors[2] = {{1, 0}, {1, 0}}; /* classes that the plan knows are not read */
    const bp_operand operands[] = {{(void *)(uintptr_t)a, 0}, {(void *)(uintptr_t)b, 0}, {(void *)(uintptr_t)c, 0}};
    const bp_packed *const list[] = {NULL, packed, NULL};
    const bp_exec exec = {.struct_size = sizeof exec,
                          .workspace = {workspace, 0},
                          .workspace_size = product->workspace,
                          .scalars = factors,
                          .packed = packed ? list : NULL,
                          .operand_count = 3};
    return product->enqueue(product, operands, &exec);
}
