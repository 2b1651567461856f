/* command_launch.c - `backplane launch`: runs a program whose calls of BLAS, LAPACK and FFTW go where Backplane
 * chooses.
 *
 * The work is done by the hooks library in the program (src/dropin); this command checks the program and the options,
 * and sets the environment. It becomes the program, unless a report is asked for: then it waits for the program's end.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Instances ---- */

/* Returns whether Python has the launcher of instances. */
static bool has_instances(const char *python) {
    const pid_t started = fork();
    int status = 1;
    if (started == 0) {
        const int nothing = open("/dev/null", O_WRONLY);
        dup2(nothing, STDERR_FILENO);
        cli_signals_restore();
        execl(python, python, "-c", "import backplane.backends.xeon.run_cpu", (char *)NULL);
        _exit(1);
    }
    while (started > 0 && waitpid(started, &status, 0) < 0 && errno == EINTR) {
    }
    return started > 0 && status == 0;
}

/* Makes the words of `python3 -m backplane.backends.xeon.run_cpu --ninstances N OPTIONS --no-python PROGRAM ...`. */
static char **instance_words(const cli_args *args, const char *count, char *options, const cli_program *program) {
    const char *const head[] = {"python3", "-m", "backplane.backends.xeon.run_cpu", "--ninstances", count};
    enum { HEAD = sizeof head / sizeof head[0] };
    char **words = cli_allocate((HEAD + strlen(options) + (size_t)args->count + 2) * sizeof *words);
    int used = 0;
    for (int i = 0; i < HEAD; i++) {
        words[used++] = (char *)(uintptr_t)head[i];
    }
    for (char *rest = options, *word; (word = strtok_r(rest, " ", &rest));) {
        words[used++] = word;
    }
    words[used++] = (char *)(uintptr_t) "--no-python";
    words[used++] = program->path;
    for (int i = 1; i < args->count; i++) {
        words[used++] = (char *)(uintptr_t)args->operands[i];
    }
    words[used] = NULL;
    return words;
}

/* ---- Reports ---- */

static const char *const reports[] = {"profile", "explain", "trace", "tune"};

static bool has_report(const cli_args *args) {
    bool any = false;
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        any = any || cli_has(args, reports[i]);
    }
    return any;
}

static void print_tables(const cli_args *args, const launch_calls *calls, inspect_process *process) {
    if (calls->count == 0) {
        cli_say(CLI_PLAIN, "The program made no call of BLAS, LAPACK or FFTW that can be redirected.\n");
        return;
    }
    if (cli_has(args, "explain")) {
        launch_explain(calls);
    }
    if (cli_has(args, "profile")) {
        launch_profile(calls, args, process);
    }
}

static int report_calls(const cli_args *args, launch_calls *calls, inspect_process *process) {
    const char *trace = cli_value(args, "trace"), *tune = cli_value(args, "tune");
    const bool tables = cli_has(args, "profile") || cli_has(args, "explain");
    int code = launch_calls_read(calls);
    code = code == CLI_OK && trace ? launch_trace(calls, trace) : code;
    code = code == CLI_OK && tune ? launch_tune(calls, tune) : code;
    code = code == CLI_OK && tables ? program_output_begin(cli_value(args, "output")) : code;
    if (code != CLI_OK || !tables) {
        return code;
    }
    cli_progress_begin(CLI_EXAMINING);
    print_tables(args, calls, process);
    cli_progress_end();
    return program_output_end(cli_value(args, "output"));
}

/* ---- The command ---- */

typedef struct watch {
    inspect_watched program;
    unsigned looks;
} watch;

/* Looks at a program often at its begin, when it opens its libraries, and then every 40 ms: each look takes time from
 * what is measured. */
static void watch_program(pid_t pid, void *context) {
    enum { PAUSE = 8 };
    watch *seen = context;
    const unsigned now = ++seen->looks;
    if (now % PAUSE == 0 || (now & (now - 1)) == 0) {
        inspect_watch(pid, &seen->program);
    }
}

static int start_path(const cli_args *args, const cli_program *program, launch_calls *calls, const char *path,
                      char *const *words) {
    const bool reported = has_report(args);
    int code = reported ? launch_calls_begin(calls) : CLI_OK;
    code = code == CLI_OK ? launch_environment(args, program, calls->path) : code;
    if (code != CLI_OK) {
        return code;
    }
    if (program->refused) {
        char *text =
            cli_format("%s: its own calls cannot be redirected: %s; it runs as it is", program->path, program->refused);
        cli_warn(NULL, text);
        free(text);
    }
    if (!reported) {
        return program_replace(path, words);
    }
    watch seen = {.looks = 0};
    const int status = program_wait(path, words, cli_has(args, "profile") ? watch_program : NULL, &seen);
    code = report_calls(args, calls, &seen.program.best);
    inspect_free(&seen.program.best);
    return status != 0 ? status : code;
}

