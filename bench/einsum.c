/* einsum.c - times contractions: a reused plan, a one-shot call, and a matrix product with the same number of
 * operations.
 *
 *     einsum [types] [threads] [rounds] [name]    e.g. einsum f32,f64 1,2 9 attention
 *
 * `name` selects cases by a part of their names. The reference of an expression of two operands is one matrix product
 * of the same total size, in its best layout. Batches stay batches. So the ratio shows the cost of the layout. Times
 * are from interleaved rounds: median in microseconds with quartiles. The ratio is the reference's time divided by
 * ours.
 */
#include "backplane.h"
#include "labels.h"
#include "timing.h"

#include <math.h>
#include <stdbool.h>

#define MOST_OPERANDS 16

typedef struct example {
    const char *name, *expression, *sizes;
} example;

static const example examples[] = {
#define CASE(name, expression, sizes) {name, expression, sizes},
#include "einsum_cases.h"
#undef CASE
};

/* One expression with its operands; `product` is the reference. */
typedef struct job {
    bp_dtype dtype;
    int64_t size[128]; /* of each label */
    int count;
    bp_view operands[MOST_OPERANDS], out;
    const DLTensor *tensors[MOST_OPERANDS + 1];
    bp_operand addresses[MOST_OPERANDS + 1];
    bp_einsum_call call;
    bp_plan *plan, *product;
    bp_operand matrices[3];
} job;

typedef struct totals {
    double product, call;
    int products, cases;
} totals;

static void die(const char *what) {
    fprintf(stderr, "einsum: %s: %s\n", what, bp_last_error());
    exit(1);
}

static void *memory(bp_dtype dtype, int64_t elements) {
    return timing_filled((size_t)elements, dtype == BP_F64);
}

static void make_view(const job *j, bp_view *view, int count, const int64_t *shape) {
    int64_t elements = 1;
    for (int i = 0; i < count; i++) {
        elements *= shape[i];
    }
    if (bp_view_init(view, memory(j->dtype, elements), j->dtype, count, shape, NULL) != BP_OK) {
        die("bp_view_init");
    }
}

/* Allocates the operands. All expressions of the list have an explicit output. */
static void make_operands(job *j, const char *expression) {
    const char *arrow = strstr(expression, "->");
    int64_t shape[BP_MAX_NDIM];
    for (const char *term = expression; term; j->count++) {
        bp_view *view = term > arrow ? &j->out : &j->operands[j->count];
        int ndim = labels_shape(j->size, term, shape, &term);
        make_view(j, view, ndim, shape);
        j->tensors[j->count] = &view->tensor;
        j->addresses[j->count].base = view->tensor.data;
    }
    j->count--; /* without the output */
}

/* Returns whether a label occurs between two positions. */
static bool has(const char *from, const char *to, char label) {
    return memchr(from, label, (size_t)(to - from)) != NULL;
}

/* Plans the reference product for two operands. No label may be summed in one operand only. */
static void make_product(job *j, const char *expression) {
    int64_t shape[4] = {1, 1, 1, 1}; /* batch, rows, columns, terms */
    const char *comma = strchr(expression, ','), *arrow = strstr(expression, "->"), *end = arrow + strlen(arrow);
    for (int label = 'a'; j->count == 2 && label <= 'z'; label++) {
        bool left = has(expression, comma, (char)label), right = has(comma, arrow, (char)label);
        bool kept = has(arrow, end, (char)label);
        if (left || right) {
            shape[left && right ? (kept ? 0 : 3) : left ? 1 : 2] *= j->size[label];
        }
    }
    if (j->count != 2 || shape[3] == 1) {
        return;
    }
    bp_view views[3];
    const int64_t shapes[3][3] = {
        {shape[0], shape[1], shape[3]}, {shape[0], shape[3], shape[2]}, {shape[0], shape[1], shape[2]}};
    for (int i = 0; i < 3; i++) {
        j->matrices[i].base = memory(j->dtype, shapes[i][0] * shapes[i][1] * shapes[i][2]);
        if (bp_view_init(&views[i], j->matrices[i].base, j->dtype, 3, shapes[i], NULL) != BP_OK) {
            die("bp_view_init");
        }
    }
    if (bp_matmul_plan(&j->product, NULL, &views[0].tensor, &views[1].tensor, &views[2].tensor) != BP_OK) {
        die("bp_matmul_plan");
    }
}

static void run_plan(void *context) {
    const job *j = context;
    if (bp_execute(j->plan, j->addresses, NULL) != BP_OK) {
        die("bp_execute");
    }
}

static void run_call(void *context) {
    job *j = context;
    if (bp_einsum(j->call.expression, j->count, j->tensors, &j->out.tensor) != BP_OK) {
        die("bp_einsum");
    }
}

static void run_product(void *context) {
    const job *j = context;
    if (bp_execute(j->product, j->matrices, NULL) != BP_OK) {
        die("bp_execute");
    }
}

