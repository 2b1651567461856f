/* interleaved.h - between the files of small linear algebra: what a set of kernels offers, and what each kernel is
 * told.
 *
 * Matrices of up to 32x32 are too small for vectors to run inside them. Here a vector has one element of each of
 * several matrices of the batch: a *cell* is element (i, j) of all lanes, the real parts and then the imaginary ones.
 * Every lane goes the same way, row exchanges are made lane by lane, and no lane reads another; so a matrix has the
 * same bits in every lane, beside any others, and on any thread.
 *
 * Algorithms with steps that depend on the numbers (eigenvalues, singular values) go on until every lane is done, and
 * leave alone the lanes that are.
 *
 * Solving with a triangle has one kernel, for a lower triangle on the left, from the first row to the last. The other
 * cases are the same memory seen otherwise: strides exchanged (transposed, or on the right), or negative (upper).
 */
#ifndef BP_NATIVE_INTERLEAVED_H
#define BP_NATIVE_INTERLEAVED_H

#include "backplane/provider.h"

#include <stdbool.h>
#include <stddef.h>

#define BP__SMALL_MOST 32 /* rows and columns of what the kernels take */

/* Which elements of a matrix count. */
typedef enum bp__interleaved_shape {
    BP__SHAPE_ALL,
    BP__SHAPE_LOWER,     /* with the diagonal; elsewhere zeros */
    BP__SHAPE_STRICT,    /* below the diagonal */
    BP__SHAPE_HERMITIAN, /* lower, and mirrored above; the diagonal has no imaginary part */
    BP__SHAPE_UNIT,      /* below the diagonal, which is ones; elsewhere zeros */
    BP__SHAPE_UPPER      /* with the diagonal; elsewhere zeros */
} bp__interleaved_shape;

/* Matrices in memory and in cells. Strides of cells count cells, those of memory count bytes. */
typedef struct bp__interleaved_copy {
    void *elements;
    int64_t element_row, element_column;
    char *const *memory; /* for each lane */
    int64_t row, column;
    int rows, columns;
    int lanes;            /* to be written; all are read */
    const int32_t *order; /* [rows][lanes]: which row of memory row i of the cells is; NULL: the same */
} bp__interleaved_copy;

typedef struct bp__interleaved_factor {
    void *elements;
    int64_t row; /* cells from row to row; columns are adjacent */
    int rows, columns;
    int32_t *pivots; /* LU: [min(rows, columns)][lanes], counted from 0 */
    int32_t *info;   /* [lanes] */
} bp__interleaved_factor;

/* b = inverse(L) b for n x k cells. */
typedef struct bp__interleaved_solve {
    const void *factor;
    int64_t factor_row, factor_column;
    const void *inverses; /* of the diagonal; NULL: it is ones */
    int64_t inverses_step;
    void *b;
    int64_t b_row, b_column;
    int n, k;
    bool triangular; /* b is a lower triangle, zero above */
} bp__interleaved_solve;

/* to = left diag(values) right^H: left is rows x count cells, and is lost; right is columns x count. */
typedef struct bp__interleaved_combine {
    void *to, *left;
    const void *right, *values; /* [count] vectors of reals */
    int64_t to_row, left_row, right_row;
    int rows, columns, count;
} bp__interleaved_combine;

/* Eigenvalues of Hermitian matrices, of which all cells are there. The cells become the eigenvectors, in columns, or
 * are lost. */
typedef struct bp__interleaved_eigh {
    void *elements;
    int64_t row;
    int n;
    int tries; /* iterations that one eigenvalue may take */
    bool vectors;
    void *values;   /* [n] vectors of reals */
    int32_t *order; /* [n][lanes]: at which place of the ascending order value i, and column i, comes */
    int32_t *info;  /* [lanes]: 0, or the eigenvalue from 1 on that did not converge */
} bp__interleaved_eigh;

/* A = U S V^H for m x n cells with m >= n, which are lost. */
typedef struct bp__interleaved_svd {
    void *elements;
    int64_t row;
    int rows, columns;
    int tries; /* iterations that one singular value may take */
    void *u;   /* m x u_columns cells; NULL: values alone */
    int64_t u_row;
    int u_columns; /* n or m */
    void *v;       /* n x n cells; NULL with u */
    int64_t v_row;
    void *values;   /* [n] vectors of reals */
    int32_t *order; /* [n][lanes]: at which place of the descending order value i, and column i, comes */
    int32_t *info;  /* as of bp__interleaved_eigh */
} bp__interleaved_svd;

/* What one instruction set offers for one data type. */
typedef struct bp__interleaved_kernels {
    int lanes;
    int parts;       /* 2 for complex types */
    size_t element;  /* bytes in memory */
    size_t velement; /* bytes of a cell */
    size_t inverse;  /* bytes of the inverse of a cell */
    void (*load)(const bp__interleaved_copy *copy);
    void (*store)(const bp__interleaved_copy *copy);
    /* A bit for each lane in which something that counts (ALL, LOWER, STRICT, HERMITIAN) is NaN or infinite. HERMITIAN
     * clears the imaginary parts of the diagonal before. */
    unsigned (*examine)(const bp__interleaved_copy *copy, bp__interleaved_shape shape);
    /* Copies what counts (but for ALL and STRICT) and fills the rest; in place too. */
    void (*trim)(void *to, int64_t to_row, const void *from, int64_t from_row, int rows, int columns,
                 bp__interleaved_shape shape);
    void (*lu)(const bp__interleaved_factor *factor);
    void (*cholesky)(const bp__interleaved_factor *factor); /* of the lower triangle */
    void (*invert_diagonal)(void *inverses, const void *elements, int64_t step, int n);
    void (*solve)(const bp__interleaved_solve *solve);
    void (*identity)(void *elements, int64_t row, int n);
    void (*conjugate)(void *elements, int64_t count); /* does nothing to real types */
    void (*combine)(const bp__interleaved_combine *combine);
    void (*eigh)(const bp__interleaved_eigh *eigh);
    void (*svd)(const bp__interleaved_svd *svd);
} bp__interleaved_kernels;

/* In the order of bp_dtype from BP_F32 on. */
#define BP__INTERLEAVED_DTYPES 4
extern const bp__interleaved_kernels bp__interleaved_default[BP__INTERLEAVED_DTYPES];
extern const bp__interleaved_kernels bp__interleaved_avx2[BP__INTERLEAVED_DTYPES];
extern const bp__interleaved_kernels bp__interleaved_avx512[BP__INTERLEAVED_DTYPES];

#define BP__MAX_LANES 16 /* lanes of any set */

#endif
