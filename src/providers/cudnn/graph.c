/* graph.c - builds operation graphs of cuDNN: descriptors, their attributes, tensors and operations.
 *
 * A graph keeps the status of its first failure, and makes nothing after it, so that a family describes a graph without
 * a check behind each call. */
#include "providers/cudnn/cudnn.h"

#include <string.h>

void bp__cudnn_graph_begin(bp__cudnn_graph *graph, const bp__cudnn_api *api, cudnnHandle_t handle,
                           cudnnBackendDescriptor_t device) {
    memset(graph, 0, sizeof *graph);
    graph->api = api;
    graph->handle = handle;
    graph->device = device;
}

/* What uses others is destroyed before them. */
void bp__cudnn_graph_free(bp__cudnn_graph *graph) {
    while (graph->made_count > 0) {
        graph->api->DescriptorDestroy(graph->made[--graph->made_count]);
    }
}

/* ---- Descriptors ---- */

cudnnBackendDescriptor_t bp__cudnn_new(bp__cudnn_graph *graph, cudnnBackendDescriptorType_t type) {
    cudnnBackendDescriptor_t fresh = NULL;
    if (graph->status != BP__CUDNN_STATUS_SUCCESS) {
        return NULL;
    }
    graph->status = graph->made_count < BP__CUDNN_DESCRIPTORS ? graph->api->DescriptorCreate(type, &fresh)
                                                              : BP__CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND;
    if (graph->status != BP__CUDNN_STATUS_SUCCESS) {
        return NULL;
    }
    graph->made[graph->made_count++] = fresh;
    return fresh;
}

void bp__cudnn_set(bp__cudnn_graph *graph, cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type, int64_t count, const void *values) {
    if (graph->status == BP__CUDNN_STATUS_SUCCESS) {
        graph->status = graph->api->SetAttribute(of, name, type, count, values);
    }
}

void bp__cudnn_set_number(bp__cudnn_graph *graph, cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                          cudnnBackendAttributeType_t type, uint32_t value) {
    bp__cudnn_set(graph, of, name, type, 1, &value);
}

