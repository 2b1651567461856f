/* graph.h - graphs: networks of calls that are built once, and then run, as one call.
 *
 * A graph has inputs, constants, nodes and outputs. A node is a call of calls.h by its name, such as "linear", with its
 * fields and with values as operands; every call of that table is a node, but for those that bp_graph_call() refuses by
 * name. A value is a tensor that is written once. Shapes and element types are known as soon as a value is added: each
 * call's own rules tell them, and they refuse what the call itself would refuse.
 *
 *     bp_graph *graph;
 *     bp_value x, w, b, y;
 *     bp_graph_create(&graph);
 *     bp_graph_input(graph, "x", BP_F32, 2, (int64_t[]){4, 784}, &x);
 *     bp_graph_constant(graph, "w", &weight.tensor, 0, &w);
 *     bp_graph_constant(graph, "b", &bias.tensor, 0, &b);
 *     bp_graph_call(graph, "linear", "activation=gelu", 3, (bp_value[]){x, w, b}, 1, (bp_value *[]){&y});
 *     bp_graph_output(graph, "y", y);
 *     bp_graph_finish(graph);
 *     bp_graph_run(NULL, graph, inputs, outputs);
 *     bp_graph_release(graph);
 *
 * Until bp_graph_finish() a graph belongs to one thread. After it, it does not change, and several threads may use it
 * at once. Graphs run on the host.
 *
 * Messages of errors name the node: "node 17 (layer_norm): ...". Nodes are counted from 0.
 */
#ifndef BACKPLANE_GRAPH_H
#define BACKPLANE_GRAPH_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bp_graph bp_graph;

/* A value of a graph. 0: absent, for an optional operand. */
typedef int bp_value;

/* Creates an empty graph, which bp_graph_release() frees. */
BP_API bp_status bp_graph_create(bp_graph **graph);

/* Frees the graph when no plan of it is left. bp_reset() fails while a graph is held. NULL is allowed. */
BP_API void bp_graph_release(bp_graph *graph);

/* ---- Building: BP_E_ARGUMENT for NULL, for a value that the graph does not have, and after bp_graph_finish().
 * Names of inputs and constants are different; a name has letters, digits, '_' and '.', and begins with a letter or
 * '_'. After an error the graph is as before. ---- */

/* Adds an input with this type and shape. bp_graph_run() takes inputs in the order in which they were added. Errors:
 * BP_E_DTYPE, BP_E_SHAPE (a negative size), BP_E_OVERFLOW. */
BP_API bp_status bp_graph_input(bp_graph *graph, const char *name, bp_dtype dtype, int ndim, const int64_t *shape,
                                bp_value *value);

enum {
    BP_GRAPH_BORROW = 1 /* the tensor's memory is not copied: it must stay and not change until the graph and its plans
                         * are released */
};

/* Adds a constant: a tensor of the host, of any strides. It is copied, unless `flags` has BP_GRAPH_BORROW. */
BP_API bp_status bp_graph_constant(bp_graph *graph, const char *name, const DLTensor *tensor, unsigned flags,
                                   bp_value *value);

/* Adds a node: a call by its name (calls.h).
 *
 * `fields` has values of the call's fields, as in the text of a graph: "pass=forward, activation=gelu, stride=[2, 2]";
 * NULL or "": none. A field that is not there has its usual value. Words are as in the call's description; flags are
 * true or false; lists give the number of dimensions, unless it is given too. A real may be hexadecimal.
 *
 * `operands` are the inputs of the call's pass, in the order of bp_call_operand_at(); absent ones are 0, or left out at
 * the end. An operand that is a list (concat, einsum) takes all values that are left. Operands may also be given by
 * name, in `fields`: "running_mean=m, weight=v7", where m is the name of an input or constant, and v7 is value 7 if
 * that is not such a name.
 *
 * `outputs` are where the values that the pass writes are stored, in the order of its outputs; NULL for one that is not
 * wanted. Outputs that are neither wanted nor required are not computed. At least one must be wanted or required.
 *
 * Errors: as the call for wrong types, shapes and fields (products, einsum and linear algebra check some of their
 * types only when the graph is run); BP_E_ARGUMENT (no such call or field; too many operands
 * or outputs); BP_E_UNSUPPORTED: the shape of an output does not follow from the operands (random, fftfreq, and the
 * gradients that bp_call_shape() names), or the call reads what it writes (gemm, and the running statistics of
 * batch_norm in training). */
BP_API bp_status bp_graph_call(bp_graph *graph, const char *call, const char *fields, int operand_count,
                               const bp_value *operands, int output_count, bp_value *const *outputs);

/* Add views of a value; they copy nothing unless they must. A reshaped value has the elements in row-major order; one
 * size may be -1: what is left. A permuted one has dimension axes[i] as dimension i. A slice has the elements `from`,
 * `from` + `step`, ... before `to` along an axis; `from` and `to` count from the end if they are negative, and are cut
 * to the axis, and with a negative step INT64_MIN as `to` means that the first element is the last one. An expanded
 * value repeats dimensions of size 1, and may have more dimensions in front. Errors: BP_E_SHAPE, BP_E_ARGUMENT (an
 * axis, a step of 0). */
