/* warning.c - reports warnings: facts that a user should know and that are not errors. Each text is reported once.
 * Without a handler the last ones are kept. */
#include "backplane/settings.h"
#include "base/uncancelled.h"
#include "base/base.h"
#include "base/locks.h"
#include "base/number.h"

#include <stdio.h>
#include <string.h>

enum { KEPT = 64, LONGEST = 2048, MOST_REPORTED = 65536 };

static bp_warning_handler handler;
static void *handler_user;
static char *kept[KEPT]; /* a ring buffer; the oldest entry is at `first` */
static int first, count;

/* The hashes of all texts reported so far; 0 marks a free entry. The table's size is a power of two. */
static uint64_t *reported;
static size_t reported_size, reported_count;

static bool grow_reported(void) {
    size_t size = reported_size ? reported_size * 2 : 64;
    uint64_t *fresh = size <= MOST_REPORTED ? bp__alloc_zero(size, sizeof *fresh) : NULL;
    if (!fresh) {
        return false;
    }
    for (size_t i = 0; i < reported_size; i++) {
        size_t at = (size_t)reported[i] & (size - 1);
        while (reported[i] != 0 && fresh[at] != 0) {
            at = (at + 1) & (size - 1);
        }
        if (reported[i] != 0) {
            fresh[at] = reported[i];
        }
    }
    bp__free(reported);
    reported = fresh;
    reported_size = size;
    return true;
}

/* Returns whether the text is new, and records it. If no more can be recorded, every unknown text counts as new:
 * reporting a warning twice is better than never. */
static bool is_new(const char *text) {
    uint64_t hash = bp__hash(text, strlen(text));
    hash = hash ? hash : 1;
    size_t at = 0;
    for (size_t tries = 0; tries < reported_size; tries++) {
        at = ((size_t)hash + tries) & (reported_size - 1);
        if (reported[at] == hash) {
            return false;
        }
        if (reported[at] == 0) {
            break;
        }
    }
    if (reported_count * 2 >= reported_size) {
        if (!grow_reported()) {
            return true;
        }
        at = (size_t)hash & (reported_size - 1);
        while (reported[at] != 0) {
            at = (at + 1) & (reported_size - 1);
        }
    }
    reported[at] = hash;
    reported_count++;
    return true;
}

static void keep(const char *text) {
    char *copy = bp__strdup(text);
    if (!copy) {
        return; /* no memory to keep the warning */
    }
    if (count == KEPT) {
        bp__free(kept[first]);
        kept[first] = copy;
        first = (first + 1) % KEPT;
    } else {
        kept[(first + count++) % KEPT] = copy;
    }
}

void bp__warn(const char *format, ...) {
    char text[LONGEST];
    va_list args;
    va_start(args, format);
    int length = bp__format_v(text, sizeof text, format, args);
    va_end(args);
    if (length < 0) {
        return;
    }
    pthread_mutex_lock(&bp__warning_mutex);
    bool fresh = is_new(text);
    bp_warning_handler call = handler;
    void *user = handler_user;
    if (fresh && !call) {
        keep(text);
    }
    pthread_mutex_unlock(&bp__warning_mutex);
    if (fresh && call) {
        BP__UNCANCELLED;  /* callers may hold locks */
        call(user, text); /* outside the mutex: a handler may wait for a lock that a caller of the library holds */
    }
}

void bp_set_warning_handler(bp_warning_handler new_handler, void *user) {
    pthread_mutex_lock(&bp__warning_mutex);
    handler = new_handler;
    handler_user = user;
    pthread_mutex_unlock(&bp__warning_mutex);
}

int bp_warning_at(int index, char *buffer, size_t size) {
    pthread_mutex_lock(&bp__warning_mutex);
    bool found = index >= 0 && index < count;
    if (buffer && size > 0) {
        bp__copy_text(buffer, size, found ? kept[(first + index) % KEPT] : "");
    }
    pthread_mutex_unlock(&bp__warning_mutex);
    return found;
}

void bp__warning_reset(void) {
    pthread_mutex_lock(&bp__warning_mutex);
    for (int i = 0; i < KEPT; i++) {
        bp__free(kept[i]);
        kept[i] = NULL;
    }
    first = 0;
    count = 0;
    bp__free(reported);
    reported = NULL;
    reported_size = 0;
    reported_count = 0;
    pthread_mutex_unlock(&bp__warning_mutex);
}
