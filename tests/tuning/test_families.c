/* test_families.c - tests that the problems of every operation are measured: with valid operands, a check of the
 * results, and a record that later choices use. */
#include "tuning/mirror.h"
#include "tuning/support_tuning.h"

#include "dispatch/internal.h"
#include "ops/linalg/linalg.h"
#include "support/passes.h"

/* ---- Calls: tensors without memory, as explanations allow ---- */

enum { MOST_VIEWS = 24 };
static bp_view views[MOST_VIEWS];
static int view_count;

/* Returns a tensor: tensor(BP_F32, "2x3"). */
static DLTensor *tensor(bp_dtype dtype, const char *sizes) {
    int64_t shape[BP_MAX_NDIM];
    int ndim = 0;
    while (*sizes) {
        char *end;
        shape[ndim++] = strtoll(sizes, &end, 10);
        sizes = *end ? end + 1 : end;
    }
    assert_true(view_count < MOST_VIEWS);
    assert_int_equal(bp_view_init(&views[view_count], NULL, dtype, ndim, shape, NULL), BP_OK);
    return &views[view_count++].tensor;
}

static DLTensor *f32(const char *sizes) {
    return tensor(BP_F32, sizes);
}

/* What one problem is, besides its operation. */
typedef struct problem problem;
typedef bp_status (*explainer)(bp_explanation **e, const bp_options *options, const problem *p);
struct problem {
    bp_op op;
    explainer explain;
    int kind;
    const char *name; /* of the kind */
};

static bp_status product(bp_explanation **e, const bp_options *options, const problem *p) {
    (void)p;
    return bp_matmul_explain(e, options, f32("9x8"), f32("8x7"), f32("9x7"));
}

static bp_status transform(bp_explanation **e, const bp_options *options, const problem *p) {
    const bp_fft_call call = {.struct_size = sizeof call, .transform = (bp_fft_transform)p->kind, .axis_count = 2};
    const DLTensor *whole = tensor(p->kind == BP_FFT ? BP_C64 : BP_F32, "3x6x10");
    const DLTensor *other = p->kind == BP_FFT ? tensor(BP_C64, "3x6x10") : tensor(BP_C64, "3x6x6");
    const bool inverse = p->kind == BP_IRFFT;
    return bp_fft_explain(e, options, &call, inverse ? other : whole, inverse ? whole : other);
}

static bp_status contraction(bp_explanation **e, const bp_options *options, const problem *p) {
    const DLTensor *const operands[] = {f32("5x6x7")};
    const bp_einsum_call call = {
        .struct_size = sizeof call, .expression = p->kind ? "ijk->kj" : "ijk->kij", .count = 1, .operands = operands};
    return bp_einsum_explain(e, options, &call, p->kind ? f32("7x6") : f32("7x5x6"));
}

static bp_status convolution(bp_explanation **e, const bp_options *options, const problem *p) {
    bp_conv_call call = {.struct_size = sizeof call,
                         .ndim = 2,
                         .input = f32("2x3x9x8"),
                         .weight = f32("4x3x3x2"),
                         .bias = p->kind == BP_CONV_INPUT ? NULL : f32("4"),
                         .output = f32("2x4x7x7")};
    test_call_to_pass("conv", &call, p->kind);
    return bp_conv_explain(e, options, &call);
}

static bp_status pooling(bp_explanation **e, const bp_options *options, const problem *p) {
    static const int64_t kernel[] = {3, 2}, padding[] = {1, 0};
    const bool maximum = p->op == BP_OP_MAX_POOL || p->op == BP_OP_MAX_POOL_BACKWARD;
    const bool forward = p->op == BP_OP_MAX_POOL || p->op == BP_OP_AVG_POOL;
    bp_pool_call call = {.struct_size = sizeof call,
                         .kind = maximum ? BP_POOL_MAX : BP_POOL_AVERAGE,
                         .ndim = 2,
                         .kernel = kernel,
                         .padding = padding,
                         .input = f32("2x3x10x8"),
                         .output = f32("2x3x4x4"),
                         .indices = maximum ? tensor(BP_I64, "2x3x4x4") : NULL};
    test_call_to_pass("pool", &call, forward ? BP_POOL_FORWARD : BP_POOL_BACKWARD);
    return bp_pool_explain(e, options, &call);
}

