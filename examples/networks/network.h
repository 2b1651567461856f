/* network.h - what the example networks share: weights from a safetensors file, and checked calls. */
#ifndef EXAMPLES_NETWORK_H
#define EXAMPLES_NETWORK_H

#include <backplane.h>
#include <stdbool.h>

/* Ends the program with the library's message if a call failed. */
#define CHECK(call) check((call), #call)
void check(bp_status status, const char *call);
void *need(void *memory); /* the memory, unless it is NULL: then the program ends */
_Noreturn void stop(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A safetensors file: 8 bytes with the length of a JSON header, the header, and the elements of all tensors. */
typedef struct weights {
    char *header, *data;
    size_t size; /* of data in bytes */
    const char *path;
} weights;
void weights_open(weights *w, const char *path);
/* Fills a view of the tensor with this name, whose type and shape are checked. A 0 ends the shape. */
void weights_find(const weights *w, bp_view *view, bp_dtype type, const int64_t *shape, const char *name, ...)
    __attribute__((format(printf, 5, 6)));
/* Finds NAME.weight with this shape, and NAME.bias with its first size, both f32. */
void weights_pair(const weights *w, bp_view pair[2], const int64_t *shape, const char *name, ...)
    __attribute__((format(printf, 4, 5)));
void weights_close(weights *w);

/* A prepared layer with a packed weight and an optional bias. `run` executes it from `in` to `out`. */
typedef struct layer {
    bp_plan *plan;
    bp_packed *packed;
    void *weight, *bias;
} layer;
void layer_linear(layer *l, const bp_options *options, const bp_view *in, const bp_view weight_and_bias[2],
                  bp_view *out, bp_unary_kind activation);
void layer_conv(layer *l, const bp_options *options, const bp_conv_call *call);
bp_status layer_run(const layer *l, void *in, void *out);
void layer_release(layer *l);

/* Makes a call and checks it, and prints what ran, once for each name, if --explain was given. */
#define RUN(name, call) (CHECK(call), report(name))
void report(const char *name);

/* Calls run(context) again and again, and prints the median of the times in milliseconds to stderr. */
void time_runs(const char *name, int repeats, void (*run)(void *context), void *context);

/* The options of both programs: --set NAME=VALUE (again and again), --explain and --repeat N. Returns the index of the
 * first argument that is none. */
int read_options(int count, char **arguments, bp_options **options, int *repeats);

#endif
