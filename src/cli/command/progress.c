/* progress.c - shows on a terminal how far long work has come. The line is on standard error, so that output stays as
 * it is, and it is erased at the end. Work that ends within half a second shows none. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 20 };
static const double quiet_s = 0.5, sure_s = 2; /* before the first line; before the first time that is left */

static struct {
    double start; /* seconds */
    bool shown;
} state;

static double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Returns the columns that the line may have. */
static int line_width(void) {
    struct winsize size;
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return known && size.ws_col < 80 ? size.ws_col - 1 : 79;
}

/* Replaces the line. */
static void show(const char *text) {
    const int width = line_width();
    fputc('\r', stderr);
    char *line = cli_format("%-*.*s", width, width, text);
    cli_print(stderr, line);
    fputs(text[0] ? "" : "\r", stderr);
    fflush(stderr);
    free(line);
}

/* Returns "[####................] ", with the time that is left after it; "" if the part is not known. */
static char *bar_of(double part, double elapsed) {
    char bar[BAR + 1];
    if (part < 0) {
        return cli_format("%s", "");
    }
    part = part > 1 ? 1 : part;
    for (int i = 0; i < BAR; i++) {
        bar[i] = i < (int)(part * BAR) ? '#' : '.';
    }
    bar[BAR] = '\0';
    const double left = part > 0 ? elapsed * (1 - part) / part : 0;
    return part > 0 && elapsed > sure_s ? cli_format("[%s] %.0f s left  ", bar, left + 0.5) : cli_format("[%s] ", bar);
}

void cli_progress_begin(void) {
    state.start = seconds_now();
    state.shown = false;
}

void cli_progress(double part, const char *format, ...) {
    const double elapsed = seconds_now() - state.start;
    if (elapsed < quiet_s || !isatty(STDERR_FILENO)) {
        return;
    }
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args), *bar = bar_of(part, elapsed);
    va_end(args);
    char *line = cli_format("%s%s", bar, text);
    show(line);
    state.shown = true;
    free(line);
    free(bar);
    free(text);
}

void cli_progress_end(void) {
    if (state.shown) {
        show("");
        state.shown = false;
    }
}
