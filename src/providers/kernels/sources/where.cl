/* where.cl - chooses between elements of one size by a condition. `unit` is the integer of their bits. */
#define OPERANDS 4
#include "common.cl"
#include "elementwise.cl"

__kernel void where_all(__global const uchar *condition, ulong c_first, __global const X_STORAGE *a, ulong a_first,
                        __global const X_STORAGE *b, ulong b_first, __global Y_STORAGE *y, ulong y_first,
                        const layout l) {
    condition += (long)c_first;
    a += (long)a_first;
    b += (long)b_first;
    y += (long)y_first;
#ifdef INDEX
    EACH_TILE(l) {
        X_STORAGE chosen[AT_ONCE];
        EACH_AT_ONCE(k) {
            chosen[k] = condition[offset[k][0]] != 0 ? a[offset[k][1]] : b[offset[k][2]];
        }
        EACH_AT_ONCE(k) {
            if (EXISTS(l, k)) {
                y[offset[k][3]] = chosen[k];
            }
        }
    }
#else
    EACH_PIECE(l) {
        const int last = l.ndim - 1;
        const long step_c = l.stride[0][last], step_a = l.stride[1][last], step_b = l.stride[2][last],
                   out = l.stride[3][last];
        for (long i = 0; i < n; i++) {
            const X_STORAGE left = a[offset[1] + i * step_a], right = b[offset[2] + i * step_b];
            y[offset[3] + i * out] = condition[offset[0] + i * step_c] != 0 ? left : right;
        }
    }
#endif
}