static bp_status batch_norm(bp_explanation **e, const bp_options *options, const problem *p) {
    const bool training = p->kind == BP_BATCH_NORM_TRAINING, backward = p->kind == BP_BATCH_NORM_BACKWARD;
    const bp_batch_norm_call call = {.struct_size = sizeof call,
                                     .pass = (bp_batch_norm_pass)p->kind,
                                     .eps = backward ? 0 : 1e-5,
                                     .momentum = training ? 0.1 : 0,
                                     .input = f32("4x3x5x5"),
                                     .weight = f32("3"),
                                     .bias = backward ? NULL : f32("3"),
                                     .output = backward ? NULL : f32("4x3x5x5"),
                                     .output_gradient = backward ? f32("4x3x5x5") : NULL,
                                     .running_mean = backward ? NULL : f32("3"),
                                     .running_var = backward ? NULL : f32("3"),
                                     .mean = training || backward ? f32("3") : NULL,
                                     .inverse_std = training || backward ? f32("3") : NULL,
                                     .input_gradient = backward ? f32("4x3x5x5") : NULL,
                                     .weight_gradient = backward ? f32("3") : NULL,
                                     .bias_gradient = backward ? f32("3") : NULL};
    return bp_batch_norm_explain(e, options, &call);
}

static bp_status layer_norm(bp_explanation **e, const bp_options *options, const problem *p) {
    const bool backward = p->kind == BP_LAYER_NORM_BACKWARD;
    const bp_layer_norm_call call = {.struct_size = sizeof call,
                                     .pass = (bp_layer_norm_pass)p->kind,
                                     .row_ndim = 1,
                                     .eps = backward ? 0 : 1e-5,
                                     .input = f32("6x40"),
                                     .weight = f32("40"),
                                     .bias = backward ? NULL : f32("40"),
                                     .output = backward ? NULL : f32("6x40"),
                                     .output_gradient = backward ? f32("6x40") : NULL,
                                     .mean = f32("6"),
                                     .inverse_std = f32("6"),
                                     .input_gradient = backward ? f32("6x40") : NULL,
                                     .weight_gradient = backward ? f32("40") : NULL,
                                     .bias_gradient = backward ? f32("40") : NULL};
    return bp_layer_norm_explain(e, options, &call);
}

static bp_status attention(bp_explanation **e, const bp_options *options, const problem *p) {
    const bool counted = p->op == BP_OP_ATTENTION_LENGTHS || p->op == BP_OP_ATTENTION_LENGTHS_BACKWARD;
    const bool backward = p->op == BP_OP_ATTENTION_BACKWARD || p->op == BP_OP_ATTENTION_LENGTHS_BACKWARD,
               paged = p->op == BP_OP_ATTENTION_PAGED;
    bp_attention_call call = {.struct_size = sizeof call,
                              .pass = backward ? BP_ATTENTION_BACKWARD : BP_ATTENTION_FORWARD,
                              .query = f32("2x3x5x8"),
                              .key = paged ? f32("6x4x3x8") : f32("2x3x12x8"),
                              .value = paged ? f32("6x4x3x8") : f32("2x3x12x8"),
                              .output = f32("2x3x5x8"),
                              .logsumexp = f32("2x3x5")};
    if (counted) {
        call.lengths = tensor(BP_I64, "2");
        call.softcap = 2;
        call.has_window = call.lower_right = 1;
        call.window_left = 7;
        call.window_right = 3;
    }
    if (paged) {
        call.pages = tensor(BP_I32, "2x3");
        call.lengths = tensor(BP_I64, "2");
    } else {
        call.dropout = 0.25;
        call.seed = tensor(BP_I64, "2");
        call.mask = tensor(p->kind ? BP_BOOL : BP_F32, "5x12");
    }
    if (backward) {
        call.output_gradient = f32("2x3x5x8");
        call.query_gradient = f32("2x3x5x8");
        call.key_gradient = f32("2x3x12x8");
        call.value_gradient = f32("2x3x12x8");
        call.mask_gradient = p->kind ? NULL : f32("5x12");
    }
    return bp_attention_explain(e, options, &call);
}

