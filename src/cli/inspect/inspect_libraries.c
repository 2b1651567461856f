/* inspect_libraries.c - finds the math libraries and OpenMP runtimes among a process's files, by their symbols; the
 * files that need them; and the sizes of their thread pools, in the process's memory. */
#include "cli/doctor/doctor.h"
#include "inspect.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- Symbols ---- */

/* What the symbols of a file say. Values are relative to the start of the file in memory. */
typedef struct marks {
    bool openblas, blis, mkl, mkl_dispatcher, flexiblas, atlas, gomp, kmp, omp_names, dnnl, fftw, backplane, hooks;
    bool blas, lapack, wide_names;
    uint64_t counter; /* OpenBLAS's number of threads */
    uint64_t chosen;  /* the address of OpenBLAS's pointer to the table of its kernels */
    struct {
        char *name;
        uint64_t value;
    } * tables; /* one for each kernel set */
    int table_count;
} marks;

static bool ends_with(const char *text, const char *tail) {
    const size_t length = strlen(text), end = strlen(tail);
    return length >= end && strcmp(text + length - end, tail) == 0;
}

/* Names of one routine have a prefix and a suffix that a builder chose: scipy_cblas_dgemm64_. */
static bool names_routine(const char *name, const char *routine, bool *wide) {
    const char *found = strstr(name, routine);
    if (!found || (found != name && found[-1] != '_')) {
        return false;
    }
    const char *rest = found + strlen(routine);
    const bool suffixed = strcmp(rest, "64_") == 0 || strcmp(rest, "_64_") == 0 || strcmp(rest, "_64") == 0;
    *wide = *wide || suffixed;
    return suffixed || strcmp(rest, "_") == 0 || *rest == '\0';
}

/* The pointer has the name gotoblas, and the tables gotoblas_HASWELL and the like. */
static void mark_table(marks *m, const char *rest, uint64_t value) {
    if (*rest == '\0') {
        m->chosen = value;
    } else if (*rest == '_') {
        m->tables = cli_grow(m->tables, (size_t)(m->table_count + 1) * sizeof *m->tables);
        m->tables[m->table_count].name = cli_format("%s", rest + 1);
        m->tables[m->table_count++].value = value;
    }
}

static void mark(void *context, const char *name, uint64_t value, int type) {
    marks *m = context;
    enum { OBJECT = 1 };
    m->openblas = m->openblas || strstr(name, "openblas_get_config");
    m->blis =
        m->blis || strcmp(name, "bli_info_get_version_str") == 0 || strcmp(name, "bli_thread_set_num_threads") == 0;
    m->mkl = m->mkl || strcmp(name, "MKL_Get_Version") == 0 || strcmp(name, "mkl_serv_get_max_threads") == 0;
    m->mkl_dispatcher = m->mkl_dispatcher || strcmp(name, "MKL_Set_Interface_Layer") == 0;
    m->flexiblas = m->flexiblas || strncmp(name, "flexiblas_", 10) == 0;
    m->atlas = m->atlas || strncmp(name, "ATL_d", 5) == 0;
    m->gomp = m->gomp || strcmp(name, "GOMP_parallel") == 0;
    m->kmp = m->kmp || strcmp(name, "__kmpc_fork_call") == 0;
    m->dnnl = m->dnnl || strcmp(name, "dnnl_engine_create") == 0;
    m->fftw = m->fftw || strcmp(name, "fftw_execute") == 0 || strcmp(name, "fftwf_execute") == 0;
    m->backplane = m->backplane || strcmp(name, "bp_last_plan") == 0;
    m->hooks = m->hooks || strcmp(name, "bp_hooks") == 0;
    m->blas = m->blas || names_routine(name, "dgemm", &m->wide_names);
    m->lapack = m->lapack || names_routine(name, "dgetrf", &m->wide_names);
    if (type == OBJECT && (ends_with(name, "blas_cpu_number") || ends_with(name, "blas_cpu_number64_"))) {
        m->counter = value;
    }
    if (type == OBJECT && strncmp(name, "gotoblas", 8) == 0) {
        mark_table(m, name + 8, value);
    }
}

