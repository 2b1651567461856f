/* command_help.c - `backplane help` and --help, from the command table. */
#include "cli/operations/operations.h"

#include <stdlib.h>
#include <string.h>

void cli_option_help(const cli_option *option) {
    bool letter = option->letter != 0, value = option->value != NULL;
    char *left = cli_format("%c%c%s --%s%s%s", letter ? '-' : ' ', letter ? option->letter : ' ', letter ? "," : " ",
                            option->name, value ? " " : "", value ? option->value : "");
    cli_say(CLI_PLAIN, "  %s", left);
    cli_paragraph(cli_behind_label(2 + cli_text_width(left), 27), option->help);
    free(left);
}

static void print_options(const cli_command *command) {
    cli_say(CLI_STRONG, "\nOptions\n");
    for (const cli_option *option = command->options; option->name; option++) {
        cli_option_help(option);
    }
    cli_option_help(&cli_help_option);
}

static void print_operations(void) {
    char *names = NULL;
    const cli_operation *operation;
    for (int i = 0; (operation = cli_operation_at(i)); i++) {
        names = cli_join(names, ", ", operation->name);
    }
    cli_say(CLI_STRONG, "\nOperations\n");
    printf("  ");
    cli_paragraph(2, names);
    free(names);
}

static void print_usage(const cli_command *command) {
    char *usage =
        cli_format("backplane %s [options]%s%s", command->name, command->operands[0] ? " " : "", command->operands);
    printf("  ");
    cli_paragraph(2, usage);
    free(usage);
}

void cli_command_help(const cli_command *command) {
    cli_say(CLI_STRONG, "Usage\n");
    print_usage(command);
    printf("\n  ");
    cli_paragraph(2, command->summary);
    for (const char *line = command->details; *line;) {
        size_t length = strcspn(line, "\n");
        char *paragraph = cli_format("%.*s", (int)length, line);
        fputs(length > 0 ? "  " : "", stdout);
        cli_paragraph(2, paragraph);
        free(paragraph);
        line += length + (line[length] == '\n');
    }
    print_options(command);
    if (command->help && !command->appendix) {
        print_operations();
    }
    if (command->appendix) {
        command->appendix();
    }
}

static void print_all(void) {
    const cli_command *command;
    cli_paragraph(0, "Finds the math libraries of this machine, and runs each operation on one of them.");
    cli_say(CLI_STRONG, "\nUsage\n");
    printf("  ");
    cli_paragraph(2, "backplane COMMAND [options] ...");
    printf("  ");
    cli_paragraph(2, "backplane COMMAND --help");
    cli_say(CLI_STRONG, "\nCommands\n");
    for (int i = 0; (command = cli_command_at(i)); i++) {
        printf("  %s", command->name);
        cli_paragraph(cli_behind_label(2 + cli_text_width(command->name), 14), command->summary);
    }
    cli_say(CLI_STRONG, "\nExit codes\n");
    const char *text;
    for (int code = 0; (text = cli_exit_text(code)); code++) {
        printf("  %d  ", code);
        cli_paragraph(5, text);
    }
}

static void options_json(const cli_command *command) {
    json_open("options", '[');
    for (const cli_option *option = command->options; option->name; option++) {
        char letter[2] = {option->letter, 0};
        json_open(NULL, '{');
        json_text("name", option->name);
        json_text("letter", letter[0] ? letter : NULL);
        json_text("value", option->value);
        json_text("help", option->help);
        json_close();
    }
    json_close();
}

static void operations_json(void) {
    const cli_operation *operation;
    json_open("operations", '[');
    for (int i = 0; (operation = cli_operation_at(i)); i++) {
        json_open(NULL, '{');
        json_text("name", operation->name);
        json_text("arrays", operation->arrays);
        json_int("results", operation->results);
        json_bool("explains", operation->explain != NULL);
        json_open("options", '[');
        for (const char *const *name = operation->options; name && *name; name++) {
            json_text(NULL, *name);
        }
        json_close();
        json_close();
    }
    json_close();
}

static void print_json(void) {
    const cli_command *command;
    const char *text;
    json_open(NULL, '{');
    json_open("commands", '[');
    for (int i = 0; (command = cli_command_at(i)); i++) {
        json_open(NULL, '{');
        json_text("name", command->name);
        json_text("summary", command->summary);
        json_text("operands", command->operands);
        options_json(command);
        json_close();
    }
    json_close();
    operations_json();
    json_open("exit_codes", '[');
    for (int code = 0; (text = cli_exit_text(code)); code++) {
        json_open(NULL, '{');
        json_int("code", code);
        json_text("meaning", text);
        json_close();
    }
    json_close();
    json_close();
}

static const char *command_name_at(void *unused, int index) {
    (void)unused;
    const cli_command *command = cli_command_at(index);
    return command ? command->name : NULL;
}

static int help(const cli_args *args) {
    if (cli_has(args, "json")) {
        print_json();
        return CLI_OK;
    }
    if (args->count == 0) {
        print_all();
        return CLI_OK;
    }
    const cli_command *command = cli_command_find(args->operands[0]);
    if (!command) {
        const char *near = cli_suggest(args->operands[0], "", command_name_at, NULL);
        return cli_fail(CLI_USAGE, "no such command: '%s'%s", args->operands[0],
                        near[0] ? near : "; `backplane help` lists them");
    }
    cli_command_help(command);
    return CLI_OK;
}

static const cli_option options[] = {
    {"json", 0, NULL, "Write the commands, their options, the operations and the exit codes as JSON."},
    {NULL, 0, NULL, NULL},
};

const cli_command command_help = {
    .name = "help",
    .summary = "Show this help, or the help of a command.",
    .operands = "[COMMAND]",
    .details = "",
    .most = 1,
    .quiet = true,
    .options = options,
    .run = help,
};
