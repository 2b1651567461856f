/* bench_request.c - reads which operations of the table are measured, and how. */
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The operations that are measured if none is named. */
static const char *const usual[] = {"matmul", "fft", "solve", NULL};

enum { USUAL_SECONDS = 20 };

static bool is_usual(const char *name) {
    for (int i = 0; usual[i]; i++) {
        if (strcmp(usual[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* The usual ones are first. */
const cli_operation *bench_operation_at(int index) {
    const int first = (int)(sizeof usual / sizeof usual[0]) - 1;
    if (index < first) {
        return cli_operation_named(usual[index]);
    }
    const cli_operation *operation;
    for (int i = 0, at = first; (operation = cli_operation_at(i)); i++) {
        if (operation->sizing && !is_usual(operation->name) && at++ == index) {
            return operation;
        }
    }
    return NULL;
}

const char *bench_operation_name_at(void *unused, int index) {
    (void)unused;
    const cli_operation *operation = bench_operation_at(index);
    return operation ? operation->name : NULL;
}

/* The one between is near the geometric mean, and a multiple of 4; of 2 where sizes are small. */
int64_t bench_size_at(const cli_operation *operation, int index) {
    const int64_t *sizes = operation->sizing->sizes;
    if (index >= 2 * SIZING_SIZES - 1) {
        return 0;
    }
    const int64_t low = sizes[index / 2], step = low < 8 ? 2 : 4;
    return index % 2 == 0 ? low : step * llround(sqrt((double)(low * sizes[index / 2 + 1])) / (double)step);
}

const char *bench_unit(const cli_operation *operation) {
    return operation->sizing->moves ? "GB/s" : "GFLOP/s";
}

/* ---- What the user asks for ---- */

int bench_no_operation(const char *name) {
    if (cli_operation_named(name)) {
        return cli_fail(CLI_USAGE, "%s uses no library, so there is nothing to compare", name);
    }
    const char *near = cli_suggest(name, "", bench_operation_name_at, NULL);
    return cli_fail(CLI_USAGE, "no such operation: '%s'%s", name,
                    near[0] ? near : "; `backplane bench --help` lists them");
}

static int add_operation(bench_request *request, const char *name) {
    const cli_operation *operation;
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
    return bench_no_operation(name);
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
static int insert_option(const char *option, int64_t *list, int *count, int64_t value) {
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
    return code == CLI_OK ? insert_option("sizes", request->sizes, &request->size_count, value) : code;
}

static int take_threads(bench_request *request, const char *text) {
    int64_t value = 0;
    int code = read_whole("threads", text, 1024, &value);
    return code == CLI_OK ? insert_option("threads", request->threads, &request->thread_count, value) : code;
}

static const char *dtype_name_at(void *unused, int index) {
    static const char *const names[] = {"f32", "f64", "c64", "c128", "f16", "bf16", "i32", "i64"};
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
    return cli_fail(CLI_USAGE, "--dtype has '%s'%s", text,
                    near[0] ? near : "; it must be f32, f64, c64, c128, f16, bf16, i32 or i64");
}

static const char *library_name_at(void *unused, int index) {
    bp_library_info info = {.struct_size = sizeof info};
    (void)unused;
    return bp_library_at(index, &info) ? info.id : NULL;
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
    request->seconds = text ? strtod(text, &end) : USUAL_SECONDS;
    if (text && (end == text || *end || !(request->seconds > 0) || request->seconds > 86400)) {
        return cli_fail(CLI_USAGE, "--seconds is '%s'; it must be a number above 0, up to 86400", text);
    }
    return CLI_OK;
}

static void add_defaults(bench_request *request) {
    bp_machine_info machine = {.struct_size = sizeof machine};
    bool named = request->operation_count > 0;
    for (int i = 0; !named && usual[i]; i++) {
        request->operations[request->operation_count++] = bench_operation_at(i);
    }
    if (request->dtype_count == 0) {
        request->dtypes[request->dtype_count++] = BP_F32;
        request->dtypes[request->dtype_count++] = BP_F64;
    }
    if (request->thread_count == 0) {
        const bool known = bp_machine(&machine) == BP_OK && machine.usable_cpus > 1;
        request->threads[request->thread_count++] = known ? machine.usable_cpus : 1;
    }
}

/* Checks --shapes: for one operation, as many as it takes. */
static int check_shapes(const bench_request *request) {
    sized_array arrays[SIZING_ARRAYS];
    const cli_operation *operation = request->operations[0];
    if (!request->shapes) {
        return CLI_OK;
    }
    if (request->operation_count != 1) {
        return cli_fail(CLI_USAGE, "--shapes is for one operation; %d are measured", request->operation_count);
    }
    const int count = sizing_read(arrays, operation, request->shapes, ',', 1, BP_F32);
    if (count < 0) {
        return cli_fail(CLI_USAGE, "--shapes is '%s'; it must be up to %d shapes such as 8x32xnxn, separated by commas",
                        request->shapes, SIZING_ARRAYS);
    }
    if (operation->measured->check == check_product && operation->most == 3 && count == 3) {
        return cli_fail(CLI_USAGE, "gemm overwrites C, so that each run had another; give two shapes");
    }
    return count >= operation->least && count <= operation->most
               ? CLI_OK
               : cli_fail(CLI_USAGE, "--shapes has %d shape%s; %s takes %s", count, count == 1 ? "" : "s",
                          operation->name, operation->arrays);
}

static int check_operations(const bench_request *request) {
    int code = check_shapes(request);
    for (int i = 0; i < request->operation_count && code == CLI_OK; i++) {
        code = bench_check_options(request->args, request->operations[i]);
    }
    return code;
}

int bench_request_read(bench_request *request, const cli_args *args) {
    *request = (bench_request){.args = args, .shapes = cli_value(args, "shapes")};
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
    return code == CLI_OK ? check_operations(request) : code;
}
