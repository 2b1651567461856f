/* read.h - declarations shared by the files that make a graph of an ONNX model.
 *
 * A value is a result of a node, an input or an initializer. Sizes are known when a model is read, so that each value
 * has its type and shape, and many values are known too: sizes, and what is computed of them. They become constants of
 * the graph when a call needs them. */
#ifndef BP_ONNX_READ_H
#define BP_ONNX_READ_H

#include "graph/graph.h"
#include "onnx/model.h"

typedef struct bp__onnx_value {
    bp_dtype dtype;
    int ndim;
    const int64_t *shape;
    bp_value value;                /* of the graph; 0: it is not there yet */
    const void *data;              /* row-major elements, if they are known and in memory */
    const bp__onnx_tensor *tensor; /* an initializer whose elements were not read yet */
    bp__bytes name;                /* of an initializer or input */
} bp__onnx_value;

/* How often a name is read in a graph, and by which node; -1: by none that could be left out. */
typedef struct bp__onnx_use {
    int count, node;
} bp__onnx_use;

typedef struct bp__onnx_uses {
    const bp__onnx_graph *graph;
    bp__names names;
    bp__onnx_use *list; /* by number - 1 */
    int count, capacity;
    int *through; /* of each node: the number of the input, from 1 on, that is its result; 0: it is added */
} bp__onnx_uses;

/* Names of values. A graph in an attribute sees the names of the graphs around it. */
typedef struct bp__onnx_scope {
    struct bp__onnx_scope *outer;
    bp__names names;
    bp__onnx_value **values; /* by number - 1 */
    int count, capacity;
    bp__onnx_uses uses; /* in the graph of this scope */
} bp__onnx_scope;

/* What reads a model. */
typedef struct bp__onnx {
    bp__onnx_memory *memory;
    const bp__onnx_model *model;
    const char *folder; /* NULL: none */
    const bp_onnx_choices *choices;
    bp_graph *graph;
    bp__onnx_scope *scope;
    int nodes, constants; /* so many were made */
    int64_t spent;        /* bytes of known values */
    bool *used;           /* of each choice of the caller, sizes first: the model has it */
    bool folds;           /* the graph is one node of known values, which is run at once */
    /* The node that is being added. */
    bp__onnx_node *node;
    int input_count;
    bp__onnx_value **inputs;  /* NULL: absent */
    bp__onnx_value **results; /* of its outputs */
} bp__onnx;

/* ---- The table of operators (table.c) ---- */

typedef struct bp__onnx_row bp__onnx_row;
typedef bp_status (*bp__onnx_convert)(bp__onnx *r, const bp__onnx_row *row);

struct bp__onnx_row {
    const char *operation;
    int since, until; /* opsets; 0: all later ones */
    int least, most;  /* inputs; `most` -1: any number */
    bp__onnx_convert convert;
    const char *call; /* of convert_call: the call; otherwise a word for the function that converts */
    const char
        *fields; /* of convert_call: {name:number} is an attribute and its usual value, a real if it has a point */
};

/* Returns the row of an operator in an opset. NULL: there is none; *other is one of another opset, or NULL. */
const bp__onnx_row *bp__onnx_row_of(bp__bytes operation, int64_t opset, const bp__onnx_row **other);

/* Returns a row by its index; NULL past the end. */
const bp__onnx_row *bp__onnx_row_at(int index);

/* ---- Nodes (nodes.c) ---- */

/* Adds initializers, inputs and nodes of a graph, whose scope has begun, and finds its outputs. */
bp_status bp__onnx_add_graph(bp__onnx *r, const bp__onnx_graph *graph, bp__onnx_value **outputs);
void bp__onnx_scope_begin(bp__onnx *r, bp__onnx_scope *scope);
void bp__onnx_scope_end(bp__onnx *r, bp__onnx_scope *scope);
bp_status bp__onnx_define(bp__onnx *r, bp__bytes name, bp__onnx_value *value);
bp__onnx_value *bp__onnx_find(const bp__onnx *r, bp__bytes name);

