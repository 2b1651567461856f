/* kernels.c - implements kernels.h.
 *
 * PoCL's processes must not write to one folder at once, so each program has its own. Binaries of both kinds have the
 * same key in the library's store (src/providers/opencl/program.c), which knows nothing of PoCL's variable: with
 * TESTED_ALL the store is another one too. */
#define _GNU_SOURCE
#include "support/kernels.h"

#include "support/modes.h"

#include <errno.h> /* program_invocation_short_name */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static void use_folder(const char *variable, int replace, const char *format, const char *part) {
    char path[4096];
    snprintf(path, sizeof path, format, BP_TEST_BUILD_DIR, part);
    mkdir(path, 0700); /* if it fails, PoCL and the library say so */
    setenv(variable, path, replace);
}

void test_kernels_setup(void) {
    const bool all = test_takes_all();
    mkdir(BP_TEST_BUILD_DIR "/test-kernels", 0700);
    mkdir(BP_TEST_BUILD_DIR "/test-kernels/optimized", 0700);
    use_folder("POCL_CACHE_DIR", 0, all ? "%s/test-kernels/optimized/%s" : "%s/test-kernels/%s",
               program_invocation_short_name);
    if (all) {
        use_folder("BACKPLANE_CACHE_DIR", 1, "%s/%s", "test-cache-optimized");
    } else {
        setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", 0);
        setenv("POCL_WORK_GROUP_SPECIALIZATION", "0", 0); /* compiles a kernel once for all sizes of groups */
    }
}
