/* inherited.c - resets what a test program inherits from the program that started it.
 *
 * A shell, nohup, cron, systemd or a container may start programs with ignored or blocked signals, another umask, small
 * limits, another language, or with variables that math libraries read. Tests would hang or fail, though nothing is
 * wrong. A test that starts its own program again chooses that program's state, so only the first program resets it. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

extern char **environ;

#define MARK "TESTED_INHERITED"

static void reset_signals(void) {
    sigset_t none;
    struct sigaction now;
    for (int number = 1; number < NSIG; number++) {
        if (sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN) {
            signal(number, SIG_DFL);
        }
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Raises limits below the usual ones to those, as far as the process may. Higher ones stay. */
static void reset_limits(void) {
    static const struct usual {
        int resource;
        rlim_t limit;
    } usual[] = {{RLIMIT_AS, RLIM_INFINITY},  {RLIMIT_DATA, RLIM_INFINITY},  {RLIMIT_FSIZE, RLIM_INFINITY},
                 {RLIMIT_CPU, RLIM_INFINITY}, {RLIMIT_NPROC, RLIM_INFINITY}, {RLIMIT_NOFILE, 1024},
                 {RLIMIT_STACK, 8u << 20}};
    struct rlimit now;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (getrlimit((__rlimit_resource_t)usual[i].resource, &now) == 0 && now.rlim_cur < usual[i].limit) {
            now.rlim_cur = usual[i].limit < now.rlim_max ? usual[i].limit : now.rlim_max;
            setrlimit((__rlimit_resource_t)usual[i].resource, &now);
        }
    }
}

/* A machine sets these variables if the kernels that an older OpenBLAS chooses there are wrong. */
static int is_kept(const char *variable) {
    return strncmp(variable, "OPENBLAS_CORETYPE=", 18) == 0 || strncmp(variable, "OPENBLAS_L2_SIZE=", 17) == 0;
}

static int is_foreign(const char *variable) {
    static const char *const foreign[] = {"OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "OMP_", "KMP_", "ATEN_", "LC_"};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0] && !is_kept(variable); i++) {
        if (strncmp(variable, foreign[i], strlen(foreign[i])) == 0) {
            return 1;
        }
    }
    return 0;
}

static void reset_variables(void) {
    for (char **each = environ; each && *each;) {
        char name[128];
        const size_t length = strcspn(*each, "=");
        if (length >= sizeof name || !is_foreign(*each)) {
            each++;
            continue;
        }
        memcpy(name, *each, length);
        name[length] = 0;
        unsetenv(name); /* moves the next one to this place */
    }
    setenv("LANG", "C.UTF-8", 1);
}

__attribute__((constructor(101))) static void reset(void) {
    if (getenv(MARK)) {
        return;
    }
    reset_signals();
    reset_limits();
    reset_variables();
    umask(022);
    setenv(MARK, "1", 1);
}
