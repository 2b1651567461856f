/* start.c - measures startup: loading the library, and `backplane list` with a filled and with an empty probe cache.
 *
 *     start [build folder]     default: build
 *
 * Loading is timed around dlopen in a fresh process, the commands as whole processes.
 */
#define _GNU_SOURCE
#include "timing.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char library[1024], command[1024], cache[] = "/tmp/backplane-start-XXXXXX";

static int count_object(struct dl_phdr_info *info, size_t size, void *count) {
    (void)size;
    static const char *const vendors[] = {"blas", "blis", "mkl", "lapack", "fft", "dnnl", "gomp", "iomp", "hwloc"};
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++) {
        *(int *)count += info->dlpi_name && strstr(info->dlpi_name, vendors[i]) != NULL;
    }
    return 0;
}

/* Loads the library in a child, so that each load is the first one. The child reports nanoseconds and the number of
 * vendor libraries. */
static double load_once(int *vendors) {
    int ends[2];
    double answer[2] = {0, 0};
    if (pipe(ends) != 0) {
        exit(1);
    }
    pid_t child = fork();
    if (child == 0) {
        int64_t start = timing_now();
        void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        answer[0] = handle ? (double)(timing_now() - start) : -1;
        int count = 0;
        dl_iterate_phdr(count_object, &count);
        answer[1] = count;
        _exit(write(ends[1], answer, sizeof answer) == sizeof answer ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], answer, sizeof answer) != sizeof answer || answer[0] < 0) {
        fprintf(stderr, "start: %s could not be loaded\n", library);
        exit(1);
    }
    close(ends[0]);
    waitpid(child, NULL, 0);
    *vendors = (int)answer[1];
    return answer[0];
}

static double list_once(void) {
    char *arguments[] = {command, "list", NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    int64_t start = timing_now();
    if (posix_spawn(&child, command, &actions, NULL, arguments, environ) != 0) {
        fprintf(stderr, "start: %s could not be run\n", command);
        exit(1);
    }
    int status;
    waitpid(child, &status, 0);
    double ns = (double)(timing_now() - start);
    posix_spawn_file_actions_destroy(&actions);
    return ns;
}

static void empty_cache(void) {
    char *arguments[] = {"rm", "-rf", "--", cache, NULL};
    pid_t child;
    int status;
    if (posix_spawnp(&child, "rm", NULL, NULL, arguments, environ) != 0 || waitpid(child, &status, 0) != child ||
        status != 0 || mkdir(cache, 0700) != 0) {
        fprintf(stderr, "start: %s could not be emptied\n", cache);
        exit(1);
    }
}

static void report(const char *what, candidate *c, const char *more) {
    printf("%-34s median %8.2f ms  min %8.2f  max %8.2f%s\n", what, timing_median(c) / 1e6, timing_quantile(c, 0) / 1e6,
           timing_quantile(c, 1) / 1e6, more);
}

int main(int argc, char **argv) {
    static candidate load, warm, cold;
    const char *folder = argc > 1 ? argv[1] : "build";
    char more[64];
    int vendors = 0;
    snprintf(library, sizeof library, "%s/libbackplane.so", folder);
    snprintf(command, sizeof command, "%s/backplane", folder);
    if (!mkdtemp(cache)) {
        return 1;
    }
    setenv("BACKPLANE_CACHE_DIR", cache, 1);
    for (load.rounds = 0; load.rounds < 51; load.rounds++) {
        load.ns[load.rounds] = load_once(&vendors);
    }
    snprintf(more, sizeof more, "  (%d vendor libraries open)", vendors);
    report("dlopen of libbackplane.so", &load, more);
    for (cold.rounds = 0; cold.rounds < 5; cold.rounds++) {
        empty_cache();
        cold.ns[cold.rounds] = list_once();
    }
    for (warm.rounds = 0; warm.rounds < 51; warm.rounds++) {
        warm.ns[warm.rounds] = list_once();
    }
    report("backplane list, empty probe cache", &cold, "");
    report("backplane list, filled probe cache", &warm, "");
    empty_cache();
    rmdir(cache);
    return 0;
}
