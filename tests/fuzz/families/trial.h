/* trial.h - runs random calls of one family, and checks what each of them reads and writes.
 *
 * A trial is one call. Each operand is in memory of its own that begins or ends at a page that cannot be accessed, or
 * it is spread over more than 2^31 elements, and the pages between cannot be accessed. After the call
 * - inputs, and bytes between elements of outputs, are as before; so are outputs, if the call failed;
 * - each element of an output was written, if the call succeeded;
 * - results are as of the same call on compact copies, under other settings; and as of a plan that is executed.
 */
#ifndef BP_FUZZ_TRIAL_H
#define BP_FUZZ_TRIAL_H

#include "../elements.h"

#include "base/base.h"

enum { OPERANDS = 24, MOST_COUNT = 20000 };

/* ---- Random numbers (source.c) ---- */

/* Numbers are drawn from the bytes of the input first, then from a generator. */
typedef struct source {
    const uint8_t *bytes;
    size_t left;
    uint64_t state;
    int zero_at, drawn; /* size number `zero_at` is 0; how many sizes were drawn */
    bool wild;          /* some parameters are out of range */
} source;

uint64_t draw_bits(source *s);
int draw(source *s, int end); /* 0 to end - 1 */
bool chance(source *s, int one_in);
int64_t draw_size(source *s, int most);      /* 0 and 1 are frequent */
int64_t draw_wild(source *s, int64_t value); /* the value, or in a wild trial sometimes another one */

/* ---- Operands ---- */

typedef enum content { INTEGERS, FRACTIONS, POSITIVE, ANYTHING, INDICES, PIVOTS, DOMINANT } content;

typedef struct operand {
    const char *name;
    bp_dtype dtype;
    DLTensor tensor, compact;
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
    content content;
    int64_t limit;      /* of INDICES: below it; PIVOTS: up to it */
    double tolerance;   /* units of rounding of the largest number; 0: equal; negative: the result is not unique */
    bool overflows;     /* which elements are infinite and which are NaN depends on the layout */
    bool written, kept; /* kept: a call reads it too, or may leave it */
    bool packed;        /* must be compact */
    bool distinct;      /* each index has an address of its own, and no other operand has it */
    int host;           /* the operand in whose memory it is */
    bool sparse;
    char *low; /* its memory, and its content before the call: all bytes, or if it is sparse the elements */
    size_t bytes;
    char *before;
    char *result; /* its elements, one after another, after the call */
} operand;

typedef enum request {
    RUN,
    PLAN,
    EXPLAIN,
    REFERENCE, /* makes the references of the results (reference/results.h); BP_E_UNSUPPORTED: there are none */
    RESIDUAL   /* of results that are not unique, which have been computed: writes their error and its bound */
} request;
typedef struct trial trial;

typedef struct family {
    const char *name;
    const char *preferred;  /* the setting that prefers a library; NULL: none */
    void (*make)(trial *t); /* draws the parameters and adds the operands */
    bp_status (*call)(const trial *t, request what, const bp_options *options, void *made);
    void (*prepare)(const trial *t); /* computes inputs that another call must have written; NULL: there are none */
    bool shares;                     /* an output of a plan may be in the place of an input */
} family;

struct trial {
    const family *family;
    source source;
    uint64_t seed;
    int count;
    operand operand[OPERANDS];
    DLTensor *tensor[OPERANDS];       /* the tensors of the call at present; NULL: absent */
    int order[OPERANDS], order_count; /* operands of a plan, by number; -1: absent. Empty: all in their order */
    bool item_errors;                 /* the call may fail after it has written */
    bp_status late;                   /* this failure may leave a part of the result; BP_OK: none may */
    bool invalid;                     /* the shapes do not fit: there is no call */
    bool pinned;                      /* the options choose one candidate */
    bp_op op;                         /* of the call that request_described() made last; 0: none */
    char text[256];
    int findings;
};

