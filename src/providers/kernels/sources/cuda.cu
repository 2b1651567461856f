/* cuda.cu - makes CUDA C++ take the kernels of this folder: it includes their source.
 *
 * It defines the words of portable.cl, and of OpenCL C 1.2 what the kernels use: qualifiers, numbers of work items,
 * integer functions, conversions, and arithmetic of vectors. Functions without a qualifier are compiled for the device
 * (option --device-as-default-execution-space), and products and sums are not contracted (--fmad=false). */
#define __global
#define __local
#define __private
#define __constant const
#define restrict __restrict__
#define __kernel extern "C" __global__

#define MAKE2(T, x, y) (bp_vector<T>::of(x, y))
#define MAKE4(T, x, y, z, w) (bp_vector<T>::of(x, y, z, w))
#define MAKE_STRUCT(T, ...) (T{__VA_ARGS__})
#define SHARED __shared__
#ifdef GROUPS /* so many groups shall run on a multiprocessor at once, which limits their registers */
#define GROUP_SIZE(x, y) __launch_bounds__((x) * (y), GROUPS)
#else
#define GROUP_SIZE(x, y) __launch_bounds__((x) * (y))
#endif
#define INDEPENDENT

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define FLT_MAX 3.402823466e+38f
#define DBL_MAX 1.7976931348623157e+308
#define CHAR_MIN (-128)
#define CHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-SHRT_MAX - 1)
#define USHRT_MAX 65535
#define UINT_MAX 0xffffffffu
#define INT_MAX 0x7fffffff
#define INT_MIN (-INT_MAX - 1)
#define LONG_MAX 0x7fffffffffffffffL
#define LONG_MIN (-LONG_MAX - 1)
#define ULONG_MAX 0xffffffffffffffffUL

/* ---- Work items ---- */

#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define barrier(fence) __syncthreads()

inline ulong get_local_id(int d) {
    return d == 0 ? threadIdx.x : d == 1 ? threadIdx.y : threadIdx.z;
}
inline ulong get_local_size(int d) {
    return d == 0 ? blockDim.x : d == 1 ? blockDim.y : blockDim.z;
}
inline ulong get_group_id(int d) {
    return d == 0 ? blockIdx.x : d == 1 ? blockIdx.y : blockIdx.z;
}
inline ulong get_num_groups(int d) {
    return d == 0 ? gridDim.x : d == 1 ? gridDim.y : gridDim.z;
}
inline ulong get_global_id(int d) {
    return get_group_id(d) * get_local_size(d) + get_local_id(d);
}
inline ulong get_global_size(int d) {
    return get_num_groups(d) * get_local_size(d);
}

/* ---- Bits and integers ---- */

inline float as_float(uint x) {
    return __uint_as_float(x);
}
inline float as_float(int x) {
    return __int_as_float(x);
}
inline uint as_uint(float x) {
    return __float_as_uint(x);
}
inline int as_int(float x) {
    return __float_as_int(x);
}
inline double as_double(ulong x) {
    return __longlong_as_double((long long)x);
}
inline double as_double(long x) {
    return __longlong_as_double(x);
}
inline ulong as_ulong(double x) {
    return (ulong)__double_as_longlong(x);
}
inline long as_long(double x) {
    return __double_as_longlong(x);
}
inline int clz(uint x) {
    return __clz((int)x);
}
inline ulong clz(ulong x) {
    return (ulong)__clzll((long long)x);
}
inline uint mul_hi(uint a, uint b) {
    return __umulhi(a, b);
}
inline ulong mul_hi(ulong a, ulong b) {
    return __umul64hi(a, b);
}
template <class T> inline T clamp(T x, T least, T most) {
    return x < least ? least : x > most ? most : x;
}

/* ---- Conversions, rounded to the nearest ---- */

inline float convert_float_rte(long x) {
    return __ll2float_rn(x);
}
inline float convert_float_rte(ulong x) {
    return __ull2float_rn(x);
}
inline float convert_float_rte(int x) {
    return __int2float_rn(x);
}
inline float convert_float_rte(uint x) {
    return __uint2float_rn(x);
}
inline float convert_float_rte(double x) {
    return __double2float_rn(x);
}
inline double convert_double_rte(long x) {
    return __ll2double_rn(x);
}
inline double convert_double_rte(ulong x) {
    return __ull2double_rn(x);
}

/* ---- Vectors ---- */

template <class V> struct bp_vector;
#define BP_VECTOR2(T, V)                                                                                               \
    template <> struct bp_vector<V> {                                                                                  \
        static __device__ V of(T x, T y) {                                                                             \
            return make_##V(x, y);                                                                                     \
        }                                                                                                              \
    };                                                                                                                 \
    inline V operator+(V a, V b) {                                                                                     \
        return make_##V(a.x + b.x, a.y + b.y);                                                                         \
    }                                                                                                                  \
    inline V operator-(V a, V b) {                                                                                     \
        return make_##V(a.x - b.x, a.y - b.y);                                                                         \
    }                                                                                                                  \
    inline V operator-(V a) {                                                                                          \
        return make_##V(-a.x, -a.y);                                                                                   \
    }                                                                                                                  \
    inline V operator*(V a, T b) {                                                                                     \
        return make_##V(a.x * b, a.y * b);                                                                             \
    }                                                                                                                  \
    inline V operator*(T a, V b) {                                                                                     \
        return b * a;                                                                                                  \
    }                                                                                                                  \
    inline V &operator+=(V &a, V b) {                                                                                  \
        return a = a + b;                                                                                              \
    }
#define BP_VECTOR4(T, V)                                                                                               \
    template <> struct bp_vector<V> {                                                                                  \
        static __device__ V of(T x, T y, T z, T w) {                                                                   \
            V made;                                                                                                    \
            made.x = x, made.y = y, made.z = z, made.w = w;                                                            \
            return made;                                                                                               \
        }                                                                                                              \
    };
BP_VECTOR2(float, float2)
BP_VECTOR2(double, double2)
template <> struct bp_vector<uint2> {
    static __device__ uint2 of(uint x, uint y) {
        return make_uint2(x, y);
    }
};
inline uint2 &operator+=(uint2 &a, uint2 b) {
    a.x += b.x, a.y += b.y;
    return a;
}
template <> struct bp_vector<ulong2> {
    static __device__ ulong2 of(ulong x, ulong y) {
        return make_ulong2(x, y);
    }
};
/* CUDA 13 has declared its own one deprecated. */
struct __align__(16) bp_double4 {
    double x, y, z, w;
};
#define double4 bp_double4
BP_VECTOR4(float, float4)
BP_VECTOR4(double, double4)
BP_VECTOR4(uint, uint4)

#include "source"
