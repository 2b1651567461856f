/* test_explained.c - an explanation before the first plan of a problem names what a run takes.
 *
 * Which implementation oneDNN has is known only when it makes a primitive. Each problem here is new to the process, so
 * that the explanation comes before the plan. */
#include "backplane.h"
#include "backplane/provider.h"
#include "support/passes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 4 << 16 };
static float memory[3][MOST];
static int64_t indices[MOST];

/* The last one is of convolutions. */
enum { WAYS = 3 };
static const char *const ways[WAYS] = {"", "dispatch.exclude=native", "conv.preferred=onednn"};

static void compare(const char *what, const char *way, bp_explanation *explanation, bp_status ran) {
    bp_candidate_info c = {.struct_size = sizeof c};
    bp_plan_info plan = {.struct_size = sizeof plan};
    int chosen = 0;
    while (bp_explanation_at(explanation, chosen, &c) && !c.chosen) {
        chosen++;
    }
    if (ran != BP_OK) {
        assert_false(c.chosen);
    } else {
        assert_int_equal(bp_last_plan(&plan), BP_OK);
        if (!c.chosen || strcmp(c.library, plan.library) != 0 || strcmp(c.algorithm, plan.algorithm) != 0) {
            fail_msg("%s, '%s': explained as %s: %s, and ran on %s: %s", what, way, c.library, c.algorithm,
                     plan.library, plan.algorithm);
        }
    }
    bp_explanation_release(explanation);
}

typedef struct shape {
    int64_t in, out, image, kernel, stride, groups;
    int transposed;
} shape;

static void check_conv(const shape *s, bp_conv_pass pass, const char *way, bp_options *options) {
    const int64_t last =
        s->transposed ? (s->image - 1) * s->stride + s->kernel : (s->image - s->kernel) / s->stride + 1;
    const int64_t stride[] = {s->stride, s->stride};
    const int64_t images[] = {1, s->in, s->image, s->image}, results[] = {1, s->out, last, last};
    const int64_t weights[] = {s->transposed ? s->in : s->out, (s->transposed ? s->out : s->in) / s->groups, s->kernel,
                               s->kernel};
    bp_view views[3];
    bp_explanation *explanation;
    char text[128];
    assert_int_equal(bp_view_init(&views[0], memory[0], BP_F32, 4, images, NULL), BP_OK);
    assert_int_equal(bp_view_init(&views[1], memory[1], BP_F32, 4, weights, NULL), BP_OK);
    assert_int_equal(bp_view_init(&views[2], memory[2], BP_F32, 4, results, NULL), BP_OK);
    bp_conv_call call = {.struct_size = sizeof call,
                         .ndim = 2,
                         .transposed = s->transposed,
                         .groups = s->groups,
                         .stride = stride,
                         .input = &views[0].tensor,
                         .weight = &views[1].tensor,
                         .output = &views[2].tensor};
    test_call_to_pass("conv", &call, (int)pass);
    snprintf(text, sizeof text, "%d to %d channels, image %d, kernel %d, transposed %d, pass %d", (int)s->in,
             (int)s->out, (int)s->image, (int)s->kernel, s->transposed, (int)pass);
    assert_int_equal(bp_conv_explain(&explanation, options, &call), BP_OK);
    compare(text, way, explanation, bp_conv_run(options, &call));
}

static void convolutions(void **state) {
    static const shape shapes[] = {
        {16, 1, 64, 64, 1, 1, 0}, {1, 16, 48, 48, 1, 1, 0}, {16, 1, 4, 29, 1, 1, 1}, {1, 8, 3, 31, 2, 1, 1},
        {8, 8, 20, 3, 1, 1, 0},   {6, 6, 21, 7, 2, 6, 0},   {3, 5, 33, 33, 3, 1, 0}, {4, 4, 9, 5, 3, 2, 1},
    };
    (void)state;
    for (int w = 0; w < WAYS; w++) {
        bp_options *options;
        assert_int_equal(bp_options_new(&options, ways[w]), BP_OK);
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            for (int pass = BP_CONV_FORWARD; pass <= BP_CONV_WEIGHT; pass++) {
                check_conv(&shapes[i], (bp_conv_pass)pass, ways[w], options);
            }
        }
        bp_options_release(options);
    }
}

