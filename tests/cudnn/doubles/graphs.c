/* graphs.c - reads the operations of a graph of the double, and checks that their tensors fit. */
#include "parts.h"

#include <string.h>

#define A(name) BP__CUDNN_ATTR_##name

/* The attributes of a kind of convolution. The tensors are inputs and result, in the order of `operation`. */
static const struct {
    unsigned type, tensors[3], window, alpha, beta;
} convolutions[] = {
    {BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     {A(OPERATION_CONVOLUTION_FORWARD_X), A(OPERATION_CONVOLUTION_FORWARD_W), A(OPERATION_CONVOLUTION_FORWARD_Y)},
     A(OPERATION_CONVOLUTION_FORWARD_CONV_DESC),
     A(OPERATION_CONVOLUTION_FORWARD_ALPHA),
     A(OPERATION_CONVOLUTION_FORWARD_BETA)},
    {BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     {A(OPERATION_CONVOLUTION_BWD_DATA_DY), A(OPERATION_CONVOLUTION_BWD_DATA_W), A(OPERATION_CONVOLUTION_BWD_DATA_DX)},
     A(OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC),
     A(OPERATION_CONVOLUTION_BWD_DATA_ALPHA),
     A(OPERATION_CONVOLUTION_BWD_DATA_BETA)},
    {BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     {A(OPERATION_CONVOLUTION_BWD_FILTER_X), A(OPERATION_CONVOLUTION_BWD_FILTER_DY),
      A(OPERATION_CONVOLUTION_BWD_FILTER_DW)},
     A(OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC),
     A(OPERATION_CONVOLUTION_BWD_FILTER_ALPHA),
     A(OPERATION_CONVOLUTION_BWD_FILTER_BETA)},
};

static const tensor *at(const executable *of, int index) {
    return &of->tensors[index];
}

/* Reads a tensor unless it is known by its number; returns its place. */
static int read_tensor(const descriptor *from, executable *into) {
    const int64_t uid = double_integer(from, A(TENSOR_UNIQUE_ID), 0);
    for (int i = 0; i < into->tensor_count; i++) {
        if (into->tensors[i].uid == uid) {
            return i;
        }
    }
    tensor *fresh = &into->tensors[into->tensor_count];
    const attribute *is_virtual = double_attribute(from, A(TENSOR_IS_VIRTUAL));
    const attribute *is_number = double_attribute(from, A(TENSOR_IS_BY_VALUE));
    *fresh = (tensor){.uid = uid,
                      .alignment = double_integer(from, A(TENSOR_BYTE_ALIGNMENT), 0),
                      .type = double_word(from, A(TENSOR_DATA_TYPE)),
                      .ndim = (int)double_attribute(from, A(TENSOR_DIMENSIONS))->count,
                      .is_virtual = is_virtual && *(const bool *)is_virtual->values,
                      .is_number = is_number && *(const bool *)is_number->values};
    for (int d = 0; d < fresh->ndim; d++) {
        fresh->size[d] = double_integer(from, A(TENSOR_DIMENSIONS), d);
        fresh->stride[d] = double_integer(from, A(TENSOR_STRIDES), d);
    }
    return into->tensor_count++;
}

/* ---- Convolutions ---- */

static void read_window(const descriptor *window, operation *o) {
    o->spatial = (int)double_integer(window, A(CONVOLUTION_SPATIAL_DIMS), 0);
    for (int d = 0; d < o->spatial; d++) {
        o->before[d] = double_integer(window, A(CONVOLUTION_PRE_PADDINGS), d);
        o->after[d] = double_integer(window, A(CONVOLUTION_POST_PADDINGS), d);
        o->step[d] = double_integer(window, A(CONVOLUTION_FILTER_STRIDES), d);
        o->dilation[d] = double_integer(window, A(CONVOLUTION_DILATIONS), d);
    }
}

/* X, W and Y of a convolution, whichever is the result. */
static void sides_of(const executable *e, const operation *o, const tensor *sides[3]) {
    const bool data = o->type == BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    const bool filter = o->type == BP__CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
    sides[0] = at(e, data ? o->out : o->in[0]);
    sides[1] = at(e, filter ? o->out : o->in[1]);
    sides[2] = at(e, data ? o->in[0] : filter ? o->in[1] : o->out);
}

static bool fits(const executable *e, const operation *o) {
    const tensor *s[3];
    sides_of(e, o, s);
    const int ndim = o->spatial + 2;
    bool right = s[0]->ndim == ndim && s[1]->ndim == ndim && s[2]->ndim == ndim && s[0]->size[0] == s[2]->size[0] &&
                 s[1]->size[0] == s[2]->size[1] && s[0]->size[1] % s[1]->size[1] == 0;
    right = right && s[1]->size[0] % (s[0]->size[1] / s[1]->size[1]) == 0;
    for (int d = 0; d < o->spatial && right; d++) {
        const int64_t window = (s[1]->size[d + 2] - 1) * o->dilation[d] + 1;
        const int64_t padded = s[0]->size[d + 2] + o->before[d] + o->after[d];
        right = padded >= window && s[2]->size[d + 2] == (padded - window) / o->step[d] + 1;
    }
    return right;
}

