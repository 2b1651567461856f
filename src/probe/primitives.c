/* primitives.c - checks the primitives of oneDNN that its provider makes: products, convolutions, averages and
 * normalization. integer_products.c has the products of integers, layers.c recurrent layers.
 *
 * The elements are small integers, so that every right result is exact in any order of the sums. The provider refuses
 * the operations of a wrong primitive. */
#include "probe/dnn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_VERSION = 3, CHANNELS = 16, SIZE = 5, TAPS = 3, POOLED = 3 };

/* A product with gaps between the rows or columns of every matrix. */
static outcome check_product_variant(int type, bool transposed_a, bool transposed_b, bool adds) {
    enum { M = 17, N = 9, K = 13, GAP = 3 };
    const int64_t a_row = transposed_a ? 1 : K + GAP, a_column = transposed_a ? M + GAP : 1,
                  b_row = transposed_b ? 1 : N + GAP, b_column = transposed_b ? K + GAP : 1;
    argument *a = add_argument(BP__ONEDNN_ARG_SRC, type, 2, (int64_t[]){M, K}, (int64_t[]){a_row, a_column});
    argument *b = add_argument(BP__ONEDNN_ARG_WEIGHTS, type, 2, (int64_t[]){K, N}, (int64_t[]){b_row, b_column});
    argument *c = add_argument(BP__ONEDNN_ARG_DST, type, 2, (int64_t[]){M, N}, (int64_t[]){N + GAP, 1});
    void *attributes = dnn_attributes(adds, false), *description = NULL;
    if (!a || !b || !c || !attributes ||
        dnnl.matmul_primitive_desc_create(&description, dnn_engine, a->description, b->description, NULL,
                                          c->description, attributes) != BP__ONEDNN_OK) {
        return ABSENT;
    }
    dnnl.primitive_attr_destroy(attributes);
    bool right = run_primitive(description);
    for (int64_t at = 0; at < M * (N + GAP); at++) {
        const int64_t i = at / (N + GAP), j = at % (N + GAP);
        float expected = adds || j >= N ? small_integer(at, BP__ONEDNN_ARG_DST) : 0;
        for (int64_t l = 0; l < K && j < N; l++) {
            expected += element_of(a, i * a_row + l * a_column) * element_of(b, l * b_row + j * b_column);
        }
        right = right && element_of(c, at) == expected;
    }
    return right ? RIGHT : WRONG;
}

/* Channels-last images of SIZE x SIZE, and one of another size. */
static argument *add_image(int role, int64_t size) {
    return add_argument(role, BP__ONEDNN_F32, 4, (int64_t[]){1, CHANNELS, size, size},
                        (int64_t[]){CHANNELS * size * size, 1, CHANNELS * size, CHANNELS});
}

/* A convolution with TAPS x TAPS taps and padding of 1, and ReLU. The weight, whose channels of the input are last, is
 * converted. */
static outcome check_convolution(void) {
    int64_t one[] = {1, 1}, none[] = {0, 0};
    argument *x = add_image(BP__ONEDNN_ARG_SRC, SIZE), *y = add_image(BP__ONEDNN_ARG_DST, SIZE);
    argument *w = add_argument(BP__ONEDNN_ARG_WEIGHTS, BP__ONEDNN_F32, 4, (int64_t[]){CHANNELS, CHANNELS, TAPS, TAPS},
                               (int64_t[]){CHANNELS * TAPS * TAPS, 1, CHANNELS * TAPS, CHANNELS});
    void *attributes = dnn_attributes(false, true), *any = NULL, *description = NULL;
    if (!x || !y || !w || !attributes ||
        dnnl.memory_desc_create_with_tag(&any, 4, (int64_t[]){CHANNELS, CHANNELS, TAPS, TAPS}, BP__ONEDNN_F32,
                                         BP__ONEDNN_ANY) != BP__ONEDNN_OK ||
        dnnl.convolution_forward_primitive_desc_create(
            &description, dnn_engine, BP__ONEDNN_INFERENCE, BP__ONEDNN_CONVOLUTION, x->description, any, NULL,
            y->description, one, none, one, one, attributes) != BP__ONEDNN_OK) {
        return ABSENT;
    }
    dnnl.primitive_attr_destroy(attributes);
    dnnl.memory_desc_destroy(any);
    bool right = convert_weight(w, description) && run_primitive(description);
    for (int64_t at = 0; at < CHANNELS * SIZE * SIZE; at++) {
        const int64_t k = at % CHANNELS, column = at / CHANNELS % SIZE, row = at / CHANNELS / SIZE;
        float expected = 0;
        for (int64_t t = 0; t < TAPS * TAPS * CHANNELS; t++) {
            const int64_t i = row + t / CHANNELS / TAPS - 1, j = column + t / CHANNELS % TAPS - 1, c = t % CHANNELS;
            const bool inside = i >= 0 && i < SIZE && j >= 0 && j < SIZE;
            expected +=
                inside ? x->values.f32[(i * SIZE + j) * CHANNELS + c] * w->values.f32[k * CHANNELS * TAPS * TAPS + t]
                       : 0;
        }
        right = right && y->values.f32[at] == (expected > 0 ? expected : 0);
    }
    return right ? RIGHT : WRONG;
}

