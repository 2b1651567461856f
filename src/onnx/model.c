/* model.c - reads the messages of an ONNX file into structs.
 *
 * onnx.proto, version 1.23, has the numbers of the fields. A message is read twice: to count its lists, and to fill
 * them. Of a field that may be there once, the last one counts, as in all readers of protocol buffers. */
#include "onnx/model.h"

#include "tensor/internal.h"

#include <string.h>

/* Depth of graphs in attributes; nodes; and elements of all lists of messages. */
enum { MOST_DEPTH = 16, MOST_NODES = 100000, MOST_PARTS = 1 << 21 };

/* What reads a file. */
typedef struct parser {
    bp__onnx_memory *memory;
    int depth; /* of graphs */
    int nodes;
    int64_t parts;
} parser;

static bp_status fail_broken(const char *message) {
    return bp__fail(BP_E_FORMAT, "the file is not an ONNX model, or it is cut: a message %s is broken", message);
}

/* ---- Parts of all messages ---- */

/* Counts the fields of a message with a number. Negative: the message is broken. */
static int64_t count_fields(bp__bytes message, uint32_t number) {
    bp__wire_field field;
    bp__wire_result result;
    int64_t count = 0;
    while ((result = bp__wire_next(&message, &field)) == BP__WIRE_FIELD) {
        count += field.number == number;
    }
    return result == BP__WIRE_END ? count : -1;
}

/* Allocates the list of a repeated field. */
static bp_status new_list(parser *p, bp__bytes message, uint32_t number, const char *name, size_t size, void **list) {
    const int64_t count = count_fields(message, number);
    if (count < 0) {
        return fail_broken(name);
    }
    p->parts += count;
    if (p->parts > MOST_PARTS) {
        return bp__fail(BP_E_OVERFLOW, "the model has more than %d tensors, attributes, names and sizes", MOST_PARTS);
    }
    *list = bp__onnx_new(p->memory, (size_t)count, size);
    return *list ? BP_OK : BP_E_NO_MEMORY;
}

static bool is_text(const bp__wire_field *field, uint32_t number) {
    return field->number == number && field->type == BP__DELIMITED;
}

static bool is_number(const bp__wire_field *field, uint32_t number) {
    return field->number == number && field->type == BP__VARINT;
}

/* Reads fields of a message in a loop: `field` is each one. Fails if the message is broken. */
#define EACH_FIELD(message, name)                                                                                      \
    bp__wire_field field;                                                                                              \
    bp__wire_result result;                                                                                            \
    while ((result = bp__wire_next(&(message), &field)) != BP__WIRE_END)                                               \
        if (result == BP__WIRE_BROKEN) {                                                                               \
            return fail_broken(name);                                                                                  \
        } else

/* Counts, or stores, the numbers of a repeated field, whose elements may be packed. */
static bp_status read_numbers(bp__bytes message, uint32_t number, bp__wire_type type, int64_t *count, uint64_t *list) {
    int64_t found = 0;
    uint64_t value;
    EACH_FIELD(message, "with a list of numbers") {
        bp__wire_result each = BP__WIRE_END;
        while (field.number == number && (each = bp__wire_number(&field, type, &value)) == BP__WIRE_FIELD) {
            if (list) {
                list[found] = value;
            }
            found++;
        }
        if (each == BP__WIRE_BROKEN) {
            return fail_broken("with a list of numbers");
        }
    }
    *count = found;
    return BP_OK;
}

/* ---- Tensors ---- */

/* Types by their numbers in TensorProto.DataType. */
static const bp_dtype dtypes[] = {[1] = BP_F32,  [2] = BP_U8,   [3] = BP_I8,   [4] = BP_U16,   [5] = BP_I16,
                                  [6] = BP_I32,  [7] = BP_I64,  [9] = BP_BOOL, [10] = BP_F16,  [11] = BP_F64,
                                  [12] = BP_U32, [13] = BP_U64, [14] = BP_C64, [15] = BP_C128, [16] = BP_BF16};

bp_dtype bp__onnx_dtype(int64_t number) {
    return number >= 0 && number < BP__COUNT(dtypes) ? dtypes[number] : BP_DTYPE_NONE;
}

