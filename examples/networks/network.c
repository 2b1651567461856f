/* network.c - weights, layers and messages of the example networks. */
#include "network.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

void stop(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

void check(bp_status status, const char *call) {
    if (status != BP_OK) {
        stop("%s: %s", call, bp_last_error());
    }
}

void *need(void *memory) {
    if (!memory) {
        stop("out of memory");
    }
    return memory;
}

/* ---- Weights ---- */

void weights_open(weights *w, const char *path) {
    FILE *file = fopen(path, "rb");
    uint64_t length;
    if (!file) {
        stop("cannot open %s; examples/networks/fetch.py gets it", path);
    }
    w->path = path;
    if (fread(&length, sizeof length, 1, file) != 1 || length > 1 << 26) {
        stop("%s is no safetensors file", path);
    }
    w->header = need(calloc(1, (size_t)length + 1));
    if (fread(w->header, 1, (size_t)length, file) != length || fseek(file, 0, SEEK_END) != 0) {
        stop("%s is cut off", path);
    }
    w->size = (size_t)ftell(file) - (size_t)length - sizeof length;
    w->data = need(malloc(w->size + 1)); /* aligned, wherever the file has it */
    if (fseek(file, (long)(length + sizeof length), SEEK_SET) != 0 || fread(w->data, 1, w->size, file) != w->size) {
        stop("cannot read %s", path);
    }
    fclose(file);
}

/* Returns what follows the key in the object that begins at `object`; the program ends if it has none. */
static const char *value_of(const weights *w, const char *object, const char *key) {
    const char *end = strchr(object, '}'), *at = strstr(object, key);
    if (!end || !at || at > end) {
        stop("%s: the header has an entry without %s", w->path, key);
    }
    return strchr(at, ':') + 1;
}

/* Reads "[1,2,3]". Returns how many numbers there are, at most `most`. */
static int read_numbers(const char *at, int64_t *numbers, int most) {
    int count = 0;
    at = strchr(at, '[');
    while (at && *at != ']' && count < most) {
        char *end;
        numbers[count] = strtoll(at + 1, &end, 10);
        if (end == at + 1) {
            break;
        }
        count++;
        at = end + strspn(end, " ");
    }
    return count;
}

static void find_tensor(const weights *w, bp_view *view, bp_dtype type, const int64_t *shape, const char *name) {
    char key[160], wanted[16];
    int64_t found[BP_MAX_NDIM], offsets[2], bytes = (int64_t)bp_dtype_size(type);
    int ndim = 0;
    snprintf(key, sizeof key, "\"%s\"", name);
    snprintf(wanted, sizeof wanted, "\"%s\"", bp_dtype_name(type));
    const char *object = strstr(w->header, key);
    if (!object) {
        stop("%s has no tensor %s", w->path, name);
    }
    const int count = read_numbers(value_of(w, object, "\"shape\""), found, BP_MAX_NDIM);
    for (; shape[ndim] && ndim < count && found[ndim] == shape[ndim]; ndim++) {
        bytes *= shape[ndim];
    }
    const bool fits = strncasecmp(value_of(w, object, "\"dtype\""), wanted, strlen(wanted)) == 0 && ndim == count &&
                      shape[ndim] == 0 && read_numbers(value_of(w, object, "\"data_offsets\""), offsets, 2) == 2 &&
                      offsets[0] >= 0 && offsets[1] - offsets[0] == bytes && (uint64_t)offsets[1] <= w->size &&
                      offsets[0] % (int64_t)bp_dtype_size(type) == 0;
    if (!fits) {
        stop("%s: %s has another type or shape than this program needs", w->path, name);
    }
    CHECK(bp_view_init(view, w->data + offsets[0], type, ndim, shape, NULL));
}

void weights_find(const weights *w, bp_view *view, bp_dtype type, const int64_t *shape, const char *name, ...) {
    char text[128];
    va_list arguments;
    va_start(arguments, name);
    vsnprintf(text, sizeof text, name, arguments);
    va_end(arguments);
    find_tensor(w, view, type, shape, text);
}

void weights_pair(const weights *w, bp_view pair[2], const int64_t *shape, const char *name, ...) {
    char text[128];
    va_list arguments;
    va_start(arguments, name);
    vsnprintf(text, sizeof text, name, arguments);
    va_end(arguments);
    weights_find(w, &pair[0], BP_F32, shape, "%s.weight", text);
    weights_find(w, &pair[1], BP_F32, (int64_t[]){shape[0], 0}, "%s.bias", text);
}

void weights_close(weights *w) {
    free(w->header);
    free(w->data);
}

/* ---- Layers ---- */

/* A forward plan of both kinds has the operands {input, weight, bias, output}. */
static void pack(layer *l, const DLTensor *weight, const DLTensor *bias) {
    l->weight = weight->data;
    l->bias = bias ? bias->data : NULL;
    bp_plan_info info = {.struct_size = sizeof info};
    CHECK(bp_plan_describe(l->plan, &info));
    l->packed = NULL;
    if (info.packs & 2) {
        CHECK(bp_plan_pack(&l->packed, l->plan, 1, &(bp_operand){l->weight, 0}));
    }
}

void layer_linear(layer *l, const bp_options *options, const bp_view *in, const bp_view weight_and_bias[2],
                  bp_view *out, bp_unary_kind activation) {
    const DLTensor *weight = &weight_and_bias[0].tensor, *bias = &weight_and_bias[1].tensor;
    const bp_linear_call call = {.struct_size = sizeof call,
                                 .activation = activation,
                                 .input = &in->tensor,
                                 .weight = weight,
                                 .bias = bias,
                                 .output = &out->tensor};
    CHECK(bp_linear_plan(&l->plan, options, &call));
    pack(l, weight, bias);
}

void layer_conv(layer *l, const bp_options *options, const bp_conv_call *call) {
    CHECK(bp_conv_plan(&l->plan, options, call));
    pack(l, call->weight, call->bias);
}

bp_status layer_run(const layer *l, void *in, void *out) {
    const bp_operand operands[] = {{in, 0}, {l->weight, 0}, {l->bias, 0}, {out, 0}};
    const bp_packed *const packed[] = {NULL, l->packed, NULL, NULL};
    const bp_exec exec = {.struct_size = sizeof exec, .packed = packed};
    return bp_execute(l->plan, operands, l->packed ? &exec : NULL);
}

void layer_release(layer *l) {
    bp_packed_release(l->packed);
    bp_plan_release(l->plan);
}

/* ---- Messages, times and options ---- */

static bool explain;

void report(const char *name) {
    static char printed[1024];
    bp_plan_info info = {.struct_size = sizeof info};
    char entry[64];
    snprintf(entry, sizeof entry, "[%s]", name);
    if (!explain || strstr(printed, entry) || bp_last_plan(&info) != BP_OK) {
        return;
    }
    if (strlen(printed) + strlen(entry) < sizeof printed) {
        strcat(printed, entry);
    }
    fprintf(stderr, "%-16s %s %s: %s\n", name, info.library, info.algorithm, info.problem);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void time_runs(const char *name, int repeats, void (*run)(void *context), void *context) {
    double *times = need(malloc((size_t)repeats * sizeof *times));
    for (int i = 0; i < repeats; i++) {
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        run(context);
        clock_gettime(CLOCK_MONOTONIC, &to);
        times[i] = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
    }
    qsort(times, (size_t)repeats, sizeof *times, by_value);
    fprintf(stderr, "%s: %.3f ms\n", name, times[repeats / 2]);
    free(times);
}

int read_options(int count, char **arguments, bp_options **options, int *repeats) {
    char text[4096] = "";
    int i = 1;
    for (; i < count && strncmp(arguments[i], "--", 2) == 0; i++) {
        if (strcmp(arguments[i], "--explain") == 0) {
            explain = true;
        } else if (strcmp(arguments[i], "--repeat") == 0 && i + 1 < count) {
            *repeats = atoi(arguments[++i]);
        } else if (strcmp(arguments[i], "--set") == 0 && i + 1 < count) {
            const size_t used = strlen(text);
            if ((size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? "," : "", arguments[++i]) >=
                sizeof text - used) {
                stop("too many settings");
            }
        } else {
            break;
        }
    }
    *options = NULL;
    if (*text) {
        CHECK(bp_options_new(options, text));
    }
    return i;
}