extern const family *const families[];
int family_count(void);

/* Adds an operand, or an absent one. */
operand *add(trial *t, const char *name, bp_dtype dtype, int ndim, const int64_t *shape);
operand *add_output(trial *t, const char *name, bp_dtype dtype, int ndim, const int64_t *shape, double tolerance);
void add_absent(trial *t);
void order_of_plan(trial *t, int count, const int *order);
bp_dtype draw_type(source *s, int count, const bp_dtype *types);
void describe(trial *t, const char *format, ...) BP_PRINTF(2, 3);

static inline int64_t count_of(const operand *o) {
    int64_t count = 1;
    for (int d = 0; d < o->tensor.ndim; d++) {
        count *= o->shape[d];
    }
    return count;
}

/* Advances an index in the order of memory of a compact tensor. */
static inline bool advance(const operand *o, int64_t *index) {
    for (int d = o->tensor.ndim - 1; d >= 0; d--) {
        if (++index[d] < o->shape[d]) {
            return true;
        }
        index[d] = 0;
    }
    return false;
}

static inline char *address_of(const operand *o, const int64_t *index) {
    int64_t offset = 0;
    for (int d = 0; d < o->tensor.ndim; d++) {
        offset += index[d] * o->strides[d];
    }
    return (char *)o->tensor.data + offset * (int64_t)bp_dtype_size(o->dtype);
}

/* ---- Memory (place.c) ---- */

void place_all(trial *t);
void release_all(trial *t);
void fill_pattern(operand *o, int pattern); /* of an output that is not kept */
void copy_elements(const operand *o, char *to);

/* ---- Checks (check.c) ---- */

void print_call(const trial *t);
void finding(trial *t, const char *format, ...) BP_PRINTF(2, 3);
void keep_before(trial *t);
void check_memory(trial *t, bool may_write, const char *what);
void check_written(trial *t, const operand *o, const char *again, int pattern, int second);
void compare(trial *t, const operand *o, const char *got, const char *want, const char *what);

/* ---- Calls by description (described.c) ---- */

/* Makes the call with a name. With a plan, checks the shapes that the library finds for the results. */
bp_status request_described(const trial *t, request what, const char *name, const void *arguments,
                            const bp_options *options, void *made);

/* ---- Trials (trial.c) ---- */

/* `system`: with the libraries of the machine. */
void set_up(bool system);
/* Draws the call of these bytes, and then of this seed. */
void begin_trial(trial *t, const family *f, const uint8_t *bytes, size_t size, uint64_t seed, int zero_at);
/* Prints the present call. For a handler of a signal that ends the process. */
void print_trial(void);

/* Runs the trial of these bytes, and then of this seed. Sets the number of sizes that were drawn; adds 1 to `calls` if
 * the shapes fit. Returns the number of findings. */
int run_trial(const family *f, const uint8_t *bytes, size_t size, uint64_t seed, int zero_at, int *sizes,
              unsigned long long *calls);

/* ---- Candidates (candidates.c) ---- */

/* What has been run: calls that are explained, runs of their candidates, the runs that were compared with a
 * reference, and runs on the device. One of `device_part` calls runs there. */
typedef struct coverage {
    unsigned long long calls, runs, compared, device_runs;
    int32_t device; /* 0: there is none */
    unsigned device_part;
} coverage;

/* Runs the call of a seed on every candidate. Returns the number of findings. */
int run_candidates(const family *f, uint64_t seed, coverage *c);

/* ---- Stacks ---- */

/* Calls `call` on a stack of 32 KiB, and sets *used to the bytes of it that were used; 0: it was another stack.
 * (stack.c)
 */
typedef bp_status stacked_call(void *user);
bp_status call_on_stack(stacked_call *call, void *user, int64_t *used);
/* Most of it: 16 KiB of the library's own functions, and what the C library and this program take. */
enum { MOST_STACK = 20 << 10 };

#endif
