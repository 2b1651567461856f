/* ranks.c - starts a program on several ranks with the launcher of an MPI, and checks that no rank was lost.
 *
 * MPICH's launcher returns 0 also if a rank ended early without a result. So the library writes a file for each rank
 * that opens a communicator, and another name for one that has closed all of its own: a rank that has not closed them
 * was lost. */
#include "cli/ranks/hosts.h"

#include "cli/operations/candidates.h"
#include "cli/program/program.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Launchers ---- */

typedef struct launcher {
    const char *mpi, *programs[3];
    const char *too_many, *unbound; /* options for more ranks than cores, and for ranks with several threads */
    const char *hosts;              /* the option before a list such as a:2,b:1 */
    const char *variable;           /* the option before a variable that other hosts get; NULL: they get all */
} launcher;

static const launcher launchers[] = {
    {"openmpi", {"mpirun.openmpi", "orterun", NULL}, "--oversubscribe", "--bind-to none", "-H", "-x"},
    {"mpich", {"mpiexec.mpich", "mpiexec.hydra", NULL}, "", "", "-hosts", NULL},
};
enum { LAUNCHERS = sizeof launchers / sizeof launchers[0] };

/* Returns the file of a launcher's program, or NULL. */
static char *search_launcher(const launcher *l) {
    char *path = NULL;
    for (int i = 0; l->programs[i] && !path; i++) {
        path = program_search_path(l->programs[i]);
    }
    return path;
}

static int find_launcher(const cli_args *args, const launcher **found, char **path) {
    const char *wanted = cli_value(args, "mpi");
    bool known = !wanted;
    *path = NULL;
    for (int i = 0; i < LAUNCHERS && !*path; i++) {
        if (!wanted || strcmp(wanted, launchers[i].mpi) == 0) {
            known = true;
            *found = &launchers[i];
            *path = search_launcher(&launchers[i]);
        }
    }
    if (!known) {
        return cli_fail(CLI_USAGE, "--mpi is '%s'; it must be openmpi or mpich", wanted);
    }
    return *path ? CLI_OK
                 : cli_fail(CLI_LIBRARY, "no launcher of %s was found in PATH; Debian has openmpi-bin and mpich",
                            wanted ? wanted : "an MPI");
}

/* ---- Records of the ranks ---- */

typedef struct records {
    char *folder;
    int opened, closed; /* ranks that have opened communicators, and those that have closed all of them */
    char lost[128];     /* the first ranks that have not */
} records;

static int make_folder(records *r) {
    const char *base = getenv("TMPDIR");
    r->folder = cli_format("%s/backplane-ranks-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(r->folder)) {
        return cli_fail(CLI_IO, "%s cannot be made: %s", r->folder, strerror(errno));
    }
    setenv("BACKPLANE_RANK_RECORDS", r->folder, 1);
    return CLI_OK;
}

static void read_records(records *r) {
    int count;
    char **names = cli_folder_names(r->folder, &count);
    for (int i = 0; i < count; i++) {
        const char *end = strrchr(names[i], '.');
        const bool closed = end && strcmp(end, ".closed") == 0;
        const size_t used = strlen(r->lost);
        r->opened++;
        r->closed += closed;
        if (!closed && end) {
            snprintf(r->lost + used, sizeof r->lost - used, "%s%.*s", used > 0 ? ", " : "", (int)(end - names[i]),
                     names[i]);
        }
        char *path = cli_format("%s/%s", r->folder, names[i]);
        unlink(path);
        free(path);
    }
    cli_folder_free(names, count);
    rmdir(r->folder);
}

/* Returns the exit code of a job whose launcher returned 0. `here`: all ranks see the folder; other hosts may not. */
static int judge_records(const records *r, int64_t ranks, bool here) {
    if (r->closed < r->opened) {
        return cli_fail(CLI_FINDING,
                        "rank %s ended without closing its communicators: its part of the result is missing", r->lost);
    }
    if (here && r->opened > 0 && r->opened < ranks) {
        return cli_fail(CLI_FINDING,
                        "%d of %lld ranks have opened a communicator; the others ended before, or see "
                        "themselves alone",
                        r->opened, (long long)ranks);
    }
    return CLI_OK;
}

/* ---- The time limit ---- */

typedef struct limit {
    double end_ns; /* 0: none */
    bool over;
} limit;

/* Launchers end their ranks on the first signal; one that does not is killed. */
static void look_at_time(pid_t program, void *context) {
    limit *l = context;
    const double grace_ns = 5e9;
    if (l->end_ns > 0 && cli_now_ns() > l->end_ns) {
        kill(program, l->over ? SIGKILL : SIGTERM);
        l->over = true;
        l->end_ns += grace_ns;
    }
}

/* ---- The run ---- */

