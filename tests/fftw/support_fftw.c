/* support_fftw.c - see support_fftw.h. */
#include "fftw/support_fftw.h"

#include "dispatch/internal.h"

#include <pthread.h>

int test_fail_allocation, test_blocks;
bool test_fail_scratch;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bp_host host;

static void *allocate(size_t size) {
    pthread_mutex_lock(&mutex);
    bool fails = test_fail_allocation > 0 && --test_fail_allocation == 0;
    test_blocks += !fails;
    pthread_mutex_unlock(&mutex);
    return fails ? NULL : bp__host()->allocate(size);
}

static void release(void *block) {
    pthread_mutex_lock(&mutex);
    test_blocks -= block != NULL;
    pthread_mutex_unlock(&mutex);
    bp__host()->release(block);
}

static void *scratch(size_t size) {
    return test_fail_scratch ? NULL : bp__host()->scratch(size);
}

static void make_host(void) {
    host = *bp__host();
    host.allocate = allocate;
    host.release = release;
    host.scratch = scratch;
}

const bp_host *test_host(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_host);
    return &host;
}

static void *open_row(const char *id) {
    const bp_library_info *row = test_library(id);
    void *instance = NULL;
    if (row) {
        assert_int_equal(bp_provider_fftw.open(test_host(), row, &instance), BP_OK);
    }
    return instance;
}

void test_open_all(test_fftw *f) {
    f->transforms[0] = open_row("fftw");
    f->transforms[1] = open_row("fftwf");
    f->threads[0] = open_row("fftw-threads");
    f->threads[1] = open_row("fftwf-threads");
}

void test_close_all(test_fftw *f) {
    for (int i = 0; i < 2; i++) {
        if (f->transforms[i]) {
            bp_provider_fftw.close(f->transforms[i]);
        }
        if (f->threads[i]) {
            bp_provider_fftw.close(f->threads[i]);
        }
    }
}
