/* load.c - opens CLBlast and calls its functions for each element type. */
#include "providers/clblast/clblast.h"

/* ---- Loading ---- */

static bp_status find_functions(bp__clblast_instance *instance, void *handle) {
    const bp_host *host = instance->host;
    const char *missing = NULL;
#define FIND(member, name)                                                                                             \
    instance->api.member = (__typeof__(instance->api.member))host->symbol(handle, name);                               \
    missing = instance->api.member ? missing : name;
#define X(letter, dtype, T)                                                                                            \
    FIND(letter##gemm, "CLBlast" #letter "gemm")                                                                       \
    FIND(letter##gemm_with_temp, "CLBlast" #letter "gemmWithTempBuffer")                                               \
    FIND(letter##temp_size, "CLBlast" #letter "GemmTempBufferSize")                                                    \
    FIND(letter##strided, "CLBlast" #letter "gemmStridedBatched")
    BP__CLBLAST_TYPES(X)
#undef X
    return missing ? host->fail(BP_E_SYMBOL, "library '%s' (%s) has no function %s; CLBlast 1.5 or later is needed",
                                instance->library->id, instance->library->path, missing)
                   : BP_OK;
}

bp_status bp__clblast_load(bp__clblast_instance *instance) {
    if (atomic_load_explicit(&instance->loaded, memory_order_acquire)) {
        return BP_OK;
    }
    void *handle;
    pthread_mutex_lock(&instance->mutex);
    bp_status status = BP_OK;
    if (!atomic_load_explicit(&instance->loaded, memory_order_relaxed)) {
        status = instance->host->open_library(instance->library, &handle);
        status = status == BP_OK ? find_functions(instance, handle) : status;
        atomic_store_explicit(&instance->loaded, status == BP_OK, memory_order_release);
    }
    pthread_mutex_unlock(&instance->mutex);
    return status;
}

/* ---- Calls ---- */

#define SCALAR_F32(value) ((float)(value).re)
#define SCALAR_F64(value) ((value).re)
#define SCALAR_C64(value) ((bp__clblast_c64){(float)(value).re, (float)(value).im})
#define SCALAR_C128(value) ((bp__clblast_c128){(value).re, (value).im})

/* Defines run_S(), ... for the element types. */
#define X(letter, dtype, T)                                                                                            \
    static int run_##letter(const bp__clblast_api *api, const bp__clblast_call *x, cl_event *event) {                  \
        const bp__clblast_route *r = x->route;                                                                         \
        const T alpha = SCALAR_##dtype(x->alpha), beta = SCALAR_##dtype(x->beta);                                      \
        cl_command_queue queue = x->queue;                                                                             \
        if (r->count > 1) {                                                                                            \
            return api->letter##strided(r->layout, r->transpose_a, r->transpose_b, r->m, r->n, r->k, alpha, x->a,      \
                                        x->at_a, r->lda, r->stride_a, x->b, x->at_b, r->ldb, r->stride_b, beta, x->c,  \
                                        x->at_c, r->ldc, r->stride_c, r->count, &queue, event);                        \
        }                                                                                                              \
        if (x->temp) {                                                                                                 \
            return api->letter##gemm_with_temp(r->layout, r->transpose_a, r->transpose_b, r->m, r->n, r->k, alpha,     \
                                               x->a, x->at_a, r->lda, x->b, x->at_b, r->ldb, beta, x->c, x->at_c,      \
                                               r->ldc, &queue, event, x->temp);                                        \
        }                                                                                                              \
        return api->letter##gemm(r->layout, r->transpose_a, r->transpose_b, r->m, r->n, r->k, alpha, x->a, x->at_a,    \
                                 r->lda, x->b, x->at_b, r->ldb, beta, x->c, x->at_c, r->ldc, &queue, event);           \
    }
BP__CLBLAST_TYPES(X)
#undef X

int bp__clblast_run(const bp__clblast_api *api, const bp__clblast_call *call, cl_event *event) {
    switch (call->route->dtype) {
#define X(letter, dtype, T)                                                                                            \
    case BP_##dtype:                                                                                                   \
        return run_##letter(api, call, event);
        BP__CLBLAST_TYPES(X)
#undef X
    default:
        return BP__CL_INVALID_VALUE;
    }
}

/* The library copies an operand to temporary memory unless it has the sizes, the leading dimension and the offset that
 * its kernel needs. An offset of 1 never fits. */
size_t bp__clblast_temp_bytes(const bp__clblast_api *api, const bp__clblast_route *r, cl_command_queue queue) {
    size_t bytes = 0;
    int status = 1;
    switch (r->dtype) {
#define X(letter, dtype, T)                                                                                            \
    case BP_##dtype:                                                                                                   \
        status = api->letter##temp_size(r->layout, r->transpose_a, r->transpose_b, r->m, r->n, r->k, 1, r->lda, 1,     \
                                        r->ldb, 1, r->ldc, &queue, &bytes);                                            \
        break;
        BP__CLBLAST_TYPES(X)
#undef X
    default:
        break;
    }
    return status == BP__CLBLAST_Success ? bytes : 0;
}
