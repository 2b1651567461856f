/* settings_page.c - prints docs/settings.md, the reference of all settings, from the table of settings. */
#include <backplane.h>

#include <stdio.h>

static const char *const intro =
    "# Settings\n"
    "\n"
    "<!-- Made from include/backplane/settings_table.h by tools/settings_page.c; change it there. -->\n"
    "\n"
    "All settings of the library. `backplane settings` prints their current values and the layers that set them;\n"
    "`backplane get NAME` reads one, `backplane set NAME VALUE` saves one. In C: `bp_get`, `bp_set`, and a typed pair "
    "such as\n"
    "`bp_get_num_threads()` and `bp_set_num_threads(4)` for each setting.\n"
    "\n"
    "## Where a value comes from\n"
    "\n"
    "The highest layer that sets a value wins:\n"
    "\n";

static const char *const layer_notes[BP_LAYER_COUNT] = {
    "the default in the list below",
    "thread limits of other software, only for `num_threads`: the smallest number in `OMP_NUM_THREADS` (of a list, "
    "the first), `OMP_THREAD_LIMIT`, `OPENBLAS_NUM_THREADS`, `GOTO_NUM_THREADS`, `MKL_NUM_THREADS` and "
    "`BLIS_NUM_THREADS`",
    "`/etc/backplane/backplane.conf`",
    "`$XDG_CONFIG_HOME/backplane/backplane.conf`, or `~/.config/backplane/backplane.conf`; written by "
    "`bp_save_setting`",
    "`BACKPLANE_` and the name in capitals, dots as underscores; an alias is used if that is unset or empty",
    "`bp_set` and the typed setters, for the whole process",
    "`bp_scope_enter` ... `bp_scope_leave`, for one thread",
    "the options of one call",
};

static const char *const grammar =
    "\n"
    "Files are lines of `name = value`. `#` starts a comment, also after a value. A value with a `#`, or with blanks "
    "at its\n"
    "ends, is written in double quotes; `\\\"` and `\\\\` are a quote and a backslash. Scopes and options use "
    "the same\n"
    "grammar, with commas or newlines as separators: `num_threads=1, dispatch.exclude=\"blis,netlib\"`.\n"
    "\n"
    "A file is read if it has at most 1 MiB and only root and the user of the program can change it or a folder "
    "above it. A bad\n"
    "line or variable, or one with an unknown name, never stops a program: it is ignored, and "
    "`bp_config_error_at` "
    "reports it.\n"
    "Programs that run with another user's rights (set-uid) ignore the environment.\n"
    "\n"
    "- **bool**: `true`, `on`, `yes`, `1` or `false`, `off`, `no`, `0`\n"
    "- **int**: a whole number in the range\n"
    "- **word**: one of the listed values, in upper or lower case\n"
    "- **text**: up to 4095 bytes without control characters\n"
    "\n"
    "## The settings\n"
    "\n"
    "A setting that is *read once* is read from files and environment before the first use; a program cannot set "
    "it.\n";

static const char *type_name(bp_setting_type type) {
    static const char *const names[] = {"bool", "int", "word", "text"};
    return names[type];
}

/* Prints a list of values as code, one by one, because a vertical bar would end a table cell. */
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
        printf("- read-only: reports a property\n");
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
    for (int i = 0; (row = bp_setting_row(i)) != NULL; i++) {
        print_setting(row);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
