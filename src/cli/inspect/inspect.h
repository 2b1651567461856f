/* inspect.h - shared by the files of `backplane inspect`: what is known about another process.
 *
 * Everything is read from /proc and from files, so the process is not stopped and runs no code for it. It may end at
 * any time, so every read may fail.
 */
#ifndef BP_CLI_INSPECT_H
#define BP_CLI_INSPECT_H

#include "cli/command/cli.h"

#include <sys/types.h>

/* A file that the process has mapped. */
typedef struct inspect_file {
    char *path;
    bool deleted;        /* another file, or none, has its name now */
    uint64_t start, end; /* addresses of its first mapping in the process, which has its first byte */
    uint64_t device, inode;
    char *needed; /* names of the libraries that it needs, a line each */
    char *soname;
} inspect_file;

/* A math library or an OpenMP runtime of the process. */
typedef struct inspect_library {
    const inspect_file *file;
    const char *family;    /* "openblas", "mkl", "libgomp", ... */
    unsigned interfaces;   /* INSPECT_ mask */
    bool wide;             /* 64-bit integers behind names without a suffix */
    bool wide_names;       /* names with a suffix of 64-bit integers */
    int threads;           /* of its pool, read from the process; 0: not known */
    char *kernels;         /* its kernel set, read from the process; NULL: not known */
    bool same_here;        /* the file's path means the same file for this process */
    char *users;           /* names of the files that need it, "a, b"; NULL: opened by its path or name */
    bp_library_info facts; /* of Backplane's list; id NULL: it is not in the list */
} inspect_library;

enum { INSPECT_BLAS = 1, INSPECT_LAPACK = 2, INSPECT_FFTW = 4, INSPECT_OPENMP = 8, INSPECT_DNN = 16 };

typedef struct inspect_finding {
    char *text, *advice;
} inspect_finding;

/* The time of a product of square matrices in f64, which was measured by this command and not in the process. */
enum { INSPECT_PRODUCT = 512 };
typedef struct inspect_time {
    char *library, *kernels, *how; /* kernels: "" if they are not known */
    int threads;
    double ns;
} inspect_time;

/* A command, and how many times as fast products are with it. */
typedef struct inspect_command {
    char *command;
    double times;
} inspect_command;

typedef struct inspect_process {
    pid_t pid;
    char *name;
    int tasks, processors; /* threads; processors that they may use. 0: not known */
    int file_count, library_count, finding_count, problem_count;
    inspect_file *files;
    inspect_library *libraries;
    inspect_finding *findings;
    char **problems;   /* what could not be read, and why */
    char **selections; /* "NAME=VALUE" of the variables that select kernels, when the program started */
    int selection_count;
    char **limits; /* the same of the variables that limit threads */
    int limit_count;
    char *words; /* the command line for a shell; NULL: not known, or too long */
    inspect_time *times;
    int time_count;
    inspect_command *commands; /* that make the program faster, by the times */
    int command_count;
    bool environment_known;
    bool launched;         /* `launch` sends its calls to other libraries, so its own ones are not judged as slow */
    char *preload, *audit; /* LD_PRELOAD and LD_AUDIT when the program started; NULL: unset or unknown */
} inspect_process;

/* Reads a process. Returns CLI_OK, or an exit code after a message if it does not exist or nothing can be read.
 * (inspect_process.c) */
int inspect_read(inspect_process *process, pid_t pid);
/* Adds what Backplane's list knows of the libraries, and what is wrong. The process may have ended. The list is made at
 * its first use, with the folders of these libraries. */
void inspect_complete(inspect_process *process);
/* Measures the libraries that inspect_complete() has found, in children of this process, and finds the commands that
 * make the program faster. (inspect_times.c) */
void inspect_measure(inspect_process *process);
void inspect_free(inspect_process *process);
void inspect_problem(inspect_process *process, char *text); /* takes ownership */

/* What was seen of a program. */
typedef struct inspect_watched {
    inspect_process best; /* the moment with the most libraries; its pid is 0 if the program ended too soon */
    uint64_t files;       /* of the program when it was read */
} inspect_watched;

/* Reads the process again if its files have changed, and keeps what has the most libraries. `context` is an
 * inspect_watched, whose `best` inspect_free() frees. (inspect_watch.c) */
void inspect_watch(pid_t pid, void *context);

/* Reads the files that the process has mapped. Returns 0, or an errno. (inspect_maps.c) */
int inspect_maps(inspect_process *process);
/* Takes a line of /proc/PID/maps, and changes it. */
void inspect_maps_line(inspect_process *process, char *line);
/* Opens a mapped file: the one that is mapped, even if its name now means another one. Returns -1 and sets errno. */
int inspect_open(const inspect_process *process, const inspect_file *file);
/* Returns whether the path means the same file for this process as for that one, which may have other mounts. */
bool inspect_same_file(const inspect_process *process, const char *path);

/* The symbols of an ELF file. (inspect_elf.c) */
typedef struct inspect_elf inspect_elf;
inspect_elf *inspect_elf_open(int file); /* NULL: it is no 64-bit ELF file, or damaged */
void inspect_elf_free(inspect_elf *elf);
/* Calls `each` with every defined dynamic symbol. */
void inspect_elf_symbols(const inspect_elf *elf,
                         void (*each)(void *context, const char *name, uint64_t value, int type), void *context);
/* Returns the names of needed libraries, a line each, and the SONAME; free() both. */
char *inspect_elf_needed(const inspect_elf *elf, char **soname);

/* Finds the libraries among the files, and looks them up in Backplane's list. (inspect_libraries.c) */
void inspect_libraries(inspect_process *process);
void inspect_facts(inspect_process *process);

/* Returns the kernel set of a library: the one that it uses in the process, else the one that it would use under the
 * variables of the process's start; "" if neither is known. */
const char *inspect_kernels(const inspect_library *library);

/* Finds what is wrong. (inspect_findings.c) */
void inspect_judge(inspect_process *process);

#endif
