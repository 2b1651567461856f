/* attention_graph.c - describes the graphs of attention: operation by operation, with tensors between them that have
 * no memory. The order and the kinds of the operations are those by which cuDNN recognizes attention. */
#include "providers/cudnn/attention.h"

/* A graph that is being described. */
typedef struct builder {
    bp__cudnn_graph *graph;
    const bp__cudnn_attention *a;
    int64_t alignment, uid; /* of the next tensor without memory */
} builder;

typedef cudnnBackendDescriptor_t node;

/* ---- Tensors ---- */

/* Adds an operand. `turned`: its rows are columns. */
static node add_operand(builder *b, bp_attention_tensor which, bool turned) {
    bp__cudnn_tensor tensor = b->a->tensor[which];
    if (turned) {
        const int64_t size = tensor.size[2], stride = tensor.stride[2];
        tensor.size[2] = tensor.size[3];
        tensor.stride[2] = tensor.stride[3];
        tensor.size[3] = size;
        tensor.stride[3] = stride;
    }
    return bp__cudnn_add_tensor(b->graph, &tensor, 1 + which, b->alignment);
}

/* Adds a tensor between two operations: compact, for each head of the query. */
static node add_middle(builder *b, uint32_t type, int64_t rows, int64_t columns) {
    const int64_t heads = b->a->heads;
    const bp__cudnn_tensor tensor = {.type = type,
                                     .ndim = 4,
                                     .size = {b->a->batch, heads, rows, columns},
                                     .stride = {heads * rows * columns, rows * columns, columns, 1}};
    return bp__cudnn_add_virtual(b->graph, &tensor, b->uid++);
}

static node add_scores(builder *b) {
    return add_middle(b, BP__CUDNN_DATA_FLOAT, b->a->queries, b->a->keys);
}

static node add_column(builder *b) {
    return add_middle(b, BP__CUDNN_DATA_FLOAT, b->a->queries, 1);
}

