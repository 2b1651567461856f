/* graph.h - declarations shared by the files of src/graph: values, nodes, and what a run makes of them.
 *
 * No file here names an operation, except the rules of rewrite.h: a node is what the description of its call
 * (ops/call.h) says. node.c adds nodes, field.c reads and writes their fields, view.c adds views. lower.c decides where
 * each value is and which steps a run has; run.c runs the steps one by one. */
#ifndef BP_GRAPH_GRAPH_H
#define BP_GRAPH_GRAPH_H

#include "backplane/graph.h"
#include "dispatch/program.h"
#include "ops/call.h"

/* ---- Names (names.c) ---- */

typedef struct bp__name {
    const char *name; /* not copied; NULL: none */
    size_t length;
    int number; /* of the value or output, from 1 on */
} bp__name;

/* A hash table; begins as zeros, and bp__free() frees its list. */
typedef struct bp__names {
    bp__name *list;
    size_t count, capacity;
} bp__names;

/* Returns the number of a name; 0 if it is not there. */
int bp__names_find(const bp__names *names, const char *name, size_t length);
/* Makes space for one more name. Errors: BP_E_NO_MEMORY. */
bp_status bp__names_reserve(bp__names *names);
/* Adds a name that is not there, and for which there is space. */
void bp__names_add(bp__names *names, const char *name, size_t length, int number);

/* Returns the length of a name as the precision of a format, so that long ones leave space for the rest of a message.
 */
static inline int bp__shown(size_t length) {
    return length < 64 ? (int)length : 64;
}

/* ---- The graph ---- */

typedef enum bp__value_kind { BP__VALUE_INPUT, BP__VALUE_CONSTANT, BP__VALUE_NODE, BP__VALUE_VIEW } bp__value_kind;
typedef enum bp__view_kind { BP__RESHAPE, BP__PERMUTE, BP__SLICE, BP__EXPAND, BP__VIEW_KINDS } bp__view_kind;
extern const char *const bp__view_names[BP__VIEW_KINDS];

typedef struct bp__graph_value {
    bp__value_kind kind;
    bp_dtype dtype;
    int ndim;
    int64_t *shape;
    char *name;  /* of an input or constant; NULL: none */
    int from;    /* the number of the input; the node; the value that a view is of */
    int operand; /* of the node's pass */
    /* A constant. */
    char *data;  /* the first element */
    void *block; /* its own memory; NULL: borrowed */
    int64_t *strides;
    /* A view; its shape is the last argument of RESHAPE and EXPAND. */
    bp__view_kind view;
    int64_t slice[4]; /* axis, first index, step */
    int *axes;
} bp__graph_value;

typedef struct bp__node {
    const bp_call *call;
    const bp__pass *pass;
    void *arguments;                     /* the call's struct, without its tensors */
    bp_value operand[BP__MOST_OPERANDS]; /* inputs and outputs of the pass; 0: absent, or the list */
    bp_value *list;                      /* of the operand that is a list */
    int list_count;
    bp_value first; /* of its values */
    int number;     /* in the graph that the program has built */
    char *label;    /* of the file that the node is from; NULL: none */
} bp__node;

typedef struct bp__output {
    char *name;
    bp_value value;
} bp__output;

struct bp_graph {
    atomic_int references; /* the program, and each plan */
    bool finished;
    int value_count, node_count, input_count, output_count;
    int value_capacity, node_capacity, input_capacity, output_capacity;
    bp__graph_value *values; /* value 0 is none */
    bp__node *nodes;
    bp_value *inputs;
    bp__output *outputs;
    bp__names names, output_names; /* of inputs and constants; of outputs */
    bool borrows;                  /* a constant is memory of the program */
    const char *label;             /* of the nodes that are added; not copied; NULL: none */
    struct bp_weights **weights;   /* files whose memory constants have */
    int weights_count, weights_capacity;
    struct bp__graph_plans *plans; /* of the finished graph */
    /* Rewriting (rewrite.h). */
    _Atomic(struct bp_graph *)
        rewritten[2];                   /* what runs in place of this graph, with fold and with fast; NULL: not made */
    struct bp_graph *source;            /* of a rewritten graph: a reference to the program's; NULL: none */
    int norms_folded, attentions_found; /* of a rewritten graph */
};

static inline bp__graph_value *bp__value_at(const bp_graph *graph, bp_value value) {
    return &graph->values[value];
}
static inline bool bp__graph_has(const bp_graph *graph, bp_value value) {
    return value > 0 && value <= graph->value_count;
}
int64_t bp__value_elements(const bp__graph_value *value);
static inline int64_t bp__value_bytes(const bp__graph_value *value) {
    return bp__value_elements(value) * (int64_t)bp_dtype_size(value->dtype);
}