static bool read_decimal(bp__bytes text, int64_t *number) {
    char own[24];
    const size_t size = bp__bytes_size(text);
    if (size == 0 || size >= sizeof own) {
        return false;
    }
    memcpy(own, text.at, size);
    own[size] = '\0';
    return bp__parse_int(own, number) && *number >= 0;
}

/* Reads an entry of external_data: a key and its value. */
static bp_status parse_external(bp__onnx_tensor *tensor, bp__bytes message) {
    bp__bytes key = {0}, value = {0};
    EACH_FIELD(message, "external_data") {
        if (is_text(&field, 1)) {
            key = field.inside;
        } else if (is_text(&field, 2)) {
            value = field.inside;
        }
    }
    bool good = true;
    if (bp__bytes_are(key, "location")) {
        tensor->location = value;
    } else if (bp__bytes_are(key, "offset")) {
        good = read_decimal(value, &tensor->offset);
    } else if (bp__bytes_are(key, "length")) {
        good = read_decimal(value, &tensor->length);
    }
    bp__shown_text shown;
    return good ? BP_OK
                : bp__fail(BP_E_FORMAT, "offset or length of external elements is '%s'; it must be a whole number",
                           bp__bytes_show(value, &shown));
}

/* Counts elements and bytes of a tensor's shape. */
static bp_status measure(bp__onnx_tensor *tensor) {
    bp__shown_text shown;
    int64_t elements = 1, whole;
    bool empty = false, fits = true;
    for (int d = 0; d < tensor->ndim; d++) {
        if (tensor->shape[d] < 0) {
            return bp__fail(BP_E_FORMAT, "tensor '%s': size %d is negative", bp__bytes_show(tensor->name, &shown), d);
        }
        empty |= tensor->shape[d] == 0;
    }
    /* Sizes of 0 count as 1, so that products of other sizes fit too. */
    for (int d = 0; d < tensor->ndim && fits; d++) {
        fits = !__builtin_mul_overflow(elements, tensor->shape[d] > 0 ? tensor->shape[d] : 1, &elements);
    }
    const int64_t each = (int64_t)bp_dtype_size(bp__onnx_dtype(tensor->type));
    fits = fits && !__builtin_mul_overflow(elements, each > 0 ? each : 1, &whole) && whole <= BP__MAX_SPAN;
    tensor->elements = empty || !fits ? 0 : elements;
    tensor->bytes = tensor->elements * each;
    return fits ? BP_OK
                : bp__fail(BP_E_OVERFLOW, "tensor '%s' has more elements than memory has bytes",
                           bp__bytes_show(tensor->name, &shown));
}

static bp_status parse_tensor(const parser *p, bp__onnx_tensor *tensor, bp__bytes message) {
    const bp__bytes whole = message;
    int64_t ndim;
    *tensor = (bp__onnx_tensor){.whole = message, .length = -1};
    BP__TRY(read_numbers(message, 1, BP__VARINT, &ndim, NULL));
    if (ndim > BP_MAX_NDIM) {
        return bp__fail(BP_E_FORMAT, "a tensor has more than %d dimensions", BP_MAX_NDIM);
    }
    EACH_FIELD(message, "TensorProto") {
        if (is_number(&field, 2)) {
            tensor->type = (int32_t)field.value;
        } else if (field.number == 3) {
            return bp__fail(BP_E_UNSUPPORTED, "a tensor has segments, which no version of ONNX uses");
        } else if (is_text(&field, 8)) {
            tensor->name = field.inside;
        } else if (is_text(&field, 13)) {
            BP__TRY(parse_external(tensor, field.inside));
        } else if (is_number(&field, 14)) {
            tensor->is_external = field.value == 1;
        }
    }
    tensor->ndim = (int)ndim;
    tensor->shape = bp__onnx_new(p->memory, (size_t)ndim, sizeof *tensor->shape);
    if (!tensor->shape) {
        return BP_E_NO_MEMORY;
    }
    BP__TRY(read_numbers(whole, 1, BP__VARINT, &ndim, (uint64_t *)tensor->shape));
    return measure(tensor);
}

/* ---- Attributes ---- */

