/* internal.h - how the rest of the library reads settings, and what a reading costs.
 *
 * A value is a 64-bit word: bool and integer as such, a ENUM as the index of the word in its list (and the number, of a
 * word that has one), a TEXT as the pointer of an interned string. The effective process-wide value of each setting is
 * one atomic; a thread with an open scope has an overlay.
 */
#ifndef BP_SETTINGS_INTERNAL_H
#define BP_SETTINGS_INTERNAL_H

#include "backplane/settings.h"
#include "base/base.h"

typedef uint64_t bp__value;

/* What a reader touches: the process's values, and whether its thread has a scope open. */
#define BP__UNREAD 0x8000000000000001u /* the layers have not been read yet; no setting takes this value */
struct bp__scope_node;
typedef struct bp__settings_here {
    struct bp__scope_node *top; /* the innermost scope */
    uint32_t state;             /* stands for the open scopes, 0 for none */
} bp__settings_here;
extern _Atomic bp__value bp__setting_values[BP_SETTING_COUNT] __attribute__((visibility("hidden")));
extern _Atomic bp__value bp__setting_outcomes[BP_SETTING_COUNT] __attribute__((visibility("hidden"))); /* resolved */
extern _Atomic uint32_t bp__settings_generation __attribute__((visibility("hidden")));
extern _Thread_local bp__settings_here bp__settings_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
bp__value bp__setting_slow(bp_setting_id id);

/* What is stored and in force for the calling thread, which for BP_SETTING_INHERITS is a node's own word; never a view.
 * Never fails; reads the layers on first use. */
static inline bp__value bp__setting(bp_setting_id id) {
    if (BP__LIKELY(!bp__settings_thread.top)) {
        bp__value value = atomic_load_explicit(&bp__setting_values[id], memory_order_acquire);
        if (BP__LIKELY(value != BP__UNREAD)) {
            return value;
        }
    }
    return bp__setting_slow(id);
}

/* Also for BOOL, and for ENUM as the word's index. */
static inline int64_t bp__setting_int(bp_setting_id id) {
    return (int64_t)bp__setting(id);
}

/* TEXT only, never NULL. */
static inline const char *bp__setting_text(bp_setting_id id) {
    return (const char *)(uintptr_t)bp__setting(id);
}

/* The layer and place that the value in force comes from; and the setting that decides it (itself, or the node
 * that it inherits from). All out pointers required. A scope's text lives as long as the scope. */
void bp__setting_origin(bp_setting_id id, bp_layer *layer, const char **where, bp_setting_id *node);

/* The value in force of a setting that inherits, or of a view: the one that counts. */
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

/* Tells changes that can matter to the calling thread: equal numbers mean that no setting has changed for this thread
 * in between (short of 2^32 changes of the process while the thread looked away). Leaving all scopes gives the number
 * from before them again, and so does entering the same options again. Never 0. */
static inline uint64_t bp__settings_epoch(void) {
    uint32_t generation = atomic_load_explicit(&bp__settings_generation, memory_order_acquire);
    return (uint64_t)bp__settings_thread.state << 32 | generation;
}

/* Makes every thread read its settings again: something else has changed that their meaning depends on. */
void bp__settings_changed(void);

/* Enters and leaves options for the time of one call without touching the heap; `node` is storage of the caller. */
typedef struct bp__call_scope {
    void *opaque[8];
} bp__call_scope;
void bp__call_enter(bp__call_scope *node, const bp_options *options);
void bp__call_leave(bp__call_scope *node);

/* A check that needs knowledge of another room (hardware, ...): registered once at start, called before a value of any
 * layer but the default is accepted. Returns BP_OK or a failure with its sentence. Reads no setting; words
 * come in the table's spelling. When the layers have been read already, what they say is checked now. */
typedef bp_status (*bp__setting_check)(bp_setting_id id, bp__value value, const char *text);
void bp__setting_set_check(bp_setting_id id, bp__setting_check check);

/* Checks a text of `length` bytes and makes it a value, as for a write; the sentence of BP_E_BAD_VALUE says what is
 * allowed. */
bp_status bp__value_parse(bp_setting_id id, const char *text, size_t length, bp__value *value);

/* Options and other threads' scopes that are still held; they point to texts that a reset would take away. */
int64_t bp__settings_held(void);

/* Forgets everything, the calling thread's scopes included; the layers are read again on next use. For bp_reset. */
void bp__settings_reset(void);

/* Holds this room's mutexes while the process forks; before bp__base_fork_lock, after bp__base_fork_unlock. */
void bp__settings_fork_lock(void);
void bp__settings_fork_unlock(void);
void bp__settings_forked(void); /* in the child, which has none of the other threads' scopes */

#endif
