/* file.c - reads and replaces whole files, so that a reader never finds one half written. */
#define _GNU_SOURCE
#include "base/base.h"
#include "base/path_buffer.h"
#include "base/uncancelled.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bp_status fail_errno(const char *path, const char *action) {
    int error = errno;
    char reason[128];
    bp_status status = error == ENOENT || error == ENOTDIR ? BP_E_NOT_FOUND : BP_E_IO;
    return bp__fail(status, "%s: cannot %s: %s", path, action, strerror_r(error, reason, sizeof reason));
}

/* Reads to the end of the file, or one byte past the limit. Files under /proc report no size, and others may grow
 * meanwhile. */
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
    BP__UNCANCELLED;
    *bytes = NULL;
    *size = 0;
    if (limit > SIZE_MAX - 2) {
        limit = SIZE_MAX - 2;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* opening a pipe must not block */
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

bool bp__is_folder(const char *path, size_t length) {
    BP__PATH_BUFFER(folder);
    struct stat facts;
    if (!folder) {
        return false;
    }
    snprintf(folder, PATH_MAX, "%.*s", (int)length, path);
    return length == 0 || (stat(folder, &facts) == 0 && S_ISDIR(facts.st_mode));
}

/* Some file systems refuse to make a directory before they look whether it is there. Keeps errno. */
static bool is_there(const char *folder) {
    const int error = errno;
    const bool there = (error == EROFS || error == EACCES) && bp__is_folder(folder, strlen(folder));
    errno = error;
    return there;
}

bp_status bp__file_make_folders(const char *path, size_t given) {
    BP__PATH_BUFFER(folder);
    if (!folder) {
        return bp__fail_memory(PATH_MAX, "a path");
    }
    if (!bp__copy_text(folder, PATH_MAX, path)) {
        return bp__fail(BP_E_IO, "'%.64s...': path is too long", path);
    }
    if (!bp__is_folder(path, given)) {
        return bp__fail(BP_E_NOT_FOUND,
                        "%s: cannot be written, because the directory %.*s does not exist; make it first", path,
                        (int)given, path);
    }
    char *from = folder + (given > 0 ? given : *path == '/');
    for (char *slash = strchr(from, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST && !is_there(folder)) {
            return fail_errno(folder, "make this directory");
        }
        *slash = '/';
    }
    return BP_OK;
}

size_t bp__file_make_shared_folder(const char *path) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;
    if (length > 0 && length < sizeof folder) {
        memcpy(folder, path, length);
        folder[length] = '\0';
        if (mkdir(folder, 0755) == 0) {
            chmod(folder, 0755); /* whatever the umask of the administrator is */
        }
    }
    return length;
}

bool bp__read_text(const char *path, char *buffer, size_t size) {
    BP__UNCANCELLED;
    size_t length = 0;
    buffer[0] = '\0';
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return false;
    }
    ssize_t got = 1;
    while (got > 0 && length + 1 < size) {
        got = read(file, buffer + length, size - 1 - length);
        if (got < 0 && errno == EINTR) {
            got = 1;
        } else if (got > 0) {
            length += (size_t)got;
        }
    }
    close(file);
    buffer[length] = '\0';
    return got >= 0;
}

/* Blocks SIGXFSZ during the write, because the signal goes to the writing thread alone. A signal that was pending
 * before stays pending, because it belongs to the host program. */
static ssize_t write_limited(int file, const void *bytes, size_t size, int64_t offset) {
    BP__UNCANCELLED;
    const struct timespec now = {0};
    sigset_t limit, before, pending;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigpending(&pending);
    bool of_others = sigismember(&pending, SIGXFSZ) == 1;
    bool held = pthread_sigmask(SIG_BLOCK, &limit, &before) == 0;
    ssize_t wrote = offset < 0 ? write(file, bytes, size) : pwrite(file, bytes, size, offset);
    int error = errno;
    if (wrote < 0 && error == EFBIG && !of_others) {
        while (sigtimedwait(&limit, NULL, &now) < 0 && errno == EINTR) {
        }
    }
    if (held) {
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    errno = error;
    return wrote;
}

ssize_t bp__file_write(int file, const void *bytes, size_t size) {
    return write_limited(file, bytes, size, -1);
}

ssize_t bp__file_write_at(int file, const void *bytes, size_t size, int64_t offset) {
    return write_limited(file, bytes, size, offset);
}

static bp_status write_all(int file, const char *path, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t wrote = bp__file_write(file, bytes, size);
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

/* Writes the path of the directory of `path`. Returns the length of that path with its last slash. */
static int folder_of(const char *path, char folder[PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) + 1 : 0;
    snprintf(folder, PATH_MAX, "%.*s", length ? length : 1, length ? path : ".");
    return length;
}

/* Syncs the directory, so that the rename survives a power failure. Some file systems cannot sync a directory; this is
 * not an error. */
static void sync_folder(const char *path) {
    BP__PATH_BUFFER(folder);
    if (!folder) {
        return;
    }
    folder_of(path, folder);
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0) {
        fsync(file);
        close(file);
    }
}

/* ---- Unfinished files. The writer locks its file for as long as the file has its temporary name. An unlocked one was
 * left by a process that was killed, because the lock ends with the process. ---- */

#define UNFINISHED ".unfinished-" /* between the file's name and the six characters of mkostemp */

/* Removes an unfinished file of a process that has ended. */
static void remove_abandoned(int folder, const char *name) {
    struct stat facts;
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file < 0) {
        return;
    }
    if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == geteuid() &&
        flock(file, LOCK_EX | LOCK_NB) == 0) {
        unlinkat(folder, name, 0);
    }
    close(file);
}