/* Describes the elements of a constant. */
static inline DLTensor bp__constant_tensor(const bp__graph_value *constant) {
    return (DLTensor){.data = constant->data,
                      .device = {kDLCPU, 0},
                      .ndim = constant->ndim,
                      .dtype = bp_dtype_to_dlpack(constant->dtype),
                      .shape = constant->shape,
                      .strides = constant->strides};
}

/* Makes space for an element of a list behind the first `count`. Errors: BP_E_NO_MEMORY. */
bp_status bp__graph_grow(void **list, int count, int *capacity, size_t each);

/* Refuses a graph that cannot be changed. */
bp_status bp__graph_check_open(const bp_graph *graph);
/* Refuses a graph that is not finished. */
bp_status bp__graph_check_finished(const bp_graph *graph, const char *function);
bp_status bp__graph_check_value(const bp_graph *graph, bp_value value);

/* Adds a value of this type and shape, which are checked. */
bp_status bp__value_add(bp_graph *graph, bp__value_kind kind, bp_dtype dtype, int ndim, const int64_t *shape,
                        bp_value *value);
/* Adds a constant whose elements, row-major at `data`, are to be written. (graph.c) */
bp_status bp__graph_constant_add(bp_graph *graph, const char *name, bp_dtype dtype, int ndim, const int64_t *shape,
                                 bp_value *value);
/* Adds a constant with the memory of a tensor, which the graph holds in another way. */
bp_status bp__constant_hold(bp_graph *graph, const char *name, const DLTensor *tensor, bp_value *value);
/* Drops the files of weights that the graph holds. */
void bp__weights_drop(bp_graph *graph);
/* Removes the values from `first` on, which were added last. */
void bp__values_drop(bp_graph *graph, bp_value first);
void bp__graph_unref(bp_graph *graph);
/* As bp_graph_create() and bp_graph_release(), of a graph that no program has: bp_reset() does not wait for it. */
bp_status bp__graph_create(bp_graph **graph);
void bp__graph_release(bp_graph *graph);

/* Returns the input or constant with a name; 0 if there is none. */
bp_value bp__value_named(const bp_graph *graph, const char *name, size_t length);
bool bp__graph_name_good(const char *name);

/* Adds to the thread's last error which node it is about. Returns the status. */
bp_status bp__graph_fail_at(const bp_graph *graph, int node, bp_status status);
bp_status bp__graph_fail_in(const char *call, int node, bp_status status);

/* Adds a slice: axis, first index, number of elements, step. (view.c) */
bp_status bp__slice_add(bp_graph *graph, bp_value value, const int64_t numbers[4], bp_value *view);

/* ---- Text that is read (reader.c) ---- */

typedef struct bp__reader {
    const char *at, *end;
    int line; /* 0: the text has no lines */
} bp__reader;

bp_status bp__reader_fail(const bp__reader *reader, const char *format, ...) BP_PRINTF(2, 3);
void bp__reader_skip(bp__reader *reader);                   /* spaces */
bool bp__reader_take(bp__reader *reader, const char *mark); /* skips spaces and the mark, if it is there */
bool bp__reader_done(bp__reader *reader);
bool bp__reader_name(bp__reader *reader, const char **name, size_t *length);
bool bp__reader_whole(bp__reader *reader, int64_t *number); /* false: none, or it does not fit */
bool bp__reader_real(bp__reader *reader, double *number);
/* Reads "[1, 2]". *numbers is NULL, or must be freed. */
bp_status bp__reader_list(bp__reader *reader, int *count, int64_t **numbers);
bp_status bp__reader_text(bp__reader *reader, char **text); /* "..." with \" and \\; to be freed */

/* ---- Fields (field.c) ---- */

/* A node while it is made. */
typedef struct bp__making {
    bp_graph *graph;
    bp__node node;
    uint64_t given;                                                   /* a bit for each field */
    bool counted;                                                     /* the number of elements of lists is given */
    bp_value named[BP__MOST_OPERANDS * 2];                            /* operands that were given by name, by field */
    bp_value (*find)(void *context, const char *name, size_t length); /* a value by its name */
    void *context;
} bp__making;

