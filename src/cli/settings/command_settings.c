/* command_settings.c - `backplane settings`: shows every setting, its value, and the layer that set it. */
#include "settings_table.h"

static void add_row(cli_table *table, const setting_row *row) {
    bool changed = row->layer != BP_LAYER_DEFAULT;
    cli_cell(table, CLI_PLAIN, "%s", row->info->name);
    cli_cell(table, changed ? CLI_STRONG : CLI_PLAIN, "%s", row->value[0] ? row->value : "(empty)");
    cli_cell(table, changed ? CLI_CAUTION : CLI_FAINT, "%s", bp_layer_name(row->layer));
    cli_cell(table, CLI_PLAIN, "%s", row->where);
}

static int settings(const cli_args *args) {
    bool json = cli_has(args, "json"), changed = cli_has(args, "changed");
    cli_table *table = json ? NULL : cli_table_new("SETTING|VALUE|~LAYER|WHERE");
    if (json) {
        json_open(NULL, '[');
    }
    int code = CLI_OK;
    const bp_setting_info *info;
    for (int i = 0; code == CLI_OK && (info = bp_setting_listed_at(i)) != NULL; i++) {
        setting_row row;
        code = setting_row_read(info->name, &row);
        if (code != CLI_OK || (changed && row.layer == BP_LAYER_DEFAULT)) {
            continue;
        }
        if (json) {
            setting_row_json(&row);
        } else {
            add_row(table, &row);
        }
    }
    if (json) {
        json_close();
    } else {
        cli_table_end(table);
    }
    return code;
}

static const cli_option options[] = {
    {"changed", 0, NULL, "Show only settings that differ from their defaults."},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL},
};

const cli_command command_settings = {
    .name = "settings",
    .summary = "Show every setting, its value, and the layer that set it.",
    .operands = "",
    .details = "\nLayers, lowest first: default, shared environment, system file, user file, named file, "
               "environment. "
               "docs/reference/settings.md describes each setting.",
    .options = options,
    .run = settings,
};
