/* accept.c - decides whether a library can run a problem, with which threads, guarantees and estimated cost.
 *
 * Pure: it reads only the problem, the library's properties and its entry in the drivers' table of families.
 */
#include "providers/lapack/lapack.h"

#include <inttypes.h>
#include <stdio.h>

static bool takes(const bp_problem *problem, const bp__lapack_operation *operation, bp_verdict *verdict) {
    if (!operation) {
        bp__driver_refuse(verdict, BP_REASON_OP,
                          problem->op == BP_OP_GEMM ? "the blas provider computes matrix products"
                                                    : "the provider has no such operation");
    } else if (problem->dtype != BP_F32 && problem->dtype != BP_F64 && problem->dtype != BP_C64 &&
               problem->dtype != BP_C128) {
        bp__driver_refuse(verdict, BP_REASON_DTYPE, "LAPACK has routines for f32, f64, c64 and c128 only");
    } else if (problem->of.linalg.empty) {
        bp__driver_refuse(verdict, BP_REASON_OTHER, "the problem is empty, so no library is needed");
    } else {
        return true;
    }
    return false;
}

/* Returns whether the probe found the routines of the operation correct, and that they write their operands only. The
 * results of norms (lange) are not checked by the probe: each plan makes a test call and each result is checked. */
static bool is_sound(const bp__driver *driver, const bp__lapack_operation *operation, const bp_problem *problem,
                     bp_verdict *verdict) {
    static const signed char checks[BP__LAPACK_ROUTINE_COUNT] = {
        [BP__LAPACK_getrf] = BP_CHECK_LU,
        [BP__LAPACK_getri] = BP_CHECK_LU,
        [BP__LAPACK_getrs] = BP_CHECK_LU,
        [BP__LAPACK_potrf] = BP_CHECK_CHOLESKY,
        [BP__LAPACK_potrs] = BP_CHECK_CHOLESKY,
        [BP__LAPACK_potri] = BP_CHECK_CHOLESKY,
        [BP__LAPACK_sytrf] = BP_CHECK_CHOLESKY,
        [BP__LAPACK_sytrs] = BP_CHECK_CHOLESKY,
        [BP__LAPACK_hetrf] = BP_CHECK_CHOLESKY,
        [BP__LAPACK_hetrs] = BP_CHECK_CHOLESKY,
        [BP__LAPACK_trsm] = BP_CHECK_TRIANGULAR,
        [BP__LAPACK_gemm] = BP_CHECK_GEMM,
        [BP__LAPACK_geqrf] = BP_CHECK_QR,
        [BP__LAPACK_orgqr] = BP_CHECK_QR,
        [BP__LAPACK_syevd] = BP_CHECK_EIGH,
        [BP__LAPACK_heevd] = BP_CHECK_EIGH,
        [BP__LAPACK_geev_real] = BP_CHECK_EIG,
        [BP__LAPACK_geev_complex] = BP_CHECK_EIG,
        [BP__LAPACK_gesdd_real] = BP_CHECK_SVD,
        [BP__LAPACK_gesdd_complex] = BP_CHECK_SVD,
        [BP__LAPACK_gels] = BP_CHECK_LSTSQ,
        [BP__LAPACK_gelsy_real] = BP_CHECK_LSTSQ,
        [BP__LAPACK_gelsy_complex] = BP_CHECK_LSTSQ,
        [BP__LAPACK_gelsd_real] = BP_CHECK_LSTSQ,
        [BP__LAPACK_gelsd_complex] = BP_CHECK_LSTSQ,
        [BP__LAPACK_gelss_real] = BP_CHECK_LSTSQ,
        [BP__LAPACK_gelss_complex] = BP_CHECK_LSTSQ,
        [BP__LAPACK_lange] = BP_CHECK_LU,
    };
    for (int i = 0; i < operation->routine_count; i++) {
        int check = checks[operation->routines[i]];
        if (!bp__driver_passed_check(driver, (bp_check)check, problem->dtype, verdict)) {
            return false;
        }
    }
    return true;
}