/* Averages of 2 x 2 windows with stride 2 and padding of 1, which are exact in every window. */
static outcome check_average(bool excludes) {
    int64_t two[] = {2, 2}, one[] = {1, 1}, none[] = {0, 0};
    argument *x = add_image(BP__ONEDNN_ARG_SRC, SIZE), *y = add_image(BP__ONEDNN_ARG_DST, POOLED);
    void *description = NULL;
    if (!x || !y ||
        dnnl.pooling_forward_primitive_desc_create(
            &description, dnn_engine, BP__ONEDNN_INFERENCE,
            excludes ? BP__ONEDNN_AVERAGE_EXCLUDING : BP__ONEDNN_AVERAGE_INCLUDING, x->description, y->description, two,
            two, none, one, none, NULL) != BP__ONEDNN_OK) {
        return ABSENT;
    }
    bool right = run_primitive(description);
    for (int64_t at = 0; at < CHANNELS * POOLED * POOLED; at++) {
        const int64_t c = at % CHANNELS, column = at / CHANNELS % POOLED, row = at / CHANNELS / POOLED;
        float sum = 0, count = 0;
        for (int t = 0; t < 4; t++) {
            const int64_t i = 2 * row - 1 + t / 2, j = 2 * column - 1 + t % 2;
            const bool inside = i >= 0 && i < SIZE && j >= 0 && j < SIZE;
            sum += inside ? x->values.f32[(i * SIZE + j) * CHANNELS + c] : 0;
            count += inside || !excludes;
        }
        right = right && y->values.f32[at] == sum / count;
    }
    return right ? RIGHT : WRONG;
}

/* A normalization whose variances are 3 and whose eps is 1, so that their root is 2. */
static outcome check_normalization(void) {
    const int64_t channels[] = {CHANNELS}, stride[] = {1};
    argument *x = add_image(BP__ONEDNN_ARG_SRC, SIZE), *y = add_image(BP__ONEDNN_ARG_DST, SIZE);
    argument *mean = add_argument(BP__ONEDNN_ARG_MEAN, BP__ONEDNN_F32, 1, channels, stride);
    argument *variance = add_argument(BP__ONEDNN_ARG_VARIANCE, BP__ONEDNN_F32, 1, channels, stride);
    argument *scale = add_argument(BP__ONEDNN_ARG_SCALE, BP__ONEDNN_F32, 1, channels, stride);
    argument *shift = add_argument(BP__ONEDNN_ARG_SHIFT, BP__ONEDNN_F32, 1, channels, stride);
    void *description = NULL;
    if (!x || !y || !mean || !variance || !scale || !shift ||
        dnnl.batch_normalization_forward_primitive_desc_create(
            &description, dnn_engine, BP__ONEDNN_INFERENCE, x->description, y->description, 1,
            BP__ONEDNN_GIVEN_STATISTICS | BP__ONEDNN_WITH_SCALE | BP__ONEDNN_WITH_SHIFT, NULL) != BP__ONEDNN_OK) {
        return ABSENT;
    }
    for (int c = 0; c < CHANNELS; c++) {
        variance->values.f32[c] = 3;
    }
    bool right = run_primitive(description);
    for (int64_t at = 0; at < CHANNELS * SIZE * SIZE; at++) {
        const int64_t c = at % CHANNELS;
        const float expected =
            (x->values.f32[at] - mean->values.f32[c]) * scale->values.f32[c] / 2 + shift->values.f32[c];
        right = right && fabsf(y->values.f32[at] - expected) <= 0x1p-18F; /* numbers below 16, and some roundings */
    }
    return right ? RIGHT : WRONG;
}

