/* api.h - lists the functions of MKL's DFTI interface that the provider calls, also for the test that compares them
 * with an installed mkl_dfti.h.
 *
 * X(name, result, arguments): names without their prefix, Dfti, in terms of a descriptor, a parameter and a value.
 */
#ifndef BP_MKL_API_H
#define BP_MKL_API_H

/* clang-format off */
#define BP__MKL_FUNCTIONS(X, DESCRIPTOR, PARAMETER, VALUE)                                                             \
    X(CreateDescriptor, long, (DESCRIPTOR *, VALUE, VALUE, long, ...))                                                 \
    X(SetValue, long, (DESCRIPTOR, PARAMETER, ...))                                                                    \
    X(CommitDescriptor, long, (DESCRIPTOR))                                                                            \
    X(ComputeForward, long, (DESCRIPTOR, void *, ...))                                                                 \
    X(ComputeBackward, long, (DESCRIPTOR, void *, ...))                                                                \
    X(FreeDescriptor, long, (DESCRIPTOR *))                                                                            \
    X(ErrorMessage, char *, (long))

/* X(name, number): names without their prefix, DFTI_. */
#define BP__MKL_NUMBERS(X)                                                                                             \
    X(FORWARD_SCALE, 4) X(BACKWARD_SCALE, 5) X(NUMBER_OF_TRANSFORMS, 7) X(CONJUGATE_EVEN_STORAGE, 10) X(PLACEMENT, 11) \
    X(INPUT_STRIDES, 12) X(OUTPUT_STRIDES, 13) X(INPUT_DISTANCE, 14) X(OUTPUT_DISTANCE, 15) X(THREAD_LIMIT, 27)        \
    X(DESTROY_INPUT, 28) X(COMPLEX, 32) X(REAL, 33) X(SINGLE, 35) X(DOUBLE, 36) X(COMPLEX_COMPLEX, 39) X(INPLACE, 43)  \
    X(NOT_INPLACE, 44) X(AVOID, 52)
/* clang-format on */

enum {
#define X(name, number) BP__MKL_##name = number,
    BP__MKL_NUMBERS(X)
#undef X
};

#define BP__MKL_NO_MEMORY 1 /* DFTI_MEMORY_ERROR */
#define BP__MKL_MOST_NDIM 7

typedef struct bp__mkl_api {
#define X(name, result, arguments) result(*name) arguments;
    BP__MKL_FUNCTIONS(X, void *, int, int)
#undef X
} bp__mkl_api;

#endif
