/* program_find.c - finds a program and tells whether the loader can redirect its calls.
 *
 * The loader of a program reads LD_AUDIT and LD_PRELOAD. A static program has no loader, one with another user's rights
 * ignores the variables, and one for another processor would need libraries of its own.
 */
#include "program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { MOST_INTERPRETERS = 4 };

/* ---- PATH ---- */

static bool can_run(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

char *program_search_path(const char *name) {
    const char *folders = getenv("PATH");
    for (const char *at = folders ? folders : "/usr/local/bin:/usr/bin:/bin";;) {
        const size_t length = strcspn(at, ":");
        char *path = length ? cli_format("%.*s/%s", (int)length, at, name) : cli_format("./%s", name);
        if (can_run(path)) {
            return path;
        }
        free(path);
        if (!at[length]) {
            return NULL;
        }
        at += length + 1;
    }
}

static int find_file(const char *name, char **path) {
    *path = strchr(name, '/') ? cli_format("%s", name) : program_search_path(name);
    if (!*path) {
        cli_fail(CLI_IO, "%s: no such program in PATH", name);
        return PROGRAM_NOT_FOUND;
    }
    if (can_run(*path)) {
        return CLI_OK;
    }
    const int reason = access(*path, F_OK) == 0 ? EACCES : errno;
    struct stat facts;
    const bool folder = stat(*path, &facts) == 0 && !S_ISREG(facts.st_mode);
    cli_fail(CLI_IO, "%s: %s", *path, folder ? "it is no program" : strerror(reason));
    return reason == ENOENT ? PROGRAM_NOT_FOUND : PROGRAM_CANNOT_RUN;
}

/* ---- The file ---- */

/* Reads the loader's name from the segments. Returns NULL, or why there is none. */
static const char *read_loader(int file, const Elf64_Ehdr *head, char *loader, size_t size) {
    for (int i = 0; i < head->e_phnum; i++) {
        Elf64_Phdr segment;
        const off_t at = (off_t)head->e_phoff + (off_t)i * head->e_phentsize;
        if (pread(file, &segment, sizeof segment, at) != (ssize_t)sizeof segment) {
            return "its file is damaged";
        }
        if (segment.p_type == PT_INTERP) {
            const size_t length = segment.p_filesz < size ? (size_t)segment.p_filesz : size - 1;
            const ssize_t got = pread(file, loader, length, (off_t)segment.p_offset);
            loader[got > 0 ? got : 0] = '\0';
            return NULL;
        }
    }
    return "it is statically linked";
}

/* Reads from an ELF file whether the program's calls can be redirected. */
static void judge_elf(cli_program *program, int file, const Elf64_Ehdr *head) {
#ifdef __aarch64__
    enum { MACHINE = EM_AARCH64 };
#else
    enum { MACHINE = EM_X86_64 };
#endif
    char loader[PATH_MAX] = "";
    if (head->e_ident[EI_CLASS] != ELFCLASS64) {
        program->refused = "it is a 32-bit program";
        return;
    }
    if (head->e_machine != MACHINE) {
        program->refused = "it is a program for another processor";
        return;
    }
    program->refused = read_loader(file, head, loader, sizeof loader);
    program->audited = !strstr(loader, "ld-musl");
    free(program->loader);
    program->loader = *loader ? cli_format("%s", loader) : NULL;
}

/* Returns whether the program gets rights that its caller does not have. */
static bool changes_rights(int file) {
    struct stat facts;
    if (fstat(file, &facts) != 0) {
        return false;
    }
    const bool user = (facts.st_mode & S_ISUID) && facts.st_uid != geteuid();
    const bool group = (facts.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && facts.st_gid != getegid();
    return user || group || (geteuid() != 0 && fgetxattr(file, "security.capability", NULL, 0) > 0);
}

/* ---- Scripts ---- */

/* Returns the file of a script's interpreter, or NULL: "#!/usr/bin/env python3" names python3. */
static char *interpreter_of(const char *line) {
    const char *at = line + strspn(line, " \t");
    const size_t length = strcspn(at, " \t\n\r");
    char *path = cli_format("%.*s", (int)length, at);
    const char *name = strrchr(path, '/');
    if (strcmp(name ? name + 1 : path, "env") != 0) {
        return path;
    }
    free(path);
    at += length;
    at += strspn(at, " \t");
    if (strncmp(at, "-S", 2) == 0) {
        at += 2 + strspn(at + 2, " \t");
    }
    char *word = cli_format("%.*s", (int)strcspn(at, " \t\n\r"), at);
    path = strchr(word, '/') ? cli_format("%s", word) : program_search_path(word);
    free(word);
    return path;
}

/* Reads the first bytes of a file. Sets *next to a script's interpreter. */
static void judge_program(cli_program *program, const char *path, char **next) {
    union {
        char text[512];
        Elf64_Ehdr head;
    } start;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = file >= 0 ? pread(file, start.text, sizeof start.text - 1, 0) : -1;
    start.text[got > 0 ? got : 0] = '\0';
    if (got < 0) {
        program->audited = true; /* executable but not readable: the loader will know */
    } else if (got > 2 && start.text[0] == '#' && start.text[1] == '!') {
        *next = interpreter_of(start.text + 2);
    } else if (got >= (ssize_t)sizeof start.head && memcmp(start.text, ELFMAG, SELFMAG) == 0) {
        judge_elf(program, file, &start.head);
        if (!program->refused && changes_rights(file)) {
            program->refused = "it gets rights that you do not have (set-user-ID, set-group-ID or capabilities), and "
                               "the loader then ignores LD_AUDIT and LD_PRELOAD";
        }
    } else {
        program->refused = "it is neither a program nor a script with an interpreter";
    }
    if (file >= 0) {
        close(file);
    }
}

int program_find(cli_program *program, const char *name) {
    *program = (cli_program){.path = NULL};
    const int code = find_file(name, &program->path);
    char *next = NULL;
    if (code == CLI_OK) {
        judge_program(program, program->path, &next);
    }
    for (int i = 0; next && i < MOST_INTERPRETERS; i++) {
        free(program->interpreter);
        program->interpreter = next;
        next = NULL;
        judge_program(program, program->interpreter, &next);
    }
    free(next);
    return code;
}

void program_free(cli_program *program) {
    free(program->path);
    free(program->interpreter);
    free(program->loader);
}
