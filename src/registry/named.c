/* named.c - opens a library that is not listed, such as the driver of a device, by the name of its file. */
#include "base/uncancelled.h"
#include "base/path_buffer.h"
#include "registry/child.h"
#include "registry/internal.h"
#include "registry/local_dependencies.h"
#include "registry/scan.h"

#include <dlfcn.h>

bp_status bp__library_open_named(const char *name, void **handle) {
    BP__UNCANCELLED;
    BP__PATH_BUFFER(path);
    char error[1024];
    *handle = NULL;
    if (!path) {
        return bp__fail_memory(PATH_MAX, "a path");
    }
    if (!bp__search_named(name, path)) {
        return bp__fail(
            BP_E_NOT_FOUND,
            "%s was not found in registry.library_path, LD_LIBRARY_PATH, the loader's cache and the system's "
            "directories",
            name);
    }
    BP__TRY(bp__file_trusted(path));
    int flags = RTLD_NOW | RTLD_LOCAL | (bp__deepbind() ? RTLD_DEEPBIND : 0);
    *handle = bp__open_with_local_dependencies(path, flags, NULL, error, sizeof error);
    return *handle ? BP_OK : bp__fail(BP_E_LOAD, "%s could not be loaded: %s", path, error);
}
