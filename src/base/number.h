/* number.h - formats and reads numbers in the same way whatever locale the host program has set: with a full stop,
 * without grouping. Files of records are read by other processes, and texts of problems are compared. (text.c) */
#ifndef BP_BASE_NUMBER_H
#define BP_BASE_NUMBER_H

#include "backplane/status.h"

#include <stdarg.h>
#include <stddef.h>

/* As snprintf(), vsnprintf() and strtod(), in the locale "C". */
int bp__format(char *buffer, size_t size, const char *format, ...) BP_PRINTF(3, 4);
int bp__format_v(char *buffer, size_t size, const char *format, va_list args);
double bp__read_real(const char *text, char **end);

#endif
