/* files.h - reads numbers and fields from small files of the kernel in /proc and /sys, with bp__read_text(). A missing
 * file gives false, not an error. */
#ifndef BP_MACHINE_FILES_H
#define BP_MACHINE_FILES_H

#include "base/base.h"

/* Reads a decimal number at the beginning of a file. */
bool bp__read_number(const char *path, int64_t *value);

/* Reads the value of the first line "key : value". */
bool bp__read_field(const char *path, const char *key, char *buffer, size_t size);

#endif
