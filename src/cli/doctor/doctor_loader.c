/* doctor_loader.c - finds the file that the dynamic loader would load for a SONAME: LD_LIBRARY_PATH, cache, standard
 * folders.
 *
 * Nothing is loaded. Every offset of the cache file is checked; an unknown format counts as empty.
 */
#include "doctor.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads class, byte order and machine of an ELF file, which must be the same as in this program. */
static bool elf_kind(const char *path, unsigned char kind[4]) {
    unsigned char head[20];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool good = file >= 0 && read(file, head, sizeof head) == (ssize_t)sizeof head && memcmp(head, "\177ELF", 4) == 0;
    if (file >= 0) {
        close(file);
    }
    if (good) {
        const unsigned char facts[4] = {head[4], head[5], head[18], head[19]};
        memcpy(kind, facts, sizeof facts);
    }
    return good;
}

static bool fits(const char *path) {
    unsigned char ours[4], theirs[4];
    return elf_kind("/proc/self/exe", ours) && elf_kind(path, theirs) && memcmp(ours, theirs, sizeof ours) == 0;
}

static bool take_path(const char *path, char *real, size_t size) {
    char resolved[PATH_MAX];
    if (!fits(path) || !realpath(path, resolved) || strlen(resolved) >= size) {
        return false;
    }
    strcpy(real, resolved);
    return true;
}

static bool in_folders(const char *folders, const char *soname, char *real, size_t size) {
    while (*folders) {
        size_t length = strcspn(folders, ":;");
        char *path = cli_format("%.*s/%s", (int)length, folders, soname);
        bool found = length > 0 && take_path(path, real, size);
        free(path);
        if (found) {
            return true;
        }
        folders += length + (folders[length] != 0);
    }
    return false;
}

/* glibc's format: a header of 48 bytes, entries of 24, and strings at offsets from the header. */
#define MAGIC "glibc-ld.so.cache1.1"
#define HEADER_SIZE 48
#define ENTRY_SIZE 24

static const char *string_at(const unsigned char *bytes, size_t size, uint32_t offset) {
    return offset < size && memchr(bytes + offset, 0, size - offset) ? (const char *)bytes + offset : NULL;
}

static bool search_cache(const unsigned char *bytes, size_t size, const char *soname, char *real, size_t real_size) {
    uint32_t count;
    if (size < HEADER_SIZE || memcmp(bytes, MAGIC, sizeof MAGIC - 1) != 0) {
        return false;
    }
    memcpy(&count, bytes + sizeof MAGIC - 1, sizeof count);
    for (uint32_t i = 0; i < count && HEADER_SIZE + ((size_t)i + 1) * ENTRY_SIZE <= size; i++) {
        uint32_t offsets[2]; /* name and path */
        memcpy(offsets, bytes + HEADER_SIZE + (size_t)i * ENTRY_SIZE + 4, sizeof offsets);
        const char *name = string_at(bytes, size, offsets[0]), *path = string_at(bytes, size, offsets[1]);
        if (name && path && strcmp(name, soname) == 0 && take_path(path, real, real_size)) {
            return true;
        }
    }
    return false;
}

static bool in_cache(const char *soname, char *real, size_t size) {
    int file = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    struct stat facts;
    bool found = false;
    if (file >= 0 && fstat(file, &facts) == 0 && facts.st_size > HEADER_SIZE) {
        size_t length = (size_t)facts.st_size;
        unsigned char *bytes = mmap(NULL, length, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) {
            /* Some systems have the older format for older programs first, and the new one behind it. */
            const unsigned char *start = memmem(bytes, length, MAGIC, sizeof MAGIC - 1);
            found = start && search_cache(start, length - (size_t)(start - bytes), soname, real, size);
            munmap(bytes, length);
        }
    }
    if (file >= 0) {
        close(file);
    }
    return found;
}

bool doctor_loader_takes(const char *soname, char *path, size_t size, const char **why) {
    const char *folders = getenv("LD_LIBRARY_PATH");
    if (folders && in_folders(folders, soname, path, size)) {
        *why = "LD_LIBRARY_PATH";
    } else if (in_cache(soname, path, size)) {
        *why = "the loader's cache";
    } else if (in_folders("/lib:/usr/lib:/lib64:/usr/lib64", soname, path, size)) {
        *why = "the standard folders";
    } else {
        return false;
    }
    return true;
}
