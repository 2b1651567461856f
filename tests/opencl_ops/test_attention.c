/* test_attention.c - attention on an OpenCL device: the cases and the reference of the tests of attention on the host.
 */
#include "attention/cases.h"
#include "device_array.h"

#include "device/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kernels[] = {"dispatch.fallback=strict, cuda.overrideable_sdp=false",
                                      "dispatch.fallback=strict, cuda.flash_sdp=false"};
static const char *const names[] = {"flash", "flash_tiles"};
enum { KERNELS = sizeof kernels / sizeof *kernels };
static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16};

/* The tensors of a case on the device, and the call with them. */
typedef struct mirror {
    device_copy copy[BP_ATTENTION_TENSORS];
    bp_attention_call call;
} mirror;

static DLTensor *send(mirror *m, const attention_case *c, bp_attention_tensor which) {
    return device_copy_make(&m->copy[which], &c->tensor[which]);
}

static void send_all(mirror *m, const attention_case *c) {
    memset(m, 0, sizeof *m);
    m->call = c->call;
    m->call.query = send(m, c, BP_ATTENTION_QUERY);
    m->call.key = send(m, c, BP_ATTENTION_KEY);
    m->call.value = send(m, c, BP_ATTENTION_VALUE);
    m->call.mask = send(m, c, BP_ATTENTION_MASK);
    m->call.seed = send(m, c, BP_ATTENTION_SEED);
    m->call.output = send(m, c, BP_ATTENTION_OUTPUT);
    m->call.logsumexp = send(m, c, BP_ATTENTION_LOGSUMEXP);
}

static void fetch_all(mirror *m, attention_case *c) {
    for (int i = 0; i < BP_ATTENTION_TENSORS; i++) {
        if (m->copy[i].memory) {
            device_copy_fetch(&m->copy[i], &c->tensor[i]);
            device_copy_free(&m->copy[i]);
        }
    }
}

static bool is_empty(const attention_case *c) {
    return test_array_count(&c->tensor[BP_ATTENTION_OUTPUT]) == 0 && !c->call.logsumexp;
}

static void run_only(attention_case *c, int kernel) {
    mirror m;
    bp_options *options;
    kernel = test_as_gpu || test_device_leaves_tiles() ? 0 : kernel; /* the first one, named flash */
    send_all(&m, c);
    assert_ok(bp_options_new(&options, kernels[kernel]));
    const bp_status status = bp_attention_run(options, &m.call);
    if (status != BP_OK) {
        fail_msg("%s with %s: %s", c->text, kernels[kernel], bp_last_error());
    }
    bp_options_release(options);
    fetch_all(&m, c);
    if (!is_empty(c)) {
        bp_plan_info info = {.struct_size = sizeof info};
        assert_on_device(c->text);
        assert_ok(bp_last_plan(&info));
        assert_string_equal(info.algorithm, names[kernel]);
    }
}

static void run(attention_case *c, int kernel) {
    run_only(c, kernel);
    attention_compare_output(c);
}

/* Random shapes, layouts, masks and heads of every type, with each kernel. */
static void test_cases(void **state) {
    (void)state;
    test_device_need();
    test_array_random = 11;
    for (int i = 0; i < 96; i++) {
        attention_case c;
        attention_shape shape = attention_any(types[i % 4]);
        if (i / 4 % KERNELS == 1 && shape.queries * shape.keys > 20000) { /* the processor is slow with tiles */
            shape.queries = shape.queries % 70 + 1;
            shape.keys = shape.keys % 70 + 1;
        }
        attention_begin(&c, &shape);
        run(&c, i / 4 % KERNELS);
        attention_end(&c);
    }
}