/* Runs a convolution, or its gradient by the weight, of images with 256 positions in all, and returns the plan. */
static bp_plan_info run_narrow(const bp_options *options, bp_conv_pass pass, int64_t positions, bool channels_last) {
    enum { CHANNELS = 64 };
    const int64_t images[] = {256 / positions, CHANNELS, positions}, weights[] = {CHANNELS, CHANNELS, 3};
    const int64_t last[] = {CHANNELS * positions, 1, CHANNELS};
    bp_view views[3];
    bp_plan_info plan = {.struct_size = sizeof plan};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bp_view_init(&views[i], memory[i], BP_F32, 3, i == 1 ? weights : images,
                                      i != 1 && channels_last ? last : NULL),
                         BP_OK);
    }
    bp_conv_call call = {
        .struct_size = sizeof call, .pass = pass, .ndim = 1, .padding = (int64_t[]){1}, .input = &views[0].tensor};
    if (pass == BP_CONV_WEIGHT) {
        call.output_gradient = &views[2].tensor;
        call.weight_gradient = &views[1].tensor;
    } else {
        call.weight = &views[1].tensor;
        call.output = &views[2].tensor;
    }
    assert_int_equal(bp_conv_run(options, &call), BP_OK);
    assert_int_equal(bp_last_plan(&plan), BP_OK);
    return plan;
}

/* Gradients by the weight of images that are not channels-last are computed from copied columns. With few positions the
 * library is slow at it. Other passes convert such images. */
static void columns(void **state) {
    (void)state;
    bp_options *options;
    bp_library_info library = {.struct_size = sizeof library};
    if (bp_library_find("onednn", &library) != BP_OK || library.state != BP_LIBRARY_OK) {
        print_message("skipped: oneDNN is not installed\n");
        skip();
    }
    assert_int_equal(bp_options_new(&options, "conv.preferred=onednn, calibration=off, num_threads=1"), BP_OK);
    const bp_plan_info kernel = run_narrow(options, BP_CONV_WEIGHT, 4, true),
                       few = run_narrow(options, BP_CONV_WEIGHT, 4, false),
                       many = run_narrow(options, BP_CONV_WEIGHT, 64, false),
                       last = run_narrow(options, BP_CONV_FORWARD, 4, true),
                       converted = run_narrow(options, BP_CONV_FORWARD, 4, false);
    bp_options_release(options);
    assert_string_equal(last.algorithm, "convolution");
    assert_string_equal(converted.algorithm, "convolution");
    assert_true(converted.cost_ns > last.cost_ns);
    assert_string_equal(kernel.algorithm, "convolution");
    assert_string_equal(few.algorithm, "convolution (columns)");
    assert_string_equal(many.algorithm, "convolution (columns)");
    if (few.cost_ns < 1.3 * many.cost_ns || many.cost_ns < 1.3 * kernel.cost_ns) {
        fail_msg("estimated are %g ns from columns of few positions, %g ns of many, and %g ns for the kernel",
                 few.cost_ns, many.cost_ns, kernel.cost_ns);
    }
}

