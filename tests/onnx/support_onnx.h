/* support_onnx.h - writes messages of ONNX files, so that tests need no package that does. */
#ifndef BP_TESTS_ONNX_SUPPORT_H
#define BP_TESTS_ONNX_SUPPORT_H

#include "backplane.h"

#include <stddef.h>
#include <stdint.h>

typedef struct message {
    unsigned char bytes[1 << 14];
    size_t size;
} message;

void put_varint(message *m, uint64_t number);
void put_number(message *m, int field, int64_t number);
void put_bytes(message *m, int field, size_t size, const void *bytes);
void put_text(message *m, int field, const char *text);
void put_message(message *m, int field, const message *inner);
void put_fixed32(message *m, int field, float number);

/* Messages of onnx.proto. Lists of names and numbers end with NULL and -1. */
void put_tensor(message *graph, int field, const char *name, int type, const int64_t *shape, size_t size,
                const void *raw);
/* An input or output of f32; a negative size but -1 is open, with the name "batch"; -3: without a name. */
void put_port(message *graph, int field, const char *name, const int64_t *shape);
void begin_node(message *node, const char *operation, const char *const *inputs, const char *const *outputs);
void put_int_attribute(message *node, const char *name, int64_t number);
void put_graph_attribute(message *node, const char *name, const message *graph);
/* Adds a node without attributes to a graph. */
void put_node(message *graph, const char *operation, const char *const *inputs, const char *const *outputs);
/* Makes a model of a graph. */
void make_model(message *model, int64_t opset, const message *graph);

#define NAMES(...)                                                                                                     \
    (const char *const[]) {                                                                                            \
        __VA_ARGS__, NULL                                                                                              \
    }
#define SHAPE(...)                                                                                                     \
    (const int64_t[]) {                                                                                                \
        __VA_ARGS__, -1                                                                                                \
    }

/* A model with nodes of several kinds, one of them an If, and all that graphs have. */
void make_sample(message *model);

#endif
