/* provider.c - defines the blas provider: matrix products on any BLAS library, one instance per library.
 *
 * accept() uses the properties of the library's entry in the list. The first plan opens the library.
 */
#include "providers/blas/blas.h"

#include <stdio.h>
#include <string.h>

/* ---- Plans ---- */

static char letter_of(bp_dtype dtype) {
    switch (dtype) {
#define X(letter, type, scalar, element)                                                                               \
    case type:                                                                                                         \
        return #letter[0];
        BP__BLAS_TYPES(X)
#undef X
    default:
        return '?';
    }
}

/* Finds a routine of the C interface. Its suffix is the suffix of the Fortran name without one of the underscores
 * around it: dgemm_ and cblas_dgemm, dgemm_64_ and cblas_dgemm64_ (OpenBLAS) or cblas_dgemm_64 (MKL). */
static void *find_c_routine(const bp__driver *driver, const char *name, char *symbol, size_t size) {
    const char *suffix = driver->library->suffix;
    int length = (int)strlen(suffix);
    const char *starts[] = {suffix[0] == '_' ? suffix + 1 : suffix, suffix, suffix};
    int lengths[] = {(int)strlen(starts[0]), length > 0 && suffix[length - 1] == '_' ? length - 1 : length, length};
    for (int i = 0; i < 3; i++) {
        snprintf(symbol, size, "%scblas_%s%.*s", driver->library->prefix, name, lengths[i], starts[i]);
        void *found = driver->host->symbol(driver->handle, symbol);
        if (found) {
            return found;
        }
    }
    snprintf(symbol, size, "%scblas_%s%.*s", driver->library->prefix, name, lengths[0], starts[0]);
    return NULL;
}

/* Finds the routine to call. Prefers the Fortran name: the C interface checks and transposes its arguments and then
 * calls the same code. */
static bp_status find_routine(const bp__driver *driver, const bp__blas_route *route, void (**routine)(void), bool *c) {
    const bp_library_info *library = driver->library;
    char name[8], symbol[128] = "", c_symbol[128] = "";
    snprintf(name, sizeof name, "%c%s", letter_of(route->dtype), route->kind == BP__BLAS_GEMM ? "gemm" : "gemv");
    void *found = NULL;
    if (library->kinds & BP_LIB_BLAS) {
        snprintf(symbol, sizeof symbol, "%s%s%s", library->prefix, name, library->suffix);
        found = driver->host->symbol(driver->handle, symbol);
    }
    *c = found == NULL;
    if (!found && (library->kinds & BP_LIB_CBLAS)) {
        found = find_c_routine(driver, name, c_symbol, sizeof c_symbol);
    }
    *routine = (void (*)(void))found;
    return found ? BP_OK
                 : driver->host->fail(BP_E_SYMBOL, "library '%s' (%s) lacks %s%s%s", library->id, library->path, symbol,
                                      symbol[0] && c_symbol[0] ? " and " : "", c_symbol);
}

static void destroy_plan(bp_prepared *prepared) {
    bp__blas_plan *plan = (bp__blas_plan *)prepared;
    plan->driver->host->release(plan);
}

static const void *constant(bp_dtype dtype, uint8_t factor) {
    static const float f32[][2] = {{0, 0}, {1, 0}};
    static const double f64[][2] = {{0, 0}, {1, 0}};
    if (factor == BP_FACTOR_ANY) {
        return NULL;
    }
    return dtype == BP_F32 || dtype == BP_C64 ? (const void *)f32[factor] : (const void *)f64[factor];
}

static bp__blas_int integer(int64_t value, int bits) {
    return bits == 64 ? (bp__blas_int){.i64 = value} : (bp__blas_int){.i32 = (int32_t)value};
}

static unsigned c_transform(char letter) {
    return letter == 'N' ? BP__BLAS_AS_IS : letter == 'T' ? BP__BLAS_TRANSPOSE : BP__BLAS_CONJUGATE_TRANSPOSE;
}

