/* preferred.c - checks the library name of a setting such as blas.preferred.
 *
 * The library must exist on this machine and offer the operations of the setting. Settings themselves are stored
 * unchecked, because files and variables may be shared by machines with different libraries. */
#include "backplane/backends.h"
#include "base/uncancelled.h"
#include "dispatch/internal.h"
#include "registry/internal.h"

#include <string.h>

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

static const char *name_of(const bp__family *family) {
    return bp_setting_at(family->preference)->name;
}

/* Writes why the library does not offer the operations. */
static void tell_lack(bp__text *text, const bp__preference *preferred, const found *f, const char *name) {
    const bp_library_info *row = f->named ? f->named->library : bp__library_lookup(name);
    if (row && (row->kinds & preferred->kinds) && f->named) { /* a provider has the name */
        bp__text_addf(text, "provider '%s' offers no %s", f->named->provider->name, preferred->lacking);
    } else {
        bp__text_addf(text, "library '%s' exists, but offers no %s", row ? row->id : name, preferred->lacking);
    }
}

static bp_status refuse(const bp__family *family, const found *f, const char *name, const bp_problem *sample) {
    const bool exists = f->named || bp__library_lookup(name);
    bp_status status = f->named && !f->named->instance ? f->named->status : exists ? BP_E_UNSUPPORTED : BP_E_NOT_FOUND;
    bp__text text = {0};
    if (status == BP_E_UNSUPPORTED) {
        tell_lack(&text, family->preferred, f, name);
    } else if (status == BP_E_NOT_FOUND) {
        bp__text_addf(&text, "no library '%.200s' was found", name);
    } else {
        bp__text_addf(&text, "library '%.200s' cannot be used: %s", name, f->named->refusal);
    }
    bp__text_addf(&text, "; %s offered by ", family->preferred->what);
    add_choices(&text, f, sample);
    if (status == BP_E_NOT_FOUND) {
        char nearest[256];
        bp__suggest(name, id_at, &(offering){f, sample}, nearest, sizeof nearest);
        bp__text_addf(&text, "%s%s", *nearest ? "; " : "", nearest);
    }
    status = text.failed ? bp__fail_memory(text.length, "a message")
                         : bp__fail(status, "%s: %s", name_of(family), bp__text_get(&text));
    bp__text_free(&text);
    return status;
}

static const bp__family *family_of(const char *setting) {
    for (int i = 0; i < BP__FAMILIES; i++) {
        const bp__family *family = bp__family_at(i);
        if (family->preferred && bp__text_equal(name_of(family), setting)) {
            return family;
        }
    }
    return NULL;
}

/* Fails for a setting that prefers no library. */
static bp_status refuse_setting(const char *format, const char *setting) {
    bp__text names = {0};
    const char *between = "";
    for (int i = 0; i < BP__FAMILIES; i++) {
        if (bp__family_at(i)->preferred) {
            bp__text_addf(&names, "%s%s", between, name_of(bp__family_at(i)));
            between = ", ";
        }
    }
    const bp_status status = names.failed ? bp__fail_memory(names.length, "a message")
                                          : bp__fail(BP_E_UNKNOWN_NAME, format, setting, bp__text_get(&names));
    bp__text_free(&names);
    return status;
}

/* Returns a sample of the family's operations: the first that calibration measures. */
static bp_status sample_of(bp_problem *sample, const bp__family *family) {
    for (int i = 0; i < BP__CLASSES; i++) {
        const bp_problem problem = {.op = bp__classes[i].op};
        if (bp__family_of(&problem) == family) {
            return bp__class_sample(sample, &bp__classes[i]);
        }
    }
    return bp__fail(BP_E_INTERNAL, "%s: no class of problems is measured", name_of(family));
}

bp_status bp_preferred_check(const char *setting, const char *library) {
    BP__UNCANCELLED;
    if (!setting || !library) {
        return bp__fail(BP_E_ARGUMENT, "%s is NULL; it must be the name of a %s", setting ? "library" : "setting",
                        setting ? "library" : "setting such as blas.preferred");
    }
    const bp__family *family = family_of(setting);
    if (!family) {
        return refuse_setting("setting is '%.64s'; it must be one of %s", setting);
    }
    bp__value ignored;
    BP__TRY(bp__value_parse((bp_setting_id)family->preference, library, strlen(library), &ignored));
    if (!*library || bp__text_equal(library, "default")) {
        return BP_OK;
    }
    bp_problem sample;
    found f;
    BP__TRY(sample_of(&sample, family));
    BP__TRY(bp__candidates(&BP__NEED_ALL, -1, &f.list, &f.count));
    look(&f, library, &sample);
    return f.able ? BP_OK : refuse(family, &f, library, &sample);
}

bp_status bp_preferred_set(const char *setting, const char *library) {
    BP__TRY(bp_preferred_check(setting, library));
    return bp_set(setting, bp__text_equal(library, "default") ? "" : library);
}