bp_status bp__fields_begin(bp__making *making, const bp_call *call); /* usual values */
/* Sets the fields that are not given, and that the pass decides. */
void bp__fields_decide(const bp__making *making);
/* Reads one "name=value", after the name and the mark. */
bp_status bp__field_read(bp__making *making, bp__reader *reader, const char *name, size_t length);
void bp__fields_free(const bp__node *node);
/* Writes the fields that have no usual value, as bp__field_read() takes them, each after ", ". */
void bp__fields_write(const bp__node *node, bp__text *text);
/* Writes the word of the node's first field that has words, such as "add"; "" if there is none, or no memory. */
void bp__node_function(const bp__node *node, char *word, size_t size);
/* Writes the values of the first fields that are a number or absent; NaN for one that is absent. */
void bp__node_numbers(const bp__node *node, int count, double *numbers);

/* ---- Nodes (node.c) ---- */

/* Adds the node, whose fields were read. Takes ownership of them. */
bp_status bp__node_add(bp__making *making, int operand_count, const bp_value *operands, int output_count,
                       bp_value *const *outputs);

void bp__node_free(const bp__node *node); /* what belongs to it */

/* Adds a copy of a node of another graph. `map` has the value of this graph for each value of the other one; those that
 * the node computes are added to it. */
bp_status bp__node_copy(bp_graph *graph, const bp_graph *from, const bp__node *node, bp_value *map);

/* The arguments of a node's call. */
typedef struct bp__bound {
    bp__call_arguments arguments;
    DLTensor tensor[BP__MOST_OPERANDS];
    DLTensor *listed;
    const DLTensor **list; /* NULL: there is no list */
} bp__bound;

/* Writes the tensor of a value. */
typedef void (*bp__locate)(const void *context, bp_value value, DLTensor *tensor);

/* Fills the arguments; bp__unbind() frees them. Absent operands are NULL. */
bp_status bp__bind(bp__bound *bound, const bp__node *node, bp__locate locate, const void *context);
void bp__unbind(const bp__bound *bound);

/* ---- Lowering (lower.c) ---- */

/* The place of a value in a run. */
typedef struct bp__located {
    bp__place place;
    int64_t *strides;
    int block; /* of the workspace; -1: it is elsewhere */
} bp__located;

/* A node's call; or the copy of a value to an output, or of what a reshaped value is of to the value. */
typedef struct bp__step {
    int node; /* -1: a copy */
    bp_value value;
    int output; /* -1: none */
    int ends;   /* the first of the blocks that are not used after the step; -1: none */
} bp__step;

/* A part of the workspace: the steps between which it is used, both included. They are in the order of `first`. */
typedef struct bp__use {
    int64_t bytes, offset;
    int first, last;
    int next;     /* that is not used after the same step; -1: none */
    char *memory; /* of a run that takes each block on its own */
} bp__use;

/* A value whose place is found after the places of its operands. */
typedef struct bp__waiting {
    bp_value value;
    int next; /* the first operand that was not looked at */
} bp__waiting;

/* Neighbouring steps that run together, block by block (region.h). */
typedef struct bp__region {
    int first, end;
    bp_plan *plan;                   /* until a part has it */
    struct bp__region_offer *offers; /* of all backends */
    int offer_count;
} bp__region;

/* How the values that nodes write lie in memory (layouts.c). The lists have an element for each value, and are NULL
 * where all values are row-major, each in memory of its own. */
typedef struct bp__layouts {
    bool *last;         /* it is written with its channels last */
    bool *image;        /* calls on images read it; not set if images are row-major */
    bp_value *whole;    /* the result that it is a part of; 0: none */
    int *axis;          /* of the result, along which its parts follow each other */
    int64_t *from;      /* the index at which the part begins there */
    bool channels_last; /* what was decided for images */
    double cost_ns[2];  /* estimated times, row-major and with the channels last; 0: not compared */
    void *memory;
} bp__layouts;

typedef struct bp__lowered {
    const bp_graph *graph;
    bp__layouts layouts;
    bp__region *regions;
    int region_count;
    bp_value *same;     /* of each value: an equal one, mostly itself */
    char **folded;      /* of each value: its elements, if it was computed before; else NULL */
    bool *live;         /* of each value: something needs it */
    bool *output_nodes; /* of each node: it computes an output */
    bp__located *at;
    int *direct; /* of each value: the output into which it is computed; -1: none */
    bp__waiting *waiting;
    bool *placed; /* of each value: its place was found */
    bp__step *steps;
    bp__use *uses;
    int step_count, use_count;
    int64_t *strides; /* memory */
    void *memory;
} bp__lowered;

