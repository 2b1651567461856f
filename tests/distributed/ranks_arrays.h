/* ranks_arrays.h - declares arrays of two and three dimensions for the programs that test transforms: a whole one,
 * which every rank has and transforms by the definition, and one that is divided. */
#ifndef RANKS_ARRAYS_H
#define RANKS_ARRAYS_H

#include "distributed/ranks.h"

#include <complex.h>

/* A whole array in C order. */
typedef struct ranks_whole {
    int ndim;
    int64_t n[3], count;
    double complex *x;
} ranks_whole;

typedef struct ranks_array {
    bp_dist dist;
    bp_dist_view view;
    void *memory;
    int64_t rest; /* elements of an item of the first dimension */
    bp_dtype dtype;
} ranks_array;

/* How the memory of an array is laid out. */
typedef enum ranks_layout { IN_C_ORDER, MATRIX, MATRIX_WITH_GAPS, NOT_ALIGNED, LAYOUTS } ranks_layout;

typedef struct ranks_trial {
    int ndim;
    int64_t n[3];
    int32_t block;
    bool single, inverse;
    bp_fft_norm norm;
    ranks_layout how;
} ranks_trial;

/* Make a whole array: of zeros, or of numbers without structure. x is to be freed. */
ranks_whole ranks_new_whole(int ndim, const int64_t *n);
ranks_whole ranks_input(int ndim, const int64_t *n, bool real);

/* Transforms all dimensions by the definition, and multiplies with a factor: the one of a norm. */
void ranks_transform(ranks_whole *w, bool inverse, double scale);
double ranks_scale(const ranks_whole *w, bool inverse, bp_fft_norm norm);

/* Makes an array, of two dimensions perhaps as the matrix that is its transpose. block 0: the smallest. */
void ranks_make_array(ranks_array *a, bp_comm *comm, bp_dtype dtype, int ndim, const int64_t *n, int32_t block,
                      ranks_layout how);
void ranks_free_array(ranks_array *a);

/* Sets this rank's part from the whole array, or to NaN if that is NULL. */
void ranks_fill(const ranks_array *a, const ranks_whole *w);
/* Returns the largest difference of this rank's part. `half`: the array has that many elements of each row of `w`. */
double ranks_difference(const ranks_array *a, const ranks_whole *w, int64_t half);

const char *ranks_name(const ranks_trial *t);
/* Returns the largest error that a transform may have. */
double ranks_bound(const ranks_trial *t, const ranks_whole *w);
/* Transforms all dimensions. */
bp_status ranks_run(bp_fft_transform transform, const ranks_trial *t, const ranks_array *in, ranks_array *out);

#endif
