/* api.h - declares the types, functions and constants of OpenCL 1.2 that we use, also for the test that compares them
 * with an installed CL/cl.h. Types have OpenCL's names, so that they are the same types as in its header. */
#ifndef BP_PROVIDERS_OPENCL_API_H
#define BP_PROVIDERS_OPENCL_API_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef cl_uint cl_bool;
typedef cl_ulong cl_bitfield;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;

/* X(result, name without "cl", parameters) */
/* clang-format off */
#define BP__CL_FUNCTIONS(X)                                                                                            \
    X(cl_int, GetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *))                                                  \
    X(cl_int, GetPlatformInfo, (cl_platform_id, cl_uint, size_t, void *, size_t *))                                    \
    X(cl_int, GetDeviceIDs, (cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *))                         \
    X(cl_int, GetDeviceInfo, (cl_device_id, cl_uint, size_t, void *, size_t *))                                        \
    X(cl_context, CreateContext, (const intptr_t *, cl_uint, const cl_device_id *,                                     \
                                  void (*)(const char *, const void *, size_t, void *), void *, cl_int *))             \
    X(cl_int, RetainContext, (cl_context))                                                                             \
    X(cl_int, ReleaseContext, (cl_context))                                                                            \
    X(cl_int, GetContextInfo, (cl_context, cl_uint, size_t, void *, size_t *))                                         \
    X(cl_command_queue, CreateCommandQueue, (cl_context, cl_device_id, cl_bitfield, cl_int *))                         \
    X(cl_int, RetainCommandQueue, (cl_command_queue))                                                                  \
    X(cl_int, ReleaseCommandQueue, (cl_command_queue))                                                                 \
    X(cl_int, GetCommandQueueInfo, (cl_command_queue, cl_uint, size_t, void *, size_t *))                              \
    X(cl_int, Flush, (cl_command_queue))                                                                               \
    X(cl_int, Finish, (cl_command_queue))                                                                              \
    X(cl_mem, CreateBuffer, (cl_context, cl_bitfield, size_t, void *, cl_int *))                                       \
    X(cl_int, ReleaseMemObject, (cl_mem))                                                                              \
    X(cl_int, GetMemObjectInfo, (cl_mem, cl_uint, size_t, void *, size_t *))                                           \
    X(cl_int, EnqueueReadBuffer, (cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint,                  \
                                  const cl_event *, cl_event *))                                                       \
    X(cl_int, EnqueueWriteBuffer, (cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint,           \
                                   const cl_event *, cl_event *))                                                      \
    X(cl_int, EnqueueCopyBuffer, (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint,                   \
                                  const cl_event *, cl_event *))                                                       \
    X(cl_int, EnqueueReadBufferRect, (cl_command_queue, cl_mem, cl_bool, const size_t *, const size_t *,               \
                                      const size_t *, size_t, size_t, size_t, size_t, void *, cl_uint,                 \
                                      const cl_event *, cl_event *))                                                   \
    X(cl_int, EnqueueWriteBufferRect, (cl_command_queue, cl_mem, cl_bool, const size_t *, const size_t *,              \
                                       const size_t *, size_t, size_t, size_t, size_t, const void *, cl_uint,          \
                                       const cl_event *, cl_event *))                                                  \
    X(cl_int, EnqueueCopyBufferRect, (cl_command_queue, cl_mem, cl_mem, const size_t *, const size_t *,                \
                                      const size_t *, size_t, size_t, size_t, size_t, cl_uint, const cl_event *,       \
                                      cl_event *))                                                                     \
    X(void *, EnqueueMapBuffer, (cl_command_queue, cl_mem, cl_bool, cl_bitfield, size_t, size_t, cl_uint,              \
                                 const cl_event *, cl_event *, cl_int *))                                              \
    X(cl_int, EnqueueUnmapMemObject, (cl_command_queue, cl_mem, void *, cl_uint, const cl_event *, cl_event *))        \
    X(cl_int, EnqueueMarkerWithWaitList, (cl_command_queue, cl_uint, const cl_event *, cl_event *))                    \
    X(cl_int, EnqueueBarrierWithWaitList, (cl_command_queue, cl_uint, const cl_event *, cl_event *))                   \
    X(cl_int, EnqueueNDRangeKernel, (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *,             \
                                     const size_t *, cl_uint, const cl_event *, cl_event *))                           \
    X(cl_program, CreateProgramWithSource, (cl_context, cl_uint, const char **, const size_t *, cl_int *))             \
    X(cl_program, CreateProgramWithBinary, (cl_context, cl_uint, const cl_device_id *, const size_t *,                 \
                                            const unsigned char **, cl_int *, cl_int *))                               \
    X(cl_int, BuildProgram, (cl_program, cl_uint, const cl_device_id *, const char *, void (*)(cl_program, void *),    \
                             void *))                                                                                  \
    X(cl_int, ReleaseProgram, (cl_program))                                                                            \
    X(cl_int, GetProgramInfo, (cl_program, cl_uint, size_t, void *, size_t *))                                         \
    X(cl_int, GetProgramBuildInfo, (cl_program, cl_device_id, cl_uint, size_t, void *, size_t *))                      \
    X(cl_kernel, CreateKernel, (cl_program, const char *, cl_int *))                                                   \
    X(cl_int, ReleaseKernel, (cl_kernel))                                                                              \
    X(cl_int, SetKernelArg, (cl_kernel, cl_uint, size_t, const void *))                                                \
    X(cl_int, GetKernelWorkGroupInfo, (cl_kernel, cl_device_id, cl_uint, size_t, void *, size_t *))                    \
    X(cl_event, CreateUserEvent, (cl_context, cl_int *))                                                               \
    X(cl_int, SetUserEventStatus, (cl_event, cl_int))                                                                  \
    X(cl_int, SetEventCallback, (cl_event, cl_int, void (*)(cl_event, cl_int, void *), void *))                        \
    X(cl_int, WaitForEvents, (cl_uint, const cl_event *))                                                              \
    X(cl_int, GetEventInfo, (cl_event, cl_uint, size_t, void *, size_t *))                                             \
    X(cl_int, GetEventProfilingInfo, (cl_event, cl_uint, size_t, void *, size_t *))                                    \
    X(cl_int, RetainEvent, (cl_event))                                                                                 \
    X(cl_int, ReleaseEvent, (cl_event))

