/* commands.c - lists the commands in the order of the help. */
#include "cli/command/cli.h"

#include <string.h>

extern const cli_command command_list, command_doctor, command_settings, command_get, command_set, command_explain,
    command_eval, command_run, command_compare, command_bench, command_tune, command_path, command_launch,
    command_inspect, command_report, command_version, command_help;

static const cli_command *const commands[] = {
    &command_list,   &command_doctor,  &command_settings, &command_get,     &command_set,  &command_explain,
    &command_eval,   &command_run,     &command_compare,  &command_bench,   &command_tune, &command_path,
    &command_launch, &command_inspect, &command_report,   &command_version, &command_help,
};

#define COMMAND_COUNT ((int)(sizeof commands / sizeof commands[0]))

const cli_command *cli_command_at(int index) {
    return index >= 0 && index < COMMAND_COUNT ? commands[index] : NULL;
}

const cli_command *cli_command_find(const char *name) {
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}
