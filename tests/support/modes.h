/* modes.h - says how much a run of the tests covers. Linked into every test program. */
#ifndef BP_TESTS_SUPPORT_MODES_H
#define BP_TESTS_SUPPORT_MODES_H

#include <stdbool.h>

/* Whether TESTED_ALL is set (`make test-all`). Without it, a test of many combinations takes a part of them, in which
 * each of their values still occurs. */
bool test_takes_all(void);

/* Returns whether a combination with this number is left out: each but one of `parts`, unless all are taken. The sum of
 * the indices of its values is such a number. */
bool test_leaves_out(int number, int parts);

#endif
