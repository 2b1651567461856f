/* support_base.h - what the tests of base/ share: cmocka with its includes, texts that contain, an allocator that
 * fails. */
#ifndef TESTS_BASE_SUPPORT_H
#define TESTS_BASE_SUPPORT_H

#include "backplane/settings.h"
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define assert_contains(text, part)                                                                                    \
    do {                                                                                                               \
        if (!strstr((text), (part))) {                                                                                 \
            fail_msg("'%s' does not contain '%s'", (text), (part));                                                    \
        }                                                                                                              \
    } while (0)

/* From now on the n-th allocation (0: the first) and all after it fail; calm_allocator() ends that. Only while the
 * library holds no memory. */
void failing_allocator(int n);
void calm_allocator(void);

/* Gives back what base/ keeps, and checks that nothing else is left. */
void assert_all_given_back(void);

/* A fresh folder that only this user can change; removed with everything in it by remove_folder. */
void make_folder(char path[64]);
void remove_folder(const char *path);

/* Moves this process into a user namespace that maps the calling user alone, to these numbers; `more` are further
 * CLONE_NEW flags. Returns false if that is not permitted here. */
bool enter_namespace(int more, uid_t user, gid_t group);

#endif
