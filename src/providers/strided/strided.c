/* strided.c - brings strided copies into a normal form, and divides them into rectangles. */
#include "providers/strided/strided.h"

/* ---- The normal form ---- */

static uint64_t magnitude(int64_t stride) {
    return stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
}

/* Makes the stride of one side positive, by visiting the dimension from its other end. */
static void flip(bp__strided *layout, int i) {
    uint64_t last = layout->size[i] - 1;
    layout->dst += last * (uint64_t)layout->dst_stride[i];
    layout->src += last * (uint64_t)layout->src_stride[i];
    layout->dst_stride[i] = -layout->dst_stride[i];
    layout->src_stride[i] = -layout->src_stride[i];
}

static void insert(bp__strided *layout, uint64_t size, int64_t dst, int64_t src, bool by_dst) {
    const int64_t *strides = by_dst ? layout->dst_stride : layout->src_stride;
    uint64_t key = magnitude(by_dst ? dst : src);
    int at = layout->ndim++;
    for (; at > 0 && magnitude(strides[at - 1]) < key; at--) {
        layout->size[at] = layout->size[at - 1];
        layout->dst_stride[at] = layout->dst_stride[at - 1];
        layout->src_stride[at] = layout->src_stride[at - 1];
    }
    layout->size[at] = size;
    layout->dst_stride[at] = dst;
    layout->src_stride[at] = src;
    if ((by_dst ? dst : src) < 0) {
        flip(layout, at);
    }
}

static void remove_dimension(bp__strided *layout, int i) {
    layout->ndim--;
    for (; i < layout->ndim; i++) {
        layout->size[i] = layout->size[i + 1];
        layout->dst_stride[i] = layout->dst_stride[i + 1];
        layout->src_stride[i] = layout->src_stride[i + 1];
    }
}

static void merge(bp__strided *layout) {
    for (int i = layout->ndim - 1; i > 0; i--) {
        int64_t inner = (int64_t)layout->size[i];
        if (layout->dst_stride[i - 1] == inner * layout->dst_stride[i] &&
            layout->src_stride[i - 1] == inner * layout->src_stride[i]) {
            layout->size[i - 1] *= layout->size[i];
            layout->dst_stride[i - 1] = layout->dst_stride[i];
            layout->src_stride[i - 1] = layout->src_stride[i];
            remove_dimension(layout, i);
        }
    }
    int last = layout->ndim - 1;
    if (last >= 0 && layout->dst_stride[last] == (int64_t)layout->run &&
        layout->src_stride[last] == (int64_t)layout->run) {
        layout->run *= layout->size[last];
        layout->ndim--;
    }
}

bool bp__strided_of(const bp_transfer *transfer, bool by_dst, bp__strided *layout) {
    *layout = (bp__strided){.run = transfer->run, .dst = transfer->dst.offset, .src = transfer->src.offset};
    bool any = transfer->run > 0;
    for (int i = 0; i < transfer->ndim; i++) {
        any = any && transfer->shape[i] > 0;
        if (transfer->shape[i] > 1) {
            insert(layout, (uint64_t)transfer->shape[i], transfer->dst_stride[i], transfer->src_stride[i], by_dst);
        }
    }
    merge(layout);
    return any;
}

uint64_t bp__strided_bytes(const bp__strided *layout) {
    uint64_t bytes = layout->run;
    for (int i = 0; i < layout->ndim; i++) {
        bytes *= layout->size[i];
    }
    return bytes;
}

/* ---- Rectangles ---- */

static bool is_row(const bp__strided *layout, int i) {
    int64_t run = (int64_t)layout->run;
    return layout->dst_stride[i] >= run && layout->src_stride[i] >= run;
}

static bool is_slice_of(int64_t slice, int64_t row, uint64_t rows) {
    return slice >= (int64_t)rows * row && slice % row == 0;
}

