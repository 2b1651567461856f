/* environment.c - reads environment variables, and removes those that a library adds; no other file of the library
 * does. A program that runs with another user's rights (such as set-uid) ignores the environment, because the calling
 * user controls it.
 */
#define _GNU_SOURCE
#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

const char *bp__env(const char *name) {
    const char *value = secure_getenv(name);
    return value && *value != '\0' ? value : NULL;
}

void bp__env_walk(const char *head, bool (*visit)(void *user, const char *name, const char *value), void *user) {
    if (getauxval(AT_SECURE) != 0 || !environ) {
        return;
    }
    for (char **each = environ; *each; each++) {
        char name[256];
        const char *equals = strchr(*each, '=');
        size_t length = equals ? (size_t)(equals - *each) : 0;
        if (!equals || !bp__text_starts(*each, head) || length < strlen(head)) {
            continue;
        }
        length = length < sizeof name ? length : sizeof name - 1;
        memcpy(name, *each, length);
        name[length] = '\0';
        if (!visit(user, name, equals + 1)) {
            return;
        }
    }
}

void bp__env_keep_unset(const char *const *names, void (*call)(void *user), void *user) {
    uint64_t present = 0;
    for (int i = 0; names[i]; i++) {
        present |= (uint64_t)(getenv(names[i]) != NULL) << i;
    }
    call(user);
    for (int i = 0; names[i]; i++) {
        if (!(present >> i & 1) && getenv(names[i])) {
            unsetenv(names[i]);
        }
    }
}
