/* build_log.c - makes the log of a compiler readable within one message. */
#include "providers/opencl/build_log.h"

#include <stdbool.h>
#include <string.h>

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* Returns the length of the absolute path at `at`; 0 if there is none. It ends before a blank, a quote or a colon. */
static size_t path_length(const char *log, const char *at) {
    bool starts = at == log || strchr(" \t\r\n'\"(<", at[-1]);
    return starts && at[0] == '/' && at[1] != '/' && at[1] != '*' ? strcspn(at, " \t\r\n'\":,)>") : 0;
}

/* Adds a piece, as far as it fits. */
static void add(char *text, size_t size, const char *piece) {
    size_t length = strlen(text), left = size - 1 - length, more = strlen(piece);
    more = more < left ? more : left;
    memcpy(text + length, piece, more);
    text[length + more] = '\0';
}

void bp__cl_shorten_log(const char *log, char *text, size_t size) {
    text[0] = '\0';
    for (const char *at = log; *at;) {
        size_t path = path_length(log, at);
        if (path > 1) {
            add(text, size, "kernel");
            at += path;
        } else if (*at == '\n' || is_blank(*at)) {
            size_t skipped = strspn(at, " \t\r\n");
            bool ends_line = memchr(at, '\n', skipped) != NULL;
            at += skipped;
            add(text, size, !*at || !*text ? "" : ends_line ? "; " : " ");
        } else {
            add(text, size, (char[]){*at++, '\0'});
        }
    }
}
