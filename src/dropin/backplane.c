/* backplane.c - opens libbackplane at the first call that needs it, from the folder of this object or from the one
 * above.
 *
 * It is not linked, so that a program which makes no large call never loads it.
 */
#include "dropin/backplane.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bp__dropin_api api;
static bool opened;
static char failure[PATH_MAX + 256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool fill(void *handle) {
#define X(name)                                                                                                        \
    *(void **)&api.name = dlsym(handle, #name);                                                                        \
    if (!api.name) {                                                                                                   \
        snprintf(failure, sizeof failure, "libbackplane.so.0 lacks %s: it is of another version", #name);              \
        return false;                                                                                                  \
    }
    BP__DROPIN_FUNCTIONS(X)
#undef X
    return true;
}

static void *open_near(const char *own) {
    static const char *const places[] = {"libbackplane.so.0", "../libbackplane.so.0"};
    const char *slash = strrchr(own, '/');
    for (size_t i = 0; slash && i < sizeof places / sizeof places[0]; i++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%.*s/%s", (int)(slash - own), own, places[i]);
        void *handle = length > 0 && (size_t)length < sizeof path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
        if (handle) {
            return handle;
        }
    }
    return dlopen("libbackplane.so.0", RTLD_NOW | RTLD_LOCAL);
}

static void open_backplane(void) {
    Dl_info own;
    if (dladdr((const void *)(uintptr_t)&bp__dropin_backplane, &own) == 0 || !own.dli_fname) {
        snprintf(failure, sizeof failure, "the folder of this library is unknown");
        return;
    }
    char real[PATH_MAX]; /* an alternative of Debian is a symbolic link elsewhere */
    void *handle = open_near(realpath(own.dli_fname, real) ? real : own.dli_fname);
    if (!handle) {
        const char *text = dlerror();
        snprintf(failure, sizeof failure, "%s", text ? text : "libbackplane.so.0 was not found");
        return;
    }
    __atomic_store_n(&opened, fill(handle), __ATOMIC_RELEASE);
}

const bp__dropin_api *bp__dropin_backplane(const char **why) {
    if (__atomic_load_n(&opened, __ATOMIC_ACQUIRE)) {
        return &api;
    }
    pthread_once(&once, open_backplane);
    if (why) {
        *why = failure;
    }
    return opened ? &api : NULL;
}
