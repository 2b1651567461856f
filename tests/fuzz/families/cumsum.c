/* cumsum.c - random cumulative sums. Results are equal in all layouts, with all settings. */
#include "backplane/cumsum.h"

#include "trial.h"

static struct { int axis, exclusive, reverse; } p;

static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16, BP_I32, BP_I64};

/* Rows may have several blocks. */
static void make(trial *t) {
    source *s = &t->source;
    int64_t shape[BP_MAX_NDIM];
    const bp_dtype type = draw_type(s, 6, types);
    const int ndim = draw(s, 5), rows = ndim > 0 ? ndim : 1;
    const int longest = ndim > 0 && chance(s, 16) ? draw(s, ndim) : -1;
    for (int d = 0; d < ndim; d++) {
        shape[d] = draw_size(s, longest < 0 ? (d == ndim - 1 ? 60 : 6) : d == longest ? 9000 : 2);
    }
    p.axis = (int)draw_wild(s, draw(s, 2 * rows) - rows);
    p.exclusive = (int)draw_wild(s, draw(s, 2));
    p.reverse = (int)draw_wild(s, draw(s, 2));
    add(t, "input", type, ndim, shape)->content = FRACTIONS;
    add_output(t, "output", type == BP_I32 && draw(s, 2) ? BP_I64 : type, ndim, shape, 0);
    describe(t, "cumsum axis %d exclusive %d reverse %d", p.axis, p.exclusive, p.reverse);
}

static bp_status call(const trial *t, request what, const bp_options *set, void *made) {
    const bp_cumsum_call c = {sizeof c, p.axis, p.exclusive, p.reverse, t->tensor[0], t->tensor[1]};
    return what == RUN ? bp_cumsum_run(set, &c) : request_described(t, what, "cumsum", &c, set, made);
}

const family family_cumsum = {"cumsum", NULL, make, call, NULL, true};
