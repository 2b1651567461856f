/* elementwise.h - declares the kernels and plans of operations on single elements.
 *
 * Elements are read into a domain, computed there, and written. A tile of a tensor, which stays in the cache, is read
 * into compact memory, unless its elements are in the domain's type and compact already. */
#ifndef BP_NATIVE_ELEMENTWISE_H
#define BP_NATIVE_ELEMENTWISE_H

#include "providers/native/gemm/choose.h"

typedef enum bp__domain { BP__DOMAIN_I32, BP__DOMAIN_I64, BP__DOMAIN_F32, BP__DOMAIN_F64, BP__DOMAINS } bp__domain;

enum { BP__ELEMENT_DTYPES = BP_BOOL + 1 };

/* Convert rows x columns elements; `row` and `column` are their strides in the tensor. The other side is compact
 * and has the type of a domain. */
typedef void (*bp__element_read)(int64_t rows, int64_t columns, const void *from, int64_t row, int64_t column,
                                 void *to);
typedef void (*bp__element_write)(int64_t rows, int64_t columns, const void *from, void *to, int64_t row,
                                  int64_t column);
/* Compute n elements of a domain. The result may be in the place of an argument. `numbers`: the numbers of the problem;
 * functions that take none do not read them. */
typedef void (*bp__element_unary)(int64_t n, const void *x, void *y, const double *numbers);
typedef void (*bp__element_binary)(int64_t n, const void *a, const void *b, void *y);
/* Chooses between elements of a and b, for rows x columns elements: addresses and strides of condition, a, b and
 * output. The output may be in the place of an input of its type and strides. */
typedef void (*bp__element_select)(int64_t rows, int64_t columns, char *const at[4], const int64_t row[4],
                                   const int64_t column[4]);

/* Computes n elements of two functions: g(f(a, b), c), g(c, f(a, b)) or g(f(a, b)). The result may be in the place of
 * an argument. `numbers`: of g. */
typedef void (*bp__element_pair)(int64_t n, const void *a, const void *b, const void *c, void *y,
                                 const double *numbers);

enum {
    BP__ELEMENT_BYTES = 16,   /* of the largest element */
    BP__ELEMENT_BUFFER = 4096 /* bytes of a tile that is converted or copied */
};

/* The functions that have kernels with another one: of two elements, and of one. */
#define BP__JOINED_BINARY(X)                                                                                           \
    X(ADD, add) X(SUBTRACT, subtract) X(MULTIPLY, multiply) X(MAXIMUM, greater) X(MINIMUM, less)
#define BP__JOINED_UNARY(X) X(RELU, relu) X(ABS, size_of) X(NEGATIVE, negative) X(CLIP, clip)
enum {
#define X(kind, name) BP__JOINED_##kind,
    BP__JOINED_BINARY(X) BP__JOINED_BINARIES,
    BP__JOINED_BEFORE_UNARY = -1,
    BP__JOINED_UNARY(X) BP__JOINED_UNARIES
#undef X
};

/* Kernels of one instruction set; NULL: there is none. */
typedef struct bp__element_kernels {
    bp__element_read read[BP__DOMAINS][BP__ELEMENT_DTYPES];
    bp__element_write write[BP__DOMAINS][BP__ELEMENT_DTYPES];
    bp__element_unary unary[BP__DOMAINS][BP_UNARY_KINDS];
    bp__element_binary binary[BP__DOMAINS][BP_BINARY_KINDS];
    bp__element_select select[BP__ELEMENT_BYTES + 1]; /* by the bytes of an element */
    /* f and g; 1: the result of f is the second argument of g. Then the kernels of a g that has no other argument. */
    bp__element_pair pair[BP__DOMAINS][BP__JOINED_BINARIES][BP__JOINED_BINARIES][2];
    bp__element_pair then[BP__DOMAINS][BP__JOINED_BINARIES][BP__JOINED_UNARIES];
} bp__element_kernels;

extern const bp__element_kernels bp__element_kernels_default;
extern const bp__element_kernels bp__element_kernels_avx2;
extern const bp__element_kernels bp__element_kernels_avx512;

/* Kernels of one problem. Copies without conversion have none. */
typedef struct bp__element_set {
    bp__element_read read[2];
    bp__element_write write;
    bp__element_unary unary; /* NULL: the elements are converted only */
    bp__element_binary binary;
    bp__element_select select; /* of WHERE, which has no other kernels */
    size_t number;             /* bytes of an element of the domain */
    bool direct[3];            /* the operand's type is the domain's */
    const bp__element_kernels *kernels;
    bp__domain domain;
} bp__element_set;

/* What computes elements, in every plan of a function of single elements. */
typedef struct bp__element_call {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp__element_set set;
    uint32_t kind;
    int inputs;
    uint32_t type[BP_ELEMENTWISE_OPERANDS];
    int64_t element[BP_ELEMENTWISE_OPERANDS]; /* bytes */
    double number[2];
} bp__element_call;

/* Strides of an operand in a tile. */
typedef struct bp__element_layout {
    int64_t row, column;
} bp__element_layout;

/* The dimensions of a problem in the order of the output's strides, the smallest one last. */
typedef struct bp__element_loop {
    int ndim;
    int64_t size[BP_MAX_ELEMENTWISE_NDIM];
    int64_t stride[BP_ELEMENTWISE_OPERANDS][BP_MAX_ELEMENTWISE_NDIM];
} bp__element_loop;

/* Fills the loop with at least two dimensions, merged as far as strides allow. `operands`: how many have strides. */
void bp__element_loop_make(bp__element_loop *loop, const bp_elementwise_problem *problem, int operands);

/* ---- tile.c ---- */
/* Fills all but `base`, and the functions of `base` for elements that lie one after another. */
void bp__element_call_make(bp__element_call *call, const bp_host *host, const bp_problem *problem,
                           const bp__element_set *set);
/* Returns whether a tile has the elements of an operand one after another, in the type of the domain. */
bool bp__element_is_direct(const bp__element_call *call, int operand, int64_t rows, int64_t columns,
                           const bp__element_layout *layout);
/* Computes a function or a conversion. Operands that are not direct take at most BP__ELEMENT_BUFFER bytes in the type
 * of the domain. */
void bp__element_tile(const bp__element_call *call, int64_t rows, int64_t columns, char *const *at,
                      const bp__element_layout *layout);

bp_status bp__element_plan(const bp_host *host, const bp_problem *problem, const bp__element_set *set, int threads,
                           bp_prepared **prepared);
bp_status bp__element_take_plan(const bp_host *host, const bp_problem *problem, int threads, bp_prepared **prepared);

/* Returns the kernel of a function for f32 or f64 that takes no numbers. */
bp__element_unary bp__element_function(const bp_host *host, const bp_problem *problem, uint32_t kind, bp_dtype dtype);
/* Plans a function of one element, of a problem that is not offered by itself. */
bp_status bp__element_plan_function(const bp_host *host, const bp_problem *problem, int threads,
                                    bp_prepared **prepared);

/* Returns the estimated time of an element in the first cache; and of all on one thread. */
double bp__element_work(const bp_host *host, const bp_problem *problem);
double bp__element_cost(const bp_host *host, const bp_problem *problem);

#endif
