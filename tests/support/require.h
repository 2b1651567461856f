/* require.h - ends a child of a test with a message unless a condition holds. */
#ifndef BP_TESTS_SUPPORT_REQUIRE_H
#define BP_TESTS_SUPPORT_REQUIRE_H

#include "backplane.h"

#include <stdio.h>
#include <unistd.h>

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, bp_last_error());                      \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

#endif
