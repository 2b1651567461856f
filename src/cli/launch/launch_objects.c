/* launch_objects.c - finds what the objects need with which a program starts.
 *
 * The program's loader lists them, as for ldd: those that the program and its libraries name, and those in LD_PRELOAD.
 * It runs none of their code.
 */
#include "launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The list ---- */

static void list_objects(const cli_program *program, const char *preload, int output) {
    const int nothing = open("/dev/null", O_WRONLY);
    const char *path = program->interpreter ? program->interpreter : program->path;
    dup2(output, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    cli_signals_restore();
    unsetenv("LD_AUDIT");
    if (setenv("LD_PRELOAD", preload, 1) == 0) {
        execl(program->loader, program->loader, "--list", path, (char *)NULL);
    }
    _exit(1);
}

static void read_all(int file, bp__text *text) {
    char part[4096];
    for (ssize_t got = 1; got > 0 || (got < 0 && errno == EINTR);) {
        got = read(file, part, sizeof part);
        bp__text_add_n(text, part, got > 0 ? (size_t)got : 0);
    }
}

/* Adds the loader's list, one object a line, if there is one. */
static void add_objects(bp__text *text, const cli_program *program, const char *preload) {
    int ends[2];
    if (!program->loader || !program->audited || pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    const pid_t started = fork();
    if (started == 0) {
        list_objects(program, preload, ends[1]);
    }
    close(ends[1]);
    read_all(ends[0], text);
    close(ends[0]);
    while (started > 0 && waitpid(started, NULL, 0) < 0 && errno == EINTR) {
    }
}

/* ---- Objects ---- */

/* Returns the path in a line such as "libm.so.6 => /lib/libm.so.6 (0x7f00)" or "/lib/first.so (0x7f00)", or NULL. */
static char *path_in(char *line) {
    char *path = strstr(line, " => "), *end = strrchr(line, '(');
    path = path ? path + 4 : line + strspn(line, " \t");
    if (*path != '/' || !end || end <= path) {
        return NULL;
    }
    end[-1] = '\0';
    return path;
}

static bool is_sanitizer(const char *path) {
    static const char *const starts[] = {"libasan.so", "libhwasan.so", "liblsan.so", "libtsan.so", "libclang_rt."};
    const char *name = strrchr(path, '/') + 1;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        if (strncmp(name, starts[i], strlen(starts[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns the size of an object's variables of threads. */
static uint64_t tls_of(const char *path) {
    Elf64_Ehdr head;
    uint64_t bytes = 0;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const bool read = file >= 0 && pread(file, &head, sizeof head, 0) == (ssize_t)sizeof head;
    for (int i = 0; read && i < head.e_phnum; i++) {
        Elf64_Phdr segment;
        const off_t at = (off_t)head.e_phoff + (off_t)i * head.e_phentsize;
        if (pread(file, &segment, sizeof segment, at) == (ssize_t)sizeof segment && segment.p_type == PT_TLS) {
            bytes += segment.p_memsz + segment.p_align;
        }
    }
    if (file >= 0) {
        close(file);
    }
    return bytes;
}

void launch_objects_find(const cli_program *program, const char *preload, launch_objects *found) {
    bp__text text = {.length = 0};
    add_objects(&text, program, preload);
    char *list = cli_format("%s", bp__text_get(&text)), *rest = list;
    bp__text_free(&text);
    *found = (launch_objects){.sanitizer = NULL};
    for (char *line; (line = strtok_r(rest, "\n", &rest));) {
        const char *path = path_in(line);
        if (path && !found->sanitizer && is_sanitizer(path)) {
            found->sanitizer = cli_format("%s", path);
        }
        found->static_tls += path ? tls_of(path) : 0;
    }
    free(list);
}
