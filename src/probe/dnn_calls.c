/* dnn_calls.c - calls functions of oneDNN for the checks of its primitives. */
#include "probe/dnn.h"

#include <math.h>
#include <string.h>

struct dnn dnnl;
void *dnn_engine;
static void *stream;
argument arguments[MOST_ARGUMENTS];
static int argument_count;
static bool guarded;          /* primitives run between pages without access */
static guard_access accessed; /* the worst of the current check */

const char *resolve_dnn(const subject *library) {
    void *found;
#define X(name, result, arguments)                                                                                     \
    found = own_symbol(library, "dnnl_" #name);                                                                        \
    if (!found) {                                                                                                      \
        return "dnnl_" #name;                                                                                          \
    }                                                                                                                  \
    memcpy(&dnnl.name, &found, sizeof found);
    DNN_FUNCTIONS(X)
#undef X
    return NULL;
}

bool start_dnn(void) {
    guarded = guards_begin(MOST_ARGUMENTS, sizeof arguments->values + MOST_PADDING, &number_types[0]);
    if (!guarded) {
        report("shortage", "memory");
    }
    return dnnl.engine_create(&dnn_engine, BP__ONEDNN_CPU, 0) == BP__ONEDNN_OK &&
           dnnl.stream_create(&stream, dnn_engine, BP__ONEDNN_IN_ORDER) == BP__ONEDNN_OK;
}

void end_dnn(void) {
    dnnl.stream_destroy(stream);
    dnnl.engine_destroy(dnn_engine);
    guards_end();
}

/* ---- Elements ---- */

/* The small integers of the checks, and their sums, are normal numbers of both types, or 0. */
static uint16_t half_of(float value) {
    int exponent;
    const float part = frexpf(fabsf(value), &exponent);
    const int bits = value == 0 ? 0 : (exponent + 14) * 1024 + (int)(part * 2048) - 1024;
    return (uint16_t)(bits | (value < 0) << 15);
}

static float from_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float value = exponent == 0 ? ldexpf((float)fraction, -24) : ldexpf((float)(fraction + 1024), exponent - 25);
    return bits >> 15 ? -value : value;
}

void put_element(argument *a, int64_t at, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (a->type == BP__ONEDNN_F32) {
        a->values.f32[at] = value;
    } else {
        a->values.f16[at] = a->type == BP__ONEDNN_F16 ? half_of(value) : (uint16_t)(bits >> 16);
    }
}

float element_of(const argument *a, int64_t at) {
    const uint32_t bits = (uint32_t)a->values.f16[at] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return a->type == BP__ONEDNN_F32   ? a->values.f32[at]
           : a->type == BP__ONEDNN_F16 ? from_half(a->values.f16[at])
                                       : value;
}

float small_integer(int64_t index, int seed) {
    return (float)((index * (5 + seed) + seed) % 7 - 3);
}

/* ---- Arguments ---- */

argument *add_argument(int role, int type, int ndim, const int64_t *size, const int64_t *stride) {
    argument *a = &arguments[argument_count++];
    a->number = role;
    a->type = type;
    for (int64_t i = 0; i < FILLED && type != BP__ONEDNN_S32 && type != BP__ONEDNN_S8 && type != BP__ONEDNN_U8; i++) {
        put_element(a, i, small_integer(i, role));
    }
    return dnnl.memory_desc_create_with_strides(&a->description, ndim, (int64_t *)(uintptr_t)size, type,
                                                (int64_t *)(uintptr_t)stride) == BP__ONEDNN_OK
               ? a
               : NULL;
}

/* ---- Runs ---- */

static void *memory_of(argument *a) {
    return a->own ? (void *)a->converted : (void *)&a->values;
}

/* Runs a primitive on copies of the arguments at one end of regions between pages without access. Without such regions,
 * on the arguments themselves. */
