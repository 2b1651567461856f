/* run.c - runs random numbers. Threads take ranges of indices that begin with a block, so that neither threads nor
 * strides change a number. */
#include "random.h"

#include "providers/native/stop.h"

#include <string.h>

typedef struct prepared {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_random_problem problem; /* with at least one dimension */
    bp__random_kernel kernel;
    bp__element_write write;
    int threads;
    int64_t element;  /* bytes in the output */
    int64_t in_block; /* elements of a block */
    bool direct;      /* kernels write to the output: it is compact, and needs no conversion */
} prepared;

typedef struct call {
    const prepared *plan;
    char *output;
    uint64_t seed, offset;
    _Atomic int64_t next;
    bp__stop stop;
} call;

/* Copies elements from compact memory to the output, from index `first` on. */
static void scatter(const prepared *plan, char *output, int64_t first, int64_t count, const char *from) {
    const bp_random_problem *p = &plan->problem;
    const int last = p->ndim - 1;
    const size_t number = plan->in_block == 2 ? 8 : 4;
    int64_t at[BP_MAX_RANDOM_NDIM], offset = 0;
    for (int d = last; d >= 0; d--) {
        at[d] = first % p->size[d];
        offset += at[d] * p->stride[d];
        first /= p->size[d];
    }
    while (count > 0) {
        const int64_t columns = bp__least(count, p->size[last] - at[last]);
        plan->write(1, columns, from, output + offset * plan->element, 0, p->stride[last]);
        from += (size_t)columns * number;
        count -= columns;
        at[last] += columns;
        offset += columns * p->stride[last];
        for (int d = last; d > 0 && at[d] == p->size[d]; d--) {
            at[d] = 0;
            offset += p->stride[d - 1] - p->size[d] * p->stride[d];
            at[d - 1]++;
        }
    }
}

static void fill(const call *c, int64_t first) {
    const prepared *plan = c->plan;
    _Alignas(64) char buffer[BP__RANDOM_BLOCKS * 16];
    const int64_t count = bp__least(plan->problem.total - first, BP__RANDOM_BLOCKS * plan->in_block);
    const int64_t blocks = (count + plan->in_block - 1) / plan->in_block;
    const bool direct = plan->direct && count == blocks * plan->in_block;
    void *to = direct ? c->output + first * plan->element : buffer;
    plan->kernel(c->seed, c->offset + (uint64_t)(first / plan->in_block), blocks, to);
    if (!direct) {
        scatter(plan, c->output, first, count, buffer);
    }
}

static void fill_ranges(void *context, int task) {
    enum { RANGES = 16 }; /* that a thread takes at once */
    call *c = context;
    const int64_t range = BP__RANDOM_BLOCKS * c->plan->in_block;
    (void)task;
    for (;;) {
        const int64_t from = atomic_fetch_add_explicit(&c->next, RANGES * range, memory_order_relaxed);
        if (from >= c->plan->problem.total || bp__stops(&c->stop)) {
            return;
        }
        for (int i = 0; i < RANGES && from + i * range < c->plan->problem.total; i++) {
            fill(c, from + i * range);
        }
    }
}

static bp_status run_random(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    call c = {
        .plan = plan, .output = bp_operand_address(&operands[1]), .stop = {.host = plan->host, .op = BP_OP_RANDOM}};
    uint64_t seed[2];
    (void)exec;
    memcpy(seed, bp_operand_address(&operands[0]), sizeof seed);
    c.seed = seed[0];
    c.offset = seed[1];
    if (plan->threads > 1) {
        plan->host->parallel(plan->threads, plan->threads, fill_ranges, &c);
    } else {
        fill_ranges(&c, 0);
    }
    return bp__stop_status(&c.stop);
}

static void destroy(bp_prepared *self) {
    ((prepared *)self)->host->release(self);
}

bp_status bp__random_plan(const bp_host *host, const bp_problem *problem, bp__random_kernel kernel,
                          bp__element_write write, int threads, bp_prepared **result) {
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run_random, .destroy = destroy};
    plan->host = host;
    plan->problem = problem->of.random;
    plan->kernel = kernel;
    plan->write = write;
    plan->threads = threads;
    plan->element = (int64_t)bp_dtype_size((bp_dtype)problem->dtype);
    plan->in_block = plan->element == 8 ? 2 : 4;
    if (plan->problem.ndim == 0) {
        plan->problem.ndim = 1;
        plan->problem.size[0] = plan->problem.stride[0] = 1;
    }
    plan->direct = plan->element >= 4 && plan->problem.ndim == 1 && plan->problem.stride[0] == 1;
    *result = &plan->base;
    return BP_OK;
}
