/* test_call_descriptions.c - compares the descriptions of calls (src/ops/<family>/call.h) with the structs that they
 * describe, and with the list of operations. A field that a description lacks would be in no key of the thread cache,
 * so that a call could run the plan of another one. */
#include "backplane/pool.h"
#include "backplane/random.h"
#include "ops/linalg/linalg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include <cmocka.h>

static size_t size_of(const bp_call_field *field) {
    return field->kind == BP_FIELD_INT || field->kind == BP_FIELD_FLAG || field->kind == BP_FIELD_SIGNED ? 4 : 8;
}

/* Calls of linear algebra share a struct, and each describes what it takes of it; the key has all of it. */
static bool is_linalg(const bp_call *call) {
    return call->family == &bp__family_linalg;
}

/* Returns the calls whose struct a key has: the struct of all linear algebra is the first one. */
static const bp_call *whole_at(int index) {
    for (int i = 0, found = 0; index > 0 && bp_call_at(i); i++) {
        if (!is_linalg(bp_call_at(i)) && ++found == index) {
            return bp_call_at(i);
        }
    }
    return index == 0 ? &bp__linalg_any : NULL;
}

/* Bytes of a struct that no field has, because of alignment, or because another call has them. */
static size_t padding_of(const char *name) {
    if (strcmp(name, "fftfreq") == 0) { /* n of rfftfreq */
        return 8;
    }
    if (strcmp(name, "linalg") == 0) { /* with the operation, which is in the key by itself */
        return 20;
    }
    static const char *const padded[] = {
        "binary", "conv",   "einsum", "fft",  "fftshift", "gather", "ifftshift", "layer_norm", "multi_dot", "pool",
        "random", "reduce", "cumsum", "take", "flip",     "roll",   "variance",  "vecdot",     "rnn"};
    for (int i = 0; i < BP__COUNT(padded); i++) {
        if (strcmp(padded[i], name) == 0) {
            return 4;
        }
    }
    return 0;
}

static size_t sum(const unsigned char *bytes, size_t count) {
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += bytes[i];
    }
    return total;
}

static void every_byte_is_described(void **state) {
    (void)state;
    const bp_call *call;
    for (int i = 0; (call = whole_at(i)); i++) {
        const bp_call_info *info = bp_call_get_info(call);
        const bp_call_field *field;
        unsigned char covered[512] = {0};
        assert_true(info->size <= sizeof covered);
        memset(covered, 1, sizeof(size_t)); /* struct_size */
        for (int f = 0; (field = bp_call_field_at(call, f)); f++) {
            for (size_t at = field->offset; at < field->offset + size_of(field); at++) {
                assert_int_equal(covered[at]++, 0);
            }
        }
        assert_int_equal(info->size - sum(covered, info->size), padding_of(info->name));
    }
}

/* Each field of an operation of linear algebra is one of the struct. */
static void fields_of_linear_algebra_are_in_the_key(void **state) {
    (void)state;
    const bp_call *call;
    const bp_call_field *field, *other;
    for (int i = 0; (call = bp_call_at(i)); i++) {
        for (int f = 0; is_linalg(call) && (field = bp_call_field_at(call, f)); f++) {
            int k = 0;
            while ((other = bp_call_field_at(&bp__linalg_any, k)) && other->offset != field->offset) {
                k++;
            }
            if (!other || other->kind != field->kind || other->most < field->most) {
                fail_msg("%s: the key has no field '%s' of this kind", call->info.name, field->name);
            }
        }
    }
}

static void words_have_a_value_each(void **state) {
    (void)state;
    const bp_call *call;
    for (int i = 0; (call = bp_call_at(i)); i++) {
        const bp_call_field *field;
        for (int f = 0; (field = bp_call_field_at(call, f)); f++) {
            int words = field->words != NULL;
            for (const char *at = field->words; at && (at = strchr(at, ',')); at++) {
                words++;
            }
            if (field->words && words != field->most + 1) {
                fail_msg("%s.%s: %d words for %d values", call->info.name, field->name, words, field->most + 1);
            }
            assert_true(field->text && *field->text);
            assert_true(field->most == 0 || field->kind == BP_FIELD_INT);
        }
        assert_ptr_equal(bp_call_named(call->info.name), call);
        assert_true(call->info.text && *call->info.text);
    }
}

static void keys_have_enough_bits(void **state) {
    (void)state;
    const bp_call *call;
    for (int i = 0; (call = whole_at(i)); i++) {
        int bits = 0, parameters = 0;
        if (call->functions) { /* makes its own key, or none */
            continue;
        }
        for (int f = 0; f < call->info.field_count; f++) {
            const bp_call_field *field = &call->fields[f];
            const bool counts = call->ndim_offset >= 0 && field->offset == (size_t)call->ndim_offset;
            const bool array = field->kind == BP_FIELD_SIZES || field->kind == BP_FIELD_AXES;
            const int most = counts ? call->ndim_most - call->ndim_least : field->most;
            bits +=
                field->kind == BP_FIELD_INT || counts
                    ? 32 - __builtin_clz((unsigned)most)
                    : field->kind == BP_FIELD_FLAG || array || field->kind == BP_FIELD_TOLERANCE ||
                          ((field->kind == BP_FIELD_REAL || field->kind == BP_FIELD_NUMBER) && call->sparse_numbers);
            /* Axes, and sizes of any values, are counted in each call. */
            parameters += field->kind == BP_FIELD_NUMBER || field->kind == BP_FIELD_REAL ||
                          field->kind == BP_FIELD_TOLERANCE || (field->kind == BP_FIELD_SIZES && !call->whole_sizes) ||
                          (field->kind == BP_FIELD_SIGNED && !counts);
            assert_true(field->kind <= BP_FIELD_AXES || field->kind == BP_FIELD_TOLERANCE); /* no others have a key */
        }
        bits += call->info.in_place > 0 ? BP__IN_PLACE_BITS : 0;
        assert_true(call->info.in_place <= BP__IN_PLACE_BITS);
        bits += call == &bp__linalg_any ? 1 : BP__PASS_BITS; /* whether items that fail are told */
        assert_true(bits <= BP__TAG_BITS);
        assert_true(call->info.pass_count <= 1 << BP__PASS_BITS);
        assert_true(parameters <= BP__PARAMETERS);
    }
}

