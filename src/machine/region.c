/* region.c - detects whether the calling thread is inside a parallel region of an OpenMP runtime of this process.
 *
 * A call from inside a region must not start threads, because the program has one thread for each core already. Every
 * call needs this, so a thread keeps one function to call (bp__region_get_test). Runtimes are searched for only when
 * plans are made.
 *
 * libgomp answers from thread-local memory. LLVM's runtime (libomp, libiomp5) starts when omp_in_parallel() is called,
 * and two copies of it end the process if both have started. So that function is called only after the program itself
 * has started the runtime. Until then omp_get_thread_num(), which starts nothing, identifies threads made by a region.
 */
#define _GNU_SOURCE
#include "machine/internal.h"
#include "base/uncancelled.h"
#include "settings/internal.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RUNTIMES = 8 };

typedef int (*test_function)(void);

/* An entry is complete before `count` includes it. Only `test` changes afterwards. */
typedef struct runtime {
    test_function in_parallel;   /* identifies the runtime */
    test_function number;        /* only for LLVM's runtime: omp_get_thread_num */
    const void *object;          /* its load address */
    _Atomic(test_function) test; /* one of the two functions */
} runtime;
static runtime runtimes[MOST_RUNTIMES];
static _Atomic int count;
static _Atomic int waiting;           /* LLVM runtimes that had not started at the last search */
static _Atomic uint64_t seen_changes; /* number of changes of the loader's list at the last search */

/* `walking` is held while the loader's list is read, so that no fork happens meanwhile: the child would find a lock of
 * the loader taken. Nothing is opened while it is held, because the loader runs foreign code then. */
static pthread_mutex_t walking = PTHREAD_MUTEX_INITIALIZER, adding = PTHREAD_MUTEX_INITIALIZER;
static pid_t forking; /* the process that holds both for a fork */

static int read_changes(struct dl_phdr_info *object, size_t size, void *user) {
    uint64_t *changes = user;
    (void)size;
    *changes = object->dlpi_adds + object->dlpi_subs;
    return 1;
}

static int collect(struct dl_phdr_info *object, size_t size, void *user) {
    bp__text *paths = user;
    const char *slash = object->dlpi_name ? strrchr(object->dlpi_name, '/') : NULL;
    (void)size;
    if (slash && strstr(slash, "omp")) { /* libgomp, libomp, libiomp5, and their copies in wheels */
        bp__text_add_n(paths, object->dlpi_name, strlen(object->dlpi_name) + 1);
    }
    return paths->failed;
}

/* Returns the load address of the object that contains an address. Takes the loader's lock; foreign code that holds it
 * may be waiting for one of our locks. */
static const void *object_of(uintptr_t address) {
    Dl_info object;
    return dladdr((const void *)address, &object) ? object.dli_fbase : NULL;
}

/* Adds a runtime. Returns false if it was already known. */
static bool add(test_function in_parallel, test_function number, const void *object) {
    pthread_mutex_lock(&adding);
    int at = atomic_load_explicit(&count, memory_order_relaxed);
    bool fresh = at < MOST_RUNTIMES;
    for (int i = 0; i < at; i++) {
        fresh &= runtimes[i].in_parallel != in_parallel;
    }
    if (fresh) {
        runtimes[at].in_parallel = in_parallel;
        runtimes[at].number = number;
        runtimes[at].object = object;
        atomic_store_explicit(&runtimes[at].test, number ? number : in_parallel, memory_order_relaxed);
        atomic_fetch_add(&waiting, number != NULL);
        atomic_store_explicit(&count, at + 1, memory_order_release);
    }
    pthread_mutex_unlock(&adding);
    return fresh;
}

/* Adds the runtime of an object, if it has one. The object then stays loaded for ever, because threads keep its
 * function. */
static bool add_object(const char *path) {
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    test_function in_parallel = handle ? (test_function)dlsym(handle, "omp_in_parallel") : NULL;
    bool llvm = in_parallel && dlsym(handle, "__kmpc_fork_call");
    test_function number = llvm ? (test_function)dlsym(handle, "omp_get_thread_num") : NULL;
    bool fresh = in_parallel && (!llvm || number) && add(in_parallel, number, object_of((uintptr_t)in_parallel));
    if (handle && !fresh) {
        dlclose(handle);
    }
    return fresh;
}

static bool find_runtimes(void) {
    BP__UNCANCELLED;
    uint64_t changes = 0;
    bp__text paths = {0};
    pthread_mutex_lock(&walking);
    dl_iterate_phdr(read_changes, &changes);
    bool changed = changes != atomic_load_explicit(&seen_changes, memory_order_acquire);
    bool complete = changed && dl_iterate_phdr(collect, &paths) == 0;
    pthread_mutex_unlock(&walking);
    bool fresh = false;
    const char *path = bp__text_get(&paths), *end = path + paths.length;
    for (; complete && path < end; path += strlen(path) + 1) {
        fresh |= add_object(path);
    }
    bp__text_free(&paths);
    if (complete) {
        atomic_store_explicit(&seen_changes, changes, memory_order_release);
    }
    return fresh;
}

/* Finds runtimes that have started. LLVM's runtime publishes its address when it starts, so that another copy can
 * detect it. */
static bool find_started(void) {
    BP__UNCANCELLED;
    char path[128], text[128];
    snprintf(path, sizeof path, "/dev/shm/__KMP_REGISTERED_LIB_%d_%d", (int)getpid(), (int)getuid());
    if (!bp__read_text(path, text, sizeof text)) {
        return false;
    }
    const void *started = object_of((uintptr_t)strtoull(text, NULL, 16));
    bool fresh = false;
    pthread_mutex_lock(&adding);
    for (int i = 0; started && i < atomic_load_explicit(&count, memory_order_relaxed); i++) {
        runtime *r = &runtimes[i];
        bool waits = atomic_load_explicit(&r->test, memory_order_relaxed) == r->number;
        if (waits && r->object == started) {
            atomic_store_explicit(&r->test, r->in_parallel, memory_order_release);
            atomic_fetch_sub(&waiting, 1);
            fresh = true;
        }
    }
    pthread_mutex_unlock(&adding);
    return fresh;
}

bool bp__region_find_runtimes(void) {
    bool fresh = find_runtimes();
    if (atomic_load_explicit(&waiting, memory_order_relaxed) > 0) {
        fresh |= find_started();
    }
    return fresh;
}

static int test_all(void) {
    int known = atomic_load_explicit(&count, memory_order_acquire);
    for (int i = 0; i < known; i++) {
        if (atomic_load_explicit(&runtimes[i].test, memory_order_acquire)()) {
            return 1;
        }
    }
    return 0;
}

test_function bp__region_get_test(void) {
    int known = atomic_load_explicit(&count, memory_order_acquire);
    return known == 0 ? NULL : known == 1 ? atomic_load_explicit(&runtimes[0].test, memory_order_acquire) : test_all;
}

void bp__region_fork_lock(void) {
    pthread_mutex_lock(&walking);
    pthread_mutex_lock(&adding);
    forking = getpid();
}

/* Releases the locks. In the child, no runtime of LLVM has started. */
void bp__region_fork_unlock(void) {
    if (forking != getpid()) {
        for (int i = 0; i < atomic_load_explicit(&count, memory_order_relaxed); i++) {
            runtime *r = &runtimes[i];
            if (r->number && atomic_exchange(&r->test, r->number) != r->number) {
                atomic_fetch_add(&waiting, 1);
            }
        }
        bp__settings_changed();
    }
    pthread_mutex_unlock(&adding);
    pthread_mutex_unlock(&walking);
}
