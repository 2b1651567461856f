/* support_squares.h - square matrices on the double's device, and plans of their product. */
#ifndef BP_TESTS_CUBLAS_SQUARES_H
#define BP_TESTS_CUBLAS_SQUARES_H

#include "cublas/support_cublas.h"

enum { SIDE = 16, ELEMENTS = SIDE * SIDE };

/* Matrices of f32 on a device; the product of the first two is the third. */
typedef struct matrices {
    float values[3][ELEMENTS];
    DLManagedTensorVersioned *on[3];
    DLTensor tensor[3];
    bp_operand operands[3];
} matrices;

/* Makes them `past` bytes behind multiples of 256. */
matrices *make_matrices(int device, size_t past);
void free_matrices(matrices *m);
DLTensor *tensor_at(matrices *m, int i);
void write_matrices(matrices *m, bp_queue *queue);
/* Reads the third matrix on the queue, and compares it. */
void expect_product(matrices *m, bp_queue *queue);
bp_plan *make_plan(matrices *m, const char *settings);

/* Settings that choose cuBLASLt, and cuBLAS. The double's devices have 64 MiB, and cuBLAS gets all of its workspace for
 * each run. */
extern const char *const libraries[2];

#endif
