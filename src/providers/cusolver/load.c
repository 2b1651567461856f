/* load.c - describes cuSOLVER: its functions and statuses, and what each device has. */
#include "providers/cusolver/cusolver.h"

enum { LEAST_MAJOR = 11, MOST_MAJOR = 12 };

static const bp__cu_status statuses[] = {
#define X(name, number, means) {number, "CUSOLVER_STATUS_" #name, means},
    BP__CUSOLVER_STATUSES(X)
#undef X
        {0, NULL, BP_OK}};

#define X(name, symbol, parameters) {#symbol, offsetof(bp__cusolver_instance, api.name)},
static const bp__cu_function functions[] = {BP__CUSOLVER_FUNCTIONS(X){NULL, 0}};
#undef X

static void end(bp__cu_vendor *opaque, bp__cu_part *part) {
    const bp__cusolver_api *api = &((bp__cusolver_instance *)opaque)->api;
    bp__cusolver_device *gone = (bp__cusolver_device *)part;
    if (gone->params) {
        api->DestroyParams(gone->params);
    }
    if (gone->handle) {
        api->Destroy(gone->handle);
    }
    bp__cusolver_kernels_unload(&gone->kernels);
    pthread_mutex_destroy(&gone->mutex);
}

static bp_status begin(bp__cu_vendor *opaque, bp__cu_part *part) {
    const bp__cusolver_api *api = &((bp__cusolver_instance *)opaque)->api;
    bp__cusolver_device *fresh = (bp__cusolver_device *)part;
    pthread_mutex_init(&fresh->mutex, NULL);
    cusolverStatus_t status = BP__CUSOLVER_STATUS_SUCCESS;
    const CUresult code = bp__cusolver_kernels_load(&fresh->kernels);
    if (code == BP__CU_SUCCESS) {
        status = api->Create(&fresh->handle);
        status = status ? status : api->CreateParams(&fresh->params);
    }
    if (code == BP__CU_SUCCESS && status == BP__CUSOLVER_STATUS_SUCCESS) {
        return BP_OK;
    }
    end(opaque, part);
    return code ? opaque->host->fail(BP_E_UNSUPPORTED,
                                     "cusolver: the driver has not loaded the kernels that copy "
                                     "and check matrices: %s (%d)",
                                     bp__cu_error_name((int64_t)code, NULL), (int)code)
                : bp__cu_vendor_fail(opaque, part->device, status, "cusolverDnCreate");
}

static const bp__cu_vendor_kind kind = {"cusolver", "a library of CUDA 12 or 13", LEAST_MAJOR, MOST_MAJOR, functions,
                                        statuses,   sizeof(bp__cusolver_device),  begin,       end};

bp_status bp__cusolver_open(const bp_host *host, const bp_library_info *library, void **opened) {
    return bp__cu_vendor_open(&kind, sizeof(bp__cusolver_instance), host, library, opened);
}
