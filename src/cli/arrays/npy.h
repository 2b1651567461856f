/* npy.h - reads .npy files, versions 1 to 3, and writes version 1. Files are untrusted input; a file is written
 * completely or not at all.
 *
 * On failure the caller's bp__npy_error has the message.
 */
#ifndef BP_CLI_NPY_H
#define BP_CLI_NPY_H

#include "backplane.h"
#include "base/npy.h"

#include <stdbool.h>

typedef struct npy_array {
    bp__npy_header header;
    void *data; /* 64-byte aligned, in this machine's byte order; not NULL after success */
} npy_array;

/* Reads a whole file; "-" is standard input. Bytes behind the elements are an error. *array is empty after a failure.
 * Errors: BP_E_FORMAT, BP_E_TRUNCATED, BP_E_DTYPE, BP_E_OVERFLOW, BP_E_IO, BP_E_NO_MEMORY. */
bp_status npy_read(const char *path, unsigned flags, npy_array *array, bp__npy_error *error);
bp_status npy_read_file(int file, const char *name, unsigned flags, npy_array *array, bp__npy_error *error);
void npy_free(npy_array *array);

/* Allocates zeros for an array whose header has dtype, shape and count. Errors: BP_E_NO_MEMORY, BP_E_OVERFLOW. */
bp_status npy_allocate(npy_array *array);

/* Makes a view of the array without a copy; Fortran order becomes strides. */
bp_status npy_view(const npy_array *array, bp_view *view);

/* Checks before a long computation whether npy_write() is likely to succeed. */
bp_status npy_check_target(const char *path, bp__npy_error *error);

/* Writes an array to a temporary file in the same folder, syncs it and renames it, so that readers see the old file or
 * the complete new one. Devices and pipes are written directly; "-" is standard output. */
bp_status npy_write(const char *path, const npy_array *array, bp__npy_error *error);

/* Writes a text in the same way. */
bp_status npy_write_text(const char *path, const char *text, size_t length, bp__npy_error *error);

/* Writes the bytes of the file at the current position of `file`. Returns false and errno if it fails. */
bool npy_write_file(int file, const npy_array *array);

#endif