/* Adds a number of the host. */
static node add_number(builder *b, int64_t uid) {
    static const int64_t ones[] = {1, 1, 1, 1};
    const bool yes = true;
    const node made = bp__cudnn_new(b->graph, BP__CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    const int64_t alignment = sizeof(float);
    bp__cudnn_set_number(b->graph, made, BP__CUDNN_ATTR_TENSOR_DATA_TYPE, BP__CUDNN_TYPE_DATA_TYPE,
                         BP__CUDNN_DATA_FLOAT);
    bp__cudnn_set(b->graph, made, BP__CUDNN_ATTR_TENSOR_DIMENSIONS, BP__CUDNN_TYPE_INT64, 4, ones);
    bp__cudnn_set(b->graph, made, BP__CUDNN_ATTR_TENSOR_STRIDES, BP__CUDNN_TYPE_INT64, 4, ones);
    bp__cudnn_set(b->graph, made, BP__CUDNN_ATTR_TENSOR_UNIQUE_ID, BP__CUDNN_TYPE_INT64, 1, &uid);
    bp__cudnn_set(b->graph, made, BP__CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, BP__CUDNN_TYPE_INT64, 1, &alignment);
    bp__cudnn_set(b->graph, made, BP__CUDNN_ATTR_TENSOR_IS_BY_VALUE, BP__CUDNN_TYPE_BOOLEAN, 1, &yes);
    bp__cudnn_finalize(b->graph, made);
    return made;
}

/* ---- Operations ---- */

static void add_product(builder *b, node left, node right, node result) {
    const node kind = bp__cudnn_new(b->graph, BP__CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    bp__cudnn_set_number(b->graph, kind, BP__CUDNN_ATTR_MATMUL_COMP_TYPE, BP__CUDNN_TYPE_DATA_TYPE,
                         BP__CUDNN_DATA_FLOAT);
    bp__cudnn_finalize(b->graph, kind);
    const node made = bp__cudnn_new(b->graph, BP__CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    bp__cudnn_set_descriptor(b->graph, made, BP__CUDNN_ATTR_OPERATION_MATMUL_ADESC, left);
    bp__cudnn_set_descriptor(b->graph, made, BP__CUDNN_ATTR_OPERATION_MATMUL_BDESC, right);
    bp__cudnn_set_descriptor(b->graph, made, BP__CUDNN_ATTR_OPERATION_MATMUL_CDESC, result);
    bp__cudnn_set_descriptor(b->graph, made, BP__CUDNN_ATTR_OPERATION_MATMUL_DESC, kind);
    bp__cudnn_finalize(b->graph, made);
    bp__cudnn_add_operation(b->graph, made);
}

/* Adds the sum or the maximum over the dimensions in which the result has size 1. */
static void add_reduction(builder *b, uint32_t operator, node x, node result) {
    const node kind = bp__cudnn_new(b->graph, BP__CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    bp__cudnn_set_number(b->graph, kind, BP__CUDNN_ATTR_REDUCTION_OPERATOR,
                         BP__CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, operator);
    bp__cudnn_set_number(b->graph, kind, BP__CUDNN_ATTR_REDUCTION_COMP_TYPE, BP__CUDNN_TYPE_DATA_TYPE,
                         BP__CUDNN_DATA_FLOAT);
    bp__cudnn_finalize(b->graph, kind);
    const node made = bp__cudnn_new(b->graph, BP__CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    bp__cudnn_set_descriptor(b->graph, made, BP__CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    bp__cudnn_set_descriptor(b->graph, made, BP__CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result);
    bp__cudnn_set_descriptor(b->graph, made, BP__CUDNN_ATTR_OPERATION_REDUCTION_DESC, kind);
    bp__cudnn_finalize(b->graph, made);
    bp__cudnn_add_operation(b->graph, made);
}

static void add_function(builder *b, uint32_t mode, node x, node y, node result) {
    bp__cudnn_add_pointwise(b->graph, mode, BP__CUDNN_DATA_FLOAT, x, y, result);
}

/* Adds the index of each score in a dimension. */
static node add_index(builder *b, node scores, int64_t axis) {
    const node made = add_middle(b, BP__CUDNN_DATA_INT32, b->a->queries, b->a->keys);
    bp__cudnn_add_pointwise_of(b->graph, &(bp__cudnn_pointwise){.mode = BP__CUDNN_POINTWISE_GEN_INDEX,
                                                                .compute = BP__CUDNN_DATA_INT32,
                                                                .x = scores,
                                                                .y = made,
                                                                .axis = &axis});
    return made;
}

/* Adds the choice of x where a condition holds, and of y elsewhere. */
static void add_choice(builder *b, node x, node y, node condition, node result) {
    bp__cudnn_add_pointwise_of(b->graph, &(bp__cudnn_pointwise){.mode = BP__CUDNN_POINTWISE_BINARY_SELECT,
                                                                .compute = BP__CUDNN_DATA_FLOAT,
                                                                .x = x,
                                                                .b = y,
                                                                .condition = condition,
                                                                .y = result});
}

/* Adds another view of the elements of x. */
static void add_view(builder *b, node x, node result) {
    const node made = bp__cudnn_new(b->graph, BP__CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    bp__cudnn_set_descriptor(b->graph, made, BP__CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    bp__cudnn_set_descriptor(b->graph, made, BP__CUDNN_ATTR_OPERATION_RESHAPE_YDESC, result);
    bp__cudnn_finalize(b->graph, made);
    bp__cudnn_add_operation(b->graph, made);
}

/* ---- Scores ---- */

/* Returns scores that are -infinity behind the diagonal. */
static node add_causal(builder *b, node scores) {
    const node row = add_index(b, scores, 2), column = add_index(b, scores, 3);
    const node seen = add_middle(b, BP__CUDNN_DATA_BOOLEAN, b->a->queries, b->a->keys), result = add_scores(b);
    bp__cudnn_add_pointwise(b->graph, BP__CUDNN_POINTWISE_CMP_GE, BP__CUDNN_DATA_BOOLEAN, row, column, seen);
    add_choice(b, scores, add_number(b, BP__CUDNN_MINUS_INFINITY_UID), seen, result);
    return result;
}

/* Returns the products of queries and keys, scaled. */
static node add_scaled(builder *b, node query, node keys, node scale) {
    const node products = add_scores(b), scaled = add_scores(b);
    add_product(b, query, keys, products);
    add_function(b, BP__CUDNN_POINTWISE_MUL, products, scale, scaled);
    return scaled;
}

/* ---- Forward ---- */

static node add_mask(builder *b, node scores) {
    const node result = add_scores(b), mask = add_operand(b, BP_ATTENTION_MASK, false);
    add_function(b, BP__CUDNN_POINTWISE_ADD, scores, mask, result);
    return result;
}

/* Adds weights of the scores, and the logarithm of their sum. */
static node add_weights(builder *b, node scores, node logsumexp) {
    const node most = add_column(b), sum = add_column(b), logarithm = add_column(b);
    const node less = add_scores(b), exponentials = add_scores(b);
    const node weights = add_middle(b, b->a->type, b->a->queries, b->a->keys);
    add_reduction(b, BP__CUDNN_REDUCE_TENSOR_MAX, scores, most);
    add_function(b, BP__CUDNN_POINTWISE_SUB, scores, most, less);
    add_function(b, BP__CUDNN_POINTWISE_EXP, less, NULL, exponentials);
    add_reduction(b, BP__CUDNN_REDUCE_TENSOR_ADD, exponentials, sum);
    add_function(b, BP__CUDNN_POINTWISE_LOG, sum, NULL, logarithm);
    add_function(b, BP__CUDNN_POINTWISE_ADD, most, logarithm, logsumexp);
    add_function(b, BP__CUDNN_POINTWISE_DIV, exponentials, sum, weights);
    return weights;
}

static void describe_forward(builder *b) {
    const bool masked = b->a->tensor[BP_ATTENTION_MASK].ndim > 0, told = b->a->tensor[BP_ATTENTION_LOGSUMEXP].ndim > 0;
    const node query = add_operand(b, BP_ATTENTION_QUERY, false), keys = add_operand(b, BP_ATTENTION_KEY, true);
    node scores = add_scaled(b, query, keys, add_number(b, BP__CUDNN_SCALE_UID));
    scores = masked ? add_mask(b, scores) : b->a->causal ? add_causal(b, scores) : scores;
    const node logsumexp = told ? add_operand(b, BP_ATTENTION_LOGSUMEXP, false) : add_column(b);
    const node weights = add_weights(b, scores, logsumexp);
    add_product(b, weights, add_operand(b, BP_ATTENTION_VALUE, false), add_operand(b, BP_ATTENTION_OUTPUT, false));
}

/* ---- Backward ---- */

/* Returns the sum over the values of output_gradient times output. cuDNN keeps it in memory. */
static node add_output_sums(builder *b, node output_gradient) {
    const bp__cudnn_attention *a = b->a;
    const int64_t columns = a->tensor[BP_ATTENTION_OUTPUT].size[3];
    const node products = add_middle(b, BP__CUDNN_DATA_FLOAT, a->queries, columns), sums = add_column(b);
    const node kept = bp__cudnn_add_tensor(b->graph, &a->sums, BP__CUDNN_SUMS_UID, BP__CUDNN_ALIGNMENT);
    add_function(b, BP__CUDNN_POINTWISE_MUL, output_gradient, add_operand(b, BP_ATTENTION_OUTPUT, false), products);
    add_reduction(b, BP__CUDNN_REDUCE_TENSOR_ADD, products, sums);
    add_function(b, BP__CUDNN_POINTWISE_MUL, sums, add_number(b, BP__CUDNN_ONE_UID), kept);
    return kept;
}

/* Returns the weights, from logsumexp. */
static node add_known_weights(builder *b, node query, node keys, node scale) {
    const node less = add_scores(b), weights = add_scores(b);
    const node scores = add_scaled(b, query, keys, scale);
    add_function(b, BP__CUDNN_POINTWISE_SUB, scores, add_operand(b, BP_ATTENTION_LOGSUMEXP, false), less);
    add_function(b, BP__CUDNN_POINTWISE_EXP, b->a->causal ? add_causal(b, less) : less, NULL, weights);
    return weights;
}

/* Adds the product of the transpose of scores with a matrix of queries, summed over heads that share the result. */
static void add_turned_product(builder *b, node scores, node right, bp_attention_tensor result) {
    const bp__cudnn_attention *a = b->a;
    const bp__cudnn_tensor *tensor = &a->tensor[result];
    const bp__cudnn_tensor view = {.type = a->type,
                                   .ndim = 4,
                                   .size = {a->batch, a->heads, a->keys, a->queries},
                                   .stride = {a->heads * a->keys * a->queries, a->keys * a->queries, 1, a->keys}};
    const node turned = bp__cudnn_add_virtual(b->graph, &view, b->uid++), whole = add_operand(b, result, false);
    const bool summed = tensor->size[1] != a->heads;
    const node each = summed ? add_middle(b, a->type, a->keys, tensor->size[3]) : whole;
    add_view(b, scores, turned);
    add_product(b, turned, right, each);
    if (summed) {
        add_reduction(b, BP__CUDNN_REDUCE_TENSOR_ADD, each, whole);
    }
}

/* Returns the gradient by the products of queries and keys. */
static node add_score_gradient(builder *b, node output_gradient, node weights, node sums, node scale) {
    const node products = add_scores(b), less = add_scores(b), weighted = add_scores(b), scaled = add_scores(b);
    add_product(b, output_gradient, add_operand(b, BP_ATTENTION_VALUE, true), products);
    add_function(b, BP__CUDNN_POINTWISE_SUB, products, sums, less);
    add_function(b, BP__CUDNN_POINTWISE_MUL, less, weights, weighted);
    add_function(b, BP__CUDNN_POINTWISE_MUL, weighted, scale, scaled);
    return scaled;
}

/* Adds the gradient by the query. cuDNN adds it up in memory, in f32. */
static void add_query_gradient(builder *b, node score_gradient, node keys) {
    const bp__cudnn_attention *a = b->a;
    const node view = bp__cudnn_add_virtual(b->graph, &a->tensor[BP_ATTENTION_KEY], b->uid++);
    const node total = bp__cudnn_add_tensor(b->graph, &a->total, BP__CUDNN_TOTAL_UID, BP__CUDNN_ALIGNMENT);
    add_view(b, keys, view);
    add_product(b, score_gradient, view, total);
    add_function(b, BP__CUDNN_POINTWISE_IDENTITY, total, NULL, add_operand(b, BP_ATTENTION_QUERY_GRADIENT, false));
}

static void describe_backward(builder *b) {
    const node output_gradient = add_operand(b, BP_ATTENTION_OUTPUT_GRADIENT, false);
    const node query = add_operand(b, BP_ATTENTION_QUERY, false), keys = add_operand(b, BP_ATTENTION_KEY, true);
    const node scale = add_number(b, BP__CUDNN_SCALE_UID);
    const node sums = add_output_sums(b, output_gradient);
    const node weights = add_known_weights(b, query, keys, scale);
    add_turned_product(b, weights, output_gradient, BP_ATTENTION_VALUE_GRADIENT);
    const node score_gradient = add_score_gradient(b, output_gradient, weights, sums, scale);
    add_turned_product(b, score_gradient, query, BP_ATTENTION_KEY_GRADIENT);
    add_query_gradient(b, score_gradient, keys);
}

void bp__cudnn_attention_describe(const void *what, int call, bp__cudnn_graph *graph, int64_t alignment) {
    builder b = {graph, what, alignment, BP__CUDNN_FIRST_VIRTUAL_UID};
    (void)call;
    if (b.a->backward) {
        describe_backward(&b);
    } else {
        describe_forward(&b);
    }
}