/* Dimensions of size 1 do not hide a layout from the library. */
static void thin_images(void **state) {
    (void)state;
    static const int64_t sizes[][4] = {{1, 32, 28, 28}, {64, 1, 28, 28}, {64, 64, 28, 1}, {64, 64, 1, 1}};
    bp_options *options;
    bp_library_info library = {.struct_size = sizeof library};
    if (bp_library_find("onednn", &library) != BP_OK || library.state != BP_LIBRARY_OK) {
        print_message("skipped: oneDNN is not installed\n");
        skip();
    }
    assert_int_equal(
        bp_options_new(&options, "conv.preferred=onednn, calibration=off, num_threads=1, dispatch.fallback=strict"),
        BP_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t c = sizes[i][0], k = sizes[i][1], h = sizes[i][2], w = sizes[i][3];
        bp_view views[3];
        bp_plan *plan;
        bp_plan_info info = {.struct_size = sizeof info};
        assert_int_equal(
            bp_view_init(&views[0], NULL, BP_F32, 4, (int64_t[]){2, c, h, w}, (int64_t[]){c * h * w, 1, w * c, c}),
            BP_OK);
        assert_int_equal(bp_view_init(&views[1], NULL, BP_F32, 4, (int64_t[]){k, c, 1, 1}, NULL), BP_OK);
        assert_int_equal(
            bp_view_init(&views[2], NULL, BP_F32, 4, (int64_t[]){2, k, h, w}, (int64_t[]){k * h * w, 1, w * k, k}),
            BP_OK);
        const bp_conv_call call = {.struct_size = sizeof call,
                                   .ndim = 2,
                                   .input = &views[0].tensor,
                                   .weight = &views[1].tensor,
                                   .output = &views[2].tensor};
        if (bp_conv_plan(&plan, options, &call) != BP_OK) {
            fail_msg("case %zu: %s", i, bp_last_error());
        }
        assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
        assert_string_equal(info.algorithm, "convolution");
        bp_plan_release(plan);
    }
    bp_options_release(options);
}

static void check_pool(bp_pool_kind kind, bp_pool_pass pass, int64_t kernel, const char *way, bp_options *options) {
    const int64_t last = (40 - kernel) / kernel + 1, size[] = {kernel, kernel};
    const int64_t images[] = {2, 5, 40, 40}, results[] = {2, 5, last, last};
    bp_view views[3];
    bp_explanation *explanation;
    char text[64];
    assert_int_equal(bp_view_init(&views[0], memory[0], BP_F32, 4, images, NULL), BP_OK);
    assert_int_equal(bp_view_init(&views[1], memory[1], BP_F32, 4, results, NULL), BP_OK);
    assert_int_equal(bp_view_init(&views[2], indices, BP_I64, 4, results, NULL), BP_OK);
    bp_pool_call call = {.struct_size = sizeof call,
                         .kind = kind,
                         .ndim = 2,
                         .kernel = size,
                         .input = &views[0].tensor,
                         .output = &views[1].tensor,
                         .indices = kind == BP_POOL_MAX && pass == BP_POOL_BACKWARD ? &views[2].tensor : NULL};
    test_call_to_pass("pool", &call, (int)pass);
    snprintf(text, sizeof text, "pooling kind %d pass %d kernel %d", (int)kind, (int)pass, (int)kernel);
    assert_int_equal(bp_pool_explain(&explanation, options, &call), BP_OK);
    compare(text, way, explanation, bp_pool_run(options, &call));
}

static void pooling(void **state) {
    static const int64_t kernels[] = {2, 13, 40};
    (void)state;
    for (int w = 0; w < WAYS - 1; w++) {
        bp_options *options;
        assert_int_equal(bp_options_new(&options, ways[w]), BP_OK);
        for (int i = 0; i < 12; i++) {
            check_pool(i & 1 ? BP_POOL_MAX : BP_POOL_AVERAGE, i & 2 ? BP_POOL_BACKWARD : BP_POOL_FORWARD,
                       kernels[i / 4], ways[w], options);
        }
        bp_options_release(options);
    }
}

static void normalization(void **state) {
    static const int64_t channels[] = {1, 3, 16, 33};
    (void)state;
    for (int w = 0; w < WAYS - 1; w++) {
        bp_options *options;
        assert_int_equal(bp_options_new(&options, ways[w]), BP_OK);
        for (int i = 0; i < 4; i++) {
            const int64_t images[] = {2, channels[i], 7, 5};
            bp_view views[4];
            bp_explanation *explanation;
            bp_view_init(&views[0], memory[0], BP_F32, 4, images, NULL);
            bp_view_init(&views[1], memory[1], BP_F32, 4, images, NULL);
            bp_view_init(&views[2], memory[2], BP_F32, 1, &channels[i], NULL);
            bp_view_init(&views[3], memory[2] + 64, BP_F32, 1, &channels[i], NULL);
            const bp_batch_norm_call call = {.struct_size = sizeof call,
                                             .pass = BP_BATCH_NORM_TRAINING,
                                             .eps = 1e-5,
                                             .input = &views[0].tensor,
                                             .output = &views[1].tensor,
                                             .mean = &views[2].tensor,
                                             .inverse_std = &views[3].tensor};
            assert_int_equal(bp_batch_norm_explain(&explanation, options, &call), BP_OK);
            compare("batch_norm", ways[w], explanation, bp_batch_norm_run(options, &call));
        }
        bp_options_release(options);
    }
}

