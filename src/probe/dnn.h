/* dnn.h - declares what the checks of oneDNN's primitives share: the functions of the library, and arguments. */
#ifndef BP_PROBE_DNN_H
#define BP_PROBE_DNN_H

#include "providers/onednn/api.h"
#include "probe/guards.h"
#include "probe/probe.h"

enum {
    MOST_ARGUMENTS = 10,
    CAPACITY = 20000,    /* elements of four bytes */
    MOST_PADDING = 4096, /* bytes by which the library's own layout of a weight may be larger */
    FILLED = 4096
};

#define DNN_ENUM(name) int
#define DNN_FUNCTIONS(X)                                                                                               \
    BP__ONEDNN_FUNCTIONS(X, void *, void *, void *, const void *, void *, void *, const void *, void *, const void *,  \
                         void *, const void *, void *, const void *, bp__onednn_arg, DNN_ENUM, int64_t *)

extern struct dnn {
#define X(name, result, arguments) result(*name) arguments;
    DNN_FUNCTIONS(X)
#undef X
} dnnl;
extern void *dnn_engine;

/* An argument of a primitive. A weight may also be there in the library's own layout, which the primitive then reads.
 */
typedef struct argument {
    int number, type;
    void *description;
    union {
        float f32[CAPACITY];
        int32_t i32[CAPACITY];
        uint16_t f16[2 * CAPACITY]; /* or bf16 */
        unsigned char bytes[4 * CAPACITY];
    } values;
    const void *own; /* belongs to the primitive's description */
    _Alignas(64) unsigned char converted[4 * CAPACITY + MOST_PADDING];
} argument;

/* Returns the name of a function that the library lacks, or NULL. */
const char *resolve_dnn(const subject *library);
/* Makes an engine and a stream. Returns whether the library has them. */
bool start_dnn(void);
void end_dnn(void);

float small_integer(int64_t index, int seed);
float element_of(const argument *a, int64_t at);
void put_element(argument *a, int64_t at, float value);

/* Adds an argument; floating-point ones have small integers in FILLED elements. Returns NULL if it cannot be described.
 */
argument *add_argument(int role, int type, int ndim, const int64_t *size, const int64_t *stride);
void drop_arguments(void);
/* Makes the attributes with a sum and ReLU after the primitive, as far as they are asked for. */
void *dnn_attributes(bool adds, bool relu);
/* Converts a weight to the layout that the described primitive has chosen. Returns whether that worked. */
bool convert_weight(argument *weight, const void *primitive);
/* Runs a primitive with all arguments, each between pages without access, at the end of one and at the start of the
 * other; `description` is destroyed. Returns whether it ran. */
bool run_primitive(void *description);
/* As run_primitive, at one of the two. */
bool run_primitive_at(void *description, bool at_end);
/* Returns the worst access of these pages since the last call. */
guard_access dnn_accessed(void);

/* ---- Checks ---- */

/* ABSENT: the library does not offer the primitive on this processor. */
typedef enum outcome { RIGHT, WRONG, ABSENT } outcome;
enum { MOST_TEXT = 128 };

/* GRU_BEFORE: its reset gate comes before the product. */
typedef enum layer_kind { LAYER_RNN, LAYER_LSTM, LAYER_GRU, LAYER_GRU_BEFORE } layer_kind;
/* Computes recurrent layers in each direction. Writes what was wrong. */
outcome check_layer(layer_kind kind, char how[MOST_TEXT]);

/* Multiplies integers of `type` by i8, and by extreme values of both. Writes what was wrong. */
outcome check_integer_product(int type, char how[MOST_TEXT]);

#endif
