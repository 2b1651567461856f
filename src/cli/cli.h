/* cli.h - what the commands of the command `backplane` share: the command table, arguments, output, exit codes.
 *
 * The command stands on the public header alone, like every other user of the library. Each command is one file with
 * one `const cli_command`; commands.c lists them, and help, completions and the man page are made from or checked
 * against that list.
 */
#ifndef BP_CLI_H
#define BP_CLI_H

#include "backplane.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* ---- Exit codes (exit.c) ---------------------------------------------------------------------------------------- */

/* The one list: number, NAME, meaning. `backplane help` prints it; a test compares the man page with that. Which
 * failure of the library ends in which is the table of status families in exit.c. */
#define CLI_EXIT_MAP(X)                                                                                                \
    X(0, OK, "success; doctor found nothing above a note")                                                             \
    X(1, FINDING, "a negative answer: doctor has warnings, compare saw a wrong result")                                \
    X(2, USAGE, "wrong usage: unknown command, option, setting or value")                                              \
    X(3, INPUT, "input not accepted: a damaged file, or shapes or types that do not fit")                              \
    X(4, LIBRARY, "no library or provider could do it")                                                                \
    X(5, MEMORY, "out of memory")                                                                                      \
    X(6, IO, "the system failed: a file cannot be opened, read or written")                                            \
    X(7, NUMERIC, "the computation failed numerically")                                                                \
    X(8, INTERNAL, "internal error, please report it")

typedef enum cli_exit {
#define X(number, name, text) CLI_##name = number,
    CLI_EXIT_MAP(X)
#undef X
} cli_exit;

cli_exit cli_exit_of(bp_status status);
const char *cli_exit_text(int code); /* NULL past the end */

/* ---- Commands (commands.c) and arguments (args.c)
 * ---------------------------------------------------------------------- */

typedef struct cli_option {
    const char *name;  /* long name without dashes; NULL ends the list */
    char letter;       /* one-letter form, or 0 */
    const char *value; /* what the value is called in the usage, NULL for a switch */
    const char *help;
} cli_option;

#define CLI_OPTION_JSON                                                                                                \
    { "json", 0, NULL, "Write JSON." }
#define CLI_OPTION_SET                                                                                                 \
    { "set", 's', "NAME=VALUE", "Use this setting for the call; may be given several times." }

typedef struct cli_args cli_args;

typedef struct cli_command {
    const char *name;
    const char *summary;  /* one line, for `backplane help` */
    const char *operands; /* usage of what follows the options, "" for nothing */
    const char *details;  /* further lines of --help, "" for none */
    int least, most;      /* how many operands */
    bool quiet;           /* reports configuration problems itself */
    const cli_option *options;
    int (*run)(const cli_args *args);
    int (*help)(const cli_args *args); /* --help of a command that takes an operation; else NULL */
} cli_command;

const cli_command *cli_command_at(int index); /* NULL past the end */
const cli_command *cli_command_find(const char *name);
void cli_command_help(const cli_command *command);
void cli_option_help(const cli_option *option); /* one line of it */
extern const cli_option cli_help_option;

/* One word of the command line that was an option, in the order given. */
typedef struct cli_given {
    const cli_option *option;
    const char *value;
} cli_given;

struct cli_args {
    const cli_command *command;
    int count; /* operands */
    const char **operands;
    int given_count;
    cli_given *given;
    bool help;
};

/* Sorts `words` (what follows the command) into options and operands. CLI_OK, or CLI_USAGE after an error message. */
int cli_args_parse(cli_args *args, const cli_command *command, int count, char **words);
void cli_args_free(cli_args *args);

bool cli_has(const cli_args *args, const char *option);
const char *cli_value(const cli_args *args, const char *option); /* the last one given, or NULL */
/* Walks the values of a repeated option: *position starts at 0; NULL past the end. */
const char *cli_next_value(const cli_args *args, const char *option, int *position);
/* A whole number of an option: `fallback` when not given; CLI_USAGE and a message when outside low..high. */
int cli_number(const cli_args *args, const char *option, int64_t low, int64_t high, int64_t fallback, int64_t *value);

/* Returns the names closest to `wrong`, each behind `mark` ("" or "--"), as "; did you mean 'a' or 'b'?" in a static
 * buffer; "" if none is near. */
