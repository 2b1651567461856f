/* support_transforms.c - implements transforms.h. */
#include "ops/transforms.h"

#include "reference/results.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

double test_transform_error(const bp_fft_call *call, const DLTensor *in, const DLTensor *out) {
    reference_results made;
    double error;
    assert_int_equal(reference_of_fft(&made, call, in, out), BP_OK);
    assert_int_equal(reference_error(&made.of[0].values, out, &error), BP_OK);
    const double bound = reference_bound(&made.of[0].values, bp_dtype_from_dlpack(out->dtype));
    reference_results_free(&made);
    return error / bound;
}

void test_transform(const bp_fft_call *call, bp_dtype dtype, int ndim, const int64_t *shape, test_order in_order,
                    test_order out_order, unsigned *seed) {
    test_tensor in, out;
    bp_dtype out_dtype;
    int out_ndim;
    int64_t out_shape[BP_MAX_NDIM];
    test_tensor_new(&in, dtype, ndim, shape, in_order, seed);
    if (bp_fft_shape(call, &in.view.tensor, &out_dtype, &out_ndim, out_shape) != BP_OK) {
        fail_msg("no shape: %s", bp_last_error());
    }
    for (int again = 0; again < 2; again++) {
        test_tensor_new(&out, out_dtype, out_ndim, out_shape, out_order, seed);
        bp_status status = bp_fft_run(NULL, call, &in.view.tensor, &out.view.tensor);
        double error = status == BP_OK ? test_transform_error(call, &in.view.tensor, &out.view.tensor) : INFINITY;
        if (!(error <= 1.0)) {
            fail_msg(
                "transform %d norm %d of %s, last size %d of %d, layouts %d %d, round %d: error is %g of its bound "
                "(%s)",
                call->transform, call->norm, bp_dtype_name(dtype), ndim ? (int)shape[ndim - 1] : 0, ndim, in_order,
                out_order, again, error, status == BP_OK ? "" : bp_last_error());
        }
        test_tensor_check_guards(&out);
        test_tensor_free(&out);
    }
    test_array_check_unchanged(&in.array, &in.before, "the input");
    test_tensor_free(&in);
}

const char *const test_transform_libraries[] = {"plain-dft", "native", NULL};

int test_transform_setup(void **state) {
    bool good = bp_reset() == BP_OK && bp_set("fft.preferred", *state) == BP_OK &&
                bp_set("dispatch.fallback", "strict") == BP_OK;
    return good ? 0 : -1;
}

void test_transform_environment(void) {
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/no-such-folder", 1);
    setenv("BACKPLANE_PROVIDER_PATH", BP_TEST_BUILD_DIR "/tests/ops-fakes", 1);
}
