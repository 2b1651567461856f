/* operands.h - reads shapes, arrays and options for explain, eval and compare. The functions return CLI_OK, or an exit
 * code after a message. */
#ifndef BP_CLI_OPERANDS_H
#define BP_CLI_OPERANDS_H

#include "cli/command/cli.h"
#include "cli/arrays/npy.h"

/* Reads a shape: "512x512", "8x64x32", "512", or "" for a scalar. */
int operand_shape(const char *text, int *ndim, int64_t *shape);

/* Makes a view without data; with `transposed`, in the layout of a transposed view. */
int operand_view(bp_view *view, bp_dtype dtype, int ndim, const int64_t *shape, bool transposed);

/* Applies --lda, --ldb or --ldc to a view without data: sets the distance between its rows, or between its columns if
 * it is `transposed`. */
int operand_leading(const cli_args *args, const char *option, bool transposed, bp_view *view);

/* Makes the options of --set; NULL if there are none. The caller frees them with bp_options_release(). */
int operand_options(const cli_args *args, bp_options **options);

/* Reads an array, and makes a view of it. */
int operand_read(const char *path, unsigned flags, npy_array *array, bp_view *view);

/* Allocates a result of zeros, and makes a view of it. */
int operand_result(npy_array *array, bp_view *view, bp_dtype dtype, int ndim, const int64_t *shape);

/* Returns the transform that --trans-a, --conj-a, ... select. */
bp_transform operand_transform(const cli_args *args, const char *transpose, const char *conjugate);

/* Computes the shape of op(a) @ op(b) for bp_gemm(). */
int operand_gemm_shape(const bp_view *a, bp_transform transform_a, const bp_view *b, bp_transform transform_b,
                       int *ndim, int64_t *shape);

/* Reads "2" or "2,0.5" (real and imaginary part). *given: the option is there. */
int operand_scalar(const cli_args *args, const char *option, bp_scalar *scalar, bool *given);

/* Reads at most BP_MAX_NDIM whole numbers, such as "2" or "0,-1". *count is 0 if the option is not there. */
int operand_numbers(const cli_args *args, const char *option, int64_t *values, int *count);

/* Reads dimensions, such as "0,-1", that some array can have. Whether the input has them, the library checks. */
int operand_dims(const cli_args *args, const char *option, int *dims, int *count);

#endif
