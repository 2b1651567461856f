/* support_onnx.c - writes messages of ONNX files. */
#include "onnx/support_onnx.h"

#include <stdlib.h>
#include <string.h>

void put_varint(message *m, uint64_t number) {
    do {
        if (m->size == sizeof m->bytes) {
            abort();
        }
        m->bytes[m->size++] = (unsigned char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
        number >>= 7;
    } while (number > 0);
}

void put_number(message *m, int field, int64_t number) {
    put_varint(m, (uint64_t)field << 3);
    put_varint(m, (uint64_t)number);
}

void put_bytes(message *m, int field, size_t size, const void *bytes) {
    put_varint(m, (uint64_t)field << 3 | 2);
    put_varint(m, size);
    if (m->size + size > sizeof m->bytes) {
        abort();
    }
    if (size > 0) {
        memcpy(m->bytes + m->size, bytes, size);
    }
    m->size += size;
}

void put_text(message *m, int field, const char *text) {
    put_bytes(m, field, strlen(text), text);
}

void put_message(message *m, int field, const message *inner) {
    put_bytes(m, field, inner->size, inner->bytes);
}

void put_fixed32(message *m, int field, float number) {
    put_varint(m, (uint64_t)field << 3 | 5);
    memcpy(m->bytes + m->size, &number, sizeof number);
    m->size += sizeof number;
}

void put_tensor(message *graph, int field, const char *name, int type, const int64_t *shape, size_t size,
                const void *raw) {
    message *tensor = calloc(1, sizeof *tensor);
    for (int d = 0; shape[d] != -1; d++) {
        put_number(tensor, 1, shape[d]);
    }
    put_number(tensor, 2, type);
    put_text(tensor, 8, name);
    put_bytes(tensor, 9, size, raw);
    put_message(graph, field, tensor);
    free(tensor);
}

void put_port(message *graph, int field, const char *name, const int64_t *shape) {
    message *part = calloc(5, sizeof *part), *port = part, *type = part + 1, *tensor = part + 2, *sizes = part + 3;
    for (int d = 0; shape[d] != -1; d++) {
        message *size = part + 4;
        size->size = 0;
        if (shape[d] >= 0) {
            put_number(size, 1, shape[d]);
        } else if (shape[d] == -2) {
            put_text(size, 2, "batch");
        }
        put_message(sizes, 1, size);
    }
    put_number(tensor, 1, 1);
    put_message(tensor, 2, sizes);
    put_message(type, 1, tensor);
    put_text(port, 1, name);
    put_message(port, 2, type);
    put_message(graph, field, port);
    free(part);
}

void begin_node(message *node, const char *operation, const char *const *inputs, const char *const *outputs) {
    node->size = 0;
    for (int i = 0; inputs[i]; i++) {
        put_text(node, 1, inputs[i]);
    }
    for (int i = 0; outputs[i]; i++) {
        put_text(node, 2, outputs[i]);
    }
    put_text(node, 4, operation);
}

void put_int_attribute(message *node, const char *name, int64_t number) {
    message *attribute = calloc(1, sizeof *attribute);
    put_text(attribute, 1, name);
    put_number(attribute, 3, number);
    put_number(attribute, 20, 2);
    put_message(node, 5, attribute);
    free(attribute);
}

void put_graph_attribute(message *node, const char *name, const message *graph) {
    message *attribute = calloc(1, sizeof *attribute);
    put_text(attribute, 1, name);
    put_message(attribute, 6, graph);
    put_number(attribute, 20, 5);
    put_message(node, 5, attribute);
    free(attribute);
}

void put_node(message *graph, const char *operation, const char *const *inputs, const char *const *outputs) {
    message *node = calloc(1, sizeof *node);
    begin_node(node, operation, inputs, outputs);
    put_message(graph, 1, node);
    free(node);
}

void make_model(message *model, int64_t opset, const message *graph) {
    message *import = calloc(1, sizeof *import);
    model->size = 0;
    put_number(import, 2, opset);
    put_number(model, 1, 8);
    put_message(model, 8, import);
    put_message(model, 7, graph);
    free(import);
}

/* y = relu of x w twice, with w chosen by If. */
void make_sample(message *model) {
    message *part = calloc(4, sizeof *part), *graph = part, *then = part + 1, *other = part + 2, *node = part + 3;
    const float w[6] = {1, -2, 3, -4, 5, -6};
    const int64_t shape[2] = {3, -1};
    const unsigned char yes = 1;
    put_port(graph, 11, "x", SHAPE(-2, 3));
    put_tensor(graph, 5, "weight", 1, SHAPE(6), sizeof w, w);
    put_tensor(graph, 5, "shape", 7, SHAPE(2), sizeof shape, shape);
    put_tensor(graph, 5, "yes", 9, SHAPE(1), 1, &yes);
    put_node(graph, "Reshape", NAMES("weight", "shape"), NAMES("w"));
    put_node(then, "Identity", NAMES("w"), NAMES("chosen"));
    put_port(then, 12, "chosen", SHAPE(3, 2));
    put_node(other, "Neg", NAMES("w"), NAMES("turned"));
    put_port(other, 12, "turned", SHAPE(3, 2));
    begin_node(node, "If", NAMES("yes"), NAMES("v"));
    put_graph_attribute(node, "then_branch", then);
    put_graph_attribute(node, "else_branch", other);
    put_message(graph, 1, node);
    put_node(graph, "MatMul", NAMES("x", "v"), NAMES("product"));
    begin_node(node, "Concat", NAMES("product", "product"), NAMES("wide"));
    put_int_attribute(node, "axis", 1);
    put_message(graph, 1, node);
    put_node(graph, "Relu", NAMES("wide"), NAMES("y"));
    put_port(graph, 12, "y", SHAPE(-2, 4));
    make_model(model, 17, graph);
    free(part);
}
