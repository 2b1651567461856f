/* internal.h - declares tensor checks, overlap tests, strided copies and conversions for the operations. */
#ifndef BP_TENSOR_INTERNAL_H
#define BP_TENSOR_INTERNAL_H

#include "backplane/tensor.h"
#include "base/base.h"

/* Limit of a tensor's span in bytes: larger than every address space, and small enough that a sum of a few spans fits
 * into int64. */
#define BP__MAX_SPAN (INT64_C(1) << 60)

/* Computes the bytes that the tensor's elements span, relative to the address of the first one: [*low, *high). Refuses
 * a negative size (BP_E_SHAPE), and counts or spans above BP__MAX_SPAN bytes (BP_E_OVERFLOW). The dtype, rank and shape
 * must be valid. */
bp_status bp__tensor_extent(const DLTensor *tensor, const char *name, int64_t *low, int64_t *high);

/* Returns BP_OK if operations can take the tensor: not NULL, rank in range, shape present, no negative size, element
 * count and byte extent within BP__MAX_SPAN (BP_E_OVERFLOW), a known dtype, data present if there are elements (unless
 * `data_optional`), address a multiple of the element's natural alignment. Tensors on devices pass too. `name` ("a",
 * "out") is used in the message. */
bp_status bp__tensor_check(const DLTensor *tensor, const char *name, bool data_optional);
#ifdef __clang_analyzer__ /* the analyzer reads one file at a time and would assume that NULL passes this check */
#define bp__tensor_check(tensor, ...) ((tensor) ? bp__tensor_check(tensor, __VA_ARGS__) : BP_E_ARGUMENT)
#endif

/* Returns the address of the first element. It is computed as a number, because an unchecked offset of the caller may
 * point anywhere. */
