/* layout_fields.h - lists the members of the structs that we pass to CUDA's driver, for the comparison of our
 * definitions with the ones of cuda.h. */
#ifndef BP_TESTS_CUDA_LAYOUT_FIELDS_H
#define BP_TESTS_CUDA_LAYOUT_FIELDS_H

#include <stddef.h>

/* clang-format off */
#define SHARED_FIELDS(X, type)                                                                                         \
    X(type, srcXInBytes) X(type, srcY) X(type, srcZ) X(type, srcLOD) X(type, srcMemoryType) X(type, srcHost)           \
    X(type, srcDevice) X(type, srcArray) X(type, srcPitch) X(type, srcHeight) X(type, dstXInBytes) X(type, dstY)       \
    X(type, dstZ) X(type, dstLOD) X(type, dstMemoryType) X(type, dstHost) X(type, dstDevice) X(type, dstArray)         \
    X(type, dstPitch) X(type, dstHeight) X(type, WidthInBytes) X(type, Height) X(type, Depth)
#define LAYOUT_FIELDS(X)                                                                                               \
    SHARED_FIELDS(X, CUDA_MEMCPY3D) X(CUDA_MEMCPY3D, reserved0) X(CUDA_MEMCPY3D, reserved1)                            \
    SHARED_FIELDS(X, CUDA_MEMCPY3D_PEER) X(CUDA_MEMCPY3D_PEER, srcContext) X(CUDA_MEMCPY3D_PEER, dstContext)           \
    X(CUuuid, bytes)
/* The place and the size of a member. */
#define LAYOUT_OF(type, field) {offsetof(type, field), sizeof(((type *)0)->field)},
#define LAYOUT_SIZES {sizeof(CUDA_MEMCPY3D), sizeof(CUDA_MEMCPY3D_PEER)}, {sizeof(CUuuid), sizeof(CUresult)}, {0, 0}
/* clang-format on */

/* Of our definitions; ends with zeros. */
extern const size_t our_layouts[][2];

#endif
