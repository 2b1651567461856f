/* npy_write.c - writes a .npy file completely or not at all, even if the program is interrupted. */
#include "npy.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Path of the current temporary file, for the handler of terminating signals. */
static char temporary[PATH_MAX];
static volatile sig_atomic_t temporary_exists;

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ, SIGXCPU};
#define ENDING_COUNT (sizeof ending_signals / sizeof ending_signals[0])

static void remove_and_end(int number) {
    if (temporary_exists) {
        unlink(temporary);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void guard_begin(struct sigaction old[ENDING_COUNT]) {
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_handler = remove_and_end;
    sigemptyset(&ours.sa_mask);
    for (size_t i = 0; i < ENDING_COUNT; i++) {
        sigaction(ending_signals[i], NULL, &old[i]);
        if (old[i].sa_handler != SIG_IGN) {
            sigaction(ending_signals[i], &ours, NULL);
        }
    }
}

static void guard_end(const struct sigaction old[ENDING_COUNT]) {
    for (size_t i = 0; i < ENDING_COUNT; i++) {
        sigaction(ending_signals[i], &old[i], NULL);
    }
}

static bool write_all(int file, const void *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t step = write(file, (const char *)bytes + done, size - done);
        if (step < 0 && errno == EINTR) {
            continue;
        }
        if (step < 0) {
            return false;
        }
        done += (size_t)step;
    }
    return true;
}

/* The bytes of a file, in two pieces. */
typedef struct content {
    const void *head, *body;
    size_t head_size, body_size;
} content;

static bool write_content(int file, const content *bytes) {
    return write_all(file, bytes->head, bytes->head_size) && write_all(file, bytes->body, bytes->body_size);
}

static content content_of(const npy_array *array, char header[BP__NPY_HEADER_SPACE]) {
    return (content){.head = header,
                     .head_size = bp__npy_format_header(&array->header, header),
                     .body = array->data,
                     .body_size = array->header.size};
}

bool npy_write_file(int file, const npy_array *array) {
    char header[BP__NPY_HEADER_SPACE];
    content bytes = content_of(array, header);
    return write_content(file, &bytes);
}

static bp_status cannot_write(const char *path, bp__npy_error *error) {
    return bp__npy_fail(error, BP_E_IO, "%s: cannot be written: %s", path, strerror(errno));
}

/* Resolves the symbolic links of a target that exists. */
typedef struct target {
    char path[PATH_MAX];
    char folder[PATH_MAX];
    bool exists;
    mode_t mode;
} target;

static bp_status find_target(const char *path, target *found, bp__npy_error *error) {
    struct stat facts;
    found->exists = stat(path, &facts) == 0;
    found->mode = found->exists ? facts.st_mode : 0;
    if (!found->exists && errno != ENOENT) {
        return cannot_write(path, error);
    }
    if (found->exists && S_ISDIR(found->mode)) {
        return bp__npy_fail(error, BP_E_IO, "%s: is a folder; name a file", path);
    }
    if (found->exists) {
        if (!realpath(path, found->path)) {
            return cannot_write(path, error);
        }
    } else if (!path[0] || strlen(path) >= sizeof found->path - 32) {
        return bp__npy_fail(error, BP_E_IO, "'%s' is not a usable file name", path);
    } else {
        strcpy(found->path, path);
    }
    char copy[PATH_MAX];
    strcpy(copy, found->path);
    strcpy(found->folder, dirname(copy));
    return BP_OK;
}

bp_status npy_check_target(const char *path, bp__npy_error *error) {
    if (strcmp(path, "-") == 0) {
        return isatty(STDOUT_FILENO)
                   ? bp__npy_fail(error, BP_E_IO, "standard output is a terminal; redirect it to a file or a pipe")
                   : BP_OK;
    }
    target found;
    bp_status status = find_target(path, &found, error);
    if (status != BP_OK) {
        return status;
    }
    const char *written = found.exists && !S_ISREG(found.mode) ? found.path : found.folder;
    return access(written, W_OK) == 0 ? BP_OK : cannot_write(path, error);
}

static void sync_folder(const char *folder) {
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0) {
        fsync(file);
        close(file);
    }
}

/* Returns the permissions of the old file, or the permissions of a new file. */
static mode_t wanted_mode(const target *found) {
    if (found->exists) {
        return found->mode & 0777;
    }
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Writes and syncs the temporary file. Closes it in any case. */
static bool write_whole(int file, const target *found, const content *bytes) {
    bool good = write_content(file, bytes) && fchmod(file, wanted_mode(found)) == 0 && fsync(file) == 0;
    int reason = errno;
    good = close(file) == 0 && good;
    errno = good ? errno : reason;
    return good;
}

static bp_status replace_file(const char *path, const target *found, const content *bytes, bp__npy_error *error) {
    int length = snprintf(temporary, sizeof temporary, "%s/.backplane-XXXXXX", found->folder);
    if (length < 0 || (size_t)length >= sizeof temporary) {
        return bp__npy_fail(error, BP_E_IO, "%s: the path is too long", path);
    }
    struct sigaction old[ENDING_COUNT];
    guard_begin(old);
    bp_status status = BP_OK;
    int file = mkostemp(temporary, O_CLOEXEC);
    temporary_exists = file >= 0;
    if (file < 0) {
        status = cannot_write(path, error);
    } else if (!write_whole(file, found, bytes) || rename(temporary, found->path) != 0) {
        status = cannot_write(path, error);
        unlink(temporary);
    }
    temporary_exists = 0;
    guard_end(old);
    if (status == BP_OK) {
        sync_folder(found->folder);
    }
    return status;
}

static bp_status write_directly(int file, const char *name, const content *bytes, bp__npy_error *error) {
    bool good = file >= 0 && write_content(file, bytes);
    bp_status status = good ? BP_OK : cannot_write(name, error);
    if (file > STDERR_FILENO && close(file) != 0 && good) {
        status = cannot_write(name, error);
    }
    return status;
}

static bp_status write_target(const char *path, const content *bytes, bp__npy_error *error) {
    if (strcmp(path, "-") == 0) {
        return write_directly(STDOUT_FILENO, "standard output", bytes, error);
    }
    target found;
    bp_status status = find_target(path, &found, error);
    if (status != BP_OK) {
        return status;
    }
    /* A rename would replace a device or a pipe by a file. */
    if (found.exists && !S_ISREG(found.mode)) {
        return write_directly(open(found.path, O_WRONLY | O_CLOEXEC), path, bytes, error);
    }
    return replace_file(path, &found, bytes, error);
}

bp_status npy_write(const char *path, const npy_array *array, bp__npy_error *error) {
    char header[BP__NPY_HEADER_SPACE];
    content bytes = content_of(array, header);
    return write_target(path, &bytes, error);
}

bp_status npy_write_text(const char *path, const char *text, size_t length, bp__npy_error *error) {
    content bytes = {.head = text, .head_size = length, .body = "", .body_size = 0};
    return write_target(path, &bytes, error);
}
