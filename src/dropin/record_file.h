/* record_file.h - the layout of the file in which processes count their calls, for `backplane launch`.
 *
 * The command creates the file, and all processes of the run map it into their memory. So counts survive processes that
 * end in any way, children of fork() need nothing of their own, and no lock is needed. A row has the calls of one
 * routine with equal sizes that ran on the same library. It is found by its hash, at one of the next BP__RECORD_PROBES
 * places.
 */
#ifndef BP_DROPIN_RECORD_FILE_H
#define BP_DROPIN_RECORD_FILE_H

#include <stdint.h>

#define BP__RECORD_MAGIC "BPCALLS2"
enum { BP__RECORD_ROWS = 1 << 14, BP__RECORD_PROBES = 64 };

/* The state of a row. Its key is written by the thread that takes it, and is valid once the row is ready. */
enum { BP__RECORD_FREE, BP__RECORD_TAKEN, BP__RECORD_READY };

/* The key of a row. Texts are padded with zeros, so that equal keys have equal bytes; of long paths the end is kept. */
typedef struct bp__record_key {
    char routine[40], family[8], options[8]; /* fftwf_import_wisdom_from_filename is the longest name */
    int32_t width, through, sizes, unused;
    int64_t size[4];
    char ran[104], own[104];
} bp__record_key;

typedef struct bp__record_row {
    uint32_t state, hash;
    bp__record_key key;
    char why[128];
    double flops; /* of one call; 0: not known */
    uint64_t calls, time_ns, least_ns, most_ns;
} bp__record_row;

typedef struct bp__record_file {
    char magic[8];
    uint32_t rows, row_size;
    uint64_t lost;         /* calls for which no row was free */
    uint64_t discovery_ns; /* of all processes: the search for libraries and the choice of routines; in no row */
    bp__record_row row[BP__RECORD_ROWS];
} bp__record_file;

#endif