/* Returns the name at an index of a list with commas. */
static const char *name_at(const char *names, int index, char name[64]) {
    for (; index > 0; index--) {
        names = strchr(names, ',');
        assert_non_null(names);
        names++;
    }
    snprintf(name, 64, "%.*s", (int)strcspn(names, ","), names);
    return name;
}

static int count_names(const char *names) {
    int count = 1;
    for (; (names = strchr(names, ',')); names++) {
        count++;
    }
    return count;
}

/* The field of a gradient may have the name of the tensor. The gradient with constant statistics takes these in place
 * of the statistics of the batch. */
static bool is_named(const bp_call_operand *operand, const char *name) {
    const char *field = operand->name;
    const size_t length = strlen(field);
    return strcasecmp(field, name) == 0 || (strcmp(field, "output") == 0 && strcmp(name, "C") == 0) ||
           (strncmp(field, name, length) == 0 && strcmp(name + length, "_gradient") == 0) ||
           (strcmp(field, "running_mean") == 0 && strcmp(name, "mean") == 0) ||
           (strcmp(field, "running_var") == 0 && strcmp(name, "inverse_std") == 0);
}

static void check_operands(const bp_call *call, const bp_call_pass *pass) {
    const char *inputs = bp_op_inputs(pass->op), *outputs = bp_op_outputs(pass->op);
    const bp_call_operand *operand;
    assert_int_equal(pass->input_count, count_names(inputs));
    assert_int_equal(pass->operand_count - pass->input_count, count_names(outputs));
    for (int o = 0; (operand = bp_call_operand_at(pass, o)); o++) {
        char name[64];
        const bool output = o >= pass->input_count;
        name_at(output ? outputs : inputs, output ? o - pass->input_count : o, name);
        assert_int_equal(operand->output, output);
        if (!is_named(operand, name)) {
            fail_msg("%s, %s: operand %d is %s, and %s in the list of operations", call->info.name, pass->name, o,
                     operand->name, name);
        }
    }
}

static void operands_are_those_of_the_operation(void **state) {
    (void)state;
    const bp_call *call;
    const bp_call_pass *pass;
    for (int i = 0; (call = bp_call_at(i)); i++) {
        for (int p = 0; (pass = bp_call_pass_at(call, p)); p++) {
            if (pass->op != BP_OP_RANDOM && !call->info.unplanned) { /* whose seed is a parameter of the call */
                check_operands(call, pass);
            }
        }
    }
}

static void what_is_not_there_is_null(void **state) {
    (void)state;
    const bp_call *pool = bp_call_named("pool");
    const bp_call_pass *pass = bp_call_pass_at(pool, 0);
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    bp_plan *plan;
    const bp_random_call numbers = {.struct_size = sizeof numbers};
    assert_non_null(pass);
    assert_null(bp_call_at(-1));
    assert_null(bp_call_named("poo"));
    assert_null(bp_call_named(NULL));
    assert_null(bp_call_get_info(NULL));
    assert_null(bp_call_field_at(pool, -1));
    assert_null(bp_call_pass_at(NULL, 0));
    assert_null(bp_call_operand_at(pass, pass->operand_count));
    assert_int_equal(bp_call_run(NULL, NULL, &numbers), BP_E_ARGUMENT);
    assert_int_equal(bp_call_run(NULL, pool, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_call_plan(&plan, NULL, bp_call_named("random"), &numbers), BP_E_ARGUMENT);
    assert_int_equal(bp_call_shape(pool, NULL, 1, &dtype, &ndim, shape), BP_E_ARGUMENT);
    assert_int_equal(bp_call_shape(bp_call_named("random"), &numbers, 0, &dtype, &ndim, shape), BP_E_UNSUPPORTED);
    assert_int_equal(bp_call_shape(bp_call_named("random"), &numbers, 1, &dtype, &ndim, shape), BP_E_ARGUMENT);
    const bp_pool_call bad = {.struct_size = sizeof bad, .pass = (bp_pool_pass)7};
    assert_null(bp_call_get_pass(pool, &bad));
    assert_int_equal(bp_call_shape(pool, &bad, 1, &dtype, &ndim, shape), BP_E_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_described),
        cmocka_unit_test(fields_of_linear_algebra_are_in_the_key),
        cmocka_unit_test(words_have_a_value_each),
        cmocka_unit_test(keys_have_enough_bits),
        cmocka_unit_test(operands_are_those_of_the_operation),
        cmocka_unit_test(what_is_not_there_is_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
