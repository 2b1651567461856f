/* file.c - reads and writes distributed matrices as .npy files, each rank its own part.
 *
 * The elements of a file follow each other in lines: columns with Fortran order, rows with C order. The lines are
 * taken in chunks, and the ranks agree after each chunk, so that none waits for another longer than a chunk takes, and
 * a failure ends the call on all ranks soon. */
#include "dist/internal.h"

#include "base/npy.h"
#include "base/uncancelled.h"
#include "tensor/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES (INT64_C(64) << 20)    /* of the whole matrix, between two agreements */
#define BUFFER_BYTES (INT64_C(1) << 20)    /* of a reading rank */
#define WORTH_SKIPPING (INT64_C(16) << 10) /* bytes of other ranks that a read includes instead of starting again */

typedef struct transfer {
    bp_comm *comm;
    const bp_dist_view *view;
    bp_dist dist; /* with the shape of the matrix */
    int at[2];
    int along; /* the dimension in which the elements of the file follow each other */
    size_t item;
    bp__npy_header header;
    size_t start; /* of the elements in the file */
    int file;
    const char *path;
    mode_t mode;     /* of the file that is written */
    bool is_divided; /* a matrix or an array, and no value or vector that each rank has */
    bool is_array;
    char *buffer; /* for reads */
} transfer;

static bp_status fail_system(const char *path, const char *what) {
    return bp__fail(BP_E_IO, "%s: cannot be %s: %s", path, what, strerror(errno));
}

/* ---- Headers ---- */

/* Sets the shape of the matrix that a header describes. A vector is a matrix of one column. */
static bp_status shape_of(const bp__npy_header *header, const char *path, int64_t shape[2]) {
    if (header->ndim != 1 && header->ndim != 2) {
        return bp__fail(BP_E_SHAPE, "%s: has %d dimensions; a matrix has two, and a vector one", path, header->ndim);
    }
    shape[0] = header->shape[0];
    shape[1] = header->ndim == 2 ? header->shape[1] : 1;
    return BP_OK;
}

/* Compares the size of the file with what its header declares. */
static bp_status check_size(const transfer *t, uint64_t present) {
    bp__npy_error error;
    const uint64_t declared = (uint64_t)t->start + t->header.size;
    if (present < declared) {
        bp__npy_truncated(&t->header, t->start, present, &error);
        return bp__fail(BP_E_TRUNCATED, "%s: %s", t->path, error.text);
    }
    return present == declared
               ? BP_OK
               : bp__fail(BP_E_FORMAT, "%s: bytes follow the elements that the header declares", t->path);
}

/* Opens a file and reads its header. The caller closes t->file, which is -1 if it could not be opened. */
static bp_status open_for_reading(transfer *t) {
    bp__npy_error error;
    struct stat facts;
    t->file = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* opening a pipe must not block */
    if (t->file < 0 || fstat(t->file, &facts) != 0) {
        return fail_system(t->path, t->file < 0 ? "opened" : "read");
    }
    if (!S_ISREG(facts.st_mode)) {
        return bp__fail(BP_E_IO, "%s: is not a regular file: each rank reads a part of it", t->path);
    }
    const bp_status status = bp__npy_read_header(t->file, BP__NPY_BF16, &t->header, &t->start, &error);
    return status == BP_OK ? check_size(t, (uint64_t)facts.st_size) : bp__fail(status, "%s: %s", t->path, error.text);
}

static void end_file(int file) {
    if (file >= 0) {
        close(file);
    }
}

bp_status bp_dist_file(const char *path, bp_dtype *dtype, int64_t shape[2]) {
    BP__UNCANCELLED;
    transfer t = {.path = path};
    if (!path || !dtype || !shape) {
        return bp__fail(BP_E_ARGUMENT, "bp_dist_file: path, dtype and shape must not be NULL");
    }
    bp_status status = open_for_reading(&t);
    end_file(t.file);
    status = status == BP_OK ? shape_of(&t.header, path, shape) : status;
    *dtype = status == BP_OK ? t.header.dtype : BP_DTYPE_NONE;
    return status;
}