static bp_status recurrent(bp_explanation **e, const bp_options *options, const problem *p) {
    const bool backward = p->op == BP_OP_RNN_BACKWARD, lstm = p->kind == BP_RNN_LSTM, before = p->kind > BP_RNN_GRU;
    const char *ih = lstm ? "16x3" : p->kind >= BP_RNN_GRU ? "12x3" : "4x3";
    const char *hh = lstm ? "16x4" : p->kind >= BP_RNN_GRU ? "12x4" : "4x4";
    bp_rnn_call call = {.struct_size = sizeof call,
                        .pass = backward ? BP_RNN_BACKWARD : BP_RNN_TRAINING,
                        .mode = before ? BP_RNN_GRU : (bp_rnn_mode)p->kind,
                        .reset_before = before,
                        .input = f32("6x2x3"),
                        .weight_ih = f32(ih),
                        .weight_hh = f32(hh),
                        .lengths = tensor(BP_I64, "2"),
                        .output = f32("6x2x4")};
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    bp_dtype dtype;
    assert_int_equal(bp_rnn_shape(&call, BP_RNN_RESERVE, &dtype, &ndim, shape), BP_OK);
    assert_int_equal(bp_view_init(&views[view_count], NULL, dtype, ndim, shape, NULL), BP_OK);
    call.reserve = &views[view_count++].tensor;
    if (backward) {
        call.output_gradient = f32("6x2x4");
        call.input_gradient = f32("6x2x3");
        call.weight_ih_gradient = f32(ih);
        call.weight_hh_gradient = f32(hh);
    }
    return bp_rnn_explain(e, options, &call);
}

static bp_status unary(bp_explanation **e, const bp_options *options, const problem *p) {
    return bp_unary_explain(e, options, (bp_unary_kind)p->kind, f32("7x9"), f32("7x9"));
}

static bp_status binary(bp_explanation **e, const bp_options *options, const problem *p) {
    return bp_binary_explain(e, options, (bp_binary_kind)p->kind, f32("7x9"), f32("9"), f32("7x9"));
}

static bp_status choice(bp_explanation **e, const bp_options *options, const problem *p) {
    (void)p;
    return bp_where_explain(e, options, tensor(BP_BOOL, "7x1"), f32("7x9"), f32("9"), f32("7x9"));
}

static bp_status selection(bp_explanation **e, const bp_options *options, const problem *p) {
    return p->op == BP_OP_TAKE ? bp_take_explain(e, options, f32("7x9"), tensor(BP_I32, "5"), 0, f32("5x9"))
                               : bp_gather_explain(e, options, f32("7x9"), tensor(BP_I64, "5x9"), 0, f32("5x9"));
}

static bp_status reduction(bp_explanation **e, const bp_options *options, const problem *p) {
    static const int axes[] = {1};
    const bool truth = p->kind == BP_REDUCE_ANY || p->kind == BP_REDUCE_ALL;
    const DLTensor *output = truth                         ? tensor(BP_BOOL, "6x5")
                             : p->kind >= BP_REDUCE_ARGMAX ? tensor(BP_I64, "6x5")
                                                           : f32("6x5");
    return bp_reduce_explain(e, options, (bp_reduce_kind)p->kind, f32("6x300x5"), 1, axes, 0, output);
}

static bp_status padding(bp_explanation **e, const bp_options *options, const problem *p) {
    static const int64_t one = 1;
    static const int axes[] = {0};
    return p->op == BP_OP_FLIP ? bp_flip_explain(e, options, f32("7x9"), 1, axes, f32("7x9"))
           : p->op == BP_OP_ROLL
               ? bp_roll_explain(e, options, f32("7x9"), 1, axes, &one, f32("7x9"))
               : bp_pad_explain(e, options, BP_PAD_REFLECT, f32("7x9"), 1, &one, &one, 0, f32("7x11"));
}

static bp_status variance(bp_explanation **e, const bp_options *options, const problem *p) {
    static const int axes[] = {1};
    return bp_variance_explain(e, options, (bp_variance_kind)p->kind, f32("6x300x5"), 1, axes, 1, 0, f32("6x5"));
}

static bp_status softmax(bp_explanation **e, const bp_options *options, const problem *p) {
    return p->op == BP_OP_SOFTMAX
               ? bp_softmax_explain(e, options, (bp_softmax_kind)p->kind, f32("6x20"), 1, f32("6x20"))
               : bp_softmax_backward_explain(e, options, (bp_softmax_kind)p->kind, f32("6x20"), f32("6x20"), 1,
                                             f32("6x20"));
}