/* Allocates, and makes each value its own. */
bp_status bp__lower_begin(bp__lowered *lowered, const bp_graph *graph);
/* Finds places and steps for tensors of these layouts. */
void bp__lower(bp__lowered *lowered, const DLTensor *const *inputs, const DLTensor *const *outputs);
void bp__lower_free(const bp__lowered *lowered);
/* Marks the values that the outputs need. */
void bp__lower_mark(bp__lowered *lowered);

/* Joins equal nodes. The values are marked. Errors: BP_E_NO_MEMORY. (same.c) */
bp_status bp__lower_join(bp__lowered *lowered);
/* Computes the nodes of constants; bp__free_aligned() frees `folded`. Errors: BP_E_NO_MEMORY, BP_E_CANCELLED. (fold.c)
 */
bp_status bp__lower_fold(bp__lowered *lowered);
void bp__lower_unfold(const bp__lowered *lowered); /* frees what was folded */
/* Make each value be nowhere; place a constant or folded value; place a view, unless it must be copied (false). */
void bp__lower_unplace(bp__lowered *lowered);
void bp__lower_constant(bp__lowered *lowered, bp_value value);
bool bp__lower_view(bp__lowered *lowered, bp_value value);

/* Decides how values lie in memory, for values that are marked, joined and folded, as `graph.layout` says; with auto by
 * the estimated times. Errors: BP_E_NO_MEMORY, BP_E_CANCELLED. */
bp_status bp__layouts_choose(bp__lowered *lowered, const DLTensor *const *inputs, const DLTensor *const *outputs);
/* As bp__layouts_choose(), of a graph that was not lowered; bp__free() frees `memory`. */
bp_status bp__layouts_of(bp__layouts *layouts, const bp_graph *graph, const DLTensor *const *inputs,
                         const DLTensor *const *outputs);
/* Returns whether the operands of a node are written into its result, so that it has nothing to do. */
bool bp__layouts_is_joined(const bp__lowered *lowered, const bp__node *node);
/* Returns the value whose memory a part is in, or the value itself; and how many elements ahead of it the part is. */
bp_value bp__layouts_root(const bp__lowered *lowered, bp_value value);
bool bp__layouts_contains(const bp__lowered *lowered, bp_value whole, bp_value part); /* or is it */
int64_t bp__layouts_ahead(const bp__lowered *lowered, bp_value value, const int64_t *strides);
/* Writes the strides of a value with memory of its own. */
void bp__layouts_strides(const bp__lowered *lowered, bp_value value, int64_t *strides);

/* Chains the blocks of the workspace that end with each step. */
void bp__lower_chain(bp__lowered *lowered);
/* Finds the steps that run together; bp__free() frees `regions`. plans[i] is the plan of step i, NULL if it joins no
 * other one. Errors: BP_E_NO_MEMORY. (regions.c) */
bp_status bp__lower_regions(bp__lowered *lowered, bp_plan *const *plans);
/* Places the values of the regions: what only a region reads needs no memory of the whole. */
void bp__lower_place_regions(bp__lowered *lowered);

/* Returns the tensor of a value, without its address. */
DLTensor bp__located_tensor(const bp__lowered *lowered, bp_value value);

/* The tensors of a copy, without their addresses. */
typedef struct bp__copy {
    DLTensor from, to;
    bp__place from_place, to_place;
    int64_t strides[BP_MAX_NDIM]; /* of `to` */
} bp__copy;
void bp__step_copy(const bp__lowered *lowered, const bp__step *step, const DLTensor *const *outputs, bp__copy *copy);

/* Asks the node's call for a plan, for tensors where they are in a run. `bound` is memory for that. */
bp_status bp__lower_plan(bp_plan **plan, const bp__lowered *lowered, const bp__node *node, bp__bound *bound);

/* Removes the optional outputs of a node that nothing needs from its arguments. */
void bp__bound_leave_out(bp__bound *bound, const bp__lowered *lowered, const bp__node *node);

/* ---- Runs (run.c) ---- */

/* Refuses tensors that do not fit the graph's inputs and outputs. */
bp_status bp__graph_check_tensors(const bp_graph *graph, const DLTensor *const *inputs, const DLTensor *const *outputs,
                                  bool data_optional);
/* Refuses outputs that share memory with an input, a borrowed constant or another output. */
bp_status bp__graph_check_overlap(const bp_graph *graph, const DLTensor *const *inputs, const DLTensor *const *outputs);
/* Runs each node on its own. The tensors were checked. */
bp_status bp__graph_run_eager(const bp_graph *graph, const DLTensor *const *inputs, const DLTensor *const *outputs);

#endif
