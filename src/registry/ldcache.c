/* ldcache.c - reads the loader's cache file directly, without starting ldconfig. */
#include "registry/ldcache.h"

#include <string.h>

/* Both formats have a header, entries of fixed size, and a table of strings. Numbers are in the machine's byte order.
 */
typedef struct layout {
    const char *magic;
    size_t magic_size;
    size_t count_at; /* all offsets are from the header's first byte */
    size_t header_size;
    size_t entry_size;
    size_t name_at;             /* in an entry; the path's offset follows the name's */
    bool strings_after_entries; /* string offsets count from the end of the entries, not from the header */
} layout;

static const layout new_layout = {"glibc-ld.so.cache1.1", 20, 20, 48, 24, 4, false};
static const layout old_layout = {"ld.so-1.7.0", 11, 12, 16, 12, 4, true};

static uint32_t number_at(const unsigned char *bytes, size_t offset) {
    uint32_t value;
    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

static bool has_layout(const layout *format, const unsigned char *bytes, size_t size) {
    return size >= format->header_size && memcmp(bytes, format->magic, format->magic_size) == 0;
}

static const char *string_at(const unsigned char *bytes, size_t size, uint64_t offset) {
    return offset < size && memchr(bytes + offset, 0, size - (size_t)offset) ? (const char *)bytes + offset : NULL;
}

static size_t entries_that_fit(const layout *format, const unsigned char *bytes, size_t size) {
    size_t space = (size - format->header_size) / format->entry_size;
    size_t count = number_at(bytes, format->count_at);
    return count < space ? count : space;
}

static void visit_entries(const layout *format, const unsigned char *bytes, size_t size,
                          bool (*visit)(void *, const char *, const char *), void *user) {
    size_t count = entries_that_fit(format, bytes, size);
    uint64_t base = format->strings_after_entries ? format->header_size + count * format->entry_size : 0;
    for (size_t i = 0; i < count; i++) {
        size_t entry = format->header_size + i * format->entry_size;
        const char *name = string_at(bytes, size, base + number_at(bytes, entry + format->name_at));
        const char *path = string_at(bytes, size, base + number_at(bytes, entry + format->name_at + 4));
        if (name && path && path[0] == '/' && !visit(user, name, path)) {
            return;
        }
    }
}

bool bp__ldcache_visit(const void *bytes, size_t size, bool (*visit)(void *user, const char *name, const char *path),
                       void *user) {
    const unsigned char *start = bytes;
    if (has_layout(&new_layout, start, size)) {
        visit_entries(&new_layout, start, size, visit, user);
        return true;
    }
    if (!has_layout(&old_layout, start, size)) {
        return false;
    }
    size_t end = old_layout.header_size + entries_that_fit(&old_layout, start, size) * old_layout.entry_size;
    size_t next = (end + 7) & ~(size_t)7;
    if (next < size && has_layout(&new_layout, start + next, size - next)) {
        visit_entries(&new_layout, start + next, size - next, visit, user);
    } else {
        visit_entries(&old_layout, start, size, visit, user);
    }
    return true;
}