/* ---- All of them ---- */

static outcome check_product(int type, char how[MOST_TEXT]) {
    for (int variant = 0; variant < 8; variant++) {
        const bool a = variant & 1, b = variant & 2, adds = variant & 4;
        const outcome found = check_product_variant(type, a, b, adds);
        drop_arguments();
        if (found == WRONG || (found == ABSENT && variant == 0)) {
            snprintf(how, MOST_TEXT, "op %c%c, beta %d", a ? 'T' : 'N', b ? 'T' : 'N', adds);
            return found;
        }
    }
    return RIGHT;
}

static outcome check_averages(void) {
    const outcome including = check_average(false);
    drop_arguments();
    return including != RIGHT ? including : check_average(true);
}

static outcome check_primitive(bp_primitive primitive, char how[MOST_TEXT]) {
    switch (primitive) {
    case BP_PRIMITIVE_MATMUL_F32:
        return check_product(BP__ONEDNN_F32, how);
    case BP_PRIMITIVE_MATMUL_BF16:
        return check_product(BP__ONEDNN_BF16, how);
    case BP_PRIMITIVE_MATMUL_F16:
        return check_product(BP__ONEDNN_F16, how);
    case BP_PRIMITIVE_MATMUL_I8:
        return check_integer_product(BP__ONEDNN_S8, how);
    case BP_PRIMITIVE_MATMUL_U8:
        return check_integer_product(BP__ONEDNN_U8, how);
    case BP_PRIMITIVE_CONVOLUTION:
        snprintf(how, MOST_TEXT, "%dx%d taps, with ReLU", TAPS, TAPS);
        return check_convolution();
    case BP_PRIMITIVE_POOLING:
        snprintf(how, MOST_TEXT, "averages of 2x2 windows");
        return check_averages();
    case BP_PRIMITIVE_RNN:
        return check_layer(LAYER_RNN, how);
    case BP_PRIMITIVE_LSTM:
        return check_layer(LAYER_LSTM, how);
    case BP_PRIMITIVE_GRU:
        return check_layer(LAYER_GRU, how);
    case BP_PRIMITIVE_GRU_BEFORE:
        return check_layer(LAYER_GRU_BEFORE, how);
    case BP_PRIMITIVE_BATCH_NORM:
        break;
    }
    snprintf(how, MOST_TEXT, "given statistics");
    return check_normalization();
}

static void report_primitive(bp_primitive primitive, const char *name) {
    char how[MOST_TEXT] = "", step[64];
    snprintf(step, sizeof step, "in %s", name);
    report("step", "%s", step);
    report("due", "%llx", (unsigned long long)BP_PRIMITIVE_BIT(primitive));
    const outcome found = check_primitive(primitive, how);
    const guard_access access = dnn_accessed();
    drop_arguments();
    if (access != GUARD_UNTOUCHED) {
        report("fault", "%s: %s memory outside of its operands in probe%s%s", name, guard_access_text(access),
               *how ? ": " : "", how);
    } else if (found == RIGHT) {
        report("passed", "%llx", (unsigned long long)BP_PRIMITIVE_BIT(primitive));
    } else if (found == WRONG) {
        report("fault", "%s: wrong results in probe: %s", name, how);
    } else {
        report("fault", "%s: not offered on this processor", name);
    }
}

void check_primitives(const subject *library) {
    const void *address = (library->kinds & BP_LIB_DNN) ? own_symbol(library, "dnnl_version") : NULL;
    if (!address || ((const int *(*)(void))(uintptr_t)address)()[0] < LEAST_VERSION) {
        return; /* older versions have another interface, and the provider does not call them */
    }
    report("step", "in a primitive");
    const char *lacking = resolve_dnn(library);
    if (lacking) {
        report("unusable", "it lacks %s", lacking);
        return;
    }
    stay_on_one_thread(library);
    if (!start_dnn()) {
        report("unusable", "it has no engine for the CPU");
        return;
    }
#define X(number, name, text)                                                                                          \
    if (number <= BP_PRIMITIVE_MATMUL_U8 || !library->brief) {                                                         \
        report_primitive(BP_PRIMITIVE_##name, text);                                                                   \
    }
    BP_PRIMITIVE_MAP(X)
#undef X
    if (library->brief) {
        report("left", "1");
    }
    end_dnn();
}
