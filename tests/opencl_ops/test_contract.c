/* test_contract.c - contractions on an OpenCL device, as einsum makes them: copies, transposes, diagonals, sums, and
 * products of elements, against sums in long double. */
#include "device_array.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long double complex number;

enum { LABELS = 8 };

typedef struct expression {
    const char *text; /* labels are a to h */
    int64_t size[LABELS];
} expression;

static const expression some[] = {
    {"ab->ba", {37, 50}},
    {"abc->cab", {5, 33, 17}},
    {"aa->a", {40}},
    {"aab->ba", {13, 30}},
    {"ab->a", {7, 300}},
    {"ab->b", {300, 19}},
    {"abc->b", {5, 40, 21}},
    {"ab->", {90, 121}},
    {"a->", {30011}},
    {"ab,ab->ab", {31, 17}},
    {"ab,ab->", {70, 90}},
    {"a,b->ab", {23, 40}},
    {"ab,b->ab", {9, 50}},
    {"ab,ab->a", {17, 60}},
    {"abc,cab->b", {6, 11, 30}},
    {"ab,bc->ac", {19, 70, 33}},
    {"abc,acd->abd", {4, 9, 20, 7}},
    {"ab,cb->", {5, 30, 8}},
    {"a,a->", {50000}},
    {"ab->ab", {3, 5}},
    {"ab,ac->abc", {4, 6, 35}},
    {"ab->a", {6, 0}},
    {"abcdef->fadbec", {2, 3, 2, 4, 3, 5}},
    {"abcd,badc->ad", {3, 4, 5, 6}},
};

static number value_of(const device_array *t, int64_t index) {
    return device_array_re(t, index) + device_array_im(t, index) * (number)I;
}

/* Splits the text into the labels of the operands and of the output. Returns the number of operands. */
static int split(const char *text, char labels[3][16]) {
    int operand = 0;
    size_t at = 0;
    memset(labels, 0, 3 * 16);
    for (const char *c = text; *c; c++) {
        if (*c == ',' || *c == '-') {
            operand++;
            at = 0;
        } else if (*c != '>') {
            labels[operand][at++] = *c;
        }
    }
    return operand;
}

static int64_t index_of(const char *labels, const int64_t *size, const int64_t *at) {
    int64_t index = 0;
    for (const char *c = labels; *c; c++) {
        index = index * size[*c - 'a'] + at[*c - 'a'];
    }
    return index;
}

static void make(device_array *t, bp_dtype dtype, const char *labels, const int64_t *size, bool output) {
    int64_t shape[16];
    int ndim = 0;
    for (const char *c = labels; *c; c++) {
        shape[ndim++] = size[*c - 'a'];
    }
    const unsigned broadcast =
        !output && ndim > 1 && test_array_between(0, 5) == 0 ? 1u << test_array_between(0, ndim - 1) : 0;
    device_array_make(t, dtype, ndim, shape, (test_layout)test_array_between(0, TEST_LAYOUTS - 1), broadcast);
    device_array_fill(t);
}

static void check(const expression *e, bp_dtype dtype) {
    char text[96], labels[3][16];
    device_array t[3];
    const int operands = split(e->text, labels);
    int64_t results = 1, terms = 1;
    snprintf(text, sizeof text, "%s of %s", e->text, bp_dtype_name(dtype));
    for (int i = 0; i <= operands; i++) {
        make(&t[i], dtype, labels[i], e->size, i == operands);
    }
    const DLTensor *inputs[] = {&t[0].tensor, &t[1].tensor};
    const bp_einsum_call call = {
        .struct_size = sizeof call, .expression = e->text, .operands = inputs, .count = operands};
    assert_ok(bp_einsum_run(NULL, &call, &t[operands].tensor));
    device_array *const out = &t[operands];
    device_array_fetch(out, text);
    char summed[LABELS + 1] = "";
    for (char label = 'a'; label < 'a' + LABELS; label++) {
        const bool used = strchr(labels[0], label) || (operands == 2 && strchr(labels[1], label));
        if (strchr(labels[operands], label)) {
            results *= e->size[label - 'a'];
        } else if (used) {
            terms *= e->size[label - 'a'];
            strncat(summed, &label, 1);
        }
    }
    for (int64_t i = 0; i < results; i++) {
        int64_t at[LABELS] = {0}, rest = i;
        for (size_t l = strlen(labels[operands]); l > 0; l--) {
            const int label = labels[operands][l - 1] - 'a';
            at[label] = rest % e->size[label];
            rest /= e->size[label];
        }
        number sum = 0;
        long double size = 0;
        for (int64_t j = 0; j < terms; j++) {
            rest = j;
            for (const char *c = summed; *c; c++) {
                at[*c - 'a'] = rest % e->size[*c - 'a'];
                rest /= e->size[*c - 'a'];
            }
            number term = value_of(&t[0], index_of(labels[0], e->size, at));
            term *= operands == 2 ? value_of(&t[1], index_of(labels[1], e->size, at)) : 1;
            sum += term;
            size += cabsl(term);
        }
        const bool moves = operands == 1 && terms == 1;
        const double bound = moves ? 0
                                   : 4 * (double)(terms + 2) * device_compute_eps(dtype) * (double)size +
                                         2 * device_eps(dtype) * (double)cabsl(sum) + 2 * device_tiny(dtype);
        assert_close(text, i, device_array_re(out, i), (double)creall(sum), bound);
        assert_close(text, i, device_array_im(out, i), (double)cimagl(sum), bound);
    }
    for (int i = 0; i <= operands; i++) {
        device_array_free(&t[i]);
    }
}

static void test_all(void **state) {
    static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16, BP_C64, BP_C128};
    (void)state;
    test_device_need();
    for (int i = 0; i < 6; i++) {
        for (size_t e = 0; e < sizeof some / sizeof *some; e++) {
            if (!test_device_leaves_out((e + (size_t)i) % 3 != 0)) { /* two of the types */
                check(&some[e], types[i]);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, test_device_setup, NULL);
}