static bp_status random_numbers(bp_explanation **e, const bp_options *options, const problem *p) {
    const bp_random_call call = {.struct_size = sizeof call,
                                 .kind = (bp_random_kind)p->kind,
                                 .output = tensor(p->kind == BP_RANDOM_BITS ? BP_U32 : BP_F32, "9x11")};
    return bp_random_explain(e, options, &call);
}

static bp_status cumulative_sums(bp_explanation **e, const bp_options *options, const problem *p) {
    const bp_cumsum_call call = {
        .struct_size = sizeof call, .axis = 1, .reverse = p->kind, .input = f32("6x300x5"), .output = f32("6x300x5")};
    return bp_cumsum_explain(e, options, &call);
}

/* Only values of an eigenvalue or singular value problem, because vectors are not determined by it. */
static bp_status matrices(bp_explanation **e, const bp_options *options, const problem *p) {
    bp_linalg_call call = {.struct_size = sizeof call, .op = p->op, .mode = (bp_linalg_mode)p->kind};
    const int inputs = bp__input_count(p->op), count = bp__operand_count(p->op);
    const int only = p->op == BP_OP_EIGH ? 1 : p->op == BP_OP_SVD ? 2 : 0;
    call.order = p->kind == BP_NORM_P ? 1 : 0;
    for (int i = 0; i < count; i++) {
        const bool pivots = (p->op == BP_OP_LU_SOLVE || p->op == BP_OP_LDL_SOLVE) && i == 1;
        int64_t shape[BP_MAX_NDIM] = {3, 6, pivots ? 0 : i == 0 || p->op == BP_OP_CHOLESKY_SOLVE ? 6 : 2};
        bp_dtype dtype = pivots ? BP_I32 : BP_F32;
        int ndim = pivots ? 2 : 3;
        if ((i >= inputs && bp_linalg_shape(&call, i - inputs, &dtype, &ndim, shape) != BP_OK) ||
            (only && i >= inputs && i != only)) {
            continue;
        }
        assert_int_equal(bp_view_init(&views[view_count], NULL, dtype, ndim, shape, NULL), BP_OK);
        bp__linalg_set(&call, i, &views[view_count++].tensor);
    }
    return bp_linalg_explain(e, options, &call);
}

/* ---- The problems ---- */

