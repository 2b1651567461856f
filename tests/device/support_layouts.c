/* support_layouts.c - implements support_layouts.h. */
#include "device/support_layouts.h"

static uint64_t seed = 12345;

static uint64_t next_random(uint64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
}

void placed_make(placed *p, const char *id, bp_dtype dtype, int ndim, const int64_t *shape, bool may_repeat) {
    int64_t strides[BP_MAX_NDIM], order[BP_MAX_NDIM], reach = 1, low = 0;
    const int64_t item = (int64_t)bp_dtype_size(dtype);
    for (int i = 0; i < ndim; i++) {
        const int at = (int)next_random((uint64_t)i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (int i = 0; i < ndim; i++) {
        const int64_t size = shape[order[i]];
        const bool repeats = may_repeat && next_random(6) == 0;
        strides[order[i]] = repeats ? 0 : reach * (1 + (int64_t)next_random(5) / 4);
        if (next_random(4) == 0) {
            strides[order[i]] *= -1;
            low += size > 0 ? strides[order[i]] * (size - 1) : 0;
        }
        reach += repeats || size == 0 ? 0 : llabs(strides[order[i]]) * (size - 1) + (int64_t)next_random(3);
    }
    const int64_t first = -low + (int64_t)next_random(3);
    *p = (placed){.id = id, .size = (size_t)((reach + first + 2) * item)};
    p->host = malloc(p->size);
    assert_non_null(p->host);
    for (size_t i = 0; i < p->size; i++) {
        p->host[i] = (uint8_t)next_random(256);
    }
    assert_ok(bp_view_init(&p->view, p->host, dtype, ndim, shape, strides));
    p->view.tensor.byte_offset = (uint64_t)(first * item);
    if (id) {
        p->block = new_bytes(id, (int64_t)p->size);
        bp_view whole;
        const int64_t count = (int64_t)p->size;
        assert_ok(bp_view_init(&whole, p->host, BP_U8, 1, &count, NULL));
        assert_ok(bp_copy(&p->block->dl_tensor, &whole.tensor, NULL));
        assert_ok(bp_device_wait(place_of(id)));
        p->view.tensor.data = p->block->dl_tensor.data;
        p->view.tensor.device = p->block->dl_tensor.device;
    }
}

void placed_free(placed *p) {
    if (p->block) {
        free_tensor(p->block);
    }
    free(p->host);
}

/* Copies the elements of the two blocks as the host knows them. */
static void copy_elements(const placed *dst, const placed *src) {
    const DLTensor *d = &dst->view.tensor, *s = &src->view.tensor;
    const int64_t item = d->dtype.bits / 8;
    int64_t index[BP_MAX_NDIM] = {0}, count = 1;
    for (int i = 0; i < d->ndim; i++) {
        count *= d->shape[i];
    }
    for (; count > 0; count--) {
        int64_t to = (int64_t)d->byte_offset, from = (int64_t)s->byte_offset;
        for (int i = 0; i < d->ndim; i++) {
            to += index[i] * d->strides[i] * item;
            from += index[i] * s->strides[i] * item;
        }
        memcpy(dst->host + to, src->host + from, (size_t)item);
        for (int i = d->ndim - 1; i >= 0 && ++index[i] == d->shape[i]; i--) {
            index[i] = 0;
        }
    }
}

/* Compares the whole block, so that bytes next to the elements count too. `host` is the block of a tensor on the host.
 */
static void check(const placed *p, const uint8_t *host) {
    if (!p->id) {
        assert_memory_equal(host, p->host, p->size);
        return;
    }
    bp_view view;
    const int64_t count = (int64_t)p->size;
    uint8_t *bytes = malloc(p->size);
    assert_non_null(bytes);
    assert_ok(bp_view_init(&view, bytes, BP_U8, 1, &count, NULL));
    assert_ok(bp_copy(&view.tensor, &p->block->dl_tensor, NULL));
    assert_memory_equal(bytes, p->host, p->size);
    free(bytes);
}

void copy_and_check(const char *to, const char *from, bp_dtype dtype, int ndim, const int64_t *shape, bool queued) {
    placed dst, src;
    placed_make(&dst, to, dtype, ndim, shape, false);
    placed_make(&src, from, dtype, ndim, shape, true);
    bp_queue *queue = queued ? new_queue(to ? to : from) : NULL;
    assert_ok(bp_copy(&dst.view.tensor, &src.view.tensor, queue));
    if (queue) {
        assert_ok(bp_queue_wait(queue));
        bp_queue_release(queue);
    } else if (to) {
        assert_ok(bp_device_wait(place_of(to)));
    }
    uint8_t *result = malloc(dst.size); /* of the host, as bp_copy() has left it */
    memcpy(result, dst.host, dst.size);
    copy_elements(&dst, &src);
    check(&dst, result);
    free(result);
    placed_free(&dst);
    placed_free(&src);
}

void copy_random(const char *to, const char *from, int most_dims) {
    static const bp_dtype types[] = {BP_U8, BP_F16, BP_F32, BP_F64, BP_C128};
    int64_t shape[BP_MAX_NDIM];
    const int ndim = (int)next_random((uint64_t)most_dims);
    for (int i = 0; i < ndim; i++) {
        shape[i] = (int64_t)(ndim > 5 ? 1 + next_random(3) : next_random(12) + (next_random(20) > 0));
    }
    const bp_dtype dtype = types[next_random(BP__COUNT(types))];
    copy_and_check(to, from, dtype, ndim, shape, next_random(2));
}
