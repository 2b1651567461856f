/* internal.h - checks, broadcasting and strided copies for the operations. */
#ifndef BP_TENSOR_INTERNAL_H
#define BP_TENSOR_INTERNAL_H

#include "backplane/tensor.h"
#include "base/base.h"

/* No tensor spans more bytes: above every address space, and low enough that sums of a few spans stay within int64. */
#define BP__MAX_SPAN (INT64_C(1) << 60)

/* The bytes that the tensor's elements span, relative to the address of the first one: [*low, *high). Refuses a
 * negative size (BP_E_SHAPE), and counts or spans above BP__MAX_SPAN bytes (BP_E_OVERFLOW). The dtype must be known,
 * rank and shape in order. */
bp_status bp__tensor_extent(const DLTensor *tensor, const char *name, int64_t *low, int64_t *high);

/* BP_OK when the struct is one that operations can take: not NULL, rank in range, shape present, no negative size,
 * element count and byte extent within BP__MAX_SPAN (BP_E_OVERFLOW), a known dtype, host memory, data present when
 * there are elements (unless `data_optional`), address a multiple of the element's natural alignment. `name` ("a",
 * "out") goes into the sentence. */
bp_status bp__tensor_check(const DLTensor *tensor, const char *name, bool data_optional);
#ifdef __clang_analyzer__ /* it sees one file at a time, and would have NULL pass this */
#define bp__tensor_check(tensor, ...) ((tensor) ? bp__tensor_check(tensor, __VA_ARGS__) : BP_E_ARGUMENT)
#endif

/* The address of the first element. As a number, since an offset from outside may lead anywhere until it is checked. */
static inline char *bp__tensor_data(const DLTensor *tensor) {
    return tensor->data ? (char *)((uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset) : (char *)0;
}

/* Whether base and offset make an address. Elsewhere a base is a handle, and only offsets into the same one compare. */
static inline bool bp__tensor_has_address(const DLTensor *tensor) {
    DLDeviceType type = tensor->device.device_type;
    return type != kDLOpenCL && type != kDLVulkan && type != kDLMetal && type != kDLWebGPU;
}

/* Where the first element lies: its address, or its offset into the handle. */
static inline uintptr_t bp__tensor_position(const DLTensor *tensor) {
    return bp__tensor_has_address(tensor) ? (uintptr_t)bp__tensor_data(tensor) : (uintptr_t)tensor->byte_offset;
}

/* Stride of a dimension in elements, also where strides is NULL. Sizes of 0 count as 1 in compact strides. */
void bp__tensor_strides(const DLTensor *tensor, int64_t *strides);

int64_t bp__tensor_elements(const DLTensor *tensor); /* after a successful check */

/* The bytes that the tensor's elements span: [*low, *high) as addresses; empty tensors give low == high. */
void bp__tensor_span(const DLTensor *tensor, uintptr_t *low, uintptr_t *high);

/* True when two distinct index tuples of the tensor can reach the same memory. Sufficient test: sorted strides, each at
 * least as large as the span of the smaller ones; a layout that fails it counts as overlapping. */
bool bp__tensor_self_overlaps(const DLTensor *tensor);

/* True when some element of one shares a byte with some element of the other. Exact for the layouts that views of one
 * array have (interleaved columns, panels of one matrix); where the search would take too long, a shared range counts
 * as overlap. */
bool bp__tensor_overlap(const DLTensor *a, const DLTensor *b);

/* "f32 3x4 strides 4,1" for messages. */
const char *bp__tensor_text(const DLTensor *tensor, char *buffer, size_t size);

/* dst[i*dst_row + j*dst_column] = src[...], conjugated on request: blocked, for packing. */
void bp__copy_matrix(bp_dtype dtype, int64_t rows, int64_t columns, void *dst, int64_t dst_row, int64_t dst_column,
                     const void *src, int64_t src_row, int64_t src_column, int conjugate);

/* Its part for elements of 4, 8 or 16 bytes, where dst_column and src_row are 1, and neither side is shorter than a
 * tile. */
#define BP__TURNED_TILE 8
void bp__copy_transposed(size_t item, int64_t rows, int64_t columns, char *dst, int64_t dst_row, const char *src,
                         int64_t src_column, bool conjugate);

/* The same between types: floating to floating, complex to complex, real to complex. Rounds once. */
void bp__convert_matrix(bp_dtype dst_type, bp_dtype src_type, int64_t rows, int64_t columns, void *dst, int64_t dst_row,
                        int64_t dst_column, const void *src, int64_t src_row, int64_t src_column);
bool bp__converts(bp_dtype dst_type, bp_dtype src_type);

/* Single values: to nearest even; NaN stays NaN (quiet), overflow becomes infinity, denormals are kept. */
float bp__f16_to_f32(uint16_t bits);
uint16_t bp__f32_to_f16(float value);
uint16_t bp__f64_to_f16(double value); /* one rounding */
float bp__bf16_to_f32(uint16_t bits);
uint16_t bp__f32_to_bf16(float value);
uint16_t bp__f64_to_bf16(double value); /* one rounding */

#endif
