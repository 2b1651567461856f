/* local_dependencies.c - see local_dependencies.h. */
#include "registry/local_dependencies.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SIBLINGS = 32, MOST_DEPTH = 6 };

/* The file beside `path` that the loader's message says is missing ("libtbb.so.12: cannot open shared object file:
 * ..."). */
static bool find_sibling(const char *path, const char *message, char sibling[PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    size_t name = strcspn(message, ":/ ");
    if (!slash || name == 0 || message[name] != ':' || !strstr(message, "cannot open shared object file")) {
        return false;
    }
    int length = snprintf(sibling, PATH_MAX, "%.*s/%.*s", (int)(slash - path), path, (int)name, message);
    return length > 0 && length < PATH_MAX && strcmp(sibling, path) != 0 && bp__file_trusted(sibling) == BP_OK;
}

static void *open_at_depth(const char *path, int flags, void (*used)(const char *), char *error, size_t size,
                           int depth) {
    char sibling[PATH_MAX], ignored[512];
    for (int i = 0; i < MOST_SIBLINGS; i++) {
        void *handle = dlopen(path, flags);
        if (handle) {
            return handle;
        }
        const char *message = dlerror();
        bp__copy_text(error, size, message ? message : "the loader gives no reason");
        if (depth == 0 || !find_sibling(path, error, sibling) ||
            !open_at_depth(sibling, flags, used, ignored, sizeof ignored, depth - 1)) {
            return NULL;
        }
        if (used) {
            used(sibling);
        }
    }
    return NULL;
}

void *bp__open_with_local_dependencies(const char *path, int flags, void (*used)(const char *sibling), char *error,
                                       size_t size) {
    return open_at_depth(path, flags, used, error, size, MOST_DEPTH);
}
