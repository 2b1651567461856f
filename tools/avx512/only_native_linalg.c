/* only_native_linalg.c - runs the tests of small linear algebra on AVX-512 only (see only.c). */
#include "linalg.h"

#include "only.h"

#include <string.h>

void __real_check_task(const task *t);
bool __real_runs_here(kernels set);
bp_status __real_run_task(operands *o);
void __wrap_check_task(const task *t);
bool __wrap_runs_here(kernels set);
bp_status __wrap_run_task(operands *o);

bool __wrap_runs_here(kernels set) {
    only_require_avx512(__real_runs_here(KERNELS_AVX512));
    return set == KERNELS_AVX512;
}

void __wrap_check_task(const task *t) {
    if (only_next_check()) {
        __real_check_task(t);
    }
}

/* Also checks the verdict's algorithm, because another kernel set would pass these tests too. */
bp_status __wrap_run_task(operands *o) {
    const bp_status status = __real_run_task(o);
    const char *algorithm = o->verdict.algorithm;
    if (o->t.set == KERNELS_AVX512 && algorithm) {
        assert_true(strstr(algorithm, "avx512") || strcmp(algorithm, "nothing to do") == 0);
    }
    return status;
}
