/* fuzz_npy.c - reads any bytes as a .npy file and as a pipe; an accepted array is written and read again, and must be
 * equal. */
#include "cli/arrays/npy.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int file_of(const uint8_t *bytes, size_t size) {
    int file = memfd_create("npy", MFD_CLOEXEC);
    if (file < 0 || write(file, bytes, size) != (ssize_t)size || lseek(file, 0, SEEK_SET) != 0) {
        abort();
    }
    return file;
}

static bool read_back(const npy_array *array, npy_array *again) {
    char path[64];
    bp__npy_error error;
    int file = memfd_create("out", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    int copy = open(path, O_RDWR | O_CLOEXEC);
    bool good = npy_write_file(copy, array) && lseek(copy, 0, SEEK_SET) == 0 &&
                npy_read_file(copy, "again", BP__NPY_BF16, again, &error) == BP_OK;
    close(copy);
    close(file);
    return good;
}

static void check_round_trip(const npy_array *array) {
    npy_array again;
    bp_view view;
    if (!read_back(array, &again)) {
        abort();
    }
    const bp__npy_header *a = &array->header, *b = &again.header;
    if (a->dtype != b->dtype || a->fortran != b->fortran || a->ndim != b->ndim || a->size != b->size ||
        memcmp(a->shape, b->shape, sizeof a->shape) != 0 || memcmp(array->data, again.data, a->size) != 0) {
        abort();
    }
    /* May be refused, for sizes that overflow next to a zero, but must not access invalid memory. */
    npy_view(&again, &view);
    npy_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    npy_array array;
    bp__npy_error error;
    int file = file_of(bytes, size);
    bp_status status = npy_read_file(file, "input", BP__NPY_BF16, &array, &error);
    close(file);
    if (status == BP_OK) {
        check_round_trip(&array);
        npy_free(&array);
    } else if (array.data || !error.text[0]) {
        abort();
    }
    /* The same bytes from a pipe: only short inputs, which fit into its buffer. */
    int ends[2];
    if (size <= 4096 && pipe(ends) == 0) {
        npy_array streamed;
        if (write(ends[1], bytes, size) != (ssize_t)size) {
            abort();
        }
        close(ends[1]);
        bp_status from_pipe = npy_read_file(ends[0], "pipe", BP__NPY_BF16, &streamed, &error);
        if (from_pipe != status) {
            abort();
        }
        npy_free(&streamed);
        close(ends[0]);
    }
    return 0;
}
