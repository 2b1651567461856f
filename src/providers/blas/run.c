/* run.c - runs plans that need more than one call: copies, batches, factors given at run time, a thread count to set.
 * Also computes C = beta * C, which needs no library. */
#include "providers/blas/blas.h"

#include <string.h>

/* A factor in the element type. bp_scalar has the layout of a complex double. */
typedef union factor {
    float f32[2];
    bp_scalar f64;
} factor;

static const void *factor_of(bp_dtype dtype, const bp_scalar *scalar, factor *storage) {
    if (dtype == BP_F64 || dtype == BP_C128) {
        storage->f64 = *scalar;
    } else {
        storage->f32[0] = (float)scalar->re;
        storage->f32[1] = (float)scalar->im;
    }
    return storage;
}

/* ---- Products ---- */

static const void *packed(const bp__blas_plan *p, const bp__blas_matrix *x, const void *from, char *scratch) {
    if (!x->packs) {
        return from;
    }
    p->driver->host->copy_matrix(p->route.dtype, x->rows, x->columns, scratch, 1, x->rows, from, x->row, x->column,
                                 x->conjugate);
    return scratch;
}

static void run_one(const bp__blas_plan *p, const void *alpha, const void *first, const void *second, const void *beta,
                    void *c, char *scratch) {
    const bp__blas_route *route = &p->route;
    const bp__blas_matrix *x = &route->c;
    if (!x->packs) {
        p->call(p, alpha, first, second, beta, c);
        return;
    }
    void *mine = scratch + route->c_at;
    if (p->reads_c) {
        p->driver->host->copy_matrix(route->dtype, x->rows, x->columns, mine, 1, x->rows, c, x->row, x->column, 0);
    }
    p->call(p, alpha, first, second, beta, mine);
    p->driver->host->copy_matrix(route->dtype, x->rows, x->columns, c, x->row, x->column, mine, 1, x->rows, 0);
}

/* Returns the number of products between two interrupt checks. Reading the clock takes longer than a small product. */
static int64_t chunk_of(const bp__blas_route *route) {
    const double work = (double)route->m * (double)route->n * (double)(route->k + 1), enough = 1e5;
    return work < enough ? (int64_t)(enough / (work + 1)) + 1 : 1;
}

/* One run of a plan, with the threads that it has. */
typedef struct running {
    const bp__blas_plan *plan;
    bp__thread_setup setup;
    int before; /* for bp__driver_end */
} running;

/* Returns BP_E_CANCELLED if the program stops the operation between two products. */
static bp_status run_batch(running *r, const void *alpha, const char *first, const char *second, const void *beta,
                           char *c, char *scratch) {
    const bp__blas_plan *p = r->plan;
    const bp__blas_route *route = &p->route;
    const int64_t size = (int64_t)route->element, chunk = chunk_of(route);
    const void *old_first = NULL, *old_second = NULL, *x = NULL, *y = NULL;
    int64_t since = 0, next_check = 0;
    bp__batch_position at = {0};
    for (int64_t i = 0; i < route->batch.count; i++, bp__batch_next_product(&at, &route->batch)) {
        if (i == next_check) {
            if (bp__driver_stops(p->driver, &r->setup, BP_OP_GEMM, &since, &r->before)) {
                return BP_E_CANCELLED;
            }
            next_check += chunk;
        }
        const char *from_first = first + at.offset[BP__BATCH_FIRST] * size,
                   *from_second = second + at.offset[BP__BATCH_SECOND] * size;
        if (from_first != old_first) {
            x = packed(p, &route->first, old_first = from_first, scratch);
        }
        if (from_second != old_second) {
            y = packed(p, &route->second, old_second = from_second, scratch + route->second_at);
        }
        run_one(p, alpha, x, y, beta, c + at.offset[BP__BATCH_C] * size, scratch);
    }
    return BP_OK;
}

static const void *first_of(const bp__blas_plan *p, const bp_operand *operands) {
    return bp_operand_address(&operands[p->swap]);
}

