/* copies.cl - copies elements of UNIT bytes each, in order, transposed, or at given indices. */
#include "common.cl"
#include "elementwise.cl"


static inline storage_unit itself(storage_unit x) {
    return x;
}
UNARY(copy_all, itself)

/* The input has its smallest stride in the last dimension but one. A work item takes a square of `run` x `run`
 * elements, so that lines of both tensors are used while they are in a cache. */
__kernel void copy_transposed(__global const X_STORAGE *x, ulong x_first, __global Y_STORAGE *y, ulong y_first,
                              const layout l) {
    const int last = l.ndim - 1;
    const long column = (long)get_global_id(0) * l.run, row = (long)get_global_id(1) * l.run;
    const long columns = min(column + l.run, l.size[last]), rows = min(row + l.run, l.size[last - 1]);
    const long in_column = l.stride[0][last], in_row = l.stride[0][last - 1];
    const long out_column = l.stride[1][last], out_row = l.stride[1][last - 1];
    for (long matrix = get_global_id(2); matrix < l.total; matrix += get_global_size(2)) {
        long in = (long)x_first, out = (long)y_first, rest = matrix;
        for (int d = last - 2; d >= 0; d--) {
            in += rest % l.size[d] * l.stride[0][d];
            out += rest % l.size[d] * l.stride[1][d];
            rest /= l.size[d];
        }
        for (long i = row; i < rows; i++) {
            for (long j = column; j < columns; j++) {
                y[out + i * out_row + j * out_column] = x[in + i * in_row + j * in_column];
            }
        }
    }
}

/* ---- Elements at given indices ---- */

typedef struct indices {
    long axis, axis_size; /* stride of the input along the axis, and elements there */
    int wide, reserved;   /* wide: they are long */
} indices;

#define INDEX_OF(list, at) (of.wide ? ((__global const long *)list)[at] : (long)((__global const int *)list)[at])

__kernel void clear_flag(__global int *flag, ulong first) {
    flag[first] = 0;
}

/* Sets the flag if an index is out of range. The layout is that of the indices: operand 0. */
__kernel void check_indices(__global const char *list, ulong list_first, __global int *flag, ulong flag_first,
                            const layout l, const indices of) {
    bool wrong = false;
    EACH_PIECE(l) {
        const long step = l.stride[0][l.ndim - 1], from = (long)list_first + offset[0];
        for (long i = 0; i < n; i++) {
            const long index = INDEX_OF(list, from + i * step);
            wrong |= index < 0 || index >= of.axis_size;
        }
    }
    if (wrong) {
        flag[flag_first] = 1;
    }
}

/* Writes nothing if the flag is set. */
__kernel void take_all(__global const X_STORAGE *x, ulong x_first, __global const char *list, ulong list_first,
                       __global Y_STORAGE *y, ulong y_first, __global const int *flag, ulong flag_first,
                       const layout l, const indices of) {
    if (flag[flag_first] != 0) {
        return;
    }
    EACH_PIECE(l) {
        const int last = l.ndim - 1;
        const long in = l.stride[0][last], step = l.stride[1][last], out = l.stride[2][last];
        const long from = (long)list_first + offset[1];
        __global const X_STORAGE *source = x + (long)x_first + offset[0];
        __global Y_STORAGE *to = y + (long)y_first + offset[2];
        if (step == 0) {
            source += INDEX_OF(list, from) * of.axis;
            for (long i = 0; i < n; i++) {
                to[i * out] = source[i * in];
            }
        } else {
            for (long i = 0; i < n; i++) {
                to[i * out] = source[i * in + INDEX_OF(list, from + i * step) * of.axis];
            }
        }
    }
}