static int run_at(const void *primitive, bool at_end, bool keeps) {
    void *memory[MOST_ARGUMENTS] = {0}, *at[MOST_ARGUMENTS];
    size_t size[MOST_ARGUMENTS];
    bp__onednn_arg list[MOST_ARGUMENTS] = {0};
    int error = 0, made = 0;
    for (; made < argument_count && !error; made++) {
        argument *a = &arguments[made];
        const void *description = a->own ? a->own : a->description;
        size[made] = dnnl.memory_desc_get_size(description);
        at[made] = guarded ? guards_place(made, size[made], at_end) : memory_of(a);
        memmove(at[made], memory_of(a), size[made]);
        error = dnnl.memory_create(&memory[made], description, dnn_engine, at[made]);
        list[made] = (bp__onednn_arg){a->number, memory[made]};
    }
    error = error ? error : dnnl.primitive_execute(primitive, stream, argument_count, list);
    error = error ? error : dnnl.stream_wait(stream);
    for (int i = 0; i < made; i++) {
        if (keeps) {
            memmove(memory_of(&arguments[i]), at[i], size[i]);
        }
        if (memory[i]) {
            dnnl.memory_destroy(memory[i]);
        }
    }
    return error;
}

/* `ends`: the places of the arguments, START and END. The values of the last run are kept. */
enum { START = 1, END = 2 };
static bool run_described(void *description, int ends) {
    void *primitive = NULL;
    int error = dnnl.primitive_create(&primitive, description);
    error = error || !(ends & START) ? error : run_at(primitive, false, !(ends & END));
    error = error || !(ends & END) ? error : run_at(primitive, true, true);
    const guard_access now = guarded ? guards_accessed() : GUARD_UNTOUCHED;
    accessed = now > accessed ? now : accessed;
    if (primitive) {
        dnnl.primitive_destroy(primitive);
    }
    dnnl.primitive_desc_destroy(description);
    return !error;
}

bool run_primitive(void *description) {
    return run_described(description, guarded ? START | END : END);
}

bool run_primitive_at(void *description, bool at_end) {
    return run_described(description, at_end ? END : START);
}

guard_access dnn_accessed(void) {
    const guard_access worst = accessed;
    accessed = GUARD_UNTOUCHED;
    return worst;
}

bool convert_weight(argument *weight, const void *primitive) {
    const void *own = dnnl.primitive_desc_query_md(primitive, BP__ONEDNN_QUERY_ARGUMENT, weight->number);
    void *description = NULL, *reorder = NULL, *from = NULL, *to = NULL;
    if (dnnl.memory_desc_get_size(own) > sizeof weight->converted) {
        return false;
    }
    int error =
        dnnl.reorder_primitive_desc_create(&description, weight->description, dnn_engine, own, dnn_engine, NULL);
    error = error ? error : dnnl.primitive_create(&reorder, description);
    error = error ? error : dnnl.memory_create(&from, weight->description, dnn_engine, &weight->values);
    error = error ? error : dnnl.memory_create(&to, own, dnn_engine, weight->converted);
    if (!error) {
        const bp__onednn_arg list[] = {{BP__ONEDNN_ARG_SRC, from}, {BP__ONEDNN_ARG_DST, to}};
        error = dnnl.primitive_execute(reorder, stream, 2, list);
        error = error ? error : dnnl.stream_wait(stream);
        dnnl.primitive_destroy(reorder);
        dnnl.primitive_desc_destroy(description);
        dnnl.memory_destroy(from);
        dnnl.memory_destroy(to);
    }
    weight->own = own;
    return !error;
}

void *dnn_attributes(bool adds, bool relu) {
    void *after = NULL, *attributes = NULL;
    int error = dnnl.post_ops_create(&after);
    error = error || !adds ? error : dnnl.post_ops_append_sum(after, 1, 0, BP__ONEDNN_SAME_TYPE);
    error = error || !relu ? error : dnnl.post_ops_append_eltwise(after, BP__ONEDNN_RELU, 0, 0);
    error = error ? error : dnnl.primitive_attr_create(&attributes);
    error = error ? error : dnnl.primitive_attr_set_post_ops(attributes, after);
    if (after) {
        dnnl.post_ops_destroy(after);
    }
    return error ? NULL : attributes;
}

void drop_arguments(void) {
    for (int i = 0; i < argument_count; i++) {
        if (arguments[i].description) {
            dnnl.memory_desc_destroy(arguments[i].description);
        }
        arguments[i].description = NULL;
        arguments[i].own = NULL;
    }
    argument_count = 0;
}
