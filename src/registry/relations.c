/* relations.c - finds files that are not separate libraries: copies of another file, and facades.
 *
 * Distributions ship libblas.so.3 and liblapack.so.3 for each implementation, so that a symbolic link can select one.
 * Some contain only forwards to the real library in the same directory; listing both would offer the same code twice.
 */
#include "registry/build_list.h"
#include "base/path_buffer.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MATRIX_KINDS = BP_LIB_BLAS | BP_LIB_CBLAS | BP_LIB_LAPACK };

/* Adds each line of a list. Returns false if out of memory. */
static bool add_lines(const char **lines, const char *more) {
    BP__PATH_BUFFER(line);
    if (!line) {
        return false;
    }
    while (*more) {
        size_t length = strcspn(more, "\n");
        if (length < PATH_MAX) {
            memcpy(line, more, length);
            line[length] = 0;
            if (!bp__lines_add(lines, line)) {
                return false;
            }
        }
        more += length;
        more += *more == '\n';
    }
    return true;
}

static void merge(bp__search *search, bp__file *first, bp__file *copy) {
    copy->same_as = first;
    first->loaded = first->loaded || copy->loaded;
    first->asked_for = first->asked_for || copy->asked_for;
    if (!bp__lines_add(&first->aliases, copy->path) || !add_lines(&first->aliases, copy->aliases) ||
        !add_lines(&first->loader_names, copy->loader_names)) {
        search->no_memory = true;
    }
}

void bp__merge_copies(bp__search *search) {
    for (int i = 1; i < search->file_count; i++) {
        bp__file *copy = &search->files[i];
        for (int j = 0; j < i && *copy->facts.likeness; j++) {
            bp__file *first = &search->files[j];
            if (!first->same_as && first->key.size == copy->key.size &&
                strcmp(first->facts.likeness, copy->facts.likeness) == 0) {
                merge(search, first, copy);
                break;
            }
        }
    }
}

static bp__file *original_file(bp__file *file) {
    return file->same_as ? file->same_as : file;
}

bp__file *bp__file_at(bp__search *search, const char *path) {
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return NULL;
    }
    bp__file_key key = bp__file_key_of(&facts);
    for (int i = 0; i < search->file_count; i++) {
        if (search->files[i].key.inode == key.inode && search->files[i].key.device == key.device) {
            return original_file(&search->files[i]);
        }
    }
    return NULL;
}

/* Finds the file to which the loader would resolve a NEEDED name: in the file's own RUNPATH, else in the loader cache.
 */
static bp__file *resolve(bp__search *search, const bp__file *file, const char *name) {
    BP__PATH_BUFFER(path);
    const char *slash = strrchr(file->path, '/');
    search->no_memory = search->no_memory || !path;
    for (const char *part = file->facts.runpath; path && *part;) {
        int length = (int)strcspn(part, ":");
        int origin = bp__text_starts(part, "$ORIGIN") ? 7 : bp__text_starts(part, "${ORIGIN}") ? 9 : 0;
        int folder = origin && slash ? (int)(slash - file->path) : 0;
        int used = snprintf(path, PATH_MAX, "%.*s%.*s/%s", folder, file->path, length - origin, part + origin, name);
        bp__file *found = used > 0 && used < PATH_MAX ? bp__file_at(search, path) : NULL;
        if (found) {
            return found;
        }
        part += length;
        part += *part == ':';
    }
    for (int i = 0; i < search->file_count; i++) {
        if (bp__lines_have(search->files[i].loader_names, name)) {
            return original_file(&search->files[i]);
        }
    }
    return NULL;
}

static bool does_the_work_of(const bp__file *target, const bp__file *file) {
    int64_t kinds = file->facts.kinds & MATRIX_KINDS;
    return target != file && target->trust == BP_OK && target->facts.marked && (target->facts.kinds & kinds) == kinds;
}

static bool same_folder(const char *a, const char *b) {
    const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
    return slash_a && slash_b && slash_a - a == slash_b - b && memcmp(a, b, (size_t)(slash_a - a)) == 0;
}

bp__file *bp__facade_target(bp__search *search, const bp__file *file, const char **via) {
    char name[256];
    *via = "";
    if (file->facts.marked || (file->facts.kinds & MATRIX_KINDS) == 0 || file->trust != BP_OK) {
        return NULL;
    }
    for (const char *part = file->facts.needed; *part;) {
        size_t length = strcspn(part, "\n");
        if (snprintf(name, sizeof name, "%.*s", (int)(length < 255 ? length : 255), part) > 0) {
            bp__file *target = resolve(search, file, name);
            if (target && does_the_work_of(target, file)) {
                *via = bp__intern(name);
                search->no_memory = search->no_memory || !*via;
                return target;
            }
        }
        part += length;
        part += *part == '\n';
    }
    /* BLIS's libblas.so.3 contains a complete BLIS, but exports only the BLAS names. */
    for (int i = 0; i < search->file_count; i++) {
        bp__file *target = original_file(&search->files[i]);
        if (strcmp(target->facts.family, file->facts.family) == 0 && does_the_work_of(target, file) &&
            same_folder(target->path, file->path)) {
            return target;
        }
    }
    return NULL;
}
