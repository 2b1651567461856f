/* bench_table.c - lists the operations that bench measures, and reads what the user asks for. */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Operations counted for real matrices, as in LAPACK's timing programs; complex ones have four times as many. Those of
 * eigenvalue and singular value problems are nominal, since algorithms differ. */
static double flops_product(double n) {
    return 2 * n * n * n;
}

static double flops_tucker(double n) {
    return 4 * n * n * n * n;
}

static double flops_fft(double n) {
    return 5 * n * log2(n > 1 ? n : 2);
}

static double flops_rfft(double n) {
    return flops_fft(n) / 2;
}

static double flops_fft2(double n) {
    return 2 * n * flops_fft(n);
}

static double flops_lu(double n) {
    return 2 * n * n * n / 3;
}

static double flops_solve(double n) {
    return flops_lu(n) + 2 * n * n;
}

static double flops_cholesky(double n) {
    return n * n * n / 3;
}

static double flops_qr(double n) {
    return 8 * n * n * n / 3;
}

static double flops_eigh(double n) {
    return 9 * n * n * n;
}

static double flops_eig(double n) {
    return 25 * n * n * n;
}

static double flops_svd(double n) {
    return 22 * n * n * n;
}

static double flops_chain(double n) {
    return 4 * n * n;
}

static double flops_tridiagonal(double n) {
    return 4 * n * n * n / 3;
}

static double flops_dot(double n) {
    return 2 * n;
}

/* clang-format off */
static const bench_operation operations[] = {
    {"matmul", NULL, {"nn", "nn"}, "n x n by n x n", false, false, false, flops_product, "2 n^3", {16, 64, 256, 1024}},
    {"fft", NULL, {"n"}, "n", false, true, false, flops_fft, "5 n log2 n", {64, 1024, 16384, 262144}},
    {"solve", NULL, {"nn", "n1"}, "n x n, one right-hand side", false, false, false, flops_solve, "2/3 n^3 + 2 n^2", {16, 64, 256, 768}},
    {"cholesky", NULL, {"nn"}, "n x n", true, false, false, flops_cholesky, "1/3 n^3", {16, 64, 256, 768}},
    {"qr", NULL, {"nn"}, "n x n", false, false, false, flops_qr, "8/3 n^3", {16, 64, 256, 512}},
    {"eigh", NULL, {"nn"}, "n x n", true, false, false, flops_eigh, "9 n^3, nominal", {16, 64, 128, 256}},
    {"svd", NULL, {"nn"}, "n x n", false, false, false, flops_svd, "22 n^3, nominal", {16, 64, 128, 256}},
    {"einsum", "abc,cd,be->ade", {"nnn", "nn", "nn"}, "abc,cd,be->ade, all n", false, false, false, flops_tucker, "4 n^4", {8, 16, 32, 64}},
    /* Not measured unless they are named. */
    {"rfft", NULL, {"n"}, "n, real", false, false, false, flops_rfft, "5/2 n log2 n", {64, 1024, 16384, 262144}},
    {"fft2", NULL, {"nn"}, "n x n", false, true, false, flops_fft2, "10 n^2 log2 n", {16, 64, 256, 1024}},
    {"inv", NULL, {"nn"}, "n x n", false, false, false, flops_product, "2 n^3", {16, 64, 256, 768}},
    {"lu_factor", NULL, {"nn"}, "n x n", false, false, false, flops_lu, "2/3 n^3", {16, 64, 256, 768}},
    {"det", NULL, {"nn"}, "n x n", false, false, false, flops_lu, "2/3 n^3", {16, 64, 256, 768}},
    {"eigvalsh", NULL, {"nn"}, "n x n", true, false, false, flops_tridiagonal, "4/3 n^3, nominal", {16, 64, 128, 256}},
    {"eig", NULL, {"nn"}, "n x n", false, false, false, flops_eig, "25 n^3, nominal", {16, 64, 128, 256}},
    {"svdvals", NULL, {"nn"}, "n x n", false, false, false, flops_qr, "8/3 n^3, nominal", {16, 64, 128, 256}},
    {"multi_dot", NULL, {"nn", "nn", "n1"}, "n x n, n x n, n x 1", false, false, false, flops_chain, "4 n^2", {16, 64, 256, 1024}},
    {"vecdot", NULL, {"n", "n"}, "n", false, false, true, flops_dot, "2 n", {64, 4096, 262144, 4194304}},
    {"vector_norm", NULL, {"n"}, "n", false, false, true, flops_dot, "2 n", {64, 4096, 262144, 4194304}},
};
/* clang-format on */

