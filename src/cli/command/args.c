/* args.c - sorts the command line into the options of the command's table, and operands. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const cli_option cli_help_option = {"help", 'h', NULL, "Show this help."};

static const char *option_name_at(void *list, int index) {
    const cli_option *options = list;
    for (int i = 0; options[i].name; i++) {
        if (i == index) {
            return options[i].name;
        }
    }
    return NULL;
}

static const cli_option *find_long(const cli_command *command, const char *name, size_t length) {
    for (const cli_option *option = command->options; option->name; option++) {
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0) {
            return option;
        }
    }
    return length == 4 && memcmp(name, "help", 4) == 0 ? &cli_help_option : NULL;
}

static const cli_option *find_letter(const cli_command *command, char letter) {
    for (const cli_option *option = command->options; option->name; option++) {
        if (option->letter && option->letter == letter) {
            return option;
        }
    }
    return letter == 'h' ? &cli_help_option : NULL;
}

static void keep_argument(cli_args *args, const cli_option *option, const char *value) {
    args->help |= option == &cli_help_option;
    args->given = cli_grow(args->given, (size_t)(args->given_count + 1) * sizeof *args->given);
    args->given[args->given_count++] = (cli_given){option, value};
}

/* Takes "--name", "--name=value" or "--name value"; *next is the index of the word after. */
static int take_long(cli_args *args, int count, char **words, int *next) {
    const char *word = words[*next - 1] + 2;
    size_t length = strcspn(word, "=");
    const cli_option *option = find_long(args->command, word, length);
    if (!option) {
        char *name = cli_format("%.*s", (int)length, word);
        char *see = cli_format("; see `backplane %s --help`", args->command->name);
        const char *near = cli_suggest(name, "--", option_name_at, (void *)(uintptr_t)args->command->options);
        int code = cli_fail(CLI_USAGE, "unknown option --%s%s", name, near[0] ? near : see);
        free(see);
        free(name);
        return code;
    }
    const char *value = word[length] == '=' ? word + length + 1 : NULL;
    if (!option->value && value) {
        return cli_fail(CLI_USAGE, "option --%s is '%s'; it takes no value", option->name, value);
    }
    if (option->value && !value) {
        if (*next >= count) {
            return cli_fail(CLI_USAGE, "option --%s needs a value: --%s %s", option->name, option->name, option->value);
        }
        value = words[(*next)++];
    }
    keep_argument(args, option, value);
    return CLI_OK;
}

/* Takes "-o value", "-ovalue" or a group of switches such as "-ab". */
static int take_letters(cli_args *args, int count, char **words, int *next) {
    for (const char *letter = words[*next - 1] + 1; *letter; letter++) {
        const cli_option *option = find_letter(args->command, *letter);
        if (!option) {
            return cli_fail(CLI_USAGE, "unknown option -%c; see `backplane %s --help`", *letter, args->command->name);
        }
        if (!option->value) {
            keep_argument(args, option, NULL);
            continue;
        }
        if (letter[1]) {
            keep_argument(args, option, letter + 1);
            return CLI_OK;
        }
        if (*next >= count) {
            return cli_fail(CLI_USAGE, "option -%c needs a value: -%c %s", *letter, *letter, option->value);
        }
        keep_argument(args, option, words[(*next)++]);
        return CLI_OK;
    }
    return CLI_OK;
}

/* --set, --dimension and --constant add to a list; --output names one of several results. */
static bool may_repeat(const cli_option *option) {
    static const char *const names[] = {"set", "dimension", "constant", "output"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        found |= strcmp(option->name, names[i]) == 0;
    }
    return found;
}

/* Refuses an option that is given twice, because the second value would replace the first. */
static int check_repeats(const cli_args *args) {
    for (int i = 0; i < args->given_count; i++) {
        const cli_option *option = args->given[i].option;
        for (int j = 0; j < i && option->value && !may_repeat(option); j++) {
            if (args->given[j].option == option) {
                return cli_fail(CLI_USAGE, "option --%s is given twice; it takes one value", option->name);
            }
        }
    }
    return CLI_OK;
}

