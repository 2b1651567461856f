/* file.c - whole files in, whole files out, so that a reader never sees half of one. */
#define _GNU_SOURCE
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bp_status fail_errno(const char *path, const char *action) {
    int error = errno;
    char reason[128];
    bp_status status = error == ENOENT || error == ENOTDIR ? BP_E_NOT_FOUND : BP_E_IO;
    return bp__fail(status, "%s: cannot %s: %s", path, action, strerror_r(error, reason, sizeof reason));
}

/* Reads to the end, or to one byte more than the limit: files under /proc tell no size, others may grow meanwhile. */
static bp_status read_all(int file, const char *path, size_t limit, size_t hint, char **bytes, size_t *size) {
    size_t capacity = hint + 2, length = 0;
    char *block = bp__alloc(capacity);
    while (block) {
        ssize_t got = read(file, block + length, capacity - 1 - length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            bp__free(block);
            return fail_errno(path, "read it");
        }
        if (got == 0) {
            block[length] = '\0';
            *bytes = block;
            *size = length;
            return BP_OK;
        }
        length += (size_t)got;
        if (length > limit) {
            bp__free(block);
            return bp__fail(BP_E_OVERFLOW, "%s: file is larger than the %zu bytes that are read", path, limit);
        }
        if (capacity - 1 - length == 0) {
            capacity = capacity < limit / 2 ? capacity * 2 : limit + 2;
            char *larger = bp__realloc(block, capacity);
            if (!larger) {
                bp__free(block);
            }
            block = larger;
        }
    }
    return bp__fail_memory(capacity, path);
}

bp_status bp__file_read(const char *path, size_t limit, char **bytes, size_t *size) {
    *bytes = NULL;
    *size = 0;
    if (limit > SIZE_MAX - 2) {
        limit = SIZE_MAX - 2;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe must not make us wait */
    if (file < 0) {
        return fail_errno(path, "open it");
    }
    struct stat facts;
    bp_status status = BP_OK;
    if (fstat(file, &facts) != 0) {
        status = fail_errno(path, "examine it");
    } else if (!S_ISREG(facts.st_mode)) {
        status = bp__fail(BP_E_IO, "%s: not a regular file", path);
    } else if ((uint64_t)facts.st_size > limit) {
        status = bp__fail(BP_E_OVERFLOW, "%s: file is larger than the %zu bytes that are read", path, limit);
    } else {
        status = read_all(file, path, limit, (size_t)facts.st_size, bytes, size);
    }
    close(file);
    return status;
}

/* Makes the folders above a file, for their owner alone. `path` is changed and changed back. */
static bp_status make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool made = mkdir(path, 0700) == 0 || errno == EEXIST || errno == EROFS || errno == EACCES;
        bp_status status = made ? BP_OK : fail_errno(path, "make this folder");
        *slash = '/';
        BP__TRY(status);
    }
    return BP_OK;
}

static bp_status write_all(int file, const char *path, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t wrote = write(file, bytes, size);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote <= 0) {
            return fail_errno(path, "write to it");
        }
        bytes += wrote;
        size -= (size_t)wrote;
    }
    return fsync(file) == 0 ? BP_OK : fail_errno(path, "sync it");
}

/* The rename lasts through a power failure only once the folder is on disk. That some file systems cannot sync a folder
 * is no failure of ours. */
static void sync_folder(const char *path) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) + 1 : 1;
    snprintf(folder, sizeof folder, "%.*s", length, slash ? path : ".");
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0) {
        fsync(file);
        close(file);
    }
}

static bp_status write_and_rename(const char *path, const void *bytes, size_t size) {
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary) {
        return bp__fail(BP_E_IO, "%.64s...: path is too long", path);
    }
    struct stat old;
    bool existed = stat(path, &old) == 0;
    int file = mkostemp(temporary, O_CLOEXEC);
    if (file < 0) {
        return fail_errno(path, "make a temporary file beside it");
    }
    bp_status status = write_all(file, temporary, bytes, size);
    if (status == BP_OK && fchmod(file, existed ? old.st_mode & 0777 : 0644) != 0) {
        status = fail_errno(temporary, "set its permissions");
    }
    if (close(file) != 0 && status == BP_OK) {
        status = fail_errno(temporary, "close it");
    }
    if (status == BP_OK && rename(temporary, path) != 0) {
        status = fail_errno(path, "rename a temporary file to it");
    }
    if (status != BP_OK) {
        unlink(temporary);
        return status;
    }
    sync_folder(path);
    return BP_OK;
}

bp_status bp__file_replace(const char *path, const void *bytes, size_t size) {
    char real[PATH_MAX];
    /* Through a symbolic link the file behind it is replaced, and the link stays. */
    if (!realpath(path, real)) {
        if (!bp__copy_text(real, sizeof real, path) || *path == '\0') {
            return bp__fail(BP_E_IO, "'%.64s': path is empty or too long", path);
        }
        BP__TRY(make_folders(real));
    }
    return write_and_rename(real, bytes, size);
}
