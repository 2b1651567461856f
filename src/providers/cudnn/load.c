/* load.c - describes cuDNN: its functions and statuses, and what each device has. */
#include "providers/cudnn/cudnn.h"

enum { MAJOR = 9 };

static const bp__cu_status statuses[] = {
#define X(name, number, means) {number, "CUDNN_STATUS_" #name, means},
    BP__CUDNN_STATUSES(X)
#undef X
        {0, NULL, BP_OK}};

#define X(result, name, symbol, parameters) {#symbol, offsetof(bp__cudnn_instance, api.name)},
static const bp__cu_function functions[] = {BP__CUDNN_FUNCTIONS(X){NULL, 0}};
#undef X

bp_status bp__cudnn_fail(const bp__cudnn_instance *instance, const bp__cudnn_device *on, cudnnStatus_t status,
                         const char *what) {
    char said[160] = "", text[256];
    instance->api.LastError(said, sizeof said);
    said[sizeof said - 1] = '\0';
    snprintf(text, sizeof text, "%s%s%s%s", what, *said ? " (" : "", said, *said ? ")" : "");
    return bp__cu_vendor_fail(&instance->vendor, on ? on->part.device : NULL, status, text);
}

static void end(bp__cu_vendor *opaque, bp__cu_part *part) {
    const bp__cudnn_instance *instance = (const bp__cudnn_instance *)opaque;
    bp__cudnn_device *gone = (bp__cudnn_device *)part;
    while (gone->captured) {
        bp__cudnn_prepared *plan = gone->captured;
        gone->captured = plan->next;
        bp__cudnn_plan_free(plan);
    }
    if (gone->handle) {
        instance->api.Destroy(gone->handle);
    }
    pthread_mutex_destroy(&gone->mutex);
}

static bp_status begin(bp__cu_vendor *opaque, bp__cu_part *part) {
    const bp__cudnn_instance *instance = (const bp__cudnn_instance *)opaque;
    bp__cudnn_device *fresh = (bp__cudnn_device *)part;
    const cudnnStatus_t status = instance->api.Create(&fresh->handle);
    if (status != BP__CUDNN_STATUS_SUCCESS) {
        return bp__cudnn_fail(instance, fresh, status, "the library makes no handle for the device");
    }
    pthread_mutex_init(&fresh->mutex, NULL);
    return BP_OK;
}

static const bp__cu_vendor_kind kind = {"cudnn", "cuDNN 9", MAJOR, MAJOR, functions, statuses, sizeof(bp__cudnn_device),
                                        begin,   end};

bp_status bp__cudnn_open(const bp_host *host, const bp_library_info *library, void **opened) {
    return bp__cu_vendor_open(&kind, sizeof(bp__cudnn_instance), host, library, opened);
}
