/* files.h - what the small texts say that the kernel shows under /proc and /sys; bp__read_text() reads them. A missing
 * one is an answer, not a failure. */
#ifndef BP_MACHINE_FILES_H
#define BP_MACHINE_FILES_H

#include "base/base.h"

/* A file that begins with a decimal number. */
bool bp__read_number(const char *path, int64_t *value);

/* The value of the first line "key : value". */
bool bp__read_field(const char *path, const char *key, char *buffer, size_t size);

#endif
