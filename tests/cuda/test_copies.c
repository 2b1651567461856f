/* test_copies.c - copies of random strided layouts in all directions against loops over elements, and that nothing else
 * is written. */
#include "cuda/support_cuda.h"

enum { BLOCK = 1 << 16, DIMS_MOST = 10, ROUNDS = 150 };

static unsigned long seed = 12345;
static unsigned pick(unsigned below) {
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(seed >> 33) % below;
}

/* A block of bytes, on a device or the host, and what it must have. */
typedef struct block {
    int device; /* -1: the host */
    DLManagedTensorVersioned *tensor;
    uint8_t *bytes; /* of the host */
    uint8_t *expected;
} block;

static block new_block(int device) {
    block made = {.device = device, .bytes = malloc(BLOCK), .expected = malloc(BLOCK)};
    assert_true(made.bytes && made.expected);
    for (int i = 0; i < BLOCK; i++) {
        made.expected[i] = (uint8_t)pick(256);
    }
    memcpy(made.bytes, made.expected, BLOCK);
    if (device >= 0) {
        assert_ok(bp_tensor_empty_on(&made.tensor, cuda_place(device), BP_U8, 1, &(int64_t){BLOCK}, NULL));
        write_bytes(&made.tensor->dl_tensor, made.bytes, NULL);
        assert_ok(bp_device_wait(cuda_place(device)));
    }
    return made;
}

static void check_block(const block *of) {
    uint8_t *found = of->bytes;
    if (of->device >= 0) {
        assert_ok(bp_device_wait(cuda_place(of->device)));
        found = the_double()->bytes_of((uint64_t)(uintptr_t)of->tensor->dl_tensor.data, BLOCK);
        assert_non_null(found);
    }
    assert_memory_equal(found, of->expected, BLOCK);
}

static void free_block(block *of) {
    if (of->tensor) {
        free_tensor(of->tensor);
    }
    free(of->bytes);
    free(of->expected);
}

/* A layout within a block. */
typedef struct layout {
    int64_t shape[DIMS_MOST], strides[DIMS_MOST];
    uint64_t offset;
    DLTensor tensor;
} layout;

/* Gives each dimension a stride, in a random order of the dimensions, with gaps and signs. */
static void choose_strides(layout *of, int ndim, int64_t item, bool may_repeat) {
    bool done[DIMS_MOST] = {false};
    int64_t span = 1, first = 0;
    for (int i = 0; i < ndim; i++) {
        int at = (int)pick((unsigned)ndim);
        while (done[at]) {
            at = (at + 1) % ndim;
        }
        done[at] = true;
        if (may_repeat && pick(8) == 0) {
            of->strides[at] = 0;
            continue;
        }
        const int64_t stride = span + (pick(3) == 0 ? (int64_t)pick(3) : 0);
        of->strides[at] = pick(5) == 0 ? -stride : stride;
        first += of->strides[at] < 0 ? (of->shape[at] - 1) * stride : 0;
        span = stride * of->shape[at];
    }
    assert_true(span * item < BLOCK / 2);
    of->offset = (uint64_t)((first + (int64_t)pick(8)) * item);
}

static void set_tensor(layout *of, block *in, int ndim, DLDataType type) {
    of->tensor = (DLTensor){.data = in->bytes,
                            .device = {kDLCPU, 0},
                            .ndim = ndim,
                            .dtype = type,
                            .shape = of->shape,
                            .strides = of->strides,
                            .byte_offset = of->offset};
    if (in->device >= 0) {
        of->tensor.data = in->tensor->dl_tensor.data;
        of->tensor.device = in->tensor->dl_tensor.device;
    }
}

/* Copies the elements of the expected bytes. */
static void copy_expected(block *to, const layout *dst, const block *from, const layout *src, size_t item) {
    int64_t index[DIMS_MOST] = {0}, count = 1;
    for (int i = 0; i < dst->tensor.ndim; i++) {
        count *= dst->shape[i];
    }
    for (int64_t n = 0; n < count; n++) {
        int64_t at = 0, of = 0;
        for (int i = 0; i < dst->tensor.ndim; i++) {
            at += index[i] * dst->strides[i];
            of += index[i] * src->strides[i];
        }
        memcpy(to->expected + (int64_t)dst->offset + at * (int64_t)item,
               from->expected + (int64_t)src->offset + of * (int64_t)item, item);
        for (int i = dst->tensor.ndim - 1; i >= 0 && ++index[i] == dst->shape[i]; i--) {
            index[i] = 0;
        }
    }
}

