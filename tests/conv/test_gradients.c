/* test_gradients.c - compares the gradients of convolutions, on every algorithm that accepts them, with finite
 * differences of the forward pass in f64.
 *
 * For a random tensor g, the gradients of the sum of g output, in a random direction d, must be the difference of that
 * sum at both sides. The sum is linear in input, weight and bias, so that differences have rounding errors only. */
#include "conv/cases.h"
#include "support/passes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 300 };

/* Of the sum of the absolute values of all terms. */
#define BOUND 1e-12

static void run(const bp_conv_call *call, const char *settings, const char *text) {
    bp_options *options;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    if (bp_conv_run(options, call) != BP_OK) {
        fail_msg("%s, %s: %s", text, settings, bp_last_error());
    }
    bp_options_release(options);
}

static void fill(test_array *t) {
    for (int64_t i = 0; i < test_array_count(t); i++) {
        test_array_set(t, i, (double)test_array_between(0, 2000000) / 1e6 - 1);
    }
}

/* Returns the sum of the products of all elements, and adds the products of their absolute values to *size. */
static double dot(const test_array *a, const test_array *b, double *size) {
    double sum = 0;
    for (int64_t i = 0; i < test_array_count(a); i++) {
        sum += test_array_get(a, i) * test_array_get(b, i);
        *size += fabs(test_array_get(a, i) * test_array_get(b, i));
    }
    return sum;
}

/* Returns the sum of g output after `sign` times the direction was added to a tensor. */
static double loss(conv_case *c, test_array *moved, const test_array *direction, double sign, const test_array *g,
                   double *size) {
    test_array kept;
    test_array_copy(&kept, moved);
    for (int64_t i = 0; i < test_array_count(moved); i++) {
        test_array_set(moved, i, test_array_get(moved, i) + sign * test_array_get(direction, i));
    }
    run(&c->call, "conv.preferred=native:implicit", c->text);
    for (int64_t i = 0; i < test_array_count(moved); i++) {
        test_array_set(moved, i, test_array_get(&kept, i));
    }
    test_array_free(&kept);
    return dot(g, &c->output, size);
}

/* Compares a gradient with the difference in a random direction. */
static void compare(conv_case *c, test_array *moved, const test_array *gradient, const test_array *g,
                    const char *settings) {
    test_array direction;
    double size = 0;
    test_array_copy(&direction, moved);
    fill(&direction);
    const double expected = (loss(c, moved, &direction, 1, g, &size) - loss(c, moved, &direction, -1, g, &size)) / 2;
    const double got = dot(gradient, &direction, &size);
    if (!(fabs(got - expected) <= BOUND * size + 1e-15)) {
        fail_msg("%s, %s: the derivative is %.17g, not %.17g", c->text, settings, got, expected);
    }
    test_array_free(&direction);
}

/* Computes the gradients of one pass with one candidate. */
static void check(conv_case *c, bp_conv_pass pass, const test_array *g, const char *settings) {
    bp_conv_call call = c->call;
    test_array own, bias;
    const bool by_bias = pass == BP_CONV_WEIGHT && call.bias;
    test_array *moved = pass == BP_CONV_INPUT ? &c->input : &c->weight;
    test_array_copy(&own, moved);
    *(pass == BP_CONV_INPUT ? &call.input : &call.weight) = &own.view.tensor;
    if (by_bias) {
        test_array_copy(&bias, &c->bias);
    }
    call.bias = by_bias ? &bias.view.tensor : NULL;
    test_call_to_pass("conv", &call, (int)pass);
    call.output_gradient = &g->view.tensor;
    run(&call, settings, c->text);
    compare(c, moved, &own, g, settings);
    if (by_bias) {
        compare(c, &c->bias, &bias, g, settings);
        test_array_free(&bias);
    }
    test_array_free(&own);
}

/* Checks every candidate that accepts the pass. Returns their number. */
static int check_all(conv_case *c, bp_conv_pass pass) {
    bp_explanation *explanation;
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    test_array g;
    bp_conv_call call = c->call;
    int count = 0;
    test_array_copy(&g, &c->output);
    fill(&g);
    call.bias = pass == BP_CONV_WEIGHT ? call.bias : NULL;
    test_call_to_pass("conv", &call, (int)pass);
    assert_int_equal(bp_conv_explain(&explanation, NULL, &call), BP_OK);
    for (int i = 0; bp_explanation_at(explanation, i, &candidate); i++) {
        char settings[192];
        if (candidate.accepted) {
            snprintf(settings, sizeof settings, "conv.preferred=%s:%.*s,dispatch.fallback=strict", candidate.library,
                     (int)strcspn(candidate.algorithm, " "), candidate.algorithm);
            check(c, pass, &g, settings);
            count++;
        }
    }
    bp_explanation_release(explanation);
    test_array_free(&g);
    return count;
}

static void gradients_are_derivatives(void **state) {
    (void)state;
    test_array_random = 60221;
    int checked = 0;
    for (int i = 0; i < CASES; i++) {
        const conv_limits limits = {
            .dtype = BP_F64, .most_channels = i % 3 ? 5 : 1, .most_size = 9, .most_groups = 9, .unit_stride = i % 2};
        conv_case c;
        conv_make(&c, &limits, false);
        c.call.activation = BP_UNARY_COPY;
        checked += check_all(&c, BP_CONV_INPUT);
        checked += check_all(&c, BP_CONV_WEIGHT);
        conv_free(&c);
    }
    assert_true(checked > 3 * CASES);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_are_derivatives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
