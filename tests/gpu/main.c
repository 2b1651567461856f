/* main.c - gpu_check: examines on a machine with an NVIDIA GPU what the code assumes of it, rule by rule.
 *
 *     gpu_check [--part PREFIX] [--folder FOLDER]
 *
 * It examines the rules whose names begin with the prefix, and writes FOLDER/results.json and FOLDER/page.md. It
 * returns 1 if a rule does not hold, 77 without a device. */
#include "check.h"

#include "backplane.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__) || defined(BP_EMULATED) /* doubles take thirty times as long */
enum { SECONDS_OF_RULE = 300, SECONDS = 1800 };
#else
enum { SECONDS_OF_RULE = 30, SECONDS = 460 };
#endif
enum { RULES_MOST = 128, NO_DEVICE = 77 };

static const rule *const lists[] = {driver_rules, capture_rules,   library_rules, product_rules,  cublas_rules,
                                    cudnn_rules,  attention_rules, cufft_rules,   cusolver_rules, kernel_rules,
                                    costs};

/* ---- In the process of a rule ---- */

static void say(const char *format, va_list args) {
    vprintf(format, args);
    putchar('\n');
}

outcome fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return FAILED;
}

outcome skip_rule(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return SKIPPED;
}

void note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

static int run_here(const char *name) {
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (const rule *each = lists[i]; each->name; each++) {
            if (strcmp(each->name, name) == 0) {
                const outcome found = each->check();
                fflush(stdout);
                _exit((int)found); /* without destructors of the driver, which may be lost */
            }
        }
    }
    fprintf(stderr, "there is no rule '%s'\n", name);
    return 2;
}

/* ---- In the process that runs them ---- */

static void print_lines(const char *text) {
    while (*text) {
        const int length = (int)strcspn(text, "\n");
        printf("        %.*s\n", length, text);
        text += length + (text[length] == '\n');
    }
}

/* Reads what the process prints, until it ends or its time is over. Returns false in the second case. */
static bool read_text(int from, char *text, size_t size) {
    size_t used = 0;
    const int64_t until = now_ns() + SECONDS_OF_RULE * INT64_C(1000000000);
    for (;;) {
        struct pollfd wanted = {.fd = from, .events = POLLIN};
        const int64_t left = (until - now_ns()) / 1000000;
        if (left <= 0) {
            return false;
        }
        if (poll(&wanted, 1, (int)left) <= 0) {
            continue;
        }
        char part[256];
        const ssize_t got = read(from, part, sizeof part);
        if (got <= 0) {
            text[used] = '\0';
            return true;
        }
        for (ssize_t i = 0; i < got && used < size - 1; i++) {
            text[used++] = part[i];
        }
        text[used] = '\0';
    }
}

static outcome outcome_of(int status, bool ended, char *text, size_t size) {
    const size_t used = strlen(text);
    if (!ended) {
        snprintf(text + used, size - used, "not done after %d s", SECONDS_OF_RULE);
        return FAILED;
    }
    if (WIFSIGNALED(status)) {
        snprintf(text + used, size - used, "ended by signal %d", WTERMSIG(status));
        return FAILED;
    }
    return WEXITSTATUS(status) <= SKIPPED ? (outcome)WEXITSTATUS(status) : FAILED;
}

static void run_in_process(result *into) {
    int ends[2], status = 0;
    const int64_t begin = now_ns();
    into->text[0] = '\0';
    into->found = FAILED;
    if (pipe(ends) != 0) {
        return;
    }
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "gpu_check", "--rule", into->of->name, (char *)NULL);
        _exit(3);
    }
    close(ends[1]);
    const bool ended = child > 0 && read_text(ends[0], into->text, sizeof into->text - 64);
    if (child > 0 && !ended) {
        kill(child, SIGKILL);
    }
    if (child > 0 && waitpid(child, &status, 0) == child) {
        into->found = outcome_of(status, ended, into->text, sizeof into->text);
    }
    close(ends[0]);
    into->ms = (double)(now_ns() - begin) / 1e6;
}

static int collect(const char *part, result *results) {
    int count = 0;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (const rule *each = lists[i]; each->name && count < RULES_MOST; each++) {
            if (strncmp(each->name, part, strlen(part)) == 0) {
                results[count++].of = each;
            }
        }
    }
    return count;
}

static int check_all(const char *part, const char *folder) {
    static result results[RULES_MOST];
    static const char *const marks[] = {[PASSED] = "ok", [FAILED] = "FAILED", [SKIPPED] = "skipped"};
    const int all = collect(part, results);
    const int64_t begin = now_ns();
    int failed = 0;
    for (int i = 0; i < all; i++) {
        if (now_ns() - begin > SECONDS * INT64_C(1000000000)) {
            fprintf(stderr, "the time is over after %d of %d rules\n", i, all);
            return 1;
        }
        run_in_process(&results[i]);
        printf("%-7s %s\n", marks[results[i].found], results[i].of->name);
        print_lines(results[i].text);
        fflush(stdout);
        failed += results[i].found == FAILED;
        if (!write_report(folder, results, i + 1, all)) {
            fprintf(stderr, "%s/results.json cannot be written\n", folder);
            return 1;
        }
    }
    printf("%d rules, %d failed; see %s/page.md\n", all, failed, folder);
    return all > 0 && failed == 0 ? 0 : 1;
}

int main(int count, char **words) {
    const char *part = "", *folder = ".";
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(words[i], "--rule") == 0) {
            return run_here(words[i + 1]);
        }
        part = strcmp(words[i], "--part") == 0 ? words[i + 1] : part;
        folder = strcmp(words[i], "--folder") == 0 ? words[i + 1] : folder;
    }
    int32_t place;
    if (bp_device_find("cuda:0", &place) != BP_OK) {
        printf("no device: %s\n", bp_last_error());
        return NO_DEVICE;
    }
    return check_all(part, folder);
}
