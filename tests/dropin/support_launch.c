/* support_launch.c - runs programs under the audit object and the hooks library. */
#include "support_launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDER BP_TEST_BUILD_DIR "/backplane-launch/"

int can_launch(void) {
    if (access(FOLDER "backplane-audit.so", R_OK) == 0 && access(FOLDER "libbackplane-hooks.so", R_OK) == 0) {
        return 1;
    }
    puts("skipped: this build has no hooks library or no audit object (see the output of cmake)");
    return 0;
}

int launch(const char *environment, const char *command, const char **output) {
    static char text[65536];
    char line[4096];
    const char *sanitizer = getenv("TESTED_PRELOAD");
    snprintf(line, sizeof line, "LD_AUDIT=%sbackplane-audit.so LD_PRELOAD=%s:%slibbackplane-hooks.so %s %s 2>&1",
             FOLDER, sanitizer ? sanitizer : "", FOLDER, environment, command);
    FILE *pipe = popen(line, "r");
    size_t length = pipe ? fread(text, 1, sizeof text - 1, pipe) : 0;
    text[length] = 0;
    int status = pipe ? pclose(pipe) : -1;
    *output = text;
    if (status != 0) {
        printf("$ %s\n%s", line, text);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
