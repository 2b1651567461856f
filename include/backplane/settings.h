/* settings.h - reads and writes the settings: layers, thread scopes, options of one call, files.
 *
 * A setting has a dotted name. Its value comes from the highest layer that sets it:
 *   default < shared environment < system file < user file < named file < environment < process < thread scope <
 * options of one call. The shared environment holds the variables that limit the threads of OpenMP and of math
 * libraries; it only sets num_threads, to the smallest of those limits. bp_set() writes the process layer. A scope is
 * private to a thread, options are private to a call. All functions are thread-safe. A read is one atomic load if no
 * scope is open.
 *
 * Files are /etc/backplane/backplane.conf, then $XDG_CONFIG_HOME/backplane/backplane.conf (or ~/.config/...), then
 * the file that the variable BACKPLANE_SETTINGS_FILE names. A line is `name = value`; `#` starts a comment. The
 * environment variable of a setting is BACKPLANE_ and its name in capitals with dots as underscores. If it is unset,
 * the second variable of the table (bp_setting_info.alias) is read. The library ignores a bad line or variable, and
 * bp_config_error_at() reports it.
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
    BP_SETTING_ENUM, /* one of a list of values */
    BP_SETTING_TEXT  /* any text up to 4095 bytes without control characters */
} bp_setting_type;

typedef enum bp_layer {
    BP_LAYER_DEFAULT,
    BP_LAYER_SHARED_ENVIRONMENT, /* thread limits of other software: OMP_NUM_THREADS and the like */
    BP_LAYER_SYSTEM_FILE,
    BP_LAYER_USER_FILE,
    BP_LAYER_NAMED_FILE, /* the file that BACKPLANE_SETTINGS_FILE names */
    BP_LAYER_ENVIRONMENT,
    BP_LAYER_PROCESS,
    BP_LAYER_SCOPE,
    BP_LAYER_CALL,
    BP_LAYER_COUNT
} bp_layer;

/* Returns "default", "system file", ... Never NULL; static storage. */
BP_API const char *bp_layer_name(bp_layer layer);

/* The number of each setting: BP_SET_num_threads, ... A number never changes its meaning, and a new setting takes the
 * next free number. So a program can run with a library that is newer or older than its headers. Such a library has a
 * different number of settings: end a loop over all of them when bp_setting_listed_at() returns NULL. BP_SETTING_COUNT
 * is the number that the program was compiled with, for the size of its own arrays. */
typedef enum bp_setting_id {
#define BP__ENTRY(id, number, name, type, default_text, allowed, alias, flags, affects, help) BP_SET_##id = (number),
    BP_SETTINGS_MAP(BP__ENTRY)
#undef BP__ENTRY
#define BP__ENTRY(id, number, name, type, default_text, allowed, alias, flags, affects, help) +1
        BP_SETTING_COUNT = 0 BP_SETTINGS_MAP(BP__ENTRY)
#undef BP__ENTRY
} bp_setting_id;

#define BP_SETTING_READ_ONLY 1u /* cannot be set */
#define BP_SETTING_STARTUP 2u   /* set by files and environment only; read once, before the first use */
#define BP_SETTING_POLICY 4u    /* takes part in the choice of a library; the next call uses the new value */
#define BP_SETTING_ALIAS 8u     /* alias: reads and writes the settings it stands for */
#define BP_SETTING_INHERITS 16u /* a precision setting: "none" means the value of its parent setting */
#define BP_SETTING_CUDA 32u     /* takes part in the choice on devices of CUDA and ROCm */

/* Description of a setting. Only the library creates one; later versions add members at the end. */
typedef struct bp_setting_info {
    const char *name;
    bp_setting_type type;
    const char *default_text; /* the default, as text */
    const char *allowed;      /* "0..1024"; "strict|warn|allow"; "a,b,c" for a TEXT that is a list of these; or "" */
    const char *environment;  /* "BACKPLANE_NUM_THREADS" */
    const char *alias;        /* a second variable, or "" */
    unsigned flags;
    const char *affects;
    const char *help;
    int number; /* BP_SET_num_threads, ...; BP_SETTING_COUNT or more if the library is newer than the program */
} bp_setting_info;

/* Returns the setting with that number (BP_SET_num_threads, ...), or NULL. Static storage. */
BP_API const bp_setting_info *bp_setting_at(int number);

/* Returns setting `index` (0, 1, ...) in the order of the table, NULL past the end. Static storage. */
BP_API const bp_setting_info *bp_setting_listed_at(int index);

/* Returns the number of the setting with that name. Otherwise returns -1; bp_last_status() is then BP_E_UNKNOWN_NAME,
 * and the message has the nearest names. */
BP_API int bp_setting_find(const char *name);

/* Sets *value to the effective value as text: the value of the deciding setting, see bp_get_deciding_setting(). Sets
 * *layer to its layer and *where to its origin: file and line, name of the variable, text of the scope, or "". `layer`
 * and `where` may be NULL. Strings are valid until bp_reset(). Errors: BP_E_UNKNOWN_NAME, BP_E_ARGUMENT (NULL),
 * BP_E_NO_MEMORY. */
BP_API bp_status bp_get(const char *name, const char **value, bp_layer *layer, const char **where);

/* Sets *node to the name of the setting that decides the value of `name`: `name` itself; for a precision setting with
 * the value "none", the parent that it inherits from; for an alias, a setting that it stands for. Static storage.
 * Errors: BP_E_UNKNOWN_NAME, BP_E_ARGUMENT. */
BP_API bp_status bp_get_deciding_setting(const char *name, const char **node);

