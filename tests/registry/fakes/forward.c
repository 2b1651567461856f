/* forward.c - a fake library that exports BLAS names and forwards them to another library. */
void openblas_dgemm_body(void);
__attribute__((visibility("default"))) void dgemm_(void);
void dgemm_(void) {
    openblas_dgemm_body();
}
