/* fft.c - times Fourier transforms: the library that Backplane chooses, its own kernels, and a direct call of FFTW with
 * a measured plan.
 *
 *     fft [types] [shapes] [threads] [rounds]      e.g. fft c64,c128 64,1000,512x512,64*1024 1,2 15
 *
 * 512x512 is one transform in two dimensions, 64*1024 are 64 transforms of 1024 elements. All are forward and out of
 * place, on random numbers in compact memory. FFTW is opened as a program linked to it would do; if it is missing, its
 * row is omitted. Times are from interleaved rounds: median in microseconds with quartiles, and GFLOP/s by 5 n log2(n).
 */
#include "backplane.h"
#include "timing.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define MOST_CASES 64

/* FFTW's own names and values, for one precision. */
typedef struct fftw {
    void *(*plan_many)(int rank, const int *n, int howmany, void *in, const int *inembed, int istride, int idist,
                       void *out, const int *onembed, int ostride, int odist, int sign, unsigned flags);
    void (*execute)(void *plan);
    void (*destroy)(void *plan);
    int (*init_threads)(void);
    void (*plan_with_threads)(int count);
} fftw;

enum { FFTW_FORWARD_SIGN = -1, FFTW_MEASURE_FLAG = 0 };

typedef struct shape {
    int batch, rank, n[2];
} shape;

typedef struct job {
    const fftw *library;
    void *fftw_plan;
    bp_plan *plan;
    const DLTensor *in;
    DLTensor *out;
    const bp_fft_call *call;
} job;

static void die(const char *what) {
    fprintf(stderr, "fft: %s: %s\n", what, bp_last_error());
    exit(1);
}

static void *symbol(void *handle, const char *prefix, const char *name) {
    char text[64];
    snprintf(text, sizeof text, "%s_%s", prefix, name);
    return handle ? dlsym(handle, text) : NULL;
}

static bool open_fftw(fftw *library, bool single) {
    const char *prefix = single ? "fftwf" : "fftw";
    void *handle = dlopen(single ? "libfftw3f.so.3" : "libfftw3.so.3", RTLD_NOW | RTLD_GLOBAL);
    void *threads = dlopen(single ? "libfftw3f_threads.so.3" : "libfftw3_threads.so.3", RTLD_NOW | RTLD_GLOBAL);
    memset(library, 0, sizeof *library);
    *(void **)&library->plan_many = symbol(handle, prefix, "plan_many_dft");
    *(void **)&library->execute = symbol(handle, prefix, "execute");
    *(void **)&library->destroy = symbol(handle, prefix, "destroy_plan");
    *(void **)&library->init_threads = symbol(threads, prefix, "init_threads");
    *(void **)&library->plan_with_threads = symbol(threads, prefix, "plan_with_nthreads");
    if (library->init_threads) {
        library->init_threads();
    }
    return library->plan_many && library->execute && library->destroy;
}

static void run_fftw(void *context) {
    const job *j = context;
    j->library->execute(j->fftw_plan);
}

static void run_plan(void *context) {
    const job *j = context;
    const bp_operand operands[] = {{j->in->data, 0}, {j->out->data, 0}};
    if (bp_execute(j->plan, operands, NULL) != BP_OK) {
        die("bp_execute");
    }
}

static void run_call(void *context) {
    const job *j = context;
    if (bp_fft_run(NULL, j->call, j->in, j->out) != BP_OK) {
        die("bp_fft_run");
    }
}

/* ---- Cases ---- */

static shape read_shape(const char *text) {
    shape s = {.batch = 1, .rank = 1};
    char *end;
    s.n[0] = timing_number(text, &end);
    if (*end == '*') {
        s.batch = s.n[0];
        s.n[0] = timing_number(end + 1, &end);
    }
    if (*end == 'x') {
        s.rank = 2;
        s.n[1] = timing_number(end + 1, &end);
    }
    if (*end || s.n[0] < 1 || (s.rank == 2 && s.n[1] < 1)) {
        fprintf(stderr, "fft: '%s' is not a shape; examples are 64, 512x512 and 64*1024\n", text);
        exit(2);
    }
    return s;
}

static double flops(const shape *s) {
    double n = (double)s->n[0] * (s->rank == 2 ? s->n[1] : 1);
    return 5 * n * log2(n) * s->batch;
}

static bp_plan *plan_of(const char *settings, const bp_fft_call *call, const DLTensor *in, const DLTensor *out) {
    bp_plan *plan;
    bp_options *options = NULL;
    if (settings && bp_options_new(&options, settings) != BP_OK) {
        die(settings);
    }
    bp_status status = bp_fft_plan(&plan, options, call, in, out);
    bp_options_release(options);
    return status == BP_OK ? plan : NULL;
}

static void show(candidate *c, double reference, double operations, const char *library) {
    double median = timing_median(c);
    printf("  %-22s %12.3f us [%10.3f, %10.3f] %8.2f GFLOP/s  %6.3f  %s\n", c->name, median / 1e3,
           timing_quantile(c, 0.25) / 1e3, timing_quantile(c, 0.75) / 1e3, operations / median,
           reference > 0 ? reference / median : 0.0, library);
}

static void *plan_fftw(const fftw *library, const shape *s, void *in, void *out, int threads) {
    int distance = s->n[0] * (s->rank == 2 ? s->n[1] : 1);
    if (library->plan_with_threads) {
        library->plan_with_threads(threads);
    }
    return library->plan_many(s->rank, s->n, s->batch, in, NULL, 1, distance, out, NULL, 1, distance, FFTW_FORWARD_SIGN,
                              FFTW_MEASURE_FLAG);
}

