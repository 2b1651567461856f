/* tensor.h - creates DLPack tensors: views of the caller's memory, and tensors with memory of their own.
 *
 * Operations take a DLTensor of any rank up to BP_MAX_NDIM, with any strides (in elements; 0 and negative values are
 * allowed) and any byte offset. They read shape and strides during the call only and keep no pointer to them.
 * The memory is on the host (kDLCPU, or pinned: kDLCUDAHost, kDLROCMHost), or on a device of device.h. All functions
 * are thread-safe.
 */
#ifndef BACKPLANE_TENSOR_H
#define BACKPLANE_TENSOR_H

#include "backplane/dlpack.h"
#include "backplane/status.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_MAX_NDIM 64

/* The list of element types: number, NAME, text, DLPack code, bits. */
/* clang-format off */
#define BP_DTYPE_MAP(X)                       \
    X(1, F16, "f16", kDLFloat, 16)            \
    X(2, BF16, "bf16", kDLBfloat, 16)         \
    X(3, F32, "f32", kDLFloat, 32)            \
    X(4, F64, "f64", kDLFloat, 64)            \
    X(5, C64, "c64", kDLComplex, 64)          \
    X(6, C128, "c128", kDLComplex, 128)       \
    X(7, I8, "i8", kDLInt, 8)                 \
    X(8, I16, "i16", kDLInt, 16)              \
    X(9, I32, "i32", kDLInt, 32)              \
    X(10, I64, "i64", kDLInt, 64)             \
    X(11, U8, "u8", kDLUInt, 8)               \
    X(12, U16, "u16", kDLUInt, 16)            \
    X(13, U32, "u32", kDLUInt, 32)            \
    X(14, U64, "u64", kDLUInt, 64)            \
    X(15, BOOL, "bool", kDLBool, 8)
/* clang-format on */

typedef enum bp_dtype {
    BP_DTYPE_NONE = 0, /* not a supported type */
#define BP__ENTRY(number, name, text, code, bits) BP_##name = number,
    BP_DTYPE_MAP(BP__ENTRY)
#undef BP__ENTRY
} bp_dtype;

/* Returns "f32", "c128", ..., or "?" if the number is not a bp_dtype. */
BP_API const char *bp_dtype_name(bp_dtype dtype);

/* Returns the dtype with that name, or BP_DTYPE_NONE. Accepts the names of the list and the long names of NumPy and
 * PyTorch ("float32", "bfloat16", "complex128"). */
BP_API bp_dtype bp_dtype_from_name(const char *name);

/* Returns the size of one element in bytes, 0 for BP_DTYPE_NONE. */
BP_API size_t bp_dtype_size(bp_dtype dtype);

/* Converts a dtype to DLPack's form. */
BP_API DLDataType bp_dtype_to_dlpack(bp_dtype dtype);

/* Returns BP_DTYPE_NONE for an unsupported type, and for any type with lanes other than 1. */
BP_API bp_dtype bp_dtype_from_dlpack(DLDataType dtype);

/* A tensor with arrays for its shape and strides, for callers that have only a pointer to data. Pass &view.tensor to
 * operations. Do not copy a bp_view by value (assignment, memcpy, return from a function): tensor.shape and
 * tensor.strides point into the struct, so a copy would point into the original. Use bp_view_copy(). */
typedef struct bp_view {
    DLTensor tensor;
    int64_t shape[BP_MAX_NDIM];
    int64_t strides[BP_MAX_NDIM];
} bp_view;

/* Fills a view of CPU memory that the caller keeps. `shape` has ndim sizes; `strides` has ndim strides in elements, or
 * is NULL for compact row-major. Both are copied. Errors: BP_E_ARGUMENT (rank outside 0..BP_MAX_NDIM, NULL view or
 * shape), BP_E_SHAPE (a negative size), BP_E_DTYPE, BP_E_OVERFLOW (the extent in bytes does not fit). */
BP_API bp_status bp_view_init(bp_view *view, void *data, bp_dtype dtype, int ndim, const int64_t *shape,
                              const int64_t *strides);

/* Fills a view of a compact row-major matrix. Errors: as for bp_view_init(). */
BP_API bp_status bp_view_matrix(bp_view *view, void *data, bp_dtype dtype, int64_t rows, int64_t columns);

/* Copies a view: tensor.shape and tensor.strides of the copy point to the arrays of the copy. The tensor's memory is
 * not copied. Reads the arrays of `from` and not its pointers, so that `to` may be `from`: that rebinds a struct which
 * was copied by value. Strides of NULL (compact) stay NULL. Errors: BP_E_ARGUMENT (NULL, or a rank outside
 * 0..BP_MAX_NDIM); `to` is then unchanged. */
BP_API bp_status bp_view_copy(bp_view *to, const bp_view *from);

/* Allocates a compact row-major tensor of zeros in CPU memory, aligned to 64 bytes. Large tensors request huge pages.
 * Free it with tensor->deleter(tensor). Errors: as for bp_view_init(), and BP_E_NO_MEMORY. */
BP_API bp_status bp_tensor_new(DLManagedTensorVersioned **tensor, bp_dtype dtype, int ndim, const int64_t *shape);

/* Allocates a tensor with undefined contents, for results. `strides` is in elements; NULL means compact row-major.
 * Errors: as for bp_tensor_new(), BP_E_ARGUMENT (a negative stride), BP_E_OVERLAP (two elements have one address). */
BP_API bp_status bp_tensor_empty(DLManagedTensorVersioned **tensor, bp_dtype dtype, int ndim, const int64_t *shape,
                                 const int64_t *strides);

/* Copies src to dst: same shape, any strides. Converts between floating types (f16, bf16, f32, f64), between complex
 * types, and from real to complex. Rounds to nearest, ties to even. Errors: as for an operation's arguments,
 * BP_E_OVERLAP (dst overlaps src or itself), BP_E_DTYPE (conversion not supported), BP_E_CANCELLED (interrupt.h). */
BP_API bp_status bp_tensor_copy(DLTensor *dst, const DLTensor *src);

/* How a tensor is shown. A zeroed struct with struct_size set means the defaults, which are NumPy's. */
typedef struct bp_print_options {
    size_t struct_size;
    int precision;     /* most digits after the point; 0: 8 */
    int width;         /* characters in a line; 0: 75 */
    int edge;          /* elements shown at each end of a dimension of a large tensor; 0: 3 */
    int no_header;     /* leave out the first line */
    int64_t threshold; /* tensors with more elements are summarised; 0: 1000 */
} bp_print_options;

/* Writes a tensor to a file as text: a line with type and shape ("f64 (3, 4)"), then the values as NumPy prints them,
 * and a line end. `options` may be NULL. The decimal point is '.' in all locales. Errors: BP_E_ARGUMENT, BP_E_DTYPE,
 * BP_E_DEVICE, BP_E_IO, BP_E_NO_MEMORY. */
BP_API bp_status bp_tensor_print(FILE *file, const DLTensor *tensor, const bp_print_options *options);

/* Writes the same text into `buffer`, cut to `size` bytes with the final zero, as snprintf does. *length (may be NULL)
 * is the length of the whole text. `buffer` may be NULL if `size` is 0. */
BP_API bp_status bp_tensor_format(const DLTensor *tensor, const bp_print_options *options, char *buffer, size_t size,
                                  size_t *length);

#ifdef __cplusplus
}
#endif
#endif
