/* inspect_times.c - measures a product on the libraries of a process: with the kernels and threads that the process
 * uses, with the best ones, and on the library that `backplane launch` would take.
 *
 * Each measurement runs in a child of its own, because a library selects its kernels when it is opened. The children
 * run one after the other, so that none takes processors from another. Nothing runs in the process that is inspected.
 */
#include "cli/doctor/doctor.h"
#include "inspect.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = INSPECT_PRODUCT, LEAST_SAMPLES = 5, MOST_SECONDS = 20 };
#define WORTH 1.2                    /* a command must make products so many times as fast */
static const double sampled_s = 0.2; /* a busy machine needs several samples */

/* What a child measures. */
typedef struct setup {
    const inspect_process *process;
    const inspect_library *library; /* NULL: the choice without preferences */
    bool as_process;                /* with the variables of the process, or without those that select kernels */
    int threads;
} setup;

/* What it has found out. */
typedef struct answer {
    double ns;
    int threads;
    char library[64], kernels[32];
} answer;

static double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- In the child ---- */

static void set_variables(const setup *s) {
    const char *name;
    for (int i = 0; (name = doctor_variable_at(i)); i++) {
        unsetenv(name);
    }
    for (int i = 0; s->as_process && i < s->process->selection_count; i++) {
        putenv(s->process->selections[i]);
    }
    if (s->as_process && s->library &&
        s->library->kernels) { /* the program may have set the variable after its start */
        setenv("OPENBLAS_CORETYPE", s->library->kernels, 1);
    }
}

static bp_options *make_options(const setup *s) {
    bp_options *options = NULL;
    char *name = s->library ? cli_quote(s->library->facts.id) : NULL;
    char *text =
        cli_format("calibration=read, threads.adapt=false, num_threads=%d%s%s%s", s->threads,
                   name ? ", blas.preferred=" : "", name ? name : "", name ? ", dispatch.fallback=strict" : "");
    free(name);
    if (bp_options_new(&options, text) != BP_OK) {
        options = NULL;
    }
    free(text);
    return options;
}

/* Fills matrices and runs the product. Returns the shortest time in ns; 0 if it failed. */
static double time_product(const bp_options *options) {
    double *data = cli_allocate((size_t)3 * SIZE * SIZE * sizeof *data), best = 0;
    bp_view a, b, c;
    for (int i = 0; i < 2 * SIZE * SIZE; i++) {
        data[i] = (double)(i % 251) / 251;
    }
    bp_view_matrix(&a, data, BP_F64, SIZE, SIZE);
    bp_view_matrix(&b, data + SIZE * SIZE, BP_F64, SIZE, SIZE);
    bp_view_matrix(&c, data + 2 * SIZE * SIZE, BP_F64, SIZE, SIZE);
    const double begin = seconds_now();
    for (int i = 0; i <= LEAST_SAMPLES || seconds_now() - begin < sampled_s; i++) { /* the first opens the library */
        const double start = seconds_now();
        if (bp_gemm_run(options, BP_AS_IS, BP_AS_IS, NULL, &a.tensor, &b.tensor, NULL, &c.tensor) != BP_OK) {
            best = 0;
            break;
        }
        const double now = 1e9 * (seconds_now() - start);
        best = i > 0 && (best == 0 || now < best) ? now : best;
    }
    free(data);
    return best;
}

/* Finds out which kernels the library of this process has selected: as of another process, from its memory. */
static void find_kernels(const setup *s, answer *found) {
    inspect_process self;
    if (!s->library) {
        const bool native = strcmp(found->library, "native") == 0;
        bp__copy_text(found->kernels, sizeof found->kernels, native ? bp_cpu_capability() : "");
    } else if (inspect_read(&self, getpid()) == CLI_OK) {
        for (int i = 0; i < self.library_count; i++) {
            const inspect_library *library = &self.libraries[i];
            if (strcmp(library->file->path, s->library->facts.path) == 0) {
                bp__copy_text(found->kernels, sizeof found->kernels, inspect_kernels(library));
            }
        }
        inspect_free(&self);
    }
}

static void measure_here(const setup *s, int file) {
    answer found = {.ns = 0};
    bp_plan_info plan = {.struct_size = sizeof plan};
    set_variables(s);
    bp_options *options = make_options(s);
    found.ns = options ? time_product(options) : 0;
    if (found.ns > 0 && bp_last_plan(&plan) == BP_OK) {
        bp__copy_text(found.library, sizeof found.library, plan.library);
        found.threads = plan.threads;
        find_kernels(s, &found);
    }
    bp_options_release(options);
    const ssize_t written = write(file, &found, sizeof found);
    _exit(written == (ssize_t)sizeof found ? 0 : 1);
}

/* ---- In this process ---- */

