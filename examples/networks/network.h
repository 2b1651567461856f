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
/* Fills a view of an f32 tensor, of which `ndim` and `shape` are checked. */
void weights_find(const weights *w, const char *name, bp_view *view, int ndim, const int64_t *shape);
void weights_close(weights *w);

/* A prepared layer with a packed weight and an optional bias. `run` executes it from `in` to `out`. */
typedef struct layer {
    bp_plan *plan;
    bp_packed *packed;
    void *weight, *bias;
} layer;
void layer_linear(layer *l, const bp_options *options, bp_linear_call *call);
void layer_conv(layer *l, const bp_options *options, bp_conv_call *call);
void layer_run(const layer *l, void *in, void *out);
void layer_release(layer *l);

/* Prints what ran last, once for each name. */
void report(bool wanted, const char *name);

/* Calls run(context) again and again, and prints the median of the times in milliseconds to stderr. */
void time_runs(const char *name, int repeats, void (*run)(void *context), void *context);

/* The options of both programs: --set NAME=VALUE (again and again), --explain and --repeat N. Returns the index of the
 * first argument that is none. */
int read_options(int count, char **arguments, bp_options **options, bool *explain, int *repeats);

#endif
