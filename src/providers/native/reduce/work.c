/* work.c - makes plans, and shares the parts of a call among threads. */
#include "work.h"

static void destroy(bp_prepared *self) {
    ((bp__reduce_work *)self)->host->release(self);
}

void *bp__reduce_work_new(const bp_host *host, const bp_problem *problem, size_t size, int threads,
                          bp__reduce_run *run) {
    bp__reduce_work *work = host->allocate(size);
    if (!work) {
        host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", size);
        return NULL;
    }
    memset(work, 0, size);
    work->base = (bp_prepared){.struct_size = sizeof work->base, .enqueue = run, .destroy = destroy};
    work->host = host;
    work->problem = *problem;
    work->threads = threads;
    bp__reduce_cut_make(&work->cut, problem);
    return work;
}

void bp__reduce_call_begin(bp__reduce_call *call, const bp__reduce_work *work, const bp_operand *operands) {
    const int count = work->problem.op == BP_OP_SOFTMAX_BACKWARD ? 3 : 2;
    call->work = work;
    call->stop = (bp__stop){.host = work->host, .op = (bp_op)work->problem.op};
    for (int i = 0; i < 3; i++) {
        call->operand[i] = i < count ? bp_operand_address(&operands[i]) : NULL;
    }
}

typedef struct stage {
    bp__reduce_call *call;
    void (*compute)(bp__reduce_call *call, int64_t item, int64_t part, int task);
} stage;

static void compute_units(void *context, int task) {
    const stage *s = context;
    bp__reduce_call *call = s->call;
    const bp__reduce_cut *cut = &call->work->cut;
    const int64_t all = cut->items * cut->parts, grain = cut->grain;
    for (;;) {
        const int64_t from = atomic_fetch_add_explicit(&call->next, grain, memory_order_relaxed);
        if (from >= all || bp__stops(&call->stop)) {
            return;
        }
        for (int64_t i = from; i < from + grain && i < all; i++) {
            s->compute(call, i / cut->parts, i % cut->parts, task);
        }
    }
}

void bp__reduce_stage(bp__reduce_call *call,
                      void (*compute)(bp__reduce_call *call, int64_t item, int64_t part, int task)) {
    stage s = {call, compute};
    const bp__reduce_work *work = call->work;
    atomic_store_explicit(&call->next, 0, memory_order_relaxed);
    if (bp__stopped(&call->stop)) {
        return;
    }
    if (work->threads > 1) {
        work->host->parallel(work->threads, work->threads, compute_units, &s);
    } else {
        compute_units(&s, 0);
    }
}
