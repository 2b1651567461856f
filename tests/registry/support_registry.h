/* support_registry.h - a registry that sees one folder only and keeps its store in a temporary one. */
#ifndef SUPPORT_REGISTRY_H
#define SUPPORT_REGISTRY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "registry/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKES BP_TEST_BUILD_DIR "/tests/registry-fakes"

/* A fresh folder below the build folder, and its name; removed with all its content by forget_folder. */
const char *make_folder(void);
void forget_folder(const char *folder);

/* Forgets everything, and starts anew with these settings; NULL leaves one at its default. */
void restart(const char *library_path, const char *cache_dir);

/* The only library that the list has besides our own. */
bp_library_info only_row(void);

void copy_file(const char *from, const char *to);

#endif