static void copy_once(block *to, block *from, bp_queue *queue) {
    static const bp_dtype types[] = {BP_U8, BP_F16, BP_F32, BP_F64, BP_C128};
    const bp_dtype type = types[pick(5)];
    const size_t item = bp_dtype_size(type);
    const int ndim = pick(12) == 0 ? 7 + (int)pick(4) : (int)pick(6);
    layout dst, src;
    for (int i = 0; i < ndim; i++) {
        dst.shape[i] = src.shape[i] = ndim > 6 ? 1 + (int64_t)pick(2)
                                               : 1 + (int64_t)pick(ndim > 4   ? 3
                                                                   : ndim > 3 ? 4
                                                                              : 6);
    }
    choose_strides(&dst, ndim, (int64_t)item, false);
    choose_strides(&src, ndim, (int64_t)item, true);
    set_tensor(&dst, to, ndim, bp_dtype_to_dlpack(type));
    set_tensor(&src, from, ndim, bp_dtype_to_dlpack(type));
    assert_ok(bp_copy(&dst.tensor, &src.tensor, queue));
    copy_expected(to, &dst, from, &src, item);
}

/* Makes random copies between two blocks, on a queue or without one. */
static void copy_often(int to, int from, int rounds) {
    block dst = new_block(to), src = new_block(from);
    bp_queue *queue = cuda_queue(to >= 0 ? to : from);
    for (int i = 0; i < rounds; i++) {
        copy_once(&dst, &src, i % 2 ? queue : NULL);
        assert_ok(bp_device_wait(cuda_place(to >= 0 ? to : from)));
        if (i % 10 == 9) {
            check_block(&dst);
            check_block(&src);
        }
    }
    check_block(&dst);
    bp_queue_release(queue);
    free_block(&dst);
    free_block(&src);
}

/* Transposes a matrix of f32, which is more commands than are used without a kernel. */
static void transpose(int to, int from) {
    enum { ROWS = 70, COLUMNS = 90 };
    block dst = new_block(to), src = new_block(from);
    layout out = {.shape = {ROWS, COLUMNS}, .strides = {1, ROWS}, .offset = 12};
    layout in = {.shape = {ROWS, COLUMNS}, .strides = {COLUMNS, 1}, .offset = 20};
    set_tensor(&out, &dst, 2, bp_dtype_to_dlpack(BP_F32));
    set_tensor(&in, &src, 2, bp_dtype_to_dlpack(BP_F32));
    bp_queue *queue = cuda_queue(to >= 0 ? to : from);
    assert_ok(bp_copy(&out.tensor, &in.tensor, queue));
    assert_ok(bp_queue_wait(queue));
    copy_expected(&dst, &out, &src, &in, 4);
    check_block(&dst);
    bp_queue_release(queue);
    free_block(&dst);
    free_block(&src);
}

static void copy_in_all_directions(int rounds) {
    for (int device = 0; device < 2; device++) {
        copy_often(device, -1, rounds);
        copy_often(-1, device, rounds);
        copy_often(device, device, rounds);
        copy_often(device, 1 - device, rounds);
        transpose(device, -1);
        transpose(-1, device);
        transpose(device, device);
        transpose(device, 1 - device);
    }
}

static void copies_are_right(void **state) {
    (void)state;
    double_controls *d = the_double();
    d->kernels = d->rectangles = d->peer_copies = d->runs = 0;
    copy_in_all_directions(ROUNDS);
    assert_true(d->kernels > 0 && d->rectangles > 0 && d->peer_copies > 0 && d->runs > 0);
}

/* A driver that loads no kernels, or refuses rectangles. */
static void copies_without_kernels_are_right(void **state) {
    (void)state;
    double_controls *d = the_double();
    assert_ok(bp_reset());
    d->refuse_modules = true;
    d->kernels = 0;
    copy_in_all_directions(40);
    assert_int_equal(d->kernels, 0);
    assert_ok(bp_reset());
}

static void copies_without_rectangles_are_right(void **state) {
    (void)state;
    the_double()->refuse_rectangles = true;
    copy_in_all_directions(40);
}

/* A large transposed copy takes few commands: the kernel, and the copy of a temporary block. */
static void strided_copies_take_few_commands(void **state) {
    (void)state;
    double_controls *d = the_double();
    transpose(0, 0);
    d->rectangles = d->runs = d->kernels = 0;
    transpose(0, 0);
    assert_int_equal(d->kernels, 1);
    assert_true(d->rectangles + d->runs <= 3); /* the blocks themselves */
    d->rectangles = d->runs = d->kernels = 0;
    transpose(-1, 0);
    assert_int_equal(d->kernels, 1);
    assert_true(d->rectangles + d->runs <= 3);
}

/* There are many commands, whose order is tested elsewhere. */
static int begin_at_once(void **state) {
    const int result = begin_cuda(state);
    the_double()->longest_delay_us = 0;
    return result;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(copies_are_right, begin_at_once, end_cuda),
        cmocka_unit_test_setup_teardown(copies_without_kernels_are_right, begin_at_once, end_cuda),
        cmocka_unit_test_setup_teardown(copies_without_rectangles_are_right, begin_at_once, end_cuda),
        cmocka_unit_test_setup_teardown(strided_copies_take_few_commands, begin_at_once, end_cuda),
    };
    return cmocka_run_group_tests_name("copies", tests, start_cuda, stop_cuda);
}
