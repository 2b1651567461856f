/* test_call_descriptions.c - compares the descriptions of calls (src/ops/<family>/call.h) with the structs that they
 * describe, and with the list of operations. A field that a description lacks would be in no key of the thread cache,
 * so that a call could run the plan of another one. */
#include "ops/attention/call.h"
#include "ops/conv/call.h"
#include "ops/norm/call.h"
#include "ops/norm/layer_call.h"
#include "ops/pool/call.h"
#include "ops/rnn/call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct description {
    const char *name;
    size_t size;    /* of the struct */
    size_t padding; /* bytes of it that no field has, because of alignment */
    const bp__field *fields;
    int field_count;
    const bp__pass *passes;
    int pass_count;
} description;

#define DESCRIPTION(name, type, padding, fields, passes)                                                               \
    {                                                                                                                  \
#name, sizeof(type), padding, fields, BP__COUNT(fields), (const bp__pass *)(passes),                           \
            sizeof(passes) / sizeof(bp__pass)                                                                          \
    }
static const description all[] = {
    DESCRIPTION(attention, bp_attention_call, 0, bp__attention_fields, bp__attention_passes),
    DESCRIPTION(batch_norm, bp_batch_norm_call, 0, bp__norm_fields, bp__norm_passes),
    DESCRIPTION(conv, bp_conv_call, 4, bp__conv_fields, bp__conv_passes),
    DESCRIPTION(layer_norm, bp_layer_norm_call, 4, bp__layer_fields, bp__layer_passes),
    DESCRIPTION(pool, bp_pool_call, 4, bp__pool_fields, bp__pool_passes),
    DESCRIPTION(rnn, bp_rnn_call, 0, bp__rnn_fields, bp__rnn_passes),
};

static size_t size_of(const bp__field *field) {
    return field->kind == BP__FIELD_WORD || field->kind == BP__FIELD_FLAG ? 4 : 8;
}

static void every_field_is_described(void **state) {
    (void)state;
    for (int i = 0; i < BP__COUNT(all); i++) {
        unsigned char covered[512] = {0};
        size_t bytes = sizeof(size_t); /* struct_size */
        assert_true(all[i].size <= sizeof covered);
        memset(covered, 1, bytes);
        for (int f = 0; f < all[i].field_count; f++) {
            const bp__field *field = &all[i].fields[f];
            for (size_t at = field->offset; at < field->offset + size_of(field); at++) {
                assert_int_equal(covered[at]++, 0);
            }
            bytes += size_of(field);
        }
        if (bytes + all[i].padding != all[i].size) {
            fail_msg("%s: the fields have %zu bytes, and the struct %zu", all[i].name, bytes, all[i].size);
        }
    }
}

static void keys_have_enough_bits(void **state) {
    (void)state;
    for (int i = 0; i < BP__COUNT(all); i++) {
        int bits = 0, parameters = 0;
        for (int f = 0; f < all[i].field_count; f++) {
            const bp__field *field = &all[i].fields[f];
            bits += field->kind == BP__FIELD_WORD                                     ? 32 - __builtin_clz(field->most)
                    : field->kind == BP__FIELD_FLAG || field->kind == BP__FIELD_SIZES ? 1
                                                                                      : 0;
            parameters +=
                field->kind == BP__FIELD_NUMBER || field->kind == BP__FIELD_REAL || field->kind == BP__FIELD_SIZES;
        }
        assert_true(bits + BP__PASS_BITS <= BP__TAG_BITS);
        assert_true(all[i].pass_count <= 1 << BP__PASS_BITS);
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
static bool is_named(const bp__pass *pass, const char *field, const char *name) {
    const size_t length = strlen(field);
    const bool constant = pass == &bp__norm_passes[BP__NORM_BACKWARD_CONSTANT];
    return strcmp(field, name) == 0 || (strncmp(field, name, length) == 0 && strcmp(name + length, "_gradient") == 0) ||
           (constant && strcmp(field, "running_mean") == 0 && strcmp(name, "mean") == 0) ||
           (constant && strcmp(field, "running_var") == 0 && strcmp(name, "inverse_std") == 0);
}

static void operands_are_those_of_the_operation(void **state) {
    (void)state;
    for (int i = 0; i < BP__COUNT(all); i++) {
        for (int p = 0; p < all[i].pass_count; p++) {
            const bp__pass *pass = &all[i].passes[p];
            const char *inputs = bp_op_inputs(pass->op), *outputs = bp_op_outputs(pass->op);
            assert_int_equal(pass->inputs, count_names(inputs));
            assert_int_equal(pass->count - pass->inputs, count_names(outputs));
            for (int o = 0; o < pass->count; o++) {
                char name[64];
                const bool output = o >= pass->inputs;
                name_at(output ? outputs : inputs, output ? o - pass->inputs : o, name);
                assert_int_equal(pass->operand[o].output, output);
                if (!is_named(pass, pass->operand[o].name, name)) {
                    fail_msg("%s, %s: operand %d is %s, and %s in the list of operations", all[i].name, pass->name, o,
                             pass->operand[o].name, name);
                }
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_described),
        cmocka_unit_test(keys_have_enough_bits),
        cmocka_unit_test(operands_are_those_of_the_operation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
