/* npy.h - NumPy's file format: reading versions 1 to 3 from sources that may lie, and writing without half-written
 * files.
 *
 * The sentence of a failure is kept in the caller's npy_error; the status tells its family (and so the exit code).
 */
#ifndef BP_CLI_NPY_H
#define BP_CLI_NPY_H

#include "backplane.h"

#include <stdbool.h>

typedef struct npy_error {
    char text[640];
} npy_error;

#define NPY_BF16 1u /* take '<V2', which is what ml_dtypes' bfloat16 is written as, for bf16 */

/* What a header declares. */
typedef struct npy_header {
    bp_dtype dtype;
    bool fortran; /* first dimension fastest */
    bool swapped; /* the other byte order than this machine's */
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    int64_t count; /* elements */
    size_t size;   /* bytes of all elements */
} npy_header;

typedef struct npy_array {
    npy_header header;
    void *data; /* of 64-byte alignment, in this machine's byte order; never NULL after success */
} npy_array;

/* The first bytes of a file: magic, version, and the length of what describes the array. */
#define NPY_PREFIX_MIN 10
#define NPY_PREFIX_MAX 12
#define NPY_HEADER_LIMIT 65535

/* From the first NPY_PREFIX_MIN (version 1) or NPY_PREFIX_MAX bytes: where the description starts and how long it is.
 */
bp_status npy_parse_prefix(const unsigned char *bytes, size_t size, size_t *start, size_t *length, npy_error *error);

/* The description, a Python dictionary in text. */
bp_status npy_parse_header(const char *text, size_t length, unsigned flags, npy_header *header, npy_error *error);

/* Reads a whole file; "-" is standard input. Nothing may follow the elements. *array is empty after a failure. Errors:
 * BP_E_FORMAT, BP_E_TRUNCATED, BP_E_DTYPE, BP_E_OVERFLOW, BP_E_IO, BP_E_NO_MEMORY. */
bp_status npy_read(const char *path, unsigned flags, npy_array *array, npy_error *error);
bp_status npy_read_file(int file, const char *name, unsigned flags, npy_array *array, npy_error *error);
void npy_free(npy_array *array);

/* Memory of zeros for an array whose header has dtype, shape and count filled in. BP_E_NO_MEMORY, BP_E_OVERFLOW. */
bp_status npy_allocate(npy_array *array);

/* Fills a view of the array: what is in Fortran order gets such strides, and no copy is made. */
bp_status npy_view(const npy_array *array, bp_view *view);

/* BP_OK when npy_write can be expected to succeed: asked before a long computation. */
bp_status npy_check_target(const char *path, npy_error *error);

/* Writes an array: to a temporary file beside `path`, which is synced and then renamed, so that readers see the old
 * file or the whole new one; devices and pipes are written directly, "-" is standard output. */
bp_status npy_write(const char *path, const npy_array *array, npy_error *error);

/* The bytes of the file alone, to where `file` stands; false and errno when not all could be written. */
bool npy_write_file(int file, const npy_array *array);

/* "in.npy: sentence" into error->text; returns the status. For the files of this format only. */
bp_status npy_fail(npy_error *error, bp_status status, const char *format, ...) BP_PRINTF(3, 4);

#endif
