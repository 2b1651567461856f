/* checks.h - declares samples, algebra and comparison functions for the checks of LAPACK and FFT routines.
 *
 * samples.c makes the matrices; factors.c, spectra.c and squares.c call LAPACK's routines on them, transforms.c the
 * routines of FFTW and MKL, and bounds.c BLAS's products. bounds_lapack.c calls LAPACK's routines again, next to memory
 * that they must not access. Each check returns a description of what is wrong, or NULL. Results are checked by
 * residuals in the norm, in double precision. A correct routine is far within the bounds on any processor, a wrong one
 * far outside. checks.c runs all of them.
 *
 * Integers are passed by reference as 64-bit values, as in conventions.c; arrays of integers are read with the width
 * that was found there.
 */
#ifndef BP_PROBE_CHECKS_H
#define BP_PROBE_CHECKS_H

#include "probe/numbers.h"
#include "probe/probe.h"

#include "providers/lapack/routines.h"

enum { ORDER = 24, NARROW = 15, SIDES = 3, ELEMENTS = ORDER * ORDER, WORK = 16384 };

/* Arrays that routines read and write, in their own type. */
typedef union array {
    float f[2 * ELEMENTS];
    double d[2 * ELEMENTS];
} array;
typedef union work_array {
    float f[2 * WORK];
    double d[2 * WORK];
} work_array;

typedef enum sample_kind { RANDOM, GRADED, HUGE_NUMBERS, TINY_NUMBERS, CLUSTERED, SAMPLES } sample_kind;

/* One element type of one library, and the matrices of the current sample. The library gets these times `scale`, a
 * power of two. Its results are divided by `scale`, so that checks use numbers of ordinary size. */
typedef struct trial {
    const subject *library;
    progress *state; /* the current call, for the report if it does not return */
    const number_type *type;
    double tolerance;
    sample_kind kind;
    double scale;
    number general[ELEMENTS];  /* ORDER x ORDER; its first columns are the tall matrix, of NARROW columns */
    number positive[ELEMENTS]; /* Hermitian and positive definite, of the same kind */
    number sides[ORDER * SIDES];
} trial;

extern const char *const sample_names[SAMPLES];
void make_sample(trial *t, sample_kind kind);
/* As make_sample, without matrices: the kind, the scale, and random numbers in `general`. */
void begin_sample(trial *t, sample_kind kind);
/* Returns the factor by which element (i, i) of a sample is smaller than the first. */
double grade_of(const trial *t, int64_t i);

/* Returns the library's routine of that stem and the trial's type, or NULL. Records that it is called next. */
void *routine_of(trial *t, const char *stem);

#define X(name, real, complex) typedef void type_of_##name BP__LAPACK_ARGS_##name(void, void, int64_t);
BP__LAPACK_ROUTINES(X)
#undef X
#define FIND(t, name, stem) type_of_##name *const name = (type_of_##name *)routine_of(t, stem)

/* Memory for one call at a time. */
extern work_array check_work, check_real_work;
extern int64_t check_integers[WORK];

/* ---- Small dense algebra on double complex, column-major (samples.c) ---- */

void store(const trial *t, void *to, int64_t count, const number *from, double scale);
void fetch(const trial *t, const void *from, int64_t count, number *to, double scale);
/* As fetch, for reals of the trial's precision. */
void fetch_reals(const trial *t, const void *from, int64_t count, double *to, double scale);
double norm_of(const number *x, int64_t count);
double distance(const number *x, const number *y, int64_t count);
/* Computes c = op(a) op(b), with ops 'N', 'T' and 'C'. */
void multiply(char op_a, char op_b, int64_t m, int64_t n, int64_t k, const number *a, int64_t lda, const number *b,
              int64_t ldb, number *c);
/* Returns whether the columns of a rows x columns matrix are orthonormal. */
bool is_orthonormal(const trial *t, const number *q, int64_t rows, int64_t columns);
/* Returns whether x and y differ by no more than the trial's tolerance relative to `size`. NaN is never near. */
bool is_near(const trial *t, const number *x, const number *y, int64_t count, double size);

/* ---- The checks ---- */

const char *check_lu(trial *t);
const char *check_cholesky(trial *t);
const char *check_qr(trial *t);
const char *check_triangular(trial *t);
const char *check_eigh(trial *t);
const char *check_eig(trial *t);
const char *check_svd(trial *t);
const char *check_lstsq(trial *t);

/* Transforms of a sample's kind, complex to complex, real to complex or complex to real. With the first kind also
 * reports the lengths with larger errors than other libraries have. */
typedef enum transform_kind { COMPLEX_TO_COMPLEX, REAL_TO_COMPLEX, COMPLEX_TO_REAL } transform_kind;
const char *check_transforms(trial *t, transform_kind kind);

/* Whether products access their operands only (bounds.c). */
const char *check_gemv_memory(trial *t);
const char *check_gemm_memory(trial *t);
/* The same for BLAS's other routines (bounds_blas.c), from the current row on. Adds the names of those that access more
 * to the progress. Returns false without memory. */
bool check_blas_memory(trial *t);
void note_outside(progress *state);
/* The same for the routines of a check of LAPACK (bounds_lapack.c). Reports reads next to operands as a property. */
const char *check_lapack_memory(trial *t, int check);

#endif
