/* verb_help.c - `backplane help`, and the --help of every verb, made from the verb table. */
#include "operations.h"

#include <stdlib.h>
#include <string.h>

static void print_options(const cli_verb *verb) {
    static const cli_option help = {"help", 'h', NULL, "Show this help."};
    cli_say(CLI_STRONG, "\nOptions\n");
    for (const cli_option *option = verb->options;; option++) {
        const cli_option *shown = option->name ? option : &help;
        char *left = cli_format("%c%c%s --%s%s%s", shown->letter ? '-' : ' ', shown->letter ? shown->letter : ' ',
                                shown->letter ? "," : " ", shown->name, shown->value ? " " : "",
                                shown->value ? shown->value : "");
        printf("  %-24s ", left);
        free(left);
        cli_paragraph(27, shown->help);
        if (!option->name) {
            return;
        }
    }
}

static void print_usage(const cli_verb *verb) {
    printf("backplane %s [options]%s%s\n", verb->name, verb->operands[0] ? " " : "", verb->operands);
}

void cli_verb_help(const cli_verb *verb) {
    cli_say(CLI_STRONG, "Usage\n");
    printf("  ");
    print_usage(verb);
    printf("\n  ");
    cli_paragraph(2, verb->summary);
    for (const char *line = verb->details; *line;) {
        size_t length = strcspn(line, "\n");
        char *paragraph = cli_format("%.*s", (int)length, line);
        fputs(length > 0 ? "  " : "", stdout);
        cli_paragraph(2, paragraph);
        free(paragraph);
        line += length + (line[length] == '\n');
    }
    print_options(verb);
}

static void print_all(void) {
    const cli_verb *verb;
    cli_paragraph(0, "Every math library of this machine behind one interface: find, choose, run, explain.");
    cli_say(CLI_STRONG, "\nUsage\n");
    printf("  backplane VERB [options] ...    backplane VERB --help\n");
    cli_say(CLI_STRONG, "\nVerbs\n");
    for (int i = 0; (verb = cli_verb_at(i)); i++) {
        printf("  %-10s ", verb->name);
        cli_paragraph(13, verb->summary);
    }
    cli_say(CLI_STRONG, "\nExit codes\n");
    const char *text;
    for (int code = 0; (text = cli_exit_text(code)); code++) {
        printf("  %d  ", code);
        cli_paragraph(5, text);
    }
}

static void options_json(const cli_verb *verb) {
    json_open("options", '[');
    for (const cli_option *option = verb->options; option->name; option++) {
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
    const cli_verb *verb;
    const char *text;
    json_open(NULL, '{');
    json_open("verbs", '[');
    for (int i = 0; (verb = cli_verb_at(i)); i++) {
        json_open(NULL, '{');
        json_text("name", verb->name);
        json_text("summary", verb->summary);
        json_text("operands", verb->operands);
        options_json(verb);
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

static const char *verb_name_at(const void *unused, int index) {
    (void)unused;
    const cli_verb *verb = cli_verb_at(index);
    return verb ? verb->name : NULL;
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
    const cli_verb *verb = cli_verb_find(args->operands[0]);
    if (!verb) {
        return cli_fail(CLI_USAGE, "no such verb: '%s'.%s", args->operands[0],
                        cli_suggest(args->operands[0], "", verb_name_at, NULL));
    }
    cli_verb_help(verb);
    return CLI_OK;
}

static const cli_option options[] = {
    {"json", 0, NULL, "Write the verbs, their options, the operations and the exit codes as JSON."},
    {NULL, 0, NULL, NULL},
};

const cli_verb verb_help = {
    .name = "help",
    .summary = "Show this help, or that of a verb.",
    .operands = "[VERB]",
    .details = "",
    .most = 1,
    .quiet = true,
    .options = options,
    .run = help,
};
