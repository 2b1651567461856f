/* npy_read.c - reads the elements of a .npy file. Memory is allocated only for bytes that the file has. */
#include "npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void *allocate_array(size_t size) {
    void *block = NULL;
    return posix_memalign(&block, 64, size ? size : 1) == 0 ? block : NULL;
}

static bp_status no_memory(const bp__npy_header *header, bp__npy_error *error) {
    return bp__npy_fail(error, BP_E_NO_MEMORY, "no memory for its %zu bytes of elements", header->size);
}

/* Reads from a regular file. Its size is compared with the header before memory is allocated. */
static bp_status read_regular(int file, size_t consumed, npy_array *array, bp__npy_error *error) {
    array->data = allocate_array(array->header.size);
    if (!array->data) {
        return no_memory(&array->header, error);
    }
    size_t got;
    bp_status status = bp__npy_read_bytes(file, array->data, array->header.size, &got, error);
    if (status == BP_OK && got < array->header.size) {
        status = bp__npy_truncated(&array->header, consumed, consumed + got, error);
    }
    return status;
}

/* Reads from a pipe, whose size is unknown. Memory grows with the bytes that have arrived. */
static bp_status read_stream(int file, size_t consumed, npy_array *array, bp__npy_error *error) {
    size_t have = 0, capacity = 0, wanted = array->header.size;
    do {
        size_t next = capacity ? capacity * 2 : (size_t)1 << 20;
        next = next < wanted ? next : wanted;
        void *block = allocate_array(next);
        if (!block) {
            return no_memory(&array->header, error);
        }
        if (have > 0) {
            memcpy(block, array->data, have);
        }
        free(array->data);
        array->data = block;
        capacity = next;
        size_t got;
        bp_status status = bp__npy_read_bytes(file, (char *)array->data + have, capacity - have, &got, error);
        have += got;
        if (status != BP_OK) {
            return status;
        }
        if (have < capacity) {
            return bp__npy_truncated(&array->header, consumed, consumed + have, error);
        }
    } while (capacity < wanted);
    return BP_OK;
}

static void to_native_order(npy_array *array) {
    if (array->header.swapped) {
        bp__npy_swap(array->data, (size_t)array->header.count, array->header.dtype);
        array->header.swapped = false;
    }
}

static bp_status nothing_follows(int file, bp__npy_error *error) {
    char byte;
    size_t got;
    bp_status status = bp__npy_read_bytes(file, &byte, 1, &got, error);
    if (status == BP_OK && got > 0) {
        return bp__npy_fail(error, BP_E_FORMAT, "bytes follow the elements that the header declares");
    }
    return status;
}

static bp_status read_array(int file, unsigned flags, npy_array *array, bp__npy_error *error) {
    struct stat facts;
    if (fstat(file, &facts) != 0) {
        return bp__npy_fail(error, BP_E_IO, "cannot be read: %s", strerror(errno));
    }
    if (S_ISDIR(facts.st_mode)) {
        return bp__npy_fail(error, BP_E_IO, "is a folder, not a file");
    }
    size_t consumed = 0;
    bp_status status = bp__npy_read_header(file, flags, &array->header, &consumed, error);
    if (status != BP_OK) {
        return status;
    }
    bool regular = S_ISREG(facts.st_mode) && lseek(file, 0, SEEK_CUR) == (off_t)consumed;
    if (regular && (uint64_t)facts.st_size < (uint64_t)consumed + array->header.size) {
        return bp__npy_truncated(&array->header, consumed, (uint64_t)facts.st_size, error);
    }
    status = regular ? read_regular(file, consumed, array, error) : read_stream(file, consumed, array, error);
    return status == BP_OK ? nothing_follows(file, error) : status;
}

bp_status npy_read_file(int file, const char *name, unsigned flags, npy_array *array, bp__npy_error *error) {
    memset(array, 0, sizeof *array);
    bp__npy_error inner = {""};
    bp_status status = read_array(file, flags, array, &inner);
    if (status != BP_OK) {
        npy_free(array);
        return bp__npy_fail(error, status, "%s: %s", name, inner.text);
    }
    to_native_order(array);
    return BP_OK;
}

bp_status npy_read(const char *path, unsigned flags, npy_array *array, bp__npy_error *error) {
    if (strcmp(path, "-") == 0) {
        return npy_read_file(STDIN_FILENO, "standard input", flags, array, error);
    }
    memset(array, 0, sizeof *array);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return bp__npy_fail(error, BP_E_IO, "%s: cannot be opened: %s", path, strerror(errno));
    }
    bp_status status = npy_read_file(file, path, flags, array, error);
    close(file);
    return status;
}

bp_status npy_allocate(npy_array *array) {
    bp__npy_header *header = &array->header;
    if (__builtin_mul_overflow((size_t)header->count, bp_dtype_size(header->dtype), &header->size)) {
        return BP_E_OVERFLOW;
    }
    array->data = allocate_array(header->size);
    if (!array->data) {
        return BP_E_NO_MEMORY;
    }
    memset(array->data, 0, header->size);
    return BP_OK;
}

void npy_free(npy_array *array) {
    free(array->data);
    memset(array, 0, sizeof *array);
}

bp_status npy_view(const npy_array *array, bp_view *view) {
    const bp__npy_header *header = &array->header;
    if (!header->fortran || header->count == 0) {
        return bp_view_init(view, array->data, header->dtype, header->ndim, header->shape, NULL);
    }
    int64_t strides[BP_MAX_NDIM], step = 1;
    for (int i = 0; i < header->ndim; i++) {
        strides[i] = step;
        step *= header->shape[i];
    }
    return bp_view_init(view, array->data, header->dtype, header->ndim, header->shape, strides);
}
