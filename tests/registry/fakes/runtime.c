/* runtime.c - the symbols that identify an OpenMP runtime, without its functions. */
#ifdef FAKE_LIBOMP
__attribute__((visibility("default"))) void __kmpc_fork_call(void);
void __kmpc_fork_call(void) {
}
#endif
__attribute__((visibility("default"))) void GOMP_parallel(void);
void GOMP_parallel(void) {
}
__attribute__((visibility("default"))) int omp_get_num_threads(void);
int omp_get_num_threads(void) {
    return 1;
}
