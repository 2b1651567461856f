/* stack.c - measures how much of the calling thread's stack the library takes: to be opened, and in all calls of the
 * probe.
 *
 * The memory below the caller is filled with a pattern before the library is opened. The deepest word that has another
 * value later is where the stack has reached. */
#include "probe/probe.h"

#include <stdint.h>
#include <sys/resource.h>

enum {
    PAGE = 4096,
    PAGES = 256, /* what is filled: a library that takes more is called on large stacks only */
    OWN = 512,   /* bytes of a function here */
    PATTERN = 0xa5
};

static unsigned char *lowest; /* of the filled bytes; NULL: none are */
static unsigned char *top;

/* Makes the system add pages to the stack. */
__attribute__((noinline)) static void grow(int pages) {
    volatile unsigned char page[PAGE] = {0};
    if (pages > 1) {
        grow(pages - 1);
    }
    (void)page[0]; /* read after the call, which is therefore no tail call */
}

__attribute__((noinline, no_sanitize("address"))) static void fill(size_t size) {
    top = (unsigned char *)__builtin_frame_address(0) - OWN;
    lowest = top - size;
    for (volatile unsigned char *at = lowest; at < top; at++) {
        *at = PATTERN;
    }
}

void fill_stack(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur / 4 >= (rlim_t)PAGES * PAGE) {
        grow(PAGES);
        fill((size_t)(PAGES - 1) * PAGE);
    }
}

__attribute__((noinline, no_sanitize("address"))) static int64_t depth(void) {
    const volatile unsigned char *at = lowest;
    while (at < top && *at == PATTERN) {
        at++;
    }
    return top - at;
}

void report_stack(progress *state) {
    const int64_t now = lowest ? (depth() + OWN + 1023) / 1024 : 0;
    if (now > state->stack) {
        state->stack = (int)now;
        report("stack", "%d", state->stack);
    }
}
