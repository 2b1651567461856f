/* stack.c - tells how much of the calling thread's stack is left, if the thread has a small stack.
 *
 * The bounds of a stack are asked for once in a thread. Threads with ordinary stacks are not asked again: a program
 * that fills megabytes of stack needs more than a library takes. */
#define _GNU_SOURCE
#include "base/base.h"
#include "base/uncancelled.h"

#include <pthread.h>

enum { SMALL = 1 << 20 };

static _Thread_local struct {
    bool asked;
    bool small;
    uintptr_t low, high;
} stack;

static void ask(void) {
    pthread_attr_t attributes;
    void *low;
    size_t size;
    stack.asked = true;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
        stack.small = size < SMALL;
        stack.low = (uintptr_t)low;
        stack.high = stack.low + size;
    }
    pthread_attr_destroy(&attributes);
}

bool bp__stack_is_small(void) {
    if (!stack.asked) {
        BP__UNCANCELLED;
        ask();
    }
    return stack.small;
}

/* A program may run a thread's code on another stack, of a coroutine for instance, whose bounds are unknown. */
int64_t bp__stack_left(void) {
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return bp__stack_is_small() && here >= stack.low && here < stack.high ? (int64_t)(here - stack.low) : INT64_MAX;
}
