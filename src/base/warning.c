/* warning.c - things a user should know that are no errors. Each text is told once; without a handler the last ones are
 * kept. */
#include "backplane/settings.h"
#include "base/base.h"
#include "base/locks.h"

#include <stdio.h>
#include <string.h>

enum { KEPT = 64, LONGEST = 2048, MOST_SEEN = 65536 };

static bp_warning_handler handler;
static void *handler_user;
static char *kept[KEPT]; /* a ring: the oldest is at `first` */
static int first, count;

/* The hashes of all texts told so far, 0 marks a free place; the table's size is a power of two. */
static uint64_t *seen;
static size_t seen_size, seen_count;

static bool grow_seen(void) {
    size_t size = seen_size ? seen_size * 2 : 64;
    uint64_t *fresh = size <= MOST_SEEN ? bp__alloc_zero(size, sizeof *fresh) : NULL;
    if (!fresh) {
        return false;
    }
    for (size_t i = 0; i < seen_size; i++) {
        size_t at = (size_t)seen[i] & (size - 1);
        while (seen[i] != 0 && fresh[at] != 0) {
            at = (at + 1) & (size - 1);
        }
        if (seen[i] != 0) {
            fresh[at] = seen[i];
        }
    }
    bp__free(seen);
    seen = fresh;
    seen_size = size;
    return true;
}

/* Tells whether the text is new, and remembers it. When nothing more can be remembered, every unknown text is new: a
 * warning told twice is better than one never told. */
static bool is_new(const char *text) {
    uint64_t hash = bp__hash(text, strlen(text));
    hash = hash ? hash : 1;
    size_t at = 0;
    for (size_t tries = 0; tries < seen_size; tries++) {
        at = ((size_t)hash + tries) & (seen_size - 1);
        if (seen[at] == hash) {
            return false;
        }
        if (seen[at] == 0) {
            break;
        }
    }
    if (seen_count * 2 >= seen_size) {
        if (!grow_seen()) {
            return true;
        }
        at = (size_t)hash & (seen_size - 1);
        while (seen[at] != 0) {
            at = (at + 1) & (seen_size - 1);
        }
    }
    seen[at] = hash;
    seen_count++;
    return true;
}

static void keep(const char *text) {
    char *copy = bp__strdup(text);
    if (!copy) {
        return; /* there is no one to tell */
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
    int length = vsnprintf(text, sizeof text, format, args);
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
        call(user, text); /* outside the mutex: a handler may wait for a lock that a caller of ours holds */
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
    bp__free(seen);
    seen = NULL;
    seen_size = 0;
    seen_count = 0;
    pthread_mutex_unlock(&bp__warning_mutex);
}
