/* blob.c - keeps bytes in files of the user's cache directory.
 *
 * A file is a header, the key, and the bytes. It is written under a temporary name and renamed, so that a reader finds
 * a whole file or none. No lock is needed: writers of one key write the same. */
#define _GNU_SOURCE
#include "store/blob.h"
#include "base/path_buffer.h"
#include "base/uncancelled.h"

#include "settings/internal.h"
#include "store/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OFF, READ_ONLY, READ_WRITE }; /* values of registry.cache */

#define SUFFIX ".blob"
enum { NAME_DIGITS = 16 };

typedef struct header {
    char magic[16];
    uint64_t key_size, size;
    uint64_t sum; /* of key and bytes */
} header;

static const char magic[16] = "backplane blob1";

static uint64_t sum_of(const void *key, size_t key_size, const void *bytes, size_t size) {
    const uint64_t both[2] = {bp__hash(key, key_size), bp__hash(bytes, size)};
    return bp__hash(both, sizeof both);
}

/* Writes the path of a key's file. */
static bool path_of(const char *kind, const void *key, size_t key_size, char path[PATH_MAX], size_t *given) {
    char name[128];
    if (strspn(kind, "abcdefghijklmnopqrstuvwxyz") != strlen(kind) || *kind == '\0') {
        return false;
    }
    int length = snprintf(name, sizeof name, "%s/%0*" PRIx64 SUFFIX, kind, NAME_DIGITS, bp__hash(key, key_size));
    return length < (int)sizeof name && bp__cache_path(name, path, given);
}

/* ---- Reading ---- */

/* Returns a copy of the bytes in a file, or NULL if the file has another key. */
static void *bytes_of(const char *file, size_t length, const void *key, size_t key_size, size_t *size) {
    header head;
    if (length < sizeof head) {
        return NULL;
    }
    memcpy(&head, file, sizeof head);
    const char *its_key = file + sizeof head;
    if (memcmp(head.magic, magic, sizeof magic) != 0 || head.key_size != key_size ||
        head.key_size > length - sizeof head || head.size != length - sizeof head - head.key_size ||
        memcmp(its_key, key, key_size) != 0 ||
        head.sum != sum_of(its_key, key_size, its_key + key_size, (size_t)head.size)) {
        return NULL;
    }
    void *copy = bp__alloc_aligned((size_t)head.size + 1);
    if (copy) {
        memcpy(copy, its_key + key_size, (size_t)head.size);
        *size = (size_t)head.size;
    }
    return copy;
}

void *bp__blob_recall(const char *kind, const void *key, size_t key_size, size_t *size) {
    BP__PATH_BUFFER(path);
    char *file = NULL;
    size_t given, length;
    void *found = NULL;
    bp__held_error held;
    *size = 0;
    if (bp__setting_int(BP_SET_registry_cache) == OFF || !path || !path_of(kind, key, key_size, path, &given)) {
        return NULL;
    }
    bp__error_hold(&held);
    if (bp__file_trusted(path) == BP_OK && bp__file_read(path, BP__BLOBS_MOST, &file, &length) == BP_OK) {
        found = bytes_of(file, length, key, key_size, size);
        bp__free(file);
    }
    bp__error_return(&held);
    return found;
}

/* ---- Removing the oldest ---- */

typedef struct aged {
    char name[NAME_MAX + 1];
    struct timespec written;
} aged;

static bool is_older(const aged *a, const aged *b) {
    return a->written.tv_sec != b->written.tv_sec ? a->written.tv_sec < b->written.tv_sec
                                                  : a->written.tv_nsec < b->written.tv_nsec;
}

/* Returns whether a name is a blob's, perhaps an unfinished one of a process that was killed. */
static bool is_blob(const char *name) {
    return strlen(name) >= NAME_DIGITS && strncmp(name + NAME_DIGITS, SUFFIX, strlen(SUFFIX)) == 0;
}

/* Adds up the files of a folder, and finds the oldest. */
static uint64_t examine(DIR *folder, aged *oldest) {
    uint64_t total = 0;
    struct stat facts;
    *oldest = (aged){.name = ""};
    rewinddir(folder);
    for (const struct dirent *each; (each = readdir(folder)) != NULL;) {
        aged one;
        if (!is_blob(each->d_name) || fstatat(dirfd(folder), each->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(facts.st_mode)) {
            continue;
        }
        bp__copy_text(one.name, sizeof one.name, each->d_name);
        one.written = facts.st_mtim;
        total += (uint64_t)facts.st_size;
        if (!*oldest->name || is_older(&one, oldest)) {
            *oldest = one;
        }
    }
    return total;
}

/* Removes the oldest files above the limit, until only the one that was just written is left. */
static void keep_within(uint64_t most, const char *folder_path, const char *name) {
    aged oldest;
    DIR *folder = opendir(folder_path);
    while (folder && examine(folder, &oldest) > most && strcmp(oldest.name, name) != 0 &&
           unlinkat(dirfd(folder), oldest.name, 0) == 0) {
    }
    if (folder) {
        closedir(folder);
    }
}

/* ---- Writing ---- */

/* Returns the bytes of a file for bp__free(), or NULL. */
static char *make_file(const void *key, size_t key_size, const void *bytes, size_t size, size_t *length) {
    header head = {.key_size = key_size, .size = size, .sum = sum_of(key, key_size, bytes, size)};
    memcpy(head.magic, magic, sizeof magic);
    *length = sizeof head + key_size + size;
    char *file = bp__alloc(*length);
    if (file) {
        memcpy(file, &head, sizeof head);
        memcpy(file + sizeof head, key, key_size);
        memcpy(file + sizeof head + key_size, bytes, size);
    }
    return file;
}

/* Writes a file, unless others could have put a link in its place. */
static void write_file(uint64_t most, const char *path, size_t given, const char *file, size_t length) {
    BP__PATH_BUFFER(folder);
    if (!folder) {
        return;
    }
    bp__copy_text(folder, PATH_MAX, path);
    char *slash = strrchr(folder, '/');
    *slash = '\0';
    if (bp__file_make_folders(path, given) == BP_OK && bp__file_trusted(folder) == BP_OK &&
        bp__file_replace(path, given, file, length) == BP_OK) {
        keep_within(most, folder, slash + 1);
    }
}

void bp__blob_remember_within(uint64_t most, const char *kind, const void *key, size_t key_size, const void *bytes,
                              size_t size) {
    BP__UNCANCELLED;
    BP__PATH_BUFFER(path);
    size_t given, length;
    bp__held_error held;
    if (bp__setting_int(BP_SET_registry_cache) != READ_WRITE || !path || !path_of(kind, key, key_size, path, &given) ||
        key_size > most / 2 || size > most / 2 - sizeof(header)) {
        return;
    }
    bp__error_hold(&held);
    char *file = make_file(key, key_size, bytes, size, &length);
    if (file) {
        write_file(most, path, given, file, length);
        bp__free(file);
    }
    bp__error_return(&held);
}

void bp__blob_remember(const char *kind, const void *key, size_t key_size, const void *bytes, size_t size) {
    bp__blob_remember_within(BP__BLOBS_MOST, kind, key, key_size, bytes, size);
}
