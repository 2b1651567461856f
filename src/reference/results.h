/* results.h - the references of all results of a call.
 *
 * A family has a function that takes a call as its public function does, and gives a reference for each tensor that the
 * call writes. It must be called before the call runs, which may write over what it reads. A result has no reference if
 * it is too large to be computed in about a second, and an element has none if rounding may change it without limit.
 */
#ifndef BP_REFERENCE_RESULTS_H
#define BP_REFERENCE_RESULTS_H

#include "reference/reference.h"

enum { REFERENCE_RESULTS = 8 };

typedef struct reference_result {
    const char *name;       /* of the field of the call */
    const DLTensor *tensor; /* the tensor in the call */
    reference values;
} reference_result;

typedef struct reference_results {
    int count;
    reference_result of[REFERENCE_RESULTS];
} reference_results;

/* Returns the value of element `index` of a result, with its largest error before it is rounded to its type. */
typedef reference_number reference_element(void *user, int64_t index);

/* Adds a result, and computes its elements, or as many as take about a second if each takes `work` multiplications.
 * Does nothing without a tensor. Errors: BP_E_NO_MEMORY. */
bp_status reference_add_result(reference_results *made, const char *name, const DLTensor *tensor, int64_t work,
                               reference_element *element, void *user);

/* The same for integers: element() returns one, modulo 2^64. */
typedef int64_t reference_whole(void *user, int64_t index);
bp_status reference_add_wholes(reference_results *made, const char *name, const DLTensor *tensor, int64_t work,
                               reference_whole *element, void *user);

/* The same where a function sets the values, with scales in units of rounding. */
typedef void reference_setter(void *user, reference_value *value);
bp_status reference_add_values(reference_results *made, const char *name, const DLTensor *tensor, reference_setter *set,
                               void *user);

/* Adds a result from the numbers of all its elements. */
bp_status reference_add_numbers(reference_results *made, const char *name, const DLTensor *tensor,
                                const reference_number *numbers);

void reference_results_free(reference_results *made);

/* ---- Calls by their descriptions (results.c) ---- */

/* Whether calls with a description (calls.h) have references. */
bool reference_can(const bp_call *call);

/* Makes the references of a call with its description, for which reference_can() is true. */
bp_status reference_call(reference_results *made, const bp_call *call, const void *arguments);

/* ---- Families, in the order of their files. On failure the results are to be freed, too. Errors: BP_E_NO_MEMORY,
 * and as for bp_tensor_copy() ---- */

/* Of calls that have a struct. A page or a length of attention that is out of range has no reference: the call fails.
 * Gradients of recurrent layers need the biases of TRAINING, which BACKWARD has not: bias_ih and bias_hh of the call
 * are these. Gradients of LSTM and GRU have no reference if `output` is not the one of the other tensors and these
 * biases. */
#define X(name) bp_status reference_of_##name(reference_results *made, const bp_##name##_call *call);
BP_CALL_MAP(X)
#undef X

/* A large result is computed in part, and one that is not affordable not at all; nor is a power below 1. */
bp_status reference_of_einsum(reference_results *made, const char *expression, int count,
                              const DLTensor *const *operands, const DLTensor *out);
/* The same for one step, a sum of products of one or two operands: an element's sum has at most so many roundings,
 * which is a lower bound if it is split. */
bp_status reference_of_sums(reference_results *made, const char *expression, int count, const DLTensor *const *operands,
                            double roundings, const DLTensor *out);
bp_status reference_of_multi_dot(reference_results *made, int count, const DLTensor *const *tensors,
                                 const DLTensor *out);
bp_status reference_of_matrix_power(reference_results *made, const DLTensor *a, int64_t n, const DLTensor *out);

/* An index that is out of range has no reference: the operation reports it. */
/* `first` and `second`: numbers of the function; NULL: the usual ones. */
bp_status reference_of_unary(reference_results *made, int kind, const double *first, const double *second,
                             const DLTensor *input, const DLTensor *output);
bp_status reference_of_binary(reference_results *made, int kind, const DLTensor *a, const DLTensor *b,
                              const DLTensor *output);
bp_status reference_of_where(reference_results *made, const DLTensor *condition, const DLTensor *a, const DLTensor *b,
                             const DLTensor *output);
bp_status reference_of_take(reference_results *made, int axis, const DLTensor *input, const DLTensor *indices,
                            const DLTensor *output);
bp_status reference_of_gather(reference_results *made, int axis, const DLTensor *input, const DLTensor *indices,
                              const DLTensor *output);
bp_status reference_of_concat(reference_results *made, int axis, int count, const DLTensor *const *tensors,
                              const DLTensor *output);

/* A value that f16 or bf16 may round has no reference. */
bp_status reference_of_pad(reference_results *made, int mode, int ndim, const int64_t *before, const int64_t *after,
                           double value, const DLTensor *input, const DLTensor *output);
bp_status reference_of_flip(reference_results *made, int axis_count, const int32_t *axes, const DLTensor *input,
                            const DLTensor *output);
bp_status reference_of_roll(reference_results *made, int axis_count, const int32_t *axes, const int64_t *shifts,
                            const DLTensor *input, const DLTensor *output);

bp_status reference_of_fft(reference_results *made, const bp_fft_call *call, const DLTensor *input,
                           const DLTensor *output);

/* det, slogdet, matrix_rank, cond and matrix_norm. */
bp_status reference_of_matrix_values(reference_results *made, const bp_linalg_call *call);

/* Factors NULL: 1 and 0. */
bp_status reference_of_gemm(reference_results *made, int transform_a, int transform_b, const bp_scalar *alpha,
                            const DLTensor *a, const DLTensor *b, const bp_scalar *beta, const DLTensor *c);
bp_status reference_of_matmul(reference_results *made, const DLTensor *a, const DLTensor *b, const DLTensor *out);

bp_status reference_of_vecdot(reference_results *made, int dim, const DLTensor *a, const DLTensor *b,
                              const DLTensor *out);

/* Axes NULL: all. */
bp_status reference_of_reduce(reference_results *made, int kind, int axis_count, const int32_t *axes,
                              const DLTensor *input, const DLTensor *output);
bp_status reference_of_variance(reference_results *made, int kind, int axis_count, const int32_t *axes,
                                double correction, const DLTensor *input, const DLTensor *output);
bp_status reference_of_softmax(reference_results *made, int kind, int axis, const DLTensor *input,
                               const DLTensor *output);
bp_status reference_of_softmax_backward(reference_results *made, int kind, int axis, const DLTensor *output,
                                        const DLTensor *output_gradient, const DLTensor *input_gradient);

bp_status reference_of_vector_norm(reference_results *made, const bp_linalg_call *call, const DLTensor *a,
                                   const DLTensor *out);

#endif
