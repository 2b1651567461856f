/* conditions.h - tells a test in which kind of build and on which kind of machine it runs. Linked into every test
 * program.
 */
#ifndef BP_TESTS_SUPPORT_CONDITIONS_H
#define BP_TESTS_SUPPORT_CONDITIONS_H

#include <stdbool.h>

bool test_sanitized(void);                /* The build has a sanitizer. */
bool test_sanitized_by(const char *name); /* It has this one: "address" or "thread". */
bool test_emulated(void);                 /* An emulator runs the program. */
int test_cases(int all, int divisor);     /* The number of random cases: half of all without TESTED_ALL, divided where a
                                             sanitizer or emulator slows them. */

/* Starts a thread and waits for its end. ThreadSanitizer starts a thread of its own with the first one of a process,
 * also of a child of fork; afterwards only those that the test expects start. */
void test_start_first_thread(void);

/* ThreadSanitizer and the emulator do not follow threads that a child of fork starts. */
bool test_child_may_start_threads(void);

/* Besides, AddressSanitizer of gcc 12 does not take the locks of its allocator before a fork, so that a child waits for
 * ever for one that another thread of its parent held. */
bool test_may_fork_with_threads(void);

#endif
