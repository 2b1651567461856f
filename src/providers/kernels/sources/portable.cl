/* portable.cl - defines the words for what OpenCL C and CUDA C++ write differently. CUDA's are in
 * cuda.cu. */
#ifdef __OPENCL_VERSION__
#define MAKE2(T, x, y) ((T)(x, y))
#define MAKE4(T, x, y, z, w) ((T)(x, y, z, w))
#define MAKE_STRUCT(T, ...) ((T){__VA_ARGS__})
#define SHARED __local /* an array that the work items of a group share */
#define GROUP_SIZE(x, y) __attribute__((reqd_work_group_size(x, y, 1)))
#ifdef HAS_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
/* A loop over elements that do not depend on each other. */
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#endif
