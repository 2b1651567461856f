/* environment.c - reads environment variables for the hooks library and the drop-in libraries. */
#include "dropin/internal.h"

#include <stdlib.h>

const char *bp__dropin_env(const char *name) {
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}
