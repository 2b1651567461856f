/* fuzz_inspect.c - reads any bytes as the files that `backplane inspect` reads of another process: a mapped ELF file,
 * and the lines of /proc/PID/maps. */
#define _GNU_SOURCE
#include "cli/inspect/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_length(void *context, const char *name, uint64_t value, int type) {
    size_t *total = context;
    *total += strlen(name) + (value & 1) + (type == 1);
}

static void try_elf(const uint8_t *data, size_t size) {
    const int file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || write(file, data, size) != (ssize_t)size) {
        abort();
    }
    inspect_elf *elf = inspect_elf_open(file);
    if (elf) {
        size_t total = 0;
        char *soname;
        inspect_elf_symbols(elf, add_length, &total);
        free(inspect_elf_needed(elf, &soname));
        free(soname);
    }
    inspect_elf_free(elf);
    close(file);
}

static void try_maps(const uint8_t *data, size_t size) {
    inspect_process process = {.pid = 0};
    char *text = malloc(size + 1);
    if (!text) {
        abort();
    }
    memcpy(text, data, size);
    text[size] = 0;
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        inspect_maps_line(&process, line);
    }
    for (int i = 0; i < process.file_count; i++) {
        if (process.files[i].path[0] != '/') {
            abort();
        }
    }
    inspect_free(&process);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_elf(data, size);
    try_maps(data, size);
    return 0;
}