/* ---- Inputs of a model (inputs.c) ---- */

/* Adds the inputs that are no initializers. */
bp_status bp__onnx_add_inputs(bp__onnx *r, const bp__onnx_graph *graph);
/* Fails if a choice of the caller is of an input or size that the model does not have. */
bp_status bp__onnx_check_choices(const bp__onnx *r);

/* ---- Models (read.c) ---- */

/* As bp_graph_from_onnx(), of the bytes of a file. `folder` has files with elements; NULL: there is none. */
bp_status bp__onnx_read(bp_graph **graph, size_t size, const void *bytes, const char *folder,
                        const bp_onnx_choices *choices);

/* ---- Nodes that are computed with the one before them (fuse.c) ---- */

bp_status bp__onnx_uses_count(bp__onnx *r, bp__onnx_uses *uses, const bp__onnx_graph *graph);
void bp__onnx_uses_free(const bp__onnx_uses *uses);

/* The nodes behind the one that is being added, as far as its call computes them. */
typedef struct bp__onnx_chain {
    bp__bytes last; /* the name of what is computed */
} bp__onnx_chain;
void bp__onnx_chain_begin(const bp__onnx *r, bp__onnx_chain *chain);
/* Returns whether the next node is of an operator. */
bool bp__onnx_chain_is(const bp__onnx *r, const bp__onnx_chain *chain, const char *operation);
/* Returns the function of the next node, which is left out then; NULL if it is none that calls have as `activation`. */
const char *bp__onnx_chain_activation(const bp__onnx *r, bp__onnx_chain *chain);
/* Returns the known row of `size` elements that the next node adds, which is left out then; or NULL. */
bp__onnx_value *bp__onnx_chain_row(const bp__onnx *r, bp__onnx_chain *chain, int64_t size);

/* ---- Known nodes (fold.c) ---- */

/* Computes the node if all that it reads is known and small. *done: it was. */
bp_status bp__onnx_fold(bp__onnx *r, const bp__onnx_row *row, bool *done);

/* ---- Values (value.c) ---- */

/* Makes a value of this type and shape that is not known. */
bp__onnx_value *bp__onnx_new_value(bp__onnx *r, bp_dtype dtype, int ndim, const int64_t *shape);
/* Counts memory for what is computed when a model is read. Errors: BP_E_OVERFLOW (more than 1 GiB). */
bp_status bp__onnx_spend(bp__onnx *r, int64_t bytes);
/* Makes a known value; *data is where its elements are to be written. Its shape was checked, and is small. */
bp_status bp__onnx_known(bp__onnx *r, bp_dtype dtype, int ndim, const int64_t *shape, bp__onnx_value **value,
                         void **data);
bp_status bp__onnx_scalar(bp__onnx *r, double number, bp_dtype dtype, bp__onnx_value **value);
/* Makes a known list of whole numbers: from, from + step, ... */
bp_status bp__onnx_counted(bp__onnx *r, bp_dtype dtype, int64_t count, int64_t from, int64_t step,
                           bp__onnx_value **value);
/* Returns the value's number in the graph, to which it is added as a constant if it is not there. */
bp_status bp__onnx_in_graph(bp__onnx *r, bp__onnx_value *value, bp_value *number);
/* Makes a name of the graph of a name of the file, different from names that are taken. */
bp_status bp__onnx_graph_name(bp__onnx *r, bp__bytes name, const bp__names *taken, bp__text *made);
/* Reads the elements of a small initializer. Afterwards `data` is NULL if the value is not known, or large. */
bp_status bp__onnx_load(bp__onnx *r, bp__onnx_value *value);
/* The same for an initializer of any size. */
bp_status bp__onnx_load_all(bp__onnx *r, bp__onnx_value *value);
int64_t bp__onnx_bytes(const bp__onnx_value *value);
int64_t bp__onnx_count(const bp__onnx_value *value); /* of its elements */

/* Bytes of a value that is computed when a model is read, and of all known ones. */
enum { BP__ONNX_SMALL = 64 * 1024, BP__ONNX_MOST_KNOWN = 1 << 30 };

