/* build_log.h - declares the readable form of a compiler's log. */
#ifndef BP_PROVIDERS_OPENCL_BUILD_LOG_H
#define BP_PROVIDERS_OPENCL_BUILD_LOG_H

#include <stddef.h>

/* Copies the beginning of a log to `text`. Absolute paths become the word "kernel", because drivers compile temporary
 * files, whose names say nothing and differ each time. Line ends become "; ", and runs of spaces one space. */
void bp__cl_shorten_log(const char *log, char *text, size_t size);

#endif
