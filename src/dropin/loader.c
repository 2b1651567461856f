/* loader.c - tells whether the calling thread runs a constructor or destructor of a library that it opens or closes.
 *
 * Such a thread holds the loader's lock. Another thread may be inside Backplane, hold one of its locks, and wait for
 * the loader to open a library. If the first one then called Backplane, both would wait for ever.
 *
 * glibc has no function that tells this. But its lock is a recursive mutex in the loader's data, which has the number
 * of the thread that holds it, and dlsym() holds it while it resolves an indirect function. So such a function of this
 * object finds the mutex: the only one that its own thread holds at that moment. If it does not find exactly one, the
 * answer is always no.
 */
#define _GNU_SOURCE
#include "dropin/entry.h"

#ifdef __GLIBC__

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    const char *start;
    size_t size;
} data; /* of the loader; threads that search at once write the same */

static const pthread_mutex_t *mutex; /* NULL: unknown */
static bool searched;

static int own_number(void) {
    return (int)syscall(SYS_gettid);
}

static bool holds(const pthread_mutex_t *lock, int thread) {
    return lock->__data.__owner == thread && lock->__data.__lock != 0 && lock->__data.__count > 0 &&
           (lock->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE_NP;
}

static void do_nothing(void) {
}

/* The loader calls this with its lock held, so that no other thread is here. */
__attribute__((used)) static void (*find_mutex(void))(void) { /* clang does not count the use by ifunc */
    const pthread_mutex_t *found = NULL;
    const char *start = __atomic_load_n(&data.start, __ATOMIC_RELAXED);
    const size_t size = __atomic_load_n(&data.size, __ATOMIC_RELAXED);
    int thread = own_number(), count = 0;
    for (size_t at = 0; at + sizeof *found <= size; at += _Alignof(pthread_mutex_t)) {
        const pthread_mutex_t *lock = (const pthread_mutex_t *)(const void *)(start + at);
        if (holds(lock, thread)) {
            found = lock;
            count++;
        }
    }
    __atomic_store_n(&mutex, count == 1 ? found : NULL, __ATOMIC_RELEASE);
    return do_nothing;
}

#define NAME "bp_dropin_find_loader_mutex"
__attribute__((visibility("default"), ifunc("find_mutex"))) void bp_dropin_find_loader_mutex(void);

static void search_objects(void) {
    const ElfW(Sym) *symbol = NULL;
    Dl_info there, here;
    void *start = dlsym(RTLD_DEFAULT, "_rtld_global");
    if (!start || !dladdr1(start, &there, (void **)&symbol, RTLD_DL_SYMENT) || !symbol || there.dli_saddr != start ||
        !dladdr((const void *)(uintptr_t)&search_objects, &here)) {
        return;
    }
    __atomic_store_n(&data.start, (const char *)start, __ATOMIC_RELAXED);
    __atomic_store_n(&data.size, symbol->st_size, __ATOMIC_RELAXED);
    void *self = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (self) {
        dlsym(self, NAME);
        dlclose(self);
    }
}

bool bp__dropin_in_loader(void) {
    if (!__atomic_load_n(&searched, __ATOMIC_ACQUIRE)) {
        search_objects(); /* threads that do so at once find the same */
        __atomic_store_n(&searched, true, __ATOMIC_RELEASE);
    }
    const pthread_mutex_t *lock = __atomic_load_n(&mutex, __ATOMIC_ACQUIRE);
    int owner = lock ? __atomic_load_n(&lock->__data.__owner, __ATOMIC_RELAXED) : 0;
    return owner != 0 && owner == own_number();
}

#else

bool bp__dropin_in_loader(void) {
    return false;
}

#endif
