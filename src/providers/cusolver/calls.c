/* calls.c - calls the routines of cuSOLVER for an item, and asks for their workspaces. */
#include "providers/cusolver/cusolver.h"

const char *bp__cusolver_name_of(bp__cusolver_routine routine) {
    static const char *const names[] = {
        [BP__CUSOLVER_POTRF] = "cusolverDnXpotrf",
        [BP__CUSOLVER_POTRS] = "cusolverDnXpotrs",
        [BP__CUSOLVER_GETRF] = "cusolverDnXgetrf",
        [BP__CUSOLVER_GETRS] = "cusolverDnXgetrs",
    };
    return names[routine];
}

static void *address(uint64_t at) {
    return (void *)(uintptr_t)at;
}

cusolverStatus_t bp__cusolver_sizes(const bp__cusolver_prepared *plan, const bp__cusolver_step *step, size_t *device,
                                    size_t *host) {
    const bp__cusolver_api *api = &plan->instance->api;
    const bp__cusolver_device *on = plan->on;
    const cudaDataType type = plan->type;
    *device = *host = 0;
    switch ((bp__cusolver_routine)step->number) {
    case BP__CUSOLVER_POTRF:
        return api->PotrfSize(on->handle, on->params, step->letter, step->n, type, NULL, step->n, type, device, host);
    case BP__CUSOLVER_GETRF:
        return api->GetrfSize(on->handle, on->params, step->m, step->n, type, NULL, step->m, type, device, host);
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
    const cudaDataType type = plan->type;
    void *a = address(item->matrix[0]), *b = address(item->matrix[1]), *work = address(item->work);
    int64_t *pivots = address(item->pivots);
    switch ((bp__cusolver_routine)step->number) {
    case BP__CUSOLVER_POTRF:
        return api->Potrf(on->handle, on->params, step->letter, step->n, type, a, step->n, type, work, plan->work_size,
                          plan->host_work, plan->host_work_size, item->info);
    case BP__CUSOLVER_POTRS:
        return api->Potrs(on->handle, on->params, step->letter, step->n, step->k, type, a, step->n, type, b, step->n,
                          item->other_info);
    case BP__CUSOLVER_GETRF:
        return api->Getrf(on->handle, on->params, step->m, step->n, type, a, step->m, pivots, type, work,
                          plan->work_size, plan->host_work, plan->host_work_size, item->info);
    case BP__CUSOLVER_GETRS:
        return api->Getrs(on->handle, on->params, step->letter, step->n, step->k, type, a, step->n, pivots, type, b,
                          step->n, item->other_info);
    }
    return BP__CUSOLVER_STATUS_INVALID_VALUE;
}