static bool is_slice(const bp__strided *layout, int i, int row) {
    return i != row && is_slice_of(layout->dst_stride[i], layout->dst_stride[row], layout->size[row]) &&
           is_slice_of(layout->src_stride[i], layout->src_stride[row], layout->size[row]);
}

bp__rectangle bp__rectangle_of(const bp__strided *layout) {
    uint64_t runs = 1, best = 1;
    bp__rectangle found = {-1, -1, 1};
    for (int i = 0; i < layout->ndim; i++) {
        runs *= layout->size[i];
    }
    for (int row = 0; row < layout->ndim; row++) {
        if (!is_row(layout, row)) {
            continue;
        }
        for (int slice = -1; slice < layout->ndim; slice++) {
            bool fits = slice < 0 || is_slice(layout, slice, row);
            uint64_t covered = layout->size[row] * (slice < 0 ? 1 : layout->size[slice]);
            if (fits && covered > best) {
                best = covered;
                found = (bp__rectangle){row, slice, 1};
            }
        }
    }
    found.pieces = runs / best;
    return found;
}

void bp__rectangle_seek(const bp__strided *layout, const bp__rectangle *rectangle, uint64_t number, uint64_t *dst,
                        uint64_t *src) {
    *dst = layout->dst;
    *src = layout->src;
    for (int i = layout->ndim - 1; i >= 0; i--) {
        if (i != rectangle->row && i != rectangle->slice) {
            uint64_t at = number % layout->size[i];
            number /= layout->size[i];
            *dst += at * (uint64_t)layout->dst_stride[i];
            *src += at * (uint64_t)layout->src_stride[i];
        }
    }
}

/* ---- Parts of a copy ---- */

uint64_t bp__strided_unit(const bp__strided *layout) {
    const uint64_t largest = 16;
    uint64_t bits = layout->run | layout->dst | layout->src | largest;
    for (int i = 0; i < layout->ndim; i++) {
        bits |= (uint64_t)layout->dst_stride[i] | (uint64_t)layout->src_stride[i];
    }
    return bits & -bits;
}

static void split(const bp__strided *layout, bool write, bp__strided *host, bp__strided *device) {
    *host = (bp__strided){.run = layout->run};
    *device = *layout;
    *(write ? &host->src : &host->dst) = write ? layout->src : layout->dst;
    *(write ? &device->src : &device->dst) = 0;
    int64_t packed = (int64_t)layout->run;
    const int64_t *host_strides = write ? layout->src_stride : layout->dst_stride;
    for (int i = layout->ndim - 1; i >= 0; i--) {
        int64_t stride = host_strides[i] ? packed : 0;
        (write ? device->src_stride : device->dst_stride)[i] = stride;
        packed *= stride ? (int64_t)layout->size[i] : 1;
    }
    for (int i = 0; i < layout->ndim; i++) {
        if (host_strides[i]) {
            int at = host->ndim++;
            host->size[at] = layout->size[i];
            (write ? host->src_stride : host->dst_stride)[at] = host_strides[i];
            (write ? host->dst_stride : host->src_stride)[at] = (write ? device->src_stride : device->dst_stride)[i];
        }
    }
}

/* Merges the dimensions of a layout that is sorted already. */
static void normalize(bp__strided *layout, bool by_dst) {
    bp_transfer transfer = {.run = layout->run, .dst.offset = layout->dst, .src.offset = layout->src};
    for (int i = 0; i < layout->ndim; i++) {
        transfer.shape[transfer.ndim] = (int64_t)layout->size[i];
        transfer.dst_stride[transfer.ndim] = layout->dst_stride[i];
        transfer.src_stride[transfer.ndim++] = layout->src_stride[i];
    }
    bp__strided_of(&transfer, by_dst, layout);
}

void bp__strided_divide(const bp__strided *layout, bool write, bp__strided *host, bp__strided *device) {
    split(layout, write, host, device);
    normalize(host, !write);
    normalize(device, true);
}