static const problem problems[] = {
    {BP_OP_GEMM, product, 0, ""},
    {BP_OP_FFT, transform, BP_FFT, "fft"},
    {BP_OP_FFT, transform, BP_RFFT, "rfft"},
    {BP_OP_FFT, transform, BP_IRFFT, "irfft"},
    {BP_OP_INV, matrices, 0, ""},
    {BP_OP_CHOLESKY, matrices, 0, ""},
    {BP_OP_LU_FACTOR, matrices, 0, ""},
    {BP_OP_SOLVE, matrices, 0, ""},
    {BP_OP_EIGH, matrices, 0, ""},
    {BP_OP_SVD, matrices, 0, ""},
    {BP_OP_DET, matrices, 0, ""},
    {BP_OP_SLOGDET, matrices, 0, ""},
    {BP_OP_MATRIX_NORM, matrices, BP_NORM_FRO, ""},
    {BP_OP_VECTOR_NORM, matrices, BP_NORM_P, ""},
    {BP_OP_CHOLESKY_SOLVE, matrices, 0, ""},
    {BP_OP_CHOLESKY_INVERSE, matrices, 0, ""},
    {BP_OP_LU, matrices, 0, ""},
    {BP_OP_LU_SOLVE, matrices, 0, ""},
    {BP_OP_SOLVE_TRIANGULAR, matrices, 0, ""},
    {BP_OP_PINV, matrices, 0, ""},
    {BP_OP_MATRIX_RANK, matrices, 0, ""},
    {BP_OP_COND, matrices, 0, ""},
    {BP_OP_CONTRACT, contraction, 0, "copy"},
    {BP_OP_CONTRACT, contraction, 1, "sum"},
    {BP_OP_CONV, convolution, BP_CONV_FORWARD, ""},
    {BP_OP_CONV_INPUT, convolution, BP_CONV_INPUT, ""},
    {BP_OP_CONV_WEIGHT, convolution, BP_CONV_WEIGHT, ""},
    {BP_OP_MAX_POOL, pooling, 0, ""},
    {BP_OP_AVG_POOL, pooling, 0, ""},
    {BP_OP_MAX_POOL_BACKWARD, pooling, 0, ""},
    {BP_OP_AVG_POOL_BACKWARD, pooling, 0, ""},
    {BP_OP_BATCH_NORM, batch_norm, BP_BATCH_NORM_INFERENCE, ""},
    {BP_OP_BATCH_NORM_TRAINING, batch_norm, BP_BATCH_NORM_TRAINING, ""},
    {BP_OP_BATCH_NORM_BACKWARD, batch_norm, BP_BATCH_NORM_BACKWARD, ""},
    {BP_OP_ATTENTION, attention, 0, "mask of numbers"},
    {BP_OP_ATTENTION, attention, 1, "mask of bool"},
    {BP_OP_ATTENTION_BACKWARD, attention, 0, "mask of numbers"},
    {BP_OP_ATTENTION_BACKWARD, attention, 1, "mask of bool"},
    {BP_OP_ATTENTION_PAGED, attention, 0, ""},
    {BP_OP_ATTENTION_LENGTHS, attention, 0, "mask of numbers"},
    {BP_OP_ATTENTION_LENGTHS, attention, 1, "mask of bool"},
    {BP_OP_ATTENTION_LENGTHS_BACKWARD, attention, 0, "mask of numbers"},
    {BP_OP_RNN, recurrent, BP_RNN_LSTM, "lstm"},
    {BP_OP_RNN, recurrent, BP_RNN_GRU, "gru"},
    {BP_OP_RNN, recurrent, BP_RNN_GRU + 1, "gru, reset before the product"},
    {BP_OP_RNN_BACKWARD, recurrent, BP_RNN_LSTM, "lstm"},
    {BP_OP_RNN_BACKWARD, recurrent, BP_RNN_TANH, "tanh"},
    {BP_OP_RNN_BACKWARD, recurrent, BP_RNN_GRU + 1, "gru, reset before the product"},
    {BP_OP_UNARY, unary, BP_UNARY_GELU, "gelu"},
    {BP_OP_UNARY, unary, BP_UNARY_LOG, "log"},
    {BP_OP_BINARY, binary, BP_BINARY_DIVIDE, "divide"},
    {BP_OP_WHERE, choice, 0, ""},
    {BP_OP_TAKE, selection, 0, ""},
    {BP_OP_GATHER, selection, 0, ""},
    {BP_OP_REDUCE, reduction, BP_REDUCE_SUM, "sum"},
    {BP_OP_REDUCE, reduction, BP_REDUCE_PROD, "prod"},
    {BP_OP_REDUCE, reduction, BP_REDUCE_ARGMAX, "argmax"},
    {BP_OP_REDUCE, reduction, BP_REDUCE_ALL, "all"},
    {BP_OP_VARIANCE, variance, BP_STD, "std"},
    {BP_OP_PAD, padding, 0, ""},
    {BP_OP_FLIP, padding, 0, ""},
    {BP_OP_ROLL, padding, 0, ""},
    {BP_OP_SOFTMAX, softmax, BP_LOG_SOFTMAX, ""},
    {BP_OP_SOFTMAX_BACKWARD, softmax, BP_SOFTMAX, ""},
    {BP_OP_LAYER_NORM, layer_norm, BP_LAYER_NORM_FORWARD, ""},
    {BP_OP_LAYER_NORM_BACKWARD, layer_norm, BP_LAYER_NORM_BACKWARD, ""},
    {BP_OP_RANDOM, random_numbers, BP_RANDOM_NORMAL, "normal"},
    {BP_OP_RANDOM, random_numbers, BP_RANDOM_BITS, "bits"},
    {BP_OP_CUMSUM, cumulative_sums, 0, ""},
    {BP_OP_CUMSUM, cumulative_sums, 1, "reverse"},
};

/* Operations that native does not offer, so that there is nothing to mirror. */
static const bp_op not_native[] = {BP_OP_QR, BP_OP_EIG, BP_OP_LSTSQ, BP_OP_LDL_FACTOR, BP_OP_LDL_SOLVE};

/* ---- Tests ---- */