/* Softcaps, windows and positions from the last key on. */
static void test_limits(void **state) {
    (void)state;
    test_device_need();
    test_array_random = 17;
    for (int i = 0; i < 96; i++) {
        if (test_device_leaves_out(i % 4 != i / 8 % 4)) { /* each kernel with each type, with some of the limits */
            continue;
        }
        attention_case c;
        attention_shape shape = attention_any(types[i % 4]);
        if (shape.queries * shape.keys > 20000) {
            shape.queries = shape.queries % 70 + 1;
            shape.keys = shape.keys % 200 + 1;
        }
        attention_add_limits(&shape);
        shape.lengths = false;
        attention_begin(&c, &shape);
        run(&c, i / 4 % KERNELS);
        attention_end(&c);
    }
}

/* The device's kernels say that they have no lengths. */
static void test_lengths_are_refused(void **state) {
    (void)state;
    test_device_need();
    attention_case c;
    const attention_shape shape = {.dtype = BP_F32,
                                   .batch_ndim = 1,
                                   .batch = {2},
                                   .queries = 3,
                                   .keys = 5,
                                   .size = 4,
                                   .value_size = 4,
                                   .lengths = true};
    mirror m;
    bp_options *options;
    attention_begin(&c, &shape);
    send_all(&m, &c);
    m.call.lengths = send(&m, &c, BP_ATTENTION_LENGTHS);
    assert_ok(bp_options_new(&options, "dispatch.fallback=strict"));
    assert_int_equal(bp_attention_run(options, &m.call), BP_E_NO_CANDIDATE);
    assert_non_null(strstr(bp_last_error(), "its kernels take no lengths of items"));
    bp_options_release(options);
    fetch_all(&m, &c);
    attention_end(&c);
}

/* Every mask with every type; rows without keys are among them. */
static void test_masks(void **state) {
    (void)state;
    test_device_need();
    test_array_random = 12;
    for (int i = 0; i < 4 * 4 * KERNELS; i++) {
        attention_case c;
        const attention_shape shape = {.dtype = types[i % 4],
                                       .batch_ndim = 2,
                                       .batch = {2, 3},
                                       .queries = 37,
                                       .keys = 101,
                                       .size = 13,
                                       .value_size = 35,
                                       .mask = (attention_mask)(i / 4 % 4),
                                       .causal = i / 4 % 4 == 0,
                                       .logsumexp = true};
        attention_begin(&c, &shape);
        test_array *mask = &c.tensor[BP_ATTENTION_MASK];
        for (int64_t e = 0; e < (mask->memory ? mask->view.shape[mask->view.tensor.ndim - 1] : 0); e++) {
            test_array_set(mask, e, shape.mask == ATTENTION_BOOL ? 0 : -INFINITY); /* the first row has no keys */
        }
        run(&c, i / 16);
        attention_end(&c);
    }
}

/* The numbers of dropout are the host's: other rows are dropped otherwise. */
static void test_dropout(void **state) {
    (void)state;
    test_device_need();
    test_array_random = 13;
    for (int i = 0; i < 4 * KERNELS; i++) {
        attention_case c;
        const attention_shape shape = {.dtype = types[i % 4],
                                       .batch_ndim = 2,
                                       .batch = {2, 6},
                                       .key_heads = i % 2 ? 2 : 0,
                                       .value_heads = i % 2 ? 2 : 0,
                                       .queries = 21,
                                       .keys = 70,
                                       .size = 16,
                                       .value_size = 16,
                                       .dropout = i == 5 ? 1 : 0.4};
        attention_begin(&c, &shape);
        run(&c, i / 4);
        attention_end(&c);
    }
}

/* NaN and infinities in each input. */
static void test_special_values(void **state) {
    static const double values[] = {NAN, INFINITY, -INFINITY};
    (void)state;
    test_device_need();
    test_array_random = 7;
    for (int i = 0; i < 3 * 4 * 2 * KERNELS; i++) {
        const int which = i / 3 % 4;
        attention_case c;
        const attention_shape shape = {.dtype = i % 2 ? BP_F32 : BP_F64,
                                       .batch_ndim = 1,
                                       .batch = {2},
                                       .queries = test_array_between(1, 40),
                                       .keys = test_array_between(1, 150),
                                       .size = test_array_between(1, 9),
                                       .value_size = test_array_between(1, 9),
                                       .mask = which == 3 ? ATTENTION_OWN : ATTENTION_NO_MASK,
                                       .logsumexp = true};
        attention_begin(&c, &shape);
        test_array *t = &c.tensor[which == 3 ? BP_ATTENTION_MASK : BP_ATTENTION_QUERY + which];
        test_array_set(t, test_array_between(0, test_array_count(t) - 1), values[i % 3]);
        run(&c, i / 24);
        attention_end(&c);
    }
}

