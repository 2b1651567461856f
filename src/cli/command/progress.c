/* progress.c - shows on a terminal how far long work has come. The line is on standard error, so that output stays as
 * it is, and it is erased at the end. Work that ends within 0.3 s shows none.
 *
 * One call of the library may take seconds: the first one on a machine examines its libraries. So a thread shows the
 * line when the time has come, and ends then. Later texts are shown by the thread that gives them, so that nothing else
 * runs while times are measured.
 */
#include "cli.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 20, QUIET_NS = 300000000 };
static const double sure_s = 2; /* before the first time that is left */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended;

static struct {
    double start; /* seconds */
    char *line;   /* what is to be shown */
    bool shown, runs;
    bool has_thread; /* which shows the first line */
    pthread_t thread;
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

/* Takes ownership of the line, and shows it if the quiet time is over. The caller holds the mutex. */
static void set_line(char *line) {
    free(state.line);
    state.line = line;
    if (seconds_now() - state.start >= QUIET_NS * 1e-9) {
        show(line);
        state.shown = true;
    }
}

static void *show_late(void *unused) {
    struct timespec until;
    (void)unused;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += QUIET_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&mutex);
    while (state.runs && pthread_cond_timedwait(&ended, &mutex, &until) == 0) {
    }
    if (state.runs && !state.shown) {
        show(state.line);
        state.shown = true;
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* Starts the thread, which gets no signals: interruption is the main thread's. Without it, the next text is shown. */
static void start_thread(void) {
    sigset_t all, before;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&ended, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    state.has_thread = pthread_create(&state.thread, NULL, show_late, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void cli_progress_begin(const char *what) {
    if (isatty(STDERR_FILENO)) {
        cli_progress_end();
        state.start = seconds_now();
        state.runs = true;
        state.line = cli_format("%s", what);
        start_thread();
    }
}

void cli_progress(double part, const char *format, ...) {
    if (!state.runs) {
        return;
    }
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args), *bar = bar_of(part, seconds_now() - state.start);
    va_end(args);
    pthread_mutex_lock(&mutex);
    set_line(cli_format("%s%s", bar, text));
    pthread_mutex_unlock(&mutex);
    free(bar);
    free(text);
}

void cli_progress_hide(void) {
    pthread_mutex_lock(&mutex);
    if (state.shown) {
        show("");
        state.shown = false;
    }
    pthread_mutex_unlock(&mutex);
}

void cli_progress_end(void) {
    if (!state.runs) {
        return;
    }
    pthread_mutex_lock(&mutex);
    state.runs = false;
    pthread_cond_signal(&ended);
    pthread_mutex_unlock(&mutex);
    if (state.has_thread) {
        pthread_join(state.thread, NULL);
    }
    pthread_cond_destroy(&ended);
    if (state.shown) {
        show("");
    }
    free(state.line);
    memset(&state, 0, sizeof state);
}
