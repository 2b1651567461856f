/* error.c - stores the last error of each thread: its status and message.
 *
 * The thread-local storage of a library opened late must fit a small area that the loader reserves. A thread therefore
 * stores short messages in place and long ones on the heap. If the heap allocation fails, a long message is cut; the
 * status is never lost. All long messages are in one list, so that bp_reset() can free the messages of every thread.
 */
#include "base/base.h"
#include "base/locks.h"
#include "base/number.h"

#include <stdio.h>
#include <string.h>

enum { MESSAGE_SIZE = 8192, SHORT_SIZE = 112 };

typedef struct message {
    struct message *previous, *next;
    size_t size;
    char text[];
} message;

typedef struct error_state {
    bp_status status;
    unsigned generation; /* of `kept`; if it differs from the list's, bp_reset() has freed `kept` */
    message *kept;
    bool in_kept;
    char brief[SHORT_SIZE];
} error_state;

static _Thread_local error_state state;

static message *messages;
static unsigned generation = 1;
static pthread_key_t exit_key;
static bool have_exit_key;

static void unlink_and_free(message *old) {
    if (old->previous) {
        old->previous->next = old->next;
    } else {
        messages = old->next;
    }
    if (old->next) {
        old->next->previous = old->previous;
    }
    bp__free(old);
}

static void drop_kept(error_state *mine) {
    if (mine->kept && mine->generation == generation) {
        unlink_and_free(mine->kept);
    }
    mine->kept = NULL;
    mine->in_kept = false;
}

static void at_thread_exit(void *mine) {
    pthread_mutex_lock(&bp__error_mutex);
    drop_kept(mine);
    pthread_mutex_unlock(&bp__error_mutex);
}

/* Registers the function that frees a thread's message when it ends. Returns false if there is no key for it; no
 * message is kept then. */
static bool arrange_exit(void) {
    if (!have_exit_key) {
        have_exit_key = pthread_key_create(&exit_key, at_thread_exit) == 0;
    }
    return have_exit_key && pthread_setspecific(exit_key, &state) == 0;
}

/* Allocates `size` bytes on the heap for a message. Returns false if out of memory. */
static bool allocate_kept(size_t size) {
    if (state.kept && state.generation == generation && state.kept->size >= size) {
        return true;
    }
    drop_kept(&state);
    message *fresh = arrange_exit() ? bp__alloc(sizeof *fresh + size) : NULL;
    if (!fresh) {
        return false;
    }
    *fresh = (message){.next = messages, .size = size};
    if (messages) {
        messages->previous = fresh;
    }
    messages = fresh;
    state.kept = fresh;
    state.generation = generation;
    return true;
}

static void cut(char *text, size_t size) {
    memcpy(text + size - 4, "...", 4);
}

static void store(const char *text, size_t length) {
    if (length < SHORT_SIZE) {
        memcpy(state.brief, text, length + 1);
        state.in_kept = false;
        return;
    }
    pthread_mutex_lock(&bp__error_mutex);
    if (allocate_kept(length + 1)) {
        memcpy(state.kept->text, text, length + 1);
        state.in_kept = true;
    } else {
        memcpy(state.brief, text, SHORT_SIZE);
        cut(state.brief, SHORT_SIZE);
    }
    pthread_mutex_unlock(&bp__error_mutex);
}

/* Stores a message that is longer than `brief`, which is its beginning. */
static void store_long(const char *brief, size_t length, const char *format, va_list args) {
    const size_t kept = length < MESSAGE_SIZE ? length : MESSAGE_SIZE - 1;
    char *text = bp__alloc(kept + 1); /* not on the stack, which may be small */
    if (!text) {
        memcpy(state.brief, brief, SHORT_SIZE);
        cut(state.brief, SHORT_SIZE);
        state.in_kept = false;
        return;
    }
    bp__format_v(text, kept + 1, format, args);
    if (kept < length) {
        cut(text, kept + 1);
    }
    store(text, kept);
    bp__free(text);
}

bp_status bp__fail_v(bp_status status, const char *format, va_list args) {
    char brief[SHORT_SIZE];
    va_list again;
    va_copy(again, args);
    int length = bp__format_v(brief, sizeof brief, format, args);
    state.status = status;
    if (length < 0) {
        length = snprintf(brief, sizeof brief, "%s", bp_status_text(status));
    }
    if (length < SHORT_SIZE) {
        store(brief, (size_t)length);
    } else {
        store_long(brief, (size_t)length, format, again);
    }
    va_end(again);
    return status;
}

#undef bp__fail /* the analyzer defines them as macros */
#undef bp__fail_memory

bp_status bp__fail(bp_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    bp__fail_v(status, format, args);
    va_end(args);
    return status;
}

bp_status bp__fail_memory(size_t size, const char *what) {
    return bp__fail(BP_E_NO_MEMORY, "out of memory: no %zu bytes for %s", size, what);
}

const char *bp_last_error(void) {
    if (!state.in_kept) {
        return state.brief;
    }
    pthread_mutex_lock(&bp__error_mutex);
    const char *text = state.generation == generation ? state.kept->text : bp_status_text(state.status);
    pthread_mutex_unlock(&bp__error_mutex);
    return text;
}

bp_status bp_last_status(void) {
    return state.status;
}

_Static_assert(sizeof(error_state) <= sizeof(bp__held_error), "bp__held_error must hold the whole state");

void bp__error_hold(bp__held_error *held) {
    memcpy(held, &state, sizeof state);
    state = (error_state){0}; /* the saved message stays in the list, so that no new one overwrites it */
}

void bp__error_return(const bp__held_error *held) {
    pthread_mutex_lock(&bp__error_mutex);
    drop_kept(&state);
    memcpy(&state, held, sizeof state);
    pthread_mutex_unlock(&bp__error_mutex);
}

bp_status bp__error_finish(const bp__held_error *held, bp_status status) {
    if (status == BP_OK) {
        bp__error_return(held);
        return status;
    }
    error_state old;
    memcpy(&old, held, sizeof old);
    pthread_mutex_lock(&bp__error_mutex);
    drop_kept(&old);
    pthread_mutex_unlock(&bp__error_mutex);
    /* a provider may return a status without a message */
    return state.status == BP_OK ? bp__fail(status, "%s", bp_status_text(status)) : status;
}

void bp__error_reset(void) {
    pthread_mutex_lock(&bp__error_mutex);
    while (messages) {
        unlink_and_free(messages);
    }
    generation++;
    pthread_mutex_unlock(&bp__error_mutex);
}