/* Scores up to a few thousand: weights of 0 and 1, without overflow. */
static void test_huge_scores(void **state) {
    (void)state;
    test_device_need();
    test_array_random = 8;
    for (int i = 0; i < 4 * KERNELS; i++) {
        attention_case c;
        const attention_shape shape = {.dtype = i % 2 ? BP_F32 : BP_F64,
                                       .queries = test_array_between(1, 40),
                                       .keys = test_array_between(1, 300),
                                       .size = 8,
                                       .value_size = 5,
                                       .scale = 1000,
                                       .logsumexp = true};
        attention_begin(&c, &shape);
        run(&c, i % KERNELS);
        attention_end(&c);
    }
}

/* Masks of the lowest number, and products near the greatest one, in every type. */
static void test_large_scores(void **state) {
    (void)state;
    test_device_need();
    test_array_random = 16;
    for (int i = 0; i < ATTENTION_LARGE_KINDS * 4 * KERNELS; i++) {
        attention_case c;
        attention_begin_large(&c, (attention_large)(i % ATTENTION_LARGE_KINDS), types[i / ATTENTION_LARGE_KINDS % 4],
                              i % 2 ? 3 : 33, i % 3 ? 70 : 12);
        run_only(&c, i / ATTENTION_LARGE_KINDS / 4);
        attention_compare_large(&c);
        attention_end(&c);
    }
}

/* Every size of tiles, whatever the device would choose: one row more or less than a tile, keys and columns around
 * blocks, and values of one span, of two, and of several groups. */
static void test_tilings(void **state) {
    static const struct {
        uint32_t items;
        uint64_t local;
        int64_t rows;
    } limits[] = {{256, 49152, 64}, {256, 32768, 32}, {256, 49152, 16}, {64, 32768, 32}};
    static const int64_t keys[] = {1, 63, 64, 65, 130}, sizes[] = {1, 15, 16, 17, 40}, values[] = {5, 64, 65, 129};
    (void)state;
    test_device_need();
    if (!test_as_gpu || !getenv("TESTED_ALL")) { /* PoCL takes minutes to compile all of them */
        skip();
    }
    const bp_device_info before = *bp__device_facts(test_device);
    const uint32_t units = test_device_set_units(1);
    test_array_random = 15;
    for (int i = 0; i < 4 * 4 * 20; i++) {
        const int tile = i / 80, n = i % 20;
        attention_case c;
        const attention_shape shape = {.dtype = types[i / 20 % 4],
                                       .batch_ndim = 2,
                                       .batch = {2, 4},
                                       .key_heads = n % 3 == 2 ? 2 : 0,
                                       .value_heads = n % 3 == 2 ? 2 : 0,
                                       .queries = limits[tile].rows + n % 3 - 1,
                                       .keys = keys[n % 5],
                                       .size = sizes[n / 2 % 5],
                                       .value_size = values[n % 4],
                                       .mask = n % 6 == 0 ? (attention_mask)(1 + n / 6 % 3) : ATTENTION_NO_MASK,
                                       .causal = n % 6 == 1,
                                       .dropout = n % 6 == 3 ? 0.3 : 0,
                                       .compact = n % 2,
                                       .logsumexp = n % 4 == 0};
        test_device_set_limits(limits[tile].items, limits[tile].local);
        attention_begin(&c, &shape);
        run(&c, 1);
        attention_end(&c);
    }
    test_device_set_limits(before.group_items, before.local_memory);
    test_device_set_units(units);
}

