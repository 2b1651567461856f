/* path_buffer.h - declares buffers for paths that are not on the stack, because first calls run in threads with small
 * stacks. */
#ifndef BP_BASE_PATH_BUFFER_H
#define BP_BASE_PATH_BUFFER_H

#include "base/base.h"

#include <limits.h>

static inline void bp__path_buffer_free(char *const *buffer) {
    bp__free(*buffer);
}

/* A buffer of PATH_MAX bytes, which is freed at the end of the block. NULL if out of memory. */
#define BP__PATH_BUFFER(name) char *const name __attribute__((cleanup(bp__path_buffer_free))) = bp__alloc(PATH_MAX)

#endif
