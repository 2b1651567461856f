/* cudnn.c - a libcudnn.so.9 whose functions do nothing and succeed, so that gpu_check measures what the library itself
 * costs on the host. Every graph has one engine. */
#include "providers/cudnn/api.h"

#include "backplane/version.h"

#define X(result, name, symbol, parameters) BP_API result symbol parameters;
BP__CUDNN_FUNCTIONS(X)
#undef X
BP_API size_t cudnnGetVersion(void);

static int something;

size_t cudnnGetVersion(void) {
    return 92801;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *made) {
    *made = (cudnnHandle_t)(void *)&something;
    return BP__CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t gone) {
    (void)gone;
    return BP__CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
    (void)handle, (void)stream;
    return BP__CUDNN_STATUS_SUCCESS;
}

void cudnnGetLastErrorString(char *text, size_t size) {
    *text = size > 0 ? '\0' : *text;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *made) {
    (void)type;
    *made = &something;
    return BP__CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t gone) {
    (void)gone;
    return BP__CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void *values) {
    (void)of, (void)name, (void)type, (void)count, (void)values;
    return BP__CUDNN_STATUS_SUCCESS;
}

/* Numbers are 0, and there are no notes. */
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most, int64_t *count, void *values) {
    (void)of, (void)most;
    *count = name != BP__CUDNN_ATTR_ENGINE_NUMERICAL_NOTE;
    if (type == BP__CUDNN_TYPE_INT64) {
        *(int64_t *)values = 0;
    }
    return BP__CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t of) {
    (void)of;
    return BP__CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
    (void)handle, (void)plan, (void)pack;
    return BP__CUDNN_STATUS_SUCCESS;
}
