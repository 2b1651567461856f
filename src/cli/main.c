/* main.c - runs the command `backplane`: selects the subcommand, reads its arguments, and returns its exit code. */
#include "cli/command/cli.h"

#include <string.h>

static const char *command_name_at(void *unused, int index) {
    (void)unused;
    const cli_command *command = cli_command_at(index);
    return command ? command->name : NULL;
}

static int run_command(const cli_command *command, int count, char **words) {
    cli_args args;
    int code = cli_args_parse(&args, command, count, words);
    if (code == CLI_OK && args.help) {
        code = command->help ? command->help(&args) : CLI_OK;
        if (!command->help) {
            cli_command_help(command);
        }
    } else if (code == CLI_OK) {
        bp_set_warning_handler(cli_warn, NULL);
        if (!command->quiet) {
            cli_report_problems();
        }
        code = command->run(&args);
    }
    cli_args_free(&args);
    int written = cli_out_end();
    return code == CLI_OK ? written : code;
}

int main(int count, char **words) {
    cli_signals_begin();
    const char *name = count > 1 ? words[1] : "help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        name = "help";
    } else if (strcmp(name, "--version") == 0) {
        name = "version";
    }
    const cli_command *command = cli_command_find(name);
    if (!command) {
        cli_out_begin(name);
        const char *near = cli_suggest(name, "", command_name_at, NULL);
        return cli_fail(CLI_USAGE, "no such command%s", near[0] ? near : "; `backplane help` lists them");
    }
    cli_out_begin(command->name);
    return run_command(command, count > 2 ? count - 2 : 0, words + (count > 2 ? 2 : count));
}