/* Returns the family, or NULL if the file is no library of interest. */
static const char *family_of(const marks *m, const inspect_file *file) {
    const char *slash = strrchr(file->path, '/'), *name = slash ? slash + 1 : file->path;
    if (m->hooks || m->backplane) {
        return NULL;
    }
    if (m->kmp) { /* both runtimes have all names of the others */
        return strstr(name, "iomp5") ? "libiomp5" : "libomp";
    }
    return m->gomp                       ? "libgomp"
           : m->flexiblas                ? "flexiblas"
           : m->openblas                 ? "openblas"
           : m->blis                     ? "blis"
           : m->mkl_dispatcher || m->mkl ? "mkl"
           : m->atlas                    ? "atlas"
           : m->dnnl                     ? "onednn"
           : m->fftw && !m->blas         ? "fftw"
           : m->blas || m->lapack        ? "unknown"
                                         : NULL;
}

/* ---- Memory ---- */

/* Reads a variable of the process. Returns 0, or an errno. */
static int read_variable(pid_t pid, uint64_t address, void *value, size_t size) {
    struct iovec here = {value, size}, there = {(void *)(uintptr_t)address, size};
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size ? 0 : errno ? errno : EFAULT;
}

/* Returns the reason for which another process's memory cannot be read. */
static char *memory_problem(int error) {
    char scope = '0';
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (file) {
        scope = (char)fgetc(file);
        fclose(file);
    }
    if (error != EPERM) {
        return cli_format("the process's memory cannot be read (%s), so sizes of thread pools are not known",
                          strerror(error));
    }
    return cli_format("sizes of thread pools are not known: reading another process's memory needs the same user, and "
                      "%s; root may read it",
                      scope == '0' ? "a process that allows it (it must be dumpable)"
                                   : "/proc/sys/kernel/yama/ptrace_scope to be 0");
}

static void read_threads(inspect_process *p, inspect_library *library, uint64_t counter, bool *told) {
    enum { MOST_THREADS = 4096 };
    int value = 0;
    const int error = counter ? read_variable(p->pid, library->file->start + counter, &value, sizeof value) : 0;
    if (error && error != ESRCH && !*told) {
        *told = true;
        inspect_problem(p, memory_problem(error));
    }
    library->threads = !error && value > 0 && value <= MOST_THREADS ? value : 0;
}

/* Returns the name of a kernel set as OpenBLAS's functions return it. */
static char *spell_kernels(const char *table) {
    static const char *const mixed[] = {"SkylakeX", "SapphireRapids", "Opteron_SSE3"};
    char *name = cli_format("%s", table);
    for (char *at = name; *at; at++) {
        *at = at == name ? *at : (char)tolower((unsigned char)*at);
    }
    for (size_t i = 0; i < sizeof mixed / sizeof mixed[0]; i++) {
        if (strcasecmp(name, mixed[i]) == 0) {
            memcpy(name, mixed[i], strlen(mixed[i]));
        }
    }
    return name;
}

/* OpenBLAS chooses its kernels when it is opened, by the processor and a variable, which the program may have set after
 * its start. A program that ran has the choice in its memory alone. */
static void read_kernels(const inspect_process *p, inspect_library *library, const marks *m) {
    const uint64_t start = library->file->start;
    uint64_t table = 0;
    if (!m->chosen || read_variable(p->pid, start + m->chosen, &table, sizeof table) != 0) {
        return;
    }
    for (int i = 0; i < m->table_count && !library->kernels; i++) {
        library->kernels = table == start + m->tables[i].value ? spell_kernels(m->tables[i].name) : NULL;
    }
}

const char *inspect_kernels(const inspect_library *library) {
    return library->kernels ? library->kernels : library->facts.id ? library->facts.kernels : "";
}

/* ---- Files ---- */

static void add_library(inspect_process *p, const inspect_file *file, const char *family, const marks *m, bool *told) {
    const bool runtime = m->gomp || m->kmp;
    p->libraries = cli_grow(p->libraries, (size_t)(p->library_count + 1) * sizeof *p->libraries);
    inspect_library *made = &p->libraries[p->library_count++];
    *made = (inspect_library){.file = file, .family = family};
    made->interfaces = runtime ? INSPECT_OPENMP
                               : (m->blas ? INSPECT_BLAS : 0U) | (m->lapack ? INSPECT_LAPACK : 0U) |
                                     (m->fftw ? INSPECT_FFTW : 0U) | (m->dnnl ? INSPECT_DNN : 0U);
    made->wide_names = m->wide_names;
    made->wide = strstr(file->path, "blas64") || strstr(file->path, "lapack64") || strstr(file->path, "ilp64");
    made->same_here = !file->deleted && inspect_same_file(p, file->path);
    read_threads(p, made, m->counter, told);
    read_kernels(p, made, m);
}

