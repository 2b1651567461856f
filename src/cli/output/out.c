/* out.c - writes text and messages: colours on terminals only, one form of messages, no control characters. */
#include "cli/command/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct {
    const char *command;
    bool terminal;
    bool colours;
    int width;
} state;

static bool filled(const char *variable) {
    const char *value = getenv(variable);
    return value && value[0];
}

static int terminal_width(int file) {
    const int least = 20; /* on a narrower one, the terminal breaks the lines */
    struct winsize size;
    bool known = ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return !known ? 80 : size.ws_col < least ? least : size.ws_col;
}

/* For output that another program shows on a terminal, such as `less`. */
static int columns_variable(void) {
    const char *value = getenv("COLUMNS");
    char *end = NULL;
    long width = value ? strtol(value, &end, 10) : 0;
    return value && end != value && !*end && width > 0 && width < 10000 ? (int)width : 0;
}

static void lay_out_for(int file) {
    state.terminal = isatty(file) == 1;
    const char *terminal = getenv("TERM");
    state.colours = state.terminal && !filled("NO_COLOR") && terminal && strcmp(terminal, "dumb") != 0;
    state.width = state.terminal ? terminal_width(file) : columns_variable();
}

void cli_out_begin(const char *command) {
    state.command = command;
    lay_out_for(STDOUT_FILENO);
}

static struct {
    FILE *before;
    char *text;
    size_t length;
} captured;

int cli_out_capture(int target) {
    FILE *memory = open_memstream(&captured.text, &captured.length);
    if (!memory) {
        return cli_fail(CLI_MEMORY, "there is no memory for the output");
    }
    captured.before = stdout;
    stdout = memory;
    lay_out_for(target);
    return CLI_OK;
}

char *cli_out_captured(size_t *length) {
    const bool failed = ferror(stdout) != 0, complete = fclose(stdout) == 0 && !failed;
    stdout = captured.before;
    lay_out_for(STDOUT_FILENO);
    *length = captured.length;
    if (!complete) {
        cli_fail(CLI_MEMORY, "there is no memory for the output");
        free(captured.text);
        return NULL;
    }
    return captured.text;
}

int cli_out_end(void) {
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return CLI_OK;
    }
    return cli_fail(CLI_IO, "standard output cannot be written: %s", strerror(errno));
}

bool cli_out_terminal(void) {
    return state.terminal;
}

int cli_out_width(void) {
    return state.width;
}

/* Returns the length of a UTF-8 character of two bytes or more, and the code point; 0 if the bytes are not UTF-8. */
static int read_character(const unsigned char *at, unsigned *code) {
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const int length = at[0] >= 0xf0 && at[0] < 0xf8 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    *code = at[0] & (0xffU >> (length + 1));
    if (at[0] < 0xc0 || at[0] >= 0xf8) {
        return 0;
    }
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
        *code = *code << 6 | (at[i] & 0x3f);
    }
    return *code >= least[length] && *code <= 0x10ffff && (*code & ~0x7ffU) != 0xd800 ? length : 0;
}

/* Paths and version texts may contain any byte, including control sequences of terminals (some are one byte
 * that is not UTF-8), and characters that reverse the direction of the text. */
static bool harmful(unsigned code) {
    return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0) ||
           (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void cli_print(FILE *out, const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        unsigned code = *at;
        const int length = code < 0x80 ? 1 : read_character(at, &code);
        if (length == 0 || harmful(code)) {
            fputc('?', out);
        } else {
            fwrite(at, 1, (size_t)length, out);
        }
        at += length > 0 ? length : 1;
    }
}

static const char *style_code(cli_style style) {
    static const char *const codes[] = {
        [CLI_PLAIN] = "",        [CLI_STRONG] = "\033[1m",   [CLI_FAINT] = "\033[2m",
        [CLI_GOOD] = "\033[32m", [CLI_CAUTION] = "\033[33m", [CLI_BAD] = "\033[31m",
    };
    return state.colours ? codes[style] : "";
}

void cli_say(cli_style style, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args);
    va_end(args);
    const char *code = style_code(style);
    fputs(code, stdout);
    cli_print(stdout, text);
    fputs(code[0] ? "\033[0m" : "", stdout);
    free(text);
}

/* Returns the width of a text in columns. Counts code points, because wide characters do not occur here. */
int cli_text_width(const char *text) {
    int width = 0;
    for (; *text; text++) {
        width += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return width;
}

static void complain(const char *kind, const char *text) {
    cli_progress_hide(); /* the message takes its line */
    fflush(stdout);
    fputs("backplane: ", stderr);
    cli_print(stderr, kind);
    fputs(": ", stderr);
    cli_print(stderr, text);
    fputc('\n', stderr);
}

int cli_fail(cli_exit code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args);
    va_end(args);
    complain(state.command, text);
    free(text);
    return (int)code;
}

int cli_fail_status(bp_status status) {
    const char *sentence = bp_last_status() == status ? bp_last_error() : "";
    return cli_fail(cli_exit_of(status), "%s", sentence[0] ? sentence : bp_status_text(status));
}

void cli_warn(void *unused, const char *text) {
    (void)unused;
    complain("warning", text);
}

void cli_report_problems(void) {
    const char *problem;
    for (int i = 0; (problem = bp_config_error_at(i)); i++) {
        complain("warning", problem);
    }
}
