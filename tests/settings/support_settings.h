/* support_settings.h - a small world for tests of settings: a home of its own, no variables but those a test sets, and
 * an allocator that fails when told to. */
#ifndef TESTS_SETTINGS_SUPPORT_H
#define TESTS_SETTINGS_SUPPORT_H

#include "settings/private.h"

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

/* cmocka's setup and teardown of a test: makes the world, and checks that everything was given back. */
int enter_world(void **state);
int leave_world(void **state);

void forget_everything(void); /* as bp_reset() does for the rooms below */

extern char system_path[96], user_path[96];
void write_file(const char *path, const char *text);
void write_bytes(const char *path, const void *bytes, size_t size);
char *file_text(const char *path); /* for free() */

/* The value and the layer in force. */
void assert_setting(const char *name, const char *value, bp_layer layer, const char *where);
int problem_count(void);

/* Two values other than the default, and one that is not accepted. */
typedef struct sample {
    char one[32], two[32], bad[32];
} sample;
sample sample_of(const bp_setting_info *row);

/* The n-th allocation (0: the first) and all after it fail, until calm_allocator(). Once: only that one fails. */
void failing_allocator(int n, bool once);
void allow_allocations(int n, bool once); /* counts anew */
void calm_allocator(void);

#endif
