/* marked.c - the interface of a known library family in addition to the BLAS: version, kernels and thread settings. */
__attribute__((visibility("default"))) const char *openblas_get_config(void);
__attribute__((visibility("default"))) const char *openblas_get_corename(void);
__attribute__((visibility("default"))) int openblas_get_parallel(void);
__attribute__((visibility("default"))) void openblas_set_num_threads(int count);
__attribute__((visibility("default"))) int openblas_get_num_threads(void);
__attribute__((visibility("default"))) void openblas_dgemm_body(void);

const char *openblas_get_config(void) {
    return "OpenBLAS 9.8.7 DYNAMIC_ARCH Testbridge MAX_THREADS=2";
}

const char *openblas_get_corename(void) {
    return "Testbridge";
}

int openblas_get_parallel(void) {
    return 0;
}

static _Thread_local int threads = 1;

void openblas_set_num_threads(int count) {
    threads = count;
}

int openblas_get_num_threads(void) {
    return threads;
}

void openblas_dgemm_body(void) {
}
