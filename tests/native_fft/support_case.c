/* support_case.c - makes transforms and runs them on the native provider. */
#include "fft_case.h"

#include <float.h>
#include <math.h>

extern const bp_provider bp_provider_native;

bool fft_runs_here(int capability) {
#if defined(__x86_64__)
    return (int)test_plain_host()->hardware >= capability;
#else
    return capability == BP_CAPABILITY_DEFAULT;
#endif
}

test_transform fft_kind(test_transform what, int which) {
    what.single = which % 2 == 0;
    what.kind = which < 4 ? BP_FFT_C2C : which < 6 ? BP_FFT_R2C : BP_FFT_C2R;
    what.inverse = which == 2 || which == 3 || which > 5;
    return what;
}

void fft_make(fft_run *run, const test_transform *what, unsigned seed) {
    run->what = *what;
    run->what.omits_ones = true; /* as problems of calls are */
    run->what.seed = seed;
    test_make(&run->o, &run->what);
}

void fft_free(fft_run *run) {
    test_release_operands(&run->o);
}

void fft_execute(fft_run *run) {
    void *instance;
    assert_int_equal(bp_provider_native.open(test_plain_host(), NULL, &instance), BP_OK);
    run->verdict = test_verdict(&bp_provider_native, instance, &run->o.problem);
    assert_int_equal(run->verdict.reason, BP_REASON_ACCEPTED);
    assert_true(run->verdict.threads >= 1 && run->verdict.threads <= run->o.problem.policy.threads);
    assert_true(run->verdict.cost_ns > 0 && isfinite(run->verdict.cost_ns));
    assert_non_null(run->verdict.algorithm);
    bp_prepared *prepared = test_plan(&bp_provider_native, instance, &run->o.problem);
    test_execute(prepared, &run->o);
    prepared->destroy(prepared);
    test_check_surroundings(&run->o);
}

wide fft_get(const test_array *side, int64_t index) {
    const bp_scalar value = test_array_get_complex(side, index);
    return value.re + value.im * (wide)I;
}

void fft_set(fft_run *run, int64_t index, wide value) {
    test_array_set_complex(&run->o.in, index, (bp_scalar){(double)creall(value), (double)cimagl(value)});
    test_array_restore(&run->o.in_before, &run->o.in);
}

double fft_epsilon(const fft_run *run) {
    return run->what.single ? (double)FLT_EPSILON : DBL_EPSILON;
}
