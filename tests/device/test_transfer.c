/* test_transfer.c - copies of operands that are on a device (dispatch.transfer=allow), and what else is in their
 * memory.
 *
 * Without an OpenCL device the program is skipped. */
#include "device/support_device.h"

#include "dispatch/internal.h"

enum { BLOCK = 1 << 12 };
static int32_t place;
static DLManagedTensorVersioned *block; /* bytes of the device */

static int start(void **state) {
    (void)state;
    place = find_opencl();
    assert_ok(bp_tensor_empty_on(&block, place, BP_U8, 1, (int64_t[]){BLOCK}, NULL));
    return 0;
}

static int stop(void **state) {
    (void)state;
    block->deleter(block);
    assert_ok(bp_reset());
    return 0;
}

enum { ROWS = 3, COLUMNS = 8, USED = 4 };

/* A plan of the host that writes 1 to the output, while another queue writes 2 to all of the block. */
static bp_status write_meanwhile(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    static float twos[ROWS * COLUMNS];
    bp_view from, to;
    bp_queue *other;
    (void)self;
    (void)exec;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        twos[i] = 2;
    }
    assert_ok(bp_queue_new(&other, place, 0));
    assert_ok(bp_view_init(&from, twos, BP_F32, 1, (int64_t[]){ROWS * COLUMNS}, NULL));
    assert_ok(bp_view_init(&to, block->dl_tensor.data, BP_F32, 1, (int64_t[]){ROWS * COLUMNS}, NULL));
    to.tensor.device = block->dl_tensor.device;
    assert_ok(bp_copy(&to.tensor, &from.tensor, other));
    assert_ok(bp_queue_wait(other));
    bp_queue_release(other);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < USED; j++) {
            const float one = 1;
            memcpy((char *)operands[1].base + operands[1].offset + sizeof one * (size_t)(i * COLUMNS + j), &one,
                   sizeof one);
        }
    }
    return BP_OK;
}

static void destroy_nothing(bp_prepared *self) {
    (void)self;
}

static void what_another_queue_writes_to_the_block_is_kept(void **state) {
    bp_prepared inner = {.struct_size = sizeof inner, .enqueue = write_meanwhile, .destroy = destroy_nothing},
                *prepared;
    bp_problem problem = {.struct_size = sizeof problem, .op = BP_OP_UNARY, .dtype = BP_F32, .place = place};
    bp_elementwise_problem *p = &problem.of.elementwise;
    float got[ROWS * COLUMNS];
    bp_view to, from;
    bp_queue *queue;
    (void)state;
    p->ndim = 2;
    p->type[0] = p->type[1] = BP_F32;
    p->size[0] = ROWS;
    p->size[1] = USED;
    p->stride[0][0] = p->stride[1][0] = COLUMNS;
    p->stride[0][1] = p->stride[1][1] = 1;
    assert_ok(bp__prepare_transferred(&problem, &inner, &prepared));
    assert_ok(bp_queue_new(&queue, place, 0));
    const bp_operand operands[] = {{block->dl_tensor.data, 0}, {block->dl_tensor.data, 0}};
    const bp_exec exec = {.struct_size = sizeof exec, .queue = queue};
    assert_ok(prepared->enqueue(prepared, operands, &exec));
    assert_ok(bp_queue_wait(queue));
    bp_queue_release(queue);
    prepared->destroy(prepared);
    assert_ok(bp_view_init(&to, got, BP_F32, 1, (int64_t[]){ROWS * COLUMNS}, NULL));
    assert_ok(bp_view_init(&from, block->dl_tensor.data, BP_F32, 1, (int64_t[]){ROWS * COLUMNS}, NULL));
    from.tensor.device = block->dl_tensor.device;
    assert_ok(bp_copy(&to.tensor, &from.tensor, NULL));
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        const float want = i % COLUMNS < USED ? 1.0f : 2.0f;
        assert_true(got[i] == want);
    }
}

static void an_operand_outside_of_its_block_is_refused(void **state) {
    bp_options *options;
    bp_plan *plan;
    DLTensor tensor = block->dl_tensor;
    tensor.dtype = (DLDataType){kDLFloat, 32, 1};
    tensor.shape = (int64_t[]){ROWS * COLUMNS};
    tensor.strides = (int64_t[]){1};
    (void)state;
    assert_ok(bp_options_new(&options, "dispatch.exclude=opencl,dispatch.transfer=allow"));
    assert_ok(bp_unary_plan(&plan, options, BP_UNARY_EXP, &tensor, &tensor));
    const bp_operand operands[] = {{tensor.data, 0}, {tensor.data, BLOCK - 64}};
    assert_fails(bp_execute(plan, operands, NULL), BP_E_ARGUMENT, "operand 1");
    bp_plan_release(plan);
    bp_options_release(options);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_another_queue_writes_to_the_block_is_kept),
        cmocka_unit_test(an_operand_outside_of_its_block_is_refused),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
