/* test_checks.c - tests the checks of compare and bench: for each operation the right result passes, and a result with
 * one wrong element does not. */
#include "check_cases.h"
#include "cli/operations/sizing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 88172645463325252u;

static double next_random(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(int64_t)seed / 9.3e18;
}

/* Integers of all sizes, or indices below 3. */
static void fill_integers(npy_array *array, bool indices) {
    for (int64_t i = 0; i < array->header.count; i++) {
        const double x = next_random();
        if (array->header.dtype == BP_BOOL) {
            ((uint8_t *)array->data)[i] = x > 0;
        } else if (array->header.dtype == BP_I64) {
            ((int64_t *)array->data)[i] = indices ? (int64_t)(fabs(x) * 2.99) : (int64_t)(x * 9e18);
        } else {
            ((int32_t *)array->data)[i] = indices ? (int32_t)(fabs(x) * 2.99) : (int32_t)(x * 2e9);
        }
    }
}

static void fill(npy_array *array, char kind) {
    const bp__npy_header *h = &array->header;
    if (h->dtype == BP_I32 || h->dtype == BP_I64 || h->dtype == BP_BOOL) {
        fill_integers(array, kind == 'I');
        return;
    }
    int64_t n = h->ndim ? h->shape[h->ndim - 1] : 1;
    bool is_complex = h->dtype == BP_C64 || h->dtype == BP_C128, is_double = h->dtype == BP_F64 || h->dtype == BP_C128;
    const double largest = is_double ? DBL_MAX : (double)FLT_MAX, smallest = is_double ? 0x1p-1074 : 0x1p-149;
    const double awkward[] = {0,        -0.0,        NAN,   HUGE_VAL, -HUGE_VAL, smallest, -smallest, largest,
                              -largest, largest / 3, 1,     -1,       88,        -88,      -104,      709,
                              -745,     0x1p-100,    1e-30, -1e30,    -3,        3,        6,         0.5};
    for (int64_t i = 0; kind == 'X' && i < h->count; i++) {
        const double x = awkward[(i * 7 + i / 24) % 24];
        if (is_double) {
            ((double *)array->data)[i] = x;
        } else {
            ((float *)array->data)[i] = (float)x;
        }
    }
    for (int64_t i = 0; kind != 'X' && i < h->count; i++) {
        int64_t row = i / n, column = i % n, low = row < column ? row : column, high = row + column - low;
        /* The two numbers of a pair of mirrored elements come from the same formula. */
        double re = kind == 'S' ? sin((double)(low * 31 + high * 7)) + (row == column ? (double)n : 0) : next_random();
        double im =
            kind == 'S' ? (row > column ? 1 : -1) * (row != column) * cos((double)(low + 3 * high)) : next_random();
        re = kind == 'L' ? (row == column ? 3 + re : row > column ? re : 0) : re;
        im = kind == 'L' && row <= column ? 0 : im;
        for (int part = 0; part <= is_complex; part++) {
            int64_t at = is_complex ? 2 * i + part : i;
            if (is_double) {
                ((double *)array->data)[at] = part ? im : re;
            } else {
                ((float *)array->data)[at] = (float)(part ? im : re);
            }
        }
    }
}

/* Prepares the job that the words describe. */
static void make_job(cli_job *job, cli_args *args, const char *const *words, bp_dtype dtype) {
    int count = 0;
    char *copies[WORDS];
    for (; count < WORDS && words[count]; count++) {
        copies[count] = (char *)words[count];
    }
    assert_int_equal(cli_args_parse(args, cli_command_find("compare"), count, copies), CLI_OK);
    *job = (cli_job){.args = args};
    assert_int_equal(job_operation(job), CLI_OK);
    assert_int_equal(job_check(job), CLI_OK);
    for (int i = 0; i < job->input_count; i++) {
        int ndim;
        int64_t shape[BP_MAX_NDIM];
        char text[32];
        const char *word = args->operands[job->first + i];
        size_t length = strcspn(word, " ");
        memcpy(text, word, length);
        text[length] = 0;
        assert_int_equal(operand_shape(text, &ndim, shape), CLI_OK);
        const char kind = word[length] ? word[length + 1] : 0;
        const bp_dtype type = kind == 'I' ? BP_I64 : kind == 'B' ? BP_BOOL : dtype;
        assert_int_equal(operand_result(&job->input_arrays[i], &job->inputs[i], type, ndim, shape), CLI_OK);
        fill(&job->input_arrays[i], kind);
    }
    const cli_sizing *sizing = job->operation->sizing;
    job->wanted = sizing->results;
    assert_int_equal(job_prepare(job), CLI_OK);
    assert_int_equal(sizing->complete ? sizing->complete(job) : BP_OK, BP_OK);
}

