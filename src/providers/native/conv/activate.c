/* activate.c - computes a function of the results of a convolution, after another plan has written them. */
#include "conv.h"

#include "providers/native/elementwise/elementwise.h"

#include <string.h>

enum { RESULT = 3 }; /* operand */

typedef struct prepared {
    bp_prepared base;                /* must be first */
    bp_prepared *results, *function; /* the convolution, and the function in place */
    const bp_host *host;
} prepared;

/* Describes the function, without dimensions of size 1. */
static void describe(const bp_problem *problem, bp_problem *function) {
    const bp_conv_problem *c = &problem->of.conv;
    const bool forward = problem->op == BP_OP_CONV;
    const int64_t *size = forward ? c->out : c->in, *stride = forward ? c->y : c->x;
    const int64_t sizes[] = {c->batch, c->groups * (forward ? c->out_channels : c->in_channels), size[0], size[1],
                             size[2]};
    const int64_t strides[] = {forward ? c->y_batch : c->x_batch, forward ? c->y_channel : c->x_channel, stride[0],
                               stride[1], stride[2]};
    bp_elementwise_problem e = {.kind = c->activation, .type = {problem->dtype, problem->dtype}};
    for (int i = 0; i < 5; i++) {
        if (sizes[i] != 1) {
            e.size[e.ndim] = sizes[i];
            e.stride[0][e.ndim] = e.stride[1][e.ndim] = strides[i];
            e.ndim++;
        }
    }
    *function = *problem;
    function->op = BP_OP_UNARY;
    memset(&function->of, 0, sizeof function->of);
    function->of.elementwise = e;
}

double bp__conv_activation_cost(const bp_host *host, const bp_problem *problem) {
    bp_problem function;
    describe(problem, &function);
    return bp__element_cost(host, &function);
}

static bp_status run_activated(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    bp_status status = plan->results->enqueue(plan->results, operands, exec);
    if (status == BP_OK) {
        const bp_operand in_place[] = {operands[RESULT], operands[RESULT]};
        bp_exec own = *exec;
        own.packed = NULL;
        status = plan->function->enqueue(plan->function, in_place, &own);
    }
    return status;
}

static bp_status pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **packed) {
    const prepared *plan = (const prepared *)self;
    return plan->results->pack(plan->results, operand, source, packed);
}

static void destroy(bp_prepared *self) {
    prepared *plan = (prepared *)self;
    plan->results->destroy(plan->results);
    plan->function->destroy(plan->function);
    plan->host->release(plan);
}

bp_status bp__conv_plan_activation(const bp_host *host, const bp_problem *problem, int threads, bp_prepared *results,
                                   bp_prepared **prepared_plan) {
    bp_problem function;
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    describe(problem, &function);
    const bp_status status = bp__element_plan_function(host, &function, threads, &plan->function);
    if (status != BP_OK) {
        host->release(plan);
        return status;
    }
    plan->host = host;
    plan->results = results;
    plan->base = (bp_prepared){.struct_size = sizeof plan->base,
                               .enqueue = run_activated,
                               .destroy = destroy,
                               .pack = results->pack ? pack : NULL,
                               .workspace = results->workspace > plan->function->workspace ? results->workspace
                                                                                           : plan->function->workspace};
    *prepared_plan = &plan->base;
    return BP_OK;
}
