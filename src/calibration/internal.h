/* internal.h - declares what the files of calibration share. */
#ifndef BP_CALIBRATION_INTERNAL_H
#define BP_CALIBRATION_INTERNAL_H

#include "calibration/calibration.h"

/* Values of one class of one candidate: logarithms of times in nanoseconds. */
typedef struct bp__curve {
    bool known;
    float values[BP__LATTICE_POINTS];
} bp__curve;

struct bp__calibration {
    bp__curve curves[BP__CLASSES];
};

/* ---- record.c: a class of a candidate as text ---- */

/* What the helper reports for a class. A time of 0 was not measured. */
typedef struct bp__measured {
    double first[BP__FIRST_POINTS];  /* the candidate at the first points of a base class */
    double native[BP__FIRST_POINTS]; /* native at these points in f64, in the same process: the measure of its speed */
    double times[BP__LATTICE_POINTS];
    bool slow;   /* measured at the first points only */
    bool failed; /* the helper did not end */
} bp__measured;

/* Writes the key of the record of a class. Returns false if it does not fit. */
bool bp__record_key(char *key, size_t size, const bp__class *class, const bp__calibrated *candidate);

void bp__record_write(bp__text *text, const bp__class *class, const bp__measured *measured);

/* Reads a record's value, which may be hostile. Returns false if it is not one of this class. */
bool bp__record_read(const char *value, const bp__class *class, bp__measured *measured);

/* Reads times separated by spaces, "-" for 0. Returns how many there were, or -1 for other text. */
int bp__read_times(const char *text, double *times, int most);

/* ---- run.c: the helper ---- */

/* Measures classes of a candidate (bits of `classes`) in one process, each for at most `budget_ms`. `measured` has a
 * member for each class of the table. Errors: BP_E_NOT_FOUND (no helper), BP_E_BROKEN, BP_E_NO_MEMORY. */
bp_status bp__measure_classes(const bp__calibrated *candidate, uint64_t classes, double budget_ms,
                              bp__measured measured[BP__CLASSES]);

#endif
