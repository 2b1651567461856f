/* settings.h - every switch of the library, from one table; layers, origins and thread scopes.
 *
 * A setting has a dotted name. Its value comes from the highest layer that sets it:
 *   default < shared environment < system file < user file < environment < process < thread scope < options of one
 * call. The shared environment holds the variables by which users limit the threads of OpenMP and of math libraries; it
 * only ever sets num_threads, to the smallest of those limits. Writes name the process layer; scopes and options are
 * private to a thread and to a call. All functions are thread-safe; a read is one atomic load where no scope is open.
 *
 * Files are lines of `name = value`, `#` starts a comment: /etc/backplane/backplane.conf, then
 * $XDG_CONFIG_HOME/backplane/backplane.conf (or ~/.config/...). The environment variable of a setting is BACKPLANE_ and
 * its name in capitals with dots as underscores; an alias, where the table names one, is read when that is unset.
 * A bad line in a file or variable never stops the program: it is left out and reported by bp_config_error_at().
 */
#ifndef BACKPLANE_SETTINGS_H
#define BACKPLANE_SETTINGS_H

#include "backplane/settings_table.h"
#include "backplane/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bp_setting_type {
    BP_SETTING_BOOL, /* true, false (also on/off, yes/no, 1/0 in text) */
    BP_SETTING_INT,  /* a whole number in a range */
    BP_SETTING_ENUM, /* one of a list of words */
    BP_SETTING_TEXT  /* any text up to 4095 bytes without control characters */
} bp_setting_type;

typedef enum bp_layer {
    BP_LAYER_DEFAULT,
    BP_LAYER_SHARED_ENVIRONMENT, /* thread limits of other software: OMP_NUM_THREADS and the like */
    BP_LAYER_SYSTEM_FILE,
    BP_LAYER_USER_FILE,
    BP_LAYER_ENVIRONMENT,
    BP_LAYER_PROCESS,
    BP_LAYER_SCOPE,
    BP_LAYER_CALL,
    BP_LAYER_COUNT
} bp_layer;

/* "default", "system file", ... Never NULL. */
BP_API const char *bp_layer_name(bp_layer layer);

/* The number of each setting: BP_SET_num_threads, ... A number never changes its meaning: new settings take numbers
 * behind those there are, so a program may run with a library that is newer or older than its headers. That library has
 * another count: a walk over all settings ends where bp_setting_row() returns NULL, not at BP_SETTING_COUNT, which is
 * the count that the program was compiled with (for arrays of its own). */
typedef enum bp_setting_id {
#define X(id, number, name, type, fallback, allowed, alias, flags, affects, help) BP_SET_##id = (number),
    BP_SETTINGS_MAP(X)
#undef X
#define X(id, number, name, type, fallback, allowed, alias, flags, affects, help) +1
        BP_SETTING_COUNT = 0 BP_SETTINGS_MAP(X)
#undef X
} bp_setting_id;

#define BP_SETTING_READ_ONLY 1u /* cannot be set */
#define BP_SETTING_STARTUP 2u   /* files and environment only: read once, before the first use */
#define BP_SETTING_POLICY 4u    /* watched by operations: a change is seen by the next call */
#define BP_SETTING_ALIAS 8u     /* other words for other settings: writes and reads those */
#define BP_SETTING_INHERITS 16u /* a node of the precision tree: "none" means what the node above it says */

/* Only the library makes one; members of later versions come last. */
typedef struct bp_setting_info {
    const char *name;
    bp_setting_type type;
    const char *default_text; /* the default, as text */
    const char *allowed;      /* "0..1024"; "strict|warn|allow"; "a,b,c" for a TEXT that lists some of these; or "" */
    const char *environment;  /* "BACKPLANE_NUM_THREADS" */
    const char *alias;        /* a second variable, or "" */
    unsigned flags;
    const char *affects;
    const char *help;
    int number; /* BP_SET_num_threads, ...; of a library newer than the program also BP_SETTING_COUNT and above */
} bp_setting_info;

/* The setting with a number (BP_SET_num_threads, ...); NULL where the library has none. Static storage. */
BP_API const bp_setting_info *bp_setting_at(int number);

/* All settings in the order in which they are listed: 0, 1, ... until NULL. Static storage. */
BP_API const bp_setting_info *bp_setting_row(int row);

/* The number of the setting with a name; -1 and BP_E_UNKNOWN_NAME's sentence (with the nearest names) when there is
 * none. */
