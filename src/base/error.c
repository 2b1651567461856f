/* error.c - the last failure of each thread: its status and the sentence that explains it.
 *
 * The library's thread-local storage must fit the little room that the loader keeps for libraries opened late, so a
 * thread holds short sentences in place and long ones on the heap. When the heap has nothing left, a long sentence is
 * cut; the status is never lost. All long sentences are in one list, so that bp_reset() can give back those of every
 * thread.
 */
#include "base/base.h"
#include "base/locks.h"

#include <stdio.h>
#include <string.h>

enum { SENTENCE_SIZE = 8192, SHORT_SIZE = 112 };

typedef struct sentence {
    struct sentence *previous, *next;
    size_t size;
    char text[];
} sentence;

typedef struct error_state {
    bp_status status;
    unsigned generation; /* of `kept`: another one than the list's means that bp_reset() has given it back */
    sentence *kept;
    bool in_kept;
    char brief[SHORT_SIZE];
} error_state;

static _Thread_local error_state state;

static sentence *sentences;
static unsigned generation = 1;
static pthread_key_t exit_key;
static bool have_exit_key;

static void unlink_and_free(sentence *old) {
    if (old->previous) {
        old->previous->next = old->next;
    } else {
        sentences = old->next;
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

/* Without a key a thread's sentence would never be given back, so none is kept then. */
static bool arrange_exit(void) {
    if (!have_exit_key) {
        have_exit_key = pthread_key_create(&exit_key, at_thread_exit) == 0;
    }
    return have_exit_key && pthread_setspecific(exit_key, &state) == 0;
}

/* Room for `size` bytes on the heap; false when there is none. */
static bool make_room(size_t size) {
    if (state.kept && state.generation == generation && state.kept->size >= size) {
        return true;
    }
    drop_kept(&state);
    sentence *fresh = arrange_exit() ? bp__alloc(sizeof *fresh + size) : NULL;
    if (!fresh) {
        return false;
    }
    *fresh = (sentence){.next = sentences, .size = size};
    if (sentences) {
        sentences->previous = fresh;
    }
    sentences = fresh;
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
    if (make_room(length + 1)) {
        memcpy(state.kept->text, text, length + 1);
        state.in_kept = true;
    } else {
        memcpy(state.brief, text, SHORT_SIZE);
        cut(state.brief, SHORT_SIZE);
    }
    pthread_mutex_unlock(&bp__error_mutex);
}

bp_status bp__fail_v(bp_status status, const char *format, va_list args) {
    char text[SENTENCE_SIZE];
    int length = vsnprintf(text, sizeof text, format, args);
    state.status = status;
    if (length < 0) {
        length = snprintf(text, sizeof text, "%s", bp_status_text(status));
    } else if (length >= SENTENCE_SIZE) {
        length = SENTENCE_SIZE - 1;
        cut(text, sizeof text);
    }
    store(text, (size_t)length);
    return status;
}

#undef bp__fail /* where the analyzer gets a macro for it */
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

_Static_assert(sizeof(error_state) <= sizeof(bp__held_error), "a held error is the whole state");

void bp__error_hold(bp__held_error *held) {
    memcpy(held, &state, sizeof state);
    state = (error_state){0}; /* the held sentence stays on the list, where no new one overwrites it */
}

void bp__error_return(const bp__held_error *held) {
    pthread_mutex_lock(&bp__error_mutex);
    drop_kept(&state);
    memcpy(&state, held, sizeof state);
    pthread_mutex_unlock(&bp__error_mutex);
}

void bp__error_reset(void) {
    pthread_mutex_lock(&bp__error_mutex);
    while (sentences) {
        unlink_and_free(sentences);
    }
    generation++;
    pthread_mutex_unlock(&bp__error_mutex);
}
