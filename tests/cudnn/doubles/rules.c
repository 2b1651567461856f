/* rules.c - the attributes that each descriptor has: their types, how many values, and which it needs.
 *
 * From NVIDIA's description of the descriptors in cudnn_graph.h. */
#include "parts.h"

enum { NEEDED = 1 };

typedef struct rule {
    unsigned descriptor, name, type;
    int64_t least, most;
    unsigned flags;
    unsigned child; /* type of descriptors that are values; ANY_OPERATION */
} rule;

enum { NONE = 1000, ANY_OPERATION };

#define TENSOR BP__CUDNN_BACKEND_TENSOR_DESCRIPTOR
#define CONV BP__CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR
#define FORWARD BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
#define DATA BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
#define FILTER BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR
#define POINT BP__CUDNN_BACKEND_POINTWISE_DESCRIPTOR
#define POINTWISE BP__CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR
#define PRODUCT BP__CUDNN_BACKEND_MATMUL_DESCRIPTOR
#define MATMUL BP__CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR
#define REDUCTION BP__CUDNN_BACKEND_REDUCTION_DESCRIPTOR
#define REDUCE BP__CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR
#define RESHAPE BP__CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR
#define GRAPH BP__CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR
#define HEURISTIC BP__CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR
#define CONFIG BP__CUDNN_BACKEND_ENGINECFG_DESCRIPTOR
#define PLAN BP__CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR
#define PACK BP__CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR
#define A(name) BP__CUDNN_ATTR_##name
#define T(name) BP__CUDNN_TYPE_##name

