/* memory.c - the memory functions that the shared utilities need (base/text.h). The library has its own; tests that
 * link both leave this file out.
 */
#include "cli.h"

#include <stdlib.h>

void *bp__realloc(void *block, size_t size) {
    return cli_grow(block, size);
}

void bp__free(void *block) {
    free(block);
}
