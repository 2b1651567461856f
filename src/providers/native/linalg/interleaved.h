/* interleaved.h - declares the kernels for interleaved batches of small matrices, and their arguments.
 *
 * Matrices of up to 32x32 are too small for vectors along their rows. Batches are therefore interleaved: each lane of a
 * vector belongs to another matrix. A *vector element* is element (i, j) of all lanes: a vector of real parts, followed
 * by one of imaginary parts for complex types. All lanes execute the same operations, row exchanges are done lane by
 * lane, and no lane reads another one. The result of a matrix is therefore bitwise the same in every lane, next to any
 * other matrices, and on every thread.
 *
 * Algorithms whose number of steps depends on the data (eigenvalues, singular values) run until every lane has
 * converged. Lanes that have converged are not changed any more.
 *
 * There is one kernel for triangular systems: a lower triangle on the left, solved from the first row to the last.
 * Other cases use the same memory with other strides: exchanged (transposed, or on the right) or negative (upper).
 */
#ifndef BP_NATIVE_INTERLEAVED_H
#define BP_NATIVE_INTERLEAVED_H

#include "backplane/provider.h"

#include <stdbool.h>
#include <stddef.h>

#define BP__SMALL_MOST 32 /* rows and columns that the kernels accept */

/* The elements of a matrix that an operation uses. */
typedef enum bp__interleaved_shape {
    BP__SHAPE_ALL,
    BP__SHAPE_LOWER,     /* with the diagonal; zeros elsewhere */
    BP__SHAPE_STRICT,    /* below the diagonal */
    BP__SHAPE_HERMITIAN, /* lower, and mirrored above; the diagonal is real */
    BP__SHAPE_UNIT,      /* below the diagonal, ones on it, zeros elsewhere */
    BP__SHAPE_UPPER      /* with the diagonal; zeros elsewhere */
} bp__interleaved_shape;

/* A copy between matrices in memory and interleaved ones. Strides are in vector elements on the interleaved side and in
 * bytes in memory. */
typedef struct bp__interleaved_copy {
    void *elements;
    int64_t element_row, element_column;
    char *const *memory; /* one address for each lane */
    int64_t row, column;
    int rows, columns;
    int lanes;            /* lanes to store; loads read all */
    const int16_t *order; /* [rows][lanes]: row in memory of each interleaved row; NULL: the same row */
} bp__interleaved_copy;

typedef struct bp__interleaved_factor {
    void *elements;
    int64_t row; /* row stride in vector elements; columns are contiguous */
    int rows, columns;
    int16_t *pivots; /* LU: [min(rows, columns)][lanes], from 0 */
    int32_t *info;   /* [lanes] */
} bp__interleaved_factor;

/* b = inverse(L) b for an interleaved n x k matrix b. */
typedef struct bp__interleaved_solve {
    const void *factor;
    int64_t factor_row, factor_column;
    const void *inverses; /* of the diagonal; NULL: the diagonal is all ones */
    int64_t inverses_step;
    void *b;
    int64_t b_row, b_column;
    int n, k;
    bool triangular; /* b is a lower triangle, with zeros above */
} bp__interleaved_solve;

/* to = left diag(values) right^H. left is rows x count and is overwritten; right is columns x count. */
typedef struct bp__interleaved_combine {
    void *to, *left;
    const void *right, *values; /* [count] vectors of reals */
    int64_t to_row, left_row, right_row;
    int rows, columns, count;
} bp__interleaved_combine;

/* Eigenvalues of Hermitian matrices; all elements must be set. The matrix is replaced by the eigenvectors, in columns,
 * or overwritten. */
typedef struct bp__interleaved_eigh {
    void *elements;
    int64_t row;
    int n;
    int tries; /* limit of iterations for one eigenvalue */
    bool vectors;
    void *values;   /* [n] vectors of reals */
    void *work;     /* eigh_work bytes */
    int16_t *order; /* [n][lanes]: position of value i, and of column i, in ascending order */
    int32_t *info;  /* [lanes]: 0, or the number (from 1) of the eigenvalue that did not converge */
} bp__interleaved_eigh;

/* A = U S V^H for m x n matrices with m >= n, which are overwritten. */
typedef struct bp__interleaved_svd {
    void *elements;
    int64_t row;
    int rows, columns;
    int tries; /* limit of iterations for one singular value */
    void *u;   /* m x u_columns; NULL: only values are computed */
    int64_t u_row;
    int u_columns; /* n or m */
    void *v;       /* n x n; NULL if u is NULL */
    int64_t v_row;
    void *values;   /* [n] vectors of reals */
    void *work;     /* svd_work bytes */
    int16_t *order; /* [n][lanes]: position of value i, and of column i, in descending order */
    int32_t *info;  /* as in bp__interleaved_eigh */
} bp__interleaved_svd;

/* Kernels of one instruction set for one type. */
typedef struct bp__interleaved_kernels {
    int lanes;
    int parts;       /* 2 for complex types */
    size_t element;  /* bytes of an element in memory */
    size_t velement; /* bytes of a vector element */
    size_t inverse;  /* bytes of an inverse */
    /* Bytes for eigh and svd, which would be much for the stack of a thread. */
    size_t eigh_work, svd_work;
    void (*load)(const bp__interleaved_copy *copy);
    void (*store)(const bp__interleaved_copy *copy);
    /* Returns a bit for each lane with NaN or infinity among the elements of `shape` (ALL, LOWER, STRICT, HERMITIAN).
     * HERMITIAN first clears the imaginary parts of the diagonal. */
    unsigned (*examine)(const bp__interleaved_copy *copy, bp__interleaved_shape shape);
    /* Copies the elements of `shape` (other than ALL and STRICT) and fills in the rest. `to` may be `from`. */
    void (*trim)(void *to, int64_t to_row, const void *from, int64_t from_row, int rows, int columns,
                 bp__interleaved_shape shape);
    void (*lu)(const bp__interleaved_factor *factor);
    void (*cholesky)(const bp__interleaved_factor *factor); /* of the lower triangle */
    void (*invert_diagonal)(void *inverses, const void *elements, int64_t step, int n);
    void (*solve)(const bp__interleaved_solve *solve);
    void (*identity)(void *elements, int64_t row, int n);
    void (*conjugate)(void *elements, int64_t count); /* no operation for real types */
    void (*combine)(const bp__interleaved_combine *combine);
    void (*eigh)(const bp__interleaved_eigh *eigh);
    void (*svd)(const bp__interleaved_svd *svd);
} bp__interleaved_kernels;

/* Types from BP_F32 on, in the order of bp_dtype. */
#define BP__INTERLEAVED_DTYPES 4
extern const bp__interleaved_kernels bp__interleaved_default[BP__INTERLEAVED_DTYPES];
extern const bp__interleaved_kernels bp__interleaved_avx2[BP__INTERLEAVED_DTYPES];
extern const bp__interleaved_kernels bp__interleaved_avx512[BP__INTERLEAVED_DTYPES];

#define BP__MAX_LANES 16 /* largest number of lanes of all sets */

#endif
