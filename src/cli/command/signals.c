/* signals.c - sets the actions of signals for this command, and gives programs that it starts its parent's actions.
 *
 * A write beyond the limit of a file's size (`ulimit -f`) sends SIGXFSZ, which ends a process without a word. Ignored,
 * the write fails with EFBIG, and is reported like a full disk. An ignored signal stays ignored in a started program,
 * so it is set back before.
 */
#include "cli.h"

#include <signal.h>

static const int changed[] = {SIGXFSZ, SIGCHLD};
enum { CHANGED = sizeof changed / sizeof changed[0] };

static struct {
    struct sigaction action;
    bool known;
} inherited[CHANGED];

static void change(int place, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    inherited[place].known = sigaction(changed[place], &action, &inherited[place].action) == 0;
}

void cli_signals_begin(void) {
    change(0, SIG_IGN);
}

void cli_signals_watch_children(void) {
    change(1, SIG_DFL);
}

void cli_signals_restore(void) {
    for (int i = 0; i < CHANGED; i++) {
        if (inherited[i].known) {
            sigaction(changed[i], &inherited[i].action, NULL);
        }
    }
}
