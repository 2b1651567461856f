/* guarded.h - declares memory between pages that cannot be accessed. */
#ifndef BP_TESTS_SUPPORT_GUARDED_H
#define BP_TESTS_SUPPORT_GUARDED_H

#include <stdbool.h>
#include <stddef.h>

/* Returns so many bytes of zeros, directly after a page without access, or directly in front of one if `at_end`. Fails
 * the test without memory. */
char *test_guarded(size_t bytes, bool at_end);
void test_guarded_free(char *memory, size_t bytes);

#endif
