/* fuzz_environment.c - sets any bytes as the value of each setting's variable, and as a variable's name: accepted
 * values stay the same if they are written and read again. */
#include "settings/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void start_over(void) {
    bp__settings_reset();
    bp__intern_reset();
    bp__error_reset();
}

static char *variables[BP_SETTING_COUNT];

/* Uses putenv, because setenv would keep every value in memory. */
static void set_all(const char *value) {
    for (int i = 0; i < BP_SETTING_COUNT; i++) {
        const bp_setting_info *row = bp_setting_at(i);
        size_t size = strlen(row->environment) + strlen(value) + 2;
        variables[i] = NULL;
        if (*row->alias) {
            unsetenv(row->alias); /* may be set by the test runner */
        }
        if (row->flags & BP_SETTING_ALIAS) {
            continue; /* its targets have their own variables */
        }
        variables[i] = malloc(size);
        require(variables[i] && snprintf(variables[i], size, "%s=%s", row->environment, value) > 0);
        require(putenv(variables[i]) == 0);
    }
}

static void unset_all(void) {
    for (int i = 0; i < BP_SETTING_COUNT; i++) {
        unsetenv(bp_setting_at(i)->environment);
        free(variables[i]);
    }
}

/* Sets a variable that no setting reads, unless its name is the name of one. The environment holds `variable` itself
 * meanwhile. */
static void read_with(char *variable) {
    char *name = strndup(variable, strcspn(variable, "="));
    require(name && putenv(variable) == 0);
    bp_config_error_at(0);
    unsetenv(name);
    free(name);
    start_over();
}

/* Checks that each setting either has the value or is named by a problem. */
static void check_all(const char *given) {
    int given_to = 0, accepted = 0, problems = 0;
    for (int i = 0; i < BP_SETTING_COUNT; i++) {
        const char *value, *where;
        bp_layer layer;
        bp__value again;
        bool view = (bp_setting_at(i)->flags & BP_SETTING_ALIAS) != 0;
        require(bp_get_layer(bp_setting_at(i)->name, BP_LAYER_ENVIRONMENT, &value, &where) == BP_OK);
        accepted += value && !view;
        given_to += !view;
        require(bp_get(bp_setting_at(i)->name, &value, &layer, &where) == BP_OK);
        require(bp__value_parse((bp_setting_id)i, value, strlen(value), &again) == BP_OK);
        require(strcmp(bp__value_text((bp_setting_id)i, again), value) == 0);
    }
    while (bp_config_error_at(problems)) {
        problems++;
    }
    require(accepted + problems == (*given ? given_to : 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + sizeof "BACKPLANE_=1");
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    static char no_home[] = "XDG_CONFIG_HOME=/proc/none";
    putenv(no_home);
    bp__system_file = "/proc/none";
    start_over();
    set_all(text);
    check_all(text);
    unset_all();
    start_over();

    memmove(text + 10, text, strlen(text) + 1);
    memcpy(text, "BACKPLANE_", 10);
    strcat(text, "=1");
    read_with(text);
    free(text);
    return 0;
}
