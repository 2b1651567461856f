/* place.c - finds and locks the files that the library keeps in the user's cache directory. */
#define _GNU_SOURCE
#include "store/place.h"
#include "base/path_buffer.h"
#include "base/uncancelled.h"

#include "settings/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* Held while this process holds the lock of a file. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

bool bp__cache_path(const char *name, char path[PATH_MAX], size_t *given) {
    BP__PATH_BUFFER(folder);
    const char *set = bp__setting_text(BP_SET_registry_cache_dir);
    const char *below = "";
    *given = 0;
    if (!folder) {
        return false;
    }
    if (*set) {
        if (!bp__copy_text(folder, PATH_MAX, set)) {
            return false;
        }
    } else if (bp__user_folder("XDG_CACHE_HOME", ".cache", folder, PATH_MAX, given) && bp__is_folder(folder, *given)) {
        below = "/backplane";
    } else {
        return false;
    }
    int length = snprintf(path, PATH_MAX, "%s%s/%s", folder, below, name);
    return length > 0 && length < PATH_MAX;
}

/* Opens the file and locks it, without waiting. Returns it, or -1 with errno; EWOULDBLOCK: locked by another one. */
static int open_locked(const char *path) {
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0) {
        int error = errno;
        close(file);
        errno = error;
        return -1;
    }
    return file;
}

bp_status bp__file_lock(const char *path, size_t given, int wait_ms, int *lock) {
    BP__UNCANCELLED;
    enum { PAUSE_MS = 2 };
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};
    BP__PATH_BUFFER(name);
    char reason[128];
    *lock = -1;
    if (!name) {
        return bp__fail_memory(PATH_MAX, "a path");
    }
    int length = snprintf(name, PATH_MAX, "%s.lock", path);
    if (length <= 0 || length >= PATH_MAX) {
        return bp__fail(BP_E_IO, "'%.64s...': path is too long", path);
    }
    int64_t until = bp__now_ns() + (int64_t)wait_ms * 1000000;
    for (bool made = false;;) {
        pthread_mutex_lock(&mutex);
        *lock = open_locked(name);
        if (*lock >= 0) {
            return BP_OK;
        }
        int error = errno;
        pthread_mutex_unlock(&mutex);
        if (error == ENOENT && !made) {
            BP__TRY(bp__file_make_folders(name, given));
            made = true;
        } else if (error != EWOULDBLOCK && error != EINTR) {
            return bp__fail(BP_E_IO, "%s: cannot lock it: %s", path, strerror_r(error, reason, sizeof reason));
        } else if (bp__now_ns() >= until) {
            return bp__fail(BP_E_BUSY, "%s: another process is writing it", path);
        } else {
            nanosleep(&pause, NULL);
        }
    }
}

void bp__file_unlock(int lock) {
    BP__UNCANCELLED;
    close(lock);
    pthread_mutex_unlock(&mutex);
}

void bp__store_fork_lock(void) {
    pthread_mutex_lock(&mutex);
}

void bp__store_fork_unlock(void) {
    pthread_mutex_unlock(&mutex);
}
