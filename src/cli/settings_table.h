/* settings_table.h - one setting as the commands settings, get and set show it. */
#ifndef BP_CLI_SETTINGS_ROWS_H
#define BP_CLI_SETTINGS_ROWS_H

#include "cli.h"

typedef struct setting_row {
    const bp_setting_info *info;
    const char *value;
    bp_layer layer;
    const char *where;
} setting_row;

/* CLI_OK, or the code of a failure that has been reported: an unknown name gets suggestions. */
int setting_row_read(const char *name, setting_row *row);
void setting_row_json(const setting_row *row);

#endif
