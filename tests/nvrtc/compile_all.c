/* compile_all.c - compiles the programs that the double of NVRTC has kept in a folder with the real NVRTC, for several
 * targets; no device is needed. Kernels that keep registers in memory are counted.
 * Usage: nvrtc_compile_all FOLDER LIBRARY */
#define _GNU_SOURCE
#include "providers/nvrtc/api.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MOST = 64, PATH_BYTES = 1024 };
static const char *const architectures[] = {"sm_80", "sm_90", "sm_100", "sm_120"};
static bp__nvrtc_api api;
static int compiled, failed, spilling;

static bool load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    bool complete = library != NULL;
#define X(name, symbol, parameters)                                                                                    \
    api.name = complete ? (nvrtcResult(*) parameters)dlsym(library, #symbol) : NULL;                                   \
    complete = complete && api.name;
    BP__NVRTC_FUNCTIONS(X)
#undef X
    return complete;
}

/* Returns the text of a file, for free(). */
static char *read_text(const char *folder, const char *name) {
    char path[PATH_BYTES], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file || getdelim(&text, &size, '\0', file) < 0) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    fclose(file);
    return text;
}

/* Returns the most bytes of registers that a kernel stores in memory, as ptxas says. */
static int spilled_bytes(const char *log) {
    int most = 0;
    for (const char *at = log; (at = strstr(at, " bytes spill stores")); at++) {
        const char *digits = at;
        while (digits > log && digits[-1] >= '0' && digits[-1] <= '9') {
            digits--;
        }
        most = atoi(digits) > most ? atoi(digits) : most;
    }
    return most;
}

static void compile(const char *name, const char *source, const char *header, int count, const char **options) {
    const char *header_name = "source";
    nvrtcProgram program;
    size_t length = 0;
    if (api.CreateProgram(&program, source, "kernels.cu", 1, &header, &header_name) != BP__NVRTC_SUCCESS) {
        failed++;
        return;
    }
    const nvrtcResult result = api.CompileProgram(program, count, options);
    char *log = api.GetProgramLogSize(program, &length) == BP__NVRTC_SUCCESS ? calloc(1, length + 1) : NULL;
    if (log) {
        api.GetProgramLog(program, log);
    }
    compiled++;
    failed += result != BP__NVRTC_SUCCESS;
    if (result != BP__NVRTC_SUCCESS) {
        printf("%s %s: error %u: %.2000s\n", name, options[0], (unsigned)result, log ? log : "");
    } else if (log && spilled_bytes(log) > 0) {
        spilling++;
        printf("%s %s: %d bytes of registers are kept in memory:", name, options[0], spilled_bytes(log));
        for (int i = 1; i < count; i++) {
            printf(" %s", options[i]);
        }
        printf("\n");
    }
    free(log);
    api.DestroyProgram(&program);
}

static void compile_for_all(const char *folder, const char *name, const char *main_source) {
    char header_name[PATH_BYTES], target[40];
    const char *options[OPTIONS_MOST];
    char *text = read_text(folder, name);
    int count = 0;
    for (char *rest = text, *word; count < OPTIONS_MOST - 1 && (word = strtok_r(rest, "\n", &rest));) {
        options[count++] = strncmp(word, "--gpu-architecture=", 19) == 0 ? target : word;
    }
    options[count++] = "--ptxas-options=-v";
    snprintf(header_name, sizeof header_name, "%.*s.source", (int)(strlen(name) - strlen(".options")), name);
    char *header = read_text(folder, header_name);
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        snprintf(target, sizeof target, "--gpu-architecture=%s", architectures[i]);
        compile(name, main_source, header, count, options);
    }
    free(header);
    free(text);
}

int main(int argc, char **argv) {
    DIR *folder = argc == 3 ? opendir(argv[1]) : NULL;
    if (!folder || !load(argv[2])) {
        fprintf(stderr, "usage: %s FOLDER LIBRARY\n", argv[0]);
        return 1;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    char *main_source = read_text(argv[1], "main.cu");
    for (struct dirent *each; (each = readdir(folder));) {
        if (strstr(each->d_name, ".options")) {
            compile_for_all(argv[1], each->d_name, main_source);
        }
    }
    closedir(folder);
    free(main_source);
    printf("%d compilations, %d failed, %d with registers in memory\n", compiled, failed, spilling);
    return compiled == 0 || failed;
}
