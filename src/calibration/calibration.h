/* calibration.h - measures how long candidates take, keeps the times, and predicts times of other sizes.
 *
 * The helper program measures one candidate at a time (measure/), over the lattices of classes.h. The times are kept in
 * a file of the cache directory, so that later processes need no measurement. A record is valid for one state of the
 * files of library, provider and Backplane, one processor, one set of processors that the process may use, and one set
 * of variables that steer libraries.
 */
#ifndef BP_CALIBRATION_CALIBRATION_H
#define BP_CALIBRATION_CALIBRATION_H

#include "backplane/library.h"
#include "base/base.h"
#include "calibration/classes.h"

/* The times of one candidate. Never changed once it is published. */
typedef struct bp__calibration bp__calibration;

/* A candidate, as the registry and dispatch know it. */
typedef struct bp__calibrated {
    const bp_provider *provider;
    const bp_library_info *library; /* NULL if the provider needs none */
    bp__class_set classes;          /* those that it offers */
    bp__calibration *calibration;   /* set by bp__calibration_load; freed by bp__calibration_free */
    /* Returns the provider's estimate of a call of a base class. Set if its estimates follow the kernels' steps
     * (bp_provider.cost_follows_kernels): then ratios to estimates are interpolated, not times. Otherwise NULL. */
    double (*estimate)(const void *owner, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]);
    const void *owner;
} bp__calibrated;

/* Reads the stored times of each candidate. The first one must be `native`. A candidate without times gets NULL.
 * Errors: BP_E_NO_MEMORY. */
bp_status bp__calibration_load(bp__calibrated *candidates, int count);

/* Called before each class of a candidate is measured. Returns whether to go on. */
typedef bool (*bp__calibration_progress)(void *user, const bp__calibrated *candidate, const char *class);

typedef struct bp__calibration_request {
    bp__class_set wanted;              /* classes to measure if they have no stored times */
    double budget_ms;                  /* for each class of a candidate */
    bp__calibration_progress progress; /* may be NULL */
    void *user;
} bp__calibration_request;

/* Measures the wanted classes that a candidate offers and that have no record, and stores their times. Nothing is
 * measured if nothing can be stored. If something was to be measured, all times are loaded and *changed is true.
 * Errors: BP_E_NO_MEMORY; and, after times were loaded, BP_E_BUSY (another process measures) and the errors of
 * bp__store_put and of the helper program. */
bp_status bp__calibration_measure(bp__calibrated *candidates, int count, const bp__calibration_request *request,
                                  bool *changed);

void bp__calibration_free(bp__calibration *calibration); /* NULL is allowed */

/* One product, as far as its time depends on it. */
typedef struct bp__gemm_shape {
    bp_dtype dtype;
    double m, n, k;
    double estimate;   /* of the plain product of these sizes, for candidates that have bp__calibrated.estimate */
    uint32_t variants; /* bit i: the variant i */
    double items, threads;
    bool divides_items; /* each thread computes a part of the items; otherwise a part of each item */
} bp__gemm_shape;

/* Whether a class was measured. `calibration` may be NULL, and `class` -1. */
bool bp__calibration_knows(const bp__calibration *calibration, int class);

/* Returns the predicted time in nanoseconds. *factors is set to the variants that the prediction accounts for. Returns
 * 0 if the base class has no times. */
double bp__calibration_predict(const bp__calibration *calibration, const bp__gemm_shape *product, uint32_t *factors,
                               bp__accuracy *accuracy);

/* Returns the ratio of the measured time to the provider's estimate for a class of ratios, from the first and the
 * second of its sizes; 0 if it was not measured. */
double bp__calibration_ratio(const bp__calibration *calibration, int class, double size, double items,
                             bp__accuracy *accuracy);

#endif