bp_status bp_dist_file_array(const char *path, bp_dtype *dtype, int *ndim, int64_t shape[BP_MAX_DIST_NDIM]) {
    BP__UNCANCELLED;
    transfer t = {.path = path};
    if (!path || !dtype || !ndim || !shape) {
        return bp__fail(BP_E_ARGUMENT, "bp_dist_file_array: path, dtype, ndim and shape must not be NULL");
    }
    bp_status status = open_for_reading(&t);
    end_file(t.file);
    if (status == BP_OK && (t.header.ndim < 2 || t.header.ndim > BP_MAX_DIST_NDIM)) {
        status = bp__fail(BP_E_SHAPE, "%s: has %d dimensions; an array that is divided has two or %d", path,
                          t.header.ndim, BP_MAX_DIST_NDIM);
    }
    *dtype = status == BP_OK ? t.header.dtype : BP_DTYPE_NONE;
    *ndim = status == BP_OK ? t.header.ndim : 0;
    memcpy(shape, t.header.shape, (size_t)*ndim * sizeof *shape);
    return status;
}

/* ---- Chunks ---- */

static bp_status check_given(const transfer *t, const char *name) {
    if (!t->path) {
        return bp__fail(BP_E_ARGUMENT, "%s: path must not be NULL", name);
    }
    if (!t->is_divided) {
        return bp__fail(BP_E_SHAPE, "%s: 'matrix' is no matrix", name);
    }
    return t->view->local || t->view->rows == 0 || t->view->columns == 0
               ? BP_OK
               : bp__fail(BP_E_ARGUMENT, "%s: the local part of 'matrix' is NULL", name);
}

static void hash_call(const transfer *t, const char *name, bp__dist_hashes *hashes) {
    const int64_t call[] = {t->header.dtype, t->header.fortran, t->header.swapped, t->dist.shape[0], t->dist.shape[1]};
    memset(hashes, 0, sizeof *hashes);
    hashes->part[BP__DIST_CALL] = (uint32_t)(bp__hash(call, sizeof call) ^ bp__hash(name, strlen(name)) * 3);
    hashes->part[BP__DIST_LAYOUT] = (uint32_t)bp__hash(t->dist.grid, 3 * sizeof t->dist.grid);
}

/* Calls `move` for each line of this rank, in chunks. `line` is its number in the file, `local` in the local part. */
static bp_status each_chunk(const transfer *t, const bp__dist_hashes *hashes,
                            bp_status (*move)(const transfer *t, int64_t line, int64_t local)) {
    const int across = 1 - t->along;
    const int64_t length = t->dist.shape[t->along], lines = length > 0 ? t->dist.shape[across] : 0;
    const int64_t elements = CHUNK_BYTES / (int64_t)t->item,
                  width = length > 0 && length < elements ? elements / length : 1;
    for (int64_t first = 0, end; first < lines; first = end) {
        end = width < lines - first ? first + width : lines;
        bp_status status = BP_OK;
        for (int64_t line = first; line < end && t->at[0] >= 0 && status == BP_OK; line++) {
            int owner;
            const int64_t local = bp_dist_to_local(&t->dist, across, line, &owner);
            status = owner == t->at[across] ? move(t, line, local) : BP_OK;
        }
        BP__TRY(bp__comm_agree(t->comm, hashes, status, NULL));
    }
    return BP_OK;
}

static int64_t local_count(const transfer *t) {
    return t->along == 0 ? t->view->rows : t->view->columns;
}

static int64_t global_of(const transfer *t, int64_t local) {
    return bp_dist_to_global(&t->dist, t->along, t->at[t->along], local);
}

/* Returns how many elements follow each other both in the local part, from `local` on, and in the line. */
static int64_t run_from(const transfer *t, int64_t local) {
    const int64_t block = t->dist.block[t->along], rest = local_count(t) - local, run = block - local % block;
    return t->dist.grid[t->along] == 1 ? rest : run < rest ? run : rest;
}

static int64_t place_in_file(const transfer *t, int64_t line, int64_t element) {
    return (int64_t)t->start + (line * t->dist.shape[t->along] + element) * (int64_t)t->item;
}

static char *element_at(const transfer *t, int64_t line_local, int64_t local) {
    const int64_t row = t->along == 0 ? local : line_local, column = t->along == 0 ? line_local : local;
    return (char *)t->view->local + (size_t)(row + column * t->view->leading) * t->item;
}

/* ---- Reading ---- */

