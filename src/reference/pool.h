/* pool.h - the reference of pooling and its gradients: pool.h of the public interface, one element at a time, in long
 * double. */
#ifndef BP_REFERENCE_POOL_H
#define BP_REFERENCE_POOL_H

#include "reference/reference.h"

typedef struct reference_pool reference_pool;

/* What one window contains. */
typedef struct reference_window {
    long double sum, size, divisor; /* size: the sum of the absolute values */
    long double most;               /* the largest element, or NaN if there is one; -infinity if there is none */
    int64_t index;                  /* its place in the channel: the first one, or the last NaN; -1 if there is none */
    int64_t inside;                 /* elements */
} reference_window;

/* Opens a call. FORWARD reads its input, BACKWARD output_gradient and indices. *made is for reference_pool_close(),
 * also after a failure. Errors: BP_E_NO_MEMORY, or as for bp_tensor_copy(). */
bp_status reference_pool_open(reference_pool **made, const bp_pool_call *call);
void reference_pool_close(reference_pool *made);

/* Returns the window of an output element, in row-major order, of FORWARD. */
reference_window reference_pool_window(const reference_pool *p, int64_t output);

/* Computes the gradient by the input of BACKWARD: as many numbers as it has elements, which are 0 before. `unit` is the
 * largest relative error of one rounding. Errors are those before a result is rounded to its type. */
bp_status reference_pool_gradient(const reference_pool *p, long double unit, reference_number *gradient);

/* Multiplications or comparisons of the whole call. */
double reference_pool_work(const reference_pool *p);

#endif
