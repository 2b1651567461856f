/* busy.c - times a program that mixes operations, on the quiet machine and while other processes keep processors busy.
 *
 *     busy [busy processes] [seconds] [settings...]     default: one process on each processor but one, 8, see below
 *
 * A round is gemv 1000, products of 24x24x24, 300x300x300 and 512x8x512, a solve of 200, a transform of 4096 and a
 * contraction of two tensors of four dimensions, in f64. Each setting runs in a process of its own, as a program would,
 * for the given time, first on the quiet machine, then next to the busy processes, if there are any; the settings take
 * turns. The first second is not counted. Shown are the median of the rounds, their quartiles, the time that one round
 * of a hundred exceeds, the slowest one, and the ratio of the median to the best setting's.
 */
#define _GNU_SOURCE
#include "backplane.h"
#include "timing.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_SETTINGS = 16, TURNS = 4, TENSORS = 16, MOST_ROUNDS = 1 << 16 };

typedef struct result {
    double median, quartile[2], slowest; /* in milliseconds */
    double centile;                      /* one round of a hundred takes longer */
} result;

static void die(const char *what) {
    fprintf(stderr, "busy: %s: %s\n", what, bp_last_error());
    exit(1);
}

static void check(bp_status status, const char *what) {
    if (status != BP_OK) {
        die(what);
    }
}

/* ---- One round ---- */

static DLTensor *data[TENSORS];

static void make(int i, bp_dtype dtype, int ndim, const int64_t *shape) {
    DLManagedTensorVersioned *tensor;
    check(bp_tensor_new(&tensor, dtype, ndim, shape), "a tensor");
    data[i] = &tensor->dl_tensor;
    size_t bytes = bp_dtype_size(dtype);
    for (int d = 0; d < ndim; d++) {
        bytes *= (size_t)shape[d];
    }
    timing_fill_f64(data[i]->data, bytes / sizeof(double));
}

static void make_all(void) {
    make(0, BP_F64, 2, (int64_t[]){1000, 1000});
    make(1, BP_F64, 1, (int64_t[]){1000});
    make(2, BP_F64, 1, (int64_t[]){1000});
    make(3, BP_F64, 2, (int64_t[]){300, 300});
    make(4, BP_F64, 2, (int64_t[]){300, 300});
    make(5, BP_F64, 2, (int64_t[]){512, 8});
    make(6, BP_F64, 2, (int64_t[]){8, 512});
    make(7, BP_F64, 2, (int64_t[]){512, 512});
    make(8, BP_F64, 2, (int64_t[]){200, 200});
    make(9, BP_C128, 1, (int64_t[]){4096});
    make(10, BP_C128, 1, (int64_t[]){4096});
    make(11, BP_F64, 2, (int64_t[]){24, 24});
    make(12, BP_F64, 4, (int64_t[]){17, 13, 11, 9});
    make(13, BP_F64, 4, (int64_t[]){10, 9, 13, 12});
    make(14, BP_F64, 4, (int64_t[]){11, 12, 17, 10});
    make(15, BP_F64, 2, (int64_t[]){24, 24});
    double *a = data[8]->data;
    for (int i = 0; i < 200; i++) {
        a[201 * i] += 20; /* far from singular */
    }
}

static void contract(void) {
    const DLTensor *const operands[] = {data[12], data[13]};
    const bp_einsum_call call = {
        .struct_size = sizeof call, .expression = "dbac,ecbf->afde", .count = 2, .operands = operands};
    check(bp_einsum_run(NULL, &call, data[14]), "a contraction");
}

static void run_round(void) {
    check(bp_matmul(data[0], data[1], data[2]), "gemv");
    check(bp_matmul(data[11], data[11], data[15]), "a product");
    check(bp_matmul(data[3], data[3], data[4]), "a product");
    check(bp_matmul(data[5], data[6], data[7]), "a product");
    static DLTensor right, solution;
    right = *data[1];
    solution = *data[2];
    static int64_t size = 200;
    right.shape = solution.shape = &size;
    bp_linalg_call solve = {.struct_size = sizeof solve, .op = BP_OP_SOLVE, .input = {data[8], &right}};
    solve.output[0] = &solution;
    check(bp_linalg_run(NULL, &solve), "a solve");
    bp_fft_call transform = {.struct_size = sizeof transform, .transform = BP_FFT, .axis_count = 1};
    check(bp_fft_run(NULL, &transform, data[9], data[10]), "a transform");
    contract();
}

/* ---- One setting, in a process of its own ---- */

