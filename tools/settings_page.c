/* settings_page.c - prints docs/settings.md from the table of settings, for those who look a setting up. */
#include <backplane.h>

#include <stdio.h>

static const char *const intro =
    "# Settings\n"
    "\n"
    "<!-- Made from include/backplane/settings_table.h by tools/settings_page.c; change it there. -->\n"
    "\n"
    "Every switch of the library. `backplane settings` prints them with the value in force and the layer that set it;\n"
    "`backplane get NAME` and `backplane set NAME VALUE` read and keep one. In C: `bp_get`, `bp_set`, and a typed pair "
    "such as\n"
    "`bp_get_num_threads()` and `bp_set_num_threads(4)` for each row.\n"
    "\n"
    "## Where a value comes from\n"
    "\n"
    "The highest layer that sets a value wins:\n"
    "\n";

static const char *const layer_notes[BP_LAYER_COUNT] = {
    "what the table below says",
    "thread limits of other software, for `num_threads` alone: the smallest number in `OMP_NUM_THREADS` (of a list, "
    "the first), `OMP_THREAD_LIMIT`, `OPENBLAS_NUM_THREADS`, `GOTO_NUM_THREADS`, `MKL_NUM_THREADS` and "
    "`BLIS_NUM_THREADS`",
    "`/etc/backplane/backplane.conf`",
    "`$XDG_CONFIG_HOME/backplane/backplane.conf`, or `~/.config/backplane/backplane.conf`; written by "
    "`bp_save_setting`",
    "`BACKPLANE_` and the name in capitals, dots as underscores; an alias counts where that is unset or empty",
    "`bp_set` and the typed setters, for the whole process",
    "`bp_scope_enter` ... `bp_scope_leave`, for one thread",
    "the options of one call",
};

static const char *const grammar =
    "\n"
    "Files are lines of `name = value`. `#` starts a comment, also after a value. A value with a `#`, or with blanks "
    "at its\n"
    "ends, stands in double quotes, where `\\\"` and `\\\\` stand for a quote and a backslash. Scopes and options use "
    "the same\n"
    "grammar, with commas beside newlines as separators: `num_threads=1, dispatch.exclude=\"blis,netlib\"`.\n"
    "\n"
    "A file of at most 1 MiB counts only if nobody but root and the user of the program can change it or a folder "
    "above it. A bad\n"
    "line or variable, or one whose name no setting has, never stops a program: it is left out, and "
    "`bp_config_error_at` "
    "tells it.\n"
    "Programs that run with another user's rights (set-uid) see no environment.\n"
    "\n"
    "- **bool**: `true`, `on`, `yes`, `1` or `false`, `off`, `no`, `0`\n"
    "- **int**: a whole number in the range\n"
    "- **word**: one of the words, capitals or not\n"
    "- **text**: up to 4095 bytes without control characters\n"
    "\n"
    "## The settings\n"
    "\n"
    "A setting that is *read once* is taken from files and environment before the first use, and is not set by a "
    "program.\n";

static const char *type_name(bp_setting_type type) {
    static const char *const names[] = {"bool", "int", "word", "text"};
    return names[type];
}

/* A list of words as code, one by one, because a bar would cut a table's cell. */
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
    for (int i = 0; (row = bp_setting_row(i)) != NULL; i++) {
        print_setting(row);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
