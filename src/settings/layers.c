/* layers.c - reads the layers below the program: files and environment. An invalid entry never stops the program: it is
 * ignored, and bp_config_error_at() reports it. The only error is lack of memory. */
#include "base/number.h"
#include "base/path_buffer.h"
#include "settings/private.h"

#include <stdio.h>
#include <string.h>

const char *bp__system_file = "/etc/backplane/backplane.conf";
static const char named_file[] = "BACKPLANE_SETTINGS_FILE";

bp_status bp__layers_problem(bp__layers *layers, const char *format, ...) {
    const int most = BP__COUNT(layers->problems);
    enum { LONGEST = 1024 };
    va_list args;
    if (layers->problem_count == most) {
        return BP_OK;
    }
    char *text = bp__alloc(LONGEST);
    if (!text) {
        return bp__fail_memory(LONGEST, "a problem of the settings");
    }
    va_start(args, format);
    bp__format_v(text, LONGEST, format, args);
    va_end(args);
    bool last = layers->problem_count == most - 1;
    const char *kept = bp__intern(last ? "more problems are not listed" : text);
    bp__free(text);
    if (!kept) {
        return bp__fail_memory(LONGEST, "a problem of the settings");
    }
    layers->problems[layers->problem_count++] = kept;
    return BP_OK;
}

/* Stores a value; reports an invalid one as a problem. */
static bp_status put_value(bp__layers *layers, bp_layer layer, bp_setting_id id, const char *text, size_t length,
                           const char *where) {
    bp__value value;
    const bp_setting_info *info = &bp__table_at(id)->info;
    if (info->flags & BP_SETTING_READ_ONLY) {
        return bp__layers_problem(layers, "%s: %s is read-only and cannot be set", where, info->name);
    }
    bp_status status = bp__value_parse(id, text, length, &value);
    if (status != BP_OK) {
        return status == BP_E_NO_MEMORY ? status : bp__layers_problem(layers, "%s: %s", where, bp_last_error());
    }
    const char *kept = bp__intern(where);
    if (!kept) {
        return bp__fail_memory(strlen(where), "the source of a setting");
    }
    bp__write writes[BP__MOST_WRITES];
    int count = bp__writes_of(id, value, writes);
    for (int i = 0; i < count; i++) {
        bp__stored *stored = &layers->values[layer][writes[i].id];
        if (stored->set) {
            BP__TRY(bp__layers_problem(layers, "%s: %s is given twice; this line overrides %s", where,
                                       bp__table_at(writes[i].id)->info.name, stored->where));
        }
        *stored = (bp__stored){true, writes[i].value, kept};
    }
    return BP_OK;
}

static bp_status put_entry(bp__layers *layers, bp_layer layer, const bp__entry *entry, const char *path) {
    bp_setting_id id;
    bp__text where = {0};
    bp__text_addf(&where, "%s:%d", path, entry->line);
    bp_status status = where.failed   ? bp__fail_memory(where.length, "the source of a setting")
                       : entry->fault ? bp__layers_problem(layers, "%s: %s", where.bytes, entry->fault)
                       : bp__find_setting(entry->name, entry->name_length, &id) != BP_OK
                           ? bp__layers_problem(layers, "%s: %s", where.bytes, bp_last_error())
                           : put_value(layers, layer, id, entry->value, entry->value_length, where.bytes);
    bp__text_free(&where);
    return status;
}

/* A file that is missing is no problem, unless the user named it. */
static bp_status put_file(bp__layers *layers, bp_layer layer, const char *path) {
    char *bytes = NULL;
    size_t size = 0;
    bp_status status = bp__file_trusted(path);
    if (status == BP_OK) {
        status = bp__file_read(path, BP__LARGEST_FILE, &bytes, &size);
    }
    if (status == BP_E_NO_MEMORY || (status == BP_E_NOT_FOUND && layer != BP_LAYER_NAMED_FILE)) {
        return status == BP_E_NO_MEMORY ? status : BP_OK;
    }
    if (status != BP_OK) {
        return bp__layers_problem(layers, "settings file %s ignored: %s", path, bp_last_error());
    }
    bp__reader reader;
    bp__entry *entry = bp__alloc(sizeof *entry);
    status = entry ? BP_OK : bp__fail_memory(sizeof *entry, "a line of a settings file");
    bp__reader_start(&reader, bytes, size, false);
    while (status == BP_OK && bp__reader_next(&reader, entry)) {
        status = put_entry(layers, layer, entry, path);
    }
    bp__free(entry);
    bp__free(bytes);
    return status;
}

static bp_status put_variable(bp__layers *layers, bp_setting_id id) {
    const bp_setting_info *info = &bp__table_at(id)->info;
    const char *name = info->environment;
    const char *value = bp__env(name);
    if (!value && *info->alias) {
        name = info->alias;
        value = bp__env(name);
        value = value ? bp__alias_word(id, value) : NULL;
    }
    return value ? put_value(layers, BP_LAYER_ENVIRONMENT, id, value, strlen(value), name) : BP_OK;
}