static double different(double x) {
    return isnan(x) ? 0 : x + 0.25 + fabs(x) / 8;
}

/* Changes one element of a result. */
static void disturb(npy_array *result, int64_t index, bool is_pivot) {
    float *float_at;
    double *double_at;
    switch (result->header.dtype) {
    case BP_I64:
        ((int64_t *)result->data)[index] ^= 1;
        break;
    case BP_I32:
        ((int32_t *)result->data)[index] = is_pivot ? 1 : ((int32_t *)result->data)[index] ^ 1;
        break;
    case BP_BOOL:
    case BP_I8:
    case BP_U8:
        ((uint8_t *)result->data)[index] ^= 1;
        break;
    case BP_F16:
    case BP_BF16: /* the exponent, so that zeros change too */
        ((uint16_t *)result->data)[index] ^= 0x400;
        break;
    case BP_F32:
    case BP_C64:
        float_at = (float *)result->data + index * (result->header.dtype == BP_C64 ? 2 : 1);
        *float_at = (float)different(*float_at);
        break;
    default:
        double_at = (double *)result->data + index * (result->header.dtype == BP_C128 ? 2 : 1);
        *double_at = different(*double_at);
    }
}

static void try_right(const char *const *words, bp_dtype dtype) {
    cli_args args;
    cli_job job;
    cli_check check;
    double error = -1;
    make_job(&job, &args, words, dtype);
    assert_int_equal(job.operation->measured->check(&check, &job), BP_OK);
    assert_int_equal(job.operation->run(&job), BP_OK);
    assert_int_equal(check.error(&check, &job, &error), BP_OK);
    if (!(error <= check.bound && isfinite(check.bound))) {
        fail_msg("%s %s %s: %s: the error is %g, the bound %g", words[0], words[1], words[3] ? words[3] : "",
                 bp_dtype_name(dtype), error, check.bound);
    }
    check_free(&check);
    job_free(&job);
    cli_args_free(&args);
}

static void try_one(const char *const *words, bp_dtype dtype) {
    cli_args args;
    cli_job job;
    cli_check check;
    double error = -1;
    make_job(&job, &args, words, dtype);
    assert_int_equal(job.operation->measured->check(&check, &job), BP_OK);
    assert_int_equal(job.operation->run(&job), BP_OK);
    assert_int_equal(check.error(&check, &job, &error), BP_OK);
    if (!(error <= check.bound && isfinite(check.bound))) {
        fail_msg("%s %s: %s: the error is %g, the bound %g", words[0], words[1], bp_dtype_name(dtype), error,
                 check.bound);
    }
    for (int r = 0; r < job.result_count; r++) {
        npy_array *array = &job.result_arrays[r];
        const bool first_only =
            check.values.values && strcmp(words[0], "slogdet") != 0 && !(r > 0 && check.more[r - 1].values);
        /* Pivots may be anything that gives the same product, such as 1 for the first row. */
        const bool is_pivot = array->header.dtype == BP_I32 && r > 0;
        bool checked = array->data && !(first_only && r > 0) && !is_pivot;
        for (int64_t i = 0; checked && i < array->header.count; i++) {
            char kept[16];
            size_t size = bp_dtype_size(array->header.dtype);
            char *element = (char *)array->data + (size_t)i * size;
            memcpy(kept, element, size);
            disturb(array, i, is_pivot);
            assert_int_equal(check.error(&check, &job, &error), BP_OK);
            if (!(error > check.bound)) {
                fail_msg("%s %s: %s: element %lld of result %d is wrong, but the error is %g, the bound %g", words[0],
                         words[1], bp_dtype_name(dtype), (long long)i, r, error, check.bound);
            }
            memcpy(element, kept, size);
        }
    }
    check_free(&check);
    job_free(&job);
    cli_args_free(&args);
}

