/* child.h - waits for a child of fork. Linked into every test program. */
#ifndef BP_TESTS_SUPPORT_CHILD_H
#define BP_TESTS_SUPPORT_CHILD_H

#include <sys/types.h>

/* Waits for the child, and returns its exit status. Fails the test if a signal has ended it; the text says what it did.
 */
int test_end_of_child(pid_t child, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
