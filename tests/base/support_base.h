/* support_base.h - declares what the tests of base/ share: cmocka with its includes, a substring assertion, an
 * allocator that fails. */
#ifndef TESTS_BASE_SUPPORT_H
#define TESTS_BASE_SUPPORT_H

#include "backplane/settings.h"
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/contains.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* failing_allocator() makes the n-th allocation (0: the first) and all later ones fail; calm_allocator() ends that.
 * Call it only while the library holds no memory. */
void failing_allocator(int n);
void calm_allocator(void);

/* Frees what base/ keeps, and checks that no block is left. */
void assert_all_freed(void);

/* Makes a new folder that only this user can change; remove_folder removes it with its content. */
void make_folder(char path[64]);
void remove_folder(const char *path);

/* Moves this process into a user namespace that maps the calling user alone, to these numbers; `more` are further
 * CLONE_NEW flags. Returns false if that is not permitted here. */
bool enter_namespace(int more, uid_t user, gid_t group);

#endif