static bp_status parse_graph(parser *p, bp__onnx_graph **graph, bp__bytes message);

static bp_status parse_texts(parser *p, bp__onnx_attribute *attribute, bp__bytes message) {
    BP__TRY(new_list(p, message, 9, "AttributeProto", sizeof *attribute->texts, (void **)&attribute->texts));
    attribute->count = 0;
    EACH_FIELD(message, "AttributeProto") {
        if (is_text(&field, 9)) {
            attribute->texts[attribute->count++] = field.inside;
        }
    }
    return BP_OK;
}

static bp_status parse_attribute_lists(parser *p, bp__onnx_attribute *attribute, bp__bytes message) {
    int64_t numbers, reals;
    BP__TRY(read_numbers(message, 8, BP__VARINT, &numbers, NULL));
    BP__TRY(read_numbers(message, 7, BP__FIXED32, &reals, NULL));
    if (numbers > INT32_MAX || reals > INT32_MAX) {
        return fail_broken("AttributeProto");
    }
    attribute->numbers = bp__onnx_new(p->memory, (size_t)numbers, sizeof *attribute->numbers);
    attribute->reals = bp__onnx_new(p->memory, (size_t)reals, sizeof *attribute->reals);
    uint64_t *bits = bp__onnx_new(p->memory, (size_t)reals, sizeof *bits);
    if (!attribute->numbers || !attribute->reals || !bits) {
        return BP_E_NO_MEMORY;
    }
    BP__TRY(read_numbers(message, 8, BP__VARINT, &numbers, (uint64_t *)attribute->numbers));
    BP__TRY(read_numbers(message, 7, BP__FIXED32, &reals, bits));
    for (int64_t i = 0; i < reals; i++) {
        const uint32_t one = (uint32_t)bits[i];
        memcpy(&attribute->reals[i], &one, sizeof one);
    }
    attribute->count = (int)(attribute->kind == BP__ATTRIBUTE_FLOATS ? reals : numbers);
    return attribute->kind == BP__ATTRIBUTE_STRINGS ? parse_texts(p, attribute, message) : BP_OK;
}

/* Files of early versions have no kind; it follows from the field. */
static void find_kind(bp__onnx_attribute *attribute, uint32_t field) {
    static const int kinds[] = {
        [2] = BP__ATTRIBUTE_FLOAT, [3] = BP__ATTRIBUTE_INT,    [4] = BP__ATTRIBUTE_STRING, [5] = BP__ATTRIBUTE_TENSOR,
        [6] = BP__ATTRIBUTE_GRAPH, [7] = BP__ATTRIBUTE_FLOATS, [8] = BP__ATTRIBUTE_INTS,   [9] = BP__ATTRIBUTE_STRINGS};
    if (attribute->kind == 0 && field < BP__COUNT(kinds)) {
        attribute->kind = kinds[field];
    }
}

static bp_status parse_attribute(parser *p, bp__onnx_attribute *attribute, bp__bytes message) {
    const bp__bytes whole = message;
    uint32_t last = 0;
    EACH_FIELD(message, "AttributeProto") {
        last = field.number >= 2 && field.number <= 9 ? field.number : last;
        if (is_text(&field, 1)) {
            attribute->name = field.inside;
        } else if (is_number(&field, 20)) {
            attribute->kind = (int32_t)field.value;
        } else if (field.number == 2 && field.type == BP__FIXED32) {
            const uint32_t bits = (uint32_t)field.value;
            memcpy(&attribute->real, &bits, sizeof bits);
        } else if (is_number(&field, 3)) {
            attribute->number = (int64_t)field.value;
        } else if (is_text(&field, 4)) {
            attribute->text = field.inside;
        } else if (is_text(&field, 5)) {
            attribute->tensor = bp__onnx_new(p->memory, 1, sizeof *attribute->tensor);
            BP__TRY(attribute->tensor ? parse_tensor(p, attribute->tensor, field.inside) : BP_E_NO_MEMORY);
        } else if (is_text(&field, 6)) {
            BP__TRY(parse_graph(p, &attribute->graph, field.inside));
        } else if (is_text(&field, 21)) {
            attribute->refers = !bp__bytes_empty(field.inside);
        }
    }
    find_kind(attribute, last);
    return parse_attribute_lists(p, attribute, whole);
}

