/* run.c - runs a plan's descriptors: one call, or all calls for the items and stages of a problem. */
#include "providers/mkl/mkl.h"
#include "providers/batch/batch.h"

enum { IN, OUT, OPERANDS };

_Static_assert(BP_MAX_BATCH_NDIM + BP__MKL_MOST_NDIM <= BP__BATCH_MOST_NDIM,
               "a walk has more dimensions than a position");

static void next_transform(const bp__mkl_walk *walk, bp__batch_position *at) {
    const int64_t *const strides[OPERANDS] = {walk->in, walk->out};
    bp__batch_next(at, walk->ndim, walk->n, OPERANDS, strides);
}

/* State of one run of a plan. */
typedef struct run {
    const bp__mkl_plan *plan;
    bp__thread_setup setup;
    int before;    /* for bp__driver_end */
    int64_t since; /* for bp__driver_stops */
    long error;
    bool stopped;
} run;

static bool may_continue(run *r) {
    const bp__mkl_plan *p = r->plan;
    if (r->error == 0 && !r->stopped) {
        r->stopped = bp__driver_stops(p->driver, &r->setup, BP_OP_FFT, &r->since, &r->before);
    }
    return r->error == 0 && !r->stopped;
}

static void run_stage(run *r, int number, char *in, char *out) {
    const bp__mkl_plan *p = r->plan;
    const bp__mkl_call *stage = &p->route.stage[number];
    bp__batch_position at = {0};
    for (int64_t call = 0; call < stage->walk.calls && may_continue(r); call++, next_transform(&stage->walk, &at)) {
        char *from = in + at.offset[IN], *to = out + at.offset[OUT];
        r->error = stage->in_place ? p->compute[number](p->descriptor[number], from)
                                   : p->compute[number](p->descriptor[number], from, to);
    }
}

bp_status bp__mkl_run_general(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__mkl_plan *p = (const bp__mkl_plan *)self;
    const bp__mkl_route *route = &p->route;
    run r = {.plan = p};
    bp_status status = bp__driver_admit(p->driver, &p->setup, &r.setup);
    if (status != BP_OK) {
        return status;
    }
    char *between = route->between > 0 ? bp_operand_address(&exec->workspace) : NULL;
    char *first_in = bp_operand_address(&operands[0]), *first_out = bp_operand_address(&operands[1]);
    bp__batch_position at = {0};
    r.before = bp__driver_begin(p->driver, &r.setup);
    for (int64_t item = 0; item < route->items.calls && r.error == 0 && !r.stopped;
         item++, next_transform(&route->items, &at)) {
        char *out = first_out + at.offset[OUT];
        run_stage(&r, 0, first_in + at.offset[IN], between ? between : out);
        if (between) {
            run_stage(&r, 1, between, out);
        }
    }
    bp__driver_end(p->driver, &r.setup, r.before);
    return r.stopped ? BP_E_CANCELLED : bp__mkl_status(p, r.error);
}

bp_status bp__mkl_run_single(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__mkl_plan *p = (const bp__mkl_plan *)self;
    (void)exec;
    if (__builtin_expect(!bp__driver_call_record_mine && bp__driver_forked(p->driver), 0)) {
        return bp__driver_fail_forked(p->driver);
    }
    bp__driver_call_record *record = bp__driver_enter(p->fork_state);
    long error = p->compute[0](p->descriptor[0], bp_operand_address(&operands[0]), bp_operand_address(&operands[1]));
    bp__driver_leave(p->fork_state, record);
    return error == 0 ? BP_OK : bp__mkl_status(p, error);
}
