/* cli.h - shared by the subcommands of `backplane`: the command table, arguments, output, exit codes.
 *
 * The command uses the public header, like every other user of the library, and the utilities of base/text.h. Each
 * command is one file with one `const cli_command`. commands.c lists them; help is made from that list, and tests check
 * completions and the man page against it.
 */
#ifndef BP_CLI_H
#define BP_CLI_H

#include "backplane.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* ---- Exit codes (exit.c) ---------------------------------------------------------------------------------------- */

/* Number, NAME, meaning. `backplane help` prints this list, and a test compares the man page with it. exit.c has the
 * exit code of each status of the library. */
#define CLI_EXIT_MAP(X)                                                                                                \
    X(0, OK, "success; doctor found nothing above a note")                                                             \
    X(1, FINDING, "check failed: doctor reported a warning or an error, or compare or bench found a wrong result")     \
    X(2, USAGE, "wrong usage: unknown command, option, setting or value")                                              \
    X(3, INPUT, "input not accepted: a damaged file, or shapes or types that do not fit")                              \
    X(4, LIBRARY, "no library or provider can run the operation")                                                      \
    X(5, MEMORY, "out of memory")                                                                                      \
    X(6, IO, "system error: a file cannot be opened, read or written")                                                 \
    X(7, NUMERIC, "the computation failed numerically")                                                                \
    X(8, INTERNAL, "internal error; please report it")

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
    const char *value; /* name of the value in the usage; NULL for a switch */
    const char *help;
} cli_option;

#define CLI_OPTION_JSON                                                                                                \
    { "json", 0, NULL, "Write JSON." }
#define CLI_OPTION_SET                                                                                                 \
    { "set", 's', "NAME=VALUE", "Use this setting for the call. May be repeated." }

typedef struct cli_args cli_args;

typedef struct cli_command {
    const char *name;
    const char *summary;  /* one line, for `backplane help` */
    const char *operands; /* usage of the operands; "" for none */
    const char *details;  /* further lines of --help; "" for none */
    int least, most;      /* smallest and largest number of operands */
    bool quiet;           /* the command reports configuration errors itself */
    bool program;         /* the operands are a program and its arguments: no option follows the first operand */
    const cli_option *options;
    int (*run)(const cli_args *args);
    int (*help)(const cli_args *args); /* --help of a command that takes an operation; else NULL */
    void (*appendix)(void);            /* prints what follows the options in --help; NULL for nothing */
} cli_command;

const cli_command *cli_command_at(int index); /* NULL past the end */
const cli_command *cli_command_find(const char *name);
void cli_command_help(const cli_command *command);
void cli_option_help(const cli_option *option); /* one line of it */
extern const cli_option cli_help_option;

/* An option of the command line, in the order given. */
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

/* Sorts `words`, the arguments behind the command's name, into options and operands. Returns CLI_OK, or CLI_USAGE after
 * a message. */
int cli_args_parse(cli_args *args, const cli_command *command, int count, char **words);
void cli_args_free(cli_args *args);

bool cli_has(const cli_args *args, const char *option);
const char *cli_value(const cli_args *args, const char *option); /* of the last one given; NULL if there is none */
/* Returns the next value of a repeated option, NULL past the end. *position starts at 0. */
const char *cli_next_value(const cli_args *args, const char *option, int *position);
/* Reads the whole number of an option; `fallback` if it is not given. Returns CLI_USAGE after a message if the number
 * is outside low..high. */
int cli_number(const cli_args *args, const char *option, int64_t low, int64_t high, int64_t fallback, int64_t *value);

/* Returns the names closest to `wrong`, each behind `mark` ("" or "--"), as "; did you mean 'a' or 'b'?" in a static
 * buffer; "" if none is near. */
const char *cli_suggest(const char *wrong, const char *mark, bp__name_at name_at, void *list);

/* Returns the text of all --set options for bp_options_new() and bp_scope_enter(), behind `more`, which may be NULL. */
char *cli_options_text(const cli_args *args, const char *more);
/* Returns `text` in double quotes for such a list. Free both with free(). */
char *cli_quote(const char *text);

/* ---- Text and memory (text.c) ------------------------------------------------------------------------------------ */

/* Allocations of the command itself. If memory runs out, the program exits with CLI_MEMORY. */
void *cli_allocate(size_t size);
void *cli_grow(void *block, size_t size);
char *cli_format(const char *format, ...) BP_PRINTF(1, 2);
char *cli_format_v(const char *format, va_list args);
/* Returns the names in a folder, sorted, and their number; none if it cannot be read. Free them with cli_folder_free().
 */
char **cli_folder_names(const char *folder, int *count);
void cli_folder_free(char **names, int count);
char *cli_join(char *head, const char *separator,
               const char *tail); /* frees head, which may be NULL; returns a new text */
/* Appends a word to a command line, quoted for a shell if it must be. Frees `words`, which may be NULL. */
char *cli_join_word(char *words, const char *word);
/* Joins the beginnings of the lines, each up to the first character of `ends`, which includes the newline. Returns NULL
 * if there is no line. */
char *cli_join_lines(const char *lines, const char *ends, const char *separator);

/* ---- Signals (signals.c) ----------------------------------------------------------------------------------------- */

