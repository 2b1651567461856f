/* driver.c - runs a fuzz target over every seed of a folder, so that the seeds are ordinary tests without libFuzzer. It
 * also runs single inputs: fuzz_<name> FILE... repeats a finding under a debugger. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv); /* few targets have it */

static int run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    struct stat facts;
    if (!file || fstat(fileno(file), &facts) != 0) {
        perror(path);
        exit(1);
    }
    size_t size = (size_t)facts.st_size;
    /* Allocates exactly the size of the input, so that a sanitizer detects a read past its end. */
    uint8_t *data = malloc(size ? size : 1);
    if (!data || fread(data, 1, size, file) != size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static int run_folder(const char *path) {
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    int ran = 0;
    if (count < 0) {
        perror(path);
        exit(1);
    }
    for (int i = 0; i < count; i++) {
        char file[4096];
        if (entries[i]->d_name[0] != '.') {
            snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
            ran += run_file(file);
        }
        free(entries[i]);
    }
    free(entries);
    return ran;
}

int main(int argc, char **argv) {
    int ran = 0;
    if (LLVMFuzzerInitialize) {
        LLVMFuzzerInitialize(&argc, &argv);
    }
    for (int i = 1; i < argc; i++) {
        struct stat facts;
        ran += stat(argv[i], &facts) == 0 && S_ISDIR(facts.st_mode) ? run_folder(argv[i]) : run_file(argv[i]);
    }
    printf("%d inputs\n", ran);
    return ran > 0 ? 0 : 1; /* a target without a seed is a mistake */
}
