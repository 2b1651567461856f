/* child.c - waits for a child of fork. */
#include "support/child.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <sys/wait.h>

int test_end_of_child(pid_t child, const char *format, ...) {
    char text[256];
    int status = 0;
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status)) {
        fail_msg("%s: signal %d", text, WTERMSIG(status));
    }
    return WEXITSTATUS(status);
}
