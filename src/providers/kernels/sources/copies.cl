/* copies.cl - copies elements of UNIT bytes each, in order, transposed, or at given indices. */
#include "common.cl"
#include "elementwise.cl"

static inline storage_unit itself(storage_unit x) {
    return x;
}
UNARY(copy_all, itself)

#ifdef ROWS
#define SIDE 32

/* Sets *row, *column to the first ones of a square, and moves the pointers' offsets to its matrix. */
static inline void find_square(const layout *l, INDEX square, INDEX *row, INDEX *column, INDEX offset[3]) {
    const INDEX across = ((INDEX)l->size[0] + SIDE - 1) / SIDE, down = ((INDEX)l->size[1] + SIDE - 1) / SIDE;
    const INDEX line = square / across;
    INDEX matrix = line / down;
    *column = (square - line * across) * SIDE;
    *row = (line - matrix * down) * SIDE;
    offset[0] = offset[1] = offset[2] = 0;
    for (int d = DIMS - 1; d > 1; d--) {
        if (d < l->ndim) {
            matrix = split(l, matrix, d, offset);
        }
    }
}

/* The output has its smallest stride in dimension 0, the columns, and the input in dimension 1, the rows. A group of
 * SIDE x ROWS work items takes a square through local memory, so that neighbours read neighbours and write neighbours.
 * The unused column keeps the elements of a column in different banks. `run` is the number of squares. */
__kernel GROUP_SIZE(SIDE, ROWS) void copy_squares(__global const X_STORAGE *x,
                                                                                ulong x_first, __global Y_STORAGE *y,
                                                                                ulong y_first, const layout l) {
    SHARED X_STORAGE kept[SIDE][SIDE + 1];
    const INDEX columns = (INDEX)l.size[0], rows = (INDEX)l.size[1];
    const INDEX along = (INDEX)get_local_id(0), across = (INDEX)get_local_id(1);
    x += (long)x_first;
    y += (long)y_first;
    for (INDEX square = (INDEX)get_group_id(0); square < (INDEX)l.run; square += (INDEX)get_num_groups(0)) {
        INDEX row, column, offset[3];
        X_STORAGE element[SIDE / ROWS];
        find_square(&l, square, &row, &column, offset);
        const INDEX from = offset[0] + min(row + along, rows - 1) * (INDEX)l.stride[0][1];
        const INDEX to = offset[1] + (column + along) * (INDEX)l.stride[1][0];
        _Pragma("unroll") for (int k = 0; k < SIDE / ROWS; k++) {
            element[k] = x[from + min(column + across + k * ROWS, columns - 1) * (INDEX)l.stride[0][0]];
        }
        _Pragma("unroll") for (int k = 0; k < SIDE / ROWS; k++) {
            kept[across + k * ROWS][along] = element[k];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        _Pragma("unroll") for (int k = 0; k < SIDE / ROWS; k++) {
            const INDEX at = across + k * ROWS;
            if (column + along < columns && row + at < rows) {
                y[to + (row + at) * (INDEX)l.stride[1][1]] = kept[along][at];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#elif !defined(INDEX)
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
#endif

/* ---- Elements at given indices ---- */

typedef struct indices {
    long axis, axis_size; /* stride of the input along the axis, and elements there */
    int wide, reserved;   /* wide: they are long */
} indices;

#define INDEX_AT(list, at) (of.wide ? ((__global const long *)list)[at] : (long)((__global const int *)list)[at])

__kernel void clear_flag(__global int *flag, ulong first) {
    flag[first] = 0;
}

/* Sets the flag if an index is out of range. The layout is the layout of the indices: operand 0. */
__kernel void check_indices(__global const char *list, ulong list_first, __global int *flag, ulong flag_first,
                            const layout l, const indices of) {
    bool wrong = false;
#ifdef INDEX
    EACH_TILE(l) {
        EACH_AT_ONCE(k) {
            const long index = INDEX_AT(list, (long)list_first + offset[k][0]);
            wrong |= index < 0 || index >= of.axis_size;
        }
    }
#else
    EACH_PIECE(l) {
        const long step = l.stride[0][l.ndim - 1], from = (long)list_first + offset[0];
        for (long i = 0; i < n; i++) {
            const long index = INDEX_AT(list, from + i * step);
            wrong |= index < 0 || index >= of.axis_size;
        }
    }
#endif
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
    x += (long)x_first;
    y += (long)y_first;
#ifdef INDEX
    EACH_TILE(l) {
        X_STORAGE element[AT_ONCE];
        EACH_AT_ONCE(k) {
            element[k] = x[offset[k][0] + INDEX_AT(list, (long)list_first + offset[k][1]) * of.axis];
        }
        EACH_AT_ONCE(k) {
            if (EXISTS(l, k)) {
                y[offset[k][2]] = element[k];
            }
        }
    }
#else
    EACH_PIECE(l) {
        const int last = l.ndim - 1;
        const long in = l.stride[0][last], step = l.stride[1][last], out = l.stride[2][last];
        const long from = (long)list_first + offset[1];
        __global const X_STORAGE *source = x + offset[0];
        __global Y_STORAGE *to = y + offset[2];
        if (step == 0) {
            source += INDEX_AT(list, from) * of.axis;
            for (long i = 0; i < n; i++) {
                to[i * out] = source[i * in];
            }
        } else {
            for (long i = 0; i < n; i++) {
                to[i * out] = source[i * in + INDEX_AT(list, from + i * step) * of.axis];
            }
        }
    }
#endif
}
