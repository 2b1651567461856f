/* settings_page.c - prints docs/reference/settings.md from the table of settings. */
#include <backplane.h>

#include <stdio.h>

static const char *const intro =
    "# Settings\n"
    "\n"
    "<!-- Generated from include/backplane/settings_table.h by tools/settings_page.c; make changes there. -->\n"
    "\n"
    "All settings of the library. `backplane settings` prints them with their current values and the layers that set\n"
    "them. `backplane get NAME` reads one, `backplane set NAME VALUE` stores one in the user file. In C: `bp_get`,\n"
    "`bp_set`, and a typed pair for each setting, such as `bp_get_num_threads()` and `bp_set_num_threads(4)`.\n"
    "\n"
    "## Layers\n"
    "\n"
    "The value of a setting comes from the highest layer that sets it. From lowest to highest:\n"
    "\n";

static const char *const layer_notes[BP_LAYER_COUNT] = {
    "the default, listed below",
    ("thread limits of other software, for `num_threads` only: the smallest number in `OMP_NUM_THREADS` (of a list, "
     "the first), `OMP_THREAD_LIMIT`, `OPENBLAS_NUM_THREADS`, `GOTO_NUM_THREADS`, `MKL_NUM_THREADS` and "
     "`BLIS_NUM_THREADS`"),
    "`/etc/backplane/backplane.conf`; written by `backplane set --system`",
    ("`$XDG_CONFIG_HOME/backplane/backplane.conf`, or `~/.config/backplane/backplane.conf`; written by "
     "`bp_save_setting`"),
    ("the file whose absolute path is in `BACKPLANE_SETTINGS_FILE`, for module systems; written by `backplane set "
     "--file "
     "FILE`"),
    "`BACKPLANE_` and the name in capitals, with dots as underscores; if it is unset or empty, the second variable",
    "`bp_set` and the typed setters, for the whole process",
    "`bp_scope_enter` ... `bp_scope_leave`, for one thread",
    "the options of one call",
};

static const char *const grammar =
    "\n"
    "## Syntax\n"
    "\n"
    "A line of a file is `name = value`. `#` starts a comment, also after a value. A value that contains `#`, or "
    "begins or\n"
    "ends with a blank, must be in double quotes; in quotes `\\\"` is a quote and `\\\\` a backslash. Scopes and "
    "options\n"
    "use the same syntax, with commas or newlines as separators: `num_threads=1, dispatch.exclude=\"blis,netlib\"`.\n"
    "\n"
    "A file is read only if it is at most 1 MiB, and if only root and the user of the program can change it or a\n"
    "folder above it. The library ignores a bad line or variable, and one with an unknown name; `bp_config_error_at`\n"
    "reports it. A program that runs with another user's rights (set-uid) ignores the environment.\n"
    "\n"
    "- **bool**: `true`, `on`, `yes`, `1` or `false`, `off`, `no`, `0`\n"
    "- **int**: a whole number in the range\n"
    "- **enum**: one of the listed values, in upper or lower case; where `on` or `off` is listed, also the words of a "
    "bool for it\n"
    "- **text**: up to 4095 bytes without control characters\n"
    "\n"
    "## The settings\n"
    "\n"
    "A setting that is *read once* is taken from files and environment before the first use. A program cannot set "
    "it.\n";

static const char *type_name(bp_setting_type type) {
    static const char *const names[] = {"bool", "int", "enum", "text"};
    return names[type];
}

/* Prints each value as code of its own, because a bar would end the cell of a table. */
static void print_allowed(const char *allowed) {
    printf("`");
    for (; *allowed; allowed++) {
        if (*allowed == '|') {
            printf("`, `");
        } else {
            putchar(*allowed);
        }
    }
    printf("`");
}

static void print_setting(const bp_setting_info *row) {
    printf("\n### %s\n\n%s\n\n", row->name, row->help);
    printf("- %s", type_name(row->type));
    if (*row->allowed) {
        printf(": ");
        print_allowed(row->allowed);
    }
    if (*row->default_text) {
        printf("\n- default: `%s`\n", row->default_text);
    } else {
        printf("\n- default: empty\n");
    }
    printf("- environment: `%s`", row->environment);
    if (*row->alias) {
        printf(", or `%s`", row->alias);
    }
    printf("\n- affects: %s\n", row->affects);
    if (row->flags & BP_SETTING_READ_ONLY) {
        printf("- read-only\n");
    }
    if (row->flags & BP_SETTING_STARTUP) {
        printf("- read once\n");
    }
}

int main(void) {
    const bp_setting_info *row;
    fputs(intro, stdout);
    for (int i = 0; i < BP_LAYER_COUNT; i++) {
        printf("%d. %s: %s\n", i + 1, bp_layer_name((bp_layer)i), layer_notes[i]);
    }
    fputs(grammar, stdout);
    for (int i = 0; (row = bp_setting_listed_at(i)) != NULL; i++) {
        print_setting(row);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
