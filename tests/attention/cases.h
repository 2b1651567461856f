/* cases.h - declares random calls of attention with tensors of random layouts, and comparisons with a reference. */
#ifndef BP_TESTS_ATTENTION_CASES_H
#define BP_TESTS_ATTENTION_CASES_H

#include "support/arrays.h"

typedef enum attention_mask { ATTENTION_NO_MASK, ATTENTION_BOOL, ATTENTION_F32, ATTENTION_OWN } attention_mask;

/* What a case consists of; shapes include the batch. */
typedef struct attention_shape {
    bp_dtype dtype;
    int batch_ndim;
    int64_t batch[4];
    int64_t key_heads, value_heads; /* 0: as many as in the batch */
    int64_t queries, keys, size, value_size;
    bool broadcast; /* some dimensions of query, key and value have size 1 */
    attention_mask mask;
    bool causal, logsumexp;
    double dropout, scale; /* scale 0: the default */
    double softcap;
    bool window, lower_right, lengths;
    int64_t left, right; /* of the window */
    bool compact;        /* compact layouts */
} attention_shape;

typedef struct attention_case {
    attention_shape shape;
    bp_attention_call call;
    test_array tensor[BP_ATTENTION_TENSORS];
    int64_t seed[2];
    double weight_error; /* relative, of each weight that the kernel rounds before it is multiplied by values */
    bool rounds;         /* the kernel rounds query, key and value to bf16, from f32 */
    char text[400];
} attention_case;

/* Makes a random shape. */
attention_shape attention_any(bp_dtype dtype);

/* Adds a random softcap, window, alignment and lengths to a shape, each often absent. */
void attention_add_limits(attention_shape *shape);

/* Makes the tensors of a forward call with random numbers. */
void attention_begin(attention_case *c, const attention_shape *shape);
/* Turns a forward call that ran into one for the gradients. */
void attention_turn(attention_case *c);
void attention_end(attention_case *c);

/* Runs the call with these settings, and notes what its kernel rounds; the test fails if the call does. */
void attention_run(attention_case *c, const char *settings);
/* Runs it on 1, 2, 3 and 7 threads; the test fails if the written tensors differ in any bit. */
void attention_compare_threads(attention_case *c, const char *settings);

/* Compare the written tensors with the reference; the test fails if they differ by more than rounding, or if the memory
 * between their elements was written. */
void attention_compare_output(const attention_case *c);
void attention_compare_gradients(const attention_case *c);

/* Compare random calls of all types with the reference, on each of the native kernels in turn; with `limits`, as
 * attention_add_limits() adds them. */
void attention_check_outputs(int cases, bool limits);
void attention_check_gradients(int cases, bool limits);

/* Settings under which one kernel runs. The first ones are flash, mem_efficient and math. */
enum { ATTENTION_DTYPES = 4, ATTENTION_KERNELS = 5, ATTENTION_OWN_KERNELS = 3 };
extern const bp_dtype attention_dtypes[ATTENTION_DTYPES];
extern const char *const attention_kernels[ATTENTION_KERNELS];

/* Scores that are large and finite. */
typedef enum attention_large {
    ATTENTION_PADDED,      /* the mask is the type's lowest number for all keys of all rows */
    ATTENTION_PADDED_ROWS, /* of every second row, and for some keys of the others */
    ATTENTION_PADDED_F32,  /* the same, by a mask of f32 */
    ATTENTION_HIGH,        /* equal scores, above the greatest number divided by log2(e) */
    ATTENTION_LOW,         /* the same, negative */
    ATTENTION_MIXED,       /* of either sign, and different */
    ATTENTION_SCALED,      /* equal ones; the products of queries and keys exceed the greatest number before scaling */
    ATTENTION_LARGE_KINDS
} attention_large;

/* Makes a forward call with such scores; turns it into one for the gradients after it ran. */
void attention_begin_large(attention_case *c, attention_large kind, bp_dtype dtype, int64_t queries, int64_t keys);
void attention_turn_large(attention_case *c);

/* Compare with softmax of these scores, in long double, with bounds that do not grow with them. */
void attention_compare_large(const attention_case *c);
void attention_compare_large_gradients(const attention_case *c);

/* Writes the output of the reference, in compact order. */
void attention_reference(const attention_case *c, double *output);

#endif
