/* stack.c - makes calls on a stack of 32 KiB, and measures how much of it they use.
 *
 * Frames are found by analysis where a path has direct calls only (tests/checks/stack_depth.py); kernels are called
 * through pointers. */
#include "trial.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define OWN_STACK false /* frames are larger, or the sanitizer has to know each stack */
#else
#define OWN_STACK true
#endif

enum { STACK = 32 << 10, GUARD = 64 << 10, PAINT = 0xa5 };

static struct {
    stacked_call *call;
    void *user;
    bp_status status;
    ucontext_t caller;
} now;

static void enter(void) {
    now.status = now.call(now.user);
}

static char *new_stack(void) {
    char *memory = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED && mprotect(memory, GUARD, PROT_NONE) == 0 ? memory + GUARD : NULL;
}

static int64_t used_of(const char *stack) {
    int64_t untouched = 0;
    while (untouched < STACK && (unsigned char)stack[untouched] == PAINT) {
        untouched++;
    }
    return STACK - untouched;
}

bp_status call_on_stack(stacked_call *call, void *user, int64_t *used) {
    static char *stack;
    ucontext_t callee;
    *used = 0;
    if (!OWN_STACK || (!stack && !(stack = new_stack())) || getcontext(&callee) != 0) {
        return call(user);
    }
    memset(stack, PAINT, STACK);
    now.call = call;
    now.user = user;
    callee.uc_stack.ss_sp = stack;
    callee.uc_stack.ss_size = STACK;
    callee.uc_link = &now.caller;
    makecontext(&callee, enter, 0);
    swapcontext(&now.caller, &callee);
    *used = used_of(stack);
    return now.status;
}
