/* alone.c - a fake LAPACK without its own BLAS: it needs the library that it is linked to. */
#include <stdint.h>

__attribute__((visibility("default"))) void dpotrf_(void);
__attribute__((visibility("default"))) void ilaver_(int32_t *major, int32_t *minor, int32_t *patch);

void dgemm_(void);
void (*const needs_product)(void) = dgemm_;

void dpotrf_(void) {
}

void ilaver_(int32_t *major, int32_t *minor, int32_t *patch) {
    *major = 3;
    *minor = 9;
    *patch = 1;
}
