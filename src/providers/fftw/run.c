/* run.c - runs plans: as one library call if possible, otherwise call by call over the batch, with copies before and
 * after, and scaling. */
#include "providers/fftw/fftw.h"
#include "providers/batch/batch.h"

static bool is_odd(const bp__fftw_plan *p, const void *address) {
    return ((uintptr_t)address & p->misaligned) != 0;
}

/* Addresses of the operands' copies in the workspace. */
typedef struct copies {
    char *in, *out;
} copies;

static copies copies_in(const bp__fftw_plan *p, const bp_exec *exec) {
    const bp__fftw_route *route = &p->route;
    char *block = bp_operand_address(&exec->workspace);
    copies c = {NULL, NULL};
    if (p->prepared.workspace > 0) {
        c.in = block + bp__fftw_side_first(&route->in);
        c.out = route->in_place ? c.in : block + bp__fftw_side_bytes(&route->in) + bp__fftw_side_first(&route->out);
    }
    return c;
}

static void run_one(const bp__fftw_plan *p, const copies *c, void *in, void *out) {
    const bp__fftw_route *route = &p->route;
    const bp_host *host = p->instance->host;
    bool odd = is_odd(p, in) || is_odd(p, out);
    bool takes_any = p->any && (odd || !p->aligned);
    bool copy_in = route->copies || (is_odd(p, in) && !takes_any), copy_out = is_odd(p, out) && !takes_any;
    void *from = copy_in ? c->in : in, *to = copy_out ? c->out : out;
    if (copy_in) {
        bp__fftw_walk_copy(host, &route->in.walk, route->in.dtype, in, from);
    }
    p->run(takes_any ? p->any : p->aligned, from, to);
    if (copy_out) {
        bp__fftw_walk_copy(host, &route->out.walk, route->out.dtype, to, out);
    }
    if (p->scale != 1) {
        bp__fftw_walk_scale(&route->out.walk, route->out.dtype, out, p->scale);
    }
}

enum { IN, OUT, OPERANDS };

bp_status bp__fftw_run_general(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__fftw_plan *p = (const bp__fftw_plan *)self;
    const bp__fftw_route *route = &p->route;
    char *first_in = bp_operand_address(&operands[0]), *first_out = bp_operand_address(&operands[1]);
    copies c = copies_in(p, exec);
    const int64_t *const steps[OPERANDS] = {route->step_in, route->step_out};
    bp__batch_position at = {0};
    const bp_host *host = p->instance->host;
    int64_t since = 0;
    for (int64_t call = 0; call < route->calls; call++) {
        if (host->interrupt_due(&since) && host->interrupted(BP_OP_FFT)) {
            return BP_E_CANCELLED;
        }
        run_one(p, &c, first_in + at.offset[IN] * route->in.size, first_out + at.offset[OUT] * route->out.size);
        bp__batch_next(&at, route->walked, route->shape, OPERANDS, steps);
    }
    return BP_OK;
}

bp_status bp__fftw_run_plain(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__fftw_plan *p = (const bp__fftw_plan *)self;
    void *in = bp_operand_address(&operands[0]), *out = bp_operand_address(&operands[1]);
    if (is_odd(p, in) || is_odd(p, out)) {
        return bp__fftw_run_general(self, operands, exec);
    }
    p->run(p->aligned, in, out);
    return BP_OK;
}