/* X(name without "CL_", number) */
#define BP__CL_NUMBERS(X)                                                                                              \
    X(SUCCESS, 0) X(COMPLETE, 0)                                                                                       \
    X(PLATFORM_VERSION, 0x901) X(PLATFORM_NAME, 0x902)                                                                 \
    X(DEVICE_TYPE_CPU, 2) X(DEVICE_TYPE_GPU, 4) X(DEVICE_TYPE_ACCELERATOR, 8)                                          \
    X(DEVICE_TYPE, 0x1000) X(DEVICE_MAX_COMPUTE_UNITS, 0x1002) X(DEVICE_MAX_WORK_GROUP_SIZE, 0x1004)                   \
    X(DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, 0x100A) X(DEVICE_MAX_CLOCK_FREQUENCY, 0x100C)                               \
    X(DEVICE_MAX_MEM_ALLOC_SIZE, 0x1010) X(DEVICE_MAX_PARAMETER_SIZE, 0x1017) X(DEVICE_MEM_BASE_ADDR_ALIGN, 0x1019)    \
    X(DEVICE_GLOBAL_MEM_CACHE_SIZE, 0x101E) X(DEVICE_GLOBAL_MEM_SIZE, 0x101F) X(DEVICE_LOCAL_MEM_SIZE, 0x1023) X(DEVICE_AVAILABLE, 0x1027)                     \
    X(DEVICE_COMPILER_AVAILABLE, 0x1028) X(DEVICE_QUEUE_PROPERTIES, 0x102A) X(DEVICE_NAME, 0x102B)                     \
    X(DEVICE_VENDOR, 0x102C) X(DRIVER_VERSION, 0x102D) X(DEVICE_VERSION, 0x102F) X(DEVICE_EXTENSIONS, 0x1030)          \
    X(DEVICE_DOUBLE_FP_CONFIG, 0x1032) X(DEVICE_HOST_UNIFIED_MEMORY, 0x1035)                                           \
    X(CONTEXT_DEVICES, 0x1081)                                                                                         \
    X(QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 1) X(QUEUE_PROFILING_ENABLE, 2)                                             \
    X(QUEUE_CONTEXT, 0x1090) X(QUEUE_DEVICE, 0x1091) X(QUEUE_PROPERTIES, 0x1093)                                       \
    X(MEM_READ_WRITE, 1) X(MEM_SIZE, 0x1102) X(MEM_CONTEXT, 0x1106) X(MAP_READ, 1) X(MAP_WRITE, 2)                     \
    X(PROGRAM_NUM_DEVICES, 0x1162) X(PROGRAM_DEVICES, 0x1163) X(PROGRAM_BINARY_SIZES, 0x1165)                          \
    X(PROGRAM_BINARIES, 0x1166) X(PROGRAM_BUILD_LOG, 0x1183)                                                           \
    X(KERNEL_WORK_GROUP_SIZE, 0x11B0)                                                                                  \
    X(EVENT_COMMAND_QUEUE, 0x11D0) X(EVENT_COMMAND_EXECUTION_STATUS, 0x11D3) X(EVENT_CONTEXT, 0x11D4)                                                 \
    X(PROFILING_COMMAND_START, 0x1282) X(PROFILING_COMMAND_END, 0x1283)