/* Factors have the type in which the convolution is computed. */
static bool has_factors(const descriptor *of, const descriptor *window, unsigned alpha, unsigned beta) {
    const bool wide = double_word(window, A(CONVOLUTION_COMP_TYPE)) == BP__CUDNN_DATA_DOUBLE;
    const unsigned type = wide ? BP__CUDNN_TYPE_DOUBLE : BP__CUDNN_TYPE_FLOAT;
    return double_attribute(of, alpha)->type == type && double_attribute(of, beta)->type == type;
}

static cudnnStatus_t read_convolution(const descriptor *of, int kind, executable *into) {
    operation *o = &into->operations[into->operation_count++];
    const descriptor *window = double_child(of, convolutions[kind].window, 0);
    int tensors[3];
    for (int i = 0; i < 3; i++) {
        tensors[i] = read_tensor(double_child(of, convolutions[kind].tensors[i], 0), into);
    }
    *o = (operation){.type = of->type,
                     .in = {tensors[0], tensors[1], -1},
                     .out = tensors[2],
                     .alpha = double_factor(of, convolutions[kind].alpha),
                     .beta = double_factor(of, convolutions[kind].beta)};
    read_window(window, o);
    if (!has_factors(of, window, convolutions[kind].alpha, convolutions[kind].beta)) {
        return double_violate(BP__CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "a factor has another type than the sums");
    }
    if (double_word(window, A(CONVOLUTION_CONV_MODE)) != BP__CUDNN_CROSS_CORRELATION) {
        return double_violate(BP__CUDNN_STATUS_NOT_SUPPORTED, "a convolution mirrors its window");
    }
    return fits(into, o) ? BP__CUDNN_STATUS_SUCCESS
                         : double_violate(BP__CUDNN_STATUS_BAD_PARAM, "the tensors of a convolution do not fit");
}

/* ---- Functions of elements ---- */

/* Returns how many inputs a function has. */
static int inputs_of(unsigned mode) {
    switch (mode) {
    case BP__CUDNN_POINTWISE_ADD:
    case BP__CUDNN_POINTWISE_MUL:
    case BP__CUDNN_POINTWISE_SUB:
    case BP__CUDNN_POINTWISE_DIV:
    case BP__CUDNN_POINTWISE_CMP_GE:
        return 2;
    case BP__CUDNN_POINTWISE_BINARY_SELECT:
        return 3;
    default:
        return 1;
    }
}

/* All but the first input may have size 1 where the result has more. */
static bool pointwise_fits(const executable *e, const operation *o) {
    const int wanted = inputs_of(o->mode);
    bool right = true;
    for (int i = 0; i < 3; i++) {
        right = right && (o->in[i] >= 0) == (i < wanted);
        for (int d = 0; d < at(e, o->out)->ndim && right && i < wanted; d++) {
            const tensor *in = at(e, o->in[i]), *y = at(e, o->out);
            right = in->ndim == y->ndim && (in->size[d] == y->size[d] || (i > 0 && in->size[d] == 1));
        }
    }
    return right;
}

static cudnnStatus_t read_pointwise(const descriptor *of, executable *into) {
    static const unsigned inputs[] = {A(OPERATION_POINTWISE_XDESC), A(OPERATION_POINTWISE_BDESC),
                                      A(OPERATION_POINTWISE_TDESC)};
    const descriptor *function = double_child(of, A(OPERATION_POINTWISE_PW_DESCRIPTOR), 0);
    operation *o = &into->operations[into->operation_count++];
    *o = (operation){.type = of->type, .mode = double_word(function, A(POINTWISE_MODE))};
    o->axis = double_integer(function, A(POINTWISE_AXIS), 0);
    for (int i = 0; i < 3; i++) {
        const descriptor *input = double_child(of, inputs[i], 0);
        o->in[i] = input ? read_tensor(input, into) : -1;
    }
    o->out = read_tensor(double_child(of, A(OPERATION_POINTWISE_YDESC), 0), into);
    return pointwise_fits(into, o) ? BP__CUDNN_STATUS_SUCCESS
                                   : double_violate(BP__CUDNN_STATUS_BAD_PARAM, "the tensors of a function do not fit");
}

/* ---- Products, reductions and views ---- */

