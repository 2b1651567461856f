/* load.c - describes cuBLASLt and cuBLAS: their functions and statuses, and the handle that each device has. */
#include "providers/cublas/cublas.h"

#include <string.h>

enum { LEAST_MAJOR = 12, MOST_MAJOR = 13 };
static const char release[] = "a library of CUDA 12 or 13";

static const bp__cu_status statuses[] = {
#define X(name, number, means) {number, "CUBLAS_STATUS_" #name, means},
    BP__CUBLAS_STATUSES(X)
#undef X
        {0, NULL, BP_OK}};

/* ---- cuBLASLt ---- */

#define X(name, symbol, parameters) {#symbol, offsetof(bp__cublas_instance, lt.name)},
static const bp__cu_function lt_functions[] = {BP__CUBLAS_LT_FUNCTIONS(X){NULL, 0}};
#undef X

static bp_status new_handle(const bp__cu_vendor *instance, const bp__cu_part *part, cublasStatus_t status) {
    return status == BP__CUBLAS_STATUS_SUCCESS
               ? BP_OK
               : bp__cu_vendor_fail(instance, part->device, status, "the library makes no handle for the device");
}

static bp_status begin_lt(bp__cu_vendor *instance, bp__cu_part *part) {
    const bp__cublas_instance *own = (const bp__cublas_instance *)instance;
    return new_handle(instance, part, own->lt.Create(&((bp__cublas_device *)part)->lt));
}

static void end_lt(bp__cu_vendor *instance, bp__cu_part *part) {
    ((bp__cublas_instance *)instance)->lt.Destroy(((bp__cublas_device *)part)->lt);
}

static const bp__cu_vendor_kind lt_kind = {
    "cublas", release, LEAST_MAJOR, MOST_MAJOR, lt_functions, statuses, sizeof(bp__cublas_device), begin_lt, end_lt};

/* ---- cuBLAS ---- */

#define X(name, symbol, parameters) {#symbol, offsetof(bp__cublas_instance, classic.name)},
static const bp__cu_function functions[] = {BP__CUBLAS_FUNCTIONS(X){NULL, 0}};
#undef X

static bp_status begin_classic(bp__cu_vendor *instance, bp__cu_part *part) {
    const bp__cublas_instance *own = (const bp__cublas_instance *)instance;
    bp__cublas_device *made = (bp__cublas_device *)part;
    const bp_status status = new_handle(instance, part, own->classic.Create(&made->classic));
    if (status == BP_OK) {
        pthread_mutex_init(&made->mutex, NULL);
    }
    return status;
}

static void end_classic(bp__cu_vendor *instance, bp__cu_part *part) {
    bp__cublas_device *gone = (bp__cublas_device *)part;
    ((bp__cublas_instance *)instance)->classic.Destroy(gone->classic);
    pthread_mutex_destroy(&gone->mutex);
}

static const bp__cu_vendor_kind classic_kind = {
    "cublas",      release,    LEAST_MAJOR, MOST_MAJOR, functions, statuses, sizeof(bp__cublas_device),
    begin_classic, end_classic};

/* ---- Instances ---- */

bp_status bp__cublas_open(const bp_host *host, const bp_library_info *library, void **opened) {
    const bool is_lt = strstr(library->soname, "cublasLt") != NULL;
    const bp_status status =
        bp__cu_vendor_open(is_lt ? &lt_kind : &classic_kind, sizeof(bp__cublas_instance), host, library, opened);
    if (status == BP_OK) {
        ((bp__cublas_instance *)*opened)->is_lt = is_lt;
    }
    return status;
}
