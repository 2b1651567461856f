/* support_registry.h - sets up a registry that searches one folder only and has its probe cache in a temporary one. */
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

/* Makes a new folder below the build folder and returns its name; forget_folder removes it with its content. */
const char *make_folder(void);
void forget_folder(const char *folder);

/* Resets everything and starts again with these settings; NULL leaves one at its default. */
void restart(const char *library_path, const char *cache_dir);

/* Returns the only library of the list besides the native provider. */
bp_library_info only_row(void);

/* Probes the fake library of that name, which is alone in its folder. The library of probe_good() is usable. */
bp_library_info probe(const char *name);
bp_library_info probe_good(const char *name);

void copy_file(const char *from, const char *to);

/* Returns whether this process gets less than a third of a processor, by working for 0.2 s. */
bool is_starved(void);

#endif
