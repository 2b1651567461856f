/* support_steps.c - starts the steps of tests of measured times. */
#define _GNU_SOURCE
#include "calibration/steps.h"
#include "support/conditions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

char steps_program[4096], steps_folder[] = "/tmp/backplane-calibration-XXXXXX";

void expect(bool condition, const char *what) {
    if (!condition) {
        fprintf(stderr, "not true: %s\n", what);
        exit(1);
    }
}

bool is_chosen(const bp_explanation *e, const char *library, bp_time_source *source) {
    bp_candidate_info info = {.struct_size = sizeof info};
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        if (strcmp(info.library, library) == 0) {
            *source = info.time_source;
            return info.chosen != 0;
        }
    }
    fprintf(stderr, "'%s' is no candidate\n", library);
    exit(1);
}

void write_modules(const char *provider, char *path, size_t size) {
    snprintf(path, size, "%s", steps_program);
    snprintf(strrchr(path, '/'), 128, "/calibration-%s", provider);
}

int run_with(const char *provider, const char *name) {
    char modules[4200];
    write_modules(provider, modules, sizeof modules);
    const pid_t child = fork();
    if (child == 0) {
        setenv("BACKPLANE_PROVIDER_PATH", modules, 1);
        execl(steps_program, steps_program, name, (char *)NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int clear_store(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", steps_folder);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "mkdir -m 700 %s", steps_folder);
    return system(command);
}

bool steps_begin(int count, char **words, const step *steps, int step_count) {
    const ssize_t length = readlink("/proc/self/exe", steps_program, sizeof steps_program - 1);
    steps_program[length > 0 ? length : 0] = '\0';
    for (int i = 0; count > 1 && i < step_count; i++) {
        if (strcmp(steps[i].name, words[1]) == 0) {
            steps[i].run();
            exit(0);
        }
    }
    if (count > 1) {
        exit(2);
    }
    if (test_emulated()) {
        printf("skipped: the measurements of an emulated program take longer than their limits of time\n");
        return false;
    }
    if (!mkdtemp(steps_folder)) {
        exit(1);
    }
    setenv("BACKPLANE_CACHE_DIR", steps_folder, 1);
    setenv("BACKPLANE_CALIBRATION", "auto", 1);
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    return true;
}

void steps_end(void) {
    clear_store(NULL);
    rmdir(steps_folder);
}