/* ---- Batches ---- */

/* Makes a product of 2 x 3 x 4 matrices. With `mixed`, the items of A and of the result are in different orders in
 * memory, for which the library may have no kernel. */
static void make_batch(bp_view views[3], int64_t side, bool mixed) {
    const int64_t sizes[] = {2, 3, 4, side, side}, item = side * side;
    const int64_t permuted[] = {item, 2 * item, 6 * item, side, 1};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bp_view_init(&views[i], memory[i], BP_F32, 5, sizes, mixed && i == 0 ? permuted : NULL),
                         BP_OK);
    }
    for (int i = 0; i < 24 * item; i++) {
        memory[0][i] = (float)(i % 7 - 3);
        memory[1][i] = (float)(i % 5 - 2);
    }
}

/* The numbers are small integers, so that results are exact. */
static void check_batch(const bp_view views[3], int64_t side, const char *text) {
    for (int64_t i = 0; i < 24 * side * side; i++) {
        const int64_t item = i / (side * side), row = i / side % side, column = i % side;
        const int64_t *step = views[0].strides;
        const float *a = memory[0] + item / 12 * step[0] + item / 4 % 3 * step[1] + item % 4 * step[2] + row * step[3];
        const float *b = memory[1] + item * side * side + column;
        float sum = 0;
        for (int64_t k = 0; k < side; k++) {
            sum += a[k] * b[k * side];
        }
        if (memory[2][i] != sum) {
            fail_msg("%s: element %d is %g, not %g", text, (int)i, (double)memory[2][i], (double)sum);
        }
    }
}

/* A batch without a kernel is offered as such, with the price of separate products. */
static void batches(void **state) {
    (void)state;
    bp_options *options;
    bp_library_info library = {.struct_size = sizeof library};
    const bool there = bp_library_find("onednn", &library) == BP_OK && library.state == BP_LIBRARY_OK;
    assert_int_equal(bp_options_new(&options, there ? "blas.preferred=onednn, calibration=off" : ""), BP_OK);
    for (int i = 0; i < 6; i++) {
        const int64_t side = 5 + 6 * (i / 2);
        bp_view v[3];
        bp_explanation *explanation;
        bp_plan_info plan = {.struct_size = sizeof plan};
        char text[64];
        make_batch(v, side, i % 2);
        snprintf(text, sizeof text, "%s batch of side %d", i % 2 ? "mixed" : "plain", (int)side);
        assert_int_equal(bp_matmul_explain(&explanation, options, &v[0].tensor, &v[1].tensor, &v[2].tensor), BP_OK);
        compare(text, "onednn", explanation, bp_matmul_run(options, &v[0].tensor, &v[1].tensor, &v[2].tensor));
        check_batch(v, side, text);
        assert_int_equal(bp_last_plan(&plan), BP_OK);
        assert_true(!there || strcmp(plan.library, "onednn") == 0);
        const bool by_items = (plan.properties & BP_PROPERTY_ITEM_BY_ITEM) != 0;
        assert_int_equal(by_items, strstr(plan.algorithm, "item by item") != NULL);
        if (by_items && plan.cost_ns < 24.0 * 1000) {
            fail_msg("%s: 24 separate products are estimated at %g ns", text, plan.cost_ns);
        }
    }
    bp_options_release(options);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches),      cmocka_unit_test(columns), cmocka_unit_test(thin_images),
        cmocka_unit_test(convolutions), cmocka_unit_test(pooling), cmocka_unit_test(normalization),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
