/* loaded.c - lists the objects that this process has loaded, as the dynamic loader reports them. */
#include "machine/internal.h"
#include "base/path_buffer.h"

#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* The paths are copied first: the loader holds a lock while it walks its list, and a visitor may open libraries. */
typedef struct object_list {
    bp__text paths; /* each with its NUL */
    uintptr_t *bases;
    int count;
    int capacity;
} object_list;

static bool grow(object_list *list) {
    if (list->count < list->capacity) {
        return true;
    }
    int capacity = list->capacity ? 2 * list->capacity : 64;
    uintptr_t *bases = bp__realloc(list->bases, (size_t)capacity * sizeof *bases);
    if (!bases) {
        return false;
    }
    list->bases = bases;
    list->capacity = capacity;
    return true;
}

static int collect(struct dl_phdr_info *object, size_t size, void *user) {
    object_list *list = user;
    BP__PATH_BUFFER(resolved);
    const char *path = object->dlpi_name;
    (void)size;
    if (!resolved) {
        return 1;
    }
    if (list->count == 0 && (!path || !*path)) { /* the first object is the program, which has no name in this list */
        path = "/proc/self/exe";
    }
    if (!path || !strchr(path, '/') || !realpath(path, resolved)) { /* the kernel's own object (vdso) has no file */
        return 0;
    }
    path = resolved;
    if (!grow(list)) {
        return 1;
    }
    list->bases[list->count++] = (uintptr_t)object->dlpi_addr;
    bp__text_add_n(&list->paths, path, strlen(path) + 1);
    return list->paths.failed;
}

bp_status bp__loaded_visit(bool (*visit)(void *user, const char *path, uintptr_t base), void *user) {
    object_list list = {0};
    bp_status status = BP_OK;
    if (dl_iterate_phdr(collect, &list) != 0) {
        status = bp__fail_memory(list.paths.length, "the list of loaded objects");
    }
    const char *path = bp__text_get(&list.paths);
    for (int i = 0; i < list.count && status == BP_OK; i++) {
        if (!visit(user, path, list.bases[i])) {
            break;
        }
        path += strlen(path) + 1;
    }
    bp__text_free(&list.paths);
    bp__free(list.bases);
    return status;
}
