/* only_native_linalg.c - small linear algebra on AVX-512 alone: see only.c. */
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
    only_with(__real_runs_here(KERNELS_AVX512));
    return set == KERNELS_AVX512;
}

void __wrap_check_task(const task *t) {
    if (only_turn()) {
        __real_check_task(t);
    }
}

/* What the verdict says, too: another kernel set would pass these tests as well. */
bp_status __wrap_run_task(operands *o) {
    const bp_status status = __real_run_task(o);
    const char *algorithm = o->verdict.algorithm;
    if (o->t.set == KERNELS_AVX512 && algorithm) {
        assert_true(strstr(algorithm, "avx512") || strcmp(algorithm, "nothing to do") == 0);
    }
    return status;
}