BP_API bp_status bp_graph_reshape(bp_graph *graph, bp_value value, int ndim, const int64_t *shape, bp_value *view);
BP_API bp_status bp_graph_permute(bp_graph *graph, bp_value value, int axis_count, const int *axes, bp_value *view);
BP_API bp_status bp_graph_slice(bp_graph *graph, bp_value value, int axis, int64_t from, int64_t to, int64_t step,
                                bp_value *view);
BP_API bp_status bp_graph_expand(bp_graph *graph, bp_value value, int ndim, const int64_t *shape, bp_value *view);

/* Adds an output: any value. Names of outputs are different from each other. */
BP_API bp_status bp_graph_output(bp_graph *graph, const char *name, bp_value value);

/* Ends the building. Errors: BP_E_ARGUMENT (no output). */
BP_API bp_status bp_graph_finish(bp_graph *graph);

/* ---- Descriptions ---- */

/* Returns type and shape of a value. `shape` is an array of BP_MAX_NDIM elements. */
BP_API bp_status bp_graph_shape(const bp_graph *graph, bp_value value, bp_dtype *dtype, int *ndim, int64_t *shape);

/* An input or an output. */
typedef struct bp_graph_port {
    size_t struct_size; /* set by the caller: sizeof(bp_graph_port) */
    const char *name;
    bp_value value;
    bp_dtype dtype;
    int ndim;
    const int64_t *shape;
} bp_graph_port;

/* Fill *port with input or output `index` (0, 1, ...) and return 1; return 0 past the end. Valid as long as the graph.
 */
BP_API int bp_graph_input_at(const bp_graph *graph, int index, bp_graph_port *port);
BP_API int bp_graph_output_at(const bp_graph *graph, int index, bp_graph_port *port);

/* ---- Text ----
 *
 * A graph is text with one line for each value, as the text of this one, which bp_graph_text() wrote:
 *
 *     graph 1
 *     input x f32 [4, 784]
 *     constant w f32 [2, 784] = [0x1p-1, ...]
 *     v3 = linear(input=x, weight=w, activation=gelu)
 *     v4 = reshape(v3, [8])
 *     v5, v6 = layer_norm(input=v4, row_ndim=1, eps=0x1.4f8b588e368f1p-17)
 *     output y = v5
 *
 * Operands have the names of the call's inputs, or stand in their order: linear(x, w). "-" is an absent operand, or an
 * output that is not wanted. Fields with their usual values are left out. Views have a list: the shape of reshape and
 * expand, the axes of permute, and axis, first index, number of elements and step of slice. Elements of constants are
 * numbers (f32, f64, i32, i64), or, for other types and for infinities and NaN, "bytes" and two hexadecimal digits for
 * each byte. A line may be empty, or end with "#" and a comment.
 */

/* Writes a graph as text, which is exact: bp_graph_parse() makes a graph from it that has the same text. Free it with
 * bp_graph_text_release(). Errors: BP_E_ARGUMENT, BP_E_NO_MEMORY. */
BP_API bp_status bp_graph_text(const bp_graph *graph, char **text);
BP_API void bp_graph_text_release(char *text); /* NULL is allowed */

/* Makes a finished graph from `size` bytes of text. *graph is NULL after an error. Errors: BP_E_FORMAT, and the errors
 * of the building functions; each message has the line. */
BP_API bp_status bp_graph_parse(bp_graph **graph, size_t size, const char *text);

/* Writes the SHA-256 of what the graph computes to `hash` (32 bytes): of its inputs, and of the nodes, constants and
 * views that its outputs need. Names and all else do not change it. */
BP_API bp_status bp_graph_hash(const bp_graph *graph, unsigned char *hash);

/* ---- ONNX files ---- */

/* What a model leaves open, and the caller decides. Members that are 0 or NULL are absent. */
typedef struct bp_onnx_choices {
    size_t struct_size; /* sizeof(bp_onnx_choices) */
    int size_count;
    const char *const
        *size_names; /* of sizes that the model names, such as "batch"; or "x[0]": dimension 0 of input x */
    const int64_t *sizes;
    int value_count;
    const char *const *value_names; /* of inputs that become constants */
    const DLTensor *const *values;  /* copied */
} bp_onnx_choices;