static bp_status read_at(const transfer *t, char *to, int64_t bytes, int64_t offset) {
    while (bytes > 0) {
        const ssize_t got = pread(t->file, to, (size_t)bytes, offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? fail_system(t->path, "read")
                           : bp__fail(BP_E_TRUNCATED, "%s: became shorter while it was read", t->path);
        }
        to += got;
        offset += got;
        bytes -= got;
    }
    return BP_OK;
}

static void scatter(const transfer *t, int64_t line_local, int64_t local, int64_t count, const char *from) {
    if (t->along == 0) {
        memcpy(element_at(t, line_local, local), from, (size_t)count * t->item);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        memcpy(element_at(t, line_local, local + i), from + (size_t)i * t->item, t->item);
    }
}

/* Returns the end of the local elements, from `local` on, that one read takes: those that fit into the buffer, with
 * short gaps between them. */
static int64_t end_of_read(const transfer *t, int64_t local) {
    const int64_t most = BUFFER_BYTES / (int64_t)t->item, gap = WORTH_SKIPPING / (int64_t)t->item;
    const int64_t first = global_of(t, local), count = local_count(t);
    int64_t end = local, behind = first; /* the element of the line behind the read */
    while (end < count && global_of(t, end) - behind <= gap && global_of(t, end) - first < most) {
        const int64_t left = most - (global_of(t, end) - first), run = run_from(t, end);
        const int64_t taken = run < left ? run : left;
        behind = global_of(t, end) + taken;
        end += taken;
    }
    return end;
}

static bp_status read_line(const transfer *t, int64_t line, int64_t line_local) {
    for (int64_t local = 0, end; local < local_count(t); local = end) {
        end = end_of_read(t, local);
        const int64_t first = global_of(t, local), elements = global_of(t, end - 1) + 1 - first;
        BP__TRY(read_at(t, t->buffer, elements * (int64_t)t->item, place_in_file(t, line, first)));
        if (t->header.swapped) {
            bp__npy_swap(t->buffer, (size_t)elements, t->header.dtype);
        }
        for (int64_t i = local, count; i < end; i += count) {
            count = run_from(t, i) < end - i ? run_from(t, i) : end - i;
            scatter(t, line_local, i, count, t->buffer + (size_t)(global_of(t, i) - first) * t->item);
        }
    }
    return BP_OK;
}

/* A file of an array in C order is one of its matrix in Fortran order, and the other way round for two dimensions. */
static bp_status check_array(transfer *t) {
    const bp_dist_view *view = t->view;
    const int ndim = view->tensor.ndim;
    if (t->header.ndim != ndim || memcmp(t->header.shape, view->shape, (size_t)ndim * sizeof *view->shape) != 0) {
        return bp__fail(BP_E_SHAPE, "%s: has another shape than the array", t->path);
    }
    if (t->header.fortran && ndim > 2) {
        return bp__fail(BP_E_FORMAT, "%s: is in Fortran order; an array of %d dimensions is read in C order", t->path,
                        ndim);
    }
    t->header.fortran = !t->header.fortran;
    return BP_OK;
}

static bp_status check_content(transfer *t, bp_dtype dtype) {
    int64_t shape[2] = {0};
    BP__TRY(t->is_array ? BP_OK : shape_of(&t->header, t->path, shape));
    if (t->header.dtype != dtype) {
        return bp__fail(BP_E_DTYPE, "%s: has elements of %s, and the matrix of %s", t->path,
                        bp_dtype_name(t->header.dtype), bp_dtype_name(dtype));
    }
    if (t->is_array) {
        return check_array(t);
    }
    return shape[0] == t->dist.shape[0] && shape[1] == t->dist.shape[1]
               ? BP_OK
               : bp__fail(BP_E_SHAPE, "%s: is %" PRId64 "x%" PRId64 ", and the matrix %" PRId64 "x%" PRId64, t->path,
                          shape[0], shape[1], t->dist.shape[0], t->dist.shape[1]);
}

