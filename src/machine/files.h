/* files.h - the small texts that the kernel shows under /proc and /sys. A missing one is an answer, not a failure. */
#ifndef BP_MACHINE_FILES_H
#define BP_MACHINE_FILES_H

#include "base/base.h"

/* The beginning of a file, NUL added; false and "" when it cannot be read. */
bool bp__read_text(const char *path, char *buffer, size_t size);

/* A file that begins with a decimal number. */
bool bp__read_number(const char *path, int64_t *value);

/* The value of the first line "key : value". */
bool bp__read_field(const char *path, const char *key, char *buffer, size_t size);

#endif