/* ---- Graphs ---- */

static bp_status parse_node(parser *p, bp__onnx_node *node, bp__bytes message) {
    if (++p->nodes > MOST_NODES) {
        return bp__fail(BP_E_OVERFLOW, "the model has more than %d nodes", MOST_NODES);
    }
    BP__TRY(new_list(p, message, 1, "NodeProto", sizeof *node->inputs, (void **)&node->inputs));
    BP__TRY(new_list(p, message, 2, "NodeProto", sizeof *node->outputs, (void **)&node->outputs));
    BP__TRY(new_list(p, message, 5, "NodeProto", sizeof *node->attributes, (void **)&node->attributes));
    EACH_FIELD(message, "NodeProto") {
        if (is_text(&field, 1)) {
            node->inputs[node->input_count++] = field.inside;
        } else if (is_text(&field, 2)) {
            node->outputs[node->output_count++] = field.inside;
        } else if (is_text(&field, 3)) {
            node->name = field.inside;
        } else if (is_text(&field, 4)) {
            node->operation = field.inside;
        } else if (is_text(&field, 5)) {
            BP__TRY(parse_attribute(p, &node->attributes[node->attribute_count++], field.inside));
        } else if (is_text(&field, 7)) {
            node->domain = field.inside;
        } else if (is_text(&field, 8) && !bp__bytes_empty(field.inside)) {
            return bp__fail(BP_E_UNSUPPORTED, "a node names an overload of a function, which is not supported");
        }
    }
    return BP_OK;
}

static bp_status parse_size(bp__onnx_size *size, bp__bytes message) {
    size->number = -1;
    EACH_FIELD(message, "Dimension") {
        if (is_number(&field, 1)) {
            *size = (bp__onnx_size){.number = (int64_t)field.value};
        } else if (is_text(&field, 2)) {
            *size = (bp__onnx_size){.number = -1, .name = field.inside};
        }
    }
    return BP_OK;
}

static bp_status parse_shape(parser *p, bp__onnx_port *port, bp__bytes message) {
    BP__TRY(new_list(p, message, 1, "TensorShapeProto", sizeof *port->sizes, (void **)&port->sizes));
    port->ndim = 0;
    EACH_FIELD(message, "TensorShapeProto") {
        if (is_text(&field, 1)) {
            BP__TRY(parse_size(&port->sizes[port->ndim++], field.inside));
        }
    }
    return BP_OK;
}

static bp_status parse_tensor_type(parser *p, bp__onnx_port *port, bp__bytes message) {
    EACH_FIELD(message, "TypeProto.Tensor") {
        if (is_number(&field, 1)) {
            port->type = (int32_t)field.value;
        } else if (is_text(&field, 2)) {
            BP__TRY(parse_shape(p, port, field.inside));
        }
    }
    return BP_OK;
}

static bp_status parse_type(parser *p, bp__onnx_port *port, bp__bytes message) {
    EACH_FIELD(message, "TypeProto") {
        if (is_text(&field, 1)) {
            BP__TRY(parse_tensor_type(p, port, field.inside));
        }
    }
    return BP_OK;
}

static bp_status parse_port(parser *p, bp__onnx_port *port, bp__bytes message) {
    port->ndim = -1;
    EACH_FIELD(message, "ValueInfoProto") {
        if (is_text(&field, 1)) {
            port->name = field.inside;
        } else if (is_text(&field, 2)) {
            BP__TRY(parse_type(p, port, field.inside));
        }
    }
    return BP_OK;
}

