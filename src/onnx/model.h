/* model.h - what an ONNX file has: the messages of onnx.proto that are used, as structs.
 *
 * Texts and numbers stay where they are in the bytes of the file; a tensor's elements are read when they are needed
 * (tensor.c). The structs are memory of one bp__onnx_memory, which is freed as a whole. */
#ifndef BP_ONNX_MODEL_H
#define BP_ONNX_MODEL_H

#include "backplane/tensor.h"
#include "base/base.h"
#include "onnx/wire.h"

/* ---- Memory (memory.c) ---- */

typedef struct bp__onnx_memory {
    struct bp__onnx_block *blocks;
    bool failed; /* an allocation failed, and what needed it goes on with another error */
} bp__onnx_memory;

/* Allocates zeroed memory of `count` elements. NULL, with an error: out of memory. */
void *bp__onnx_new(bp__onnx_memory *memory, size_t count, size_t size);
/* The same for elements of a tensor, aligned to 64 bytes. */
void *bp__onnx_new_elements(bp__onnx_memory *memory, int64_t bytes);
void bp__onnx_drop(bp__onnx_memory *memory);

/* ---- Messages ---- */

/* Returns the element type of a number of TensorProto.DataType; BP_DTYPE_NONE if calls have no such type. */
bp_dtype bp__onnx_dtype(int64_t number);

typedef struct bp__onnx_tensor {
    bp__bytes name, whole; /* `whole`: the message, which has the elements */
    int64_t type;          /* of TensorProto.DataType */
    int ndim;
    int64_t *shape;
    int64_t elements, bytes; /* 0 bytes: a type that calls have not */
    bool is_external;
    bp__bytes location;     /* of external elements: a path relative to the model's folder */
    int64_t offset, length; /* -1: it is not given */
} bp__onnx_tensor;

/* Of AttributeProto.AttributeType. */
typedef enum bp__onnx_kind {
    BP__ATTRIBUTE_FLOAT = 1,
    BP__ATTRIBUTE_INT,
    BP__ATTRIBUTE_STRING,
    BP__ATTRIBUTE_TENSOR,
    BP__ATTRIBUTE_GRAPH,
    BP__ATTRIBUTE_FLOATS,
    BP__ATTRIBUTE_INTS,
    BP__ATTRIBUTE_STRINGS
} bp__onnx_kind;

typedef struct bp__onnx_attribute {
    bp__bytes name;
    int64_t kind; /* of AttributeProto.AttributeType */
    bool refers;  /* to an attribute of a function */
    bool read;
    int64_t number;
    float real;
    bp__bytes text;
    bp__onnx_tensor *tensor;
    struct bp__onnx_graph *graph;
    int count; /* of the lists */
    int64_t *numbers;
    float *reals;
    bp__bytes *texts;
} bp__onnx_attribute;

typedef struct bp__onnx_node {
    bp__bytes name, operation, domain;
    int input_count, output_count, attribute_count;
    bp__bytes *inputs, *outputs; /* an empty name: absent */
    bp__onnx_attribute *attributes;
} bp__onnx_node;

typedef struct bp__onnx_size {
    int64_t number; /* -1: open */
    bp__bytes name; /* of an open one; may be empty */
} bp__onnx_size;

typedef struct bp__onnx_port {
    bp__bytes name;
    int64_t type; /* of TensorProto.DataType; 0: no tensor */
    int ndim;     /* -1: open */
    bp__onnx_size *sizes;
} bp__onnx_port;

typedef struct bp__onnx_graph {
    int node_count, tensor_count, input_count, output_count;
    bool has_sparse;
    bp__onnx_node *nodes;
    bp__onnx_tensor *tensors; /* the initializers */
    bp__onnx_port *inputs, *outputs;
} bp__onnx_graph;

enum { BP__ONNX_OLDEST = 7, BP__ONNX_NEWEST = 28, BP__ONNX_NEWEST_IR = 14 };

typedef struct bp__onnx_model {
    int64_t ir_version, opset; /* of the standard operators; 0: it is not imported */
    bp__onnx_graph *graph;
} bp__onnx_model;

/* Reads a model. The bytes must stay as long as it. Errors: BP_E_FORMAT; BP_E_UNSUPPORTED (a version); BP_E_NO_MEMORY.
 */
bp_status bp__onnx_parse(bp__onnx_model *model, bp__onnx_memory *memory, bp__bytes file);

/* ---- Elements (tensor.c) ---- */

/* Writes the elements of a tensor to memory for `tensor->bytes` bytes, row-major. `folder` is the model's folder, for
 * external elements; NULL: there is none. Errors: BP_E_FORMAT, BP_E_UNSUPPORTED, and the errors of files. */
bp_status bp__onnx_elements(const bp__onnx_tensor *tensor, const char *folder, void *memory);

/* ---- External elements (external.c) ---- */

/* Reads a part of a regular file that is below a folder, without links on the way. */
bp_status bp__onnx_external(const bp__onnx_tensor *tensor, const char *folder, void *memory);

/* ---- Texts (text.c) ---- */

bool bp__bytes_are(bp__bytes bytes, const char *text);
static inline bool bp__bytes_empty(bp__bytes bytes) {
    return bytes.at == bytes.end;
}
/* Writes a text of the file for messages: characters that are not printed become '?', and a long text is cut. Returns
 * the buffer. */
#define BP__SHOWN_SIZE 100
typedef struct bp__shown_text {
    char text[BP__SHOWN_SIZE];
} bp__shown_text;
const char *bp__bytes_show(bp__bytes bytes, bp__shown_text *shown);

#endif
