/* loaded.c - lists the math libraries and thread runtimes that this process has loaded (bp_loaded_object_at).
 *
 * They are identified by the same table and file data as the libraries on disk, so that a library has the same name
 * everywhere. No file is opened with the loader. The result is kept until the process loads or unloads an object,
 * because reading a large file takes milliseconds.
 */
#include "registry/facts.h"
#include "base/uncancelled.h"
#include "registry/modules.h"

#include "machine/internal.h"

#include <pthread.h>
#include <string.h>

typedef struct known_object {
    const char *path; /* interned, as `family` */
    const char *kind;
    const char *family;
} known_object;

pthread_mutex_t bp__loaded_mutex = PTHREAD_MUTEX_INITIALIZER;
static known_object *objects;
static int object_count;
static uint64_t list_seen; /* hash of the objects that were loaded then; 0 for none */

/* Kinds in order of priority, for objects with several kinds. */
static const struct {
    unsigned kinds;
    const char *name;
} kind_names[] = {
    {BP_LIB_OPENMP, "openmp"}, {BP_LIB_BLAS | BP_LIB_CBLAS, "blas"},
    {BP_LIB_LAPACK, "lapack"}, {BP_LIB_DNN, "dnn"},
    {BP_LIB_FFT, "fft"},       {BP_LIB_SMM, "smm"},
};

/* Returns BP_OK, without a kind if the object is not of interest. TBB is a runtime that libraries load themselves;
 * users do not choose it, so the family table has no entry for it. */
static bp_status identify(const char *path, known_object *object) {
    bp__elf elf;
    const char *why;
    bp__facts facts;
    bp_status status = BP_OK;
    *object = (known_object){.path = bp__intern(path)};
    if (!object->path) {
        return BP_E_NO_MEMORY;
    }
    if (!bp__elf_open(&elf, path, &why)) {
        return BP_OK;
    }
    if (bp__elf_defines(&elf, "TBB_runtime_interface_version")) {
        object->kind = object->family = "tbb";
    } else if ((status = bp__identify(&elf, path, &facts)) == BP_OK) {
        object->family = facts.family;
        for (int i = 0; i < BP__COUNT(kind_names) && !object->kind; i++) {
            object->kind = (unsigned)facts.kinds & kind_names[i].kinds ? kind_names[i].name : NULL;
        }
    }
    bp__elf_close(&elf);
    return status;
}

static bool hash_object(void *user, const char *path, uintptr_t base) {
    uint64_t *hash = user;
    uint64_t parts[3] = {*hash, base, bp__hash(path, strlen(path))};
    *hash = bp__hash(parts, sizeof parts);
    return true;
}

static bool add_object(void *user, const char *path, uintptr_t base) {
    bool *complete = user;
    (void)base;
    known_object object;
    *complete = identify(path, &object) == BP_OK;
    if (!*complete || !object.kind) {
        return *complete;
    }
    known_object *larger = bp__realloc(objects, (size_t)(object_count + 1) * sizeof *larger);
    if (larger) {
        objects = larger;
        objects[object_count++] = object;
    }
    *complete = larger != NULL;
    return *complete;
}

static void forget(void) {
    bp__free(objects);
    objects = NULL;
    object_count = 0;
    list_seen = 0;
}

static void refresh(void) {
    uint64_t list = 1;
    bool complete = true;
    if (bp__loaded_visit(hash_object, &list) != BP_OK || list != list_seen) {
        forget();
        bool visited = bp__loaded_visit(add_object, &complete) == BP_OK;
        list_seen = visited && complete ? list : 0;
    }
}

int bp_loaded_object_at(int index, bp_loaded_object *object) {
    BP__UNCANCELLED;
    bp_loaded_object own = {0}; /* the bytes after the texts too */
    if (index < 0 || !bp__struct_usable(object) || BP__STRUCT_MEMBER(object, bp_loaded_object, path) != BP_OK ||
        BP__STRUCT_MEMBER(object, bp_loaded_object, kind) != BP_OK ||
        BP__STRUCT_MEMBER(object, bp_loaded_object, family) != BP_OK) {
        return 0;
    }
    bp__held_error held;
    bp__error_hold(&held); /* an unreadable object is skipped */
    pthread_mutex_lock(&bp__loaded_mutex);
    refresh();
    bool found = index < object_count;
    if (found) {
        bp__copy_text(own.path, sizeof own.path, objects[index].path);
        bp__copy_text(own.kind, sizeof own.kind, objects[index].kind);
        bp__copy_text(own.family, sizeof own.family, objects[index].family);
        bp__struct_write(object, &own, sizeof own);
    }
    pthread_mutex_unlock(&bp__loaded_mutex);
    bp__error_return(&held);
    return found;
}

void bp__loaded_reset(void) {
    pthread_mutex_lock(&bp__loaded_mutex);
    forget();
    pthread_mutex_unlock(&bp__loaded_mutex);
}
