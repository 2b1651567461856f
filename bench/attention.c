/* attention.c - times attention of bf16 tensors, and of f32 tensors that may be rounded to bf16, against attention of
 * f32 tensors of the same shape, all with the switches of "flash".
 *
 *     attention [--threads N] [--rounds N] [--size N] [--kernels LENGTH]
 *
 * One item, 8 heads, rows of --size elements (default 64), 512, 2048 and 4096 queries and as many keys, causal or not.
 * Times are medians of interleaved rounds in milliseconds, with the quartiles. `gain` is the time of f32 divided by
 * the time of bf16 and of rounded f32. `peak` is the rate of the products that f32 needs, relative to the rate of a
 * loop of fused multiply-adds without memory in the same rounds, on x86-64. Each line names what ran.
 *
 * With --kernels, the kernels flash, mem_efficient and math run on f32 tensors of 128 queries and keys, twice as many,
 * up to LENGTH. The last columns are bytes of the workspace, and of the four tensors.
 */
#include "backplane.h"
#include "timing.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { HEADS = 8, VARIANTS = 3, TENSORS = 4, LOOPS = 100000, CHAINS = 16 };

/* ---- Peak ---- */

static volatile float sink;

/* Independent chains of fused multiply-adds, as many as registers allow. */
#ifdef __x86_64__
#define CHAINS_OF(name, isa, vector, set, fma)                                                                         \
    static __attribute__((target(isa))) void name(void *context) {                                                     \
        vector sum[CHAINS];                                                                                            \
        (void)context;                                                                                                 \
        for (int i = 0; i < CHAINS; i++) {                                                                             \
            sum[i] = set((float)i);                                                                                    \
        }                                                                                                              \
        for (int n = 0; n < LOOPS; n++) {                                                                              \
            _Pragma("GCC unroll 16") for (int i = 0; i < CHAINS - 2; i++) {                                            \
                sum[i] = fma(sum[i], sum[CHAINS - 1], sum[CHAINS - 2]);                                                \
            }                                                                                                          \
        }                                                                                                              \
        for (int i = 1; i < CHAINS; i++) {                                                                             \
            sum[0] = fma(sum[0], sum[1], sum[i]);                                                                      \
        }                                                                                                              \
        sink = sum[0][0];                                                                                              \
    }
CHAINS_OF(chains_avx512, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps)
CHAINS_OF(chains_avx2, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps)
#endif

/* Sets the loop of this processor. Returns its operations; 0: none. */
static double peak_of(candidate *one) {
    *one = (candidate){.name = "peak"};
#ifdef __x86_64__
    const bool wide = strcmp(bp_cpu_capability(), "AVX512") == 0, narrow = strcmp(bp_cpu_capability(), "AVX2") == 0;
    one->run = wide ? chains_avx512 : narrow ? chains_avx2 : NULL;
    return one->run ? 2. * (CHAINS - 2) * LOOPS * (wide ? 16 : 8) : 0;
#else
    return 0;
#endif
}

/* ---- Attention ---- */

/* What is compared: a name, and a call. */
typedef struct variant {
    const char *name;
    bp_dtype dtype;
    const char *settings;
} variant;

#define FLASH "cuda.mem_efficient_sdp=false,cuda.math_sdp=false"
static const variant types[VARIANTS] = {
    {"f32", BP_F32, FLASH}, {"bf16", BP_BF16, FLASH}, {"f32 rounded", BP_F32, FLASH ",fp32_precision=bf16"}};
static const variant kernels[VARIANTS] = {{"flash", BP_F32, FLASH},
                                          {"mem_efficient", BP_F32, "cuda.flash_sdp=false,cuda.math_sdp=false"},
                                          {"math", BP_F32, "cuda.flash_sdp=false,cuda.mem_efficient_sdp=false"}};

typedef struct job {
    bp_plan *plan;
    bp_operand operands[7];
    void *memory[TENSORS]; /* query, key, value, output */
} job;

static void check(bp_status status) {
    if (status != BP_OK) {
        fprintf(stderr, "attention: %s\n", bp_last_error());
        exit(1);
    }
}

static void run(void *context) {
    const job *j = context;
    check(bp_execute(j->plan, j->operands, NULL));
}

static job job_of(const variant *of, int length, int size, bool causal, int threads) {
    const bp_dtype dtype = of->dtype;
    const int64_t shape[] = {HEADS, length, size};
    const size_t count = (size_t)HEADS * (size_t)length * (size_t)size;
    job j = {0};
    bp_view views[TENSORS];
    char text[128];
    bp_options *options;
    for (int i = 0; i < TENSORS; i++) {
        float *numbers = timing_filled(count, false);
        bp_view from;
        j.memory[i] = malloc(count * bp_dtype_size(dtype));
        check(bp_view_init(&from, numbers, BP_F32, 3, shape, NULL));
        check(bp_view_init(&views[i], j.memory[i], dtype, 3, shape, NULL));
        check(bp_tensor_copy(&views[i].tensor, &from.tensor));
        free(numbers);
    }
    const bp_attention_call call = {.struct_size = sizeof call,
                                    .is_causal = causal,
                                    .query = &views[0].tensor,
                                    .key = &views[1].tensor,
                                    .value = &views[2].tensor,
                                    .output = &views[3].tensor};
    snprintf(text, sizeof text, "num_threads=%d,%s", threads, of->settings);
    check(bp_options_new(&options, text));
    check(bp_attention_plan(&j.plan, options, &call));
    bp_options_release(options);
    for (int i = 0; i < TENSORS; i++) {
        j.operands[i == TENSORS - 1 ? 5 : i] = (bp_operand){j.memory[i], 0};
    }
    return j;
}