BP_API int bp_setting_find(const char *name);

/* By name, as text: the value in force, resolved (see bp_get_deciding_setting). `value` and `where` point into storage
 * that lives until bp_reset(); `layer` and `where` (the file and line, the variable's name, the scope's text, or "")
 * may be NULL. Errors: BP_E_UNKNOWN_NAME. */
BP_API bp_status bp_get(const char *name, const char **value, bp_layer *layer, const char **where);

/* The setting that decides the value of `name`: itself, or for a node of the precision tree the node above that it
 * follows, or for a view a setting behind it. Static storage. Errors: BP_E_UNKNOWN_NAME, BP_E_ARGUMENT. */
BP_API bp_status bp_get_deciding_setting(const char *name, const char **node);

/* What a single layer stores, before layering: *value is NULL when that layer sets nothing. */
BP_API bp_status bp_get_layer(const char *name, bp_layer layer, const char **value, const char **where);

/* Writes the process layer. The value is checked before anything changes. Errors: BP_E_UNKNOWN_NAME, BP_E_BAD_VALUE
 * (the sentence lists what is allowed), BP_E_READ_ONLY, BP_E_UNSUPPORTED (the hardware cannot do it), BP_E_NO_MEMORY.
 */
BP_API bp_status bp_set(const char *name, const char *value);

/* Takes the process layer's value away again, so that the layers below show. */
BP_API bp_status bp_unset(const char *name);

/* Typed accessors, one pair per row: bp_get_num_threads(), bp_set_num_threads(4), ... A getter never fails. */
#define BP__C_BOOL int
#define BP__C_INT int64_t
#define BP__C_ENUM const char *
#define BP__C_TEXT const char *
#define X(id, number, name, type, fallback, allowed, alias, flags, affects, help)                                      \
    BP_API BP__C_##type bp_get_##id(void);                                                                             \
    BP_API bp_status bp_set_##id(BP__C_##type value);
BP_SETTINGS_MAP(X)
#undef X

/* A checked, ready-made list of settings: "num_threads=1, blas.preferred=openblas". Separators are commas or newlines;
 * a value with a comma stands in double quotes (backslash escapes a quote or a backslash). A name given twice is an
 * error. Options are immutable and may be shared between threads. Free with bp_options_release (NULL is fine). */
typedef struct bp_options bp_options;
BP_API bp_status bp_options_new(bp_options **options, const char *text);
BP_API void bp_options_release(bp_options *options);

/* A scope changes settings for the calling thread until it is left. Scopes nest; leaving one restores exactly what was
 * stored, also when scopes are left out of order (generators do that). A scope must be left by the thread that entered
 * it (BP_E_SCOPE otherwise); when a thread ends, it leaves those that are still open. On failure nothing is entered and
 * *scope is NULL. bp_scope_leave(NULL pointer inside) is BP_OK. */
typedef struct bp_scope bp_scope;
BP_API bp_status bp_scope_enter(bp_scope **scope, const char *text);
BP_API bp_status bp_scope_enter_options(bp_scope **scope, const bp_options *options);
BP_API bp_status bp_scope_leave(bp_scope **scope); /* sets *scope to NULL */

/* Bad lines of configuration files and environment variables, found when the layers were read: 0, 1, ... until NULL.
 * The first call of anything in this header reads the layers. */
BP_API const char *bp_config_error_at(int index);

/* The path of the user file that bp_save_setting() writes; BP_E_NOT_FOUND when no home is known. */
BP_API bp_status bp_user_config_path(const char **path);

/* Stores a value in the user file (NULL removes the line), keeping its other lines and comments: written to a
 * temporary file first, then renamed. The running process's layers are not re-read. Missing folders are made, but not
 * $HOME, nor the folder above $XDG_CONFIG_HOME: BP_E_NOT_FOUND if that one is missing. */
BP_API bp_status bp_save_setting(const char *name, const char *value);

/* Warnings: things a user should know and that are no errors (a fallback, two OpenMP runtimes, ...). The library never
 * prints them. A handler gets each one once per text; it must not call back into the library. Without a handler the
 * last 64 are kept for bp_warning_at(): 0 is the oldest; returns 0 past the end. The text is copied into `buffer`. */
typedef void (*bp_warning_handler)(void *user, const char *text);
BP_API void bp_set_warning_handler(bp_warning_handler handler, void *user);
BP_API int bp_warning_at(int index, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
