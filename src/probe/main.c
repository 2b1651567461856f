/* main.c - what backplane-probe does: opens one library, queries and tests it, and writes the results to file
 * descriptor 3.
 *
 * Started by the registry only:
 *     backplane-probe PATH FAMILY_ID PREFIX SUFFIX CBLAS_SUFFIX KINDS DEEPBIND MILLISECONDS MEBIBYTES BRIEF
 * With --measure as its first argument it measures the times of a candidate instead (measure.c), with --devices it
 * lists the devices of a runtime (devices.c), and with --engine it tests a ScaLAPACK (engines.c).
 */
#include "probe/probe.h"
#include "probe/program/main.h"

#include "registry/local_dependencies.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_OUTPUT = 64 << 20, WORDS = 11 };

/* Parts of the whole time that one step may take. Where memory is scarce, the first one that takes longer ends the
 * probe, and a library that works takes far less. */
enum { CHECK_PART = 4, SCARCE_PART = 10 };

void report(const char *name, const char *format, ...) {
    char line[2048];
    va_list args;
    int used = snprintf(line, sizeof line, "%s=", name);
    if (!may_report()) {
        _exit(0); /* the library has forked, and has ended the process in which it was opened */
    }
    va_start(args, format);
    used += vsnprintf(line + used, sizeof line - (size_t)used, format, args);
    va_end(args);
    size_t length = (size_t)used < sizeof line - 1 ? (size_t)used : sizeof line - 2;
    for (size_t i = 0; i < length; i++) {
        line[i] = line[i] == '\n' ? ' ' : line[i];
    }
    line[length] = '\n';
    if (write(REPORT_FILE, line, length + 1) < 0) {
        _exit(3); /* the parent has ended */
    }
}

void report_how(const char *name, const char *how) {
    report("how", "%s: %s", name, how);
}

static void *symbol_of(const subject *library, const char *prefix, const char *stem, const char *suffix) {
    char name[256];
    int length = snprintf(name, sizeof name, "%s%s%s", prefix, stem, suffix);
    return length > 0 && (size_t)length < sizeof name ? dlsym(library->handle, name) : NULL;
}

void *fortran_routine(const subject *library, const char *stem) {
    return symbol_of(library, library->prefix, stem, library->suffix);
}

void *c_routine(const subject *library, const char *stem) {
    return symbol_of(library, library->prefix, stem, library->cblas_suffix);
}

void *own_symbol(const subject *library, const char *name) {
    for (int p = 0; bp__affix_prefixes[p]; p++) {
        for (int s = 0; bp__affix_c[s]; s++) {
            void *found = symbol_of(library, bp__affix_prefixes[p], name, bp__affix_c[s]);
            if (found) {
                return found;
            }
        }
    }
    return NULL;
}

/* Threads that wait for work spin by default, and would take the processor from the checks. The libraries read these
 * variables when they are opened. */
static void let_threads_sleep(void) {
    static const char *const variables[][2] = {{"OMP_WAIT_POLICY", "PASSIVE"},
                                               {"GOMP_SPINCOUNT", "0"},
                                               {"KMP_BLOCKTIME", "0"},
                                               {"OPENBLAS_THREAD_TIMEOUT", "4"}}; /* a power of two of cycles */
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        setenv(variables[i][0], variables[i][1], 1);
    }
}

/* Closes the host program's files. Otherwise a reader that waits for the end of a pipe of the host program would wait
 * for the end of the probe. */
static void close_files_of_host(void) {
    long most = sysconf(_SC_OPEN_MAX);
    for (int file = REPORT_FILE + 1; file < (most > 0 && most < 4096 ? most : 4096); file++) {
        close(file);
    }
}

int isolate(void) {
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    const struct rlimit none = {0, 0}, some = {MOST_OUTPUT, MOST_OUTPUT};
    setrlimit(RLIMIT_CORE, &none);
    if (setrlimit(RLIMIT_FSIZE, &some) != 0) {
        signal(SIGXFSZ,
               SIG_IGN); /* the user's limit is lower: the library's output is lost, but the library is not ended */
    }
    for (int i = 0; i < 5; i++) {
        signal(fatal[i], SIG_DFL); /* sanitizers handle them, and would hide how the library ended */
    }
    fcntl(REPORT_FILE, F_SETFD, FD_CLOEXEC);
    int output = memfd_create("output", MFD_CLOEXEC);
    if (output >= 0) {
        dup2(output, STDOUT_FILENO);
        dup2(output, STDERR_FILENO);
    }
    return output;
}

static void report_output(int output, const char *when) {
    struct stat facts;
    char how[96];
    fflush(NULL);
    if (output >= 0 && fstat(output, &facts) == 0 && facts.st_size > 0) {
        snprintf(how, sizeof how, "prints %lld bytes %s", (long long)facts.st_size, when);
        report_how("output", how);
        if (ftruncate(output, 0) == 0) {
            lseek(output, 0, SEEK_SET);
        }
    }
}

/* Reports the file that defines dgemm if it is another one than the library; that file does the work. */
static void check_origin(const subject *library) {
    Dl_info where;
    struct stat asked, found;
    void *dgemm = library->kinds & BP_LIB_BLAS    ? fortran_routine(library, "dgemm")
                  : library->kinds & BP_LIB_CBLAS ? c_routine(library, "cblas_dgemm")
                                                  : NULL;
    if (dgemm && dladdr(dgemm, &where) && where.dli_fname && stat(library->path, &asked) == 0 &&
        stat(where.dli_fname, &found) == 0 && (asked.st_ino != found.st_ino || asked.st_dev != found.st_dev)) {
        report("origin", "%s", where.dli_fname);
    }
}