static const void *second_of(const bp__blas_plan *p, const bp_operand *operands) {
    return bp_operand_address(&operands[!p->swap]);
}

bp_status bp__blas_run_with_threads(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__blas_plan *p = (const bp__blas_plan *)self;
    bp__thread_setup setup;
    (void)exec;
    bp_status status = bp__driver_admit(p->driver, &p->setup, &setup);
    if (status != BP_OK) {
        return status;
    }
    bp__driver_enter_threads(p->driver->fork_state);
    bp__driver_note_threads(p->driver, &setup);
    int before = bp__driver_threads_begin_unlocked(p->driver, setup.threads);
    p->call(p, p->alpha, first_of(p, operands), second_of(p, operands), p->beta, bp_operand_address(&operands[2]));
    bp__driver_threads_end(p->driver, setup.threads, before);
    bp__driver_note_started(p->driver, &setup);
    bp__driver_leave_threads(p->driver->fork_state);
    return BP_OK;
}

bp_status bp__blas_run_general(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__blas_plan *p = (const bp__blas_plan *)self;
    bp__driver *driver = p->driver;
    running r = {.plan = p};
    bp_status status = bp__driver_admit(driver, &p->setup, &r.setup);
    if (status != BP_OK) {
        return status;
    }
    factor storage[2];
    const void *alpha = p->alpha ? p->alpha : factor_of(p->route.dtype, &exec->scalars[0], &storage[0]);
    const void *beta = p->beta ? p->beta : factor_of(p->route.dtype, &exec->scalars[1], &storage[1]);
    r.before = bp__driver_begin(driver, &r.setup);
    status = run_batch(&r, alpha, first_of(p, operands), second_of(p, operands), beta, bp_operand_address(&operands[2]),
                       bp_operand_address(&exec->workspace));
    bp__driver_end(driver, &r.setup, r.before);
    return status;
}

/* ---- C = beta * C ---- */

static void scale_element(bp_dtype dtype, void *c, const bp_scalar *beta) {
    if (dtype == BP_F32) {
        *(float *)c *= (float)beta->re;
    } else if (dtype == BP_F64) {
        *(double *)c *= beta->re;
    } else if (dtype == BP_C64) {
        float *z = c, re = (float)beta->re, im = (float)beta->im;
        float real = z[0] * re - z[1] * im;
        z[1] = z[0] * im + z[1] * re;
        z[0] = real;
    } else {
        double *z = c, real = z[0] * beta->re - z[1] * beta->im;
        z[1] = z[0] * beta->im + z[1] * beta->re;
        z[0] = real;
    }
}

static void scale_matrix(const bp__blas_route *route, char *c, const bp_scalar *beta) {
    int64_t size = (int64_t)route->element;
    for (int64_t i = 0; i < route->c.rows; i++) {
        for (int64_t j = 0; j < route->c.columns; j++) {
            char *element = c + (i * route->c.row + j * route->c.column) * size;
            if (beta) {
                scale_element(route->dtype, element, beta);
            } else {
                memset(element, 0, route->element);
            }
        }
    }
}

bp_status bp__blas_run_scale(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__blas_plan *p = (const bp__blas_plan *)self;
    if (p->route.kind == BP__BLAS_NOTHING) {
        return BP_OK;
    }
    const bp_host *host = p->driver->host;
    const int64_t chunk = chunk_of(&p->route);
    char *c = bp_operand_address(&operands[2]);
    int64_t since = 0, next_check = 0;
    bp__batch_position at = {0};
    for (int64_t i = 0; i < p->route.batch.count; i++, bp__batch_next_product(&at, &p->route.batch)) {
        if (i == next_check) {
            if (host->interrupt_due(&since) && host->interrupted(BP_OP_GEMM)) {
                return BP_E_CANCELLED;
            }
            next_check += chunk;
        }
        scale_matrix(&p->route, c + at.offset[BP__BATCH_C] * (int64_t)p->route.element,
                     p->beta ? NULL : &exec->scalars[1]);
    }
    return BP_OK;
}
