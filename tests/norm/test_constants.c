/* test_constants.c - gradients of batch normalization with constant statistics, next to those with the batch's. */
#include "backplane.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A gradient with statistics of the batch and one with constants have the same tensors at the same positions. */
static void statistics_of_the_batch_and_constants(void **state) {
    double x[] = {1, 2, 3, 5}, g[] = {1, 0, 0, 2}, mean[] = {2.75}, inverse[] = {0.5}, got[2][4];
    bp_view input, slope, first, second, out;
    (void)state;
    bp_view_init(&input, x, BP_F64, 2, (const int64_t[]){4, 1}, NULL);
    bp_view_init(&slope, g, BP_F64, 2, (const int64_t[]){4, 1}, NULL);
    bp_view_init(&first, mean, BP_F64, 1, (const int64_t[]){1}, NULL);
    bp_view_init(&second, inverse, BP_F64, 1, (const int64_t[]){1}, NULL);
    for (int i = 0; i < 4; i++) { /* each twice, so that it finds the plan of its own first run */
        bp_view_init(&out, got[i % 2], BP_F64, 2, (const int64_t[]){4, 1}, NULL);
        bp_batch_norm_call call = {.struct_size = sizeof call,
                                   .pass = BP_BATCH_NORM_BACKWARD,
                                   .input = &input.tensor,
                                   .output_gradient = &slope.tensor,
                                   .input_gradient = &out.tensor};
        *(i % 2 ? &call.running_mean : &call.mean) = &first.tensor;
        *(i % 2 ? &call.running_var : &call.inverse_std) = &second.tensor;
        assert_int_equal(bp_batch_norm_run(NULL, &call), BP_OK);
    }
    double sums[2] = {0, 0};
    for (int i = 0; i < 4; i++) {
        sums[0] += g[i];
        sums[1] += g[i] * (x[i] - mean[0]) * inverse[0];
    }
    for (int i = 0; i < 4; i++) {
        const double hat = (x[i] - mean[0]) * inverse[0];
        assert_true(fabs(got[0][i] - inverse[0] * (g[i] - sums[0] / 4 - hat * sums[1] / 4)) < 1e-14);
        assert_true(fabs(got[1][i] - g[i] / sqrt(inverse[0])) < 1e-14);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(statistics_of_the_batch_and_constants)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
