/* verbs.c - the one list of verbs, in the order in which help shows them. */
#include "cli.h"

#include <string.h>

extern const cli_verb verb_list, verb_doctor, verb_settings, verb_get, verb_set, verb_explain, verb_eval, verb_compare,
    verb_path, verb_version, verb_help;

static const cli_verb *const verbs[] = {
    &verb_list, &verb_doctor,  &verb_settings, &verb_get,     &verb_set,  &verb_explain,
    &verb_eval, &verb_compare, &verb_path,     &verb_version, &verb_help,
};

#define VERB_COUNT ((int)(sizeof verbs / sizeof verbs[0]))

const cli_verb *cli_verb_at(int index) {
    return index >= 0 && index < VERB_COUNT ? verbs[index] : NULL;
}

const cli_verb *cli_verb_find(const char *name) {
    for (int i = 0; i < VERB_COUNT; i++) {
        if (strcmp(verbs[i]->name, name) == 0) {
            return verbs[i];
        }
    }
    return NULL;
}
