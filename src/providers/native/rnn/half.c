/* half.c - computes recurrent layers of f16 and bf16 numbers.
 *
 * Operands are converted to f32 in the workspace, a layer of f32 numbers runs on them, and its results are rounded
 * once. So states are not rounded between the steps of a call. The reserve has f32 numbers, and lengths are no
 * numbers: both stay where they are. */
#include "work.h"

typedef struct prepared {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem;
    const bp__rnn_kernels *kernels;
    bp_prepared *layer;                /* of f32 numbers */
    size_t at[BP_RNN_TENSORS], memory; /* offsets in the workspace: numbers of each operand, and the layer's memory */
    int threads;
} prepared;

/* An operand, or a weight, of three dimensions; the last is the dimension of a row. */
typedef struct conversion {
    const prepared *plan;
    int64_t size[BP_MAX_RNN_NDIM], stride[BP_MAX_RNN_NDIM];
    char *element;
    float *number;
    bool narrows;
    int tasks;
} conversion;

static bool is_converted(const bp_rnn_problem *p, bp_rnn_tensor which) {
    return p->tensor[which].dtype && which != BP_RNN_LENGTHS && which != BP_RNN_RESERVE;
}

/* ---- Shapes ---- */

/* Writes the sizes of an operand in the dimensions of its strides. */
static void sizes_of(const bp_rnn_problem *p, bp_rnn_tensor which, int64_t size[BP_MAX_RNN_NDIM]) {
    const int64_t rows = bp__rnn_gates(p) * p->hidden_size;
    size[0] = p->directions, size[1] = p->batch, size[2] = p->output_size;
    switch (which) {
    case BP_RNN_INPUT:
    case BP_RNN_INPUT_GRADIENT:
        size[0] = p->steps, size[2] = p->input_size;
        break;
    case BP_RNN_OUTPUT:
    case BP_RNN_OUTPUT_GRADIENT:
        size[0] = p->steps, size[2] = p->directions * p->output_size;
        break;
    case BP_RNN_WEIGHT_IH:
    case BP_RNN_WEIGHT_IH_GRADIENT:
        size[1] = rows, size[2] = p->input_size;
        break;
    case BP_RNN_WEIGHT_HH:
    case BP_RNN_WEIGHT_HH_GRADIENT:
        size[1] = rows;
        break;
    case BP_RNN_WEIGHT_HR:
    case BP_RNN_WEIGHT_HR_GRADIENT:
        size[1] = p->output_size, size[2] = p->hidden_size;
        break;
    case BP_RNN_BIAS_IH:
    case BP_RNN_BIAS_HH:
    case BP_RNN_BIAS_IH_GRADIENT:
    case BP_RNN_BIAS_HH_GRADIENT:
        size[1] = rows, size[2] = 1;
        break;
    case BP_RNN_INITIAL_CELL:
    case BP_RNN_FINAL_CELL:
    case BP_RNN_FINAL_CELL_GRADIENT:
    case BP_RNN_INITIAL_CELL_GRADIENT:
        size[2] = p->hidden_size;
        break;
    default: /* hidden states */
        break;
    }
}

double bp__rnn_half_elements(const bp_rnn_problem *p) {
    double elements = 0;
    for (int i = 0; i < BP_RNN_TENSORS; i++) {
        int64_t size[BP_MAX_RNN_NDIM];
        sizes_of(p, (bp_rnn_tensor)i, size);
        elements += is_converted(p, (bp_rnn_tensor)i) ? (double)size[0] * (double)size[1] * (double)size[2] : 0;
    }
    return elements;
}

/* Returns the problem of the layer of f32 numbers, whose tensors are compact. */
static bp_problem layer_of(const bp_problem *problem) {
    bp_problem layer = *problem;
    bp_rnn_problem *p = &layer.of.rnn;
    layer.dtype = BP_F32;
    layer.policy.precision = 0;
    for (int i = 0; i < BP_RNN_TENSORS; i++) {
        int64_t size[BP_MAX_RNN_NDIM], step = 1;
        if (!is_converted(p, (bp_rnn_tensor)i)) {
            continue;
        }
        sizes_of(p, (bp_rnn_tensor)i, size);
        p->tensor[i].dtype = BP_F32;
        for (int d = BP_MAX_RNN_NDIM - 1; d >= 0; d--) {
            p->tensor[i].stride[d] = size[d] == 1 ? 0 : step;
            step *= size[d];
        }
    }
    return layer;
}

/* ---- Conversions ---- */

static void convert_rows(void *context, int task) {
    const conversion *c = context;
    const bp__rnn_kernels *kernels = c->plan->kernels;
    const int bf16 = c->plan->problem.dtype == BP_BF16;
    const int64_t rows = c->size[0] * c->size[1], end = rows * (task + 1) / c->tasks;
    for (int64_t row = rows * task / c->tasks; row < end; row++) {
        char *element = c->element + 2 * (row / c->size[1] * c->stride[0] + row % c->size[1] * c->stride[1]);
        float *number = c->number + row * c->size[2];
        if (c->narrows) {
            kernels->narrow[bf16](c->size[2], element, c->stride[2], number);
        } else {
            kernels->widen[bf16](c->size[2], number, element, c->stride[2]);
        }
    }
}

