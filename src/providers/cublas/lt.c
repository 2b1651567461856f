/* lt.c - plans and runs products of cuBLASLt.
 *
 * A plan has the descriptors of the call and the algorithm that the library's heuristic gives for it. The heuristic
 * depends on how operands are aligned, which is known in a run only. So a plan asks for operands that are aligned as
 * most are, and in the first run with others once more. */
#include "providers/cublas/cublas.h"

#include <stdatomic.h>
#include <stdio.h>

enum { ALIGNMENTS = 5, USUAL_ALIGNMENT = ALIGNMENTS - 1, WORKSPACE_ALIGNMENT = 256, MOST_RANKS = 8 };

typedef struct lt_plan {
    bp__cublas_prepared base; /* must be first */
    cublasLtMatmulDesc_t what;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulPreference_t preference;
    pthread_mutex_t mutex; /* the address of the bias in `what`, `preference`, and what follows until it is known */
    atomic_bool known[ALIGNMENTS];
    cublasLtMatmulAlgo_t algorithm[ALIGNMENTS]; /* for addresses that are multiples of 1, 2, 4, 8, 16 */
} lt_plan;

static const bp__cublas_lt_api *api_of(const lt_plan *p) {
    return &p->base.instance->lt;
}

/* ---- Descriptors ---- */

