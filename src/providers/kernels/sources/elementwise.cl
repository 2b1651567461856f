/* elementwise.cl - computes functions of single elements, and converts them. common.cl and math.cl come before.
 *
 * X is the type of the inputs, Y the type of the output. On processors a work item takes `run` neighbouring elements, in
 * the order of the dimensions, and then the elements `run` times the number of work items further on. On other devices INDEX
 * is the type of indices and offsets. There a group takes a tile, and each work item AT_ONCE elements of it.
 * Neighbouring work items take neighbouring elements, and a work item reads all its elements before it computes. */
#ifndef DIMS
#define DIMS 24
#endif
#ifndef OPERANDS
#define OPERANDS 3 /* at most, with the output */
#endif
typedef struct layout {
    long total, run;
    int ndim, reserved;
    long size[DIMS];
    long stride[OPERANDS][DIMS];
    uint factor[DIMS]; /* for divisions by the sizes, if INDEX is int */
} layout;

#define X_STORAGE JOIN(storage, X)
#define Y_STORAGE JOIN(storage, Y)

#define UNARY_PARAMETERS                                                                                               \
    __global const X_STORAGE *x, ulong x_first, __global Y_STORAGE *y, ulong y_first, const layout l
#define BINARY_PARAMETERS                                                                                              \
    __global const X_STORAGE *a, ulong a_first, __global const X_STORAGE *b, ulong b_first, __global Y_STORAGE *y,     \
        ulong y_first, const layout l

#ifdef INDEX
/* ---- Other devices: tiles ---- */

#define EACH_AT_ONCE(k) _Pragma("unroll") for (int k = 0; k < AT_ONCE; k++)

/* index / size[d]; as an int, index < 2^30 and size > 1. It is a product with 2^(32 + s) / size, rounded up, whose
 * error is too small to reach the next integer. */
static inline INDEX quotient(const layout *l, INDEX index, int d) {
    const uint size = (uint)l->size[d];
    return sizeof(INDEX) == sizeof(int) ? (INDEX)(mul_hi((uint)index, l->factor[d]) >> (31 - clz(size - 1)))
                                        : index / (INDEX)l->size[d];
}

/* Moves offsets by the last of the dimensions from d on, and takes it from the index. */
static inline INDEX split(const layout *l, INDEX index, int d, INDEX offset[OPERANDS]) {
    const INDEX rest = quotient(l, index, d), at = index - rest * (INDEX)l->size[d];
    for (int i = 0; i < OPERANDS; i++) {
        offset[i] += at * (INDEX)l->stride[i][d];
    }
    return rest;
}

/* Offsets of the elements of a work item in each operand. Those past the end are at the last element. The loop has a
 * constant number of steps, so that arguments are read where they are: no compiler copies them. */
static inline void find_tile(const layout *l, INDEX first, INDEX offset[AT_ONCE][OPERANDS]) {
    INDEX index[AT_ONCE];
    EACH_AT_ONCE(k) {
        index[k] = min(first + k * (INDEX)get_local_size(0), (INDEX)l->total - 1);
        for (int i = 0; i < OPERANDS; i++) {
            offset[k][i] = 0;
        }
    }
    for (int d = DIMS - 1; d > 0; d--) {
        if (d < l->ndim) {
            EACH_AT_ONCE(k) {
                index[k] = split(l, index[k], d, offset[k]);
            }
        }
    }
    EACH_AT_ONCE(k) {
        for (int i = 0; i < OPERANDS; i++) {
            offset[k][i] += index[k] * (INDEX)l->stride[i][0];
        }
    }
}

/* Loops over the tiles of a group, and sets offset[] for each. */
#define EACH_TILE(l)                                                                                                   \
    INDEX offset[AT_ONCE][OPERANDS];                                                                                   \
    for (INDEX first = (INDEX)get_group_id(0) * AT_ONCE * (INDEX)get_local_size(0) + (INDEX)get_local_id(0);           \
         first < (INDEX)(l).total && (find_tile(&(l), first, offset), true);                                           \
         first += (INDEX)get_global_size(0) * AT_ONCE)

/* Whether element k of a work item exists, in EACH_TILE. */
#define EXISTS(l, k) (first + (k) * (INDEX)get_local_size(0) < (INDEX)(l).total)