/* Makes a finished graph of the model in an ONNX file. Free it with bp_graph_release(); *graph is NULL after an error.
 *
 * Read are models of IR versions 1 to 14 with operators of opsets 7 to 28 of the standard domain, which the page
 * docs/reference/onnx.md lists. A node with another operator, or with an attribute, input or output that is not
 * supported, is refused, as a node is that would compute something else than the standard says (BP_E_UNSUPPORTED; the
 * message names node, operator and opset). The calls have the element types.
 *
 * Inputs and outputs have the order of the model. Their names are the model's, with '_' in place of characters
 * that a name of a graph does not have. Inputs that are initializers too are constants. All sizes of a graph are fixed:
 * `choices` has those that the model leaves open; it may be NULL. An input may become a constant, whose elements then
 * decide shapes and branches of If. What follows from shapes and small constants is computed while the model is read.
 * Weights are copied: nothing of the file is needed afterwards. While it is read, its bytes are in memory too.
 *
 * Elements that a model has in other files are read from files below the model's folder only: paths with "..",
 * absolute paths and symbolic links are refused (BP_E_UNTRUSTED).
 *
 * Errors: BP_E_NOT_FOUND, BP_E_IO, BP_E_FORMAT (no model, or one that contradicts itself), BP_E_OVERFLOW (more than 2
 * GiB in the file, or sizes that no memory has), BP_E_ARGUMENT (a choice that the model does not have, or one that
 * lacks), BP_E_UNSUPPORTED, BP_E_UNTRUSTED, BP_E_NO_MEMORY, BP_E_CANCELLED, and the errors of the building functions.
 */
BP_API bp_status bp_graph_from_onnx(bp_graph **graph, const char *path, const bp_onnx_choices *choices);

/* ---- Running ---- */

/* Computes the outputs from the inputs, each array in the order in which they were added. Tensors have the types and
 * shapes of the graph, and any strides. An output shares no memory with an input, with another output, with a borrowed
 * constant or with itself (BP_E_OVERLAP). `options` may be NULL: settings apply to each node as to its call.
 *
 * Nothing is written if the tensors are refused. After a failure of a node the outputs may be partly written.
 *
 * Errors: BP_E_ARGUMENT, BP_E_DTYPE, BP_E_SHAPE, BP_E_LAYOUT, BP_E_OVERLAP, BP_E_DEVICE (a tensor that is not on the
 * host), BP_E_NO_MEMORY, BP_E_CANCELLED, and the errors of the nodes' calls. */
BP_API bp_status bp_graph_run(const bp_options *options, const bp_graph *graph, const DLTensor *const *inputs,
                              DLTensor *const *outputs);

/* Creates a plan of the whole graph for tensors of these layouts: for bp_execute() with the inputs, then the outputs.
 * Data pointers may be NULL.
 *
 * The parts of the plan are the plans that the nodes' calls get under the same settings, so a planned run gives the
 * bits of the calls one by one (the setting graph.backend=eager runs them so). Equal nodes are computed once, nodes of
 * constants when the plan is made, and what no output needs not at all. Constants are packed where the library of a
 * part has a layout of its own (bp_plan_pack). Intermediate values share one workspace (bp_plan_info.workspace). Calls
 * without plans (bp_call_info.unplanned) run as calls, under the settings of the thread that runs the plan.
 *
 * Functions of single elements (unary, binary, where) that follow each other are one part, a region: all of them run on
 * one block of elements after another (graph.block_bytes), so that intermediate values stay in the first cache. The
 * bytes are the same, also of NaN. A program may add functions that run regions (graph_backend.h).
 *
 * What convolutions, pooling and batch normalization write, and what functions of single elements, pad and concat make
 * of it, has its channels last in memory or before the sizes (graph.layout), which may change bits. The operands of
 * concat are written into its result if nodes compute all of them. graph.backend=eager has the same layouts.
 *
 * With the setting graph.rewrite another graph runs in place of this one, also with graph.backend=eager. Its results
 * are equal up to rounding. It is made at the first run with the setting, and kept with the graph.
 *   fold  Batch normalization in inference is folded into a conv without activation in front of it, or into a linear
 *         with two dimensions, if nothing else reads the result in between, all their weights, biases and statistics
 *         are constants, and the new ones are finite: with s = weight / sqrt(running_var + eps), the layer's weight
 *         becomes weight * s, computed in F64 and rounded once, and its bias (bias - running_mean) * s + bias.
 *   fast  As fold. Also, matmul(softmax(scale * matmul(q, k) + mask), v) becomes attention (attention.h), where the
 *         softmax is over the last dimension, scale is a constant of one element (also as a divisor) or absent, the
 *         mask may be absent, and nothing else reads the results in between. A row whose scores are all -infinity is
 *         0 then, not NaN.
 *
 * bp_graph_run() keeps the plans of a graph, at most 64, for later runs with the same layouts and settings. A plan
 * holds the graph's constants also after bp_graph_release(). Errors: as bp_graph_run(), and BP_E_NO_CANDIDATE. */
BP_API bp_status bp_graph_plan(bp_plan **plan, const bp_options *options, const bp_graph *graph,
                               const DLTensor *const *inputs, const DLTensor *const *outputs);

/* Explains the plan for tensors of these layouts: what became of the nodes, and which library and algorithm runs each
 * part. bp_explanation_part() has the candidates of each part, except for calls without plans and einsum. Errors: as
 * bp_graph_plan(). */
BP_API bp_status bp_graph_explain(bp_explanation **explanation, const bp_options *options, const bp_graph *graph,
                                  const DLTensor *const *inputs, const DLTensor *const *outputs);

#ifdef __cplusplus
}
#endif
#endif
