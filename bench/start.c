/* start.c - measures startup: loading the library, and the first product and `backplane list` with a filled and with an
 * empty cache.
 *
 *     start [build folder]     default: build
 *
 * Loading and the product are timed around their calls in fresh processes, the commands as whole processes. The time of
 * all processors includes the probes.
 */
#define _GNU_SOURCE
#include "timing.h"

#include "backplane.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <math.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
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

/* Makes the first product of a process in a child. */
static double multiply_once(void) {
    enum { SIDE = 64 };
    static double a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
    int ends[2];
    double ns = -1;
    if (pipe(ends) != 0) {
        exit(1);
    }
    pid_t child = fork();
    if (child == 0) {
        int64_t shape[] = {SIDE, SIDE};
        DLTensor tensors[3];
        double *const data[] = {a, b, c};
        for (int i = 0; i < 3; i++) {
            tensors[i] = (DLTensor){
                .data = data[i], .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 64, 1}, .shape = shape};
        }
        void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        bp_status (*multiply)(const DLTensor *, const DLTensor *, DLTensor *) = NULL;
        if (handle) {
            *(void **)&multiply = dlsym(handle, "bp_matmul");
        }
        int64_t start = timing_now();
        const bool done = multiply && multiply(&tensors[0], &tensors[1], &tensors[2]) == BP_OK;
        ns = done ? (double)(timing_now() - start) : -1;
        _exit(write(ends[1], &ns, sizeof ns) == sizeof ns ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &ns, sizeof ns) != sizeof ns || ns < 0) {
        fprintf(stderr, "start: no product with %s\n", library);
        exit(1);
    }
    close(ends[0]);
    waitpid(child, NULL, 0);
    return ns;
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

/* Returns the time that processors have worked for ended children, in nanoseconds. */
static double processor_time(void) {
    struct rusage use;
    getrusage(RUSAGE_CHILDREN, &use);
    return 1e9 * (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e3 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static void report(const char *what, candidate *c, const char *more) {
    printf("%-34s median %8.2f ms  min %8.2f  max %8.2f%s\n", what, timing_median(c) / 1e6, timing_quantile(c, 0) / 1e6,
           timing_quantile(c, 1) / 1e6, more);
}

enum { COLD_ROUNDS = 7, WARM_ROUNDS = 51 };

static void compare(const char *what, double (*once)(void)) {
    static candidate warm, cold;
    double least = INFINITY;
    char name[64], more[64];
    for (cold.rounds = 0; cold.rounds < COLD_ROUNDS; cold.rounds++) {
        empty_cache();
        const double before = processor_time();
        cold.ns[cold.rounds] = once();
        least = fmin(least, processor_time() - before);
    }
    for (warm.rounds = 0; warm.rounds < WARM_ROUNDS; warm.rounds++) {
        warm.ns[warm.rounds] = once();
    }
    snprintf(name, sizeof name, "%s, empty cache", what);
    snprintf(more, sizeof more, "  (all processors at least %.0f)", least / 1e6);
    report(name, &cold, more);
    snprintf(name, sizeof name, "%s, filled cache", what);
    report(name, &warm, "");
}

int main(int argc, char **argv) {
    static candidate load;
    const char *folder = argc > 1 ? argv[1] : "build";
    char more[64];
    int vendors = 0;
    snprintf(library, sizeof library, "%s/libbackplane.so", folder);
    snprintf(command, sizeof command, "%s/backplane", folder);
    if (!mkdtemp(cache)) {
        return 1;
    }
    setenv("BACKPLANE_CACHE_DIR", cache, 1);
    for (load.rounds = 0; load.rounds < WARM_ROUNDS; load.rounds++) {
        load.ns[load.rounds] = load_once(&vendors);
    }
    snprintf(more, sizeof more, "  (%d vendor libraries open)", vendors);
    report("dlopen of libbackplane.so", &load, more);
    compare("first product", multiply_once);
    compare("backplane list", list_once);
    empty_cache();
    rmdir(cache);
    return 0;
}