/* Returns whether every size fits the library's integers: sizes of operands and of workspaces. */
static bool fits(const bp__driver *driver, const bp__lapack_operation *operation, const bp_problem *problem,
                 bp_verdict *verdict) {
    const bp_linalg_problem *l = &problem->of.linalg;
    double largest = operation->largest ? operation->largest(problem) : 0;
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        const bp_linalg_operand *x = &l->operand[i];
        double size = (double)(x->rows > x->columns ? x->rows : x->columns);
        largest = x->dtype && size > largest ? size : largest;
    }
    if (largest <= (double)driver->int_max) {
        return true;
    }
    bp__driver_refuse(verdict, BP_REASON_SIZE, "a size or workspace of %.0f exceeds its largest integer, %" PRId64,
                      largest, driver->int_max);
    return false;
}

static uint32_t properties_of(const bp__driver *driver, const bp_problem *problem, const bp__thread_setup *setup) {
    bool wide = problem->dtype == BP_F64 || problem->dtype == BP_C128;
    uint32_t properties = wide ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32;
    return properties | BP_PROPERTY_PROPAGATES_NAN | bp__driver_guarantees(driver, &problem->policy, setup);
}

/* Chooses threads within an item, or one item for each thread, whichever takes less time. Returns that time. */
static double choose_threads(const bp__driver *driver, const bp_problem *problem, bp__lapack_judgement *judgement) {
    const bp__lapack_operation *operation = judgement->operation;
    const bp_policy *policy = &problem->policy;
    int allowed = bp__driver_allowed(driver, policy);
    double alone = bp__lapack_cost(driver, operation, problem, 1);
    bool gains = allowed > 1 && bp__lapack_cost(driver, operation, problem, allowed) < alone;
    judgement->setup = bp__driver_thread_policy(driver, policy, false, gains);
    int threads = judgement->setup.threads;
    double within = threads > 1 ? bp__lapack_cost(driver, operation, problem, threads) : alone;
    int sharers = bp__lapack_sharers(problem, alone, bp__driver_callers(driver, policy));
    if (sharers < 2 || bp__lapack_shared_cost(alone, sharers) >= within) {
        return within;
    }
    judgement->setup = bp__driver_thread_policy_shared(driver, policy);
    judgement->sharers = sharers;
    return bp__lapack_shared_cost(alone, sharers);
}

static void judge(bp__driver *driver, const bp_problem *problem, bp__lapack_judgement *judgement, bp_verdict *verdict) {
    const bp__lapack_operation *operation = bp__lapack_operation_of(problem);
    *judgement = (bp__lapack_judgement){.operation = operation, .setup.threads = 1, .sharers = 1};
    if (!takes(problem, operation, verdict) || !bp__driver_usable(driver, verdict) ||
        !is_sound(driver, operation, problem, verdict) || !fits(driver, operation, problem, verdict)) {
        return;
    }
    verdict->cost_ns = choose_threads(driver, problem, judgement);
    int threads = judgement->setup.threads;
    verdict->algorithm = operation->algorithm;
    verdict->threads = judgement->sharers > 1 ? judgement->sharers : threads;
    verdict->properties = properties_of(driver, problem, &judgement->setup);
    if (threads == 0) {
        const char *blas = driver->library->blas;
        snprintf(verdict->text, sizeof verdict->text, "%s%s%sits thread count can neither be set nor read",
                 *blas ? "calls the products of " : "", blas, *blas ? "; " : "");
    }
    bp__driver_enforce_policy(driver, &problem->policy, &judgement->setup, verdict);
}

void bp__lapack_accept(void *driver, const bp_problem *problem, bp_offers *offers) {
    bp__lapack_judgement judgement;
    bp_verdict verdict = BP_VERDICT_INIT;
    judge(driver, problem, &judgement, &verdict);
    offers->add(offers, &verdict, &judgement, sizeof judgement);
}
