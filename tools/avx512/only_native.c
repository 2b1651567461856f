/* only_native.c - runs the tests of products on AVX-512 only (see only.c), or on AVX512_BF16 only if KERNELS is bf16.
 */
#include "native.h"

#include "only.h"

#include <stdlib.h>
#include <string.h>

void __real_check_product(const product *p);
bool __real_runs_here(kernels set);
void __wrap_check_product(const product *p);
bool __wrap_runs_here(kernels set);

bool __wrap_runs_here(kernels set) {
    const char *name = getenv("KERNELS");
    const kernels only = name && strcmp(name, "bf16") == 0 ? KERNELS_BF16 : KERNELS_AVX512;
    only_require_avx512(__real_runs_here(only));
    return set == only;
}

void __wrap_check_product(const product *p) {
    if (only_next_check()) {
        __real_check_product(p);
    }
}
