/* copy.cl - copies runs of bytes between two layouts of a device's memory, in units of the type UNIT.
 *
 * A work item copies one unit. Its index is divided into indices of the dimensions, in the type INDEX, which holds the
 * number of units. Strides are in units. */

typedef struct layout {
    ulong size[8];
    long dst[8], src[8];
    ulong dimensions, units;
} layout;

kernel void copy(global UNIT *dst, ulong dst_first, global const UNIT *src, ulong src_first, layout all) {
    if (get_global_id(0) >= all.units) {
        return;
    }
    INDEX number = (INDEX)get_global_id(0);
    long to = (long)dst_first, from = (long)src_first;
    for (uint i = (uint)all.dimensions; i-- > 1;) {
        INDEX rest = number / (INDEX)all.size[i];
        long at = (long)(number - rest * (INDEX)all.size[i]);
        to += at * all.dst[i];
        from += at * all.src[i];
        number = rest;
    }
    dst[to + (long)number * all.dst[0]] = src[from + (long)number * all.src[0]];
}
