/* support_host.c - the host that the tests pass to the provider. */
#include "blas/support_blas.h"

#include "dispatch/internal.h"
#include "machine/internal.h"
#include "tensor/internal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

char test_error[1024], test_warning[1024];
atomic_int test_warnings;
int64_t test_blocks;
int test_fail_allocation;
bool test_fail_scratch;
void *(*test_fake)(const char *name);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile uint32_t forks;

static void *allocate(size_t size) {
    pthread_mutex_lock(&mutex);
    bool fails = test_fail_allocation > 0 && --test_fail_allocation == 0;
    test_blocks += !fails;
    pthread_mutex_unlock(&mutex);
    return fails ? NULL : aligned_alloc(64, (size + 63) & ~(size_t)63);
}

static void release(void *block) {
    pthread_mutex_lock(&mutex);
    test_blocks -= block != NULL;
    pthread_mutex_unlock(&mutex);
    free(block);
}

static pthread_key_t scratch_key;

static void *scratch(size_t size) {
    if (test_fail_scratch) {
        return NULL;
    }
    free(pthread_getspecific(scratch_key));
    void *block = aligned_alloc(64, (size + 63) & ~(size_t)63);
    pthread_setspecific(scratch_key, block);
    return block;
}

static bp_status keep_failure(bp_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&mutex);
    vsnprintf(test_error, sizeof test_error, format, args);
    pthread_mutex_unlock(&mutex);
    va_end(args);
    return status;
}

static void warn(const char *format, ...) {
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&mutex);
    vsnprintf(test_warning, sizeof test_warning, format, args);
    pthread_mutex_unlock(&mutex);
    va_end(args);
    test_warnings++;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEEPBIND 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DEEPBIND 0
#endif
#endif
#ifndef DEEPBIND
#define DEEPBIND RTLD_DEEPBIND
#endif

static char no_library;

static bp_status open_library(const bp_library_info *library, void **handle) {
    *handle = test_fake ? &no_library : dlopen(library->path, RTLD_NOW | RTLD_LOCAL | DEEPBIND);
    return *handle ? BP_OK : keep_failure(BP_E_LOAD, "%s: %s", library->path, dlerror());
}

static void *symbol(void *handle, const char *name) {
    return handle == &no_library ? test_fake(name) : dlsym(handle, name);
}

static void count_fork(void) {
    forks++;
}

static bp_host host;
static const bp_machine_info machine = {
    .struct_size = sizeof machine, .l3_bytes = 32 << 20, .usable_cpus = TEST_PROCESSORS};

static void make_host(void) {
    pthread_key_create(&scratch_key, free);
    pthread_atfork(NULL, NULL, count_fork);
    host = (bp_host){.abi = BP_PROVIDER_ABI,
                     .struct_size = sizeof host,
                     .allocate = allocate,
                     .release = release,
                     .scratch = scratch,
                     .parallel = bp__parallel,
                     .fail = keep_failure,
                     .warn = warn,
                     .open_library = open_library,
                     .symbol = symbol,
                     .copy_matrix = bp__copy_matrix,
                     .machine = &machine,
                     .hardware = BP_CAPABILITY_AVX2,
                     .fork_count = &forks,
                     .interrupt_due = bp__interrupt_due,
                     .interrupted = bp__operation_interrupted,
                     .keep_unset = bp__env_keep_unset,
                     .threads_start_error = bp__threads_start_error};
}

const bp_host *test_host(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_host);
    return &host;
}