static bp_status begin_reading(transfer *t, bp_dtype dtype) {
    BP__TRY(check_given(t, "bp_dist_read"));
    BP__TRY(open_for_reading(t));
    BP__TRY(check_content(t, dtype));
    /* Of one row or column both orders are the same; the long dimension is read in fewer steps. */
    t->along = t->dist.shape[1] == 1 ? 0 : t->dist.shape[0] == 1 ? 1 : !t->header.fortran;
    t->buffer = bp__alloc(BUFFER_BYTES);
    return t->buffer ? BP_OK : bp__fail_memory(BUFFER_BYTES, "the buffer of bp_dist_read");
}

static bp_status run_read(transfer *t, bp_dtype dtype) {
    bp__dist_hashes hashes;
    const bp_status status = begin_reading(t, dtype);
    hash_call(t, "read", &hashes);
    BP__TRY(bp__comm_agree(t->comm, &hashes, status, NULL));
    return each_chunk(t, &hashes, read_line);
}

/* ---- Writing: into a file next to the target, which becomes the target when all ranks have written their parts ----
 */

static bp_status write_at(const transfer *t, const char *from, int64_t bytes, int64_t offset) {
    while (bytes > 0) {
        const ssize_t wrote = bp__file_write_at(t->file, from, (size_t)bytes, offset);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote <= 0) {
            return fail_system(t->path, "written");
        }
        from += wrote;
        offset += wrote;
        bytes -= wrote;
    }
    return BP_OK;
}

static bp_status write_line(const transfer *t, int64_t line, int64_t line_local) {
    for (int64_t local = 0, run; local < local_count(t); local += run) {
        run = run_from(t, local);
        BP__TRY(write_at(t, element_at(t, line_local, local), run * (int64_t)t->item,
                         place_in_file(t, line, global_of(t, local))));
    }
    return BP_OK;
}

/* Names of the files of a call: the target, behind symbolic links, and the file that is written first. */
typedef struct target {
    char path[PATH_MAX], partial[PATH_MAX + sizeof ".00000000.partial"];
} target;

/* All ranks take the number that rank 0 has drawn. */
static bp_status name_files(const transfer *t, target *names) {
    double number = t->comm->rank == 0 ? (double)((uint32_t)bp__now_ns() ^ (uint32_t)getpid()) : 0;
    BP__TRY(bp__comm_reduce(t->comm, &number, 1, false));
    if (!realpath(t->path, names->path)) {
        bp__copy_text(names->path, sizeof names->path, t->path);
    }
    snprintf(names->partial, sizeof names->partial, "%s.%08" PRIx32 ".partial", names->path, (uint32_t)number);
    return BP_OK;
}

static void make_header(transfer *t, bp_dtype dtype, char text[BP__NPY_HEADER_SPACE]) {
    t->header = (bp__npy_header){.dtype = dtype, .fortran = !t->is_array, .ndim = t->view->tensor.ndim};
    memcpy(t->header.shape, t->view->shape, sizeof t->view->shape);
    t->start = bp__npy_format_header(&t->header, text);
}

/* Some file systems have no permissions to change. */
static bool set_mode(int file, mode_t mode) {
    struct stat facts;
    return fstat(file, &facts) == 0 && ((facts.st_mode & 0777) == mode || fchmod(file, mode) == 0);
}

/* Makes the file, on rank 0, which will have the permissions of the one that it replaces. Until then all ranks can open
 * it, also if the old one is read-only. */
static bp_status make_file(transfer *t, const target *names, const char *header) {
    struct stat old, made;
    const bool exists = stat(names->path, &old) == 0;
    if (exists && !S_ISREG(old.st_mode)) {
        return bp__fail(BP_E_IO, "%s: is not a regular file: each rank writes a part of it", t->path);
    }
    t->file = open(names->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? 0600 : 0666);
    if (t->file < 0 || fstat(t->file, &made) != 0) {
        return fail_system(t->path, "written");
    }
    t->mode = (exists ? old.st_mode : made.st_mode) & 0777;
    return set_mode(t->file, t->mode | S_IWUSR) ? write_at(t, header, (int64_t)t->start, 0)
                                                : fail_system(t->path, "written");
}

/* Not for reading too: NFS would then send whole pages, with old bytes where another rank writes. */
static bp_status open_part(transfer *t, const target *names) {
    t->file = open(names->partial, O_WRONLY | O_CLOEXEC);
    return t->file >= 0 ? BP_OK
                        : bp__fail(BP_E_IO,
                                   "%s: rank 0 has made this file, but it cannot be opened: %s. All ranks "
                                   "must see the folder",
                                   names->partial, strerror(errno));
}

