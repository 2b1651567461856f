/* calls.c - defines the thunks that call a BLAS routine: one for each routine, interface, integer width and scalar
 * type.
 *
 * One macro defines each thunk twice: as the call that run.c makes, and as a complete run function. Plans that need
 * only that call use the run function, so that a reused plan costs little more than a direct call. The Fortran
 * interface is the same for all element types, because it passes only addresses.
 */
#include "providers/blas/blas.h"

#include <string.h>

void bp__blas_clear(bp_dtype dtype, int64_t m, int64_t increment, void *c) {
    size_t size = dtype == BP_F32 ? 4 : dtype == BP_C128 ? 16 : 8;
    if (increment == 1) {
        memset(c, 0, (size_t)m * size);
        return;
    }
    for (int64_t i = 0; i < m; i++) {
        memset((char *)c + i * increment * (int64_t)size, 0, size);
    }
}

/* Returns the address to pass for a vector. BLAS counts a negative increment from the lowest address. */
static inline const void *vector_start(const void *x, int64_t length, int64_t increment, size_t element) {
    return increment < 0 && length > 1 ? (const char *)x + (length - 1) * increment * (int64_t)element : x;
}

static inline void *prepare_result(const bp__blas_plan *p, void *c) {
    if (p->clears) {
        bp__blas_clear(p->route.dtype, p->route.m, p->route.c.ld, c);
    }
    return (void *)(uintptr_t)vector_start(c, p->route.m, p->route.c.ld, p->route.element);
}

#define SECOND(p, x) vector_start(x, (p)->route.k, (p)->route.second.ld, (p)->route.element)

#define DEFINE_FORTRAN(BITS)                                                                                           \
    static inline void gemm_fortran##BITS(const bp__blas_plan *p, const void *alpha, const void *first,                \
                                          const void *second, const void *beta, void *c) {                             \
        typedef BP__BLAS_FORTRAN_GEMM(routine, void, int##BITS##_t);                                                   \
        ((routine *)p->routine)(&p->transform_first, &p->transform_second, &p->m.i##BITS, &p->n.i##BITS,               \
                                &p->k.i##BITS, alpha, first, &p->ld_first.i##BITS, second, &p->ld_second.i##BITS,      \
                                beta, c, &p->ld_c.i##BITS, 1, 1);                                                      \
    }                                                                                                                  \
    static inline void gemv_fortran##BITS(const bp__blas_plan *p, const void *alpha, const void *first,                \
                                          const void *second, const void *beta, void *c) {                             \
        typedef BP__BLAS_FORTRAN_GEMV(routine, void, int##BITS##_t);                                                   \
        ((routine *)p->routine)(&p->transform_first, &p->m.i##BITS, &p->n.i##BITS, alpha, first, &p->ld_first.i##BITS, \
                                SECOND(p, second), &p->ld_second.i##BITS, beta, prepare_result(p, c),                  \
                                &p->ld_c.i##BITS, 1);                                                                  \
    }

/* SCALAR converts the address of a factor to the argument of the C interface. */
#define DEFINE_C(NAME, BITS, S, T, SCALAR)                                                                             \
    static inline void gemm_##NAME##BITS(const bp__blas_plan *p, const void *alpha, const void *first,                 \
                                         const void *second, const void *beta, void *c) {                              \
        typedef BP__BLAS_C_GEMM(routine, S, T, int##BITS##_t);                                                         \
        ((routine *)p->routine)(BP__BLAS_COLUMN_MAJOR, p->c_transform_first, p->c_transform_second, p->m.i##BITS,      \
                                p->n.i##BITS, p->k.i##BITS, SCALAR(alpha), first, p->ld_first.i##BITS, second,         \
                                p->ld_second.i##BITS, SCALAR(beta), c, p->ld_c.i##BITS);                               \
    }                                                                                                                  \
    static inline void gemv_##NAME##BITS(const bp__blas_plan *p, const void *alpha, const void *first,                 \
                                         const void *second, const void *beta, void *c) {                              \
        typedef BP__BLAS_C_GEMV(routine, S, T, int##BITS##_t);                                                         \
        ((routine *)p->routine)(BP__BLAS_COLUMN_MAJOR, p->c_transform_first, p->m.i##BITS, p->n.i##BITS,               \
                                SCALAR(alpha), first, p->ld_first.i##BITS, SECOND(p, second), p->ld_second.i##BITS,    \
                                SCALAR(beta), prepare_result(p, c), p->ld_c.i##BITS);                                  \
    }

#define FLOAT_OF(x) (*(const float *)(x))
#define DOUBLE_OF(x) (*(const double *)(x))
#define ADDRESS_OF(x) (x)

DEFINE_FORTRAN(32)
DEFINE_FORTRAN(64)
DEFINE_C(float, 32, float, float, FLOAT_OF)
DEFINE_C(float, 64, float, float, FLOAT_OF)
DEFINE_C(double, 32, double, double, DOUBLE_OF)
DEFINE_C(double, 64, double, double, DOUBLE_OF)
DEFINE_C(complex, 32, const void *, void, ADDRESS_OF)
DEFINE_C(complex, 64, const void *, void, ADDRESS_OF)

#define THUNKS(X) X(fortran32) X(fortran64) X(float32) X(float64) X(double32) X(double64) X(complex32) X(complex64)

/* Run functions of plans with one product, fixed factors, no copies and no thread count to set. */
#define DEFINE_RUN(CALL)                                                                                               \
    static bp_status run_##CALL(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {            \
        const bp__blas_plan *p = (const bp__blas_plan *)self;                                                          \
        (void)exec;                                                                                                    \
        if (__builtin_expect(!bp__driver_call_record_mine && bp__driver_forked(p->driver), 0)) {                       \
            return bp__driver_fail_forked(p->driver);                                                                  \
        }                                                                                                              \
        bp__driver_call_record *record = bp__driver_enter(p->fork_state);                                              \
        CALL(p, p->alpha, bp_operand_address(&operands[p->swap]), bp_operand_address(&operands[!p->swap]), p->beta,    \
             bp_operand_address(&operands[2]));                                                                        \
        bp__driver_leave(p->fork_state, record);                                                                       \
        return BP_OK;                                                                                                  \
    }
#define DEFINE_RUNS(NAME)                                                                                              \
    DEFINE_RUN(gemm_##NAME)                                                                                            \
    DEFINE_RUN(gemv_##NAME)
THUNKS(DEFINE_RUNS)

enum {
#define NUMBER(NAME) NUMBER_##NAME,
    THUNKS(NUMBER)
#undef NUMBER
};

void bp__blas_thunk(bp__blas_kind kind, bp_dtype dtype, int int_bits, bool c, bp__blas_call *call, bp__blas_run *run) {
    static const struct {
        bp__blas_call gemm, gemv;
        bp__blas_run run_gemm, run_gemv;
    } thunks[] = {
#define ROW(NAME) {gemm_##NAME, gemv_##NAME, run_gemm_##NAME, run_gemv_##NAME},
        THUNKS(ROW)
#undef ROW
    };
    int number = !c                ? NUMBER_fortran32
                 : dtype == BP_F32 ? NUMBER_float32
                 : dtype == BP_F64 ? NUMBER_double32
                                   : NUMBER_complex32;
    number += int_bits == 64;
    *call = kind == BP__BLAS_GEMM ? thunks[number].gemm : thunks[number].gemv;
    *run = kind == BP__BLAS_GEMM ? thunks[number].run_gemm : thunks[number].run_gemv;
}
