/* plan.c - makes a plan: looks up routines, counts memory, and queries the library's workspace sizes. */
#include "providers/lapack/lapack.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char letter_of(bp_dtype dtype) {
    return dtype == BP_F32 ? 's' : dtype == BP_F64 ? 'd' : dtype == BP_C64 ? 'c' : 'z';
}

static bp_status find_routine(bp__lapack_plan *plan, bp__lapack_routine routine) {
    static const char *const stems[][2] = {
#define X(name, real, complex) {real, complex},
        BP__LAPACK_ROUTINES(X)
#undef X
    };
    const bp_library_info *library = plan->driver->library;
    const bp_host *host = plan->driver->host;
    const char *stem = stems[routine][plan->complex];
    char symbol[128];
    if (!stem) {
        return BP_OK;
    }
    snprintf(symbol, sizeof symbol, "%s%c%s%s", library->prefix, letter_of(plan->dtype), stem, library->suffix);
    plan->routine[routine] = (void (*)(void))host->symbol(plan->driver->handle, symbol);
    return plan->routine[routine]
               ? BP_OK
               : host->fail(BP_E_SYMBOL, "library '%s' (%s) lacks %s", library->id, library->path, symbol);
}

size_t bp__lapack_reserve(bp__lapack_plan *plan, int64_t count, size_t size) {
    size_t bytes, start = plan->scratch;
    plan->too_large = plan->too_large || __builtin_mul_overflow((size_t)count, size, &bytes) || bytes > SIZE_MAX / 4 ||
                      start > SIZE_MAX / 4;
    if (!plan->too_large) {
        plan->scratch = start + ((bytes + 63) & ~(size_t)63);
    }
    return start;
}

int64_t bp__lapack_queried(const bp__lapack_plan *plan, const void *work) {
    double size = bp__lapack_get(plan->real_type, work).re;
    if (plan->real_type == BP_F32 && size >= 0x1p24) {
        size = nextafterf((float)size, INFINITY);
    }
    return size > 1 ? (int64_t)ceil(size) : 1;
}

static int info_operand_of(uint32_t op) {
    switch (op) {
    case BP_OP_INV:
    case BP_OP_CHOLESKY:
    case BP_OP_CHOLESKY_INVERSE:
        return 2;
    case BP_OP_SOLVE:
    case BP_OP_LU_FACTOR:
    case BP_OP_LDL_FACTOR:
        return 3;
    default:
        return -1;
    }
}

/* Chooses the passes over columns. All variants give the same result bit for bit. */
static const bp__lapack_passes *passes_of(const bp__lapack_plan *plan) {
    const bp__lapack_passes *passes = bp__lapack_passes_default;
#if defined(__x86_64__)
    bp_capability here = plan->driver->host->hardware, allowed = (bp_capability)plan->problem.policy.capability;
    bool avx2 = here == BP_CAPABILITY_AVX2 || here == BP_CAPABILITY_AVX512;
    passes =
        avx2 && (allowed == BP_CAPABILITY_AVX2 || allowed == BP_CAPABILITY_AVX512) ? bp__lapack_passes_avx2 : passes;
#endif
    return passes + (plan->real_size == sizeof(double));
}

/* Returns how far the library may read next to its operands: one page, which is what the probe allows. Scratch memory
 * begins and ends with so many unused bytes. */
static size_t margin_of(const bp_library_info *library, bp_dtype dtype) {
    return library->overreads & BP_OVERREAD_BIT(dtype) ? (size_t)sysconf(_SC_PAGESIZE) : 0;
}

static void describe(bp__lapack_plan *plan, const bp_problem *problem) {
    plan->problem = *problem;
    plan->dtype = (bp_dtype)problem->dtype;
    bool wide = plan->dtype == BP_F64 || plan->dtype == BP_C128;
    plan->complex = plan->dtype == BP_C64 || plan->dtype == BP_C128;
    plan->real_type = wide ? BP_F64 : BP_F32;
    plan->real_size = wide ? 8 : 4;
    plan->size = plan->real_size << plan->complex;
    plan->bits = plan->driver->library->int_bits;
    plan->integer = (size_t)plan->bits / 8;
    plan->margin = margin_of(plan->driver->library, plan->dtype);
    plan->passes = passes_of(plan);
    plan->info_operand = info_operand_of(problem->op);
}

static void destroy(bp_prepared *prepared) {
    bp__lapack_plan *plan = (bp__lapack_plan *)prepared;
    plan->driver->host->release(plan);
}

static bp_status prepare(bp__lapack_plan *plan, const bp__lapack_judgement *judgement) {
    bp__driver *driver = plan->driver;
    bp_status status = bp__driver_ready(driver);
    for (int i = 0; i < plan->operation->routine_count && status == BP_OK; i++) {
        status = find_routine(plan, plan->operation->routines[i]);
    }
    if (status != BP_OK) {
        return status;
    }
    plan->setup = bp__driver_thread_policy_plan(driver, &judgement->setup);
    /* if the library does not stay on one thread, one thread runs all items */
    plan->sharers = plan->setup.threads == 1 ? judgement->sharers : 1;
    bp__thread_setup setup;
    status = bp__driver_admit_plan(driver, &plan->setup, &setup);
    if (status != BP_OK) {
        return status;
    }
    int before = bp__driver_begin(driver, &setup); /* prepare makes workspace queries */
    bp__driver_illegal illegal = {0};
    bp__driver_capture_xerbla(&illegal);
    bp__lapack_reserve(plan, 1, plan->margin);
    status = plan->operation->prepare(plan);
    bp__lapack_reserve(plan, 1, plan->margin);
    bp__driver_capture_xerbla(NULL);
    bp__driver_end(driver, &setup, before);
    if (status == BP_OK && illegal.argument != 0) {
        status = bp__driver_fail_illegal(driver, &illegal);
    }
    if (status == BP_OK && plan->too_large) {
        status = driver->host->fail(BP_E_NO_MEMORY, "the workspace exceeds the address space");
    }
    return status;
}

bp_status bp__lapack_plan_make(void *opaque, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                               bp_prepared **prepared) {
    bp__driver *driver = opaque;
    const bp_host *host = driver->host;
    const bp__lapack_judgement *judgement = found;
    (void)verdict;
    bp__lapack_plan *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for a plan of the lapack provider");
    }
    *plan = (bp__lapack_plan){
        .prepared = {.struct_size = sizeof plan->prepared, .enqueue = bp__lapack_enqueue, .destroy = destroy},
        .driver = driver,
        .operation = judgement->operation};
    describe(plan, problem);
    bp_status status = prepare(plan, judgement);
    if (status != BP_OK) {
        host->release(plan);
        return status;
    }
    plan->prepared.workspace = plan->scratch * (size_t)plan->sharers; /* one part for each thread */
    *prepared = &plan->prepared;
    return BP_OK;
}