static void describe(const bp_plan *plan, char *text, size_t size) {
    bp_plan_info info = {.struct_size = sizeof info};
    bp_plan_describe(plan, &info);
    snprintf(text, size, "%s %s (%s), %d threads", info.library, info.library_version, info.algorithm, info.threads);
}

typedef struct totals {
    double chosen, native;
    int cases;
} totals;

static void benchmark(const fftw *library, bp_dtype dtype, const char *text, int threads, int rounds, totals *sums) {
    shape s = read_shape(text);
    int64_t sizes[3] = {s.batch, s.n[0], s.n[1]};
    DLManagedTensorVersioned *in, *out;
    if (bp_tensor_new(&in, dtype, s.rank + 1, sizes) != BP_OK ||
        bp_tensor_new(&out, dtype, s.rank + 1, sizes) != BP_OK) {
        die("memory");
    }
    bp_fft_call call = {.struct_size = sizeof call, .transform = BP_FFT, .axis_count = s.rank};
    job jobs[4] = {0};
    for (int i = 0; i < 4; i++) {
        jobs[i] = (job){.library = library, .in = &in->dl_tensor, .out = &out->dl_tensor, .call = &call};
    }
    candidate list[4] = {0};
    char libraries[4][160] = {""};
    int count = 0;
    double begin = (double)timing_now(), planning = 0;
    if (library) {
        jobs[count].fftw_plan = plan_fftw(library, &s, in->dl_tensor.data, out->dl_tensor.data, threads);
        planning = ((double)timing_now() - begin) / 1e6;
        snprintf(libraries[count], sizeof libraries[0], "planned in %.1f ms", planning);
        list[count] = (candidate){.name = "FFTW measured, direct", .run = run_fftw, .context = &jobs[count]};
        count++;
    }
    static const char *const settings[] = {NULL, "fft.preferred=native, dispatch.fallback=strict"};
    static const char *const names[] = {"Backplane plan", "native plan"};
    int first = count;
    for (int i = 0; i < 2; i++) {
        begin = (double)timing_now();
        jobs[count].plan = plan_of(settings[i], &call, &in->dl_tensor, &out->dl_tensor);
        if (!jobs[count].plan) {
            die(names[i]);
        }
        planning = ((double)timing_now() - begin) / 1e6;
        describe(jobs[count].plan, libraries[count], sizeof libraries[0]);
        size_t used = strlen(libraries[count]);
        snprintf(libraries[count] + used, sizeof libraries[0] - used, ", planned in %.1f ms", planning);
        list[count] = (candidate){.name = names[i], .run = run_plan, .context = &jobs[count]};
        count++;
    }
    list[count] = (candidate){.name = "Backplane one-shot", .run = run_call, .context = &jobs[count]};
    count++;
    size_t elements = (size_t)s.batch * (size_t)s.n[0] * (size_t)(s.rank == 2 ? s.n[1] : 1);
    if (dtype == BP_C64) {
        timing_fill_f32(in->dl_tensor.data, 2 * elements);
    } else {
        timing_fill_f64(in->dl_tensor.data, 2 * elements);
    }
    timing_interleave(list, count, rounds, 2e6, threads);
    printf("%s %s, %d thread%s\n", bp_dtype_name(dtype), text, threads, threads == 1 ? "" : "s");
    double reference = library ? timing_median(&list[0]) : 0;
    for (int i = 0; i < count; i++) {
        show(&list[i], reference, flops(&s), libraries[i]);
    }
    if (library) {
        sums->chosen += log(reference / timing_median(&list[first]));
        sums->native += log(reference / timing_median(&list[first + 1]));
        sums->cases++;
        library->destroy(jobs[0].fftw_plan);
    }
    for (int i = first; i < first + 2; i++) {
        bp_plan_release(jobs[i].plan);
    }
    in->deleter(in);
    out->deleter(out);
}

int main(int argc, char **argv) {
    char types[64], shapes[512], counts[64];
    snprintf(types, sizeof types, "%s", argc > 1 ? argv[1] : "c64,c128");
    snprintf(shapes, sizeof shapes, "%s",
             argc > 2 ? argv[2] : "16,64,256,1024,4096,16384,65536,262144,1048576,1000,10007,512x512,64*1024");
    snprintf(counts, sizeof counts, "%s", argc > 3 ? argv[3] : "1,2");
    char *end;
    int rounds = argc > 4 ? timing_number(argv[4], &end) : 15;
    const char *type[8], *text[MOST_CASES], *threads[8];
    int type_count = timing_split(types, type, 8), shape_count = timing_split(shapes, text, MOST_CASES);
    int thread_count = timing_split(counts, threads, 8);
    printf(
        "column before the library: time of FFTW's measured plan divided by the time; above 1 is faster than FFTW\n");
    for (int t = 0; t < thread_count; t++) {
        if (bp_set("num_threads", threads[t]) != BP_OK) {
            die("num_threads");
        }
        for (int d = 0; d < type_count; d++) {
            bp_dtype dtype = bp_dtype_from_name(type[d]);
            fftw library;
            bool there = open_fftw(&library, dtype == BP_C64);
            totals sums = {0};
            for (int i = 0; i < shape_count; i++) {
                benchmark(there ? &library : NULL, dtype, text[i], timing_number(threads[t], &end), rounds, &sums);
                fflush(stdout);
            }
            if (sums.cases > 0) {
                printf("geometric means over %d shapes, %s, %s threads: Backplane %.3f, native %.3f of FFTW's speed\n",
                       sums.cases, type[d], threads[t], exp(sums.chosen / sums.cases), exp(sums.native / sums.cases));
            }
        }
    }
    return 0;
}
