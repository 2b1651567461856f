/* settings_table.h - reads a setting and writes it as JSON, for the commands settings, get and set. */
#ifndef BP_CLI_SETTINGS_ROWS_H
#define BP_CLI_SETTINGS_ROWS_H

#include "cli/command/cli.h"

typedef struct setting_row {
    const bp_setting_info *info;
    const char *value;
    bp_layer layer;
    const char *where;
} setting_row;

/* Returns CLI_OK, or an exit code after a message. The message for an unknown name has suggestions. */
int setting_row_read(const char *name, setting_row *row);
void setting_row_json(const setting_row *row);

#endif
