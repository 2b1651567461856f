/* preferred.c - checks the library name of blas.preferred, conv.preferred, linalg.preferred or fft.preferred.
 *
 * The library must exist on this machine and offer the operations of the setting. Settings themselves are stored
 * unchecked, because files and variables may be shared by machines with different libraries. */
#include "backplane/backends.h"
#include "base/uncancelled.h"

#include "ops/conv/conv.h"
#include "ops/fft/fft.h"
#include "ops/gemm/gemm.h"
#include "ops/linalg/linalg.h"
#include "registry/internal.h"

#include <string.h>

#define NAMES "blas.preferred, conv.preferred, linalg.preferred or fft.preferred"

/* ---- A sample problem of each family, which a preferred library must support ---- */

static bp_status sample_product(bp_problem *problem) {
    static const int64_t shape[2] = {4, 4};
    bp_view matrix;
    BP__TRY(bp_view_init(&matrix, NULL, BP_F32, 2, shape, NULL)); /* oneDNN has no f64 */
    bp__product_request request = {.tensors = {&matrix.tensor, &matrix.tensor, &matrix.tensor}, .data_optional = true};
    return bp__problem_make(problem, &bp__family_gemm, &request);
}

static bp_status sample_transform(bp_problem *problem) {
    static const int64_t shape[1] = {8};
    bp_fft_call call = {.struct_size = sizeof call, .transform = BP_FFT, .ndim = BP_FFT_ALL};
    bp_view signal;
    BP__TRY(bp_view_init(&signal, NULL, BP_C128, 1, shape, NULL));
    bp__fft_request request = {&call, &signal.tensor, &signal.tensor, true};
    return bp__problem_make(problem, &bp__family_fft, &request);
}

static bp_status sample_convolution(bp_problem *problem) {
    static const int64_t image[4] = {1, 4, 4, 4}, taps[4] = {4, 4, 1, 1};
    bp_view in, weight, out;
    BP__TRY(bp_view_init(&in, NULL, BP_F32, 4, image, NULL));
    BP__TRY(bp_view_init(&weight, NULL, BP_F32, 4, taps, NULL));
    BP__TRY(bp_view_init(&out, NULL, BP_F32, 4, image, NULL));
    const bp_conv_call call = {
        .struct_size = sizeof call, .ndim = 2, .input = &in.tensor, .weight = &weight.tensor, .output = &out.tensor};
    const bp__call_request request = {&call, true};
    return bp__problem_make(problem, &bp__family_conv, &request);
}

/* Makes the inverse of a small matrix. */
static bp_status sample_inverse(bp_problem *problem) {
    static const int64_t shape[2] = {4, 4};
    bp_view a, inverse;
    BP__TRY(bp_view_init(&a, NULL, BP_F64, 2, shape, NULL));
    BP__TRY(bp_view_init(&inverse, NULL, BP_F64, 2, shape, NULL));
    bp_linalg_call call = {
        .struct_size = sizeof call, .op = BP_OP_INV, .operand = {&a.tensor, &inverse.tensor}, .fail_on_item_error = 1};
    return bp__linalg_problem(problem, &call);
}

static const struct family {
    bp_setting_id setting;
    const char *what;    /* the operations, for messages */
    const char *lacking; /* what a library without them does not offer, for messages */
    unsigned kinds;      /* BP_LIB_ mask of the libraries that have them */
    bp_status (*sample)(bp_problem *problem);
} families[] = {
    {BP_SET_blas_preferred, "matrix products", "matrix products", BP_LIB_BLAS | BP_LIB_CBLAS | BP_LIB_SMM | BP_LIB_DNN,
     sample_product},
    {BP_SET_conv_preferred, "convolutions", "convolutions", BP_LIB_DNN, sample_convolution},
    {BP_SET_linalg_preferred, "linear algebra", "LAPACK", BP_LIB_LAPACK, sample_inverse},
    {BP_SET_fft_preferred, "Fourier transforms", "Fourier transforms", BP_LIB_FFT, sample_transform},
};

/* ---- The check ---- */

