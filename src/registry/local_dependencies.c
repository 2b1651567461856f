/* local_dependencies.c - opens a library and missing dependencies from its own directory; see local_dependencies.h. */
#include "registry/local_dependencies.h"
#include "base/path_buffer.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DEPENDENCIES = 32, MOST_DEPTH = 6 };

/* Finds the file in the directory of `path` that is missing according to the loader's message ("libtbb.so.12: cannot
 * open shared object file: ..."). */
static bool find_dependency(const char *path, const char *message, char dependency[PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    size_t name = strcspn(message, ":/ ");
    if (!slash || name == 0 || message[name] != ':' || !strstr(message, "cannot open shared object file")) {
        return false;
    }
    int length = snprintf(dependency, PATH_MAX, "%.*s/%.*s", (int)(slash - path), path, (int)name, message);
    return length > 0 && length < PATH_MAX && strcmp(dependency, path) != 0 && bp__file_trusted(dependency) == BP_OK;
}

static void *open_at_depth(const char *path, int flags, void (*used)(const char *), char *error, size_t size,
                           int depth) {
    char ignored[512];
    for (int i = 0; i < MOST_DEPENDENCIES; i++) {
        void *handle = dlopen(path, flags);
        if (handle) {
            return handle;
        }
        const char *message = dlerror();
        bp__copy_text(error, size, message ? message : "the loader gives no reason");
        BP__PATH_BUFFER(dependency);
        if (depth == 0 || !dependency || !find_dependency(path, error, dependency) ||
            !open_at_depth(dependency, flags, used, ignored, sizeof ignored, depth - 1)) {
            return NULL;
        }
        if (used) {
            used(dependency);
        }
    }
    return NULL;
}

void *bp__open_with_local_dependencies(const char *path, int flags, void (*used)(const char *dependency), char *error,
                                       size_t size) {
    return open_at_depth(path, flags, used, error, size, MOST_DEPTH);
}
