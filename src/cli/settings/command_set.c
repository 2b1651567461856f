/* command_set.c - `backplane set NAME VALUE`: stores a value in the user's, the system's or another configuration file.
 */
#include "settings_table.h"

#include <stdlib.h>
#include <string.h>

/* The file that the options name. */
typedef struct target {
    const char *path;
    bp_layer layer; /* BP_LAYER_DEFAULT: this process does not read the file */
} target;

static int find_target(const cli_args *args, target *to) {
    const char *named, *file = cli_value(args, "file");
    *to = (target){file, BP_LAYER_DEFAULT};
    if (file && cli_has(args, "system")) {
        return cli_fail(CLI_USAGE, "--system and --file name different files; give one of them");
    }
    bp_status status = BP_OK;
    if (file) {
        status = bp_named_config_path(&named);
        to->layer = status == BP_OK && strcmp(named, file) == 0 ? BP_LAYER_NAMED_FILE : BP_LAYER_DEFAULT;
    } else if (cli_has(args, "system")) {
        *to = (target){bp_system_config_path(), BP_LAYER_SYSTEM_FILE};
    } else {
        to->layer = BP_LAYER_USER_FILE;
        status = bp_user_config_path(&to->path);
    }
    return status == BP_OK ? CLI_OK : cli_fail(CLI_IO, "%s", bp_last_error());
}

/* Warns if a higher layer overrides the stored value. */
static void tell_hidden(const setting_row *before, const target *to) {
    if (to->layer != BP_LAYER_DEFAULT && before->layer > to->layer) {
        char *text = cli_format("the %s (%s) sets %s to '%s', which overrides it", bp_layer_name(before->layer),
                                before->where, before->info->name, before->value);
        cli_warn(NULL, text);
        free(text);
    }
}

/* Warns if nothing on this machine uses the setting. The value is stored, because another machine may use it. */
static void tell_unanswered(const setting_row *row) {
    const char *why;
    if (!bp_setting_has_effect(row->info->name, &why)) {
        char *text = cli_format("nothing on this machine uses %s: %s", row->info->name, why);
        cli_warn(NULL, text);
        free(text);
    }
}

/* Warns if the preferred library is absent, or does not offer the operations that it is preferred for. dist.preferred
 * is no name of a library, but one of a list of words. */
static void tell_unusable(const bp_setting_info *setting, const char *value) {
    const char *dot = strrchr(setting->name, '.');
    const bool is_library = dot && strcmp(dot, ".preferred") == 0 && setting->type == BP_SETTING_TEXT;
    if (is_library && bp_preferred_check(setting->name, value) != BP_OK) {
        char *text = cli_format("stored for machines that have it: %s", bp_last_error());
        cli_warn(NULL, text);
        free(text);
    }
}

static bp_status save_setting(const target *to, const char *name, const char *value) {
    return to->layer == BP_LAYER_USER_FILE ? bp_save_setting(name, value) : bp_save_setting_to(to->path, name, value);
}

static int set_setting(const cli_args *args) {
    bool unset = cli_has(args, "unset");
    if (args->count != (unset ? 1 : 2)) {
        return cli_fail(CLI_USAGE,
                        "wrong number of arguments; usage: backplane set NAME VALUE, or backplane set --unset NAME");
    }
    target to;
    setting_row row;
    int code = setting_row_read(args->operands[0], &row);
    code = code == CLI_OK ? find_target(args, &to) : code;
    if (code != CLI_OK) {
        return code;
    }
    bp_status status = save_setting(&to, args->operands[0], unset ? NULL : args->operands[1]);
    if (status != BP_OK) {
        /* Here BP_E_NOT_FOUND and BP_E_UNTRUSTED are about a folder of the file's path, not a library. */
        return cli_exit_of(status) == CLI_LIBRARY ? cli_fail(CLI_IO, "%s", bp_last_error()) : cli_fail_status(status);
    }
    if (unset) {
        cli_say(CLI_PLAIN, "%s is no longer set in %s\n", row.info->name, to.path);
    } else {
        cli_say(CLI_PLAIN, "%s = %s, in %s\n", row.info->name, args->operands[1], to.path);
    }
    tell_hidden(&row, &to);
    if (!unset) {
        tell_unanswered(&row);
        tell_unusable(row.info, args->operands[1]);
    }
    return CLI_OK;
}

static const cli_option options[] = {
    {"unset", 'u', NULL, "Remove the setting from the file."},
    {"system", 0, NULL, "Use the system file, /etc/backplane/backplane.conf, which applies to all users."},
    {"file", 'f', "FILE", "Use this file, which BACKPLANE_SETTINGS_FILE names for the programs that are to read it."},
    {NULL, 0, NULL, NULL},
};

const cli_command command_set = {
    .name = "set",
    .summary = "Store a setting in a configuration file: the user's, the system's or another one.",
    .operands = "NAME [VALUE]",
    .details = "\nThe value is checked before it is stored. Comments and other lines of the file stay. Write -- before "
               "a value that begins with a dash.",
    .least = 1,
    .most = 2,
    .options = options,
    .run = set_setting,
};
