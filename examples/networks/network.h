/* network.h - what the example networks share: checked calls, nodes with weights, options and times. */
#ifndef EXAMPLES_NETWORK_H
#define EXAMPLES_NETWORK_H

#include <backplane.h>
#include <stdbool.h>

/* Ends the program with the library's message if a call failed. */
#define CHECK(call) check((call), #call)
void check(bp_status status, const char *call);
void *need(void *memory); /* the memory, unless it is NULL: then the program ends */
_Noreturn void stop(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Fills a view of the tensor with this name, whose type and shape are checked. A 0 ends the shape. */
void view_weight(bp_weights *file, bp_view *view, bp_dtype type, const int64_t *shape, const char *name);
/* Adds a constant with the weight of this name. */
bp_value add_weight(bp_graph *graph, bp_weights *file, const char *name, ...) __attribute__((format(printf, 3, 4)));
/* Adds a call with these operands, and returns its first result. */
#define CALL(graph, call, fields, ...)                                                                                 \
    add_call(graph, call, fields, (int)(sizeof((bp_value[]){__VA_ARGS__}) / sizeof(bp_value)),                         \
             (bp_value[]){__VA_ARGS__})
bp_value add_call(bp_graph *graph, const char *call, const char *fields, int count, const bp_value *operands);

/* A network for tensors of certain shapes. */
typedef struct network {
    bp_graph *graph;
    bp_options *options;
    const DLTensor *in[8];
    DLTensor *out[8];
} network;
void run_network(const network *n);
void explain_network(const network *n); /* prints which library and algorithm runs each part, if --explain was given */

/* Calls run(context) again and again, and prints the median of the times in milliseconds to stderr. */
void time_runs(const char *name, int repeats, void (*run)(void *context), void *context);

/* The options of both programs: --set NAME=VALUE (again and again), --explain and --repeat N. Returns the index of the
 * first argument that is none. */
int read_options(int count, char **arguments, bp_options **options, int *repeats);

#endif