static void sync_folder(const char *path) {
    char folder[PATH_MAX];
    bp__copy_text(folder, sizeof folder, path);
    char *slash = strrchr(folder, '/');
    bp__copy_text(slash ? slash + 1 : folder, 2, slash ? "" : ".");
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0) {
        fsync(file);
        close(file);
    }
}

static bp_status replace(const transfer *t, const target *names) {
    if (!set_mode(t->file, t->mode) || rename(names->partial, names->path) != 0) {
        return fail_system(t->path, "written");
    }
    sync_folder(names->path);
    return BP_OK;
}

/* Each step ends with an agreement, so that all ranks go on, or none. */
static bp_status write_steps(transfer *t, const target *names, const char *header, const bp__dist_hashes *hashes) {
    const bool first = t->comm->rank == 0;
    BP__TRY(bp__comm_agree(t->comm, hashes, first ? make_file(t, names, header) : BP_OK, NULL));
    BP__TRY(bp__comm_agree(t->comm, hashes, first ? BP_OK : open_part(t, names), NULL));
    BP__TRY(each_chunk(t, hashes, write_line));
    const bool kept = fsync(t->file) == 0;
    BP__TRY(bp__comm_agree(t->comm, hashes, kept ? BP_OK : fail_system(t->path, "written"), NULL));
    return bp__comm_agree(t->comm, hashes, first ? replace(t, names) : BP_OK, NULL);
}

static bp_status begin_writing(const transfer *t, target **names) {
    BP__TRY(check_given(t, "bp_dist_write"));
    if (strlen(t->path) >= sizeof(*names)->path) {
        return bp__fail(BP_E_IO, "%s: the path is too long", t->path);
    }
    *names = bp__alloc(sizeof **names);
    return *names ? BP_OK : bp__fail_memory(sizeof **names, "the names of files");
}

static bp_status run_write(transfer *t, bp_dtype dtype, target **names) {
    char header[BP__NPY_HEADER_SPACE];
    bp__dist_hashes hashes;
    make_header(t, dtype, header);
    hash_call(t, "write", &hashes);
    BP__TRY(bp__comm_agree(t->comm, &hashes, begin_writing(t, names), NULL));
    BP__TRY(name_files(t, *names));
    const bp_status status = write_steps(t, *names, header, &hashes);
    if (status != BP_OK && t->comm->rank == 0 && t->file >= 0) {
        unlink((*names)->partial);
    }
    return status;
}

/* ---- The calls ---- */

static bp_status begin(transfer *t, const char *path, const DLTensor *matrix) {
    const bp_dist_place *place;
    const bp_dist_view *view = bp__dist_view_of(matrix, "matrix", &place);
    if (!view) {
        return bp_last_status();
    }
    *t = (transfer){.comm = place->opaque, .view = view, .dist = *place->dist, .file = -1, .path = path};
    bp__dist_view_matrix(view, t->dist.shape);
    memcpy(t->at, place->at, sizeof t->at);
    t->item = bp_dtype_size(bp_dtype_from_dlpack(matrix->dtype));
    t->is_divided = matrix->ndim >= 2;
    t->is_array = t->is_divided && view->strides[0] > 1;
    return BP_OK;
}

bp_status bp_dist_read(const char *path, DLTensor *matrix) {
    BP__UNCANCELLED;
    transfer t;
    BP__TRY(begin(&t, path, matrix));
    bp__mpi_lock();
    bp_status status = bp__comm_can_run(t.comm);
    status = status == BP_OK ? run_read(&t, bp_dtype_from_dlpack(matrix->dtype)) : status;
    bp__mpi_unlock();
    end_file(t.file);
    bp__free(t.buffer);
    return status;
}

bp_status bp_dist_write(const char *path, const DLTensor *matrix) {
    BP__UNCANCELLED;
    transfer t;
    target *names = NULL;
    BP__TRY(begin(&t, path, matrix));
    bp__mpi_lock();
    bp_status status = bp__comm_can_run(t.comm);
    status = status == BP_OK ? run_write(&t, bp_dtype_from_dlpack(matrix->dtype), &names) : status;
    bp__mpi_unlock();
    end_file(t.file);
    bp__free(names);
    return status;
}