/* Returns the numbers of a known input of i32 or i64, in memory of the reader. Fails if they are not known. `name` is
 * the input's name in the standard. */
bp_status bp__onnx_numbers(bp__onnx *r, int input, const char *name, int *count, int64_t **numbers);
/* The same for one number. */
bp_status bp__onnx_number(bp__onnx *r, int input, const char *name, int64_t *number);
/* Returns the number of a known floating or whole input of one element. False: it is not known. */
bool bp__onnx_real_known(bp__onnx *r, bp__onnx_value *value, double *number);

static inline bp__onnx_value *bp__onnx_input(const bp__onnx *r, int index) {
    return index < r->input_count ? r->inputs[index] : NULL;
}
static inline bool bp__onnx_is_wanted(const bp__onnx *r, int output) {
    return output < r->node->output_count && !bp__bytes_empty(r->node->outputs[output]);
}
static inline bool bp__onnx_is_float(bp_dtype dtype) {
    return dtype == BP_F16 || dtype == BP_BF16 || dtype == BP_F32 || dtype == BP_F64;
}
static inline bool bp__onnx_is_complex(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

/* ---- Attributes (attribute.c): each returns the usual value if the node has none. An attribute that no function has
 * asked for makes the node be refused. ---- */

bp_status bp__onnx_attribute_int(bp__onnx *r, const char *name, int64_t usual, int64_t *number);
bp_status bp__onnx_attribute_flag(bp__onnx *r, const char *name, bool usual, bool *flag);
bp_status bp__onnx_attribute_real(bp__onnx *r, const char *name, double usual, double *number);
/* A text: the number of one of some words, which are separated by commas. */
bp_status bp__onnx_attribute_word(bp__onnx *r, const char *name, const char *words, int usual, int *number);
/* A list of whole numbers: NULL if there is none. Fails if it has not `count` elements; -1: any number. */
bp_status bp__onnx_attribute_ints(bp__onnx *r, const char *name, int wanted, int *count, const int64_t **numbers);
bp_status bp__onnx_attribute_of(bp__onnx *r, const char *name, bp__onnx_kind kind, bp__onnx_attribute **attribute);
/* Fails if an attribute was not asked for. */
bp_status bp__onnx_attributes_check(const bp__onnx *r);
/* An axis, from the attribute: at least 0, and below `ndim`. */
bp_status bp__onnx_attribute_axis(bp__onnx *r, const char *name, int64_t usual, int ndim, int *axis);
bp_status bp__onnx_axis(int64_t given, int ndim, int *axis);

/* ---- Calls and views (call.c) ---- */

/* Adds a call. The fields are a format as printf has it. `outputs` are as many as the call has; those that are NULL
 * are not wanted. */
bp_status bp__onnx_call(bp__onnx *r, const char *call, int operand_count, bp__onnx_value *const *operands,
                        int output_count, bp__onnx_value **const *outputs, const char *fields, ...) BP_PRINTF(7, 8);
/* Adds a call of one output. */
#define bp__onnx_call_one(r, call, operand_count, operands, output, ...)                                               \
    bp__onnx_call(r, call, operand_count, operands, 1, (bp__onnx_value * *const[]){output}, __VA_ARGS__)
bp_status bp__onnx_reshape(bp__onnx *r, bp__onnx_value *of, int ndim, const int64_t *shape, bp__onnx_value **view);
bp_status bp__onnx_permute(bp__onnx *r, bp__onnx_value *of, const int *axes, bp__onnx_value **view);
bp_status bp__onnx_slice(bp__onnx *r, bp__onnx_value *of, int axis, int64_t from, int64_t to, int64_t step,
                         bp__onnx_value **view);
bp_status bp__onnx_expand(bp__onnx *r, bp__onnx_value *of, int ndim, const int64_t *shape, bp__onnx_value **view);
bp_status bp__onnx_cast(bp__onnx *r, bp__onnx_value *of, bp_dtype dtype, bp__onnx_value **result);
bp_status bp__onnx_unary(bp__onnx *r, const char *kind, bp__onnx_value *x, bp__onnx_value **result);
bp_status bp__onnx_binary(bp__onnx *r, const char *kind, bp__onnx_value *a, bp__onnx_value *b, bp__onnx_value **result);
/* The same with a number, which gets the type of `a`. */
bp_status bp__onnx_binary_with(bp__onnx *r, const char *kind, bp__onnx_value *a, double b, bp__onnx_value **result);
bp_status bp__onnx_clip_to(bp__onnx *r, bp__onnx_value *x, double low, double high, bp__onnx_value **result);
bp_status bp__onnx_where(bp__onnx *r, bp__onnx_value *condition, bp__onnx_value *a, bp__onnx_value *b,
                         bp__onnx_value **result);
bp_status bp__onnx_reduce(bp__onnx *r, const char *kind, bp__onnx_value *x, int axis_count, const int *axes, bool keep,
                          bp__onnx_value **result);
/* Adds a convolution with the attributes of the node, and with the function that the next node has if it `fuses` that.
 * The operands have the shapes of the node's inputs; the second one is the weight. */
bp_status bp__onnx_convolve(bp__onnx *r, int operand_count, bp__onnx_value *const *operands, bool fuses,
                            bp__onnx_value **result);
bp_status bp__onnx_concat(bp__onnx *r, int count, bp__onnx_value *const *values, int axis, bp__onnx_value **result);
bp_status bp__onnx_pad(bp__onnx *r, bp__onnx_value *x, const int64_t *before, const int64_t *after, double number,
                       bp__onnx_value **result);
/* Writes "[1, 2]". Returns the buffer. */
typedef struct bp__onnx_list {
    char text[BP_MAX_NDIM * 22 + 8];
} bp__onnx_list;
const char *bp__onnx_list_of(int count, const int64_t *numbers, bp__onnx_list *list);
/* Inserts dimensions of size 1 in front, so that there are `ndim`. */
bp_status bp__onnx_lift(bp__onnx *r, bp__onnx_value *x, int ndim, bp__onnx_value **view);

/* ---- Functions that convert (convert_*.c) ---- */

/* clang-format off */
#define BP__ONNX_CONVERTS(X)                                                                                           \
    X(argmax) X(attention) X(average_pool) X(batch_norm) X(binary) X(bit_shift) X(call) X(cast) X(cast_like) X(celu)   \
    X(center_crop_pad) X(clip) X(compress) X(concat) X(constant) X(constant_of_shape) X(conv) X(conv_integer)          \
    X(conv_transpose) X(cumsum) X(depth_to_space) X(dequantize) X(divide) X(dropout) X(dynamic_quantize) X(einsum)     \
    X(expand) X(eye_like) X(flatten) X(gather) X(gather_elements) X(gather_nd) X(gelu) X(gemm) X(global_pool)          \
    X(group_norm) X(hard_sigmoid) X(hardmax) X(identity) X(if) X(instance_norm) X(isinf) X(layer_norm) X(lp_norm)      \
    X(lrn) X(matmul) X(matmul_integer) X(max_pool) X(mod) X(mvn) X(non_zero) X(one_hot) X(pad) X(pow) X(prelu)         \
    X(qlinear_conv) X(qlinear_matmul) X(quantize) X(range) X(reduce) X(reshape) X(resize) X(reverse_sequence)          \
    X(rms_norm) X(rnn) X(rotary_embedding) X(scatter_elements) X(scatter_nd) X(selu) X(shape) X(shrink) X(size)        \
    X(slice) X(softmax) X(space_to_depth) X(split) X(squeeze) X(swiglu) X(swish) X(tensor_scatter) X(tile)             \
    X(transpose) X(trilu) X(unary) X(unsqueeze) X(variadic) X(where)
/* clang-format on */
#define BP__ONNX_DECLARE(name) bp_status bp__onnx_convert_##name(bp__onnx *r, const bp__onnx_row *row);
BP__ONNX_CONVERTS(BP__ONNX_DECLARE)
#undef BP__ONNX_DECLARE

#endif