const char *cli_suggest(const char *wrong, const char *mark, bp__name_at name_at, void *list);

/* The text of all --set options, ready for bp_options_new and bp_scope_enter; `more` (may be NULL) is appended. */
char *cli_options_text(const cli_args *args, const char *more);
/* `text` in double quotes for such a list. Free both with free(). */
char *cli_quote(const char *text);

/* ---- Text and memory (text.c) ------------------------------------------------------------------------------------ */

/* Small texts of the command itself; when there is no memory left for these, the program ends with CLI_MEMORY. */
void *cli_allocate(size_t size);
void *cli_grow(void *block, size_t size);
char *cli_format(const char *format, ...) BP_PRINTF(1, 2);
char *cli_format_v(const char *format, va_list args);
char *cli_join(char *head, const char *separator, const char *tail); /* frees head (may be NULL), gives a new text */
/* The parts of the lines before the first character of `ends`, which has the line's end; NULL when there is no line. */
char *cli_join_lines(const char *lines, const char *ends, const char *separator);

/* ---- Output (out.c, table.c) ------------------------------------------------------------------------------------- */

typedef enum cli_style { CLI_PLAIN, CLI_STRONG, CLI_FAINT, CLI_GOOD, CLI_CAUTION, CLI_BAD } cli_style;

/* Decides on colours: only on a terminal, not with NO_COLOR or TERM=dumb. */
void cli_out_begin(const char *command);
/* CLI_OK, or CLI_IO and a message when standard output could not take everything. */
int cli_out_end(void);

bool cli_out_terminal(void);
int cli_out_width(void); /* columns of the terminal, or COLUMNS; 0 if neither is known */

/* Text of unknown origin, with control characters made harmless. */
void cli_print(FILE *out, const char *text);
void cli_say(cli_style style, const char *format, ...) BP_PRINTF(2, 3); /* to standard output */
int cli_text_width(const char *text);

/* `backplane: <command>: sentence` on standard error; returns `code`. */
int cli_fail(cli_exit code, const char *format, ...) BP_PRINTF(2, 3);
/* The same from the library's last sentence. */
int cli_fail_status(bp_status status);
void cli_warn(void *unused, const char *text); /* a bp_warning_handler */
/* Lines of configuration files and variables that were left out, on standard error. */
void cli_report_problems(void);

/* Text that fits the terminal (wrap.c). Without a known width, nothing is broken.
 *
 * cli_break: how many bytes of `text` are one line of `width` columns; *next is where the following line begins.
 * cli_longest_piece: columns of the longest piece that a line break should leave whole.
 * cli_paragraph, cli_remark: print words from column `indent` on, where the cursor is, and end the line.
 * cli_page: prints lines with aligned fields, as the library writes them; a long line goes on below its last field. */
size_t cli_break(const char *text, int width, size_t *next);
int cli_longest_piece(const char *text);
void cli_paragraph(int indent, const char *text);
void cli_remark(cli_style style, int indent, const char *text);
void cli_page(const char *text);

typedef struct cli_table cli_table;
/* Headers as one text, separated by '|'. A leading '>' aligns the column to the right; a leading '~' allows it to go
 * below its row if the terminal is narrow, as the last column always may. */
cli_table *cli_table_new(const char *headers);
void cli_cell(cli_table *table, cli_style style, const char *format, ...) BP_PRINTF(3, 4); /* row by row */
void cli_table_end(cli_table *table); /* prints and frees; nothing when it has no rows */

/* "512x512", "scalar" for rank 0. Static buffer of the caller's. */
const char *cli_shape(int ndim, const int64_t *shape, char *buffer, size_t size);

/* ---- JSON (json.c) ----------------------------------------------------------------------------------------------- */

/* Writes to standard output; commas, indents and escapes are kept right, invalid UTF-8 becomes U+FFFD. */
void json_open(const char *key, char bracket); /* '{' or '['; key NULL inside arrays and at the top */
void json_close(void);
void json_text(const char *key, const char *value); /* NULL writes null */
void json_int(const char *key, int64_t value);
void json_number(const char *key, double value); /* non-finite becomes null */
void json_bool(const char *key, bool value);
void json_raw(const char *key, const char *json); /* text that is JSON already */
/* The pieces of `text` between separators, as an array; empty pieces are left out. */
void json_list(const char *key, const char *text, char separator);

#endif