#define DEFAULT_OPERATIONS 8

const bench_operation *bench_operation_at(int index) {
    return index >= 0 && index < (int)(sizeof operations / sizeof operations[0]) ? &operations[index] : NULL;
}

const char *bench_operation_name_at(void *unused, int index) {
    (void)unused;
    const bench_operation *operation = bench_operation_at(index);
    return operation ? operation->name : NULL;
}

const char *bench_unit(const bench_operation *operation) {
    return operation->moves ? "GB/s" : "GFLOP/s";
}

/* ---- What the user asks for ---- */

static int add_operation(bench_request *request, const char *name) {
    const bench_operation *operation;
    for (int i = 0; (operation = bench_operation_at(i)); i++) {
        if (strcmp(operation->name, name) == 0) {
            for (int j = 0; j < request->operation_count; j++) {
                if (request->operations[j] == operation) {
                    return cli_fail(CLI_USAGE, "operation %s is given twice", name);
                }
            }
            request->operations[request->operation_count++] = operation;
            return CLI_OK;
        }
    }
    const char *near = cli_suggest(name, "", bench_operation_name_at, NULL);
    return cli_fail(CLI_USAGE, "no such operation: '%s'%s", name,
                    near[0] ? near : "; `backplane bench --help` lists them");
}

/* Calls `take` for each item of a comma-separated list. */
static int each_item(const char *option, const char *text, int (*take)(bench_request *, const char *),
                     bench_request *request) {
    int code = CLI_OK, count = 0;
    for (const char *at = text; at && code == CLI_OK; at = *at ? at + 1 : NULL) {
        size_t length = strcspn(at, ",");
        char *item = cli_format("%.*s", (int)length, at);
        code = length == 0 || ++count > BENCH_MOST_LIST
                   ? cli_fail(CLI_USAGE, "--%s is '%s'; it must be 1 to %d items separated by commas", option, text,
                              BENCH_MOST_LIST)
                   : take(request, item);
        free(item);
        at += length;
        if (!*at) {
            break;
        }
    }
    return code;
}

static int read_whole(const char *option, const char *text, int64_t high, int64_t *value) {
    char *end = NULL;
    errno = 0;
    long long number = text[0] >= '0' && text[0] <= '9' ? strtoll(text, &end, 10) : 0;
    if (errno || number < 1 || number > high || *end) {
        return cli_fail(CLI_USAGE, "--%s has '%s'; it must be whole numbers from 1 to %lld", option, text,
                        (long long)high);
    }
    *value = number;
    return CLI_OK;
}

/* Keeps lists in rising order, as charts need them. Returns CLI_USAGE after a message if a number is there already. */
static int insert(const char *option, int64_t *list, int *count, int64_t value) {
    int at = *count;
    for (int i = 0; i < *count; i++) {
        if (list[i] == value) {
            return cli_fail(CLI_USAGE, "--%s has %lld twice", option, (long long)value);
        }
    }
    for (; at > 0 && list[at - 1] > value; at--) {
        list[at] = list[at - 1];
    }
    list[at] = value;
    ++*count;
    return CLI_OK;
}

static int take_size(bench_request *request, const char *text) {
    int64_t value = 0;
    int code = read_whole("sizes", text, BENCH_MOST_SIZE, &value);
    return code == CLI_OK ? insert("sizes", request->sizes, &request->size_count, value) : code;
}

static int take_threads(bench_request *request, const char *text) {
    int64_t value = 0;
    int code = read_whole("threads", text, 1024, &value);
    return code == CLI_OK ? insert("threads", request->threads, &request->thread_count, value) : code;
}

