/* api.h - declares the functions of CLBlast's C interface that the provider calls, also for the test that compares them
 * with an installed clblast_c.h. Sizes, leading dimensions, offsets and strides are in elements. */
#ifndef BP_CLBLAST_API_H
#define BP_CLBLAST_API_H

#include "providers/opencl/api.h"

/* The arguments that all products share. T is the type of alpha and beta; complex ones are passed by value. */
#define BP__CLBLAST_HEAD(LAYOUT, TRANSPOSE) LAYOUT, TRANSPOSE, TRANSPOSE, size_t, size_t, size_t

/* C = alpha A B + beta C. The library allocates temporary memory where its kernel needs some. */
#define BP__CLBLAST_GEMM(NAME, STATUS, LAYOUT, TRANSPOSE, T)                                                           \
    STATUS NAME(BP__CLBLAST_HEAD(LAYOUT, TRANSPOSE), T, cl_mem, size_t, size_t, cl_mem, size_t, size_t, T, cl_mem,     \
                size_t, size_t, cl_command_queue *, cl_event *)

/* The same with temporary memory of the caller, which begins at the start of the buffer. */
#define BP__CLBLAST_WITH_TEMP(NAME, STATUS, LAYOUT, TRANSPOSE, T)                                                      \
    STATUS NAME(BP__CLBLAST_HEAD(LAYOUT, TRANSPOSE), T, cl_mem, size_t, size_t, cl_mem, size_t, size_t, T, cl_mem,     \
                size_t, size_t, cl_command_queue *, cl_event *, cl_mem)

/* Sets the last argument to the bytes of that memory, which depend on offsets and leading dimensions. */
#define BP__CLBLAST_TEMP_SIZE(NAME, STATUS, LAYOUT, TRANSPOSE)                                                         \
    STATUS NAME(BP__CLBLAST_HEAD(LAYOUT, TRANSPOSE), size_t, size_t, size_t, size_t, size_t, size_t,                   \
                cl_command_queue *, size_t *)

/* A batch: each matrix has an offset, a leading dimension and a stride between items. */
#define BP__CLBLAST_STRIDED(NAME, STATUS, LAYOUT, TRANSPOSE, T)                                                        \
    STATUS NAME(BP__CLBLAST_HEAD(LAYOUT, TRANSPOSE), T, cl_mem, size_t, size_t, size_t, cl_mem, size_t, size_t,        \
                size_t, T, cl_mem, size_t, size_t, size_t, size_t, cl_command_queue *, cl_event *)

/* X(name, number): constants without their prefix, CLBlast. */
#define BP__CLBLAST_NUMBERS(X)                                                                                         \
    X(Success, 0)                                                                                                      \
    X(LayoutRowMajor, 101) X(LayoutColMajor, 102) X(TransposeNo, 111) X(TransposeYes, 112) X(TransposeConjugate, 113)

enum {
#define X(name, number) BP__CLBLAST_##name = number,
    BP__CLBLAST_NUMBERS(X)
#undef X
};

typedef struct bp__clblast_c64 {
    float re, im;
} bp__clblast_c64;
typedef struct bp__clblast_c128 {
    double re, im;
} bp__clblast_c128;

/* X(letter in the names, bp_dtype without prefix, type of a scalar) */
#define BP__CLBLAST_TYPES(X) X(S, F32, float) X(D, F64, double) X(C, C64, bp__clblast_c64) X(Z, C128, bp__clblast_c128)

/* The functions of a loaded library. */
typedef struct bp__clblast_api {
#define X(letter, dtype, T)                                                                                            \
    BP__CLBLAST_GEMM((*letter##gemm), int, int, int, T);                                                               \
    BP__CLBLAST_WITH_TEMP((*letter##gemm_with_temp), int, int, int, T);                                                \
    BP__CLBLAST_TEMP_SIZE((*letter##temp_size), int, int, int);                                                        \
    BP__CLBLAST_STRIDED((*letter##strided), int, int, int, T);
    BP__CLBLAST_TYPES(X)
#undef X
} bp__clblast_api;

#endif