typedef struct found {
    bp__candidate **list;
    int count;
    /* A candidate that matches the name and offers the operations; any candidate that matches. */
    const bp__candidate *able, *named;
} found;

/* Matches like the choice does: if one library matches the name exactly, other members of its family are ignored. */
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

/* Adds "native, openblas": each library once, even if several providers drive it. */
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
        bp__text_add(text, "nothing on this machine");
    }
}

/* The candidates that offer the operations, as suggestions for a misspelled name. */
typedef struct offering {
    const found *found;
    const bp_problem *sample;
} offering;

static const char *id_at(void *user, int index) {
    const offering *o = user;
    for (int i = 0; i < o->found->count; i++) {
        if (bp__candidate_offers(o->found->list[i], o->sample) && index-- == 0) {
            return bp__candidate_id(o->found->list[i]);
        }
    }
    return NULL;
}

static bp_status refuse(const struct family *family, const found *f, const char *name, const bp_problem *sample) {
    const bp_library_info *row = f->named ? f->named->library : bp__library_lookup(name);
    bp_status status = f->named && !f->named->instance ? f->named->status
                       : f->named || row               ? BP_E_UNSUPPORTED
                                                       : BP_E_NOT_FOUND;
    bp__text text = {0};
    if (status == BP_E_UNSUPPORTED && row && row->kinds & family->kinds && f->named) { /* the name is that of a provider
                                                                                        */
        bp__text_addf(&text, "provider '%s' offers no %s", f->named->provider->name, family->lacking);
    } else if (status == BP_E_UNSUPPORTED) {
        bp__text_addf(&text, "library '%s' exists, but offers no %s", row ? row->id : name, family->lacking);
    } else if (status == BP_E_NOT_FOUND) {
        bp__text_addf(&text, "no library '%.200s' was found", name);
    } else {
        bp__text_addf(&text, "library '%.200s' cannot be used: %s", name, f->named->refusal);
    }
    bp__text_addf(&text, "; %s %s offered by ", family->what,
                  family->setting == BP_SET_linalg_preferred ? "is" : "are");
    add_choices(&text, f, sample);
    if (status == BP_E_NOT_FOUND) {
        char nearest[256];
        bp__suggest(name, id_at, &(offering){f, sample}, nearest, sizeof nearest);
        bp__text_addf(&text, "%s%s", *nearest ? "; " : "", nearest);
    }
    status = text.failed ? bp__fail_memory(text.length, "a message")
                         : bp__fail(status, "%s: %s", bp_setting_at((int)family->setting)->name, bp__text_get(&text));
    bp__text_free(&text);
    return status;
}

static const struct family *family_of(const char *setting) {
    for (int i = 0; i < BP__COUNT(families); i++) {
        if (bp__text_equal(bp_setting_at((int)families[i].setting)->name, setting)) {
            return &families[i];
        }
    }
    return NULL;
}

bp_status bp_preferred_check(const char *setting, const char *library) {
    BP__UNCANCELLED;
    if (!setting || !library) {
        return bp__fail(BP_E_ARGUMENT, "%s is NULL; it must be %s", setting ? "library" : "setting",
                        setting ? "the name of a library" : NAMES);
    }
    const struct family *family = family_of(setting);
    if (!family) {
        return bp__fail(BP_E_UNKNOWN_NAME, "setting is '%.64s'; it must be " NAMES, setting);
    }
    bp__value ignored;
    BP__TRY(bp__value_parse(family->setting, library, strlen(library), &ignored));
    if (!*library || bp__text_equal(library, "default")) {
        return BP_OK;
    }
    bp_problem sample;
    found f;
    BP__TRY(family->sample(&sample));
    BP__TRY(bp__candidates(true, &f.list, &f.count));
    look(&f, library, &sample);
    return f.able ? BP_OK : refuse(family, &f, library, &sample);
}

bp_status bp_preferred_set(const char *setting, const char *library) {
    BP__TRY(bp_preferred_check(setting, library));
    return bp_set(setting, bp__text_equal(library, "default") ? "" : library);
}
