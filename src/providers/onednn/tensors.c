/* tensors.c - checks and completes the strides of tensors for oneDNN. */
#include "providers/onednn/onednn.h"

int bp__onednn_type(uint32_t dtype) {
    switch (dtype) {
    case BP_F16:
        return BP__ONEDNN_F16;
    case BP_BF16:
        return BP__ONEDNN_BF16;
    case BP_F32:
        return BP__ONEDNN_F32;
    case BP_I8:
        return BP__ONEDNN_S8;
    case BP_U8:
        return BP__ONEDNN_U8;
    case BP_I32:
        return BP__ONEDNN_S32;
    default:
        return 0;
    }
}

double bp__onednn_elements(const bp__onednn_tensor *tensor) {
    double product = 1;
    for (int i = 0; i < tensor->ndim; i++) {
        product *= (double)tensor->size[i];
    }
    return product;
}

double bp__onednn_rate(const bp__driver *driver) {
    return driver->host->hardware == BP_CAPABILITY_AVX512 ? 80 : driver->host->hardware == BP_CAPABILITY_AVX2 ? 44 : 9;
}

/* Gives dimensions of size 1 the stride that a compact tensor would have, which oneDNN expects. `last`: the channels
 * follow the positions. Returns whether all strides belong to that layout. */
static bool is_compact(bp__onednn_tensor *t, bool last) {
    int64_t step = 1;
    bool compact = true;
    for (int i = 0; i < t->ndim; i++) {
        const int back = t->ndim - 1 - i, d = !last || back == 0 ? back : i == 0 ? 1 : back + 1;
        if (t->size[d] == 1) {
            t->stride[d] = step;
        }
        compact = compact && t->stride[d] == step;
        step *= t->size[d];
    }
    return compact;
}

static bool has_layout(bp__onednn_tensor *t, bool last) {
    bp__onednn_tensor tried = *t;
    if (!is_compact(&tried, last)) {
        return false;
    }
    *t = tried;
    return true;
}

bool bp__onednn_is_image(bp__onednn_tensor *x, bp__onednn_tensor *y) {
    return (has_layout(x, true) && has_layout(y, true)) || (has_layout(x, false) && has_layout(y, false));
}

bool bp__onednn_is_last(bp__onednn_tensor *t) {
    return has_layout(t, true);
}

bool bp__onednn_is_nested(bp__onednn_tensor *t) {
    int64_t span = 1;
    for (int n = 0, last = 0; n < t->ndim; n++) {
        int next = -1; /* the dimension with the least stride that is left; `last` has the bits of those before */
        for (int d = 0; d < t->ndim; d++) {
            const bool left = !(last >> d & 1) && t->size[d] > 1;
            next = left && (next < 0 || t->stride[d] < t->stride[next]) ? d : next;
        }
        if (next < 0) {
            break;
        }
        if (t->stride[next] < span) {
            return false;
        }
        last |= 1 << next;
        span = t->stride[next] * t->size[next];
    }
    for (int d = 0; d < t->ndim; d++) {
        t->stride[d] = t->size[d] == 1 ? span : t->stride[d];
    }
    return true;
}