/* Removes the unfinished files of `path` that killed processes left. */
static void remove_all_abandoned(const char *path) {
    BP__PATH_BUFFER(path_of_folder);
    if (!path_of_folder) {
        return;
    }
    const char *name = path + folder_of(path, path_of_folder);
    size_t length = strlen(name), mark = strlen(UNFINISHED);
    DIR *folder = opendir(path_of_folder);
    for (struct dirent *each; folder && (each = readdir(folder));) {
        if (strlen(each->d_name) == length + mark + 6 && strncmp(each->d_name, name, length) == 0 &&
            strncmp(each->d_name + length, UNFINISHED, mark) == 0) {
            remove_abandoned(dirfd(folder), each->d_name);
        }
    }
    if (folder) {
        closedir(folder);
    }
}

/* Makes a file with a temporary name and locks it. Another process may take the file for an abandoned one before it is
 * locked; it has then lost its name, and the next one is made. On file systems without locks, files are never taken for
 * abandoned. */
static int make_unfinished(const char *path, char temporary[PATH_MAX]) {
    enum { MOST_TRIALS = 100 };
    for (int i = 0; i < MOST_TRIALS; i++) {
        struct stat facts;
        snprintf(temporary, PATH_MAX, "%s" UNFINISHED "XXXXXX", path);
        int file = mkostemp(temporary, O_CLOEXEC);
        if (file < 0) {
            return -1;
        }
        while (flock(file, LOCK_EX) != 0 && errno == EINTR) {
        }
        if (fstat(file, &facts) != 0 || facts.st_nlink > 0) {
            return file;
        }
        close(file);
    }
    errno = EBUSY;
    return -1;
}

static bp_status write_and_rename(const char *path, const void *bytes, size_t size) {
    BP__PATH_BUFFER(temporary);
    struct stat old;
    if (!temporary) {
        return bp__fail_memory(PATH_MAX, "a path");
    }
    if (strlen(path) + strlen(UNFINISHED "XXXXXX") >= PATH_MAX) {
        return bp__fail(BP_E_IO, "%.64s...: path is too long", path);
    }
    bool existed = stat(path, &old) == 0;
    remove_all_abandoned(path);
    int file = make_unfinished(path, temporary);
    if (file < 0) {
        return fail_errno(path, "make a temporary file next to it");
    }
    bp_status status = write_all(file, path, bytes, size);
    if (status == BP_OK && fchmod(file, existed ? old.st_mode & 0777 : 0644) != 0) {
        status = fail_errno(path, "set its permissions");
    }
    if (status == BP_OK && rename(temporary, path) != 0) {
        status = fail_errno(path, "rename a temporary file to it");
    }
    if (status != BP_OK) {
        unlink(temporary);
    }
    if (close(file) != 0 && status == BP_OK) {
        status = fail_errno(path, "close it");
    }
    if (status == BP_OK) {
        sync_folder(path);
    }
    return status;
}

bp_status bp__file_replace(const char *path, size_t given, const void *bytes, size_t size) {
    BP__UNCANCELLED;
    BP__PATH_BUFFER(real);
    if (!real) {
        return bp__fail_memory(PATH_MAX, "a path");
    }
    /* A symbolic link stays; the file that it points to is replaced. */
    if (!realpath(path, real)) {
        if (!bp__copy_text(real, PATH_MAX, path) || *path == '\0') {
            return bp__fail(BP_E_IO, "'%.64s': path is empty or too long", path);
        }
        BP__TRY(bp__file_make_folders(real, given));
    }
    return write_and_rename(real, bytes, size);
}

/* ---- The user's directories ---- */

bool bp__user_folder(const char *variable, const char *below_home, char *path, size_t size, size_t *given) {
    const char *folder = bp__env(variable);
    if (folder && folder[0] == '/') { /* the XDG rules ignore a relative path */
        if (!bp__copy_text(path, size, folder)) {
            return false;
        }
        size_t length = strlen(path);
        while (length > 0 && path[length - 1] == '/') {
            path[--length] = '\0';
        }
        char *slash = strrchr(path, '/');
        *given = slash ? (size_t)(slash - path) : 0;
        return true;
    }
    const char *home = bp__env("HOME");
    if (!home || home[0] != '/') {
        return false;
    }
    *given = strlen(home);
    while (*given > 0 && home[*given - 1] == '/') {
        --*given;
    }
    int length = snprintf(path, size, "%.*s/%s", (int)*given, home, below_home);
    return length > 0 && (size_t)length < size;
}