/* Returns every variable that is read: first those derived from the names, then the aliases. */
static const char *variable_at(void *user, int index) {
    (void)user;
    const char *none = "";
    if (index >= 2 * BP_SETTING_COUNT) {
        return NULL;
    }
    const bp_setting_info *info = bp_setting_at(index % BP_SETTING_COUNT);
    bool again = index >= BP_SETTING_COUNT && bp__text_equal(info->alias, info->environment);
    return index < BP_SETTING_COUNT ? info->environment : again ? none : info->alias;
}

/* Variables of the drop-in libraries and of `backplane launch` (src/dropin/policy.c), which belong to no setting. */
static bool is_of_dropin(const char *name) {
    static const char *const heads[] = {"BACKPLANE_DROPIN_", "BACKPLANE_LAUNCH_"};
    static const char *const tails[] = {"LIBRARY", "ONLY",    "EXCLUDE", "SMALL",
                                        "FAULTS",  "OBSERVE", "RECORD",  "COMPLEX_RETURN"};
    for (int i = 0; i < BP__COUNT(heads); i++) {
        for (int j = 0; bp__text_starts(name, heads[i]) && j < BP__COUNT(tails); j++) {
            if (bp__text_equal(name + strlen(heads[i]), tails[j])) {
                return true;
            }
        }
    }
    return false;
}

/* Variables that are read, and belong to no setting. */
static bool is_no_setting(const char *name) {
    static const char *const names[] = {"BACKPLANE_PYTHON_PATH", "BACKPLANE_RANK_RECORDS"};
    for (int i = 0; i < BP__COUNT(names); i++) {
        if (bp__text_equal(name, names[i])) {
            return true;
        }
    }
    return is_of_dropin(name) || bp__text_equal(name, named_file);
}

typedef struct visit {
    bp__layers *layers;
    bp_status status;
} visit;

static bool visit_variable(void *user, const char *name, const char *value) {
    visit *state = user;
    const char *known;
    (void)value;
    for (int i = 0; (known = variable_at(NULL, i)) != NULL; i++) {
        if (bp__text_equal(known, name)) {
            return true;
        }
    }
    if (is_no_setting(name)) {
        return true;
    }
    bp__shown shown;
    char question[256];
    bp__suggest(bp__show(&shown, name, strlen(name)), variable_at, NULL, question, sizeof question);
    state->status = bp__layers_problem(state->layers, "%s: no setting reads this variable%s%s", shown.text,
                                       *question ? "; " : "", question);
    return state->status == BP_OK;
}

/* A relative path would mean another file in each directory that the program runs in. */
static bp_status put_named_file(bp__layers *layers) {
    const char *path = bp__env(named_file);
    if (path && path[0] != '/') {
        return bp__layers_problem(layers, "%s: '%.64s' is no absolute path", named_file, path);
    }
    return path ? put_file(layers, BP_LAYER_NAMED_FILE, path) : BP_OK;
}

bp_status bp__layers_read(bp__layers *layers) {
    const char *path;
    BP__TRY(bp__limits_read(layers));
    BP__TRY(put_file(layers, BP_LAYER_SYSTEM_FILE, bp__system_file));
    bp_status status = bp_user_config_path(&path);
    if (status == BP_OK) {
        status = put_file(layers, BP_LAYER_USER_FILE, path);
    }
    if (status == BP_E_NO_MEMORY) {
        return status;
    }
    BP__TRY(put_named_file(layers));
    for (int aliases = 1; aliases >= 0;
         aliases--) { /* a setting's own variable overrides the variable of an alias for it */
        for (int i = 0; i < BP_SETTING_COUNT; i++) {
            bool is_alias = (bp__table_at((bp_setting_id)i)->info.flags & BP_SETTING_ALIAS) != 0;
            BP__TRY(is_alias == (aliases == 1) ? put_variable(layers, (bp_setting_id)i) : BP_OK);
        }
    }
    visit state = {layers, BP_OK};
    bp__env_walk("BACKPLANE_", visit_variable, &state);
    return state.status;
}

bp_status bp__user_file(const char **path, size_t *given) {
    BP__PATH_BUFFER(text);
    static const char name[] = "/backplane/backplane.conf";
    *path = NULL;
    if (!text) {
        return bp__fail_memory(PATH_MAX, "the path of the user file");
    }
    if (!bp__user_folder("XDG_CONFIG_HOME", ".config", text, PATH_MAX - sizeof name, given)) {
        return bp__fail(
            BP_E_NOT_FOUND,
            "no home directory is known: set HOME or XDG_CONFIG_HOME to an absolute path of less than %d bytes",
            (int)(PATH_MAX - sizeof name));
    }
    memcpy(text + strlen(text), name, sizeof name);
    *path = bp__intern(text);
    return *path ? BP_OK : bp__fail_memory(strlen(text) + 1, "the path of the user file");
}

bp_status bp_user_config_path(const char **path) {
    size_t given;
    return path ? bp__user_file(path, &given)
                : bp__fail(BP_E_ARGUMENT, "path: NULL given; it takes the address of a pointer");
}

const char *bp_system_config_path(void) {
    return bp__system_file;
}

bp_status bp_named_config_path(const char **path) {
    if (!path) {
        return bp__fail(BP_E_ARGUMENT, "path: NULL given; it takes the address of a pointer");
    }
    const char *value = bp__env(named_file);
    *path = value ? bp__intern(value) : "";
    return *path ? BP_OK : bp__fail_memory(strlen(value) + 1, "the path of the settings file");
}
