/* calls.c - calls the routines of cuSOLVER for an item, and asks for their workspaces. */
#include "providers/cusolver/cusolver.h"

const char *bp__cusolver_name_of(bp__cusolver_routine routine) {
    static const char *const names[] = {
        [BP__CUSOLVER_POTRF] = "cusolverDnXpotrf", [BP__CUSOLVER_POTRS] = "cusolverDnXpotrs",
        [BP__CUSOLVER_GETRF] = "cusolverDnXgetrf", [BP__CUSOLVER_GETRS] = "cusolverDnXgetrs",
        [BP__CUSOLVER_GEQRF] = "cusolverDnXgeqrf", [BP__CUSOLVER_ORGQR] = "cusolverDn<t>orgqr",
        [BP__CUSOLVER_SYEVD] = "cusolverDnXsyevd", [BP__CUSOLVER_GESVD] = "cusolverDnXgesvd",
    };
    return names[routine];
}

static void *address(uint64_t at) {
    return (void *)(uintptr_t)at;
}

/* ---- Q of reflectors: a function for each type, with sizes of 32 bits and workspaces in elements ---- */

static size_t element_of(cudaDataType type) {
    return type == BP__CUDA_R_32F ? 4 : type == BP__CUDA_C_64F ? 16 : 8;
}

static cusolverStatus_t size_orgqr(const bp__cusolver_prepared *plan, const bp__cusolver_step *step, size_t *device) {
    const bp__cusolver_api *api = &plan->instance->api;
    const cusolverDnHandle_t handle = plan->on->handle;
    const int m = (int)step->m, n = (int)step->n, k = (int)step->k;
    int count = 0;
    const cusolverStatus_t status =
        plan->type == BP__CUDA_R_32F   ? api->SorgqrSize(handle, m, n, k, NULL, m, NULL, &count)
        : plan->type == BP__CUDA_R_64F ? api->DorgqrSize(handle, m, n, k, NULL, m, NULL, &count)
        : plan->type == BP__CUDA_C_32F ? api->CungqrSize(handle, m, n, k, NULL, m, NULL, &count)
                                       : api->ZungqrSize(handle, m, n, k, NULL, m, NULL, &count);
    *device = (size_t)count * element_of(plan->type);
    return status;
}

static cusolverStatus_t call_orgqr(const bp__cusolver_prepared *plan, const bp__cusolver_step *step,
                                   const bp__cusolver_item *item) {
    const bp__cusolver_api *api = &plan->instance->api;
    const cusolverDnHandle_t handle = plan->on->handle;
    const int m = (int)step->m, n = (int)step->n, k = (int)step->k;
    const size_t most = plan->work_size / element_of(plan->type);
    const int count = most < INT32_MAX ? (int)most : INT32_MAX;
    void *a = address(item->matrix[0]), *tau = address(item->matrix[2]), *work = address(item->work);
    return plan->type == BP__CUDA_R_32F   ? api->Sorgqr(handle, m, n, k, a, m, tau, work, count, item->other_info)
           : plan->type == BP__CUDA_R_64F ? api->Dorgqr(handle, m, n, k, a, m, tau, work, count, item->other_info)
           : plan->type == BP__CUDA_C_32F ? api->Cungqr(handle, m, n, k, a, m, tau, work, count, item->other_info)
                                          : api->Zungqr(handle, m, n, k, a, m, tau, work, count, item->other_info);
}

/* ---- All routines ---- */

cusolverStatus_t bp__cusolver_sizes(const bp__cusolver_prepared *plan, const bp__cusolver_step *step, size_t *device,
                                    size_t *host) {
    const bp__cusolver_api *api = &plan->instance->api;
    const bp__cusolver_device *on = plan->on;
    const cudaDataType type = plan->type, real = plan->real_type;
    const int64_t m = step->m, n = step->n;
    const signed char job = (signed char)step->job;
    *device = *host = 0;
    switch ((bp__cusolver_routine)step->number) {
    case BP__CUSOLVER_POTRF:
        return api->PotrfSize(on->handle, on->params, step->letter, n, type, NULL, n, type, device, host);
    case BP__CUSOLVER_GETRF:
        return api->GetrfSize(on->handle, on->params, m, n, type, NULL, m, type, device, host);
    case BP__CUSOLVER_GEQRF:
        return api->GeqrfSize(on->handle, on->params, m, n, type, NULL, m, type, NULL, type, device, host);
    case BP__CUSOLVER_ORGQR:
        return size_orgqr(plan, step, device);
    case BP__CUSOLVER_SYEVD:
        return api->SyevdSize(on->handle, on->params, step->job, step->letter, n, type, NULL, n, real, NULL, type,
                              device, host);
    case BP__CUSOLVER_GESVD:
        return api->GesvdSize(on->handle, on->params, job, job, m, n, type, NULL, m, real, NULL, type, NULL, m, type,
                              NULL, n, type, device, host);
    case BP__CUSOLVER_POTRS:
    case BP__CUSOLVER_GETRS:
        break;
    }
    return BP__CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t bp__cusolver_call(const bp__cusolver_prepared *plan, const bp__cusolver_step *step,
                                   const bp__cusolver_item *item) {
    const bp__cusolver_api *api = &plan->instance->api;
    const bp__cusolver_device *on = plan->on;
    const cudaDataType type = plan->type, real = plan->real_type;
    const int64_t m = step->m, n = step->n;
    const signed char job = (signed char)step->job;
    const size_t size = plan->work_size, host_size = plan->host_work_size;
    void *a = address(item->matrix[0]), *b = address(item->matrix[1]), *c = address(item->matrix[2]);
    void *work = address(item->work), *host_work = plan->host_work;
    switch ((bp__cusolver_routine)step->number) {
    case BP__CUSOLVER_POTRF:
        return api->Potrf(on->handle, on->params, step->letter, n, type, a, n, type, work, size, host_work, host_size,
                          item->info);
    case BP__CUSOLVER_POTRS:
        return api->Potrs(on->handle, on->params, step->letter, n, step->k, type, a, n, type, b, n, item->other_info);
    case BP__CUSOLVER_GETRF:
        return api->Getrf(on->handle, on->params, m, n, type, a, m, c, type, work, size, host_work, host_size,
                          item->info);
    case BP__CUSOLVER_GETRS:
        return api->Getrs(on->handle, on->params, step->letter, n, step->k, type, a, n, c, type, b, n,
                          item->other_info);
    case BP__CUSOLVER_GEQRF:
        return api->Geqrf(on->handle, on->params, m, n, type, a, m, type, c, type, work, size, host_work, host_size,
                          item->other_info);
    case BP__CUSOLVER_ORGQR:
        return call_orgqr(plan, step, item);
    case BP__CUSOLVER_SYEVD:
        return api->Syevd(on->handle, on->params, step->job, step->letter, n, type, a, n, real, b, type, work, size,
                          host_work, host_size, item->info);
    case BP__CUSOLVER_GESVD:
        return api->Gesvd(on->handle, on->params, job, job, m, n, type, a, m, real, c, type, b, m, type,
                          address(item->matrix[3]), n, type, work, size, host_work, host_size, item->info);
    }
    return BP__CUSOLVER_STATUS_INVALID_VALUE;
}
