/* only_native.c - runs the tests of products on AVX-512 only (see only.c). */
#include "native.h"

#include "only.h"

void __real_check_product(const product *p);
bool __real_runs_here(kernels set);
void __wrap_check_product(const product *p);
bool __wrap_runs_here(kernels set);

bool __wrap_runs_here(kernels set) {
    only_require_avx512(__real_runs_here(KERNELS_AVX512));
    return set == KERNELS_AVX512;
}

void __wrap_check_product(const product *p) {
    if (only_next_check()) {
        __real_check_product(p);
    }
}
