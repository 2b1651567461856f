/* tensor.h - tensors at the boundary are DLPack's DLTensor; this header makes one in a line.
 *
 * Any rank up to BP_MAX_NDIM, any strides (in elements; zero and negative too), any byte offset. The library reads
 * shape and strides during the call only and never keeps a pointer to them. Only CPU memory (kDLCPU) and pinned host
 * memory (kDLCUDAHost, kDLROCMHost) are accepted by the operations of this version.
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

/* The one list of element types: number, NAME, text, DLPack code, bits. */
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
    BP_DTYPE_NONE = 0, /* not one of ours */
#define X(number, name, text, code, bits) BP_##name = number,
    BP_DTYPE_MAP(X)
#undef X
} bp_dtype;

/* "f32" and so on; "?" for a number that is not a bp_dtype. */
BP_API const char *bp_dtype_name(bp_dtype dtype);

/* The dtype with that name, BP_DTYPE_NONE when there is none. NumPy's and PyTorch's long names ("float32",
 * "bfloat16", "complex128") are understood too. */
BP_API bp_dtype bp_dtype_from_name(const char *name);

/* Bytes of one element, 0 for BP_DTYPE_NONE. */
BP_API size_t bp_dtype_size(bp_dtype dtype);

BP_API DLDataType bp_dtype_to_dlpack(bp_dtype dtype);

/* BP_DTYPE_NONE for a type that Backplane does not know (lanes other than 1 among them). */
BP_API bp_dtype bp_dtype_from_dlpack(DLDataType dtype);

/* A tensor with its own shape and strides, for callers who have only a pointer. Pass &view.tensor to operations.
 * Do not copy the struct: the tensor points into it. */
typedef struct bp_view {
    DLTensor tensor;
    int64_t shape[BP_MAX_NDIM];
    int64_t strides[BP_MAX_NDIM];
} bp_view;

/* Fills a view of CPU memory. `strides` in elements, NULL for compact row-major. Errors: BP_E_ARGUMENT (rank outside
 * 0..BP_MAX_NDIM, NULL view or shape), BP_E_SHAPE (a negative size), BP_E_DTYPE, BP_E_OVERFLOW. */
BP_API bp_status bp_view_init(bp_view *view, void *data, bp_dtype dtype, int ndim, const int64_t *shape,
                              const int64_t *strides);

/* A row-major rows x columns matrix at `data`; the same errors. */
BP_API bp_status bp_view_matrix(bp_view *view, void *data, bp_dtype dtype, int64_t rows, int64_t columns);

/* Makes a compact row-major tensor of zeros in fresh CPU memory, aligned to 64 bytes, with huge pages asked for where
 * that pays. The caller ends its life with tensor->deleter(tensor). Errors as bp_view_init, and BP_E_NO_MEMORY. */
BP_API bp_status bp_tensor_new(DLManagedTensorVersioned **tensor, bp_dtype dtype, int ndim, const int64_t *shape);

/* The same with whatever the memory held before in place of zeros, for results, and with strides (NULL: compact
 * row-major), none of them negative (BP_E_ARGUMENT) and no two elements at one place (BP_E_OVERLAP). */
BP_API bp_status bp_tensor_empty(DLManagedTensorVersioned **tensor, bp_dtype dtype, int ndim, const int64_t *shape,
                                 const int64_t *strides);

/* Copies src into dst: same shape, any strides, converting between floating types (f16, bf16, f32, f64), between
 * complex types, and from real to complex; rounding is to nearest, ties to even. dst must not overlap src
 * (BP_E_OVERLAP). BP_E_CANCELLED: stopped by the thread's interrupt check (interrupt.h). */
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
BP_API bp_status bp_tensor_format(char *buffer, size_t size, size_t *length, const DLTensor *tensor,
                                  const bp_print_options *options);

#ifdef __cplusplus
}
#endif
#endif