static cublasStatus_t describe_layout(const lt_plan *p, cublasLtMatrixLayout_t *layout, uint32_t type, int64_t rows,
                                      int64_t columns, int64_t ld, int64_t stride) {
    const bp__cublas_lt_api *lt = api_of(p);
    const int32_t count = (int32_t)p->base.offer.route.count;
    cublasStatus_t status = lt->LayoutCreate(layout, type, (uint64_t)rows, (uint64_t)columns, ld);
    if (status == BP__CUBLAS_STATUS_SUCCESS && count > 1) {
        status = lt->LayoutSet(*layout, BP__CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
        status = status
                     ? status
                     : lt->LayoutSet(*layout, BP__CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
    }
    return status;
}

/* The heuristic refuses a bias without an address. Each call sets its own one. */
static cublasStatus_t set_some_bias(const lt_plan *p) {
    const void *const some = (const void *)(uintptr_t)WORKSPACE_ALIGNMENT;
    return p->base.offer.route.has_bias
               ? api_of(p)->DescSet(p->what, BP__CUBLASLT_MATMUL_DESC_BIAS_POINTER, &some, sizeof some)
               : BP__CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t describe_product(lt_plan *p) {
    const bp__cublas_lt_api *lt = api_of(p);
    const bp__cublas_route *r = &p->base.offer.route;
    const bp__cublas_numerics *x = &p->base.offer.numerics;
    const int32_t op_a = (int32_t)r->op_a, op_b = (int32_t)r->op_b;
    cublasStatus_t status = lt->DescCreate(&p->what, x->compute, x->scale);
    status = status ? status : lt->DescSet(p->what, BP__CUBLASLT_MATMUL_DESC_TRANSA, &op_a, sizeof op_a);
    status = status ? status : lt->DescSet(p->what, BP__CUBLASLT_MATMUL_DESC_TRANSB, &op_b, sizeof op_b);
    status =
        status ? status : lt->DescSet(p->what, BP__CUBLASLT_MATMUL_DESC_EPILOGUE, &r->epilogue, sizeof r->epilogue);
    return status ? status : set_some_bias(p);
}

static cublasStatus_t describe(lt_plan *p) {
    const bp__cublas_route *r = &p->base.offer.route;
    const bp__cublas_numerics *x = &p->base.offer.numerics;
    const bool plain_a = r->op_a == BP__CUBLAS_OP_N, plain_b = r->op_b == BP__CUBLAS_OP_N;
    cublasStatus_t status = describe_product(p);
    status = status
                 ? status
                 : describe_layout(p, &p->a, x->ab, plain_a ? r->m : r->k, plain_a ? r->k : r->m, r->lda, r->stride_a);
    status = status
                 ? status
                 : describe_layout(p, &p->b, x->ab, plain_b ? r->k : r->n, plain_b ? r->n : r->k, r->ldb, r->stride_b);
    return status ? status : describe_layout(p, &p->d, x->d, r->m, r->n, r->ldd, r->stride_d);
}

/* ---- The heuristic ---- */

static cublasStatus_t prefer(lt_plan *p, uint64_t workspace) {
    const bp__cublas_lt_api *lt = api_of(p);
    const uint32_t schemes = p->base.offer.numerics.schemes;
    const cublasStatus_t status =
        lt->PreferenceSet(p->preference, BP__CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    return status || schemes == BP__CUBLASLT_REDUCTION_SCHEME_MASK
               ? status
               : lt->PreferenceSet(p->preference, BP__CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes,
                                   sizeof schemes);
}

static cublasStatus_t prefer_alignment(const lt_plan *p, int alignment) {
    const uint32_t bytes = 1u << alignment;
    cublasStatus_t status = BP__CUBLAS_STATUS_SUCCESS;
    for (unsigned i = 0; i < 4 && status == BP__CUBLAS_STATUS_SUCCESS; i++) {
        status = api_of(p)->PreferenceSet(p->preference, BP__CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i, &bytes,
                                          sizeof bytes);
    }
    return status;
}

/* Asks for the best `count` algorithms. Those that can run are the first *found results. */
static cublasStatus_t ask(const lt_plan *p, int alignment, int count, cublasLtMatmulHeuristicResult_t *results,
                          int *found) {
    int returned = 0;
    cublasStatus_t status = prefer_alignment(p, alignment);
    status = status ? status
                    : api_of(p)->GetHeuristic(p->base.on->lt, p->what, p->a, p->b, p->d, p->d, p->preference, count,
                                              results, &returned);
    *found = 0;
    for (int i = 0; i < returned && status == BP__CUBLAS_STATUS_SUCCESS; i++) {
        if (results[i].state == BP__CUBLAS_STATUS_SUCCESS) {
            results[(*found)++] = results[i];
        }
    }
    return status;
}

/* Finds the algorithm for an alignment, and its workspace. */
static bp_status find_algorithm(lt_plan *p, int alignment, size_t *workspace) {
    const bp__cublas_instance *instance = p->base.instance;
    const int rank = p->base.offer.rank;
    cublasLtMatmulHeuristicResult_t results[MOST_RANKS];
    int found = 0;
    const cublasStatus_t status = ask(p, alignment, rank + 1, results, &found);
    if (status != BP__CUBLAS_STATUS_SUCCESS) {
        return bp__cu_vendor_fail(&instance->vendor, p->base.on->part.device, status, "cublasLtMatmulAlgoGetHeuristic");
    }
    if (found == 0) {
        return instance->vendor.host->fail(
            BP_E_UNSUPPORTED, "library '%s' has no algorithm for %s with a workspace of at most %llu bytes",
            instance->vendor.library->id, bp__cublas_compute_name(p->base.offer.numerics.compute),
            (unsigned long long)*workspace);
    }
    const cublasLtMatmulHeuristicResult_t *best = &results[rank < found ? rank : found - 1];
    p->algorithm[alignment] = best->algo;
    *workspace = best->workspaceSize;
    atomic_store_explicit(&p->known[alignment], true, memory_order_release);
    return BP_OK;
}

/* ---- Runs ---- */

/* Returns the largest alignment that all operands of a call have, as a power of two, at most the usual one. */
static int alignment_of(const bp__cublas_call *call) {
    const uint64_t bits = call->a | call->b | call->d | call->bias;
    return __builtin_ctzll(bits | UINT64_C(1) << USUAL_ALIGNMENT);
}

/* Finds the algorithm for operands that are aligned to less. It has the workspace of the plan. */
static bp_status find_later(lt_plan *p, int alignment) {
    size_t workspace = p->base.prepared.workspace;
    pthread_mutex_lock(&p->mutex);
    bp_status status = BP_OK;
    if (!atomic_load_explicit(&p->known[alignment], memory_order_relaxed)) {
        const cublasStatus_t set = prefer(p, workspace);
        status = set ? bp__cu_vendor_fail(&p->base.instance->vendor, p->base.on->part.device, set,
                                          "cublasLtMatmulPreferenceSetAttribute")
                     : find_algorithm(p, alignment, &workspace);
    }
    pthread_mutex_unlock(&p->mutex);
    return status;
}

static cublasStatus_t multiply(const lt_plan *p, const bp__cublas_call *call, int alignment) {
    return api_of(p)->Matmul(p->base.on->lt, p->what, &call->alpha, (const void *)(uintptr_t)call->a, p->a,
                             (const void *)(uintptr_t)call->b, p->b, &call->beta, (const void *)(uintptr_t)call->d,
                             p->d, (void *)(uintptr_t)call->d, p->d, &p->algorithm[alignment], call->workspace,
                             call->workspace_size, call->stream);
}

/* The address of the bias is in the descriptor, which threads share. The library has read it when the call returns. */
static cublasStatus_t multiply_with_bias(lt_plan *p, const bp__cublas_call *call, int alignment) {
    const void *bias = (const void *)(uintptr_t)call->bias;
    pthread_mutex_lock(&p->mutex);
    cublasStatus_t status = api_of(p)->DescSet(p->what, BP__CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    status = status ? status : multiply(p, call, alignment);
    pthread_mutex_unlock(&p->mutex);
    return status;
}

static bp_status run_lt(const bp__cublas_prepared *plan, const bp__cublas_call *call) {
    lt_plan *p = (lt_plan *)(uintptr_t)plan;
    const int alignment = alignment_of(call);
    if (!atomic_load_explicit(&p->known[alignment], memory_order_acquire)) {
        const bp_status status = find_later(p, alignment);
        if (status != BP_OK) {
            return status;
        }
    }
    const cublasStatus_t status =
        plan->offer.route.has_bias ? multiply_with_bias(p, call, alignment) : multiply(p, call, alignment);
    return status == BP__CUBLAS_STATUS_SUCCESS
               ? BP_OK
               : bp__cu_vendor_fail(&plan->instance->vendor, plan->on->part.device, status, "cublasLtMatmul");
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    return bp__cublas_enqueue((const bp__cublas_prepared *)self, operands, exec, run_lt);
}

/* ---- Plans ---- */

static void destroy(bp_prepared *self) {
    lt_plan *p = (lt_plan *)self;
    const bp__cublas_lt_api *lt = api_of(p);
    cublasLtMatrixLayout_t layouts[] = {p->a, p->b, p->d};
    for (int i = 0; i < 3; i++) {
        if (layouts[i]) {
            lt->LayoutDestroy(layouts[i]);
        }
    }
    if (p->what) {
        lt->DescDestroy(p->what);
    }
    if (p->preference) {
        lt->PreferenceDestroy(p->preference);
    }
    pthread_mutex_destroy(&p->mutex);
    p->base.instance->vendor.host->release(p);
}

/* Returns a plan without an algorithm; NULL with *status. */
static lt_plan *new_plan(bp__cublas_instance *instance, bp__cublas_device *on, const bp__cublas_offer *offer,
                         bp_status *status) {
    lt_plan *fresh = bp__cu_vendor_plan(&instance->vendor, sizeof *fresh);
    if (!fresh) {
        *status = BP_E_NO_MEMORY;
        return NULL;
    }
    pthread_mutex_init(&fresh->mutex, NULL);
    bp__cublas_plan_begin(&fresh->base, instance, on, offer);
    fresh->base.prepared.enqueue = enqueue;
    fresh->base.prepared.destroy = destroy;
    fresh->base.prepared.workspace_alignment = WORKSPACE_ALIGNMENT;
    cublasStatus_t made = describe(fresh);
    made = made ? made : instance->lt.PreferenceCreate(&fresh->preference);
    made = made ? made : prefer(fresh, offer->numerics.workspace);
    if (made != BP__CUBLAS_STATUS_SUCCESS) {
        destroy(&fresh->base.prepared);
        *status = bp__cu_vendor_fail(&instance->vendor, on->part.device, made, "the descriptors of a product");
        return NULL;
    }
    *status = BP_OK;
    return fresh;
}

/* Calls the heuristic with the device's context as the current one. */
static bp_status find_usual(lt_plan *p, size_t *workspace) {
    bp__cu_scope scope;
    const CUresult code = bp__cu_enter(p->base.on->part.device, true, &scope);
    const bp_status status = code == BP__CU_SUCCESS
                                 ? find_algorithm(p, USUAL_ALIGNMENT, workspace)
                                 : bp__cu_fail(p->base.instance->vendor.host, code, "cuCtxPushCurrent");
    bp__cu_leave(&scope);
    return status;
}

bp_status bp__cublas_plan_lt(bp__cublas_instance *instance, bp__cublas_device *on, const bp__cublas_offer *offer,
                             bp_prepared **prepared) {
    bp_status status;
    size_t workspace = offer->numerics.workspace;
    lt_plan *p = new_plan(instance, on, offer, &status);
    if (!p) {
        return status;
    }
    status = find_usual(p, &workspace);
    if (status != BP_OK) {
        destroy(&p->base.prepared);
        return status;
    }
    p->base.prepared.workspace = workspace;
    *prepared = &p->base.prepared;
    return BP_OK;
}

/* ---- The library's own list ---- */

static uint32_t config(const lt_plan *p, const cublasLtMatmulAlgo_t *algorithm, unsigned attribute) {
    uint32_t value = 0;
    size_t written = 0;
    api_of(p)->ConfigGet(algorithm, attribute, &value, sizeof value, &written);
    return value;
}

/* Writes what the library tells about an algorithm. */
static void tell(const lt_plan *p, const cublasLtMatmulHeuristicResult_t *result, char *text, size_t size) {
    const cublasLtMatmulAlgo_t *algorithm = &result->algo;
    snprintf(text, size, "algorithm %u, tile %u, stages %u, split-k %u, reduction %u, workspace of %zu bytes",
             config(p, algorithm, BP__CUBLASLT_ALGO_CONFIG_ID), config(p, algorithm, BP__CUBLASLT_ALGO_CONFIG_TILE_ID),
             config(p, algorithm, BP__CUBLASLT_ALGO_CONFIG_STAGES_ID),
             config(p, algorithm, BP__CUBLASLT_ALGO_CONFIG_SPLITK_NUM),
             config(p, algorithm, BP__CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME), result->workspaceSize);
}

void bp__cublas_list_lt(bp__cublas_instance *instance, bp__cublas_device *on, const bp__cublas_offer *offer,
                        const bp_verdict *verdict, bp_offers *offers) {
    static const char *const names[MOST_RANKS] = {"heuristic0", "heuristic1", "heuristic2", "heuristic3",
                                                  "heuristic4", "heuristic5", "heuristic6", "heuristic7"};
    cublasLtMatmulHeuristicResult_t results[MOST_RANKS];
    bp__cu_scope scope;
    bp_status status;
    int found = 0;
    lt_plan *p = new_plan(instance, on, offer, &status);
    if (!p) {
        return;
    }
    if (bp__cu_enter(on->part.device, true, &scope) == BP__CU_SUCCESS &&
        ask(p, USUAL_ALIGNMENT, MOST_RANKS, results, &found) != BP__CUBLAS_STATUS_SUCCESS) {
        found = 0;
    }
    bp__cu_leave(&scope);
    for (int i = 0; i < found; i++) {
        bp_verdict listed = *verdict;
        bp__cublas_offer ranked = *offer;
        ranked.rank = i;
        listed.algorithm = names[i];
        tell(p, &results[i], listed.text, sizeof listed.text);
        offers->add(offers, &listed, &ranked, sizeof ranked);
    }
    destroy(&p->base.prepared);
}