static const rule rules[] = {
    {TENSOR, A(TENSOR_DATA_TYPE), T(DATA_TYPE), 1, 1, NEEDED, NONE},
    {TENSOR, A(TENSOR_DIMENSIONS), T(INT64), 1, NDIM_MOST, NEEDED, NONE},
    {TENSOR, A(TENSOR_STRIDES), T(INT64), 1, NDIM_MOST, NEEDED, NONE},
    {TENSOR, A(TENSOR_UNIQUE_ID), T(INT64), 1, 1, NEEDED, NONE},
    {TENSOR, A(TENSOR_BYTE_ALIGNMENT), T(INT64), 1, 1, NEEDED, NONE},
    {TENSOR, A(TENSOR_IS_VIRTUAL), T(BOOLEAN), 1, 1, 0, NONE},
    {TENSOR, A(TENSOR_IS_BY_VALUE), T(BOOLEAN), 1, 1, 0, NONE},
    {CONV, A(CONVOLUTION_COMP_TYPE), T(DATA_TYPE), 1, 1, NEEDED, NONE},
    {CONV, A(CONVOLUTION_CONV_MODE), T(CONVOLUTION_MODE), 1, 1, NEEDED, NONE},
    {CONV, A(CONVOLUTION_SPATIAL_DIMS), T(INT64), 1, 1, NEEDED, NONE},
    {CONV, A(CONVOLUTION_DILATIONS), T(INT64), 1, 3, NEEDED, NONE},
    {CONV, A(CONVOLUTION_FILTER_STRIDES), T(INT64), 1, 3, NEEDED, NONE},
    {CONV, A(CONVOLUTION_PRE_PADDINGS), T(INT64), 1, 3, NEEDED, NONE},
    {CONV, A(CONVOLUTION_POST_PADDINGS), T(INT64), 1, 3, NEEDED, NONE},
    {FORWARD, A(OPERATION_CONVOLUTION_FORWARD_X), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {FORWARD, A(OPERATION_CONVOLUTION_FORWARD_W), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {FORWARD, A(OPERATION_CONVOLUTION_FORWARD_Y), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {FORWARD, A(OPERATION_CONVOLUTION_FORWARD_CONV_DESC), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, CONV},
    {FORWARD, A(OPERATION_CONVOLUTION_FORWARD_ALPHA), T(FLOAT), 1, 1, NEEDED, NONE},
    {FORWARD, A(OPERATION_CONVOLUTION_FORWARD_ALPHA), T(DOUBLE), 1, 1, 0, NONE},
    {FORWARD, A(OPERATION_CONVOLUTION_FORWARD_BETA), T(FLOAT), 1, 1, NEEDED, NONE},
    {FORWARD, A(OPERATION_CONVOLUTION_FORWARD_BETA), T(DOUBLE), 1, 1, 0, NONE},
    {DATA, A(OPERATION_CONVOLUTION_BWD_DATA_DX), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {DATA, A(OPERATION_CONVOLUTION_BWD_DATA_W), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {DATA, A(OPERATION_CONVOLUTION_BWD_DATA_DY), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {DATA, A(OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, CONV},
    {DATA, A(OPERATION_CONVOLUTION_BWD_DATA_ALPHA), T(FLOAT), 1, 1, NEEDED, NONE},
    {DATA, A(OPERATION_CONVOLUTION_BWD_DATA_ALPHA), T(DOUBLE), 1, 1, 0, NONE},
    {DATA, A(OPERATION_CONVOLUTION_BWD_DATA_BETA), T(FLOAT), 1, 1, NEEDED, NONE},
    {DATA, A(OPERATION_CONVOLUTION_BWD_DATA_BETA), T(DOUBLE), 1, 1, 0, NONE},
    {FILTER, A(OPERATION_CONVOLUTION_BWD_FILTER_X), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {FILTER, A(OPERATION_CONVOLUTION_BWD_FILTER_DW), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {FILTER, A(OPERATION_CONVOLUTION_BWD_FILTER_DY), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {FILTER, A(OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, CONV},
    {FILTER, A(OPERATION_CONVOLUTION_BWD_FILTER_ALPHA), T(FLOAT), 1, 1, NEEDED, NONE},
    {FILTER, A(OPERATION_CONVOLUTION_BWD_FILTER_ALPHA), T(DOUBLE), 1, 1, 0, NONE},
    {FILTER, A(OPERATION_CONVOLUTION_BWD_FILTER_BETA), T(FLOAT), 1, 1, NEEDED, NONE},
    {FILTER, A(OPERATION_CONVOLUTION_BWD_FILTER_BETA), T(DOUBLE), 1, 1, 0, NONE},
    {POINT, A(POINTWISE_MODE), T(POINTWISE_MODE), 1, 1, NEEDED, NONE},
    {POINT, A(POINTWISE_MATH_PREC), T(DATA_TYPE), 1, 1, NEEDED, NONE},
    {POINT, A(POINTWISE_AXIS), T(INT64), 1, 1, 0, NONE},
    {POINTWISE, A(OPERATION_POINTWISE_PW_DESCRIPTOR), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, POINT},
    {POINTWISE, A(OPERATION_POINTWISE_XDESC), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {POINTWISE, A(OPERATION_POINTWISE_BDESC), T(BACKEND_DESCRIPTOR), 1, 1, 0, TENSOR},
    {POINTWISE, A(OPERATION_POINTWISE_YDESC), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {POINTWISE, A(OPERATION_POINTWISE_TDESC), T(BACKEND_DESCRIPTOR), 1, 1, 0, TENSOR},
    {PRODUCT, A(MATMUL_COMP_TYPE), T(DATA_TYPE), 1, 1, NEEDED, NONE},
    {MATMUL, A(OPERATION_MATMUL_ADESC), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {MATMUL, A(OPERATION_MATMUL_BDESC), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {MATMUL, A(OPERATION_MATMUL_CDESC), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {MATMUL, A(OPERATION_MATMUL_DESC), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, PRODUCT},
    {REDUCTION, A(REDUCTION_OPERATOR), T(REDUCTION_OPERATOR_TYPE), 1, 1, NEEDED, NONE},
    {REDUCTION, A(REDUCTION_COMP_TYPE), T(DATA_TYPE), 1, 1, NEEDED, NONE},
    {REDUCE, A(OPERATION_REDUCTION_XDESC), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {REDUCE, A(OPERATION_REDUCTION_YDESC), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {REDUCE, A(OPERATION_REDUCTION_DESC), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, REDUCTION},
    {RESHAPE, A(OPERATION_RESHAPE_XDESC), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {RESHAPE, A(OPERATION_RESHAPE_YDESC), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, TENSOR},
    {GRAPH, A(OPERATIONGRAPH_HANDLE), T(HANDLE), 1, 1, NEEDED, NONE},
    {GRAPH, A(OPERATIONGRAPH_OPS), T(BACKEND_DESCRIPTOR), 1, OPERATIONS_MOST, NEEDED, ANY_OPERATION},
    {HEURISTIC, A(ENGINEHEUR_OPERATION_GRAPH), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, GRAPH},
    {HEURISTIC, A(ENGINEHEUR_MODE), T(HEUR_MODE), 1, 1, NEEDED, NONE},
    {PLAN, A(EXECUTION_PLAN_HANDLE), T(HANDLE), 1, 1, NEEDED, NONE},
    {PLAN, A(EXECUTION_PLAN_ENGINE_CONFIG), T(BACKEND_DESCRIPTOR), 1, 1, NEEDED, CONFIG},
    {PACK, A(VARIANT_PACK_UNIQUE_IDS), T(INT64), 1, TENSORS_MOST, NEEDED, NONE},
    {PACK, A(VARIANT_PACK_DATA_POINTERS), T(VOID_PTR), 1, TENSORS_MOST, NEEDED, NONE},
    {PACK, A(VARIANT_PACK_WORKSPACE), T(VOID_PTR), 1, 1, NEEDED, NONE},
};
enum { RULES = sizeof rules / sizeof rules[0] };

/* Returns the rule for a type of an attribute; the first one of the attribute if none has the type. */
static const rule *find_rule(unsigned of, unsigned name, unsigned type) {
    const rule *found = NULL;
    for (int i = 0; i < RULES; i++) {
        if (rules[i].descriptor == of && rules[i].name == name && (!found || rules[i].type == type)) {
            found = &rules[i];
        }
    }
    return found;
}

static bool is_operation(unsigned type) {
    return type == FORWARD || type == DATA || type == FILTER || type == POINTWISE || type == MATMUL || type == REDUCE ||
           type == RESHAPE;
}

static cudnnStatus_t check_children(const rule *r, int64_t count, const void *values) {
    for (int64_t i = 0; i < count; i++) {
        const descriptor *child = double_descriptor(((void *const *)values)[i]);
        if (!child || !child->finalized) {
            return double_violate(BP__CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a descriptor is set that is not complete");
        }
        if (r->child == ANY_OPERATION ? !is_operation(child->type) : child->type != r->child) {
            return double_violate(BP__CUDNN_STATUS_BAD_PARAM, "a descriptor of another type is set");
        }
    }
    return BP__CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t double_may_set(const descriptor *of, unsigned name, unsigned type, int64_t count, const void *values) {
    const rule *r = find_rule(of->type, name, type);
    if (of->finalized) {
        return double_violate(BP__CUDNN_STATUS_BAD_PARAM, "an attribute is set after the end");
    }
    if (!r || double_attribute(of, name)) {
        return double_violate(BP__CUDNN_STATUS_BAD_PARAM, "an attribute is unknown, or set twice");
    }
    if (r->type != type) {
        return double_violate(BP__CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "an attribute has another type");
    }
    if (count < r->least || count > r->most || !values) {
        return double_violate(BP__CUDNN_STATUS_BAD_PARAM, "an attribute has another number of values");
    }
    return type == BP__CUDNN_TYPE_BACKEND_DESCRIPTOR ? check_children(r, count, values) : BP__CUDNN_STATUS_SUCCESS;
}

/* ---- Finalizing ---- */

static bool has_all(const descriptor *of) {
    bool all = true;
    for (int i = 0; i < RULES; i++) {
        all = all && (rules[i].descriptor != of->type || !(rules[i].flags & NEEDED) ||
                      double_attribute(of, rules[i].name) != NULL);
    }
    return all;
}

static cudnnStatus_t check_tensor(const descriptor *of) {
    const attribute *size = double_attribute(of, A(TENSOR_DIMENSIONS)),
                    *stride = double_attribute(of, A(TENSOR_STRIDES));
    bool right = size->count == stride->count && size->count >= 3;
    for (int i = 0; i < size->count && right; i++) {
        right = double_integer(of, A(TENSOR_DIMENSIONS), i) >= 1 && double_integer(of, A(TENSOR_STRIDES), i) >= 1;
    }
    return right ? BP__CUDNN_STATUS_SUCCESS
                 : double_violate(BP__CUDNN_STATUS_BAD_PARAM, "a tensor has wrong sizes or strides");
}

static cudnnStatus_t check_window(const descriptor *of) {
    static const unsigned lists[] = {A(CONVOLUTION_DILATIONS), A(CONVOLUTION_FILTER_STRIDES),
                                     A(CONVOLUTION_PRE_PADDINGS), A(CONVOLUTION_POST_PADDINGS)};
    const int64_t spatial = double_integer(of, A(CONVOLUTION_SPATIAL_DIMS), 0);
    bool right = spatial == 2 || spatial == 3;
    for (int i = 0; i < 4 && right; i++) {
        right = double_attribute(of, lists[i])->count == spatial;
        for (int d = 0; d < spatial && right; d++) {
            right = double_integer(of, lists[i], d) >= (i < 2 ? 1 : 0);
        }
    }
    return right ? BP__CUDNN_STATUS_SUCCESS : double_violate(BP__CUDNN_STATUS_BAD_PARAM, "a window is wrong");
}

static cudnnStatus_t check_pack(const descriptor *of) {
    return double_attribute(of, A(VARIANT_PACK_UNIQUE_IDS))->count ==
                   double_attribute(of, A(VARIANT_PACK_DATA_POINTERS))->count
               ? BP__CUDNN_STATUS_SUCCESS
               : double_violate(BP__CUDNN_STATUS_BAD_PARAM, "a tensor has no address");
}

cudnnStatus_t double_may_finalize(descriptor *of) {
    if (of->finalized || !has_all(of)) {
        return double_violate(BP__CUDNN_STATUS_BAD_PARAM,
                              of->finalized ? "a descriptor is finalized twice" : "a descriptor lacks an attribute");
    }
    switch (of->type) {
    case TENSOR:
        return check_tensor(of);
    case CONV:
        return check_window(of);
    case POINT:
    case PRODUCT:
    case REDUCTION:
        return BP__CUDNN_STATUS_SUCCESS;
    case FORWARD:
    case DATA:
    case FILTER:
    case POINTWISE:
    case MATMUL:
    case REDUCE:
    case RESHAPE:
        return double_check_operation(of);
    case GRAPH: {
        executable made;
        return double_read_graph(of, &made);
    }
    case HEURISTIC:
        return (cudnnStatus_t)cudnn_double.refuse_lists;
    case PLAN:
        return double_make_plan(of);
    case PACK:
        return check_pack(of);
    default:
        return double_violate(BP__CUDNN_STATUS_NOT_SUPPORTED,
                              "a descriptor is finalized that the caller does not make");
    }
}
