/* parts.h - what the files of settings/ share with each other and with nobody else. */
#ifndef BP_SETTINGS_PARTS_H
#define BP_SETTINGS_PARTS_H

#include "settings/internal.h"

#include <pthread.h>

enum {
    BP__LONGEST_VALUE = 4095, /* bytes of a value as text */
    BP__MOST_WORDS = 16,      /* of one row */
    BP__WORD_NUMBER = 256,    /* the value of a ENUM is its index + this times its number, 0 for none */
    BP__MOST_NUMBER = 1000000 /* in a word with a number */
};

/* ---- The table (table.c) ---- */
typedef struct bp__setting_row {
    bp_setting_info info;
    bp__value fallback;
    int64_t least, most;               /* INT */
    const char *words[BP__MOST_WORDS]; /* ENUM */
    int word_count;
    const char *alias_words; /* "1:word,0:other": what values of the alias stand for; NULL: for themselves */
} bp__setting_row;
const bp__setting_row *bp__row(bp_setting_id id);
/* What a value of the row's alias stands for; NULL when it counts for nothing. */
const char *bp__alias_word(bp_setting_id id, const char *value);
extern pthread_mutex_t bp__rows_mutex; /* may be taken while bp__settings_mutex is held */

/* The index of a name of `length` bytes; fails with BP_E_UNKNOWN_NAME and the nearest names. */
bp_status bp__find_setting(const char *name, size_t length, bp_setting_id *id);

/* Bytes as they may stand in a sentence: cut to a short length, with what is not printable as \xNN. */
typedef struct bp__shown {
    char text[128];
} bp__shown;
const char *bp__show(bp__shown *shown, const char *bytes, size_t length);

/* ---- Values (value.c) ---- */
const char *bp__value_text(bp_setting_id id, bp__value value); /* lives as long as the process; NULL: out of memory */
/* The check of another room: kept, and run alone. */
void bp__value_remember_check(bp_setting_id id, bp__setting_check check);
bp_status bp__value_check(bp_setting_id id, bp__value value, const char *text);

/* ---- Settings that follow others (precision_tree.c), and other words for others (aliases.c) ---- */
bp_setting_id bp__parent(bp_setting_id id); /* BP_SETTING_COUNT: none */

typedef struct bp__write {
    bp_setting_id id;
    bp__value value;
} bp__write;
enum { BP__MOST_WRITES = 2 };
/* What is to be stored for a value of any setting: the value itself, or a view's targets. Returns how many. */
int bp__writes_of(bp_setting_id id, bp__value value, bp__write writes[BP__MOST_WRITES]);

/* ---- The one grammar of configuration files and options (grammar.c) ---- */
typedef struct bp__reader {
    const char *bytes;
    size_t size;
    size_t at;
    int line;
    bool commas; /* commas separate too, not only newlines */
} bp__reader;

typedef struct bp__entry {
    int line;
    const char *name; /* into the reader's bytes, as are the next four */
    size_t name_length;
    const char *written, *written_end; /* the value as it stands there, quotes included; NULL when none was found */
    const char *end;                   /* where the entry ends: at its separator */
    char value[BP__LONGEST_VALUE + 1]; /* without quotes and escapes */
    size_t value_length;
    const char *fault; /* NULL, or what is wrong with it */
} bp__entry;

void bp__reader_start(bp__reader *reader, const char *bytes, size_t size, bool commas);
bool bp__reader_next(bp__reader *reader, bp__entry *entry); /* false at the end */

/* ---- What the process knows (store.c) ---- */
typedef struct bp__stored {
    bool set;
    bp__value value;
    const char *where;
} bp__stored;

extern pthread_mutex_t bp__settings_mutex;

/* Reads the layers on the first call. Fails only for want of memory. Leaves the last failure alone when it succeeds. */
bp_status bp__settings_ready(void);
/* What a layer stores of a setting. `set` is false when that is nothing. */
bp__stored bp__in_layer(bp_setting_id id, bp_layer layer);
/* What is in force of one setting, looking at no other. */
bp__stored bp__in_force_itself(bp_setting_id id, bp_layer *layer);
/* What is in force, resolved; *node is the setting that decides. Of nodes of the tree, of views, and of all settings
 * for the calling thread. */
typedef bp__stored (*bp__lookup)(bp_setting_id id, bp_layer *layer);
bp__stored bp__resolve(bp_setting_id id, bp__lookup look_up, bp_layer *layer, bp_setting_id *node);
bp__stored bp__alias_in_force(bp_setting_id id, bp__lookup look_up, bp_layer *layer, bp_setting_id *node);
bp__stored bp__alias_in_layer(bp_setting_id id, bp_layer layer);
bp__stored bp__in_force(bp_setting_id id, bp_layer *layer, bp_setting_id *node);
bp_status bp__process_write(bp_setting_id id, const char *text);
bp_status bp__process_clear(bp_setting_id id);
bool bp__may_write(bp_setting_id id, bp_status *status); /* false with BP_E_READ_ONLY's sentence */

/* ---- Files and environment (layers.c), called with the mutex held ---- */
typedef struct bp__layers {
    bp__stored values[BP_LAYER_PROCESS + 1][BP_SETTING_COUNT];
    const char *problems[256];
    int problem_count;
} bp__layers;
bp_status bp__layers_read(bp__layers *layers);
bp_status bp__limits_read(bp__layers *layers); /* limits.c: the variables of BP_LAYER_SHARED_ENVIRONMENT */
bp_status bp__layers_problem(bp__layers *layers, const char *format, ...) BP_PRINTF(2, 3);
/* bp_user_config_path(); *given is the length of the part of the path that must exist. */
bp_status bp__user_file(const char **path, size_t *given);
extern const char *bp__system_file; /* another one in tests */
enum { BP__LARGEST_FILE = 1 << 20 };

/* ---- Options and scopes ---- */
struct bp_options {
    uint32_t state;                              /* a number of its own, see bp__settings_epoch */
    uint64_t mask[(BP_SETTING_COUNT + 63) / 64]; /* a bit per setting that it sets */
    bp__value values[BP_SETTING_COUNT];
    const char *text;
};
static inline bool bp__options_set(const bp_options *options, bp_setting_id id) {
    return (options->mask[id / 64] >> (id % 64) & 1) != 0;
}
bp_status bp__options_parse(bp_options *options, const char *text); /* all but `text` and `state` */
int64_t bp__options_alive(void);

typedef struct bp__scope_node {
    struct bp__scope_node *below, *above;
    const bp_options *options;
    uint32_t state; /* of the thread while this is the innermost scope */
    bp_layer layer;
} bp__scope_node;
uint32_t bp__fresh_state(void);
/* The innermost scope of the calling thread that sets this, of one layer or of any (BP_LAYER_COUNT); NULL for none. */
const bp__scope_node *bp__scope_find(bp_setting_id id, bp_layer layer);
int64_t bp__scopes_of_others(void);
void bp__scopes_drop(void);   /* the calling thread's */
void bp__scopes_forked(void); /* in a child of fork: no other thread's scopes are left */

#endif