static void show(candidate *c, double flops, double reference) {
    double median = timing_median(c);
    printf("  %-15s %12.2f us [%10.2f, %10.2f] %8.2f Gflop/s", c->name, median / 1e3, timing_quantile(c, 0.25) / 1e3,
           timing_quantile(c, 0.75) / 1e3, flops / median);
    if (reference > 0) {
        printf("  %6.3f", reference / median);
    }
    printf("\n");
}

static void show_parts(const bp_plan *plan) {
    bp_einsum_part part = {.struct_size = sizeof part};
    for (int i = 0; bp_einsum_part_at(plan, i, &part); i++) {
        bp_plan_info info = {.struct_size = sizeof info};
        if (bp_plan_describe(part.plan, &info) == BP_OK) {
            printf("  part %d: %s, %s (%s), %s\n", i + 1, part.action, info.library, info.algorithm, info.problem);
        }
    }
}

static void release(job *j) {
    for (int i = 0; i <= j->count; i++) {
        free(j->addresses[i].base);
    }
    for (int i = 0; i < 3; i++) {
        free(j->matrices[i].base);
    }
    bp_plan_release(j->plan);
    bp_plan_release(j->product);
}

static void benchmark(const example *e, bp_dtype dtype, int threads, int rounds, totals *sums) {
    job j = {.dtype = dtype};
    bp_contraction_path_info path = {.struct_size = sizeof path};
    labels_read_sizes(j.size, e->sizes);
    make_operands(&j, e->expression);
    make_product(&j, e->expression);
    j.call = (bp_einsum_call){
        .struct_size = sizeof j.call, .expression = e->expression, .count = j.count, .operands = j.tensors};
    if (bp_einsum_plan(&j.plan, NULL, &j.call, &j.out.tensor) != BP_OK ||
        bp_contraction_path_describe(bp_einsum_plan_path(j.plan), &path) != BP_OK) {
        die("bp_einsum_plan");
    }
    printf("%s: %s, %s, %s, %d thread%s\n", e->name, e->expression, e->sizes, bp_dtype_name(dtype), threads,
           threads == 1 ? "" : "s");
    show_parts(j.plan);
    candidate list[] = {{.name = "reused plan", .run = run_plan, .context = &j},
                        {.name = "call", .run = run_call, .context = &j},
                        {.name = "equal product", .run = run_product, .context = &j}};
    timing_interleave(list, j.product ? 3 : 2, rounds, 2e6, threads);
    double reference = j.product ? timing_median(&list[2]) : 0;
    for (int i = 0; i < (j.product ? 3 : 2); i++) {
        show(&list[i], path.flops, i < 2 ? reference : 0);
    }
    sums->call += log(timing_median(&list[0]) / timing_median(&list[1]));
    sums->cases++;
    if (j.product) {
        sums->product += log(reference / timing_median(&list[0]));
        sums->products++;
    }
    release(&j);
}

static void benchmark_all(bp_dtype dtype, const char *threads, int rounds, const char *wanted) {
    totals sums = {0};
    char *end;
    int number = timing_number(threads, &end);
    if (dtype == BP_DTYPE_NONE || bp_set("num_threads", threads) != BP_OK) {
        fprintf(stderr, "einsum: types must be f32 or f64, threads a positive number\n");
        exit(2);
    }
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        if (strstr(examples[i].name, wanted)) {
            benchmark(&examples[i], dtype, number, rounds, &sums);
        }
    }
    if (sums.products > 0) {
        printf("%s, %s threads: plans reach %.3f of an equal product's speed (geometric mean of %d cases)\n",
               bp_dtype_name(dtype), threads, exp(sums.product / sums.products), sums.products);
    }
    if (sums.cases > 0) {
        printf("%s, %s threads: calls reach %.3f of the speed of plans (geometric mean of %d cases)\n",
               bp_dtype_name(dtype), threads, exp(sums.call / sums.cases), sums.cases);
    }
}

int main(int argc, char **argv) {
    char types[64], counts[64], *end;
    snprintf(types, sizeof types, "%s", argc > 1 ? argv[1] : "f32,f64");
    snprintf(counts, sizeof counts, "%s", argc > 2 ? argv[2] : "1");
    int rounds = argc > 3 ? timing_number(argv[3], &end) : 9;
    const char *type[2], *count[8];
    int type_count = timing_split(types, type, 2), thread_counts = timing_split(counts, count, 8);
    for (int t = 0; t < thread_counts; t++) {
        for (int i = 0; i < type_count; i++) {
            bp_dtype dtype = bp_dtype_from_name(type[i]);
            benchmark_all(dtype == BP_F32 || dtype == BP_F64 ? dtype : BP_DTYPE_NONE, count[t], rounds,
                          argc > 4 ? argv[4] : "");
        }
    }
    return 0;
}