static void examine_libraries(inspect_process *p, inspect_file *file, bool *told) {
    const int opened = inspect_open(p, file);
    inspect_elf *elf = opened >= 0 ? inspect_elf_open(opened) : NULL;
    marks m = {.counter = 0};
    if (elf) {
        inspect_elf_symbols(elf, mark, &m);
        file->needed = inspect_elf_needed(elf, &file->soname);
        const char *family = family_of(&m, file);
        if (family) {
            add_library(p, file, family, &m, told);
        }
    }
    for (int i = 0; i < m.table_count; i++) {
        free(m.tables[i].name);
    }
    free(m.tables);
    inspect_elf_free(elf);
    if (opened >= 0) {
        close(opened);
    }
}

/* ---- Users and facts ---- */

static const char *file_name(const inspect_file *file) {
    const char *slash = strrchr(file->path, '/');
    return slash ? slash + 1 : file->path;
}

static bool needs(const inspect_file *file, const inspect_file *library) {
    const char *names[] = {library->soname, file_name(library)};
    for (const char *at = file->needed; at && *at;) {
        const size_t length = strcspn(at, "\n");
        for (int i = 0; i < 2; i++) {
            if (names[i] && strlen(names[i]) == length && memcmp(names[i], at, length) == 0) {
                return true;
            }
        }
        at += length + (at[length] == '\n');
    }
    return false;
}

static void find_users(inspect_process *p, inspect_library *library) {
    for (int i = 0; i < p->file_count; i++) {
        if (&p->files[i] != library->file && needs(&p->files[i], library->file)) {
            library->users = cli_join(library->users, ", ", file_name(&p->files[i]));
        }
    }
}

static bool has_folder(const char *folders, const char *folder) {
    const size_t size = strlen(folder);
    for (const char *at = folders; at && *at;) {
        const size_t length = strcspn(at, ":");
        if (length == size && memcmp(at, folder, size) == 0) {
            return true;
        }
        at += length + (at[length] == ':');
    }
    return false;
}

/* Gives this process the variables of the other one that select kernels, because a library selects them when the probe
 * opens it. */
static void take_selections(const inspect_process *p) {
    const char *name;
    for (int i = 0; (name = doctor_variable_at(i)); i++) {
        unsetenv(name);
    }
    for (int i = 0; i < p->selection_count; i++) {
        char *line = cli_format("%s", p->selections[i]), *equals = strchr(line, '=');
        *equals = '\0';
        setenv(line, equals + 1, 1);
        free(line);
    }
}

/* Looks the library up in Backplane's list, which knows its version and kernels. Folders that the list does not search
 * are added to it. */
void inspect_facts(inspect_process *p) {
    const char *given = getenv("BACKPLANE_LIBRARY_PATH");
    char *folders = cli_format("%s", given ? given : "");
    for (int i = 0; i < p->library_count; i++) {
        const char *path = p->libraries[i].file->path;
        char *folder = cli_format("%.*s", (int)(strrchr(path, '/') - path), path);
        if (*folder && !strchr(folder, ':') && !has_folder(folders, folder)) {
            folders = cli_join(folders, ":", folder);
        }
        free(folder);
    }
    setenv("BACKPLANE_LIBRARY_PATH", folders, 1);
    take_selections(p);
    free(folders);
    cli_progress_begin(CLI_EXAMINING);
    for (int i = 0; i < p->library_count; i++) {
        inspect_library *library = &p->libraries[i];
        bp_library_info facts = {.struct_size = sizeof facts};
        char *real = library->same_here ? realpath(library->file->path, NULL) : NULL;
        if (real && bp_library_find(real, &facts) == BP_OK && strcmp(facts.path, real) == 0) {
            library->facts = facts;
            library->facts.kernels = p->environment_known ? facts.kernels : "";
        }
        free(real);
    }
    cli_progress_end();
}

void inspect_libraries(inspect_process *p) {
    bool told = false;
    for (int i = 0; i < p->file_count; i++) {
        examine_libraries(p, &p->files[i], &told);
    }
    for (int i = 0; i < p->library_count; i++) {
        find_users(p, &p->libraries[i]);
    }
}
