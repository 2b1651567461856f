/* npy.h - reads .npy files, versions 1 to 3, and writes version 1. Files are untrusted input; a file is written
 * completely or not at all.
 *
 * On failure the caller's npy_error has the message.
 */
#ifndef BP_CLI_NPY_H
#define BP_CLI_NPY_H

#include "backplane.h"

#include <stdbool.h>

typedef struct npy_error {
    char text[640];
} npy_error;

#define NPY_BF16 1u /* read '<V2', the type that ml_dtypes writes for bfloat16, as bf16 */

/* Content of a header. */
typedef struct npy_header {
    bp_dtype dtype;
    bool fortran; /* first dimension fastest */
    bool swapped; /* not this machine's byte order */
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    int64_t count; /* elements */
    size_t size;   /* bytes of all elements */
} npy_header;

typedef struct npy_array {
    npy_header header;
    void *data; /* 64-byte aligned, in this machine's byte order; not NULL after success */
} npy_array;

/* The first bytes of a file: magic, version, and the length of the description. */
#define NPY_PREFIX_MIN 10
#define NPY_PREFIX_MAX 12
#define NPY_HEADER_LIMIT 65535

/* Finds start and length of the description, from the first NPY_PREFIX_MIN (version 1) or NPY_PREFIX_MAX bytes.
 */
bp_status npy_parse_prefix(const unsigned char *bytes, size_t size, size_t *start, size_t *length, npy_error *error);

/* Parses the description, which is the text of a Python dictionary. */
bp_status npy_parse_header(const char *text, size_t length, unsigned flags, npy_header *header, npy_error *error);

/* Reads a whole file; "-" is standard input. Bytes behind the elements are an error. *array is empty after a failure.
 * Errors: BP_E_FORMAT, BP_E_TRUNCATED, BP_E_DTYPE, BP_E_OVERFLOW, BP_E_IO, BP_E_NO_MEMORY. */
bp_status npy_read(const char *path, unsigned flags, npy_array *array, npy_error *error);
bp_status npy_read_file(int file, const char *name, unsigned flags, npy_array *array, npy_error *error);
void npy_free(npy_array *array);

/* Allocates zeros for an array whose header has dtype, shape and count. Errors: BP_E_NO_MEMORY, BP_E_OVERFLOW. */
bp_status npy_allocate(npy_array *array);

/* Makes a view of the array without a copy; Fortran order becomes strides. */
bp_status npy_view(const npy_array *array, bp_view *view);

/* Checks before a long computation whether npy_write() is likely to succeed. */
bp_status npy_check_target(const char *path, npy_error *error);

/* Writes an array to a temporary file in the same folder, syncs it and renames it, so that readers see the old file or
 * the complete new one. Devices and pipes are written directly; "-" is standard output. */
bp_status npy_write(const char *path, const npy_array *array, npy_error *error);

/* Writes a text in the same way. */
bp_status npy_write_text(const char *path, const char *text, size_t length, npy_error *error);

/* Writes the bytes of the file at the current position of `file`. Returns false and errno if it fails. */
bool npy_write_file(int file, const npy_array *array);

/* Formats error->text. Returns `status`. For the npy_*.c files only. */
bp_status npy_fail(npy_error *error, bp_status status, const char *format, ...) BP_PRINTF(3, 4);

#endif
