/* keep.c - keeps copies of texts whose memory may be freed or changed: names of files, which the loader frees when it
 * closes them, and values of environment variables, which a program may overwrite. */
#include "dropin/internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct kept {
    struct kept *next;
    char text[];
} kept;

static kept *all; /* grows at its head only, so it is read without a lock */

const char *bp__dropin_keep(const char *text) {
    for (const kept *one = __atomic_load_n(&all, __ATOMIC_ACQUIRE); one; one = one->next) {
        if (strcmp(one->text, text) == 0) {
            return one->text;
        }
    }
    const size_t size = strlen(text) + 1;
    kept *made = *text ? malloc(sizeof *made + size) : NULL;
    if (!made) {
        return "";
    }
    memcpy(made->text, text, size);
    made->next = __atomic_load_n(&all, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all, &made->next, made, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return made->text;
}
