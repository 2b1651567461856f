/* guards.h - declares memory regions between pages without access, and what a routine has accessed there.
 *
 * A handler of SIGSEGV opens the page that was accessed and notes how, so that the routine goes on and returns. Nothing
 * is left in the middle of a library's work, and no other process is needed.
 */
#ifndef BP_PROBE_GUARDS_H
#define BP_PROBE_GUARDS_H

#include "probe/numbers.h"

#include <stddef.h>

typedef enum guard_access {
    GUARD_UNTOUCHED,
    GUARD_READ_NEAR, /* only read, and only in the pages next to regions */
    GUARD_READ_FAR,
    GUARD_WRITTEN
} guard_access;

/* Begins a check with `count` regions of at least so many bytes, which are zeros when they are made. They are kept for
 * the next check, because making them takes longer than most checks. What a routine reads in the pages around them are
 * infinities of the type, so that a result that depends on it is not finite. Returns false without memory. guards_end()
 * ends the check in any case. */
bool guards_begin(int count, size_t size, const number_type *type);
void guards_end(void);

/* Returns the address for so many bytes at the start or the end of a region, which must be large enough. */
char *guards_place(int region, size_t bytes, bool at_end);

static inline const char *guard_access_text(guard_access access) {
    return access == GUARD_WRITTEN ? "writes" : "reads";
}

/* Returns the worst access since the last call, and closes the pages again. */
guard_access guards_accessed(void);

#endif