static bool takes(const char *operation, bp_dtype dtype) {
    bool is_complex = dtype == BP_C64 || dtype == BP_C128;
    static const char *const real[] = {"_pool",  "conv",   "_norm",  "sdpa",    "rnn",    "lstm",   "gru", "unary",
                                       "binary", "reduce", "linear", "softmax", "random", "cumsum", "var", "std"};
    const bool of_matrices = strcmp(operation, "vector_norm") == 0 || strcmp(operation, "matrix_norm") == 0;
    for (size_t i = 0; i < sizeof real / sizeof real[0] && !of_matrices; i++) {
        if (strstr(operation, real[i])) {
            return !is_complex;
        }
    }
    if (strncmp(operation, "rfft", 4) == 0 || strncmp(operation, "ihfft", 5) == 0) {
        return !is_complex;
    }
    return is_complex || (strncmp(operation, "irfft", 5) != 0 && strncmp(operation, "hfft", 4) != 0);
}

static void try_all(bp_dtype dtype) {
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (takes(cases[i][0], dtype)) {
            try_one(cases[i], dtype);
        }
    }
}

#define FOUND_IN(name, dtype)                                                                                          \
    static void wrong_elements_are_found_##name(void **state) {                                                        \
        (void)state;                                                                                                   \
        try_all(dtype);                                                                                                \
    }
FOUND_IN(f32, BP_F32)
FOUND_IN(f64, BP_F64)
FOUND_IN(c64, BP_C64)
FOUND_IN(c128, BP_C128)
#undef FOUND_IN

static void wrong_elements_are_found_integers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof whole_cases / sizeof whole_cases[0]; i++) {
        try_one(whole_cases[i], BP_I32);
        try_one(whole_cases[i], BP_I64);
    }
}

static const char *const functions[] = {
#define X(number, name, text) text,
    BP_UNARY_MAP(X)
#undef X
};

/* All functions of one element, and elements that are taken, in each type. */
static void wrong_elements_are_found_functions(void **state) {
    (void)state;
    for (size_t i = BP_UNARY_NEGATIVE; i < BP_UNARY_BITWISE_INVERT; i++) {
        const char *words[WORDS] = {"unary", "3x17", "--kind", functions[i]};
        try_one(words, BP_F32);
        try_one(words, BP_F64);
    }
    static const char *const take[WORDS] = {"take", "3x4x2", "2x3 I"};
    static const char *const gather[WORDS] = {"gather", "4x3", "2x3 I"};
    for (bp_dtype dtype = BP_F32; dtype <= BP_C128; dtype = (bp_dtype)(dtype + 1)) {
        try_one(take, dtype);
        try_one(gather, dtype);
    }
}

/* Right results of awkward values pass. */
static void awkward_values_pass(void **state) {
    (void)state;
    static const char *const more[][WORDS] = {
        {"binary", "24x1 X", "100 X", "--kind", "add"},
        {"binary", "24x1 X", "24 X", "--kind", "subtract"},
        {"binary", "24x1 X", "24 X", "--kind", "multiply"},
        {"binary", "24x1 X", "24 X", "--kind", "divide"},
        {"binary", "24x1 X", "24 X", "--kind", "maximum"},
        {"binary", "24x1 X", "24 X", "--kind", "minimum"},
        {"unary", "100 X", "--kind", "copy", "--to", "f16"},
        {"unary", "100 X", "--kind", "copy", "--to", "bf16"},
        {"unary", "100 X", "--kind", "copy", "--to", "f32"},
        {"unary", "100 X", "--kind", "copy", "--to", "f64"},
        {"unary", "100 X", "--kind", "copy", "--to", "i8"},
        {"unary", "100 X", "--kind", "copy", "--to", "i64"},
        {"unary", "100 X", "--kind", "copy", "--to", "u8"},
        {"unary", "100 X", "--kind", "copy", "--to", "bool"},
        {"reduce", "30x4 X", "--dim", "1"},
        {"reduce", "30x5 X", "--dim", "1", "--kind", "prod"},
        {"reduce", "30x5 X", "--dim", "0", "--kind", "mean"},
        {"reduce", "30x3 X", "--dim", "1", "--kind", "max"},
        {"reduce", "30x3 X", "--dim", "1", "--kind", "argmin"},
        {"cumsum", "30x5 X", "--dim", "1"},
        {"cumsum", "30x5 X", "--exclusive", "--reverse"},
        {"softmax", "50x2 X"},
        {"softmax", "50x3 X", "--dim", "0"},
        {"log_softmax", "50x2 X"},
        {"softmax_input", "9x5 X", "9x5 X"},
        {"log_softmax_input", "9x5 X", "9x5 X"},
        {"layer_norm", "30x3 X"},
        {"rms_norm", "30x2 X"},
        {"group_norm", "30x2 X"},
        {"reduce", "3x0", "--dim", "1"},
        {"reduce", "3x0", "--dim", "1", "--kind", "mean"},
        {"reduce", "3x0", "--dim", "1", "--kind", "all"},
        {"std", "3x0", "--dim", "1"},
        {"var", "30x4 X", "--dim", "1"},
        {"softmax", "0x3"},
        {"unary", "0", "--kind", "exp"},
    };
    for (size_t i = BP_UNARY_NEGATIVE; i < BP_UNARY_BITWISE_INVERT; i++) {
        const char *words[WORDS] = {"unary", "100 X", "--kind", functions[i]};
        try_right(words, BP_F32);
        try_right(words, BP_F64);
    }
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        try_right(more[i], BP_F32);
        try_right(more[i], BP_F64);
    }
}

