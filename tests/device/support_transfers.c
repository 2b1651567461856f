/* support_transfers.c - runs a call in device memory and in host memory, and compares all bytes. */
#include "device/transfers.h"

transfers_side transfers;
static int32_t place;
bp_options *transfers_options;

int transfers_start(void **state) {
    (void)state;
    place = find_opencl();
    assert_ok(bp_options_new(&transfers_options,
                             "dispatch.exclude=\"opencl,clblast\",dispatch.transfer=allow,num_threads=1"));
    assert_ok(bp_tensor_empty_on(&transfers.device, place, BP_U8, 1, (int64_t[]){BLOCK}, NULL));
    transfers.host = aligned_alloc(ALIGNMENT, BLOCK);
    return 0;
}

int transfers_stop(void **state) {
    (void)state;
    transfers.device->deleter(transfers.device);
    free(transfers.host);
    bp_options_release(transfers_options);
    assert_ok(bp_reset());
    return 0;
}

int transfers_clear(void **state) {
    (void)state;
    transfers.used = 0;
    transfers.count = 0;
    memset(transfers.host, 0xa5, BLOCK);
    return 0;
}

/* ---- Tensors ---- */

static void write_value(char *at, bp_dtype dtype, int64_t i) {
    const float small = (float)(i * 7 % 64) / 64 + 0.25f;
    const double wide = (double)small;
    const int64_t integer = i % 3;
    switch (dtype) {
    case BP_F32:
    case BP_C64:
        memcpy(at, &small, sizeof small);
        break;
    case BP_F64:
    case BP_C128:
        memcpy(at, &wide, sizeof wide);
        break;
    default:
        memcpy(at, &integer, bp_dtype_size(dtype));
    }
}

void add(bp_dtype dtype, bool reversed, int ndim, const int64_t *shape) {
    int64_t strides[BP_MAX_NDIM], index[BP_MAX_NDIM] = {0}, step = 2, count = 1, first = 0;
    const size_t item = bp_dtype_size(dtype);
    placed *p = &transfers.tensor[transfers.count++];
    assert_true(transfers.count <= TENSORS);
    for (int d = ndim - 1; d >= 0; d--) {
        strides[d] = step;
        step = step * shape[d] + 1;
        count *= shape[d];
    }
    if (reversed) {
        first = (shape[0] - 1) * strides[0];
        strides[0] = -strides[0];
    }
    const size_t begin = (transfers.used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    transfers.used = begin + (size_t)step * item;
    assert_true(transfers.used <= BLOCK);
    assert_ok(bp_view_init(&p->host, transfers.host, dtype, ndim, shape, strides));
    p->host.tensor.byte_offset = begin + (size_t)first * item;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = first;
        for (int d = 0; d < ndim; d++) {
            at += index[d] * strides[d];
        }
        write_value(transfers.host + begin + (size_t)at * item, dtype, i + transfers.count);
        for (int d = ndim - 1; d >= 0 && ++index[d] == shape[d]; d--) {
            index[d] = 0;
        }
    }
    assert_ok(bp_view_init(&p->device, transfers.device->dl_tensor.data, dtype, ndim, shape, strides));
    p->device.tensor.device = transfers.device->dl_tensor.device;
    p->device.tensor.byte_offset = transfers.device->dl_tensor.byte_offset + p->host.tensor.byte_offset;
}

DLTensor *t(int i) {
    return transfers.on_device ? &transfers.tensor[i].device.tensor : &transfers.tensor[i].host.tensor;
}

/* ---- Both sides ---- */

static void whole(bp_view *view, void *bytes) {
    assert_ok(bp_view_init(view, bytes, BP_U8, 1, (int64_t[]){BLOCK}, NULL));
}

void compare(const char *name, bp_status (*run)(void)) {
    bp_view view;
    bp_plan_info ran = {.struct_size = sizeof ran};
    whole(&view, transfers.host);
    assert_ok(bp_copy(&transfers.device->dl_tensor, &view.tensor, NULL));
    transfers.on_device = true;
    assert_ok(run());
    assert_ok(bp_last_plan(&ran));
    if (!strstr(ran.reason, "dispatch.transfer=allow") && !strstr(ran.reason, "einsum")) {
        fail_msg("%s did not run on copies: %s", name, ran.reason);
    }
    transfers.on_device = false;
    assert_ok(run());
    whole(&view, transfers.got);
    assert_ok(bp_copy(&view.tensor, &transfers.device->dl_tensor, NULL));
    for (size_t i = 0; i < BLOCK; i++) {
        if (transfers.got[i] != transfers.host[i]) {
            fail_msg("%s: byte %zu of the block is %02x instead of %02x", name, i, (unsigned char)transfers.got[i],
                     (unsigned char)transfers.host[i]);
        }
    }
    transfers_clear(NULL);
}
