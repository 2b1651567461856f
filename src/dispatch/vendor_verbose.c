/* vendor_verbose.c - sets the verbose level of MKL and oneDNN in nested scopes, and passes their lines to a handler.
 *
 * Neither library has a callback; both write to the C library's standard output. While a scope with a handler is open,
 * that stream is redirected to a file in memory. Output of other code is written to the original stream afterwards. */
#include "backplane/verbose.h"
#include "base/uncancelled.h"

#include "base/base.h"
#include "dispatch/internal.h"
#include "registry/internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct vendor {
    const char *backend, *family, *symbol;
    const char *variables[3]; /* that set the level at program start */
    bool echoes;              /* the function returns the level; the other library's returns 0 for success */
    int most;
} vendor;

static const vendor vendors[] = {
    {"mkl", "mkl", "MKL_Verbose", {"MKL_VERBOSE", NULL}, true, 1},
    {"mkldnn", "onednn", "dnnl_set_verbose", {"ONEDNN_VERBOSE", "DNNL_VERBOSE", NULL}, false, 2},
};

/* Prefixes of the libraries' lines. */
static const char *const marks[] = {"MKL_VERBOSE", "onednn_verbose", "dnnl_verbose"};

typedef int (*switch_function)(int level);

struct bp_verbose_scope {
    const vendor *of;
    switch_function set;
    int level;
    bp_verbose_handler handler;
    void *user;
    bp_verbose_scope *below;
};

pthread_mutex_t bp__verbose_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bp_verbose_scope *top;
    int saved, memory; /* file descriptors, while standard output is captured */
    bool captured;
} now;

/* ---- Verbose level ---- */

/* Returns the level outside of all scopes. No library reports it, so the value of the variable is used. */
static int level_in_environment(const vendor *v) {
    for (int i = 0; v->variables[i]; i++) {
        const char *value = bp__env(v->variables[i]);
        if (value && *value) {
            int64_t level;
            bool number = bp__parse_int(value, &level); /* or a keyword of oneDNN */
            return number ? level > 0 ? (level < v->most ? (int)level : v->most) : 0 : !bp__text_equal(value, "none");
        }
    }
    return 0;
}

static const bp_verbose_scope *innermost(const vendor *v) {
    const bp_verbose_scope *scope = now.top;
    while (scope && scope->of != v) {
        scope = scope->below;
    }
    return scope;
}

static bp_status apply_level(const bp_verbose_scope *scope) {
    const vendor *v = scope->of;
    int level = scope->level < v->most ? scope->level : v->most;
    if (scope->set(level) != (v->echoes ? level : 0)) {
        return bp__fail(BP_E_UNSUPPORTED, "%s rejects verbose level %d; it may be built without verbose mode",
                        v->backend, scope->level);
    }
    return BP_OK;
}

/* Returns NULL if the library cannot be opened or has no such function; bp_last_error() has the reason. */
static switch_function find_switch(const vendor *v) {
    bp_library_info entry = {.struct_size = sizeof entry};
    void *handle;
    if (bp_library_find(v->family, &entry) != BP_OK || bp__library_open(&entry, &handle) != BP_OK) {
        return NULL;
    }
    switch_function set = (switch_function)dlsym(handle, v->symbol);
    if (!set) {
        bp__fail(BP_E_SYMBOL, "library '%s' (%s) has no function %s", entry.id, entry.path, v->symbol);
    }
    return set;
}

/* ---- Capture ---- */

static bp_status begin_capture(void) {
    if (now.captured) {
        return bp__fail(BP_E_BUSY, "bp_verbose_enter: another scope has a handler for verbose lines; leave it first");
    }
    fflush(stdout);
    now.memory = memfd_create("backplane-verbose", MFD_CLOEXEC);
    now.saved = now.memory >= 0 ? dup(STDOUT_FILENO) : -1;
    if (now.saved < 0 || dup2(now.memory, STDOUT_FILENO) < 0) {
        int problem = errno;
        close(now.memory);
        close(now.saved);
        return bp__fail(BP_E_IO, "standard output cannot be redirected to memory: %s", strerror(problem));
    }
    now.captured = true;
    return BP_OK;
}