static void advance(long long ns) {
    seen.advance(ns);
}

static int families_setup(void **state) {
    const int failed = tuning_setup(state);
    setenv("BACKPLANE_PROVIDER_PATH", BP_TEST_BUILD_DIR "/tests/tuning-mirror", 1);
    mirrored = (mirror){.advance = advance};
    mirror_offer();
    tuning_restart();
    return failed;
}

/* Returns the explanation of the operation itself, which may be a part of another. */
static bp_explanation *explain_problem(const problem *p, const char *settings, const bp_explanation **own) {
    bp_explanation *e = NULL;
    bp_options *options;
    view_count = 0;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    if (p->explain(&e, options, p) != BP_OK) {
        fail_msg("%s %s: %s", bp_op_name(p->op), p->name, bp_last_error());
    }
    bp_options_release(options);
    *own = bp_explanation_part(e, 0) ? bp_explanation_part(e, 0) : e;
    return e;
}

static bp_candidate_info algorithm_of(const bp_explanation *e, const char *name) {
    bp_candidate_info info = {.struct_size = sizeof info};
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        if (strcmp(info.provider, "mirror") == 0 && strcmp(info.algorithm, name) == 0) {
            return info;
        }
    }
    return (bp_candidate_info){.struct_size = 0};
}

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fail_msg("%s %s: %s is not true: %s", bp_op_name(p->op), p->name, #condition, bp_explanation_text(e));     \
        }                                                                                                              \
    } while (0)

static void measures(const problem *p) {
    const bp_explanation *own;
    bp_explanation *e = explain_problem(p, RIVALS_ONLY, &own);
    bp_tuning_info before = {.struct_size = sizeof before}, after = {.struct_size = sizeof after};
    CHECK(algorithm_of(own, "slow").chosen);
    bp_explanation_release(e);
    assert_int_equal(bp_tuning_stats(&before), BP_OK);
    mirrored.runs = mirrored.failures = 0;
    e = explain_problem(p, NOW, &own);
    assert_int_equal(bp_tuning_stats(&after), BP_OK);
    CHECK(after.classes > before.classes);
    CHECK(mirrored.runs > 0 && mirrored.failures == 0);
    CHECK(algorithm_of(own, "quick").chosen && algorithm_of(own, "quick").measured_ns == 20000);
    CHECK(algorithm_of(own, "slow").measured_ns == 400000);
    CHECK(strstr(algorithm_of(own, "wrong").text, "in quarantine"));
    bp_explanation_release(e);
}

static void every_operation_is_measured(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        measures(&problems[i]);
    }
}

static void later_choices_use_the_records(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        measures(&problems[i]);
    }
    tuning_restart(); /* as a new process, which reads the files */
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const problem *p = &problems[i];
        const bp_explanation *own;
        bp_explanation *e = explain_problem(p, RIVALS_ONLY, &own);
        CHECK(algorithm_of(own, "quick").chosen && algorithm_of(own, "quick").measured_ns == 20000);
        bp_explanation_release(e);
    }
    assert_int_equal(mirrored.failures, 0);
}

static void the_list_of_problems_is_complete(void **state) {
    (void)state;
    for (int op = 1; op < BP__OPERATIONS; op++) {
        bool listed = op == BP_OP_EINSUM || op == BP_OP_GRAPH;
        for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
            listed = listed || problems[i].op == (bp_op)op;
        }
        for (size_t i = 0; i < sizeof not_native / sizeof *not_native; i++) {
            const problem p = {not_native[i], matrices, 0, ""};
            bp_explanation *e;
            view_count = 0;
            listed = listed || not_native[i] == (bp_op)op;
            if (not_native[i] == (bp_op)op) {
                if (matrices(&e, NULL, &p) != BP_OK) {
                    fail_msg("%s: %s", bp_op_name(p.op), bp_last_error());
                }
                if (algorithm_of(e, "slow").struct_size > 0) {
                    fail_msg("native has %s, so that it can be mirrored", bp_op_name(p.op));
                }
                bp_explanation_release(e);
            }
        }
        if (!listed) {
            fail_msg("%s is not tested", bp_op_name((bp_op)op));
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, families_setup, tuning_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_operation_is_measured),
        TEST(later_choices_use_the_records),
        TEST(the_list_of_problems_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
