/* forward.c - a library with the name of the BLAS whose work is done by another one. */
void openblas_dgemm_body(void);
__attribute__((visibility("default"))) void dgemm_(void);
void dgemm_(void) {
    openblas_dgemm_body();
}