static cudnnStatus_t read_product(const descriptor *of, executable *into) {
    operation *o = &into->operations[into->operation_count++];
    *o = (operation){.type = of->type, .in = {0, 0, -1}};
    o->in[0] = read_tensor(double_child(of, A(OPERATION_MATMUL_ADESC), 0), into);
    o->in[1] = read_tensor(double_child(of, A(OPERATION_MATMUL_BDESC), 0), into);
    o->out = read_tensor(double_child(of, A(OPERATION_MATMUL_CDESC), 0), into);
    const tensor *a = at(into, o->in[0]), *b = at(into, o->in[1]), *c = at(into, o->out);
    const bool right = a->ndim == 4 && b->ndim == 4 && c->ndim == 4 && a->size[0] == c->size[0] &&
                       b->size[0] == c->size[0] && a->size[1] == c->size[1] && c->size[1] % b->size[1] == 0 &&
                       a->size[2] == c->size[2] && a->size[3] == b->size[2] && b->size[3] == c->size[3];
    return right ? BP__CUDNN_STATUS_SUCCESS
                 : double_violate(BP__CUDNN_STATUS_BAD_PARAM, "the tensors of a product do not fit");
}

static cudnnStatus_t read_reduction(const descriptor *of, executable *into) {
    operation *o = &into->operations[into->operation_count++];
    *o = (operation){.type = of->type, .in = {0, -1, -1}};
    o->mode = double_word(double_child(of, A(OPERATION_REDUCTION_DESC), 0), A(REDUCTION_OPERATOR));
    o->in[0] = read_tensor(double_child(of, A(OPERATION_REDUCTION_XDESC), 0), into);
    o->out = read_tensor(double_child(of, A(OPERATION_REDUCTION_YDESC), 0), into);
    const tensor *x = at(into, o->in[0]), *y = at(into, o->out);
    bool right = x->ndim == y->ndim;
    for (int d = 0; d < y->ndim && right; d++) {
        right = x->size[d] % y->size[d] == 0;
    }
    return right ? BP__CUDNN_STATUS_SUCCESS
                 : double_violate(BP__CUDNN_STATUS_BAD_PARAM, "the tensors of a reduction do not fit");
}

/* A view exchanges the last two dimensions. */
static cudnnStatus_t read_view(const descriptor *of, executable *into) {
    operation *o = &into->operations[into->operation_count++];
    *o = (operation){.type = of->type, .in = {0, -1, -1}};
    o->in[0] = read_tensor(double_child(of, A(OPERATION_RESHAPE_XDESC), 0), into);
    o->out = read_tensor(double_child(of, A(OPERATION_RESHAPE_YDESC), 0), into);
    const tensor *x = at(into, o->in[0]), *y = at(into, o->out);
    bool right = x->ndim == 4 && y->ndim == 4;
    for (int d = 0; d < 4 && right; d++) {
        const int from = d < 2 ? d : 5 - d;
        right = y->size[d] == x->size[from] && y->stride[d] == x->stride[from];
    }
    return right ? BP__CUDNN_STATUS_SUCCESS
                 : double_violate(BP__CUDNN_STATUS_BAD_PARAM, "a view has other elements than its tensor");
}

/* ---- Graphs ---- */

static cudnnStatus_t read_operation(const descriptor *of, executable *into) {
    for (int kind = 0; kind < 3; kind++) {
        if (convolutions[kind].type == of->type) {
            return read_convolution(of, kind, into);
        }
    }
    switch (of->type) {
    case BP__CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        return read_product(of, into);
    case BP__CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        return read_reduction(of, into);
    case BP__CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        return read_view(of, into);
    default:
        return read_pointwise(of, into);
    }
}

cudnnStatus_t double_check_operation(const descriptor *of) {
    executable made = {0};
    return read_operation(of, &made);
}

/* A virtual tensor connects two operations: one writes it, and later ones read it. The library lets the logarithms of
 * attention, one for each row, be unused. */
static bool is_connected(const executable *e) {
    bool right = true;
    for (int i = 0; i < e->tensor_count; i++) {
        const tensor *t = at(e, i);
        int writes = 0, reads = t->ndim == 4 && t->size[3] == 1;
        for (int j = 0; j < e->operation_count; j++) {
            const operation *o = &e->operations[j];
            writes += o->out == i;
            reads += writes > 0 && (o->in[0] == i || o->in[1] == i || o->in[2] == i);
        }
        right = right && (!t->is_virtual || (writes == 1 && reads > 0));
    }
    return right;
}

cudnnStatus_t double_read_graph(const descriptor *graph, executable *into) {
    const attribute *operations = double_attribute(graph, A(OPERATIONGRAPH_OPS));
    cudnnStatus_t status = BP__CUDNN_STATUS_SUCCESS;
    memset(into, 0, sizeof *into);
    for (int i = 0; i < operations->count && status == BP__CUDNN_STATUS_SUCCESS; i++) {
        status = read_operation(double_child(graph, A(OPERATIONGRAPH_OPS), i), into);
    }
    return status               ? status
           : is_connected(into) ? BP__CUDNN_STATUS_SUCCESS
                                : double_violate(BP__CUDNN_STATUS_BAD_PARAM, "a virtual tensor connects nothing");
}