/* An error of 40 units in the last place is found, and NaN or a number in place of infinity. */
static void small_errors_are_found(void **state) {
    (void)state;
    for (size_t i = BP_UNARY_EXP; i < BP_ACTIVATION_KINDS; i++) {
        const char *words[WORDS] = {"unary", "40", "--kind", functions[i]};
        cli_args args;
        cli_job job;
        cli_check check;
        double error;
        make_job(&job, &args, words, BP_F32);
        ((float *)job.input_arrays[0].data)[0] = HUGE_VALF;
        assert_int_equal(job.operation->measured->check(&check, &job), BP_OK);
        assert_int_equal(job.operation->run(&job), BP_OK);
        for (int64_t k = 0; k < 40; k++) {
            float *element = (float *)job.result_arrays[0].data + k, kept = *element;
            int32_t bits;
            memcpy(&bits, element, sizeof bits);
            bits = isinf(kept) ? bits - 1 : bits + 40;
            memcpy(element, &bits, sizeof bits);
            assert_int_equal(check.error(&check, &job, &error), BP_OK);
            if (!(error > check.bound) && !isnan(kept) && kept != 0) {
                fail_msg("%s: element %d: %a for %a has the error %g, the bound is %g", words[3], (int)k,
                         (double)*element, (double)kept, error, check.bound);
            }
            *element = isinf(kept) ? NAN : kept;
            assert_int_equal(check.error(&check, &job, &error), BP_OK);
            assert_true(error > check.bound || !isinf(kept));
            *element = kept;
        }
        check_free(&check);
        job_free(&job);
        cli_args_free(&args);
    }
}

/* What has no check says so: the bound is infinite. */
static void some_results_are_not_checked(void **state) {
    (void)state;
    static const char *const unchecked[][WORDS] = {{"matrix_power", "3x3 L", "--power", "-2"},
                                                   {"lstsq", "9x4", "9x2", "--rcond", "0.1"}};
    for (size_t i = 0; i < sizeof unchecked / sizeof unchecked[0]; i++) {
        cli_args args;
        cli_job job;
        cli_check check;
        double error;
        make_job(&job, &args, unchecked[i], BP_F64);
        assert_int_equal(job.operation->measured->check(&check, &job), BP_OK);
        assert_int_equal(check.error(&check, &job, &error), BP_OK);
        assert_true(isinf(check.bound));
        check_free(&check);
        job_free(&job);
        cli_args_free(&args);
    }
}

/* A large contraction is computed in part. The part is spread over the result, and has its values. */
static void large_contractions_are_checked_in_part(void **state) {
    (void)state;
    static const char *const words[WORDS] = {"einsum", "ij,jk,kl->il", "400x400", "400x400", "400x400"};
    cli_args args;
    cli_job job;
    cli_check check;
    double error;
    make_job(&job, &args, words, BP_F32);
    assert_int_equal(job.operation->measured->check(&check, &job), BP_OK);
    assert_true(check.values.count >= 64 && check.values.count < check.values.total);
    assert_int_equal(job.operation->run(&job), BP_OK);
    assert_int_equal(check.error(&check, &job, &error), BP_OK);
    assert_true(error <= check.bound);
    check_free(&check);
    job_free(&job);
    cli_args_free(&args);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_elements_are_found_f32),
        cmocka_unit_test(wrong_elements_are_found_f64),
        cmocka_unit_test(wrong_elements_are_found_c64),
        cmocka_unit_test(wrong_elements_are_found_c128),
        cmocka_unit_test(wrong_elements_are_found_integers),
        cmocka_unit_test(wrong_elements_are_found_functions),
        cmocka_unit_test(awkward_values_pass),
        cmocka_unit_test(small_errors_are_found),
        cmocka_unit_test(some_results_are_not_checked),
        cmocka_unit_test(large_contractions_are_checked_in_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
