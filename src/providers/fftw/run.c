/* run.c - runs plans: straight into the library where that is all there is to do, otherwise call by call over the
 * batch, with copies around it and the factor after it. */
#include "providers/fftw/fftw.h"

static bool is_odd(const bp__fftw_plan *p, const void *address) {
    return ((uintptr_t)address & p->misaligned) != 0;
}

/* Scratch memory of one execute(), taken when a copy is first needed: not while the library runs on our pool. */
typedef struct copies {
    char *in, *out;
} copies;

static bool take(const bp__fftw_plan *p, copies *c) {
    if (c->in) {
        return true;
    }
    const bp__fftw_route *route = &p->route;
    size_t in_bytes = bp__fftw_side_bytes(&route->in);
    char *block = p->instance->host->scratch(in_bytes + (route->bounces ? bp__fftw_side_bytes(&route->out) : 0));
    if (!block) {
        return false;
    }
    c->in = block + bp__fftw_side_first(&route->in);
    c->out = route->in_place ? c->in : block + in_bytes + bp__fftw_side_first(&route->out);
    return true;
}

static bool run_one(const bp__fftw_plan *p, copies *c, void *in, void *out) {
    const bp__fftw_route *route = &p->route;
    const bp_host *host = p->instance->host;
    bool odd = is_odd(p, in) || is_odd(p, out);
    bool takes_any = p->any && (odd || !p->aligned);
    bool copy_in = route->copies || (is_odd(p, in) && !takes_any), copy_out = is_odd(p, out) && !takes_any;
    if ((copy_in || copy_out) && !take(p, c)) {
        return false;
    }
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
    return true;
}

bp_status bp__fftw_run_general(const bp_prepared *self, void *const *operands) {
    const bp__fftw_plan *p = (const bp__fftw_plan *)self;
    const bp__fftw_route *route = &p->route;
    copies c = {0};
    int64_t index[BP_MAX_BATCH_NDIM] = {0}, in = 0, out = 0;
    for (int64_t call = 0; call < route->calls; call++) {
        if (!run_one(p, &c, (char *)operands[0] + in * route->in.size, (char *)operands[1] + out * route->out.size)) {
            return p->instance->host->fail(BP_E_NO_MEMORY, "no scratch memory for copies of operands");
        }
        for (int d = route->walked - 1; d >= 0; d--) {
            in += route->step_in[d];
            out += route->step_out[d];
            if (++index[d] < route->shape[d]) {
                break;
            }
            index[d] = 0;
            in -= route->step_in[d] * route->shape[d];
            out -= route->step_out[d] * route->shape[d];
        }
    }
    return BP_OK;
}

bp_status bp__fftw_run_plain(const bp_prepared *self, void *const *operands) {
    const bp__fftw_plan *p = (const bp__fftw_plan *)self;
    if (is_odd(p, operands[0]) || is_odd(p, operands[1])) {
        return bp__fftw_run_general(self, operands);
    }
    p->run(p->aligned, operands[0], operands[1]);
    return BP_OK;
}
