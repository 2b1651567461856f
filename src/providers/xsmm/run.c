/* run.c - runs a plan's kernel: once, or for each item of a batch, on one thread or on the threads of our pool. */
#include "providers/xsmm/xsmm.h"

/* Kernels leave the upper halves of the vector registers in use. On some processors every later SSE instruction, which
 * keeps these halves, then waits for them. */
static inline void clear_upper_halves(const bp__xsmm_plan *plan) {
#ifdef __x86_64__
    if (plan->wide) {
        __asm__ volatile("vzeroupper");
    }
#else
    (void)plan;
#endif
}

bp_status bp__xsmm_run_single(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__xsmm_plan *p = (const bp__xsmm_plan *)self;
    (void)exec;
    if (__builtin_expect(atomic_load_explicit(&bp__xsmm_ended, memory_order_relaxed), 0)) {
        return bp__xsmm_fail_ended(p->driver);
    }
    p->kernel(bp_operand_address(&operands[p->swap]), bp_operand_address(&operands[!p->swap]),
              bp_operand_address(&operands[2]));
    clear_upper_halves(p);
    return BP_OK;
}

/* ---- Batches ---- */

/* State of one call. */
typedef struct batch {
    const bp__xsmm_plan *plan;
    const char *first, *second;
    char *c;
    int64_t chunk;        /* items between two interrupt checks; a thread takes as many at a time */
    int64_t since;        /* for bp_host.interrupt_due */
    _Atomic int64_t next; /* the first item that no thread has taken */
    atomic_bool stopped;
} batch;

/* Returns the items of a chunk. Reading the clock takes longer than a small product. */
static int64_t chunk_of(const bp__xsmm_route *route) {
    const double work = (double)route->m * (double)route->n * (double)route->k, enough = 1e5;
    return (int64_t)(enough / (work + 1)) + 1;
}

static void run_items(const batch *b, int64_t item, int64_t end) {
    const bp__xsmm_plan *p = b->plan;
    const bp__xsmm_route *r = &p->route;
    const int64_t size = r->single ? 4 : 8;
    bp__batch_position at = {0};
    bp__batch_seek_product(&at, &r->batch, item);
    for (; item < end; item++, bp__batch_next_product(&at, &r->batch)) {
        p->kernel(b->first + at.offset[BP__BATCH_FIRST] * size, b->second + at.offset[BP__BATCH_SECOND] * size,
                  b->c + at.offset[BP__BATCH_C] * size);
    }
    clear_upper_halves(p);
}

static bool stops(batch *b) {
    const bp_host *host = b->plan->driver->host;
    if (atomic_load_explicit(&b->stopped, memory_order_relaxed)) {
        return true;
    }
    if (!host->interrupt_due(&b->since) || !host->interrupted(BP_OP_GEMM)) {
        return false;
    }
    atomic_store_explicit(&b->stopped, true, memory_order_relaxed);
    return true;
}

/* Computes chunks until none is left. */
static void run_chunks(void *context, int task) {
    batch *b = context;
    const int64_t count = b->plan->route.batch.count;
    (void)task;
    while (!stops(b)) {
        int64_t item = atomic_fetch_add_explicit(&b->next, b->chunk, memory_order_relaxed);
        if (item >= count) {
            break;
        }
        run_items(b, item, item + b->chunk < count ? item + b->chunk : count);
    }
}

bp_status bp__xsmm_run_batch(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__xsmm_plan *p = (const bp__xsmm_plan *)self;
    (void)exec;
    if (atomic_load_explicit(&bp__xsmm_ended, memory_order_relaxed)) {
        return bp__xsmm_fail_ended(p->driver);
    }
    batch b = {.plan = p,
               .first = bp_operand_address(&operands[p->swap]),
               .second = bp_operand_address(&operands[!p->swap]),
               .c = bp_operand_address(&operands[2]),
               .chunk = chunk_of(&p->route)};
    if (p->sharers > 1) {
        p->driver->host->parallel(p->sharers, p->sharers, run_chunks, &b);
    } else {
        run_chunks(&b, 0);
    }
    return atomic_load_explicit(&b.stopped, memory_order_relaxed) ? BP_E_CANCELLED : BP_OK;
}
