/* api.h - lists the FFTW functions that the provider calls, also for the test that compares them with an installed
 * fftw3.h. The names are the library's without their prefix, fftw_ or fftwf_.
 *
 * X(name, result, arguments) is in terms of a plan, a dimension, a real and a complex element. The test substitutes the
 * library's own types; the provider uses untyped addresses, so that one table of pointers serves both precisions.
 */
#ifndef BP_FFTW_API_H
#define BP_FFTW_API_H

#include <stddef.h>

/* One dimension: its size and its strides, in elements of the input's and the output's own type. */
typedef struct bp__fftw_dim {
    ptrdiff_t n, in, out;
} bp__fftw_dim;

/* clang-format off */
#define BP__FFTW_FUNCTIONS(X, PLAN, DIM, R, C)                                                                         \
    X(plan_guru64_dft, PLAN, (int, const DIM *, int, const DIM *, C *, C *, int, unsigned))                            \
    X(plan_guru64_dft_r2c, PLAN, (int, const DIM *, int, const DIM *, R *, C *, unsigned))                             \
    X(plan_guru64_dft_c2r, PLAN, (int, const DIM *, int, const DIM *, C *, R *, unsigned))                             \
    X(execute_dft, void, (const PLAN, C *, C *))                                                                       \
    X(execute_dft_r2c, void, (const PLAN, R *, C *))                                                                   \
    X(execute_dft_c2r, void, (const PLAN, C *, R *))                                                                   \
    X(destroy_plan, void, (PLAN))                                                                                      \
    X(alignment_of, int, (R *))                                                                                        \
    X(set_timelimit, void, (double))                                                                                   \
    X(forget_wisdom, void, (void))                                                                                     \
    X(export_wisdom_to_string, char *, (void))                                                                         \
    X(import_wisdom_from_string, int, (const char *))                                                                  \
    X(free, void, (void *))

/* Functions of the file that contains the library's threads. */
#define BP__FFTW_THREAD_FUNCTIONS(X)                                                                                   \
    X(init_threads, int, (void))                                                                                       \
    X(plan_with_nthreads, void, (int))                                                                                 \
    X(planner_nthreads, int, (void))                                                                                   \
    X(make_planner_thread_safe, void, (void))                                                                          \
    X(threads_set_callback, void, (void (*)(void *(*)(char *), char *, size_t, int, void *), void *))
/* clang-format on */

/* Directions and flags of the C interface. */
enum { BP__FFTW_FORWARD = -1, BP__FFTW_BACKWARD = 1 };
#define BP__FFTW_MEASURE 0u
#define BP__FFTW_DESTROY_INPUT 1u
#define BP__FFTW_UNALIGNED 2u
#define BP__FFTW_PRESERVE_INPUT 16u
#define BP__FFTW_PATIENT 32u
#define BP__FFTW_ESTIMATE 64u
#define BP__FFTW_NO_TIME_LIMIT (-1.0)

typedef void *bp__fftw_handle; /* a plan of the library */

typedef struct bp__fftw_api {
#define X(name, result, arguments) result(*name) arguments;
    BP__FFTW_FUNCTIONS(X, bp__fftw_handle, bp__fftw_dim, void, void)
    BP__FFTW_THREAD_FUNCTIONS(X) /* NULL: the library runs on one thread */
#undef X
} bp__fftw_api;

#endif
