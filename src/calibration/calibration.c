/* calibration.c - loads and measures the times of candidates. */
#include "calibration/internal.h"

#include "machine/internal.h"
#include "store/place.h"
#include "store/store.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_BYTES = 8192 };
static const char file_name[] = "calibration.txt", lock_name[] = "calibration.measuring";

/* ---- Curves ---- */

static int ascending(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Returns the median of log2(a[i] / b[i]) over the points that both have; 0 if there are none. */
static double median_ratio(const double *a, const double *b) {
    double ratios[BP__FIRST_POINTS];
    int count = 0;
    for (int i = 0; i < BP__FIRST_POINTS; i++) {
        if (a[i] > 0 && b[i] > 0) {
            ratios[count++] = log2(a[i] / b[i]);
        }
    }
    qsort(ratios, (size_t)count, sizeof *ratios, ascending);
    return count ? (ratios[(count - 1) / 2] + ratios[count / 2]) / 2 : 0;
}

/* The processor may have been slower while one class was measured than while another one was. The same products of
 * `native` were measured in each process, so that their times are the common measure. */
static double speed_correction(const bp__measured *reference, const bp__measured *measured) {
    const double most = 1; /* a factor of two */
    const double change = median_ratio(reference->native, measured->native);
    return change > most ? most : change < -most ? -most : change;
}

/* The first points are points of the base classes' lattice, which a short measurement may not have reached. */
static void add_first(bp__curve *curve, const bp__class *class, const bp__measured *measured, double correction) {
    for (int i = 0; i < bp__lattice_points(class->lattice); i++) {
        int64_t sizes[BP__LATTICE_DIMENSIONS];
        bp__lattice_sizes(class->lattice, i, sizes);
        for (int j = 0; j < BP__FIRST_POINTS && isnan(curve->values[i]); j++) {
            if (measured->first[j] > 0 && memcmp(sizes, bp__first_sizes[j], sizeof sizes) == 0) {
                curve->values[i] = (float)(log2(measured->first[j]) + correction);
            }
        }
    }
}

/* Returns how values grow beyond the measured sizes: times with the sizes, ratios not at all. */
static double growth_of(const bp__class *class) {
    return bp__class_has_ratios(class) ? 0 : 1;
}

/* `native` has the record and the curve of native in the same class; both may be NULL. */
static bool read_curve(bp__curve *curve, const bp__class *class, const bp__measured *measured,
                       const bp__measured *reference, const bp__measured *native, const bp__curve *native_curve) {
    const double correction = speed_correction(reference, measured);
    const int points = bp__lattice_points(class->lattice);
    if (measured->failed || (measured->slow && !(native && native_curve->known))) {
        return false;
    }
    for (int i = 0; i < points; i++) {
        if (measured->slow) {
            curve->values[i] = native_curve->values[i] + (float)median_ratio(measured->first, native->first);
        } else {
            curve->values[i] = measured->times[i] > 0 ? (float)(log2(measured->times[i]) + correction) : NAN;
        }
    }
    add_first(curve, class, measured, correction);
    return bp__lattice_fill(class->lattice, curve->values, growth_of(class));
}

/* Replaces the times of a variant by factors to the base class. */
static bool make_factors(bp__calibration *calibration, int index) {
    const bp__class *class = &bp__classes[index];
    bp__curve *curve = &calibration->curves[index];
    const int base = bp__class_find(BP_OP_GEMM, class->dtype, BP__VARIANT_PLAIN);
    if (!calibration->curves[base].known) {
        return false;
    }
    for (int i = 0; i < bp__lattice_points(class->lattice); i++) {
        int64_t sizes[BP__LATTICE_DIMENSIONS];
        bool exact;
        bp__lattice_sizes(class->lattice, i, sizes);
        const double at[] = {(double)sizes[0], (double)sizes[1], (double)sizes[2]};
        const double plain =
            bp__lattice_value(bp__classes[base].lattice, calibration->curves[base].values, at, 1, &exact);
        curve->values[i] -= (float)(plain + (class->variant == BP__VARIANT_BATCHED ? log2(BP__BATCH_ITEMS) : 0));
    }
    return true;
}

/* ---- Loading ---- */

typedef struct reader {
    const bp__store *store;
    char key[KEY_BYTES];
    bp__measured native[BP__CLASSES]; /* records of `native`, the first candidate */
    bp__measured reference;           /* the one of them to whose speed all others are corrected */
    bool has_reference;
} reader;

/* Returns whether the store has a record of the class. */
static bool read_record(reader *r, const bp__calibrated *candidate, int class, bp__measured *measured) {
    const char *value = NULL;
    if ((candidate->classes >> class & 1) && bp__record_key(r->key, sizeof r->key, &bp__classes[class], candidate)) {
        value = bp__store_find(r->store, r->key, NULL);
    }
    return value && bp__record_read(value, &bp__classes[class], measured);
}

static bp_status load_one(reader *r, bp__calibrated *candidate, const bp__calibration *native) {
    bp__measured measured;
    for (int class = 0; class < BP__CLASSES; class ++) {
        if (!read_record(r, candidate, class, &measured)) {
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
            r->native[class] = measured;
            r->reference = r->has_reference ? r->reference : measured;
            r->has_reference = true;
        }
        curve->known = read_curve(curve, &bp__classes[class], &measured, &r->reference,
                                  native ? &r->native[class] : NULL, native ? &native->curves[class] : NULL);
    }
    for (int class = 0; candidate->calibration && class < BP__CLASSES; class ++) {
        bp__curve *curve = &candidate->calibration->curves[class];
        const bool varies =
            !bp__class_has_ratios(&bp__classes[class]) && bp__classes[class].variant != BP__VARIANT_PLAIN;
        if (curve->known && varies) {
            curve->known = make_factors(candidate->calibration, class);
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
    bp__store *store;
    double budget_ms;
    bp__calibration_progress progress;
    void *user;
    bool stopped, announced;
    int lock; /* a locked file while this process measures; -1 before */
    char key[KEY_BYTES];
    bp__measured measured[BP__CLASSES];
} work;

/* A library that is slow in the base class of a type is not measured in its variants. */
static bool is_slow(work *w, const bp__calibrated *candidate, const bp__class *class) {
    const int base = class->op == BP_OP_GEMM && class->variant != BP__VARIANT_PLAIN
                         ? bp__class_find(BP_OP_GEMM, class->dtype, BP__VARIANT_PLAIN)
                         : -1;
    const char *value = base >= 0 && bp__record_key(w->key, sizeof w->key, &bp__classes[base], candidate)
                            ? bp__store_find(w->store, w->key, NULL)
                            : NULL;
    return value && !bp__text_starts(value, "times ");
}

/* Returns those of the classes that the candidate offers and that have no record. */
static uint64_t missing(work *w, const bp__calibrated *candidate, uint64_t wanted) {
    uint64_t classes = 0;
    for (int class = 0; class < BP__CLASSES; class ++) {
        const uint64_t bit = UINT64_C(1) << class;
        if ((wanted & candidate->classes & bit) && !is_slow(w, candidate, &bp__classes[class]) &&
            bp__record_key(w->key, sizeof w->key, &bp__classes[class], candidate) &&
            !bp__store_find(w->store, w->key, NULL)) {
            classes |= bit;
        }
    }
    return classes;
}

static bp_status store_class(work *w, const bp__calibrated *candidate, int class) {
    bp__text value = {0};
    bp__record_write(&value, &bp__classes[class], &w->measured[class]);
    bp_status status = BP_OK;
    if (value.failed) {
        status = bp__fail_memory(value.length, "measured times");
    } else if (bp__record_key(w->key, sizeof w->key, &bp__classes[class], candidate)) {
        const bp__store_record record = {.key = w->key, .value = bp__text_get(&value)};
        status = bp__store_put(file_name, &record, 1);
    }
    bp__text_free(&value);
    return status;
}

/* Makes this process the only one that measures: several at once would measure each other. The lock is one that a child
 * of fork does not inherit. */
static bp_status lock_machine(work *w) {
    char path[PATH_MAX];
    size_t given;
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    w->lock =
        bp__cache_path(lock_name, path, &given) ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    if (w->lock < 0 || fcntl(w->lock, F_SETLK, &whole) != 0) {
        return bp__fail(BP_E_BUSY, "another process measures the libraries at present");
    }
    return BP_OK;
}

/* Writes to the store before anything is measured. If that is impossible, nothing is measured, because every process
 * would measure again. */
static bp_status announce(work *w) {
    const bp__store_record record = {.key = "measured by", .value = BP_VERSION_STRING};
    if (w->announced) {
        return BP_OK;
    }
    BP__TRY(bp__store_put(file_name, &record, 1));
    w->announced = true;
    return lock_machine(w);
}

/* Measures classes in one process and stores them at once, so that an interruption loses no more than these. */
static bp_status measure_group(work *w, const bp__calibrated *candidate, uint64_t classes) {
    const uint64_t wanted = missing(w, candidate, classes);
    if (wanted == 0 || w->stopped) {
        return BP_OK;
    }
    if (w->progress && !w->progress(w->user, candidate, bp__classes[__builtin_ctzll(wanted)].name)) {
        w->stopped = true;
        return BP_OK;
    }
    BP__TRY(announce(w));
    BP__TRY(bp__measure_classes(candidate, wanted, w->budget_ms, w->measured));
    for (int class = 0; class < BP__CLASSES; class ++) {
        if (wanted >> class & 1) {
            BP__TRY(store_class(w, candidate, class));
        }
    }
    return BP_OK;
}

/* Returns the classes that are measured in the process that measures `class`: the first ones, or those of one
 * operation; of products and transforms those of one type. */
static uint64_t group_of(int class) {
    const bp__class *own = &bp__classes[class];
    uint64_t group = 0;
    for (int i = 0; i < BP__CLASSES && !own->first; i++) {
        const bp__class *other = &bp__classes[i];
        const bool typed = own->op == BP_OP_GEMM || own->op == BP_OP_FFT;
        group |= (uint64_t)(!other->first && other->op == own->op && (!typed || other->dtype == own->dtype)) << i;
    }
    return own->first ? bp__first_classes() : group;
}

/* The first classes of all candidates come first, because they matter most. */
static bp_status measure_all(work *w, const bp__calibrated *candidates, int count, uint64_t wanted) {
    uint64_t done = 0;
    for (int class = 0; class < BP__CLASSES; class ++) {
        if (done >> class & 1) {
            continue;
        }
        const uint64_t group = group_of(class);
        for (int i = 0; i < count; i++) {
            BP__TRY(measure_group(w, &candidates[i], wanted & group));
        }
        done |= group;
        bp__store_close(w->store); /* the next groups depend on what was measured */
        w->store = NULL;
        BP__TRY(bp__store_open(&w->store, file_name));
    }
    return BP_OK;
}

bp_status bp__calibration_measure(bp__calibrated *candidates, int count, uint64_t wanted, double budget_ms,
                                  bp__calibration_progress progress, void *user) {
    bp__store *store;
    work *w = bp__alloc_zero(1, sizeof *w);
    if (!w) {
        return bp__fail_memory(sizeof *w, "the measurement of libraries");
    }
    bp_status status = bp__store_open(&store, file_name);
    if (status == BP_OK) {
        *w = (work){.store = store, .budget_ms = budget_ms, .progress = progress, .user = user, .lock = -1};
        status = measure_all(w, candidates, count, wanted);
        bp__store_close(w->store);
        if (w->lock >= 0) {
            close(w->lock);
        }
    }
    bp__free(w);
    drop(candidates, count);
    if (status != BP_E_NO_MEMORY) {
        BP__TRY(bp__calibration_load(candidates, count));
    }
    return status;
}

void bp__calibration_free(bp__calibration *calibration) {
    bp__free(calibration);
}

uint64_t bp__calibration_classes(const bp__calibration *calibration) {
    uint64_t classes = 0;
    for (int i = 0; calibration && i < BP__CLASSES; i++) {
        classes |= (uint64_t)calibration->curves[i].known << i;
    }
    return classes;
}

/* ---- Prediction ---- */

/* Returns how much of a variant's factor applies: none for one item or thread, all for those that were measured. */
static double share_of(const bp__product_shape *product, bp__variant variant) {
    const double measured = variant == BP__VARIANT_BATCHED ? BP__BATCH_ITEMS : bp__available_cpus();
    const double wanted = variant == BP__VARIANT_BATCHED ? product->items : product->threads;
    if (variant != BP__VARIANT_BATCHED && variant != BP__VARIANT_THREADED) {
        return 1;
    }
    return wanted >= measured ? 1 : wanted <= 1 ? 0 : log2(wanted) / log2(measured);
}

double bp__calibration_predict(const bp__calibration *calibration, const bp__product_shape *product, uint32_t *factors,
                               bp__accuracy *accuracy) {
    const double sizes[] = {product->m, product->n, product->k};
    const int base = bp__class_find(BP_OP_GEMM, product->dtype, BP__VARIANT_PLAIN);
    bool exact, ignored;
    *factors = 0;
    *accuracy = BP__ESTIMATED;
    if (!calibration || base < 0 || !calibration->curves[base].known) {
        return 0;
    }
    double value = bp__lattice_value(bp__classes[base].lattice, calibration->curves[base].values, sizes, 1, &exact);
    for (int variant = 1; variant < BP__VARIANTS_OF_PRODUCTS; variant++) {
        const int class = bp__class_find(BP_OP_GEMM, product->dtype, (bp__variant)variant);
        if ((product->variants >> variant & 1) && class >= 0 && calibration->curves[class].known) {
            value +=
                share_of(product, (bp__variant)variant) *
                bp__lattice_value(bp__classes[class].lattice, calibration->curves[class].values, sizes, 0, &ignored);
            *factors |= UINT32_C(1) << variant;
        }
    }
    *accuracy = exact && product->variants == 0 ? BP__MEASURED : BP__INTERPOLATED;
    return exp2(value) * (product->items > 1 ? product->items : 1);
}

double bp__calibration_ratio(const bp__calibration *calibration, int class, double size, double items,
                             bp__accuracy *accuracy) {
    const double sizes[BP__LATTICE_DIMENSIONS] = {size > 1 ? size : 1, items > 1 ? items : 1, 1};
    bool exact;
    *accuracy = BP__ESTIMATED;
    if (!calibration || class < 0 || !calibration->curves[class].known) {
        return 0;
    }
    const double value =
        bp__lattice_value(bp__classes[class].lattice, calibration->curves[class].values, sizes, 0, &exact);
    *accuracy = exact ? BP__MEASURED : BP__INTERPOLATED;
    return exp2(value);
}
