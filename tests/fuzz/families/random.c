/* random.c - random calls for random numbers. */
#include "trial.h"

static struct {
    int kind;
    uint64_t seed, offset;
} p;

static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16, BP_I8,  BP_I16,
                                 BP_I32, BP_I64, BP_U8,  BP_U16,  BP_U32, BP_U64};

static void make(trial *t) {
    source *s = &t->source;
    int64_t shape[BP_MAX_NDIM];
    const int ndim = draw(s, 5);
    for (int d = 0; d < ndim; d++) {
        shape[d] = draw_size(s, d == ndim - 1 ? 60 : 6);
    }
    const bp_dtype type = draw_type(s, 12, types);
    p.kind = (int)draw_wild(s, is_float(type) ? draw(s, 2) : BP_RANDOM_BITS);
    p.seed = draw_bits(s);
    p.offset = draw(s, 2) ? (uint64_t)draw(s, 9) : draw_bits(s);
    add_output(t, "output", type, ndim, shape, 0);
    describe(t, "random kind %d seed %llu offset %llu", p.kind, (unsigned long long)p.seed,
             (unsigned long long)p.offset);
}

static bp_status call(const trial *t, request what, const bp_options *set, void *made) {
    const bp_random_call c = {sizeof c, (bp_random_kind)p.kind, p.seed, p.offset, t->tensor[0]};
    return what == PLAN ? BP_E_UNSUPPORTED : request_described(t, what, "random", &c, set, made);
}

const family family_random = {"random", NULL, make, call, NULL, false};
