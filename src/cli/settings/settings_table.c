/* settings_table.c - reads a setting and writes it as JSON, for the commands settings, get and set. */
#include "settings_table.h"

int setting_row_read(const char *name, setting_row *row) {
    int index = bp_setting_find(name);
    if (index < 0) {
        return cli_fail_status(BP_E_UNKNOWN_NAME);
    }
    row->info = bp_setting_at(index);
    bp_status status = bp_get(name, &row->value, &row->layer, &row->where);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

static const char *type_name(bp_setting_type type) {
    switch (type) {
    case BP_SETTING_BOOL:
        return "bool";
    case BP_SETTING_INT:
        return "int";
    case BP_SETTING_ENUM:
        return "enum";
    case BP_SETTING_TEXT:
        return "text";
    }
    return "?";
}

void setting_row_json(const setting_row *row) {
    const bp_setting_info *info = row->info;
    json_open(NULL, '{');
    json_text("name", info->name);
    json_text("value", row->value);
    json_text("layer", bp_layer_name(row->layer));
    json_text("where", row->where);
    json_text("type", type_name(info->type));
    json_text("default", info->default_text);
    json_text("allowed", info->allowed);
    json_text("environment", info->environment);
    json_text("alias", info->alias);
    json_bool("read_only", info->flags & BP_SETTING_READ_ONLY);
    json_bool("startup", info->flags & BP_SETTING_STARTUP);
    json_bool("policy", info->flags & BP_SETTING_POLICY);
    json_text("affects", info->affects);
    json_text("help", info->help);
    const char *why;
    json_bool("answered", bp_setting_has_effect(info->name, &why));
    json_text("why_not", why);
    json_close();
}
