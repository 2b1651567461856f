/* primitives.c - checks the primitives of oneDNN that its provider makes: products, convolutions, averages and
 * normalization.
 *
 * The elements are small integers, so that every right result is exact in any order of the sums. One wrong primitive
 * makes the library unusable. */
#include "registry/probe/probe.h"

#include "providers/onednn/api.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_VERSION = 3, CAPACITY = 4096, MOST_ARGUMENTS = 7, CHANNELS = 16, SIZE = 5, TAPS = 3, POOLED = 3 };

#define ENUM(name) int
#define FUNCTIONS(X)                                                                                                   \
    BP__ONEDNN_FUNCTIONS(X, void *, void *, void *, const void *, void *, void *, const void *, void *, const void *,  \
                         void *, const void *, void *, const void *, bp__onednn_arg, ENUM, int64_t *)

static struct {
#define X(name, result, arguments) result(*name) arguments;
    FUNCTIONS(X)
#undef X
} dnnl;

static void *engine, *stream;

/* Returns the name of a function that the library lacks, or NULL. */
static const char *resolve(const subject *library) {
    void *found;
#define X(name, result, arguments)                                                                                     \
    found = own_symbol(library, "dnnl_" #name);                                                                        \
    if (!found) {                                                                                                      \
        return "dnnl_" #name;                                                                                          \
    }                                                                                                                  \
    memcpy(&dnnl.name, &found, sizeof found);
    FUNCTIONS(X)
#undef X
    return NULL;
}

/* ---- Primitives ---- */

/* An argument of a primitive, filled with small integers. A weight may also be there in the library's own layout, which
 * the primitive then reads. */
typedef struct argument {
    int number;
    void *description;
    float values[CAPACITY];
    const void *own; /* belongs to the primitive's description */
    float converted[CAPACITY];
} argument;

static argument arguments[MOST_ARGUMENTS];
static int argument_count;

static float value_of(int64_t index, int seed) {
    return (float)((index * (5 + seed) + seed) % 7 - 3);
}

/* Adds an argument with integers in all of its memory. */
static argument *add(int number, int ndim, const int64_t *size, const int64_t *stride) {
    argument *a = &arguments[argument_count++];
    a->number = number;
    for (int64_t i = 0; i < CAPACITY; i++) {
        a->values[i] = value_of(i, number);
    }
    return dnnl.memory_desc_create_with_strides(&a->description, ndim, (int64_t *)(uintptr_t)size, BP__ONEDNN_F32,
                                                (int64_t *)(uintptr_t)stride) == BP__ONEDNN_OK
               ? a
               : NULL;
}

/* Runs a primitive with all arguments; `description` is destroyed. Returns whether it ran. */
static bool run(void *description) {
    void *primitive = NULL, *memory[MOST_ARGUMENTS] = {0};
    bp__onednn_arg list[MOST_ARGUMENTS];
    int error = dnnl.primitive_create(&primitive, description);
    for (int i = 0; i < argument_count && !error; i++) {
        argument *a = &arguments[i];
        error =
            dnnl.memory_create(&memory[i], a->own ? a->own : a->description, engine, a->own ? a->converted : a->values);
        list[i] = (bp__onednn_arg){arguments[i].number, memory[i]};
    }
    error = error ? error : dnnl.primitive_execute(primitive, stream, argument_count, list);
    error = error ? error : dnnl.stream_wait(stream);
    for (int i = 0; i < argument_count; i++) {
        if (memory[i]) {
            dnnl.memory_destroy(memory[i]);
        }
    }
    if (primitive) {
        dnnl.primitive_destroy(primitive);
    }
    dnnl.primitive_desc_destroy(description);
    return !error;
}

/* Converts a weight to the layout that the described primitive has chosen. Returns whether that worked. */
static bool convert(argument *weight, const void *primitive) {
    const void *own = dnnl.primitive_desc_query_md(primitive, BP__ONEDNN_QUERY_WEIGHTS, 0);
    void *description = NULL, *reorder = NULL, *from = NULL, *to = NULL;
    if (dnnl.memory_desc_get_size(own) > sizeof weight->converted) {
        return false;
    }
    int error = dnnl.reorder_primitive_desc_create(&description, weight->description, engine, own, engine, NULL);
    error = error ? error : dnnl.primitive_create(&reorder, description);
    error = error ? error : dnnl.memory_create(&from, weight->description, engine, weight->values);
    error = error ? error : dnnl.memory_create(&to, own, engine, weight->converted);
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

/* Makes the attributes with a sum and ReLU after the primitive, as far as they are asked for. */
static void *attributes_of(bool adds, bool relu) {
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

static void drop_arguments(void) {
    for (int i = 0; i < argument_count; i++) {
        if (arguments[i].description) {
            dnnl.memory_desc_destroy(arguments[i].description);
        }
    }
    memset(arguments, 0, sizeof arguments);
    argument_count = 0;
}

/* ---- Checks. Each returns whether the primitive is right, or not offered. ---- */

/* A product with gaps between the rows or columns of every matrix. */
static bool check_product(bool transposed_a, bool transposed_b, bool adds) {
    enum { M = 17, N = 9, K = 13, GAP = 3 };
    const int64_t a_row = transposed_a ? 1 : K + GAP, a_column = transposed_a ? M + GAP : 1,
                  b_row = transposed_b ? 1 : N + GAP, b_column = transposed_b ? K + GAP : 1;
    argument *a = add(BP__ONEDNN_ARG_SRC, 2, (int64_t[]){M, K}, (int64_t[]){a_row, a_column});
    argument *b = add(BP__ONEDNN_ARG_WEIGHTS, 2, (int64_t[]){K, N}, (int64_t[]){b_row, b_column});
    argument *c = add(BP__ONEDNN_ARG_DST, 2, (int64_t[]){M, N}, (int64_t[]){N + GAP, 1});
    void *attributes = attributes_of(adds, false), *description = NULL;
    if (!a || !b || !c || !attributes ||
        dnnl.matmul_primitive_desc_create(&description, engine, a->description, b->description, NULL, c->description,
                                          attributes) != BP__ONEDNN_OK) {
        return true;
    }
    dnnl.primitive_attr_destroy(attributes);
    bool right = run(description);
    for (int64_t at = 0; at < M * (N + GAP); at++) {
        const int64_t i = at / (N + GAP), j = at % (N + GAP);
        float expected = adds || j >= N ? value_of(at, BP__ONEDNN_ARG_DST) : 0;
        for (int64_t l = 0; l < K && j < N; l++) {
            expected += a->values[i * a_row + l * a_column] * b->values[l * b_row + j * b_column];
        }
        right = right && c->values[at] == expected;
    }
    return right;
}

/* Channels-last images of SIZE x SIZE, and one of another size. */
static argument *add_image(int number, int64_t size) {
    return add(number, 4, (int64_t[]){1, CHANNELS, size, size},
               (int64_t[]){CHANNELS * size * size, 1, CHANNELS * size, CHANNELS});
}

/* A convolution with TAPS x TAPS taps and padding of 1, and ReLU. The weight, whose channels of the input are last, is
 * converted. */
static bool check_convolution(void) {
    int64_t one[] = {1, 1}, none[] = {0, 0};
    argument *x = add_image(BP__ONEDNN_ARG_SRC, SIZE), *y = add_image(BP__ONEDNN_ARG_DST, SIZE);
    argument *w = add(BP__ONEDNN_ARG_WEIGHTS, 4, (int64_t[]){CHANNELS, CHANNELS, TAPS, TAPS},
                      (int64_t[]){CHANNELS * TAPS * TAPS, 1, CHANNELS * TAPS, CHANNELS});
    void *attributes = attributes_of(false, true), *any = NULL, *description = NULL;
    if (!x || !y || !w || !attributes ||
        dnnl.memory_desc_create_with_tag(&any, 4, (int64_t[]){CHANNELS, CHANNELS, TAPS, TAPS}, BP__ONEDNN_F32,
                                         BP__ONEDNN_ANY) != BP__ONEDNN_OK ||
        dnnl.convolution_forward_primitive_desc_create(
            &description, engine, BP__ONEDNN_INFERENCE, BP__ONEDNN_CONVOLUTION, x->description, any, NULL,
            y->description, one, none, one, one, attributes) != BP__ONEDNN_OK) {
        return true;
    }
    dnnl.primitive_attr_destroy(attributes);
    dnnl.memory_desc_destroy(any);
    bool right = convert(w, description) && run(description);
    for (int64_t at = 0; at < CHANNELS * SIZE * SIZE; at++) {
        const int64_t k = at % CHANNELS, column = at / CHANNELS % SIZE, row = at / CHANNELS / SIZE;
        float expected = 0;
        for (int64_t t = 0; t < TAPS * TAPS * CHANNELS; t++) {
            const int64_t i = row + t / CHANNELS / TAPS - 1, j = column + t / CHANNELS % TAPS - 1, c = t % CHANNELS;
            const bool inside = i >= 0 && i < SIZE && j >= 0 && j < SIZE;
            expected +=
                inside ? x->values[(i * SIZE + j) * CHANNELS + c] * w->values[k * CHANNELS * TAPS * TAPS + t] : 0;
        }
        right = right && y->values[at] == (expected > 0 ? expected : 0);
    }
    return right;
}

/* Averages of 2 x 2 windows with stride 2 and padding of 1, which are exact in every window. */
static bool check_average(bool excludes) {
    int64_t two[] = {2, 2}, one[] = {1, 1}, none[] = {0, 0};
    argument *x = add_image(BP__ONEDNN_ARG_SRC, SIZE), *y = add_image(BP__ONEDNN_ARG_DST, POOLED);
    void *description = NULL;
    if (!x || !y ||
        dnnl.pooling_forward_primitive_desc_create(
            &description, engine, BP__ONEDNN_INFERENCE,
            excludes ? BP__ONEDNN_AVERAGE_EXCLUDING : BP__ONEDNN_AVERAGE_INCLUDING, x->description, y->description, two,
            two, none, one, none, NULL) != BP__ONEDNN_OK) {
        return true;
    }
    bool right = run(description);
    for (int64_t at = 0; at < CHANNELS * POOLED * POOLED; at++) {
        const int64_t c = at % CHANNELS, column = at / CHANNELS % POOLED, row = at / CHANNELS / POOLED;
        float sum = 0, count = 0;
        for (int t = 0; t < 4; t++) {
            const int64_t i = 2 * row - 1 + t / 2, j = 2 * column - 1 + t % 2;
            const bool inside = i >= 0 && i < SIZE && j >= 0 && j < SIZE;
            sum += inside ? x->values[(i * SIZE + j) * CHANNELS + c] : 0;
            count += inside || !excludes;
        }
        right = right && y->values[at] == sum / count;
    }
    return right;
}

/* A normalization whose variances are 3 and whose eps is 1, so that their root is 2. */
static bool check_normalization(void) {
    const int64_t channels[] = {CHANNELS}, stride[] = {1};
    argument *x = add_image(BP__ONEDNN_ARG_SRC, SIZE), *y = add_image(BP__ONEDNN_ARG_DST, SIZE);
    argument *mean = add(BP__ONEDNN_ARG_MEAN, 1, channels, stride);
    argument *variance = add(BP__ONEDNN_ARG_VARIANCE, 1, channels, stride);
    argument *scale = add(BP__ONEDNN_ARG_SCALE, 1, channels, stride);
    argument *shift = add(BP__ONEDNN_ARG_SHIFT, 1, channels, stride);
    void *description = NULL;
    if (!x || !y || !mean || !variance || !scale || !shift ||
        dnnl.batch_normalization_forward_primitive_desc_create(
            &description, engine, BP__ONEDNN_INFERENCE, x->description, y->description, 1,
            BP__ONEDNN_GIVEN_STATISTICS | BP__ONEDNN_WITH_SCALE | BP__ONEDNN_WITH_SHIFT, NULL) != BP__ONEDNN_OK) {
        return true;
    }
    for (int c = 0; c < CHANNELS; c++) {
        variance->values[c] = 3;
    }
    bool right = run(description);
    for (int64_t at = 0; at < CHANNELS * SIZE * SIZE; at++) {
        const int64_t c = at % CHANNELS;
        const float expected = (x->values[at] - mean->values[c]) * scale->values[c] / 2 + shift->values[c];
        right = right && fabsf(y->values[at] - expected) <= 0x1p-18F; /* numbers below 16, and some roundings */
    }
    return right;
}

/* Runs all checks; returns the name of the first wrong primitive, or NULL. */
static const char *find_wrong(char *name, size_t size) {
    for (int variant = 0; variant < 8; variant++) {
        const bool a = variant & 1, b = variant & 2, adds = variant & 4, right = check_product(a, b, adds);
        drop_arguments();
        if (!right) {
            snprintf(name, size, "matmul (op %c%c, beta %d)", a ? 'T' : 'N', b ? 'T' : 'N', adds);
            return name;
        }
    }
    bool right = check_convolution();
    drop_arguments();
    if (!right) {
        return "convolution";
    }
    for (int excludes = 0; excludes < 2 && right; excludes++) {
        right = check_average(excludes);
        drop_arguments();
    }
    if (!right) {
        return "pooling";
    }
    right = check_normalization();
    drop_arguments();
    return right ? NULL : "batch normalization";
}

void check_primitives(const subject *library) {
    const void *address = (library->kinds & BP_LIB_DNN) ? own_symbol(library, "dnnl_version") : NULL;
    char name[64];
    if (!address || ((const int *(*)(void))(uintptr_t)address)()[0] < LEAST_VERSION) {
        return; /* older versions have another interface, and the provider does not call them */
    }
    report("step", "in a primitive");
    const char *lacking = resolve(library);
    if (lacking) {
        report("unusable", "it lacks %s", lacking);
        return;
    }
    stay_on_one_thread(library);
    if (dnnl.engine_create(&engine, BP__ONEDNN_CPU, 0) != BP__ONEDNN_OK ||
        dnnl.stream_create(&stream, engine, BP__ONEDNN_IN_ORDER) != BP__ONEDNN_OK) {
        report("unusable", "it has no engine for the CPU");
        return;
    }
    const char *wrong = find_wrong(name, sizeof name);
    if (wrong) {
        report("wrong", "%s", wrong);
    }
    dnnl.stream_destroy(stream);
    dnnl.engine_destroy(engine);
}
