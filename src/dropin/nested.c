/* nested.c - knows whether the thread's call comes from within another one.
 *
 * The mark is the address of a variable of the outer call. If a longjmp has left that call, as R's error handler does,
 * the stack has become shorter than the mark, so that the mark is seen to be out of date.
 */
#include "dropin/entry.h"

static __thread uintptr_t mark __attribute__((tls_model("initial-exec")));

bool bp__dropin_inside(void) {
    char here;
    if (mark != 0 && (uintptr_t)&here > mark) {
        mark = 0;
    }
    return mark != 0;
}

void bp__dropin_visit_begin(bp__dropin_visit *visit) {
    visit->outer = mark;
    mark = (uintptr_t)visit;
}

void bp__dropin_visit_end(const bp__dropin_visit *visit) {
    mark = visit->outer;
}
