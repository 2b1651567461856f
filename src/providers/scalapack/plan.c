/* plan.c - makes plans, and runs them: local checks, the agreement of the ranks, then the routine. */
#include "providers/scalapack/scalapack.h"

static const bp__scalapack_operation *const operations[] = {
    &bp__scalapack_gemm,      &bp__scalapack_cholesky,    &bp__scalapack_cholesky_solve,
    &bp__scalapack_lu_factor, &bp__scalapack_lu_solve,    &bp__scalapack_solve,
    &bp__scalapack_inv,       &bp__scalapack_qr,          &bp__scalapack_eigh,
    &bp__scalapack_svd,       &bp__scalapack_matrix_norm, &bp__scalapack_lstsq};

const bp__scalapack_operation *bp__scalapack_operation_of(const bp_problem *problem) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (operations[i]->op == problem->op) {
            return operations[i];
        }
    }
    return NULL;
}

size_t bp__scalapack_item(const bp_problem *problem) {
    return problem->dtype == BP_F32 ? 4 : problem->dtype == BP_C128 ? 16 : 8;
}

static bool is_gemm(const bp__scalapack_call *call) {
    return call->plan->problem.op == BP_OP_GEMM;
}

/* ---- Local checks ---- */

static bool is_present(const bp__scalapack_call *call, int i) {
    return is_gemm(call) ? i < 3 : call->plan->problem.of.linalg.operand[i].dtype != 0;
}

/* Whether an operand of the problem is a matrix, which is distributed; others are replicated. */
static bool is_matrix(const bp__scalapack_call *call, int i) {
    return is_gemm(call) || (call->plan->operation->matrices >> i & 1);
}

static bp_status take_operand(bp__scalapack_call *call, int i, const bp_operand *operand) {
    const bp_dist_view *view = operand->base;
    if (!view || operand->offset != 0 || view->struct_size != sizeof *view) {
        return call->host->fail(BP_E_ARGUMENT, "operand %d is not the tensor of a bp_dist_view", i);
    }
    if ((view->tensor.ndim == 2) != is_matrix(call, i)) {
        return call->host->fail(BP_E_LAYOUT, "operand %d is %s", i,
                                is_matrix(call, i) ? "a replicated vector; distributed matrices have two dimensions"
                                                   : "distributed; it must be replicated (bp_dist_view_replicated)");
    }
    if (!view->local && view->rows > 0 && view->columns > 0) {
        return call->host->fail(BP_E_ARGUMENT, "the local part of operand %d is NULL", i);
    }
    call->view[i] = view;
    return BP_OK;
}

/* Dispatch compares views, but different views may have one local part. */
static bool overlap(const bp_dist_view *a, const bp_dist_view *b) {
    const uintptr_t at_a = (uintptr_t)a->local, at_b = (uintptr_t)b->local;
    const uintptr_t size_a = (uintptr_t)(a->leading * a->columns) * (a->tensor.dtype.bits / 8u);
    const uintptr_t size_b = (uintptr_t)(b->leading * b->columns) * (b->tensor.dtype.bits / 8u);
    return a->rows > 0 && b->rows > 0 && at_a < at_b + size_b && at_b < at_a + size_a;
}

static bp_status check_overlap(const bp__scalapack_call *call) {
    for (int i = call->plan->operation->inputs; i < BP__SCALAPACK_OPERANDS; i++) {
        for (int j = 0; j < i && call->view[i]; j++) {
            if (call->view[j] && overlap(call->view[i], call->view[j])) {
                return call->host->fail(BP_E_OVERLAP,
                                        "the local part of operand %d, which is written, overlaps operand %d", i, j);
            }
        }
    }
    return BP_OK;
}

static bp_status prepare(bp__scalapack_call *call, const bp_operand *operands) {
    const bp__scalapack_operation *operation = call->plan->operation;
    for (int i = 0; i < BP__SCALAPACK_OPERANDS; i++) {
        const bp_status status = is_present(call, i) ? take_operand(call, i, &operands[i]) : BP_OK;
        if (status != BP_OK) {
            return status;
        }
    }
    const bp_status apart = check_overlap(call);
    if (apart != BP_OK) {
        return apart;
    }
    const size_t size = operation->work ? operation->work(call->plan) : 0;
    call->work = size > 0 ? bp__scalapack_allocate(call->host, size) : NULL;
    return size > 0 && !call->work ? call->host->fail(BP_E_NO_MEMORY, "%s: no memory for %zu bytes of workspace",
                                                      operation->algorithm, size)
                                   : BP_OK;
}

/* Returns whether an element that the operation reads on this rank is NaN or infinite. */
static int has_non_finite(const bp__scalapack_call *call) {
    const bp__scalapack_operation *operation = call->plan->operation;
    const uint32_t read = operation->whole | operation->triangle;
    for (int i = 0; read >> i; i++) {
        const bool triangle = operation->triangle >> i & 1;
        if ((read >> i & 1) && !bp__scalapack_finite(call, i, triangle, call->plan->problem.of.linalg.upper)) {
            return 1;
        }
    }
    return 0;
}

/* ---- Results ---- */