static void test_empty(void **state) {
    (void)state;
    test_device_need();
    test_array_random = 9;
    for (int i = 0; i < 5 * KERNELS; i++) {
        attention_shape shape = {.dtype = BP_F32,
                                 .batch_ndim = 1,
                                 .batch = {2},
                                 .queries = 3,
                                 .keys = 4,
                                 .size = 5,
                                 .value_size = 6,
                                 .logsumexp = true};
        *(i % 5 == 0   ? &shape.queries
          : i % 5 == 1 ? &shape.keys
          : i % 5 == 2 ? &shape.size
          : i % 5 == 3 ? &shape.value_size
                       : &shape.batch[0]) = 0;
        attention_case c;
        mirror m;
        attention_begin(&c, &shape);
        send_all(&m, &c);
        bp_plan *plan;
        bp_explanation *explanation;
        assert_ok(bp_attention_explain(&explanation, NULL, &m.call));
        bp_explanation_release(explanation);
        assert_ok(bp_attention_plan(&plan, NULL, &m.call));
        bp_plan_release(plan);
        assert_ok(bp_attention_run(NULL, &m.call));
        fetch_all(&m, &c);
        attention_compare_output(&c);
        attention_end(&c);
    }
}

/* Eight times as many queries and keys need at most eight times the workspace. */
static void test_memory(void **state) {
    size_t workspace[2];
    (void)state;
    test_device_need();
    for (int i = 0; i < 2; i++) {
        const int64_t shape[] = {i ? 32768 : 4096, 64};
        DLManagedTensorVersioned *input, *output;
        bp_plan *plan;
        bp_plan_info info = {.struct_size = sizeof info};
        assert_ok(bp_tensor_empty_on(&input, test_device, BP_F32, 2, shape, NULL));
        assert_ok(bp_tensor_empty_on(&output, test_device, BP_F32, 2, shape, NULL));
        const DLTensor *t = &input->dl_tensor;
        const bp_attention_call call = {
            .struct_size = sizeof call, .query = t, .key = t, .value = t, .output = &output->dl_tensor};
        assert_ok(bp_attention_plan(&plan, NULL, &call));
        assert_ok(bp_plan_describe(plan, &info));
        workspace[i] = info.workspace;
        bp_plan_release(plan);
        input->deleter(input);
        output->deleter(output);
    }
    assert_true(workspace[1] <= 8 * workspace[0] && (workspace[0] > 0 || test_as_gpu));
}

/* Gradients are not offered. */
static void test_gradients(void **state) {
    (void)state;
    test_device_need();
    test_array_random = 14;
    attention_case c;
    mirror m;
    const attention_shape shape = {
        .dtype = BP_F32, .queries = 3, .keys = 4, .size = 5, .value_size = 6, .logsumexp = true};
    attention_begin(&c, &shape);
    attention_turn(&c);
    send_all(&m, &c);
    m.call.output_gradient = send(&m, &c, BP_ATTENTION_OUTPUT_GRADIENT);
    m.call.query_gradient = send(&m, &c, BP_ATTENTION_QUERY_GRADIENT);
    m.call.key_gradient = m.call.value_gradient = NULL;
    assert_int_equal(bp_attention_run(NULL, &m.call), BP_E_NO_CANDIDATE);
    fetch_all(&m, &c);
    attention_end(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_limits),      cmocka_unit_test(test_lengths_are_refused),
                                       cmocka_unit_test(test_cases),       cmocka_unit_test(test_masks),
                                       cmocka_unit_test(test_dropout),     cmocka_unit_test(test_special_values),
                                       cmocka_unit_test(test_huge_scores), cmocka_unit_test(test_large_scores),
                                       cmocka_unit_test(test_tilings),     cmocka_unit_test(test_empty),
                                       cmocka_unit_test(test_memory),      cmocka_unit_test(test_gradients)};
    return cmocka_run_group_tests(tests, test_device_setup, NULL);
}
