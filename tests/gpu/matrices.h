/* matrices.h - matrices on the device, for the rules of products. Values are small whole numbers, which all types have.
 */
#ifndef BP_TESTS_GPU_MATRICES_H
#define BP_TESTS_GPU_MATRICES_H

#include "check.h"

#include "backplane.h"

enum { SIDE = 32, ELEMENTS = SIDE * SIDE, ITEM_MOST = 16, LIBRARIES = 2 };

typedef struct matrix {
    bp_dtype dtype;
    DLManagedTensorVersioned *block; /* of bytes */
    DLTensor tensor;
    int64_t shape[2], strides[2];
    double values[ELEMENTS];
} matrix;

extern int32_t gpu_place;
extern const char *const library_names[LIBRARIES];

/* Opens the first device; skipped with the reason if there is no library for products. */
outcome open_products(void);
/* Makes a matrix `past` bytes behind a multiple of 256, with whole numbers from -2 to 2. Rows, or columns, are SIDE
 * elements apart. */
outcome new_matrix(matrix *m, bp_dtype dtype, int64_t rows, int64_t columns, bool by_columns, size_t past);
/* Writes the values to the device, on a queue. `bytes` stay until it has run. */
outcome write_matrix(matrix *m, void *bytes, bp_queue *queue);
/* Reads the values when the device has run everything. */
outcome read_matrix(matrix *m);
void free_matrix(matrix *m);
/* c = alpha a b + beta c with settings; factors NULL: 1 and 0. */
outcome multiply(const char *settings, int transform_a, int transform_b, const bp_scalar *alpha, matrix *a, matrix *b,
                 const bp_scalar *beta, matrix *c);

#endif