/* Sets *value to the value that one layer stores, NULL if that layer does not set it. `where` as in bp_get(). Errors:
 * BP_E_UNKNOWN_NAME, BP_E_ARGUMENT. */
BP_API bp_status bp_get_layer(const char *name, bp_layer layer, const char **value, const char **where);

/* Writes the process layer. An error leaves the setting unchanged. Errors: BP_E_UNKNOWN_NAME, BP_E_BAD_VALUE (the
 * message lists the allowed values), BP_E_READ_ONLY, BP_E_UNSUPPORTED (the hardware does not support the value),
 * BP_E_ARGUMENT (NULL), BP_E_NO_MEMORY. */
BP_API bp_status bp_set(const char *name, const char *value);

/* Removes the value from the process layer, so that the layers below apply. Errors: as for bp_set(). */
BP_API bp_status bp_unset(const char *name);

/* Typed accessors, one pair per setting: bp_get_num_threads(), bp_set_num_threads(4), ... A getter never fails. A
 * setter has the errors of bp_set(). */
#define BP__C_BOOL int
#define BP__C_INT int64_t
#define BP__C_ENUM const char *
#define BP__C_TEXT const char *
#define BP__ENTRY(id, number, name, type, default_text, allowed, alias, flags, affects, help)                          \
    BP_API BP__C_##type bp_get_##id(void);                                                                             \
    BP_API bp_status bp_set_##id(BP__C_##type value);
BP_SETTINGS_MAP(BP__ENTRY)
#undef BP__ENTRY

/* A checked list of settings for single calls: "num_threads=1, blas.preferred=openblas". Separators are commas or
 * newlines. A value with a comma is in double quotes (a backslash escapes a quote or a backslash). Options are
 * immutable and may be shared between threads. */
typedef struct bp_options bp_options;

/* Parses `text` and checks each value. Free the result with bp_options_release(). Errors: as for bp_set(), and
 * BP_E_BAD_VALUE for a syntax error or a name given twice. */
BP_API bp_status bp_options_new(bp_options **options, const char *text);
BP_API void bp_options_release(bp_options *options); /* NULL is allowed */

/* A scope changes settings for the calling thread until it is left. `text` is as in bp_options_new(). Scopes nest.
 * Leaving one restores the stored values exactly, also if scopes are left out of order (Python generators do that). The
 * thread that entered a scope must leave it (BP_E_SCOPE otherwise). A thread that ends leaves its open scopes. If
 * entering fails, nothing has changed and *scope is NULL. bp_scope_leave() returns BP_OK if *scope is NULL. */
typedef struct bp_scope bp_scope;
BP_API bp_status bp_scope_enter(bp_scope **scope, const char *text);
BP_API bp_status bp_scope_enter_options(bp_scope **scope, const bp_options *options);
BP_API bp_status bp_scope_leave(bp_scope **scope); /* sets *scope to NULL */

/* Returns the message for bad line or variable `index` (0, 1, ...) of the configuration, NULL past the end. The first
 * call of any function of this header reads the files and the environment. */
BP_API const char *bp_config_error_at(int index);

/* Sets *path to the user file that bp_save_setting() writes. Errors: BP_E_NOT_FOUND (the home folder is unknown). */
BP_API bp_status bp_user_config_path(const char **path);

/* Returns the path of the system file, which applies to all users. Static storage. */
BP_API const char *bp_system_config_path(void);

/* Sets *path to the value of BACKPLANE_SETTINGS_FILE: an absolute path of one more file of settings, for programs that
 * load an environment (module systems). Its values override the user file. A file that cannot be read is reported by
 * bp_config_error_at(). *path is "" if the variable is unset. Valid until bp_reset(). Errors: BP_E_ARGUMENT,
 * BP_E_NO_MEMORY. */
BP_API bp_status bp_named_config_path(const char **path);

/* Writes a value to the user file; NULL removes the line. Keeps all other lines and comments: writes a temporary file,
 * then renames it. The running process does not read the file again. Creates missing folders, but neither $HOME nor the
 * parent of $XDG_CONFIG_HOME (BP_E_NOT_FOUND if missing). Errors: as for bp_set(), BP_E_NOT_FOUND, BP_E_IO. */
BP_API bp_status bp_save_setting(const char *name, const char *value);

/* Does the same with another file: the system file, or one that BACKPLANE_SETTINGS_FILE will name. A missing directory
 * of the file is created (readable by all), but none above it. Errors: as for bp_save_setting(); BP_E_UNTRUSTED (others
 * may change the file, so that no process would read it). */
BP_API bp_status bp_save_setting_to(const char *path, const char *name, const char *value);

/* Receives a warning: a fallback, two OpenMP runtimes, ... The library never prints warnings. Each text is reported
 * once. The handler may run in any thread and must not call the library. */
typedef void (*bp_warning_handler)(void *user, const char *text);
BP_API void bp_set_warning_handler(bp_warning_handler handler, void *user);

/* Copies warning `index` to `buffer` (`size` bytes) and returns 1; returns 0 past the end. Without a handler the
 * library keeps the last 64; 0 is the oldest. */
BP_API int bp_warning_at(int index, char *buffer, size_t size);

/* Receives one line for each new plan: the operation, the problem, the library, the algorithm, the threads and the
 * reason of the choice. Later calls with the same problem use the plan, and report nothing. For the log of a program;
 * the setting `verbose` reports every call. NULL ends it. The handler may run in any thread and must not call the
 * library. */
typedef void (*bp_choice_handler)(void *user, const char *text);
BP_API void bp_set_choice_handler(bp_choice_handler handler, void *user);

#ifdef __cplusplus
}
#endif
#endif
