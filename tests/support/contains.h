/* contains.h - asserts that a text has a part. Include it after cmocka.h. */
#ifndef BP_TESTS_SUPPORT_CONTAINS_H
#define BP_TESTS_SUPPORT_CONTAINS_H

#include <string.h>

#define assert_contains(text, part)                                                                                    \
    do {                                                                                                               \
        if (!strstr((text), (part))) {                                                                                 \
            fail_msg("'%s' does not contain '%s'", (text), (part));                                                    \
        }                                                                                                              \
    } while (0)

#endif