static void report_dependency(const char *dependency) {
    const char *slash = strrchr(dependency, '/');
    char how[300];
    snprintf(how, sizeof how, "needs %.200s from its own directory", slash ? slash + 1 : dependency);
    report("how", "%s", how);
}

/* Reports the BLAS that the loader has found for a LAPACK without its own. */
static void report_blas(const subject *library) {
    Dl_info where;
    void *dgemm = fortran_routine(library, "dgemm");
    if ((library->kinds & BP_LIB_LAPACK) && !(library->kinds & (BP_LIB_BLAS | BP_LIB_CBLAS)) && dgemm &&
        dladdr(dgemm, &where) && where.dli_fname && where.dli_fname[0] == '/') {
        report("blas", "%s", where.dli_fname);
        report_how("blas", "where the loader finds dgemm");
    }
}

/* Failures are reported only in the first child. */
static bool open_library(subject *library, bool known) {
    char error[1024];
    int flags = RTLD_NOW | RTLD_LOCAL | (library->deepbind ? RTLD_DEEPBIND : 0);
    note_loaded();
    note_before_opening();
    library->handle =
        bp__open_with_local_dependencies(library->path, flags, known ? NULL : report_dependency, error, sizeof error);
    if (!library->handle && !known) {
        report("error", "%s", error);
    }
    note_opened();
    return library->handle != NULL;
}

/* Runs everything but the checks. */
static void examine(subject *library, const progress *state) {
    report_output(library->output, "when loaded");
    check_origin(library);
    report("step", "while reading its version");
    read_version_and_kernels(library);
    if (library->family->flags & (BP__FAMILY_GPU | BP__FAMILY_FORWARDS)) {
        report("done", "1");
        return;
    }
    report("step", "while testing its calling conventions");
    stay_on_one_thread(library); /* more threads than processors, as OMP_NUM_THREADS may say, wait for each other */
    find_conventions(library);
    check_products(library);
    check_generated_kernels(library);
    check_primitives(library);
    find_forwarding(library);
    report_blas(library);
    report("step", "while testing its thread settings");
    find_loaded_runtimes(library);
    find_thread_scope(library);
    report_output(library->output, "when used");
    report_due(library, state);
    report("done", "1");
}

/* Finds the integer width of a LAPACK. If the LAPACK ends the process on the bad argument, its integers have the width
 * that is recorded before the call. */
static void find_width(subject *library, progress *state) {
    state->int_bits = library->int_bits ? library->int_bits : 64;
    state->known = true;
    find_width_of_lapack(library);
    state->int_bits = library->int_bits;
}

/* Is tried once, because the library may end the process. */
static void measure(const subject *library, progress *state) {
    if (!state->measured) {
        state->measured = state->measuring = true;
        limit_check(state->limit_ms);
        measure_needs(library);
        limit_check(0);
        state->measuring = false;
    }
}

/* Runs in each child: the first one collects all facts, the others continue with the checks. */
static void work(subject *library, progress *state) {
    if (library->scarce) {
        limit_check(state->limit_ms);
    }
    fill_stack();
    report("step", "while it was loaded");
    if (!open_library(library, state->known)) {
        return;
    }
    if (!state->known) {
        examine(library, state);
        find_width(library, state);
    }
    report_due(library, state);
    measure(library, state);
    report_stack(state);
    run_checks(library, state);
    report_stack(state);
}

int bp__probe_main(int count, char **words) {
    const bool measures = count > 1 && strcmp(words[1], "--measure") == 0;
    const bool lists = count > 1 && strcmp(words[1], "--devices") == 0;
    const bool engine = count > 1 && strcmp(words[1], "--engine") == 0;
    if ((measures || lists || engine) && fcntl(REPORT_FILE, F_GETFD) >= 0) {
        close_files_of_host();
        if (lists) {
            devices_main(count, words);
        }
        if (engine) {
            engine_main(count, words);
        }
        measure_main(count, words);
    }
    if (count != WORDS || fcntl(REPORT_FILE, F_GETFD) < 0) {
        static const char text[] = "backplane-probe is started by the Backplane library; do not start it directly.\n";
        return write(STDERR_FILENO, text, sizeof text - 1) < 0 ? 3 : 2;
    }
    subject library = {
        .path = words[1],
        .family = bp__library_family_with_id(words[2]),
        .prefix = words[3],
        .suffix = words[4],
        .cblas_suffix = words[5],
        .kinds = (unsigned)strtoul(words[6], NULL, 10),
        .deepbind = strcmp(words[7], "1") == 0,
        .brief = strcmp(words[10], "1") == 0,
    };
    close_files_of_host();
    const int64_t milliseconds = strtoll(words[8], NULL, 10), mebibytes = strtoll(words[9], NULL, 10);
    raise_limits();
    let_threads_sleep();
    library.scarce = memory_is_scarce(mebibytes);
    start_supervised(milliseconds, mebibytes);
    library.output = isolate();
    work_in_children(&library, (int)(milliseconds / (library.scarce ? SCARCE_PART : CHECK_PART)), work);
}