/* As BP__CL_NUMBERS, for the extensions in CL/cl_ext.h. */
#define BP__CL_EXTENSION_NUMBERS(X)                                                                                    \
    X(DEVICE_UUID_KHR, 0x106A) X(DEVICE_WARP_SIZE_NV, 0x4003) X(DEVICE_WAVEFRONT_WIDTH_AMD, 0x4043)                    \
    X(DEVICE_SUB_GROUP_SIZES_INTEL, 0x4108) X(PLATFORM_NOT_FOUND_KHR, -1001)

/* The errors: X(name without "CL_", number) */
#define BP__CL_ERRORS(X)                                                                                               \
    X(DEVICE_NOT_FOUND, -1) X(DEVICE_NOT_AVAILABLE, -2) X(COMPILER_NOT_AVAILABLE, -3)                                  \
    X(MEM_OBJECT_ALLOCATION_FAILURE, -4) X(OUT_OF_RESOURCES, -5) X(OUT_OF_HOST_MEMORY, -6)                             \
    X(PROFILING_INFO_NOT_AVAILABLE, -7) X(MEM_COPY_OVERLAP, -8) X(IMAGE_FORMAT_MISMATCH, -9)                           \
    X(IMAGE_FORMAT_NOT_SUPPORTED, -10) X(BUILD_PROGRAM_FAILURE, -11) X(MAP_FAILURE, -12)                               \
    X(MISALIGNED_SUB_BUFFER_OFFSET, -13) X(EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -14)                             \
    X(COMPILE_PROGRAM_FAILURE, -15) X(LINKER_NOT_AVAILABLE, -16) X(LINK_PROGRAM_FAILURE, -17)                          \
    X(DEVICE_PARTITION_FAILED, -18) X(KERNEL_ARG_INFO_NOT_AVAILABLE, -19) X(INVALID_VALUE, -30)                        \
    X(INVALID_DEVICE_TYPE, -31) X(INVALID_PLATFORM, -32) X(INVALID_DEVICE, -33) X(INVALID_CONTEXT, -34)                \
    X(INVALID_QUEUE_PROPERTIES, -35) X(INVALID_COMMAND_QUEUE, -36) X(INVALID_HOST_PTR, -37)                            \
    X(INVALID_MEM_OBJECT, -38) X(INVALID_IMAGE_FORMAT_DESCRIPTOR, -39) X(INVALID_IMAGE_SIZE, -40)                      \
    X(INVALID_SAMPLER, -41) X(INVALID_BINARY, -42) X(INVALID_BUILD_OPTIONS, -43) X(INVALID_PROGRAM, -44)               \
    X(INVALID_PROGRAM_EXECUTABLE, -45) X(INVALID_KERNEL_NAME, -46) X(INVALID_KERNEL_DEFINITION, -47)                   \
    X(INVALID_KERNEL, -48) X(INVALID_ARG_INDEX, -49) X(INVALID_ARG_VALUE, -50) X(INVALID_ARG_SIZE, -51)                \
    X(INVALID_KERNEL_ARGS, -52) X(INVALID_WORK_DIMENSION, -53) X(INVALID_WORK_GROUP_SIZE, -54)                         \
    X(INVALID_WORK_ITEM_SIZE, -55) X(INVALID_GLOBAL_OFFSET, -56) X(INVALID_EVENT_WAIT_LIST, -57)                       \
    X(INVALID_EVENT, -58) X(INVALID_OPERATION, -59) X(INVALID_GL_OBJECT, -60) X(INVALID_BUFFER_SIZE, -61)              \
    X(INVALID_MIP_LEVEL, -62) X(INVALID_GLOBAL_WORK_SIZE, -63) X(INVALID_PROPERTY, -64)                                \
    X(INVALID_IMAGE_DESCRIPTOR, -65) X(INVALID_COMPILER_OPTIONS, -66) X(INVALID_LINKER_OPTIONS, -67)                   \
    X(INVALID_DEVICE_PARTITION_COUNT, -68)
/* clang-format on */

enum {
#define X(name, number) BP__CL_##name = number,
    BP__CL_NUMBERS(X) BP__CL_EXTENSION_NUMBERS(X) BP__CL_ERRORS(X)
#undef X
};

/* The functions of a loaded library. */
typedef struct bp__cl_api {
#define X(result, name, parameters) result(*name) parameters;
    BP__CL_FUNCTIONS(X)
#undef X
} bp__cl_api;

#endif