static bp_status parse_graph_fields(parser *p, bp__onnx_graph *graph, bp__bytes message) {
    BP__TRY(new_list(p, message, 1, "GraphProto", sizeof *graph->nodes, (void **)&graph->nodes));
    BP__TRY(new_list(p, message, 5, "GraphProto", sizeof *graph->tensors, (void **)&graph->tensors));
    BP__TRY(new_list(p, message, 11, "GraphProto", sizeof *graph->inputs, (void **)&graph->inputs));
    BP__TRY(new_list(p, message, 12, "GraphProto", sizeof *graph->outputs, (void **)&graph->outputs));
    EACH_FIELD(message, "GraphProto") {
        if (is_text(&field, 1)) {
            BP__TRY(parse_node(p, &graph->nodes[graph->node_count++], field.inside));
        } else if (is_text(&field, 5)) {
            BP__TRY(parse_tensor(p, &graph->tensors[graph->tensor_count++], field.inside));
        } else if (is_text(&field, 11)) {
            BP__TRY(parse_port(p, &graph->inputs[graph->input_count++], field.inside));
        } else if (is_text(&field, 12)) {
            BP__TRY(parse_port(p, &graph->outputs[graph->output_count++], field.inside));
        } else if (field.number == 15) {
            graph->has_sparse = true;
        }
    }
    return BP_OK;
}

static bp_status parse_graph(parser *p, bp__onnx_graph **graph, bp__bytes message) {
    if (p->depth == MOST_DEPTH) {
        return bp__fail(BP_E_UNSUPPORTED, "graphs are nested more than %d deep", MOST_DEPTH);
    }
    *graph = bp__onnx_new(p->memory, 1, sizeof **graph);
    if (!*graph) {
        return BP_E_NO_MEMORY;
    }
    p->depth++;
    bp_status status = parse_graph_fields(p, *graph, message);
    p->depth--;
    return status;
}

/* ---- Models ---- */

/* Reads an entry of opset_import. */
static bp_status parse_opset(bp__onnx_model *model, bp__bytes message) {
    bp__bytes domain = {0};
    int64_t version = 0;
    EACH_FIELD(message, "OperatorSetIdProto") {
        if (is_text(&field, 1)) {
            domain = field.inside;
        } else if (is_number(&field, 2)) {
            version = (int64_t)field.value;
        }
    }
    if (bp__bytes_empty(domain) || bp__bytes_are(domain, "ai.onnx")) {
        model->opset = version;
    }
    return BP_OK;
}

/* A function of the file could stand for an operator of the standard. Nodes of other domains are refused. */
static bp_status check_function(bp__bytes message) {
    bp__bytes name = {0}, domain = {0};
    bp__shown_text shown;
    EACH_FIELD(message, "FunctionProto") {
        if (is_text(&field, 1)) {
            name = field.inside;
        } else if (is_text(&field, 10)) {
            domain = field.inside;
        }
    }
    return bp__bytes_empty(domain) || bp__bytes_are(domain, "ai.onnx")
               ? bp__fail(BP_E_UNSUPPORTED,
                          "the model has a function '%s' of the standard domain, which is not supported",
                          bp__bytes_show(name, &shown))
               : BP_OK;
}

static bp_status check_versions(const bp__onnx_model *model) {
    if (!model->graph) {
        return bp__fail(BP_E_FORMAT, "the file is not an ONNX model: it has no graph");
    }
    if (model->ir_version < 1 || model->ir_version > BP__ONNX_NEWEST_IR) {
        return bp__fail(BP_E_UNSUPPORTED, "the model has IR version %lld; versions 1 to %d are read",
                        (long long)model->ir_version, BP__ONNX_NEWEST_IR);
    }
    if (model->opset != 0 && (model->opset < BP__ONNX_OLDEST || model->opset > BP__ONNX_NEWEST)) {
        return bp__fail(BP_E_UNSUPPORTED, "the model has operators of opset %lld; opsets %d to %d are read",
                        (long long)model->opset, BP__ONNX_OLDEST, BP__ONNX_NEWEST);
    }
    return BP_OK;
}

bp_status bp__onnx_parse(bp__onnx_model *model, bp__onnx_memory *memory, bp__bytes file) {
    parser p = {.memory = memory};
    *model = (bp__onnx_model){0};
    EACH_FIELD(file, "ModelProto") {
        if (is_number(&field, 1)) {
            model->ir_version = (int64_t)field.value;
        } else if (is_text(&field, 7)) {
            BP__TRY(parse_graph(&p, &model->graph, field.inside));
        } else if (is_text(&field, 8)) {
            BP__TRY(parse_opset(model, field.inside));
        } else if (is_text(&field, 25)) {
            BP__TRY(check_function(field.inside));
        }
    }
    return check_versions(model);
}