/* Fixes the integer arguments. gemv takes the sizes of the stored matrix, gemm the sizes of the product. */
static void fix_arguments(bp__blas_plan *plan, int bits) {
    const bp__blas_route *route = &plan->route;
    bool is_transposed = route->kind == BP__BLAS_GEMV && route->first.transform != 'N';
    plan->m = integer(is_transposed ? route->k : route->m, bits);
    plan->n = integer(route->kind == BP__BLAS_GEMM ? route->n : is_transposed ? route->m : route->k, bits);
    plan->k = integer(route->k, bits);
    plan->ld_first = integer(route->first.ld, bits);
    plan->ld_second = integer(route->second.ld, bits);
    plan->ld_c = integer(route->c.ld, bits);
    plan->transform_first = route->first.transform;
    plan->transform_second = route->second.transform;
    plan->c_transform_first = c_transform(route->first.transform);
    plan->c_transform_second = c_transform(route->second.transform);
}

static bp_status prepare(bp__blas_plan *plan, const bp__blas_judgement *judgement) {
    bp__driver *driver = plan->driver;
    const bp__blas_route *route = &plan->route;
    bp_status status = bp__driver_ready(driver);
    if (status != BP_OK) {
        return status;
    }
    bool c;
    status = find_routine(driver, route, &plan->routine, &c);
    if (status != BP_OK) {
        return status;
    }
    plan->setup = bp__driver_thread_policy_plan(driver, &judgement->setup);
    fix_arguments(plan, driver->library->int_bits);
    bp__blas_run run;
    bp__blas_thunk(route->kind, route->dtype, driver->library->int_bits, c, &plan->call, &run);
    bool single = route->batch.count == 1 && route->scratch == 0 && plan->alpha && plan->beta && !plan->setup.locks;
    bool plain = single && !plan->setup.sets_count && !plan->setup.marks && !plan->setup.starts;
    plan->prepared.enqueue = plain                              ? run
                             : single && plan->setup.sets_count ? bp__blas_run_with_threads
                                                                : bp__blas_run_general;
    return BP_OK;
}

static bp_status make_plan(void *opaque, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                           bp_prepared **prepared) {
    bp__driver *driver = opaque;
    const bp_host *host = driver->host;
    const bp__blas_judgement *judgement = found;
    (void)verdict;
    bp__blas_plan *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan of the blas provider");
    }
    const bp_gemm_problem *g = &problem->of.gemm;
    bp_dtype dtype = (bp_dtype)problem->dtype;
    *plan = (bp__blas_plan){.prepared = {.struct_size = sizeof plan->prepared,
                                         .enqueue = bp__blas_run_scale,
                                         .destroy = destroy_plan,
                                         .workspace = judgement->route.scratch},
                            .fork_state = driver->fork_state,
                            .driver = driver,
                            .route = judgement->route};
    plan->swap = plan->route.swap;
    plan->alpha = constant(dtype, g->alpha);
    plan->beta = constant(dtype, g->beta);
    plan->reads_c = g->beta != BP_FACTOR_ZERO;
    plan->clears = plan->route.kind == BP__BLAS_GEMV && !plan->reads_c;
    bp_status status = plan->route.kind > BP__BLAS_SCALE ? prepare(plan, judgement) : BP_OK;
    if (status != BP_OK) {
        host->release(plan);
        return status;
    }
    *prepared = &plan->prepared;
    return BP_OK;
}

BP_PROVIDER_DEFINE(blas) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "blas",
    .version = BP_VERSION_STRING,
    .description = "Matrix products on any library that offers the BLAS or CBLAS routines",
    .library_kinds = BP_LIB_BLAS | BP_LIB_CBLAS,
    .open = bp__driver_open,
    .close = bp__driver_close,
    .accept = bp__blas_accept,
    .plan = make_plan,
    .threads = bp__driver_threads,
};