static inline char *bp__tensor_data(const DLTensor *tensor) {
    return tensor->data ? (char *)((uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset) : (char *)0;
}

/* ---- Devices (device.c) ----
 *
 * A place is the number of a device: 0 for host memory of any kind, otherwise DLPack's device type and index. Managed
 * memory of CUDA is used like memory of the device. */
static inline int32_t bp__place_of(DLDevice device) {
    const int32_t given = (int32_t)device.device_type, type = given == kDLCUDAManaged ? kDLCUDA : given;
    const bool host = type == kDLCPU || type == kDLCUDAHost || type == kDLROCMHost;
    return host ? 0 : (int32_t)((uint32_t)type << 16 | ((uint32_t)device.device_id & 0xffffu));
}

/* Whether the place is a device of CUDA or ROCm, to which PyTorch's settings of cuda and cudnn apply. */
static inline bool bp__place_is_cuda(int32_t place) {
    return place >> 16 == kDLCUDA || place >> 16 == kDLROCM;
}

bool bp__tensor_on_host(const DLTensor *tensor);
const char *bp__tensor_device_text(DLDevice device, char *buffer, size_t size); /* "opencl:0", "the host" */

/* The devices of the tensors that bp__tensor_check() has accepted in this thread since bp__devices_note(). */
typedef struct bp__devices_noted {
    struct bp__devices_noted *outer;
    bool any;
    int32_t place;
    DLDevice device;
    char name[32]; /* of the first tensor */
    double bytes;  /* spanned by all of them */
} bp__devices_noted;

/* Begins to note; end it in the same function. Calls may be nested. */
void bp__devices_note(bp__devices_noted *noted);
void bp__devices_noted_end(const bp__devices_noted *noted);
/* Notes a tensor that spans `bytes`. Fails if it is on another device than those that were noted before. */
bp_status bp__tensor_note_device(const DLTensor *tensor, const char *name, int64_t bytes);

/* Returns whether a tensor on this device is spread over ranks (distributed.h). */
static inline bool bp__is_distributed(DLDevice device) {
    return device.device_type == kDLExtDev;
}

/* Fails unless the tensor, which bp__tensor_check() has accepted, is in host memory. */
bp_status bp__tensor_check_host(const DLTensor *tensor, const char *name);

/* Returns whether base and offset form an address. On other devices a base is a handle, and only offsets into the same
 * one can be compared. */
static inline bool bp__place_has_addresses(int32_t place) {
    const int32_t type = place >> 16;
    return type != kDLOpenCL && type != kDLVulkan && type != kDLMetal && type != kDLWebGPU &&
           type != kDLExtDev; /* distributed.h: the data is a bp_dist_view */
}

static inline bool bp__tensor_has_address(const DLTensor *tensor) {
    return bp__place_has_addresses(bp__place_of(tensor->device));
}

/* Returns whether both first elements are the same memory. */
static inline bool bp__tensor_same_start(const DLTensor *a, const DLTensor *b) {
    const bool handles = !bp__tensor_has_address(a) || !bp__tensor_has_address(b);
    return handles ? a->data == b->data && a->byte_offset == b->byte_offset &&
                         bp__place_of(a->device) == bp__place_of(b->device)
                   : bp__tensor_data(a) == bp__tensor_data(b);
}

/* Returns the position of the first element: its address, or its offset into the handle. */
static inline uintptr_t bp__tensor_position(const DLTensor *tensor) {
    return bp__tensor_has_address(tensor) ? (uintptr_t)bp__tensor_data(tensor) : (uintptr_t)tensor->byte_offset;
}

/* Computes the strides in elements, also if the tensor's strides are NULL. Sizes of 0 count as 1 in compact strides. */
void bp__tensor_strides(const DLTensor *tensor, int64_t *strides);

int64_t bp__tensor_elements(const DLTensor *tensor); /* after a successful check */

/* Computes the bytes that the tensor's elements span: [*low, *high) as addresses; low == high for an empty tensor. */
void bp__tensor_span(const DLTensor *tensor, uintptr_t *low, uintptr_t *high);

/* Returns whether two different indices of the tensor may address the same memory. The test is conservative: with
 * sorted strides, each must be at least as large as the span of the smaller ones; any other layout counts as
 * overlapping. */
bool bp__tensor_self_overlaps(const DLTensor *tensor);

/* Returns whether an element of one tensor shares a byte with an element of the other. Exact for the layouts of views
 * of one array (interleaved columns, panels of one matrix). If the search would take too long, a shared range counts as
 * overlap. */
bool bp__tensor_overlap(const DLTensor *a, const DLTensor *b);

/* Makes a managed tensor of the view: without a deleter, with the view's data and device. It is the first member of its
 * owner, which has `dims` for twice as many numbers as the tensor has dimensions: shape, then strides. */
void bp__tensor_manage(DLManagedTensorVersioned *managed, const bp_view *view, int64_t *dims);

/* Describes a tensor for messages: "f32 3x4 strides 4,1". */
const char *bp__tensor_text(const DLTensor *tensor, char *buffer, size_t size);

/* Copies src[i*src_row + j*src_column] to dst[i*dst_row + j*dst_column], conjugated on request; blocked, for packing.
 */
void bp__copy_matrix(bp_dtype dtype, int64_t rows, int64_t columns, void *dst, int64_t dst_row, int64_t dst_column,
                     const void *src, int64_t src_row, int64_t src_column, int conjugate);

/* Whether bp__copy_transposed() takes a matrix of these sizes and strides. */
#define BP__TRANSPOSED_TILE 8
bool bp__transposes_fast(size_t item, int64_t rows, int64_t columns, int64_t dst_row, int64_t src_column);
/* As bp__copy_matrix, where dst_column and src_row are 1. */
void bp__copy_transposed(size_t item, int64_t rows, int64_t columns, char *dst, int64_t dst_row, const char *src,
                         int64_t src_column, bool conjugate);

/* As bp__copy_matrix, between types: floating to floating, complex to complex, real to complex. Rounds once. */
void bp__convert_matrix(bp_dtype dst_type, bp_dtype src_type, int64_t rows, int64_t columns, void *dst, int64_t dst_row,
                        int64_t dst_column, const void *src, int64_t src_row, int64_t src_column);
bool bp__converts(bp_dtype dst_type, bp_dtype src_type);

/* Convert single values: round to nearest even; NaN stays NaN (quiet), overflow becomes infinity, denormals are kept.
 */
float bp__f16_to_f32(uint16_t bits);
uint16_t bp__f32_to_f16(float value);
uint16_t bp__f64_to_f16(double value); /* one rounding */
float bp__bf16_to_f32(uint16_t bits);
uint16_t bp__f32_to_bf16(float value);
uint16_t bp__f64_to_bf16(double value); /* one rounding */

#endif
