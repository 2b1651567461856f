/* signal_names.c - names the signals that end processes. sigabbrev_np() does so too, but glibc has it from 2.32 on
 * only, and wheels run on older ones. */
#include "probe/probe.h"

#include "base/base.h"

#include <signal.h>

const char *signal_name(int number) {
#define NAMED(name) [name] = #name
    static const char *const names[] = {
        NAMED(SIGHUP),  NAMED(SIGINT),  NAMED(SIGQUIT),   NAMED(SIGILL),    NAMED(SIGTRAP), NAMED(SIGABRT),
        NAMED(SIGBUS),  NAMED(SIGFPE),  NAMED(SIGKILL),   NAMED(SIGUSR1),   NAMED(SIGSEGV), NAMED(SIGUSR2),
        NAMED(SIGPIPE), NAMED(SIGALRM), NAMED(SIGTERM),   NAMED(SIGSTKFLT), NAMED(SIGCHLD), NAMED(SIGCONT),
        NAMED(SIGSTOP), NAMED(SIGTSTP), NAMED(SIGTTIN),   NAMED(SIGTTOU),   NAMED(SIGURG),  NAMED(SIGXCPU),
        NAMED(SIGXFSZ), NAMED(SIGPROF), NAMED(SIGVTALRM), NAMED(SIGWINCH),  NAMED(SIGPOLL), NAMED(SIGPWR),
        NAMED(SIGSYS),
    };
#undef NAMED
    return number > 0 && number < BP__COUNT(names) && names[number] ? names[number] : "SIG?";
}
