/* files.c - see files.h. No memory is allocated, and no error is kept: bp_last_error() is not for these. */
#include "machine/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool bp__read_text(const char *path, char *buffer, size_t size) {
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

bool bp__read_field(const char *path, const char *key, char *buffer, size_t size) {
    char text[8192];
    size_t length = strlen(key);
    buffer[0] = '\0';
    bp__read_text(path, text, sizeof text);
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
