/* private.h - declarations shared by the files of settings/ only: table entries, values, aliases, grammar, layers,
 * options and scopes. */
#ifndef BP_SETTINGS_PRIVATE_H
#define BP_SETTINGS_PRIVATE_H

#include "settings/internal.h"

#include <pthread.h>

enum {
    BP__LONGEST_VALUE = 4095, /* bytes of a value as text */
    BP__MOST_WORDS = 16,      /* of one entry */
    BP__WORD_NUMBER = 256,    /* the value of an ENUM is its index + this times its number (0 for none) */
    BP__MOST_NUMBER = 1000000 /* largest number in a word with a number */
};

/* ---- The table (table.c) ---- */
typedef struct bp__setting_entry {
    bp_setting_info info;
    bp__value default_value;
    int64_t least, most;               /* INT */
    const char *words[BP__MOST_WORDS]; /* ENUM */
    int word_count;
    const char
        *alias_words; /* "1:word,0:other": what values of the environment alias mean; NULL: they are used as they are */
} bp__setting_entry;
const bp__setting_entry *bp__table_at(bp_setting_id id);
/* Returns the word that a value of the entry's environment alias means; NULL if it is to be ignored. */
const char *bp__alias_word(bp_setting_id id, const char *value);
extern pthread_mutex_t bp__table_mutex; /* may be taken while bp__settings_mutex is held */

/* Finds the setting with a name of `length` bytes. Fails with BP_E_UNKNOWN_NAME and the nearest names. */
bp_status bp__find_setting(const char *name, size_t length, bp_setting_id *id);

/* Copies bytes for a message: cut to a short length, with unprintable bytes as \xNN. */
typedef struct bp__shown {
    char text[128];
} bp__shown;
const char *bp__show(bp__shown *shown, const char *bytes, size_t length);

/* ---- Values (value.c) ---- */
const char *bp__value_text(bp_setting_id id, bp__value value); /* lives as long as the process; NULL: out of memory */
/* Stores the check of another module, or runs it. */
void bp__value_remember_check(bp_setting_id id, bp__setting_check check);
bp_status bp__value_check(bp_setting_id id, bp__value value, const char *text);

/* ---- Settings that inherit (precision_tree.c), and aliases (aliases.c) ---- */
bp_setting_id bp__parent(bp_setting_id id); /* BP_SETTING_COUNT if none */

typedef struct bp__write {
    bp_setting_id id;
    bp__value value;
} bp__write;
enum { BP__MOST_WRITES = 2 };
/* Returns the number of writes that store a value of any setting: of the value itself, or of an alias's targets. */
int bp__writes_of(bp_setting_id id, bp__value value, bp__write writes[BP__MOST_WRITES]);

/* ---- The grammar of configuration files and options (grammar.c) ---- */
typedef struct bp__reader {
    const char *bytes;
    size_t size;
    size_t at;
    int line;
    bool commas; /* commas separate entries too, not only newlines */
} bp__reader;

typedef struct bp__entry {
    int line;
    const char *name; /* points into the reader's bytes, as do the next four */
    size_t name_length;
    const char *written, *written_end; /* the value as written, quotes included; NULL if none was found */
    const char *end;                   /* the end of the entry, at its separator */
    char value[BP__LONGEST_VALUE + 1]; /* without quotes and escapes */
    size_t value_length;
    const char *fault; /* NULL, or the description of the error */
} bp__entry;

void bp__reader_start(bp__reader *reader, const char *bytes, size_t size, bool commas);
bool bp__reader_next(bp__reader *reader, bp__entry *entry); /* false at the end */

/* ---- Values of the process (store.c) ---- */
typedef struct bp__stored {
    bool set;
    bp__value value;
    const char *where;
} bp__stored;

extern pthread_mutex_t bp__settings_mutex;

/* Reads the layers on the first call. Fails only if out of memory. Leaves the thread's last error unchanged on success.
 */
bp_status bp__settings_ready(void);
/* Returns the value that a layer stores for a setting. `set` is false if it stores none. */
bp__stored bp__in_layer(bp_setting_id id, bp_layer layer);
/* Returns the value in force of one setting, without resolving it. */
bp__stored bp__in_force_itself(bp_setting_id id, bp_layer *layer);
/* Return the resolved value in force; *node is the setting that decides. bp__resolve is for settings that inherit, the
 * next two for aliases, bp__in_force for any setting and the calling thread. */
typedef bp__stored (*bp__lookup)(bp_setting_id id, bp_layer *layer);
bp__stored bp__resolve(bp_setting_id id, bp__lookup look_up, bp_layer *layer, bp_setting_id *node);
bp__stored bp__alias_in_force(bp_setting_id id, bp__lookup look_up, bp_layer *layer, bp_setting_id *node);
bp__stored bp__alias_in_layer(bp_setting_id id, bp_layer layer);
bp__stored bp__in_force(bp_setting_id id, bp_layer *layer, bp_setting_id *node);
bp_status bp__process_write(bp_setting_id id, const char *text);
bp_status bp__process_clear(bp_setting_id id);
bool bp__may_write(bp_setting_id id,
                   bp_status *status); /* false, with the message of BP_E_READ_ONLY, if the setting cannot be set */

/* ---- Files and environment (layers.c), called with the mutex held ---- */
typedef struct bp__layers {
    bp__stored values[BP_LAYER_PROCESS + 1][BP_SETTING_COUNT];
    const char *problems[256];
    int problem_count;
} bp__layers;
bp_status bp__layers_read(bp__layers *layers);
bp_status bp__limits_read(bp__layers *layers); /* limits.c: the variables of BP_LAYER_SHARED_ENVIRONMENT */
bp_status bp__layers_problem(bp__layers *layers, const char *format, ...) BP_PRINTF(2, 3);
/* Returns the path of the user file, as bp_user_config_path(); *given is the length of the part of the path that must
 * exist. */
bp_status bp__user_file(const char **path, size_t *given);
extern const char *bp__system_file; /* tests set another one */
enum { BP__LARGEST_FILE = 1 << 20 };

/* ---- Options and scopes ---- */
struct bp_options {
    uint32_t state;                              /* unique number of these options, see bp__settings_epoch */
    uint64_t mask[(BP_SETTING_COUNT + 63) / 64]; /* one bit for each setting that it sets */
    bp__value values[BP_SETTING_COUNT];
    const char *text;
};
static inline bool bp__options_set(const bp_options *options, bp_setting_id id) {
    return (options->mask[id / 64] >> (id % 64) & 1) != 0;
}
bp_status bp__options_parse(bp_options *options, const char *text); /* fills all but `text` and `state` */
int64_t bp__options_alive(void);

typedef struct bp__scope_node {
    struct bp__scope_node *below, *above;
    const bp_options *options;
    uint32_t state; /* state of the thread while this is the innermost scope */
    bp_layer layer;
} bp__scope_node;
uint32_t bp__fresh_state(void);
/* Returns the innermost scope of the calling thread that sets this, of one layer or of any (BP_LAYER_COUNT); NULL if
 * none. */
const bp__scope_node *bp__scope_find(bp_setting_id id, bp_layer layer);
int64_t bp__scopes_of_others(void);
void bp__scopes_drop(void);   /* the scopes of the calling thread */
void bp__scopes_forked(void); /* in a child of fork: drops the scopes of all other threads */

#endif
