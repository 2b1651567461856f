/* pad.cl - pads, reverses and rotates tensors of elements of one size. `unit` is the integer of their bits.
 *
 * A work item takes elements of the output in turn, and finds where each comes from. MODE is the number of the mode. */
#include "common.cl"

enum { CONSTANT, REFLECT, REPLICATE, CIRCULAR };

/* The struct of the same name in pad.c. */
typedef struct padding {
    long total, run;
    int ndim, reserved;
    ulong flipped;
    uchar value[16];
    long size[DIMS], inner[DIMS], before[DIMS], x[DIMS], y[DIMS];
} padding;

static inline long source_of(const padding *p, int d, long at) {
    const long n = p->inner[d], i = at - p->before[d];
    if (p->flipped >> d & 1) {
        return n - 1 - at;
    }
    if (i >= 0 && i < n) {
        return i;
    }
    return MODE == REFLECT     ? (i < 0 ? -i : 2 * (n - 1) - i)
           : MODE == REPLICATE ? (i < 0 ? 0 : n - 1)
           : MODE == CIRCULAR  ? (i < 0 ? i + n : i - n)
                               : -1;
}

/* GPUs divide 32 bits several times faster than 64. */
static inline long quotient(long a, long b) {
    return (ulong)(a | b) >> 32 == 0 ? (long)((uint)a / (uint)b) : a / b;
}

__kernel void pad_all(__global const storage_unit *x, ulong x_first, __global storage_unit *y, ulong y_first,
                      const padding p) {
    union {
        uchar bytes[16];
        storage_unit unit;
    } value;
    for (int i = 0; i < 16; i++) {
        value.bytes[i] = p.value[i];
    }
    x += (long)x_first;
    y += (long)y_first;
    for (long first = get_global_id(0) * p.run; first < p.total; first += get_global_size(0) * p.run) {
        for (long index = first; index < min(first + p.run, p.total); index++) {
            long rest = index, from = 0, to = 0;
            bool known = true;
            for (int d = p.ndim - 1; d >= 0; d--) {
                const long above = quotient(rest, p.size[d]), at = rest - above * p.size[d];
                const long source = source_of(&p, d, at);
                known = known && source >= 0;
                from += source * p.x[d];
                to += at * p.y[d];
                rest = above;
            }
            y[to] = known ? x[from] : value.unit;
        }
    }
}
