/* calibration.c - loads and measures the times of candidates. */
#include "calibration/internal.h"
#include "base/path_buffer.h"
#include "base/uncancelled.h"

#include "machine/internal.h"
#include "store/place.h"
#include "store/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static const char file_name[] = "calibration.txt", lock_name[] = "calibration.measuring";

/* ---- Loading ---- */

typedef struct reader {
    const bp__store *store;
    bp__record_keys keys;
    bp__measured native[BP__CLASSES]; /* records of `native`, the first candidate */
    bp__measured read;                /* the record under examination */
    bp__measured reference;           /* the one of them to whose speed all others are corrected */
    bool has_reference;
} reader;

/* Returns whether the store has a record of the class. */
static bool read_record(reader *r, const bp__calibrated *candidate, int class, bp__measured *measured) {
    const char *key = bp__class_in(&candidate->classes, class) ? bp__record_key(&r->keys, &bp__classes[class]) : NULL;
    const char *value = key ? bp__store_find(r->store, key, NULL) : NULL;
    return value && bp__record_read(value, &bp__classes[class], measured);
}

static bp_status load_one(reader *r, bp__calibrated *candidate, const bp__calibration *native) {
    bp__measured *measured = &r->read;
    bp__record_keys_of(&r->keys, candidate);
    for (int class = 0; class < BP__CLASSES; class ++) {
        if (!read_record(r, candidate, class, measured)) {
            continue;
        }
        if (!candidate->calibration) {
            candidate->calibration = bp__alloc_zero(1, sizeof *candidate->calibration);
            if (!candidate->calibration) {
                return bp__fail_memory(sizeof *candidate->calibration, "the times of a library");
            }
        }
        bp__curve *curve = &candidate->calibration->curves[class];
        if (!native) {
            r->native[class] = *measured;
            r->reference = r->has_reference ? r->reference : *measured;
            r->has_reference = true;
        }
        curve->known = bp__curve_read(curve, &bp__classes[class], candidate, measured, &r->reference,
                                      native ? &r->native[class] : NULL, native ? &native->curves[class] : NULL);
    }
    for (int class = 0; candidate->calibration && class < BP__CLASSES; class ++) {
        bp__curve *curve = &candidate->calibration->curves[class];
        if (curve->known && bp__classes[class].times && !bp__class_is_base(&bp__classes[class])) {
            curve->known = bp__curve_make_factors(candidate->calibration, class, candidate);
        }
    }
    return BP_OK;
}

static void drop(bp__calibrated *candidates, int count) {
    for (int i = 0; i < count; i++) {
        bp__calibration_free(candidates[i].calibration);
        candidates[i].calibration = NULL;
    }
}

bp_status bp__calibration_load(bp__calibrated *candidates, int count) {
    bp__store *store;
    reader *r = bp__alloc_zero(1, sizeof *r);
    if (!r) {
        return bp__fail_memory(sizeof *r, "the stored times");
    }
    bp_status status = bp__store_open(&store, file_name);
    if (status == BP_OK) {
        r->store = store;
        for (int i = 0; i < count; i++) {
            candidates[i].calibration = NULL;
        }
        for (int i = 0; i < count && status == BP_OK; i++) {
            /* Without the times of native there is no common measure. */
            if (i == 0 || candidates[0].calibration) {
                status = load_one(r, &candidates[i], i == 0 ? NULL : candidates[0].calibration);
            }
        }
        if (status != BP_OK) {
            drop(candidates, count);
        }
        bp__store_close(store);
    }
    bp__free(r);
    return status;
}

/* ---- Measuring ---- */

/* Work of one call of bp__calibration_measure. */
typedef struct work {
    const bp__store *store; /* its state before the present group */
    const bp__calibration_request *request;
    bool stopped;
    bool began;           /* something was measured, or was to be */
    int lock;             /* a locked file while this process measures; -1 before */
    bp__record_keys keys; /* of the candidate that is measured */
    bp__measured measured[BP__CLASSES];
} work;

/* A library that is slow in the base class of a type is not measured in its variants. */
static bool is_slow(work *w, const bp__class *class) {
    const int base = class->times && !bp__class_is_base(class) ? bp__class_base(class->dtype) : -1;
    const char *key = base >= 0 ? bp__record_key(&w->keys, &bp__classes[base]) : NULL;
    const char *value = key ? bp__store_find(w->store, key, NULL) : NULL;
    return value && !bp__text_starts(value, "times ");
}

/* Returns the classes in the set that the candidate offers and that have no record. */
static bp__class_set missing_classes(work *w, const bp__class_set *wanted) {
    bp__class_set classes = {{0}};
    for (int class = 0; class < BP__CLASSES; class ++) {
        const bool asked = bp__class_in(wanted, class) && !is_slow(w, &bp__classes[class]);
        const char *key = asked ? bp__record_key(&w->keys, &bp__classes[class]) : NULL;
        bp__class_add(&classes, class, key && !bp__store_find(w->store, key, NULL));
    }
    return classes;
}