static int check_count(const cli_args *args) {
    const cli_command *command = args->command;
    if (args->help || (args->count >= command->least && args->count <= command->most)) {
        return CLI_OK;
    }
    return cli_fail(CLI_USAGE, "too %s arguments; usage: backplane %s [options]%s%s",
                    args->count < command->least ? "few" : "many", command->name, command->operands[0] ? " " : "",
                    command->operands);
}

int cli_args_parse(cli_args *args, const cli_command *command, int count, char **words) {
    *args = (cli_args){.command = command};
    args->operands = cli_allocate((size_t)(count + 1) * sizeof *args->operands);
    bool only_operands = false;
    for (int next = 0; next < count;) {
        const char *word = words[next++];
        int code = CLI_OK;
        /* A negative number, or an expression of einsum for scalars alone. */
        bool dashed = word[0] == '-' && ((word[1] >= '0' && word[1] <= '9') || word[1] == '>');
        if (only_operands || dashed || word[0] != '-' || !word[1]) {
            args->operands[args->count++] = word;
            only_operands = only_operands || command->program;
        } else if (strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (word[1] == '-') {
            code = take_long(args, count, words, &next);
        } else {
            code = take_letters(args, count, words, &next);
        }
        if (code != CLI_OK) {
            return code;
        }
    }
    int code = check_repeats(args);
    return code == CLI_OK ? check_count(args) : code;
}

void cli_args_free(cli_args *args) {
    free(args->operands);
    free(args->given);
}

bool cli_has(const cli_args *args, const char *option) {
    for (int i = 0; i < args->given_count; i++) {
        if (strcmp(args->given[i].option->name, option) == 0) {
            return true;
        }
    }
    return false;
}

const char *cli_next_value(const cli_args *args, const char *option, int *position) {
    while (*position < args->given_count) {
        const cli_given *given = &args->given[(*position)++];
        if (strcmp(given->option->name, option) == 0) {
            return given->value;
        }
    }
    return NULL;
}

const char *cli_value(const cli_args *args, const char *option) {
    const char *value = NULL;
    int position = 0;
    for (const char *next; (next = cli_next_value(args, option, &position));) {
        value = next;
    }
    return value;
}

int cli_number(const cli_args *args, const char *option, int64_t low, int64_t high, int64_t fallback, int64_t *value) {
    const char *text = cli_value(args, option);
    *value = fallback;
    if (!text) {
        return CLI_OK;
    }
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno || end == text || *end || number < low || number > high) {
        return cli_fail(CLI_USAGE, "--%s is '%s'; it must be a whole number from %lld to %lld", option, text,
                        (long long)low, (long long)high);
    }
    *value = number;
    return CLI_OK;
}

char *cli_quote(const char *text) {
    char *quoted = cli_allocate(2 * strlen(text) + 3);
    char *out = quoted;
    *out++ = '"';
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            *out++ = '\\';
        }
        *out++ = *text;
    }
    *out = '"';
    return quoted;
}

char *cli_options_text(const cli_args *args, const char *more) {
    char *all = cli_format("%s", more ? more : "");
    int position = 0;
    for (const char *given; (given = cli_next_value(args, "set", &position));) {
        const char *equals = strchr(given, '=');
        if (!equals || given[strspn(given, " \t")] == '"' || equals[1 + strspn(equals + 1, " \t")] == '"') {
            /* No value, or a quoted one. The library's parser reports what is wrong. */
            all = cli_join(all, ", ", given);
            continue;
        }
        char *value = cli_quote(equals + 1);
        char *item = cli_format("%.*s=%s", (int)(equals - given), given, value);
        all = cli_join(all, ", ", item);
        free(item);
        free(value);
    }
    return all;
}
