/* backplane.c - opens libbackplane at the first call that needs it, from the folder of this object or from the one
 * above.
 *
 * It is not linked, so that a program which makes no large call never loads it. Threads that come at the same time each
 * open it, and one result is kept. None waits for another, which may wait for the loader while this one holds its lock.
 */
#include "dropin/backplane.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The result of opening. */
typedef struct opening {
    bp__dropin_api api;
    bool good;
    char failure[PATH_MAX + 256];
} opening;

static opening *opened;

static bool fill_opening(void *handle, opening *made) {
#define X(name)                                                                                                        \
    *(void **)&made->api.name = dlsym(handle, #name);                                                                  \
    if (!made->api.name) {                                                                                             \
        snprintf(made->failure, sizeof made->failure, "libbackplane.so.0 lacks %s: it is of another version", #name);  \
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

static void open_backplane(opening *made) {
    Dl_info own;
    if (dladdr((const void *)(uintptr_t)&bp__dropin_backplane, &own) == 0 || !own.dli_fname) {
        snprintf(made->failure, sizeof made->failure, "the folder of this library is unknown");
        return;
    }
    char real[PATH_MAX]; /* an alternative of Debian is a symbolic link elsewhere */
    void *handle = open_near(realpath(own.dli_fname, real) ? real : own.dli_fname);
    if (!handle) {
        const char *text = dlerror();
        snprintf(made->failure, sizeof made->failure, "%s", text ? text : "libbackplane.so.0 was not found");
        return;
    }
    made->good = fill_opening(handle, made);
}

/* Keeps the first result of all threads. */
static const opening *keep_opening(opening *made) {
    opening *before = NULL;
    if (__atomic_compare_exchange_n(&opened, &before, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return made;
    }
    free(made);
    return before;
}

const bp__dropin_api *bp__dropin_backplane(const char **why) {
    const opening *now = __atomic_load_n(&opened, __ATOMIC_ACQUIRE);
    if (!now) {
        opening *made = calloc(1, sizeof *made);
        if (!made) {
            if (why) {
                *why = "there is no memory";
            }
            return NULL;
        }
        open_backplane(made);
        now = keep_opening(made);
    }
    if (why) {
        *why = now->failure;
    }
    return now->good ? &now->api : NULL;
}

bool bp__dropin_setting_is(const bp__dropin_api *api, const char *name, const char *value) {
    const char *now;
    return api->bp_get(name, &now, NULL, NULL) == BP_OK && strcmp(now, value) == 0;
}
