/* linalg_prefer.c - bp_linalg_prefer: a preference for a library that is checked before it is stored, for those who
 * would rather hear at once that a name means nothing. */
#include "ops/linalg.h"

#include "registry/internal.h"

#include <string.h>

/* What a preference must be good for, whatever else the library can do: inverses of small matrices. */
static bp_status sample_problem(bp_problem *problem) {
    static const int64_t shape[2] = {4, 4};
    bp_view a, inverse;
    BP__TRY(bp_view_init(&a, NULL, BP_F64, 2, shape, NULL));
    BP__TRY(bp_view_init(&inverse, NULL, BP_F64, 2, shape, NULL));
    bp_linalg_call call = {
        .struct_size = sizeof call, .op = BP_OP_INV, .operand = {&a.tensor, &inverse.tensor}, .check = 1};
    return bp__linalg_problem(problem, &call);
}

typedef struct found {
    bp__candidate **list;
    int count;
    const bp__candidate *able, *named; /* one meant by the name that offers linear algebra, and any one */
} found;

/* As the choice will read the name: an exact match keeps mere relatives out. */
static void look(found *f, const char *name, const bp_problem *sample) {
    int best = 1;
    f->able = f->named = NULL;
    for (int i = 0; i < f->count; i++) {
        int match = bp__name_matches(name, f->list[i], NULL);
        best = match > best ? match : best;
    }
    for (int i = 0; i < f->count; i++) {
        if (bp__name_matches(name, f->list[i], NULL) >= best) {
            f->able = f->able || !bp__candidate_offers(f->list[i], sample) ? f->able : f->list[i];
            f->named = f->named && f->named->instance ? f->named : f->list[i];
        }
    }
}

/* "native, openblas": each once, though several providers may drive a library. */
static void add_choices(bp__text *text, const found *f, const bp_problem *sample) {
    int said = 0;
    for (int i = 0; i < f->count; i++) {
        bool again = false;
        for (int j = 0; j < i; j++) {
            again |= f->list[j]->library && f->list[j]->library == f->list[i]->library &&
                     bp__candidate_offers(f->list[j], sample);
        }
        if (!again && bp__candidate_offers(f->list[i], sample)) {
            bp__text_addf(text, "%s%s", said++ ? ", " : "", bp__candidate_id(f->list[i]));
        }
    }
    if (said == 0) {
        bp__text_add(text, "nothing here");
    }
}

static bp_status refuse(const found *f, const char *name, const bp_problem *sample) {
    const bp_library_info *row = f->named ? f->named->library : bp__library_lookup(name);
    bp_status status = f->named && !f->named->instance ? f->named->status
                       : f->named || row               ? BP_E_UNSUPPORTED
                                                       : BP_E_NOT_FOUND;
    bp__text text = {0};
    if (status == BP_E_UNSUPPORTED && row && row->kinds & BP_LIB_LAPACK && f->named) { /* the name is a provider's */
        bp__text_addf(&text, "provider '%s' offers no LAPACK", f->named->provider->name);
    } else if (status == BP_E_UNSUPPORTED) {
        bp__text_addf(&text, "library '%s' is here, but offers no LAPACK", row ? row->id : name);
    } else if (status == BP_E_NOT_FOUND) {
        bp__text_addf(&text, "no library '%s' was found", name);
    } else {
        bp__text_addf(&text, "library '%s' cannot be used: %s", name, f->named->refusal);
    }
    bp__text_add(&text, "; linear algebra is offered by ");
    add_choices(&text, f, sample);
    status = text.failed ? bp__fail_memory(text.length, "a sentence")
                         : bp__fail(status, "linalg.preferred: %s", bp__text_get(&text));
    bp__text_free(&text);
    return status;
}

bp_status bp_linalg_prefer(const char *library) {
    if (!library) {
        return bp__fail(BP_E_ARGUMENT, "bp_linalg_prefer: library must not be NULL");
    }
    if (!*library || strcmp(library, "default") == 0) {
        return bp_set_linalg_preferred("");
    }
    bp_problem sample;
    found f;
    BP__TRY(sample_problem(&sample));
    BP__TRY(bp__candidates(true, &f.list, &f.count));
    look(&f, library, &sample);
    return f.able ? bp_set_linalg_preferred(library) : refuse(&f, library, &sample);
}
