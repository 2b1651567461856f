/* search.c - searches all loaded objects for a definition. */
#define _GNU_SOURCE
#include "dropin/search.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>

/* Copies the path of the object with a number. */
typedef struct numbered {
    int number;
    char path[PATH_MAX];
} numbered;

static int copy_path(struct dl_phdr_info *info, size_t size, void *user) {
    numbered *object = user;
    (void)size;
    if (object->number-- > 0) {
        return 0;
    }
    snprintf(object->path, sizeof object->path, "%s", info->dlpi_name ? info->dlpi_name : "");
    return 1;
}

/* Objects are opened outside of the iteration, which holds a lock of the loader. */
void *bp__dropin_search(const char *name, bool (*accepts)(void *definition, const void *user), const void *user) {
    void *found = NULL;
    for (int i = 0; !found; i++) {
        numbered object = {.number = i};
        if (!dl_iterate_phdr(copy_path, &object)) {
            return NULL;
        }
        void *handle = *object.path ? dlopen(object.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
        void *defined = handle ? dlsym(handle, name) : NULL;
        found = defined && accepts(defined, user) ? defined : NULL;
        if (handle && !found) {
            dlclose(handle);
        }
    }
    return found;
}