static bool is_vendors(const char *line) {
    for (int i = 0; i < BP__COUNT(marks); i++) {
        if (strncmp(line, marks[i], strlen(marks[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* The program's own output may hold any bytes. The byte at `end` may be overwritten. */
static void deliver(char *text, const char *end, const bp_verbose_scope *scope) {
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        bool ended = stop != NULL;
        size_t length = (size_t)((ended ? stop : end) - text);
        if (is_vendors(text)) {
            text[length] = '\0';
            scope->handler(scope->user, text);
        } else {
            bp__write_all(STDOUT_FILENO, text, length + ended);
        }
        text += length + ended;
    }
}

/* Restores standard output. Returns what was written meanwhile. Returns NULL if memory is short; the output is then
 * lost. */
static char *end_capture(size_t *length) {
    fflush(stdout);
    off_t size = lseek(now.memory, 0, SEEK_END);
    char *text = bp__alloc((size_t)(size > 0 ? size : 0) + 1);
    ssize_t got = text ? pread(now.memory, text, (size_t)size, 0) : 0;
    if (text) {
        text[got > 0 ? got : 0] = '\0';
    }
    *length = got > 0 ? (size_t)got : 0;
    dup2(now.saved, STDOUT_FILENO);
    close(now.saved);
    close(now.memory);
    now.captured = false;
    return text;
}

/* ---- Scopes ---- */

static const char *name_at(void *user, int index) {
    (void)user;
    return index < BP__COUNT(vendors) ? vendors[index].backend : NULL;
}

/* Returns NULL for an unknown backend or level; bp_last_error() has the reason. */
static const vendor *find_vendor(const char *backend, int level) {
    if (!backend || level < BP_VERBOSE_OFF || level > BP_VERBOSE_ON_CREATION) {
        bp__fail(BP_E_ARGUMENT,
                 backend ? "level is %d; it must be 0, 1 or 2" : "backend is NULL; it must be \"mkl\" or \"mkldnn\"",
                 level);
        return NULL;
    }
    for (int i = 0; i < BP__COUNT(vendors); i++) {
        if (bp__text_equal(vendors[i].backend, backend)) {
            return &vendors[i];
        }
    }
    char suggestion[128];
    bp__suggest(backend, name_at, NULL, suggestion, sizeof suggestion);
    bp__fail(BP_E_UNKNOWN_NAME, "backend '%.64s' has no verbose mode; it must be mkl or mkldnn%s%s", backend,
             *suggestion ? "; " : "", suggestion);
    return NULL;
}

static bp_status open_scope(bp_verbose_scope *scope) {
    BP__TRY(scope->handler ? begin_capture() : BP_OK);
    bp_status status = apply_level(scope);
    if (status != BP_OK && scope->handler) {
        size_t length;
        bp__free(end_capture(&length));
    }
    return status;
}

bp_status bp_verbose_enter(bp_verbose_scope **scope, const char *backend, int level, bp_verbose_handler handler,
                           void *user) {
    BP__UNCANCELLED;
    if (!scope) {
        return bp__fail(BP_E_ARGUMENT, "scope is NULL; it must be the address of a pointer");
    }
    *scope = NULL;
    const vendor *v = find_vendor(backend, level);
    switch_function set = v ? find_switch(v) : NULL;
    if (!set) {
        return bp_last_status();
    }
    bp_verbose_scope *made = bp__alloc(sizeof *made);
    if (!made) {
        return bp__fail_memory(sizeof *made, "a verbose scope");
    }
    *made = (bp_verbose_scope){.of = v, .set = set, .level = level, .handler = handler, .user = user};
    bp__fork_watch();
    pthread_mutex_lock(&bp__verbose_mutex);
    bp_status status = open_scope(made);
    if (status == BP_OK) {
        made->below = now.top;
        now.top = made;
    }
    pthread_mutex_unlock(&bp__verbose_mutex);
    if (status != BP_OK) {
        bp__free(made);
        return status;
    }
    *scope = made;
    return BP_OK;
}

/* Removes a scope from the list. Returns false if it is not in the list. */
static bool remove_scope(bp_verbose_scope *scope) {
    bp_verbose_scope **at = &now.top;
    while (*at && *at != scope) {
        at = &(*at)->below;
    }
    if (!*at) {
        return false;
    }
    *at = scope->below;
    return true;
}

bp_status bp_verbose_leave(bp_verbose_scope **scope) {
    BP__UNCANCELLED;
    if (!scope) {
        return bp__fail(BP_E_ARGUMENT, "scope is NULL; it must be the address of the pointer from bp_verbose_enter()");
    }
    if (!*scope) {
        return BP_OK;
    }
    pthread_mutex_lock(&bp__verbose_mutex);
    bool known = remove_scope(*scope);
    char *text = NULL;
    size_t length = 0;
    if (known) {
        const vendor *v = (*scope)->of;
        const bp_verbose_scope *left = innermost(v);
        int level = left ? left->level : level_in_environment(v);
        (*scope)->set(level < v->most ? level : v->most);
        text = (*scope)->handler ? end_capture(&length) : NULL;
    }
    pthread_mutex_unlock(&bp__verbose_mutex);
    if (!known) {
        return bp__fail(BP_E_SCOPE, "bp_verbose_leave: scope is not open");
    }
    if (text) {
        deliver(text, text + length, *scope);
        bp__free(text);
    }
    bp__free(*scope);
    *scope = NULL;
    return BP_OK;
}