static int order(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static result run_setting(const char *settings, double seconds) {
    static double ms[MOST_ROUNDS];
    bp_scope *scope;
    check(bp_scope_enter(&scope, settings), settings);
    make_all();
    int rounds = 0;
    const int64_t begin = timing_now(), counted = begin + 1000000000, end = counted + (int64_t)(seconds * 1e9);
    for (int64_t now = begin; now < end && rounds < MOST_ROUNDS;) {
        run_round();
        const int64_t after = timing_now();
        if (now >= counted) {
            ms[rounds++] = (double)(after - now) / 1e6;
        }
        now = after;
    }
    qsort(ms, (size_t)rounds, sizeof *ms, order);
    const int last = rounds > 0 ? rounds - 1 : 0;
    return (result){.median = ms[last / 2],
                    .quartile = {ms[last / 4], ms[last - last / 4]},
                    .centile = ms[last - last / 100],
                    .slowest = ms[last]};
}

static result run_alone(const char *settings, double seconds) {
    int ends[2];
    result r = {0};
    if (pipe(ends) != 0) {
        exit(1);
    }
    const pid_t child = fork();
    if (child == 0) {
        r = run_setting(settings, seconds);
        _exit(write(ends[1], &r, sizeof r) == sizeof r ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &r, sizeof r) != sizeof r) {
        fprintf(stderr, "busy: %s failed\n", settings);
        exit(1);
    }
    close(ends[0]);
    waitpid(child, NULL, 0);
    return r;
}

/* ---- All settings ---- */

static pid_t busy[256];

static void start_busy(int count) {
    for (int i = 0; i < count; i++) {
        busy[i] = fork();
        if (busy[i] == 0) {
            for (volatile unsigned n = 0;; n++) {
            }
        }
    }
}

static void stop_busy(int count) {
    for (int i = 0; i < count; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
}

static int by_median(const void *x, const void *y) {
    return order(&((const result *)x)->median, &((const result *)y)->median);
}

/* Shows the middle turn of each setting. */
static void show(const char *const *settings, int count, result (*turns)[TURNS]) {
    double best = 1e300, slowest[MOST_SETTINGS] = {0};
    for (int s = 0; s < count; s++) {
        for (int t = 0; t < TURNS; t++) {
            slowest[s] = turns[s][t].slowest > slowest[s] ? turns[s][t].slowest : slowest[s];
        }
        qsort(turns[s], TURNS, sizeof turns[s][0], by_median);
        best = turns[s][TURNS / 2].median < best ? turns[s][TURNS / 2].median : best;
    }
    for (int s = 0; s < count; s++) {
        const result *r = &turns[s][TURNS / 2];
        printf("%-62s %8.3f (%.3f to %.3f; turns %.3f to %.3f)  one of a hundred %8.2f  slowest %8.2f  %6.3f\n",
               settings[s], r->median, r->quartile[0], r->quartile[1], turns[s][0].median, turns[s][TURNS - 1].median,
               r->centile, slowest[s], r->median / best);
    }
    fflush(stdout);
}

static void measure(const char *const *settings, int count, double seconds) {
    result turns[MOST_SETTINGS][TURNS];
    for (int t = 0; t < TURNS; t++) {
        for (int s = 0; s < count; s++) {
            turns[s][t] = run_alone(settings[s], seconds);
        }
    }
    show(settings, count, turns);
}

/* Returns -1 if the text is no such number. */
static int number_of_processes(const char *text) {
    char *end;
    const int number = timing_number(text, &end);
    return number > 0 && *end == '\0' ? number : strcmp(text, "0") == 0 ? 0 : -1;
}

int main(int argc, char **argv) {
    static const char *const usual[] = {
        "threads.adapt=true",
        "threads.adapt=false",
        "num_threads=1",
        "threads.adapt=false, blas.preferred=native, linalg.preferred=native, fft.preferred=native",
        "threads.adapt=false, blas.preferred=openblas, linalg.preferred=openblas",
        "threads.adapt=false, blas.preferred=blis",
        "threads.adapt=false, blas.preferred=mkl, linalg.preferred=mkl, fft.preferred=mkl",
        "num_threads=1, blas.preferred=openblas, linalg.preferred=openblas",
        "num_threads=1, blas.preferred=mkl, linalg.preferred=mkl, fft.preferred=mkl",
    };
    const int processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
    const int wanted = argc > 1 ? number_of_processes(argv[1]) : processors - 1;
    const int processes = wanted < 256 ? wanted : 256;
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : 8.0 / TURNS;
    const char *const *settings = argc > 3 ? (const char *const *)argv + 3 : usual;
    const int count = argc > 3 ? argc - 3 : (int)(sizeof usual / sizeof usual[0]);
    if (wanted < 0 || count > MOST_SETTINGS) {
        fprintf(stderr, "busy: not a number of processes, or more than %d settings\n", MOST_SETTINGS);
        return 1;
    }
    printf("milliseconds for a round: median (quartiles; medians of %d turns), the time that one round of a hundred "
           "exceeds, the slowest round, the median by the best one\n",
           TURNS);
    printf("quiet, %d processors\n", processors);
    measure(settings, count, seconds);
    if (processes > 0) {
        printf("next to %d busy processes\n", processes);
        start_busy(processes);
        measure(settings, count, seconds);
        stop_busy(processes);
    }
    return 0;
}
