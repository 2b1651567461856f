/* inspect_process.c - reads what /proc tells about a process, and says what could not be read, and why. */
#include "cli/doctor/doctor.h"
#include "inspect.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void inspect_problem(inspect_process *p, char *text) {
    p->problems = cli_grow(p->problems, (size_t)(p->problem_count + 1) * sizeof *p->problems);
    p->problems[p->problem_count++] = text;
}

/* Reads a file of the process, at most `size` - 1 bytes. Returns the number of bytes, or -1. */
static ssize_t read_proc(pid_t pid, const char *name, char *text, size_t size) {
    char *path = cli_format("/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "re");
    free(path);
    if (!file) {
        return -1;
    }
    const size_t got = fread(text, 1, size - 1, file);
    const bool failed = ferror(file) != 0;
    fclose(file);
    text[got] = '\0';
    return failed ? -1 : (ssize_t)got;
}

/* Returns the state's letter in /proc/PID/stat, behind the name in parentheses, which may contain any character. */
static char state_of(pid_t pid) {
    char text[1024];
    const ssize_t got = read_proc(pid, "stat", text, sizeof text);
    const char *end = got > 0 ? strrchr(text, ')') : NULL;
    return end && end[1] == ' ' ? end[2] : '\0';
}

static void count_tasks(inspect_process *p) {
    char *path = cli_format("/proc/%d/task", (int)p->pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        p->tasks += entry->d_name[0] != '.';
    }
    if (folder) {
        closedir(folder);
    }
    free(path);
}

static void count_processors(inspect_process *p) {
    cpu_set_t set;
    p->processors = sched_getaffinity(p->pid, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

static bool is_of(const char *line, const char *name) {
    const size_t length = strlen(name);
    return strncmp(line, name, length) == 0 && line[length] == '=' && line[length + 1];
}

static bool selects_kernels(const char *line) {
    const char *name;
    for (int i = 0; (name = doctor_variable_at(i)); i++) {
        if (is_of(line, name)) {
            return true;
        }
    }
    return false;
}

static bool limits_threads(const char *line) {
    static const char *const names[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS",
                                        "MKL_NUM_THREADS", "BLIS_NUM_THREADS"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        found = found || is_of(line, names[i]);
    }
    return found;
}

static void keep_line(char ***lines, int *count, const char *line) {
    *lines = cli_grow(*lines, (size_t)(*count + 1) * sizeof **lines);
    (*lines)[(*count)++] = cli_format("%s", line);
}

/* The loader's lists, what selects kernels, and what limits threads. Other variables may be private and are not looked
 * at. */
static void read_environment(inspect_process *p) {
    enum { MOST = 1 << 20 };
    char *text = cli_allocate(MOST);
    const ssize_t got = read_proc(p->pid, "environ", text, MOST);
    if (got < 0 && errno == EACCES) {
        inspect_problem(
            p, cli_format("LD_PRELOAD, LD_AUDIT and kernels are not known: the environment of another user's process, "
                          "or of one that is not dumpable, cannot be read"));
    }
    p->environment_known = got >= 0;
    for (ssize_t at = 0; at < got; at += (ssize_t)strlen(text + at) + 1) {
        char **to = strncmp(text + at, "LD_PRELOAD=", 11) == 0 ? &p->preload
                    : strncmp(text + at, "LD_AUDIT=", 9) == 0  ? &p->audit
                                                               : NULL;
        const char *value = to ? strchr(text + at, '=') + 1 : "";
        if (to && !*to && *value) {
            *to = cli_format("%s", value);
        }
        if (selects_kernels(text + at)) {
            keep_line(&p->selections, &p->selection_count, text + at);
        } else if (limits_threads(text + at)) {
            keep_line(&p->limits, &p->limit_count, text + at);
        }
    }
    free(text);
}

static void read_words(inspect_process *p) {
    enum { MOST = 512 };
    char text[MOST];
    const ssize_t got = read_proc(p->pid, "cmdline", text, sizeof text);
    if (got <= 0 || got >= MOST - 1) {
        return;
    }
    for (ssize_t at = 0; at < got; at += (ssize_t)strlen(text + at) + 1) {
        p->words = cli_join_word(p->words, text + at);
    }
}

static int fail(const inspect_process *p, int error) {
    const char state = state_of(p->pid);
    if (access("/proc/self/maps", R_OK) != 0) {
        return cli_fail(CLI_IO, "/proc is not mounted; processes cannot be inspected without it");
    }
    if (state == 'Z' || state == 'X') {
        return cli_fail(CLI_INPUT, "process %d has ended, and its parent has not asked for its exit status",
                        (int)p->pid);
    }
    if (state == '\0' && kill(p->pid, 0) != 0 && errno == EPERM) {
        return cli_fail(CLI_IO, "process %d cannot be seen in /proc: it belongs to another user; try as root",
                        (int)p->pid);
    }
    if (error == ENOENT || error == ESRCH || state == '\0') {
        return cli_fail(CLI_INPUT, "there is no process %d, or it has just ended", (int)p->pid);
    }
    if (error == EACCES || error == EPERM) {
        return cli_fail(CLI_IO,
                        "the files of process %d (%s) cannot be read: it belongs to another user, or is not dumpable, "
                        "as programs with capabilities are; try as root",
                        (int)p->pid, p->name ? p->name : "?");
    }
    return cli_fail(CLI_IO, "/proc/%d/maps cannot be read: %s", (int)p->pid, strerror(error));
}

int inspect_read(inspect_process *p, pid_t pid) {
    char name[64];
    *p = (inspect_process){.pid = pid};
    if (read_proc(pid, "comm", name, sizeof name) > 0) {
        name[strcspn(name, "\n")] = '\0';
        p->name = cli_format("%s", name);
    }
    const int error = inspect_maps(p);
    if (error) {
        return fail(p, error);
    }
    if (p->file_count == 0) { /* also a process whose end has begun */
        const char state = state_of(pid);
        return state == '\0' || state == 'Z' || state == 'X'
                   ? fail(p, ESRCH)
                   : cli_fail(CLI_INPUT, "process %d (%s) has no files mapped: it is a thread of the kernel", (int)pid,
                              p->name ? p->name : "?");
    }
    count_tasks(p);
    count_processors(p);
    read_environment(p);
    read_words(p);
    inspect_libraries(p);
    return CLI_OK;
}

void inspect_complete(inspect_process *p) {
    inspect_facts(p);
    inspect_judge(p);
}

void inspect_free(inspect_process *p) {
    for (int i = 0; i < p->file_count; i++) {
        free(p->files[i].path);
        free(p->files[i].needed);
        free(p->files[i].soname);
    }
    for (int i = 0; i < p->library_count; i++) {
        free(p->libraries[i].users);
        free(p->libraries[i].kernels);
    }
    for (int i = 0; i < p->finding_count; i++) {
        free(p->findings[i].text);
        free(p->findings[i].advice);
    }
    for (int i = 0; i < p->problem_count; i++) {
        free(p->problems[i]);
    }
    for (int i = 0; i < p->selection_count; i++) {
        free(p->selections[i]);
    }
    for (int i = 0; i < p->limit_count; i++) {
        free(p->limits[i]);
    }
    for (int i = 0; i < p->time_count; i++) {
        free(p->times[i].library);
        free(p->times[i].kernels);
        free(p->times[i].how);
    }
    free(p->times);
    free(p->limits);
    free(p->words);
    for (int i = 0; i < p->command_count; i++) {
        free(p->commands[i].command);
    }
    free(p->commands);
    free(p->selections);
    free(p->files);
    free(p->libraries);
    free(p->findings);
    free(p->problems);
    free(p->preload);
    free(p->audit);
    free(p->name);
    *p = (inspect_process){.pid = 0};
}