static void release(job *j) {
    bp_plan_release(j->plan);
    for (int t = 0; t < TENSORS; t++) {
        free(j->memory[t]);
    }
}

static void compare(int length, int size, bool causal, int threads, int rounds) {
    job jobs[VARIANTS];
    candidate list[VARIANTS + 1];
    const double chained = peak_of(&list[VARIANTS]);
    for (int i = 0; i < VARIANTS; i++) {
        jobs[i] = job_of(&types[i], length, size, causal, threads);
        list[i] = (candidate){.name = types[i].name, .run = run, .context = &jobs[i]};
    }
    timing_interleave(list, VARIANTS + (chained > 0), rounds, 2e7, threads);
    printf("%4d x %4d%s", length, length, causal ? ", causal:" : ":        ");
    for (int i = 0; i < VARIANTS; i++) {
        bp_plan_info info = {.struct_size = sizeof info};
        bp_plan_describe(jobs[i].plan, &info);
        printf(" %s %8.3f [%.3f %.3f] %s %s,", list[i].name, timing_median(&list[i]) / 1e6,
               timing_quantile(&list[i], 0.25) / 1e6, timing_quantile(&list[i], 0.75) / 1e6, info.library,
               info.algorithm);
        release(&jobs[i]);
    }
    printf(" gain %.2f and %.2f", timing_median(&list[0]) / timing_median(&list[1]),
           timing_median(&list[0]) / timing_median(&list[2]));
    if (chained > 0) {
        const double pairs = causal ? 0.5 * length * (length + 1.) : (double)length * length;
        const double rate = 4. * HEADS * size * pairs / timing_median(&list[0]);
        const double peak = chained / timing_median(&list[VARIANTS]) * threads;
        printf(", f32 %.1f GFLOP/s, %.0f %% of %.1f", rate, 100 * rate / peak, peak);
    }
    printf("\n");
}

/* Times the kernels at one length. */
static void compare_kernels(int length, int size, int threads, int rounds) {
    job jobs[VARIANTS];
    candidate list[VARIANTS];
    for (int i = 0; i < VARIANTS; i++) {
        jobs[i] = job_of(&kernels[i], length, size, false, threads);
        list[i] = (candidate){.name = kernels[i].name, .run = run, .context = &jobs[i]};
    }
    timing_interleave(list, VARIANTS, rounds, 2e7, threads);
    for (int i = 0; i < VARIANTS; i++) {
        bp_plan_info info = {.struct_size = sizeof info};
        bp_plan_describe(jobs[i].plan, &info);
        printf("%5d %-13s %10.3f [%.3f %.3f] %11zu %10zu\n", length, kernels[i].name, timing_median(&list[i]) / 1e6,
               timing_quantile(&list[i], 0.25) / 1e6, timing_quantile(&list[i], 0.75) / 1e6, info.workspace,
               TENSORS * (size_t)HEADS * (size_t)length * (size_t)size * sizeof(float));
        release(&jobs[i]);
    }
}

int main(int argc, char **argv) {
    int threads = 1, rounds = 21, size = 64, most = 0;
    for (int i = 1; i < argc; i += 2) {
        char *end;
        int *number = strcmp(argv[i], "--threads") == 0   ? &threads
                      : strcmp(argv[i], "--rounds") == 0  ? &rounds
                      : strcmp(argv[i], "--size") == 0    ? &size
                      : strcmp(argv[i], "--kernels") == 0 ? &most
                                                          : NULL;
        if (i + 1 == argc || !number || (*number = timing_number(argv[i + 1], &end)) == 0) {
            fprintf(stderr, "usage: attention [--threads N] [--rounds N] [--size N] [--kernels LENGTH]\n");
            return 2;
        }
    }
    bp_machine_info machine = {.struct_size = sizeof machine};
    check(bp_machine(&machine));
    printf("%s, %d thread%s, 8 heads of size %d, ms\n", machine.cpu_model, threads, threads > 1 ? "s" : "", size);
    for (int length = 128; length <= most; length *= 2) {
        compare_kernels(length, size, threads, rounds);
    }
    for (int causal = 0; causal < 2 && most == 0; causal++) {
        for (int length = 512; length <= 4096; length *= length == 512 ? 4 : 2) {
            compare(length, size, causal, threads, rounds);
        }
    }
    return 0;
}
