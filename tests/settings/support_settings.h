/* support_settings.h - sets up an isolated environment for tests of settings: a home of its own, no variables but the
 * test's, and an allocator that can fail. */
#ifndef TESTS_SETTINGS_SUPPORT_H
#define TESTS_SETTINGS_SUPPORT_H

#include "settings/private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/contains.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cmocka's setup and teardown of a test: make the environment, and check that all memory was freed. */
int enter_environment(void **state);
int leave_environment(void **state);

void reset_settings(void); /* resets this module and the modules below, as bp_reset() does */

extern char system_path[96], user_path[96];
void write_file(const char *path, const char *text);
void write_bytes(const char *path, const void *bytes, size_t size);
char *file_text(const char *path); /* release with free() */

/* Checks the value and the layer in force. */
void assert_setting(const char *name, const char *value, bp_layer layer, const char *where);
int problem_count(void);

/* Two values other than the default, and one that is not accepted. */
typedef struct sample {
    char one[32], two[32], bad[32];
} sample;
sample sample_of(const bp_setting_info *row);

/* Makes the n-th allocation (0: the first) and all later ones fail, until calm_allocator(). `once`: only that one
 * fails. */
void failing_allocator(int n, bool once);
void calm_allocator(void);

#endif