static const char *const thread_variables[] = {"BACKPLANE_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                               "MKL_NUM_THREADS"};
enum { THREAD_VARIABLES = sizeof thread_variables / sizeof thread_variables[0] };

static void set_threads(const cli_args *args, int64_t threads) {
    char *text = cli_format("%lld", (long long)threads);
    for (int i = 0; i < THREAD_VARIABLES; i++) {
        setenv(thread_variables[i], text, cli_has(args, "threads"));
    }
    free(text);
}

static int usable_cores(void) {
    bp_machine_info machine = {.struct_size = sizeof machine};
    return bp_machine(&machine) == BP_OK && machine.usable_cpus > 0 ? machine.usable_cpus : 1;
}

static int add_words(char **words, int used, char *text) {
    for (char *rest = text, *word; (word = strtok_r(rest, " ", &rest));) {
        words[used++] = word;
    }
    return used;
}

/* What the launcher is to run, and on how many ranks. */
typedef struct request {
    const char *const *program; /* its words; ends with NULL */
    int64_t ranks, threads, seconds;
    ranks_hosts *hosts; /* NULL: this one */
} request;

static int64_t most_on_a_host(const request *r) {
    return r->hosts ? ranks_hosts_most(r->hosts) : r->ranks;
}

/* ---- The words of the launcher ---- */

static char *append(char *text, const char *option, const char *value) {
    char *longer = cli_format("%s %s %s", text, option, value);
    free(text);
    return longer;
}

/* Whether other hosts must have the variable: the settings, which are the same on all ranks, and the threads. */
static bool is_for_ranks(const char *variable) {
    bool found = strncmp(variable, "BACKPLANE_", strlen("BACKPLANE_")) == 0;
    for (int i = 0; i < THREAD_VARIABLES && !found; i++) {
        const size_t length = strlen(thread_variables[i]);
        found = strncmp(variable, thread_variables[i], length) == 0 && variable[length] == '=';
    }
    return found;
}

/* Adds the hosts, and the variables that Open MPI's launcher does not give to other hosts by itself. */
static char *append_hosts(char *text, const launcher *l, const ranks_hosts *hosts) {
    char *list = ranks_hosts_list(hosts);
    text = append(text, l->hosts, list);
    free(list);
    for (char **at = environ; *at && l->variable; at++) {
        char *name = is_for_ranks(*at) ? cli_format("%.*s", (int)strcspn(*at, "="), *at) : NULL;
        text = name ? append(text, l->variable, name) : text;
        free(name);
    }
    return text;
}

/* Returns the options, separated by spaces; free them. */
static char *options_of(const launcher *l, const request *r, const char *given) {
    char *text = cli_format("-n %lld %s %s", (long long)r->ranks, most_on_a_host(r) > usable_cores() ? l->too_many : "",
                            r->threads > 1 ? l->unbound : "");
    text = r->hosts ? append_hosts(text, l, r->hosts) : text;
    return append(text, given ? given : "", "");
}

static int start(const cli_args *args, const launcher *l, const char *path, const request *r, limit *time) {
    char *options = options_of(l, r, cli_value(args, "launcher-options"));
    int count = 0, used = 0;
    while (r->program[count]) {
        count++;
    }
    char **words = cli_allocate((strlen(options) + (size_t)count + 2) * sizeof *words);
    words[used++] = (char *)(uintptr_t)path;
    used = add_words(words, used, options);
    for (int i = 0; i < count; i++) {
        words[used++] = (char *)(uintptr_t)r->program[i];
    }
    words[used] = NULL;
    const int code = program_wait(path, words, look_at_time, time);
    free(words);
    free(options);
    return code;
}

static int run_job(const cli_args *args, const launcher *l, const char *path, const request *job) {
    records r = {.folder = NULL};
    limit time = {.end_ns = job->seconds > 0 ? cli_now_ns() + (double)job->seconds * 1e9 : 0};
    int code = make_folder(&r);
    if (code == CLI_OK) {
        set_threads(args, job->threads);
        code = start(args, l, path, job, &time);
        read_records(&r);
        code = time.over        ? cli_fail((cli_exit)RANKS_TIMED_OUT, "the program was ended after %lld s (--timeout)",
                                           (long long)job->seconds)
               : code == CLI_OK ? judge_records(&r, job->ranks, !job->hosts)
                                : code;
    }
    free(r.folder);
    return code;
}

int ranks_run(const cli_args *args, const char *const *program) {
    const launcher *l = NULL;
    char *path = NULL;
    request r = {.program = program};
    const char *hosts = cli_value(args, "hosts");
    int code = cli_number(args, "ranks", 1, RANKS_MOST, 1, &r.ranks);
    code = code == CLI_OK && hosts ? ranks_hosts_read(hosts, r.ranks, &r.hosts) : code;
    const int64_t most = code == CLI_OK ? most_on_a_host(&r) : 1;
    const int64_t share = usable_cores() / most > 0 ? usable_cores() / most : 1;
    code = code == CLI_OK ? cli_number(args, "threads", 1, 1024, share, &r.threads) : code;
    code = code == CLI_OK ? cli_number(args, "timeout", 1, INT32_MAX, 0, &r.seconds) : code;
    code = code == CLI_OK ? find_launcher(args, &l, &path) : code;
    if (code == CLI_OK) {
        cli_signals_watch_children();
        code = run_job(args, l, path, &r);
    }
    ranks_hosts_free(r.hosts);
    free(path);
    return code;
}

int ranks_refuse_options(const cli_args *args) {
    static const cli_option options[] = {OPTIONS_RANKS};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (cli_has(args, options[i].name)) {
            return cli_fail(CLI_USAGE, "--%s is for a program on several ranks: give their number (-n) too",
                            options[i].name);
        }
    }
    return CLI_OK;
}

bool ranks_is_rank(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (getenv(names[i])) {
            return true;
        }
    }
    return false;
}
