/* npy.h - the headers of NumPy's files (.npy), versions 1 to 3. Files are untrusted input.
 *
 * The library reads and writes matrices in parts (dist/file.c), the command whole arrays (cli/arrays). npy.c is
 * compiled into both, as text.c is. On failure the caller's bp__npy_error has the message.
 */
#ifndef BP_BASE_NPY_H
#define BP_BASE_NPY_H

#include "backplane/tensor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bp__npy_error {
    char text[640];
} bp__npy_error;

#define BP__NPY_BF16 1u /* read '<V2', the type that ml_dtypes writes for bfloat16, as bf16 */

/* Content of a header. */
typedef struct bp__npy_header {
    bp_dtype dtype;
    bool fortran; /* first dimension fastest */
    bool swapped; /* not this machine's byte order */
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    int64_t count; /* elements */
    size_t size;   /* bytes of all elements */
} bp__npy_header;

/* The first bytes of a file: magic, version, and the length of the description. */
#define BP__NPY_PREFIX_MIN 10
#define BP__NPY_PREFIX_MAX 12
#define BP__NPY_HEADER_LIMIT 65535

/* Finds start and length of the description, from the first BP__NPY_PREFIX_MIN (version 1) or BP__NPY_PREFIX_MAX
 * bytes. */
bp_status bp__npy_parse_prefix(const unsigned char *bytes, size_t size, size_t *start, size_t *length,
                               bp__npy_error *error);

/* Parses the description, which is the text of a Python dictionary. */
bp_status bp__npy_parse_header(const char *text, size_t length, unsigned flags, bp__npy_header *header,
                               bp__npy_error *error);

/* Reads prefix and description from the current position of a file, which may be a pipe. *consumed is their length.
 * Errors: BP_E_FORMAT, BP_E_TRUNCATED, BP_E_DTYPE, BP_E_OVERFLOW, BP_E_IO, BP_E_NO_MEMORY. */
bp_status bp__npy_read_header(int file, unsigned flags, bp__npy_header *header, size_t *consumed, bp__npy_error *error);

#define BP__NPY_HEADER_SPACE (BP_MAX_NDIM * 24 + 256) /* 64 sizes of at most 19 digits, and the keys */

/* Writes a version 1 header, padded with spaces so that the elements start at a multiple of 64 bytes. Returns its
 * length. */
size_t bp__npy_format_header(const bp__npy_header *header, char buffer[BP__NPY_HEADER_SPACE]);

/* Changes elements from the other byte order to this machine's, or back. */
void bp__npy_swap(void *elements, size_t count, bp_dtype dtype);

/* Reads `size` bytes, or up to the end of the file. *got is the number of bytes read. */
bp_status bp__npy_read_bytes(int file, void *buffer, size_t size, size_t *got, bp__npy_error *error);

/* The header declares more bytes than the file has, which are `present`. Returns BP_E_TRUNCATED. */
bp_status bp__npy_truncated(const bp__npy_header *header, size_t consumed, uint64_t present, bp__npy_error *error);

/* Formats error->text. Returns `status`. */
bp_status bp__npy_fail(bp__npy_error *error, bp_status status, const char *format, ...) BP_PRINTF(3, 4);

#endif
