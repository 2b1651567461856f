/* internal.h - how the rest of the library reads settings, and how settings.c, layers.c and scope.c share state.
 *
 * A value is a 64-bit word: bool and integer as such, a WORD as the index of the word in its list, a TEXT as the pointer of
 * an interned string. The effective process-wide value of each setting is one atomic; a thread with an open scope has an overlay.
 */
#ifndef BP_SETTINGS_INTERNAL_H
#define BP_SETTINGS_INTERNAL_H

#include "backplane/settings.h"
#include "base/base.h"

typedef uint64_t bp__value;

/* The value in force for the calling thread. Never fails; reads the layers on first use. */
bp__value bp__setting(bp_setting_id id);
int64_t bp__setting_int(bp_setting_id id); /* also BOOL, and WORD as the word's index */
const char *bp__setting_text(bp_setting_id id); /* TEXT only, never NULL */

/* The layer and place that the value in force comes from; both out pointers required. */
void bp__setting_origin(bp_setting_id id, bp_layer *layer, const char **where);

/* Counts changes that can matter to the calling thread: equal numbers mean that no setting with BP_SETTING_POLICY has changed
 * for this thread in between. Costs one atomic load and one thread-local load. Never 0. */
uint64_t bp__settings_epoch(void);

/* Enters and leaves options for the time of one call without touching the heap; `node` is storage of the caller. */
typedef struct bp__call_scope {
    void *opaque[8];
} bp__call_scope;
void bp__call_enter(bp__call_scope *node, const bp_options *options);
void bp__call_leave(bp__call_scope *node);

/* A check that needs knowledge of another room (hardware, ...): registered once at start, called before a value of any
 * layer is accepted. Returns BP_OK or a failure with its sentence. */
typedef bp_status (*bp__setting_check)(bp_setting_id id, bp__value value, const char *text);
void bp__setting_set_check(bp_setting_id id, bp__setting_check check);

/* Forgets everything; the layers are read again on next use. For bp_reset. */
void bp__settings_reset(void);

#endif
