/* operands.h - what explain, eval and compare share: shapes from words, arrays from files, options for the call. */
#ifndef BP_CLI_OPERANDS_H
#define BP_CLI_OPERANDS_H

#include "cli.h"
#include "npy.h"

/* "512x512", "8x64x32", "512", or "" of a scalar, into a shape; CLI_USAGE and a message otherwise. */
int operand_shape(const char *text, int *ndim, int64_t *shape);

/* A view without data of that shape; `transposed` gives it the layout of a transposed view. */
int operand_view(bp_view *view, bp_dtype dtype, int ndim, const int64_t *shape, bool transposed);

/* The options of the --set words, NULL when there are none. The caller frees them with bp_options_release. */
int operand_options(const cli_args *args, bp_options **options);

/* Reads an array; a failure has been reported. */
int operand_read(const char *path, unsigned flags, npy_array *array, bp_view *view);

/* Memory of zeros for a result. */
int operand_result(npy_array *array, bp_view *view, bp_dtype dtype, int ndim, const int64_t *shape);

/* The transforms that --trans-a, --conj-a, ... ask for. */
bp_transform operand_transform(const cli_args *args, const char *transpose, const char *conjugate);

/* The shape of op(a) @ op(b) for bp_gemm; a message and the code of the failure when they do not fit. */
int operand_gemm_shape(const bp_view *a, bp_transform transform_a, const bp_view *b, bp_transform transform_b,
                       int *ndim, int64_t *shape);

/* "2" or "2,0.5" (real and imaginary part) of an option; *given tells whether it was there. */
int operand_scalar(const cli_args *args, const char *option, bp_scalar *scalar, bool *given);

/* "2" or "0,-1" of an option: at most BP_MAX_NDIM whole numbers; *count is 0 where it was not given. */
int operand_numbers(const cli_args *args, const char *option, int64_t *values, int *count);

#endif
