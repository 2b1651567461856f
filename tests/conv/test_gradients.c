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

static void fill(conv_tensor *t, uint64_t *random) {
    for (int64_t i = 0; i < conv_elements(t); i++) {
        conv_set(t, i, (double)(int64_t)(conv_random(random) % 2000001) / 1e6 - 1);
    }
}

/* Returns the sum of the products of all elements, and adds the products of their absolute values to *size. */
static double dot(const conv_tensor *a, const conv_tensor *b, double *size) {
    double sum = 0;
    for (int64_t i = 0; i < conv_elements(a); i++) {
        sum += conv_get(a, i) * conv_get(b, i);
        *size += fabs(conv_get(a, i) * conv_get(b, i));
    }
    return sum;
}

/* Returns the sum of g output after `sign` times the direction was added to a tensor. */
static double loss(conv_case *c, conv_tensor *moved, const conv_tensor *direction, double sign, const conv_tensor *g,
                   double *size) {
    conv_tensor kept;
    conv_copy(&kept, moved);
    for (int64_t i = 0; i < conv_elements(moved); i++) {
        conv_set(moved, i, conv_get(moved, i) + sign * conv_get(direction, i));
    }
    run(&c->call, "conv.preferred=native:implicit", c->text);
    for (int64_t i = 0; i < conv_elements(moved); i++) {
        conv_set(moved, i, conv_get(&kept, i));
    }
    conv_free_tensor(&kept);
    return dot(g, &c->output, size);
}

/* Compares a gradient with the difference in a random direction. */
static void compare(conv_case *c, conv_tensor *moved, const conv_tensor *gradient, const conv_tensor *g,
                    uint64_t *random, const char *settings) {
    conv_tensor direction;
    double size = 0;
    conv_copy(&direction, moved);
    fill(&direction, random);
    const double expected = (loss(c, moved, &direction, 1, g, &size) - loss(c, moved, &direction, -1, g, &size)) / 2;
    const double got = dot(gradient, &direction, &size);
    if (!(fabs(got - expected) <= BOUND * size + 1e-15)) {
        fail_msg("%s, %s: the derivative is %.17g, not %.17g", c->text, settings, got, expected);
    }
    conv_free_tensor(&direction);
}

/* Computes the gradients of one pass with one candidate. */
static void check(conv_case *c, bp_conv_pass pass, const conv_tensor *g, uint64_t *random, const char *settings) {
    bp_conv_call call = c->call;
    conv_tensor own, bias;
    const bool by_bias = pass == BP_CONV_WEIGHT && call.bias;
    conv_tensor *moved = pass == BP_CONV_INPUT ? &c->input : &c->weight;
    conv_copy(&own, moved);
    *(pass == BP_CONV_INPUT ? &call.input : &call.weight) = &own.view.tensor;
    if (by_bias) {
        conv_copy(&bias, &c->bias);
    }
    call.bias = by_bias ? &bias.view.tensor : NULL;
    test_call_to_pass("conv", &call, (int)pass);
    call.output_gradient = &g->view.tensor;
    run(&call, settings, c->text);
    compare(c, moved, &own, g, random, settings);
    if (by_bias) {
        compare(c, &c->bias, &bias, g, random, settings);
        conv_free_tensor(&bias);
    }
    conv_free_tensor(&own);
}

/* Checks every candidate that accepts the pass. Returns their number. */
static int check_all(conv_case *c, bp_conv_pass pass, uint64_t *random) {
    bp_explanation *explanation;
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    conv_tensor g;
    bp_conv_call call = c->call;
    int count = 0;
    conv_copy(&g, &c->output);
    fill(&g, random);
    call.bias = pass == BP_CONV_WEIGHT ? call.bias : NULL;
    test_call_to_pass("conv", &call, (int)pass);
    assert_int_equal(bp_conv_explain(&explanation, NULL, &call), BP_OK);
    for (int i = 0; bp_explanation_at(explanation, i, &candidate); i++) {
        char settings[192];
        if (candidate.accepted) {
            snprintf(settings, sizeof settings, "conv.preferred=%s:%.*s,dispatch.fallback=strict", candidate.library,
                     (int)strcspn(candidate.algorithm, " "), candidate.algorithm);
            check(c, pass, &g, random, settings);
            count++;
        }
    }
    bp_explanation_release(explanation);
    conv_free_tensor(&g);
    return count;
}

static void gradients_are_derivatives(void **state) {
    (void)state;
    uint64_t random = 60221;
    int checked = 0;
    for (int i = 0; i < CASES; i++) {
        const conv_limits limits = {
            .dtype = BP_F64, .most_channels = i % 3 ? 5 : 1, .most_size = 9, .most_groups = 9, .unit_stride = i % 2};
        conv_case c;
        conv_make(&c, &random, &limits, false);
        c.call.activation = BP_UNARY_COPY;
        checked += check_all(&c, BP_CONV_INPUT, &random);
        checked += check_all(&c, BP_CONV_WEIGHT, &random);
        conv_free(&c);
    }
    assert_true(checked > 3 * CASES);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_are_derivatives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