void bp__cudnn_set_descriptor(bp__cudnn_graph *graph, cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                              cudnnBackendDescriptor_t value) {
    bp__cudnn_set(graph, of, name, BP__CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

void bp__cudnn_finalize(bp__cudnn_graph *graph, cudnnBackendDescriptor_t of) {
    if (graph->status == BP__CUDNN_STATUS_SUCCESS) {
        graph->status = graph->api->Finalize(of);
    }
}

/* ---- Tensors ---- */

static cudnnBackendDescriptor_t begin_tensor(bp__cudnn_graph *graph, const bp__cudnn_tensor *tensor, int64_t uid,
                                             int64_t alignment) {
    const cudnnBackendDescriptor_t made = bp__cudnn_new(graph, BP__CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    bp__cudnn_set_number(graph, made, BP__CUDNN_ATTR_TENSOR_DATA_TYPE, BP__CUDNN_TYPE_DATA_TYPE, tensor->type);
    bp__cudnn_set(graph, made, BP__CUDNN_ATTR_TENSOR_DIMENSIONS, BP__CUDNN_TYPE_INT64, tensor->ndim, tensor->size);
    bp__cudnn_set(graph, made, BP__CUDNN_ATTR_TENSOR_STRIDES, BP__CUDNN_TYPE_INT64, tensor->ndim, tensor->stride);
    bp__cudnn_set(graph, made, BP__CUDNN_ATTR_TENSOR_UNIQUE_ID, BP__CUDNN_TYPE_INT64, 1, &uid);
    bp__cudnn_set(graph, made, BP__CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, BP__CUDNN_TYPE_INT64, 1, &alignment);
    return made;
}

cudnnBackendDescriptor_t bp__cudnn_add_tensor(bp__cudnn_graph *graph, const bp__cudnn_tensor *tensor, int64_t uid,
                                              int64_t alignment) {
    const cudnnBackendDescriptor_t made = begin_tensor(graph, tensor, uid, alignment);
    bp__cudnn_finalize(graph, made);
    return made;
}

cudnnBackendDescriptor_t bp__cudnn_add_virtual(bp__cudnn_graph *graph, const bp__cudnn_tensor *tensor, int64_t uid) {
    const cudnnBackendDescriptor_t made = begin_tensor(graph, tensor, uid, BP__CUDNN_ALIGNMENT);
    const bool yes = true;
    bp__cudnn_set(graph, made, BP__CUDNN_ATTR_TENSOR_IS_VIRTUAL, BP__CUDNN_TYPE_BOOLEAN, 1, &yes);
    bp__cudnn_finalize(graph, made);
    return made;
}

/* ---- Operations ---- */

void bp__cudnn_add_operation(bp__cudnn_graph *graph, cudnnBackendDescriptor_t operation) {
    if (graph->status == BP__CUDNN_STATUS_SUCCESS && graph->operation_count == BP__CUDNN_OPERATIONS) {
        graph->status = BP__CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND;
    } else if (graph->status == BP__CUDNN_STATUS_SUCCESS) {
        graph->operations[graph->operation_count++] = operation;
    }
}

static void set_present(bp__cudnn_graph *graph, cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
                        cudnnBackendDescriptor_t value) {
    if (value) {
        bp__cudnn_set_descriptor(graph, of, name, value);
    }
}

void bp__cudnn_add_pointwise_of(bp__cudnn_graph *graph, const bp__cudnn_pointwise *of) {
    const cudnnBackendDescriptor_t function = bp__cudnn_new(graph, BP__CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    bp__cudnn_set_number(graph, function, BP__CUDNN_ATTR_POINTWISE_MODE, BP__CUDNN_TYPE_POINTWISE_MODE, of->mode);
    bp__cudnn_set_number(graph, function, BP__CUDNN_ATTR_POINTWISE_MATH_PREC, BP__CUDNN_TYPE_DATA_TYPE, of->compute);
    if (of->axis) {
        bp__cudnn_set(graph, function, BP__CUDNN_ATTR_POINTWISE_AXIS, BP__CUDNN_TYPE_INT64, 1, of->axis);
    }
    bp__cudnn_finalize(graph, function);
    const cudnnBackendDescriptor_t made = bp__cudnn_new(graph, BP__CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    bp__cudnn_set_descriptor(graph, made, BP__CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
    bp__cudnn_set_descriptor(graph, made, BP__CUDNN_ATTR_OPERATION_POINTWISE_XDESC, of->x);
    set_present(graph, made, BP__CUDNN_ATTR_OPERATION_POINTWISE_BDESC, of->b);
    set_present(graph, made, BP__CUDNN_ATTR_OPERATION_POINTWISE_TDESC, of->condition);
    bp__cudnn_set_descriptor(graph, made, BP__CUDNN_ATTR_OPERATION_POINTWISE_YDESC, of->y);
    bp__cudnn_finalize(graph, made);
    bp__cudnn_add_operation(graph, made);
}

void bp__cudnn_add_pointwise(bp__cudnn_graph *graph, uint32_t mode, uint32_t compute, cudnnBackendDescriptor_t x,
                             cudnnBackendDescriptor_t b, cudnnBackendDescriptor_t y) {
    bp__cudnn_add_pointwise_of(graph, &(bp__cudnn_pointwise){.mode = mode, .compute = compute, .x = x, .b = b, .y = y});
}

void bp__cudnn_graph_complete(bp__cudnn_graph *graph) {
    const cudnnBackendDescriptor_t made = bp__cudnn_new(graph, BP__CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    if (graph->handle) {
        bp__cudnn_set(graph, made, BP__CUDNN_ATTR_OPERATIONGRAPH_HANDLE, BP__CUDNN_TYPE_HANDLE, 1, &graph->handle);
    }
    bp__cudnn_set(graph, made, BP__CUDNN_ATTR_OPERATIONGRAPH_OPS, BP__CUDNN_TYPE_BACKEND_DESCRIPTOR,
                  graph->operation_count, graph->operations);
    bp__cudnn_finalize(graph, made);
    graph->whole = made;
}
