/* files.c - reads small kernel files; see files.h. It allocates no memory and sets no error for bp_last_error(). */
#include "machine/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool bp__read_number(const char *path, int64_t *value) {
    char text[64];
    char *end;
    if (!bp__read_text(path, text, sizeof text)) {
        return false;
    }
    errno = 0;
    *value = strtoll(text, &end, 10);
    return end != text && errno == 0;
}

static bool find_field(char *text, const char *key, char *buffer, size_t size) {
    size_t length = strlen(key);
    for (char *line = text; *line; line += strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n')) {
        const char *after = line + length;
        if (strncmp(line, key, length) != 0 || after[strspn(after, " \t")] != ':') {
            continue;
        }
        char *value = line + strcspn(line, ":") + 1;
        value += strspn(value, " \t");
        value[strcspn(value, "\n")] = '\0';
        bp__copy_text(buffer, size, value);
        return true;
    }
    return false;
}

bool bp__read_field(const char *path, const char *key, char *buffer, size_t size) {
    enum { SIZE = 8192 };
    char *text = bp__alloc(SIZE);
    buffer[0] = '\0';
    if (!text) {
        return false;
    }
    bp__read_text(path, text, SIZE);
    bool found = find_field(text, key, buffer, size);
    bp__free(text);
    return found;
}
