/* command_get.c - `backplane get NAME`: prints the value of one setting. */
#include "settings_table.h"

static int get_setting(const cli_args *args) {
    setting_row row;
    int code = setting_row_read(args->operands[0], &row);
    if (code != CLI_OK) {
        return code;
    }
    if (cli_has(args, "json")) {
        setting_row_json(&row);
    } else {
        cli_say(CLI_PLAIN, "%s\n", row.value);
    }
    return CLI_OK;
}

static const cli_option options[] = {CLI_OPTION_JSON, {NULL, 0, NULL, NULL}};

const cli_command command_get = {
    .name = "get",
    .summary = "Show the value of one setting.",
    .operands = "NAME",
    .details = "",
    .least = 1,
    .most = 1,
    .options = options,
    .run = get_setting,
};