#define UNARY_KERNEL(name, function, parameters, arguments)                                                            \
    __kernel void name(UNARY_PARAMETERS parameters) {                                                                  \
        x += (long)x_first;                                                                                            \
        y += (long)y_first;                                                                                            \
        EACH_TILE(l) {                                                                                                 \
            X_STORAGE element[AT_ONCE];                                                                                \
            EACH_AT_ONCE(k) {                                                                                          \
                element[k] = x[offset[k][0]];                                                                          \
            }                                                                                                          \
            EACH_AT_ONCE(k) {                                                                                          \
                if (EXISTS(l, k)) {                                                                                    \
                    y[offset[k][1]] = function(element[k] arguments);                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#define BINARY(name, function)                                                                                         \
    __kernel void name(BINARY_PARAMETERS) {                                                                            \
        a += (long)a_first;                                                                                            \
        b += (long)b_first;                                                                                            \
        y += (long)y_first;                                                                                            \
        EACH_TILE(l) {                                                                                                 \
            X_STORAGE left[AT_ONCE], right[AT_ONCE];                                                                   \
            EACH_AT_ONCE(k) {                                                                                          \
                left[k] = a[offset[k][0]];                                                                             \
                right[k] = b[offset[k][1]];                                                                            \
            }                                                                                                          \
            EACH_AT_ONCE(k) {                                                                                          \
                if (EXISTS(l, k)) {                                                                                    \
                    y[offset[k][2]] = function(left[k], right[k]);                                                     \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#else
/* ---- Processors: runs ---- */

/* Offsets of an element in each operand; returns its index in the last dimension. */
static inline long find(const layout *l, long index, long offset[OPERANDS]) {
    const int last = l->ndim - 1;
    const long column = index % l->size[last];
    for (int i = 0; i < OPERANDS; i++) {
        offset[i] = column * l->stride[i][last];
    }
    index /= l->size[last];
    for (int d = last - 1; d >= 0; d--) {
        const long at = index % l->size[d];
        for (int i = 0; i < OPERANDS; i++) {
            offset[i] += at * l->stride[i][d];
        }
        index /= l->size[d];
    }
    return column;
}

/* Loops over pieces of n elements along the last dimension, and sets offset[] for each. */
#define EACH_PIECE(l)                                                                                                  \
    long offset[OPERANDS];                                                                                             \
    for (long begin = (long)get_global_id(0) * l.run; begin < l.total; begin += (long)get_global_size(0) * l.run)      \
        for (long at = begin, end = min(begin + l.run, l.total), n = 0;                                                \
             at < end && (n = min(end - at, l.size[l.ndim - 1] - find(&l, at, offset)), true); at += n)

#define UNARY_KERNEL(name, function, parameters, arguments)                                                            \
    __kernel void name(UNARY_PARAMETERS parameters) {                                                                  \
        EACH_PIECE(l) {                                                                                                \
            __global const X_STORAGE *from = x + (long)x_first + offset[0];                                            \
            __global Y_STORAGE *to = y + (long)y_first + offset[1];                                                    \
            const long in = l.stride[0][l.ndim - 1], out = l.stride[1][l.ndim - 1];                                    \
            if (in == 1 && out == 1) {                                                                                 \
                INDEPENDENT                                                                                            \
                for (long i = 0; i < n; i++) {                                                                         \
                    to[i] = function(from[i] arguments);                                                               \
                }                                                                                                      \
            } else {                                                                                                   \
                for (long i = 0; i < n; i++) {                                                                         \
                    to[i * out] = function(from[i * in] arguments);                                                    \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#define BINARY(name, function)                                                                                         \
    __kernel void name(BINARY_PARAMETERS) {                                                                            \
        EACH_PIECE(l) {                                                                                                \
            __global const X_STORAGE *left = a + (long)a_first + offset[0];                                            \
            __global const X_STORAGE *right = b + (long)b_first + offset[1];                                           \
            __global Y_STORAGE *to = y + (long)y_first + offset[2];                                                    \
            const int last = l.ndim - 1;                                                                               \
            const long step_a = l.stride[0][last], step_b = l.stride[1][last], out = l.stride[2][last];                \
            if (step_a == 1 && step_b == 1 && out == 1) {                                                              \
                INDEPENDENT                                                                                            \
                for (long i = 0; i < n; i++) {                                                                         \
                    to[i] = function(left[i], right[i]);                                                               \
                }                                                                                                      \
            } else {                                                                                                   \
                for (long i = 0; i < n; i++) {                                                                         \
                    to[i * out] = function(left[i * step_a], right[i * step_b]);                                       \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
#endif

/* Functions of one element, and those that take the two numbers of the problem, of the type NUMBER. */
#define NUMBER_PARAMETERS , const NUMBER first_number, const NUMBER second_number
#define NUMBER_ARGUMENTS , first_number, second_number
#define UNARY(name, function) UNARY_KERNEL(name, function, , )
#define UNARY_WITH(name, function) UNARY_KERNEL(name, function, NUMBER_PARAMETERS, NUMBER_ARGUMENTS)