/* Converts an operand to numbers, or rounds the numbers of a result. */
static void convert(const prepared *plan, bp_rnn_tensor which, void *element, float *number, bool narrows) {
    const bp_rnn_problem *p = &plan->problem.of.rnn;
    conversion c = {.plan = plan, .element = element, .number = number, .narrows = narrows};
    sizes_of(p, which, c.size);
    memcpy(c.stride, p->tensor[which].stride, sizeof c.stride);
    const int64_t rows = c.size[0] * c.size[1];
    c.tasks = (int)bp__least(plan->threads, rows);
    if (c.tasks > 1) {
        plan->host->parallel(c.tasks, c.tasks, convert_rows, &c);
    } else if (rows > 0) {
        c.tasks = 1;
        convert_rows(&c, 0);
    }
}

/* ---- Calls ---- */

static bool is_packed(const bp_exec *exec, int operand) {
    return exec->packed && exec->packed[operand];
}

static bp_status run_rnn_half(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    const bp_rnn_problem *p = &plan->problem.of.rnn;
    int inputs, count = 0;
    const bp_rnn_tensor *order = bp__rnn_order((bp_op)plan->problem.op, &inputs);
    bp_operand own[BP_RNN_TENSORS] = {{NULL, 0}};
    char *workspace = bp_operand_address(&exec->workspace);
    for (; order[count] != BP_RNN_TENSORS; count++) {
        const bp_rnn_tensor which = order[count];
        if (!is_converted(p, which)) {
            own[count] = operands[count];
            continue;
        }
        own[count] = (bp_operand){workspace + plan->at[which], 0};
        if (count < inputs && !is_packed(exec, count)) {
            convert(plan, which, bp__native_address(&operands[count]), bp_operand_address(&own[count]), false);
        }
    }
    bp_exec inner = *exec;
    inner.workspace = (bp_operand){workspace + plan->memory, 0};
    inner.workspace_size = plan->layer->workspace;
    const bp_status status = plan->layer->enqueue(plan->layer, own, &inner);
    for (int i = inputs; i < count && status == BP_OK; i++) {
        if (is_converted(p, order[i])) {
            convert(plan, order[i], bp__native_address(&operands[i]), bp_operand_address(&own[i]), true);
        }
    }
    return status;
}

static bp_status pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **packed) {
    const prepared *plan = (const prepared *)self;
    const bp_rnn_tensor which = (bp_rnn_tensor)operand; /* the first operands are in the order of the tensors */
    int64_t size[BP_MAX_RNN_NDIM];
    size_t bytes = 0;
    sizes_of(&plan->problem.of.rnn, which, size);
    bp__rnn_reserve(&bytes, sizeof(float), size[0] * size[1], size[2]);
    float *numbers = plan->host->allocate(bytes > 0 ? bytes : 1);
    if (!numbers) {
        return plan->host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a weight", bytes);
    }
    convert(plan, which, bp__native_address(source), numbers, false);
    const bp_operand converted = {numbers, 0};
    const bp_status status = plan->layer->pack(plan->layer, operand, &converted, packed);
    plan->host->release(numbers);
    return status;
}

/* ---- Plans ---- */

static void destroy(bp_prepared *self) {
    prepared *plan = (prepared *)self;
    plan->layer->destroy(plan->layer);
    plan->host->release(plan);
}

bp_status bp__rnn_plan_half(const bp_host *host, const bp_problem *problem, const bp__rnn_kernels *kernels, int threads,
                            bp_prepared **result) {
    const bp_rnn_problem *p = &problem->of.rnn;
    const bp_problem layer = layer_of(problem);
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return bp__rnn_no_memory(host, sizeof *plan);
    }
    *plan = (prepared){.base = {.struct_size = sizeof plan->base, .enqueue = run_rnn_half, .destroy = destroy},
                       .host = host,
                       .problem = *problem,
                       .kernels = kernels,
                       .threads = threads};
    const bp_status status = (problem->op == BP_OP_RNN ? bp__rnn_plan_forward : bp__rnn_plan_backward)(
        host, &layer, kernels, threads, &plan->layer);
    if (status != BP_OK) {
        host->release(plan);
        return status;
    }
    plan->base.pack = plan->layer->pack ? pack : NULL;
    for (int i = 0; i < BP_RNN_TENSORS; i++) {
        int64_t size[BP_MAX_RNN_NDIM];
        sizes_of(p, (bp_rnn_tensor)i, size);
        plan->at[i] = bp__rnn_reserve(&plan->base.workspace, sizeof(float),
                                      is_converted(p, (bp_rnn_tensor)i) ? size[0] * size[1] : 0, size[2]);
    }
    plan->memory = bp__rnn_reserve(&plan->base.workspace, 1, 1, (int64_t)plan->layer->workspace);
    *result = &plan->base;
    return BP_OK;
}
