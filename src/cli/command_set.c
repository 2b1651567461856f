/* command_set.c - `backplane set NAME VALUE`: stores a value in the user's configuration file. */
#include "settings_table.h"

#include <stdlib.h>
#include <string.h>

/* Warns if a higher layer overrides the stored value. */
static void tell_hidden(const setting_row *before) {
    if (before->layer > BP_LAYER_USER_FILE) {
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

/* Warns if the preferred library is absent, or does not offer the operations that it is preferred for. */
static void tell_unusable(const char *name, const char *value) {
    const char *dot = strrchr(name, '.');
    if (dot && strcmp(dot, ".preferred") == 0 && bp_preferred_check(name, value) != BP_OK) {
        char *text = cli_format("stored for machines that have it: %s", bp_last_error());
        cli_warn(NULL, text);
        free(text);
    }
}

static int set(const cli_args *args) {
    bool unset = cli_has(args, "unset");
    if (args->count != (unset ? 1 : 2)) {
        return cli_fail(CLI_USAGE,
                        "wrong number of arguments; usage: backplane set NAME VALUE, or backplane set --unset NAME");
    }
    setting_row row;
    int code = setting_row_read(args->operands[0], &row);
    if (code != CLI_OK) {
        return code;
    }
    bp_status status = bp_save_setting(args->operands[0], unset ? NULL : args->operands[1]);
    const char *path = "";
    if (status == BP_OK) {
        status = bp_user_config_path(&path);
    }
    if (status != BP_OK) {
        /* Here BP_E_NOT_FOUND and BP_E_UNTRUSTED are about a folder of the file's path, not a library. */
        return cli_exit_of(status) == CLI_LIBRARY ? cli_fail(CLI_IO, "%s", bp_last_error()) : cli_fail_status(status);
    }
    if (unset) {
        cli_say(CLI_PLAIN, "%s is no longer set in %s\n", row.info->name, path);
    } else {
        cli_say(CLI_PLAIN, "%s = %s, in %s\n", row.info->name, args->operands[1], path);
    }
    tell_hidden(&row);
    if (!unset) {
        tell_unanswered(&row);
        tell_unusable(row.info->name, args->operands[1]);
    }
    return CLI_OK;
}

static const cli_option options[] = {
    {"unset", 'u', NULL, "Remove the setting from the file."},
    {NULL, 0, NULL, NULL},
};

const cli_command command_set = {
    .name = "set",
    .summary = "Store a setting in the user's configuration file.",
    .operands = "NAME [VALUE]",
    .details = "\nThe value is checked before it is stored. Comments and other lines of the file stay. Write -- before "
               "a value that begins with a dash.",
    .least = 1,
    .most = 2,
    .options = options,
    .run = set,
};