static void write_info(const bp__scalapack_call *call, int info) {
    const bp_dist_view *view = call->plan->operation->info > 0 ? call->view[call->plan->operation->info] : NULL;
    if (view && view->local) {
        *(int32_t *)view->local = info;
    }
}

/* Ends a call with LAPACK's info, or BP_INFO_NON_FINITE. */
static bp_status finish(const bp__scalapack_call *call, int info) {
    const bp_problem *problem = &call->plan->problem;
    if (info < 0 && info != BP_INFO_NON_FINITE) {
        return call->host->fail(BP_E_INTERNAL, "ScaLAPACK refuses argument %d of %s", -info,
                                call->plan->operation->algorithm);
    }
    if (is_gemm(call)) {
        return BP_OK;
    }
    write_info(call, info);
    return info != 0 && problem->of.linalg.fail_on_item_error ? call->host->fail_numeric(problem, 0, info) : BP_OK;
}

static bp_status run_routine(bp__scalapack_call *call) {
    bp__scalapack_instance *instance = call->plan->instance;
    int info = 0;
    bp_status status = bp__scalapack_context_of(instance, call->place, &call->context);
    if (status != BP_OK) {
        return status;
    }
    if (instance->set_threads) {
        instance->set_threads(call->plan->problem.policy.threads);
    }
    status = call->plan->operation->run(call, &info);
    return status == BP_OK ? finish(call, info) : status;
}

static bool is_empty(const bp__scalapack_call *call) {
    return !is_gemm(call) && call->plan->problem.of.linalg.empty;
}

static bp_status run_agreed(bp__scalapack_call *call, int lowest_rank) {
    if (is_empty(call) && !call->plan->operation->takes_empty) {
        return finish(call, 0);
    }
    if (lowest_rank > 0) {
        bp__scalapack_fill_nan(call, call->plan->operation->inputs);
        const bp_status status = finish(call, BP_INFO_NON_FINITE);
        return status == BP_E_NON_FINITE
                   ? call->host->fail(status, "%s: rank %d has NaN or infinity in its part of the input",
                                      call->plan->operation->algorithm, lowest_rank - 1)
                   : status;
    }
    return run_routine(call);
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__scalapack_plan *plan = (const bp__scalapack_plan *)self;
    bp__scalapack_call call = {.plan = plan,
                               .place = plan->place,
                               .host = plan->instance->host,
                               .scalars = exec->scalars,
                               .item = bp__scalapack_item(&plan->problem)};
    const bool scans = plan->operation->whole | plan->operation->triangle;
    bp_status status = prepare(&call, operands);
    int flag = status == BP_OK && scans ? has_non_finite(&call) : 0;
    status = call.place->agree(call.place, status, scans ? &flag : NULL);
    status = status == BP_OK ? run_agreed(&call, flag) : status;
    bp__scalapack_give(&call);
    return status;
}

/* ---- Plans ---- */

static void destroy(bp_prepared *self) {
    bp__scalapack_plan *plan = (bp__scalapack_plan *)self;
    plan->instance->host->release(plan);
}

static bp_status find_routines(bp__scalapack_plan *plan) {
    const uint32_t dtype = plan->problem.dtype;
    const bool complex = bp__scalapack_is_complex(&plan->problem);
    const char letter = dtype == BP_F32 ? 's' : dtype == BP_F64 ? 'd' : dtype == BP_C64 ? 'c' : 'z';
    const bp__scalapack_operation *operation = plan->operation;
    const bp_host *host = plan->instance->host;
    for (int i = 0; i < BP__SCALAPACK_ROUTINES && operation->real[i]; i++) {
        char name[32] = {'p', letter};
        const char *stem = complex && operation->other[i] ? operation->other[i] : operation->real[i];
        const size_t length = strlen(stem);
        memcpy(name + 2, stem, length);
        name[2 + length] = '_';
        void *address = host->symbol(plan->instance->handle, name);
        if (!address) {
            return host->fail(BP_E_SYMBOL, "ScaLAPACK has no routine %s", name);
        }
        memcpy(&plan->routine[i], &address, sizeof address);
    }
    return BP_OK;
}

bp_status bp__scalapack_plan_make(void *opaque, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                                  bp_prepared **prepared) {
    bp__scalapack_instance *instance = opaque;
    const bp_host *host = instance->host;
    void *place;
    (void)verdict, (void)found;
    bp_status status = host->device_open(problem->place, &place);
    status = status == BP_OK ? bp__scalapack_load(instance, place) : status;
    bp__scalapack_plan *plan = status == BP_OK ? host->allocate(sizeof *plan) : NULL;
    if (!plan) {
        return status != BP_OK ? status : host->fail(BP_E_NO_MEMORY, "scalapack: no memory for a plan");
    }
    memset(plan, 0, sizeof *plan);
    plan->prepared = (bp_prepared){.struct_size = sizeof plan->prepared, .enqueue = enqueue, .destroy = destroy};
    plan->instance = instance;
    plan->operation = bp__scalapack_operation_of(problem);
    plan->place = place;
    plan->problem = *problem;
    status = find_routines(plan);
    if (status != BP_OK) {
        host->release(plan);
        return status;
    }
    *prepared = &plan->prepared;
    return BP_OK;
}