/* Ignores SIGXFSZ, so that a write beyond the limit of a file's size fails with EFBIG. */
void cli_signals_begin(void);
/* Makes the ends of children known to this process, even if its parent ignores the ends of its children. Call it
 * before the first child is started. */
void cli_signals_watch_children(void);
/* Sets back what this process got from its parent. Call it before another program takes the place of this process. */
void cli_signals_restore(void);

/* ---- Progress (progress.c) --------------------------------------------------------------------------------------- */

/* Shows a line about work that takes long, on a terminal alone: how far it has come, from 0 to 1, negative if that is
 * not known; the time that is left, which follows from it; and what is done now, `what` at first. It is erased at the
 * end, which must precede all output. */
#define CLI_EXAMINING "examining the libraries of this machine"
#define CLI_COMPUTING "computing; the first call on a machine examines its libraries"
void cli_progress_begin(const char *what);
void cli_progress(double part, const char *format, ...) BP_PRINTF(2, 3);
void cli_progress_hide(void); /* until the next text */
void cli_progress_end(void);

/* ---- Output (out.c, table.c) ------------------------------------------------------------------------------------- */

typedef enum cli_style { CLI_PLAIN, CLI_STRONG, CLI_FAINT, CLI_GOOD, CLI_CAUTION, CLI_BAD } cli_style;

/* Decides on colours and width. Colours are for terminals, without NO_COLOR and TERM=dumb. */
void cli_out_begin(const char *command);
/* Returns CLI_OK, or CLI_IO after a message if standard output could not be written completely. */
int cli_out_end(void);

/* Keeps what is printed to standard output, laid out for the file `target`; -1 for one that is not open yet. Returns
 * CLI_OK, or CLI_MEMORY after a message. cli_out_captured() ends it and returns the text, for free(); NULL after a
 * message if there was no memory for it. */
int cli_out_capture(int target);
char *cli_out_captured(size_t *length);

bool cli_out_terminal(void);
int cli_out_width(void); /* columns of the terminal, or COLUMNS; 0 if neither is known */

/* Prints text of unknown origin; control characters become '?'. */
void cli_print(FILE *out, const char *text);
void cli_say(cli_style style, const char *format, ...) BP_PRINTF(2, 3); /* to standard output */
int cli_text_width(const char *text);

/* Prints `backplane: <command>: message` to standard error. Returns `code`. */
int cli_fail(cli_exit code, const char *format, ...) BP_PRINTF(2, 3);
/* Prints the library's last message in that form. Returns the exit code of the status. */
int cli_fail_status(bp_status status);
void cli_warn(void *unused, const char *text); /* a bp_warning_handler */
/* Prints the ignored lines of configuration files and ignored variables to standard error. */
void cli_report_problems(void);

/* Text that fits the terminal (wrap.c). Without a known width, nothing is broken.
 *
 * cli_break: how many bytes of `text` are one line of `width` columns; *next is where the following line begins.
 * cli_longest_piece: columns of the longest piece that a line break should leave whole.
 * cli_paragraph, cli_remark: print words from column `indent` on, where the cursor is, and end the line.
 * cli_behind_label: moves the cursor from a label of `used` columns to the text about it: to column `indent`, or to the
 * next line if the label is longer or the terminal is narrow. Returns the column.
 * cli_page: prints lines with aligned fields, as the library writes them; a long line continues below its last field.
 */
size_t cli_break(const char *text, int width, size_t *next);
int cli_longest_piece(const char *text);
void cli_paragraph(int indent, const char *text);
void cli_remark(cli_style style, int indent, const char *text);
int cli_behind_label(int used, int indent);
void cli_page(const char *text);

typedef struct cli_table cli_table;
/* Headers as one text, separated by '|'. A leading '>' aligns the column to the right; a leading '~' allows it to go
 * below its row if the terminal is narrow, as the last column always may. */
cli_table *cli_table_new(const char *headers);
void cli_cell(cli_table *table, cli_style style, const char *format, ...)
    BP_PRINTF(3, 4);                  /* cell by cell, row by row */
void cli_table_end(cli_table *table); /* prints and frees the table; prints nothing if it has no rows */

/* Writes "512x512", or "scalar" for rank 0. Returns `buffer`. */
const char *cli_shape(int ndim, const int64_t *shape, char *buffer, size_t size);

/* Returns the names of the BP_LIB_ bits of `mask`, "blas,cblas"; "-" for none. free() it. (library_kinds.c) */
char *cli_library_kinds(unsigned mask);

/* ---- JSON (json.c) ----------------------------------------------------------------------------------------------- */

/* Writes a document to standard output, complete once its last bracket is closed. Invalid UTF-8 becomes U+FFFD. */
void json_open(const char *key, char bracket); /* '{' or '['; key NULL in arrays and at the top */
void json_close(void);
void json_text(const char *key, const char *value); /* NULL writes null */
void json_int(const char *key, int64_t value);
void json_number(const char *key, double value); /* non-finite becomes null */
void json_bool(const char *key, bool value);
void json_raw(const char *key, const char *json); /* `json` is JSON text */
/* Writes the non-empty pieces of `text` between separators as an array. */
void json_list(const char *key, const char *text, char separator);

#endif
