/* internal.h - reads settings from the rest of the library.
 *
 * A value has 64 bits. BOOL and INT are stored directly. ENUM is the index of the word in its list (and the number, if
 * the word has one). TEXT is the pointer of an interned string. The effective process-wide value of each setting is one
 * atomic; a thread with an open scope has an overlay.
 */
#ifndef BP_SETTINGS_INTERNAL_H
#define BP_SETTINGS_INTERNAL_H

#include "backplane/settings.h"
#include "base/base.h"

typedef uint64_t bp__value;

/* Data that a reader accesses: the values of the process, and whether its thread has an open scope. */
#define BP__UNREAD 0x8000000000000001u /* the layers have not been read yet; no setting has this value */
struct bp__scope_node;
typedef struct bp__settings_here {
    struct bp__scope_node *top; /* the innermost scope */
    uint32_t state;             /* identifies the open scopes; 0 for none */
} bp__settings_here;
extern _Atomic bp__value bp__setting_values[BP_SETTING_COUNT] __attribute__((visibility("hidden")));
extern _Atomic bp__value bp__setting_outcomes[BP_SETTING_COUNT] __attribute__((visibility("hidden"))); /* resolved */
extern _Atomic uint32_t bp__settings_generation __attribute__((visibility("hidden")));
extern _Thread_local bp__settings_here bp__settings_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
bp__value bp__setting_slow(bp_setting_id id);

/* Returns the value that is stored and in force for the calling thread. For BP_SETTING_INHERITS this is the setting's
 * own value, not the inherited one; do not use it for an alias. Never fails; reads the layers on first use. */
static inline bp__value bp__setting(bp_setting_id id) {
    if (BP__LIKELY(!bp__settings_thread.top)) {
        bp__value value = atomic_load_explicit(&bp__setting_values[id], memory_order_acquire);
        if (BP__LIKELY(value != BP__UNREAD)) {
            return value;
        }
    }
    return bp__setting_slow(id);
}

/* Returns a setting of type INT, BOOL, or ENUM (the index of the word). */
static inline int64_t bp__setting_int(bp_setting_id id) {
    return (int64_t)bp__setting(id);
}

/* Returns a setting of type TEXT; never NULL. */
static inline const char *bp__setting_text(bp_setting_id id) {
    return (const char *)(uintptr_t)bp__setting(id);
}

/* Returns the layer and source of the value in force, and the setting that decides it (itself, or the one that it
 * inherits from). All out pointers are required. A scope's text lives as long as the scope. */
void bp__setting_origin(bp_setting_id id, bp_layer *layer, const char **where, bp_setting_id *node);

/* Returns the resolved value in force of an alias or of a setting that inherits. */
bp__value bp__setting_resolved_slow(bp_setting_id id);
static inline bp__value bp__setting_resolved(bp_setting_id id) {
    if (BP__LIKELY(!bp__settings_thread.top)) {
        bp__value value = atomic_load_explicit(&bp__setting_outcomes[id], memory_order_acquire);
        if (BP__LIKELY(value != BP__UNREAD)) {
            return value;
        }
    }
    return bp__setting_resolved_slow(id);
}

/* Returns a number that detects changes for the calling thread: equal numbers mean that no setting has changed for this
 * thread in between (unless the process made 2^32 changes meanwhile). Leaving all scopes restores the number from
 * before them, and entering the same options again gives the same number. Never 0. */
static inline uint64_t bp__settings_epoch(void) {
    uint32_t generation = atomic_load_explicit(&bp__settings_generation, memory_order_acquire);
    return (uint64_t)bp__settings_thread.state << 32 | generation;
}

/* Makes every thread read its settings again, because something else has changed that their meaning depends on. */
void bp__settings_changed(void);

/* Enters and leaves options for one call without heap allocation; `node` is storage of the caller. */
typedef struct bp__call_scope {
    void *opaque[8];
} bp__call_scope;
void bp__call_enter(bp__call_scope *node, const bp_options *options);
void bp__call_leave(bp__call_scope *node);

/* Registers a check that needs knowledge of another module (such as hardware), once at start. It is called before a
 * value of any layer but the default is accepted. It returns BP_OK or an error with its message, and reads no setting.
 * Enum words have the spelling of the table. If the layers have been read already, their values are checked now. */
typedef bp_status (*bp__setting_check)(bp_setting_id id, bp__value value, const char *text);
void bp__setting_set_check(bp_setting_id id, bp__setting_check check);

/* Checks a text of `length` bytes and converts it to a value, as for a write. The message of BP_E_BAD_VALUE lists the
 * allowed values. */
bp_status bp__value_parse(bp_setting_id id, const char *text, size_t length, bp__value *value);

/* Returns the number of options, and of other threads' scopes, that are still held; they point to texts that a reset
 * would free. */
int64_t bp__settings_held(void);

/* Resets everything, including the calling thread's scopes; the layers are read again on next use. For bp_reset(). */
void bp__settings_reset(void);

/* Holds this module's mutexes while the process forks; call it before bp__base_fork_lock and after
 * bp__base_fork_unlock. */
void bp__settings_fork_lock(void);
void bp__settings_fork_unlock(void);
void bp__settings_forked(void); /* in the child, in which the scopes of other threads do not exist */

#endif