static bp_status store_class(work *w, int class) {
    bp__text value = {0};
    bp__record_write(&value, &bp__classes[class], &w->measured[class]);
    const bp__store_record record = {.key = bp__record_key(&w->keys, &bp__classes[class]),
                                     .value = bp__text_get(&value)};
    const bp_status status =
        value.failed ? bp__fail_memory(value.length, "measured times") : bp__store_put(file_name, &record, 1);
    bp__text_free(&value);
    return status;
}

/* Makes this process the only one that measures: several at once would measure each other. The lock is one that a child
 * of fork does not inherit. */
static bp_status lock_machine(work *w) {
    BP__PATH_BUFFER(path);
    size_t given;
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    w->lock = path && bp__cache_path(lock_name, path, &given)
                  ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)
                  : -1;
    if (w->lock < 0 || fcntl(w->lock, F_SETLK, &whole) != 0) {
        return bp__fail(BP_E_BUSY, "another process measures the libraries at present");
    }
    return BP_OK;
}

/* Writes to the store before anything is measured. If that is impossible, nothing is measured, because every process
 * would measure again. */
static bp_status begin(work *w) {
    const bp__store_record record = {.key = "measured by", .value = BP_VERSION_STRING};
    if (w->began) {
        return BP_OK;
    }
    w->began = true;
    BP__TRY(bp__store_put(file_name, &record, 1));
    return lock_machine(w);
}

/* Measures classes in one process and stores them at once, so that an interruption loses no more than these. */
static bp_status measure_group(work *w, const bp__calibrated *candidate, const bp__class_set *classes) {
    const bp__calibration_request *request = w->request;
    bp__record_keys_of(&w->keys, candidate);
    const bp__class_set offered = bp__classes_in_both(classes, &candidate->classes),
                        wanted = missing_classes(w, &offered);
    const int first = bp__class_first(&wanted);
    if (first < 0 || w->stopped) {
        return BP_OK;
    }
    if (request->progress && !request->progress(request->user, candidate, bp__classes[first].name)) {
        w->stopped = true;
        return BP_OK;
    }
    BP__TRY(begin(w));
    BP__TRY(bp__measure_classes(candidate, &wanted, request->budget_ms, w->measured));
    for (int class = 0; class < BP__CLASSES; class ++) {
        if (bp__class_in(&wanted, class)) {
            BP__TRY(store_class(w, class));
        }
    }
    return BP_OK;
}

/* Returns the classes that are measured in the process that measures `class`: the first ones, or all of one
 * operation, some of one type only. */
static bp__class_set group_of(int class) {
    const bp__class *own = &bp__classes[class];
    const bool typed = own->typed || own->times;
    bp__class_set group = {{0}};
    for (int i = 0; i < BP__CLASSES && !own->first; i++) {
        const bp__class *other = &bp__classes[i];
        bp__class_add(&group, i, !other->first && other->op == own->op && (!typed || other->dtype == own->dtype));
    }
    return own->first ? bp__first_classes() : group;
}

/* Measures one group of all candidates. What it measures depends on what was stored before. */
static bp_status measure_of_all(work *w, const bp__calibrated *candidates, int count, const bp__class_set *group) {
    bp__store *store;
    BP__TRY(bp__store_open(&store, file_name));
    w->store = store;
    bp_status status = BP_OK;
    for (int i = 0; i < count && status == BP_OK; i++) {
        status = measure_group(w, &candidates[i], group);
    }
    bp__store_close(store);
    return status;
}

/* The first classes of all candidates come first, because they matter most. */
static bp_status measure_all(work *w, const bp__calibrated *candidates, int count) {
    bp__class_set done = {{0}};
    bp_status status = BP_OK;
    for (int class = 0; class < BP__CLASSES && status == BP_OK; class ++) {
        if (bp__class_in(&done, class)) {
            continue;
        }
        const bp__class_set group = group_of(class), wanted = bp__classes_in_both(&group, &w->request->wanted);
        if (bp__class_first(&wanted) >= 0) {
            status = measure_of_all(w, candidates, count, &wanted);
        }
        for (int i = 0; i < BP__CLASSES; i++) {
            bp__class_add(&done, i, bp__class_in(&group, i));
        }
    }
    return status;
}

bp_status bp__calibration_measure(bp__calibrated *candidates, int count, const bp__calibration_request *request,
                                  bool *changed) {
    BP__UNCANCELLED;
    work *w = bp__alloc_zero(1, sizeof *w);
    *changed = false;
    if (!w) {
        return bp__fail_memory(sizeof *w, "the measurement of libraries");
    }
    w->request = request;
    w->lock = -1;
    const bp_status status = measure_all(w, candidates, count);
    const bool began = w->began;
    if (w->lock >= 0) {
        close(w->lock);
    }
    bp__free(w);
    if (began && status != BP_E_NO_MEMORY) {
        BP__TRY(bp__calibration_load(candidates, count));
        *changed = true;
    }
    return status;
}

void bp__calibration_free(bp__calibration *calibration) {
    bp__free(calibration);
}
