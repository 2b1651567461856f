/* internal.h - declares what the files of calibration share. */
#ifndef BP_CALIBRATION_INTERNAL_H
#define BP_CALIBRATION_INTERNAL_H

#include "calibration/calibration.h"

/* Values of one class of one candidate: logarithms of times in nanoseconds, or of ratios. */
typedef struct bp__curve {
    bool known;
    bool ratios;                       /* to estimates */
    bool measured[BP__LATTICE_POINTS]; /* which points were measured; the others follow from them */
    float values[BP__LATTICE_POINTS];
} bp__curve;

struct bp__calibration {
    bp__curve curves[BP__CLASSES];
};

/* ---- record.c: a class of a candidate as text ---- */

enum { BP__IDENTITY_BYTES = 8192 };

/* What the helper reports for a class. A time of 0 was not measured. */
typedef struct bp__measured {
    double first[BP__FIRST_POINTS];  /* the candidate at the first points of a base class */
    double native[BP__FIRST_POINTS]; /* native at these points in f64, in the same process: the measure of its speed */
    double times[BP__LATTICE_POINTS];
    bool slow;   /* measured at the first points only */
    bool failed; /* the helper did not end */
} bp__measured;

/* Makes the keys of the records of one candidate. */
typedef struct bp__record_keys {
    char identity[BP__IDENTITY_BYTES]; /* of the candidate and of what its times depend on; "" if it does not fit */
    char key[BP__IDENTITY_BYTES + 64];
} bp__record_keys;

void bp__record_keys_of(bp__record_keys *keys, const bp__calibrated *candidate);

/* Returns the key of a class, valid until the next call; NULL if it does not fit. */
const char *bp__record_key(bp__record_keys *keys, const bp__class *class);

void bp__record_write(bp__text *text, const bp__class *class, const bp__measured *measured);

/* Reads a record's value, which may be hostile. Returns false if it is not one of this class. */
bool bp__record_read(const char *value, const bp__class *class, bp__measured *measured);

/* Reads times separated by spaces, "-" for 0. Returns how many there were, or -1 for other text. */
int bp__read_times(const char *text, double *times, int most);

/* ---- curves.c ---- */

/* Reads the curve of a class from a record. The processor's speed is corrected to the speed of `reference`. `native`
 * has the record and the curve of native in the same class; both may be NULL. Returns false if the record has no times.
 */
bool bp__curve_read(bp__curve *curve, const bp__class *class, const bp__calibrated *candidate,
                    const bp__measured *measured, const bp__measured *reference, const bp__measured *native,
                    const bp__curve *native_curve);

/* Replaces the times of a variant by factors to the base class. Returns false if that has no times. */
bool bp__curve_make_factors(bp__calibration *calibration, int index, const bp__calibrated *candidate);

/* ---- run.c: the helper ---- */

/* Measures classes of a candidate in one process, each for at most `budget_ms`. `measured` has a
 * member for each class of the table. Errors: BP_E_NOT_FOUND (no helper), BP_E_BROKEN, BP_E_NO_MEMORY. */
bp_status bp__measure_classes(const bp__calibrated *candidate, const bp__class_set *classes, double budget_ms,
                              bp__measured measured[BP__CLASSES]);

#endif
