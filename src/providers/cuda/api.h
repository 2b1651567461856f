/* api.h - declares the types, functions and constants of CUDA's driver interface (libcuda.so.1, CUDA 11.4 or later)
 * that we use, also for the test that compares them with an installed cuda.h. Types have CUDA's names, so that they are
 * the same types as in its header. That test includes cuda.h first, and defines BP__CU_HEADER. */
#ifndef BP_PROVIDERS_CUDA_API_H
#define BP_PROVIDERS_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

#ifndef BP__CU_HEADER
/* Enumerations have 32 bits; their types here are the ones that compilers choose for them. */
typedef unsigned CUresult, CUdevice_attribute, CUmemorytype, CUstreamCaptureStatus, CUstreamCaptureMode,
    CUfunction_attribute;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUarray_st *CUarray;
typedef struct CUevent_st *CUevent;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

typedef struct CUuuid_st {
    char bytes[16];
} CUuuid;

typedef struct CUDA_MEMCPY3D_st {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void *reserved0;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void *reserved1;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

typedef struct CUDA_MEMCPY3D_PEER_st {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    CUcontext srcContext;
    size_t srcPitch, srcHeight;
    size_t dstXInBytes, dstY, dstZ, dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    CUcontext dstContext;
    size_t dstPitch, dstHeight;
    size_t WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D_PEER;
#endif

/* What a driver of any version has: X(name, symbol, parameters). All return a CUresult. The symbol is the version of
 * the function that we call; cuda.h has macros from the names to the newest one. */
/* clang-format off */
#define BP__CU_FIRST_FUNCTIONS(X)                                                                                      \
    X(Init, cuInit, (unsigned))                                                                                        \
    X(DriverGetVersion, cuDriverGetVersion, (int *))                                                                   \
    X(GetErrorName, cuGetErrorName, (CUresult, const char **))

/* What drivers have since CUDA 11.4. */
#define BP__CU_FUNCTIONS(X)                                                                                            \
    X(DeviceGetCount, cuDeviceGetCount, (int *))                                                                       \
    X(DeviceGet, cuDeviceGet, (CUdevice *, int))                                                                       \
    X(DeviceGetName, cuDeviceGetName, (char *, int, CUdevice))                                                         \
    X(DeviceGetUuid, cuDeviceGetUuid_v2, (CUuuid *, CUdevice))                                                         \
    X(DeviceTotalMem, cuDeviceTotalMem_v2, (size_t *, CUdevice))                                                       \
    X(DeviceGetAttribute, cuDeviceGetAttribute, (int *, CUdevice_attribute, CUdevice))                                 \
    X(DeviceCanAccessPeer, cuDeviceCanAccessPeer, (int *, CUdevice, CUdevice))                                         \
    X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                       \
    X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice))                                               \
    X(CtxGetCurrent, cuCtxGetCurrent, (CUcontext *))                                                                   \
    X(CtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext))                                                                \
    X(CtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext *))                                                                \
    X(CtxGetDevice, cuCtxGetDevice, (CUdevice *))                                                                      \
    X(CtxEnablePeerAccess, cuCtxEnablePeerAccess, (CUcontext, unsigned))                                               \
    X(MemAlloc, cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                                \
    X(MemFree, cuMemFree_v2, (CUdeviceptr))                                                                            \
    X(MemAllocAsync, cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream))                                               \
    X(MemFreeAsync, cuMemFreeAsync, (CUdeviceptr, CUstream))                                                           \
    X(MemGetAddressRange, cuMemGetAddressRange_v2, (CUdeviceptr *, size_t *, CUdeviceptr))                             \
    X(MemHostAlloc, cuMemHostAlloc, (void **, size_t, unsigned))                                                       \
    X(MemFreeHost, cuMemFreeHost, (void *))                                                                            \
    X(MemsetD8Async, cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream))                                  \
    X(MemsetD2D8Async, cuMemsetD2D8Async, (CUdeviceptr, size_t, unsigned char, size_t, size_t, CUstream))              \
    X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (CUdeviceptr, const void *, size_t, CUstream))                            \
    X(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *, CUdeviceptr, size_t, CUstream))                                  \
    X(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                             \
    X(Memcpy3DAsync, cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *, CUstream))                                            \
    X(MemcpyPeerAsync, cuMemcpyPeerAsync, (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream))          \
    X(Memcpy3DPeerAsync, cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER *, CUstream))                                  \
    X(StreamCreate, cuStreamCreate, (CUstream *, unsigned))                                                            \
    X(StreamDestroy, cuStreamDestroy_v2, (CUstream))                                                                   \
    X(StreamGetCtx, cuStreamGetCtx, (CUstream, CUcontext *))                                                           \
    X(StreamWaitEvent, cuStreamWaitEvent, (CUstream, CUevent, unsigned))                                               \
    X(StreamIsCapturing, cuStreamIsCapturing, (CUstream, CUstreamCaptureStatus *))                                     \
    X(StreamBeginCapture, cuStreamBeginCapture_v2, (CUstream, CUstreamCaptureMode))                                    \
    X(StreamEndCapture, cuStreamEndCapture, (CUstream, CUgraph *))                                                     \
    X(ThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *))                     \
    X(GraphInstantiate, cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long))                     \
    X(GraphLaunch, cuGraphLaunch, (CUgraphExec, CUstream))                                                             \
    X(GraphDestroy, cuGraphDestroy, (CUgraph))                                                                         \
    X(GraphExecDestroy, cuGraphExecDestroy, (CUgraphExec))                                                             \
    X(EventCreate, cuEventCreate, (CUevent *, unsigned))                                                               \
    X(EventDestroy, cuEventDestroy_v2, (CUevent))                                                                      \
    X(EventRecord, cuEventRecord, (CUevent, CUstream))                                                                 \
    X(EventQuery, cuEventQuery, (CUevent))                                                                             \
    X(EventSynchronize, cuEventSynchronize, (CUevent))                                                                 \
    X(EventElapsedTime, cuEventElapsedTime, (float *, CUevent, CUevent))                                               \
    X(ModuleLoadData, cuModuleLoadData, (CUmodule *, const void *))                                                    \
    X(ModuleUnload, cuModuleUnload, (CUmodule))                                                                        \
    X(ModuleGetFunction, cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                                  \
    X(FuncGetAttribute, cuFuncGetAttribute, (int *, CUfunction_attribute, CUfunction))                                 \
    X(LaunchKernel, cuLaunchKernel, (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                                     CUstream, void **, void **))

/* X(name without "CU_", number) */
#define BP__CU_NUMBERS(X)                                                                                              \
    X(MEMORYTYPE_HOST, 1) X(MEMORYTYPE_DEVICE, 2)                                                                      \
    X(STREAM_NON_BLOCKING, 1) X(EVENT_DISABLE_TIMING, 2) X(MEMHOSTALLOC_PORTABLE, 1)                                   \
    X(STREAM_CAPTURE_STATUS_NONE, 0) X(STREAM_CAPTURE_STATUS_ACTIVE, 1) X(STREAM_CAPTURE_STATUS_INVALIDATED, 2)        \
    X(STREAM_CAPTURE_MODE_GLOBAL, 0) X(STREAM_CAPTURE_MODE_THREAD_LOCAL, 1) X(STREAM_CAPTURE_MODE_RELAXED, 2)          \
    X(DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1) X(DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8)                    \
    X(DEVICE_ATTRIBUTE_WARP_SIZE, 10) X(DEVICE_ATTRIBUTE_CLOCK_RATE, 13)                                               \
    X(DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16) X(DEVICE_ATTRIBUTE_INTEGRATED, 18)                                    \
    X(DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 36) X(DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 37)                          \
    X(DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 38) X(DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                             \
    X(DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76) X(DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)         \
    X(DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 115) X(FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0)

/* The errors that we treat apart: X(name without "CUDA_ERROR_", number) */
#define BP__CU_ERRORS(X)                                                                                               \
    X(INVALID_VALUE, 1) X(OUT_OF_MEMORY, 2) X(NOT_INITIALIZED, 3) X(DEINITIALIZED, 4) X(STUB_LIBRARY, 34)              \
    X(DEVICE_UNAVAILABLE, 46) X(NO_DEVICE, 100) X(INVALID_CONTEXT, 201) X(ECC_UNCORRECTABLE, 214)                      \
    X(NVLINK_UNCORRECTABLE, 220) X(INVALID_HANDLE, 400) X(NOT_READY, 600) X(ILLEGAL_ADDRESS, 700)                      \
    X(LAUNCH_TIMEOUT, 702) X(PEER_ACCESS_ALREADY_ENABLED, 704) X(CONTEXT_IS_DESTROYED, 709) X(ASSERT, 710)             \
    X(HARDWARE_STACK_ERROR, 714) X(ILLEGAL_INSTRUCTION, 715) X(MISALIGNED_ADDRESS, 716)                                \
    X(INVALID_ADDRESS_SPACE, 717) X(INVALID_PC, 718) X(LAUNCH_FAILED, 719) X(NOT_SUPPORTED, 801)                       \
    X(SYSTEM_NOT_READY, 802) X(SYSTEM_DRIVER_MISMATCH, 803) X(MPS_CLIENT_TERMINATED, 810)                              \
    X(STREAM_CAPTURE_UNSUPPORTED, 900) X(STREAM_CAPTURE_INVALIDATED, 901) X(STREAM_CAPTURE_IMPLICIT, 906)              \
    X(CAPTURED_EVENT, 907) X(UNKNOWN, 999)
/* clang-format on */

enum {
#define X(name, number) BP__CU_##name = number,
    BP__CU_SUCCESS = 0,
    BP__CU_NUMBERS(X) BP__CU_ERRORS(X)
#undef X
};

/* Handles that name no stream of their own: the legacy default stream, also 0, and the default stream of the calling
 * thread. */
#define BP__CU_STREAM_LEGACY ((CUstream)0x1)
#define BP__CU_STREAM_PER_THREAD ((CUstream)0x2)

/* The functions of a loaded library. */
typedef struct bp__cu_api {
#define X(name, symbol, parameters) CUresult(*name) parameters;
    BP__CU_FIRST_FUNCTIONS(X)
    BP__CU_FUNCTIONS(X)
#undef X
} bp__cu_api;

#endif
