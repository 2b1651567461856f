/* support_arrays.c - implements support_arrays.h. */
#include "cuda/support_arrays.h"

void put(on_device *to, const test_array *from, int device, size_t past) {
    const int64_t size = (int64_t)(from->bytes + past);
    bp_queue *queue = NULL;
    bp_view view, target;
    to->of = from;
    assert_ok(bp_tensor_empty_on(&to->block, cuda_place(device), BP_U8, 1, &size, NULL));
    test_array_open(from);
    const int64_t bytes = (int64_t)from->bytes;
    assert_ok(bp_view_init(&view, from->block, BP_U8, 1, &bytes, NULL));
    target.tensor = to->block->dl_tensor;
    target.tensor.shape = view.tensor.shape;
    target.tensor.strides = view.tensor.strides;
    target.tensor.byte_offset += past;
    assert_ok(bp_copy(&target.tensor, &view.tensor, queue));
    to->tensor = from->view.tensor;
    to->tensor.device = to->block->dl_tensor.device;
    to->tensor.data = (char *)to->block->dl_tensor.data + past + ((char *)from->view.tensor.data - from->block);
}

void get(const on_device *from) {
    const test_array *to = from->of;
    const int64_t bytes = (int64_t)to->bytes;
    bp_view view;
    DLTensor source = from->block->dl_tensor;
    test_array_open(to);
    assert_ok(bp_view_init(&view, to->block, BP_U8, 1, &bytes, NULL));
    source.shape = view.tensor.shape;
    source.strides = view.tensor.strides;
    source.byte_offset += (uint64_t)(from->block->dl_tensor.shape[0] - bytes);
    assert_ok(bp_copy(&view.tensor, &source, NULL));
}

void drop(on_device *gone) {
    free_tensor(gone->block);
}
