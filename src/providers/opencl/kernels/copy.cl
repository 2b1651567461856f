/* copy.cl - copies runs of bytes between two layouts of a device's memory, in units of the type UNIT.
 *
 * A work item copies one unit. Dimension 0 of the range is the last dimension of the layout. The others are numbered
 * together in dimension 1, and separated by division. Strides are in units. */

typedef struct layout {
    ulong size[8];
    long dst[8], src[8];
    ulong dimensions;
} layout;

kernel void copy(global UNIT *dst, ulong dst_first, global const UNIT *src, ulong src_first, layout all) {
    ulong last = all.dimensions - 1;
    ulong number = get_global_id(1);
    long to = (long)(dst_first + get_global_id(0) * (ulong)all.dst[last]);
    long from = (long)(src_first + get_global_id(0) * (ulong)all.src[last]);
    for (ulong i = last; i > 0; i--) {
        ulong rest = number / all.size[i - 1];
        long at = (long)(number - rest * all.size[i - 1]);
        to += at * all.dst[i - 1];
        from += at * all.src[i - 1];
        number = rest;
    }
    dst[to] = src[from];
}
