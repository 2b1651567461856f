/* only_native.c - products on AVX-512 alone: see only.c. */
#include "native.h"

#include "only.h"

void __real_check_product(const product *p);
bool __real_runs_here(kernels set);
void __wrap_check_product(const product *p);
bool __wrap_runs_here(kernels set);

bool __wrap_runs_here(kernels set) {
    only_with(__real_runs_here(KERNELS_AVX512));
    return set == KERNELS_AVX512;
}

void __wrap_check_product(const product *p) {
    if (only_turn()) {
        __real_check_product(p);
    }
}