static int start_instances(const cli_args *args, const cli_program *program, launch_calls *calls, const char *count) {
    const char *given = cli_value(args, "instance-options");
    cli_program python;
    int code = program_find(&python, "python3");
    if (code == CLI_OK && !has_instances(python.path)) {
        code = cli_fail(CLI_LIBRARY, "--instances needs Backplane's Python package for %s, such as by `pip install .`",
                        python.path);
    }
    if (code == CLI_OK) {
        char *options = cli_format("%s", given ? given : "");
        char **words = instance_words(args, count, options, program);
        code = start_path(args, program, calls, python.path, words);
        free(words);
        free(options);
    }
    program_free(&python);
    return code;
}

static int start_program(const cli_args *args, const cli_program *program, launch_calls *calls) {
    char **words = cli_allocate(((size_t)args->count + 1) * sizeof *words);
    for (int i = 0; i < args->count; i++) {
        words[i] = (char *)(uintptr_t)args->operands[i];
    }
    words[args->count] = NULL;
    const int code = start_path(args, program, calls, program->path, words);
    free(words);
    return code;
}

static int launch(const cli_args *args) {
    const char *instances = cli_value(args, "instances");
    cli_program program;
    launch_calls calls = {.folder = NULL};
    int64_t count;
    cli_signals_watch_children();
    int code = cli_number(args, "instances", 1, 1 << 16, 0, &count);
    if (code == CLI_OK && cli_has(args, "instance-options") && !instances) {
        code = cli_fail(CLI_USAGE, "--instance-options needs --instances");
    }
    if (code == CLI_OK && cli_has(args, "output") && !cli_has(args, "profile") && !cli_has(args, "explain")) {
        code = cli_fail(CLI_USAGE, "--output is the file of --profile and --explain; give one of them");
    }
    static const char *const files[] = {"trace", "tune", "output"};
    for (size_t i = 0; i < sizeof files / sizeof files[0] && code == CLI_OK; i++) {
        const char *path = cli_value(args, files[i]);
        code = path ? program_check_target(path) : CLI_OK;
    }
    if (code != CLI_OK) {
        return code;
    }
    code = program_find(&program, args->operands[0]);
    if (code == CLI_OK) {
        code = instances ? start_instances(args, &program, &calls, instances) : start_program(args, &program, &calls);
    }
    launch_calls_free(&calls);
    program_free(&program);
    return code;
}

static const cli_option options[] = {
    {"set", 's', "NAME=VALUE", "Use this setting in the program. May be repeated."},
    {"library", 0, "NAME", "Send all calls to this library: its id, family, SONAME or path."},
    {"threads", 0, "N", "Use N threads: in Backplane, and in the program's own libraries."},
    {"deterministic", 0, NULL, "Give the same results in each run; the same as --set deterministic=run."},
    {"only", 0, "LIST", "Redirect these routines only: gemm,dgetrf or blas, cblas, lapack, lapacke, fftw."},
    {"exclude", 0, "LIST", "Do not redirect these routines."},
    {"observe", 0, NULL, "Redirect nothing; report only."},
    {"profile", 0, NULL, "At the end, print a table: routine, calls, time, GFLOP/s, library, possible savings."},
    {"explain", 0, NULL, "At the end, print where the calls of each routine and size ran, and why."},
    {"output", 'o', "FILE", "Write these tables to a file in place of the standard error output."},
    {"trace", 0, "FILE", "Write a line of JSON for each routine, its sizes and library."},
    {"tune", 0, "FILE", "Write the problems for `backplane tune --from FILE`."},
    {"instances", 0, "N", "Run N instances, each on its own cores, as `run_cpu` does."},
    {"instance-options", 0, "TEXT", "Further options of `run_cpu`, separated by spaces."},
    {NULL, 0, NULL, NULL},
};

const cli_command command_launch = {
    .name = "launch",
    .summary = "Run a program whose BLAS, LAPACK and FFTW calls go where Backplane chooses.",
    .operands = "[--] PROGRAM [ARGUMENT ...]",
    .details =
        "\nExample: backplane launch --profile -- python3 script.py\n"
        "\nThe program is unchanged, and its children are launched in the same way. The exit code is the program's; "
        "128 + N: signal N ended it; 126: it cannot be run; 127: it was not found. Before the program starts, the "
        "codes of `backplane help` apply.",
    .least = 1,
    .most = 1 << 24,
    .program = true,
    .options = options,
    .run = launch,
};