/* Returns whether there is a time. A library that hangs or crashes has none. */
static bool measure_apart(const setup *s, answer *found) {
    int ends[2], status;
    *found = (answer){.ns = 0};
    if (pipe(ends) != 0) {
        return false;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGALRM, SIG_DFL);
        alarm(MOST_SECONDS);
        measure_here(s, ends[1]);
    }
    close(ends[1]);
    const bool complete = child > 0 && read(ends[0], found, sizeof *found) == (ssize_t)sizeof *found;
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return complete && found->ns > 0;
}

static double add_time(inspect_process *p, const setup *s, const char *how) {
    answer found;
    cli_progress(-1, "a product on %s, %s", s->library ? s->library->facts.id : "the fastest library", how);
    if (!measure_apart(s, &found)) {
        return 0;
    }
    p->times = cli_grow(p->times, (size_t)(p->time_count + 1) * sizeof *p->times);
    p->times[p->time_count++] = (inspect_time){.library = cli_format("%s", found.library),
                                               .kernels = cli_format("%s", found.kernels),
                                               .how = cli_format("%s", how),
                                               .threads = found.threads,
                                               .ns = found.ns};
    return found.ns;
}

static bool is_measured(const inspect_library *library) {
    return library->facts.id && library->facts.state == BP_LIBRARY_OK && (library->interfaces & INSPECT_BLAS) &&
           (library->facts.kinds & BP_LIB_BLAS);
}

static int processors_of(const inspect_process *p) {
    return p->processors > 0 ? p->processors : 1;
}

/* Returns the number of threads of the library's pool; else what the variables of the start say. */
static int threads_of(const inspect_process *p, const inspect_library *library) {
    int threads = library->threads;
    for (int i = 0; i < p->limit_count && threads == 0; i++) {
        const long value = strtol(strchr(p->limits[i], '=') + 1, NULL, 10);
        threads = value > 0 && value < processors_of(p) ? (int)value : 0;
    }
    return threads > 0 ? threads : processors_of(p);
}

/* Returns "env -u NAME ... " for the variables that select kernels or limit threads; "" for none. */
static char *without_variables(const inspect_process *p) {
    char *command = NULL;
    for (int i = 0; i < p->selection_count + p->limit_count; i++) {
        const char *line = i < p->selection_count ? p->selections[i] : p->limits[i - p->selection_count];
        char *one = cli_format("-u %.*s", (int)strcspn(line, "="), line);
        command = cli_join(command, " ", one);
        free(one);
    }
    char *whole = command ? cli_format("env %s ", command) : cli_format("%s", "");
    free(command);
    return whole;
}

/* Returns whether a variable, of the start or of the program itself, has selected kernels below the processor's. */
static bool has_lower_kernels(const inspect_process *p, const inspect_library *library) {
    const int rank = doctor_kernel_rank(inspect_kernels(library));
    const bool selected = p->selection_count > 0 || library->kernels;
    return selected && rank >= 0 && rank < doctor_kernel_rank(bp_cpu_hardware_capability());
}

/* Returns the time of the library with the best kernels and all processors; 0 if the process has them. */
static double measure_best(inspect_process *p, const inspect_library *library, int threads) {
    const setup best = {.process = p, .library = library, .threads = processors_of(p)};
    const bool lower = has_lower_kernels(p, library);
    return lower || threads != best.threads
               ? add_time(p, &best, lower ? "with its best kernels, on all processors" : "on all processors")
               : 0;
}

static void add_command(inspect_process *p, char *command, double times) {
    p->commands = cli_grow(p->commands, (size_t)(p->command_count + 1) * sizeof *p->commands);
    p->commands[p->command_count++] = (inspect_command){command, times};
}

/* Adds the commands that make products faster than they are, in ns. 0 is not known. */
static void find_commands(inspect_process *p, double used, double best, double launched) {
    const char *words = p->words ? p->words : "PROGRAM";
    char *without = without_variables(p);
    if (best > 0 && used > WORTH * best && *without) {
        add_command(p, cli_format("%s%s", without, words), used / best);
    }
    if (launched > 0 && used > WORTH * launched) {
        add_command(p, cli_format("backplane launch -- %s", words), used / launched);
    }
    free(without);
}

void inspect_measure(inspect_process *p) {
    double used = 0, best = 0;
    cli_progress_begin(CLI_EXAMINING);
    for (int i = 0; i < p->library_count; i++) {
        const inspect_library *library = &p->libraries[i];
        if (is_measured(library)) {
            const int threads = threads_of(p, library);
            const setup now = {.process = p, .library = library, .as_process = true, .threads = threads};
            const double one = add_time(p, &now, "as in the process"), better = measure_best(p, library, threads);
            best = one > used ? better : best;
            used = one > used ? one : used;
        }
    }
    if (used > 0) {
        const setup choice = {.process = p, .threads = processors_of(p)};
        find_commands(p, used, best, add_time(p, &choice, "with `backplane launch`"));
    }
    cli_progress_end();
}