static const char *dtype_name_at(void *unused, int index) {
    static const char *const names[] = {"f32", "f64", "c64", "c128"};
    (void)unused;
    return index < (int)(sizeof names / sizeof names[0]) ? names[index] : NULL;
}

static int take_dtype(bench_request *request, const char *text) {
    const char *name;
    for (int i = 0; (name = dtype_name_at(NULL, i)); i++) {
        bp_dtype dtype = bp_dtype_from_name(name);
        for (int k = 0; strcmp(name, text) == 0 && k < request->dtype_count; k++) {
            if (request->dtypes[k] == dtype) {
                return cli_fail(CLI_USAGE, "--dtype has %s twice", text);
            }
        }
        if (strcmp(name, text) == 0) {
            request->dtypes[request->dtype_count++] = dtype;
            return CLI_OK;
        }
    }
    const char *near = cli_suggest(text, "", dtype_name_at, NULL);
    return cli_fail(CLI_USAGE, "--dtype has '%s'%s", text, near[0] ? near : "; it must be f32, f64, c64 or c128");
}

static const char *library_name_at(void *unused, int index) {
    bp_library_info info = {.struct_size = sizeof info};
    (void)unused;
    return bp_library_at(index, &info) == BP_OK ? info.id : NULL;
}

static int take_library(bench_request *request, const char *text) {
    const char *name;
    for (int i = 0; (name = library_name_at(NULL, i)); i++) {
        for (int k = 0; strcmp(name, text) == 0 && k < request->library_count; k++) {
            if (strcmp(request->libraries[k], text) == 0) {
                return cli_fail(CLI_USAGE, "--libraries has %s twice", text);
            }
        }
        if (strcmp(name, text) == 0) {
            request->libraries[request->library_count++] = name;
            return CLI_OK;
        }
    }
    const char *near = cli_suggest(text, "", library_name_at, NULL);
    return cli_fail(CLI_USAGE, "no library '%s' on this machine%s", text,
                    near[0] ? near : "; `backplane list` shows their ids");
}

static int read_seconds(bench_request *request, const cli_args *args) {
    const char *text = cli_value(args, "seconds");
    char *end = NULL;
    request->seconds = text ? strtod(text, &end) : 60;
    if (text && (end == text || *end || !(request->seconds > 0) || request->seconds > 86400)) {
        return cli_fail(CLI_USAGE, "--seconds is '%s'; it must be a number above 0, up to 86400", text);
    }
    return CLI_OK;
}

static void add_defaults(bench_request *request) {
    bp_machine_info machine = {.struct_size = sizeof machine};
    bool named = request->operation_count > 0;
    for (int i = 0; !named && i < DEFAULT_OPERATIONS; i++) {
        request->operations[request->operation_count++] = &operations[i];
    }
    if (request->dtype_count == 0) {
        request->dtypes[request->dtype_count++] = BP_F32;
        request->dtypes[request->dtype_count++] = BP_F64;
    }
    if (request->thread_count == 0) {
        request->threads[request->thread_count++] = 1;
        if (bp_machine(&machine) == BP_OK && machine.usable_cpus > 1) {
            request->threads[request->thread_count++] = machine.usable_cpus;
        }
    }
}

int bench_request_read(bench_request *request, const cli_args *args) {
    *request = (bench_request){.operation_count = 0};
    int code = CLI_OK;
    for (int i = 0; i < args->count && code == CLI_OK; i++) {
        code = add_operation(request, args->operands[i]);
    }
    code = code == CLI_OK ? each_item("sizes", cli_value(args, "sizes"), take_size, request) : code;
    code = code == CLI_OK ? each_item("dtype", cli_value(args, "dtype"), take_dtype, request) : code;
    code = code == CLI_OK ? each_item("threads", cli_value(args, "threads"), take_threads, request) : code;
    code = code == CLI_OK ? each_item("libraries", cli_value(args, "libraries"), take_library, request) : code;
    code = code == CLI_OK ? read_seconds(request, args) : code;
    add_defaults(request);
    return code;
}
