/* struct.c - reads and writes public structs of programs that were compiled with another version.
 *
 * Such a struct begins with its size, as the program knows it, and grows at its end only. The size is a multiple of
 * the size of its first member, as sizeof() of each such struct is: a struct of another size would end inside a
 * pointer, and a part of that pointer would be read. Nor may it end inside a member of several words: a list, a text, a
 * struct. Members that a smaller one lacks have their defaults. A larger one belongs to a later version: its unknown
 * members must be zero, which is their default there.
 */
#include "base/base.h"

#include <string.h>

/* No public struct is larger. A larger struct_size means that the caller has not set it. */
#define LARGEST 16384

static size_t size_of(const void *given) {
    size_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

bool bp__struct_usable(const void *given) {
    size_t size = given ? size_of(given) : 0;
    return size > sizeof size && size <= LARGEST && size % sizeof size == 0;
}

bp_status bp__struct_check_member(const void *given, size_t from, size_t bytes, const char *member) {
    const size_t size = size_of(given);
    return size > from && size < from + bytes
               ? bp__fail(BP_E_ARGUMENT, "struct_size is %zu, which ends inside of %s: that has bytes %zu to %zu", size,
                          member, from, from + bytes)
               : BP_OK;
}

bp_status bp__struct_check(const void *given, size_t size, const char *name) {
    if (!given) {
        return bp__fail(BP_E_ARGUMENT, "%s must not be NULL", name);
    }
    if (!bp__struct_usable(given)) {
        return bp__fail(BP_E_ARGUMENT, "%s->struct_size is %zu; it must be the size of the struct (here: %zu)", name,
                        size_of(given), size);
    }
    return BP_OK;
}

void bp__struct_write(void *given, const void *own, size_t size) {
    size_t known = size_of(given) < size ? size_of(given) : size;
    memcpy((char *)given + sizeof known, (const char *)own + sizeof known, known - sizeof known);
}

const void *bp__struct_read(void *own, size_t size, const void *given, const char *name) {
    if (bp__struct_check(given, size, name) != BP_OK) {
        return NULL;
    }
    size_t there = size_of(given);
    if (there == size) {
        return given;
    }
    for (size_t i = size; i < there; i++) {
        if (((const char *)given)[i] != 0) {
            bp__fail(BP_E_ARGUMENT,
                     "%s is of a later version, with %zu bytes, and sets members that this version, with %zu, "
                     "does not know",
                     name, there, size);
            return NULL;
        }
    }
    memset(own, 0, size);
    memcpy(own, given, there < size ? there : size);
    memcpy(own, &size, sizeof size);
    return own;
}
