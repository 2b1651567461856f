/* elementwise.cl - computes functions of single elements, and converts them. common.cl and math.cl come before.
 *
 * X is the type of the inputs, Y that of the output. A work item takes `run` neighbouring elements, in the order of the
 * dimensions, and then those `run` times the number of work items further on. */
#define DIMS 24
typedef struct layout {
    long total, run;
    int ndim, reserved;
    long size[DIMS];
    long stride[3][DIMS];
} layout;

#define X_STORAGE JOIN(storage, X)
#define Y_STORAGE JOIN(storage, Y)

/* Offsets of an element in each operand; returns its index in the last dimension. */
static inline long find(const layout *l, long index, long offset[3]) {
    const int last = l->ndim - 1;
    const long column = index % l->size[last];
    for (int i = 0; i < 3; i++) {
        offset[i] = column * l->stride[i][last];
    }
    index /= l->size[last];
    for (int d = last - 1; d >= 0; d--) {
        const long at = index % l->size[d];
        for (int i = 0; i < 3; i++) {
            offset[i] += at * l->stride[i][d];
        }
        index /= l->size[d];
    }
    return column;
}

/* Loops over pieces of n elements along the last dimension, and sets offset[] for each. */
#define EACH_PIECE(l)                                                                                                  \
    long offset[3];                                                                                                    \
    for (long begin = (long)get_global_id(0) * l.run; begin < l.total; begin += (long)get_global_size(0) * l.run)      \
        for (long at = begin, end = min(begin + l.run, l.total), n = 0;                                                \
             at < end && (n = min(end - at, l.size[l.ndim - 1] - find(&l, at, offset)), true); at += n)

#define UNARY(name, function)                                                                                          \
    __kernel void name(__global const X_STORAGE *x, ulong x_first, __global Y_STORAGE *y, ulong y_first,               \
                       const layout l) {                                                                               \
        EACH_PIECE(l) {                                                                                                 \
            __global const X_STORAGE *from = x + (long)x_first + offset[0];                                            \
            __global Y_STORAGE *to = y + (long)y_first + offset[1];                                                    \
            const long in = l.stride[0][l.ndim - 1], out = l.stride[1][l.ndim - 1];                                    \
            if (in == 1 && out == 1) {                                                                                 \
                INDEPENDENT                                                                                            \
                for (long i = 0; i < n; i++) {                                                                         \
                    to[i] = function(from[i]);                                                                         \
                }                                                                                                      \
            } else {                                                                                                   \
                for (long i = 0; i < n; i++) {                                                                         \
                    to[i * out] = function(from[i * in]);                                                              \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#define BINARY(name, function)                                                                                         \
    __kernel void name(__global const X_STORAGE *a, ulong a_first, __global const X_STORAGE *b, ulong b_first,         \
                       __global Y_STORAGE *y, ulong y_first, const layout l) {                                         \
        EACH_PIECE(l) {                                                                                                 \
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
