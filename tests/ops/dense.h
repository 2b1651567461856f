/* dense.h - small matrices in long double, to check results of linear algebra by their defining equations. */
#ifndef BP_TESTS_DENSE_H
#define BP_TESTS_DENSE_H

#include "ops/reference.h"

#define DENSE_MOST 24

typedef struct dense {
    int rows, columns;
    long double complex at[DENSE_MOST][DENSE_MOST];
} dense;

/* Load or store item `item` of a tensor whose last `core` dimensions (0 to 2) are the item. A batch of one is used for
 * all items. */
void dense_load(dense *m, const DLTensor *t, int core, int64_t item);
void dense_store(const dense *m, DLTensor *t, int core, int64_t item);

void dense_product(dense *c, const dense *a, const dense *b);
void dense_adjoint(dense *c, const dense *a);
void dense_identity(dense *c, int n);
void dense_diagonal(dense *c, const dense *vector, int rows, int columns);
void dense_triangle(dense *m, bool upper, bool unit); /* clears the other triangle */
long double dense_norm(const dense *a);               /* Frobenius norm */
long double dense_distance(const dense *a, const dense *b);
long double complex dense_determinant(const dense *a);

#endif
