/* test_sharing.c - memory, queues and devices that the library shares with the program and with other libraries.
 *
 * Runtime "other" has all that a runtime may lack, "fake" has nothing of it. */
#include "device/support_device.h"

#include "dispatch/internal.h"
#include "support/conditions.h"

enum { SIZE = 5000 };

static bp_device_memory_info memory_of(const char *id) {
    bp_device_memory_info info = {.struct_size = sizeof info};
    assert_ok(bp_device_memory(place_of(id), &info));
    return info;
}

/* Enqueues a command of another library, which the queue does not know. */
static void add_foreign(bp_queue *native, const DLManagedTensorVersioned *tensor, uint8_t value) {
    void *event = fake()->add(native, tensor->dl_tensor.data, 0, SIZE, value);
    assert_non_null(event);
    fake()->release_event(event);
}

/* ---- bp_tensor_use ---- */

/* A consumer adds on its own queue, and its reference ends before the command has run. */
static void test_reuse_waits_for_a_consumer(void **state) {
    (void)state;
    bp_queue *theirs;
    DLManagedTensorVersioned *old = new_bytes("other", SIZE), *fresh;
    fill_bytes(old, 1);
    const void *const base = old->dl_tensor.data;
    void *native = fake()->native_queue(fake()->device_of(old->dl_tensor.data));
    assert_ok(bp_queue_wrap(&theirs, place_of("other"), native));
    assert_ok(bp_tensor_use(old, theirs));
    assert_ok(bp_tensor_use(old, theirs)); /* counts once */
    bp_queue_release(theirs);              /* the tensor holds it */
    fake()->open_gate(false);
    add_foreign(native, old, 40);
    const uint64_t reuses = memory_of("other").reuses;
    free_tensor(old);
    fresh = new_bytes("other", SIZE);
    assert_ptr_not_equal(fresh->dl_tensor.data, base);
    fake()->open_gate(true);
    assert_ok(bp_device_wait(place_of("other")));
    old = new_bytes("other", SIZE); /* the consumer's work has ended, and the block was not given to the driver */
    assert_ptr_equal(old->dl_tensor.data, base);
    assert_int_equal(memory_of("other").reuses, reuses + 1);
    free_tensor(old);
    free_tensor(fresh);
    fake()->free_native_queue(native);
}

static void test_uses_of_other_memory(void **state) {
    (void)state;
    bp_queue *queue = new_queue("other"), *elsewhere = new_queue("other:1");
    DLManagedTensorVersioned *tensor = new_bytes("other", SIZE), *host, *none = new_bytes("other", 0);
    assert_fails(bp_tensor_use(NULL, queue), BP_E_ARGUMENT, "'tensor' is NULL");
    assert_fails(bp_tensor_use(tensor, NULL), BP_E_ARGUMENT, "'queue' is NULL");
    assert_fails(bp_tensor_use(tensor, elsewhere), BP_E_ARGUMENT, "other:1");
    assert_ok(bp_tensor_use(none, queue));
    free_tensor(none);
    assert_ok(bp_tensor_empty(&host, BP_F32, 1, (int64_t[]){3}, NULL));
    assert_ok(bp_tensor_use(host, queue));
    free_tensor(host);
    assert_ok(bp_tensor_use(tensor, queue));
    assert_ok(bp_tensor_export(tensor)); /* an unknown queue decides */
    const uint64_t cached = memory_of("other").cached;
    free_tensor(tensor);
    assert_true(memory_of("other").cached == cached);
    bp_queue_release(queue);
    bp_queue_release(elsewhere);
}

/* ---- Pinned memory ---- */

static void test_pinned_memory(void **state) {
    (void)state;
    const int32_t place = place_of("other");
    DLManagedTensorVersioned *pinned, *device = new_bytes("other", SIZE), *empty;
    bp_queue *queue = new_queue("other");
    assert_ok(bp_tensor_pinned(&pinned, place, BP_U8, 1, (int64_t[]){SIZE}));
    assert_int_equal(pinned->dl_tensor.device.device_type, kDLROCMHost);
    assert_int_equal(bp_device_place(pinned->dl_tensor.device), 0);
    assert_int_equal((uintptr_t)pinned->dl_tensor.data % 64, 0);
    memset(pinned->dl_tensor.data, 9, SIZE);
    assert_ok(bp_copy(&device->dl_tensor, &pinned->dl_tensor, queue));
    assert_ok(bp_queue_wait(queue));
    assert_true(all_bytes_are(device, 9));
    assert_ok(bp_tensor_pinned(&empty, place, BP_F64, 2, (int64_t[]){3, 0}));
    assert_null(empty->dl_tensor.data);
    assert_int_equal(fake()->pinned, 1);
    assert_fails(bp_reset(), BP_E_BUSY, "held");
    free_tensor(pinned);
    free_tensor(empty);
    assert_int_equal(fake()->pinned, 0);
    assert_fails(bp_tensor_pinned(&pinned, place_of("fake"), BP_U8, 1, (int64_t[]){SIZE}), BP_E_UNSUPPORTED,
                 "runtime fake has no pinned memory");
    assert_null(pinned);
    assert_fails(bp_tensor_pinned(&pinned, 0, BP_U8, 1, (int64_t[]){SIZE}), BP_E_DEVICE, "host");
    assert_fails(bp_tensor_pinned(NULL, place, BP_U8, 1, (int64_t[]){SIZE}), BP_E_ARGUMENT, "'tensor' is NULL");
    assert_fails(bp_tensor_pinned(&pinned, place, BP_U8, 1, (int64_t[]){-1}), BP_E_SHAPE, "");
    assert_fails(bp_tensor_pinned(&pinned, place, BP_DTYPE_NONE, 1, (int64_t[]){1}), BP_E_DTYPE, "");
    free_tensor(device);
    bp_queue_release(queue);
}

/* ---- The queue 0 ---- */

static void test_the_queue_with_the_handle_zero(void **state) {
    (void)state;
    const int32_t place = place_of("other");
    bp_queue *zero, *again, *own = new_queue("other");
    DLManagedTensorVersioned *tensor = new_bytes("other", SIZE);
    fill_bytes(tensor, 1);
    assert_ok(bp_queue_wrap(&zero, place, NULL));
    assert_ok(bp_queue_wrap(&again, place, NULL));
    assert_ptr_equal(zero, again);
    assert_ptr_not_equal(zero, own);
    assert_null(bp_queue_native(zero));
    assert_non_null(bp_queue_native(own));
    assert_ok(add_bytes(zero, &tensor->dl_tensor, 2, "x"));
    assert_ok(bp_queue_wait(zero));
    assert_true(all_bytes_are(tensor, 3));
    assert_fails(bp_queue_wrap(&again, place_of("fake"), NULL), BP_E_ARGUMENT, "no queue of fake");
    assert_fails(bp_queue_new(&again, place, BP_QUEUE_NATIVE_ZERO), BP_E_ARGUMENT, "'flags' is 2");
    bp_queue_release(zero);
    bp_queue_release(zero); /* two references */
    bp_queue_release(own);
    free_tensor(tensor);
}

/* ---- Copies between devices ---- */

/* The copy waits for the source's work, and later work of the source for the copy. */
static void test_copies_between_peers(void **state) {
    (void)state;
    for (int round = 0; round < (test_sanitized() ? 5 : 30); round++) {
        DLManagedTensorVersioned *from = new_bytes("other", SIZE), *to = new_bytes("other:1", SIZE);
        bp_queue *source = new_queue("other");
        fill_bytes(from, 1);
        fill_bytes(to, 0);
        assert_ok(bp_queue_use(place_of("other"), source));
        fake()->longest_delay_us = 300;
        fake()->refuse_peers = round % 2;
        const int peers = fake()->peer_copies;
        assert_ok(add_bytes(source, &from->dl_tensor, 2, "before"));
        assert_ok(bp_copy(&to->dl_tensor, &from->dl_tensor, NULL));
        assert_ok(add_bytes(source, &from->dl_tensor, 40, "after"));
        assert_int_equal(fake()->peer_copies, peers + (round % 2 ? 0 : 1));
        assert_ok(bp_device_wait(place_of("other:1")));
        assert_true(all_bytes_are(to, 3));
        assert_ok(bp_device_wait(place_of("other")));
        assert_true(all_bytes_are(from, 43));
        assert_ok(bp_queue_use(place_of("other"), NULL));
        bp_queue_release(source);
        free_tensor(from);
        free_tensor(to);
    }
}

/* The source is freed at once, and its memory asked for again. */
static void test_a_freed_source_of_a_peer(void **state) {
    (void)state;
    DLManagedTensorVersioned *from = new_bytes("other", SIZE), *to = new_bytes("other:1", SIZE);
    fill_bytes(from, 5);
    const void *const base = from->dl_tensor.data;
    fake()->open_gate(false);
    assert_ok(bp_copy(&to->dl_tensor, &from->dl_tensor, NULL));
    free_tensor(from);
    from = new_bytes("other", SIZE);
    assert_ptr_not_equal(from->dl_tensor.data, base);
    fake()->open_gate(true);
    assert_ok(bp_device_wait(place_of("other:1")));
    assert_true(all_bytes_are(to, 5));
    free_tensor(from);
    free_tensor(to);
}

/* ---- dispatch.transfer on memory with addresses ---- */

static int64_t between; /* bytes from the input's copy to the output's */

/* A plan of the host that copies 4 bytes. */
static bp_status run_on_host(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    (void)self, (void)exec;
    const char *from = bp_operand_address(&operands[0]);
    char *to = bp_operand_address(&operands[1]);
    between = to - from;
    memmove(to, from, 4);
    return BP_OK;
}

static void destroy_nothing(bp_prepared *self) {
    (void)self;
}

/* Operands of one block have different bases, and both reach over the middle of it. */
static void test_transfers_by_address(void **state) {
    (void)state;
    bp_prepared inner = {.struct_size = sizeof inner, .enqueue = run_on_host, .destroy = destroy_nothing}, *prepared;
    bp_problem problem = {
        .struct_size = sizeof problem, .op = BP_OP_UNARY, .dtype = BP_F32, .place = place_of("other")};
    bp_elementwise_problem *p = &problem.of.elementwise;
    bp_queue *queue = new_queue("other");
    DLManagedTensorVersioned *tensor = new_bytes("other", SIZE);
    char *const data = tensor->dl_tensor.data;
    p->ndim = 1;
    p->type[0] = p->type[1] = BP_F32;
    p->size[0] = 2;
    p->stride[0][0] = 1;
    p->stride[1][0] = -1;
    fill_bytes(tensor, 1);
    assert_ok(bp__prepare_transferred(&problem, &inner, &prepared));
    const bp_operand operands[] = {{data + 64, 64}, {data + 132, 0}}; /* bytes 128 to 135, and 128 to 135 backwards */
    const bp_exec exec = {.struct_size = sizeof exec, .queue = queue};
    assert_ok(prepared->enqueue(prepared, operands, &exec));
    assert_ok(bp_queue_wait(queue));
    assert_int_equal(between, 4); /* one copy of the shared bytes */
    prepared->destroy(prepared);
    free_tensor(tensor);
    bp_queue_release(queue);
}

/* ---- An allocator of the program ---- */

typedef struct program_memory {
    int blocks, calls;
    bool empty;
    void *native; /* the queue of the last call */
    void *device;
} program_memory;

static void *allocate(void *user, size_t size, void *native) {
    program_memory *memory = user;
    memory->native = native;
    memory->calls++;
    if (memory->empty) {
        return NULL;
    }
    memory->blocks++;
    return fake()->allocate(memory->device, size);
}

static void release(void *user, void *block, size_t size) {
    ((program_memory *)user)->blocks--;
    assert_true(size >= SIZE);
    fake()->release(block);
}

static void test_an_allocator_of_the_program(void **state) {
    (void)state;
    const int32_t place = place_of("other");
    bp_queue *queue;
    bp_operand block;
    DLManagedTensorVersioned *tensor = new_bytes("other", SIZE);
    program_memory memory = {.device = fake()->device_of(tensor->dl_tensor.data)};
    const bp_device_allocator allocator = {allocate, release, &memory};
    assert_fails(bp_device_use_allocator(place, &allocator), BP_E_BUSY, "other:0");
    assert_fails(bp_device_use_allocator(place, &(bp_device_allocator){NULL, release, NULL}), BP_E_ARGUMENT,
                 "'allocate'");
    assert_fails(bp_device_use_allocator(place, &(bp_device_allocator){allocate, NULL, NULL}), BP_E_ARGUMENT,
                 "'release'");
    assert_fails(bp_device_use_allocator(0, &allocator), BP_E_DEVICE, "host");
    free_tensor(tensor);
    assert_ok(bp_device_wait(place));
    assert_ok(bp_device_use_allocator(place, &allocator));
    assert_ok(bp_queue_current(&queue, place));
    tensor = new_bytes("other", SIZE);
    assert_int_equal(memory.blocks, 1);
    assert_ptr_equal(memory.native, bp_queue_native(queue));
    free_tensor(tensor);
    tensor = new_bytes("other", SIZE); /* of the pool */
    assert_int_equal(memory.calls, 1);
    assert_ok(bp__queue_take(queue, SIZE, &block));
    assert_int_equal(memory.blocks, 2);
    bp__queue_give(queue, &block);
    memory.empty = true;
    assert_fails(bp_tensor_empty_on(&(DLManagedTensorVersioned *){NULL}, place, BP_U8, 1, (int64_t[]){9 * SIZE}, NULL),
                 BP_E_NO_MEMORY, "the program's allocator has none");
    memory.empty = false;
    free_tensor(tensor);
    bp_queue_release(queue);
    assert_ok(bp_device_wait(place));
    assert_ok(bp_device_use_allocator(place, NULL));
    assert_int_equal(memory.blocks, 0);
    tensor = new_bytes("other", SIZE);
    assert_int_equal(memory.blocks, 0);
    free_tensor(tensor);
}

/* Memory that a stream-ordered allocator gives may still be used by work of its queue. */
static void test_memory_of_the_program_is_awaited(void **state) {
    (void)state;
    const int32_t place = place_of("other");
    bp_queue *queue, *second = new_queue("other");
    DLManagedTensorVersioned *old = new_bytes("other", SIZE), *tensor;
    program_memory memory = {.device = fake()->device_of(old->dl_tensor.data)};
    const bp_device_allocator allocator = {allocate, release, &memory};
    free_tensor(old);
    assert_ok(bp_device_wait(place));
    assert_ok(bp_device_use_allocator(place, &allocator));
    assert_ok(bp_queue_current(&queue, place));
    old = new_bytes("other", SIZE);
    fake()->longest_delay_us = 2000;
    for (int i = 0; i < 20; i++) {
        assert_ok(add_bytes(queue, &old->dl_tensor, 1, "x"));
    }
    const int before = fake()->commands;
    tensor = new_bytes("other", 4 * SIZE);
    assert_true(fake()->commands > before || test_sanitized());
    assert_ok(bp_queue_error(queue));
    bp_event *mark;
    assert_ok(bp_event_record(&mark, second)); /* nothing of the first queue is left */
    assert_ok(bp_event_sync(mark, -1));
    assert_true(fake()->pending_of(old->dl_tensor.data) == 0);
    bp_event_release(mark);
    free_tensor(tensor);
    free_tensor(old);
    bp_queue_release(queue);
    bp_queue_release(second);
    assert_ok(bp_device_wait(place));
    assert_ok(bp_device_use_allocator(place, NULL));
}

/* ---- Checks of results ---- */

typedef struct result {
    int called, ended;
    bp_status status;
} result;

static bp_status check(void *user, int ended) {
    result *r = user;
    r->called++;
    r->ended = ended;
    return r->status == BP_OK ? BP_OK : bp__fail(r->status, "the matrix of item 3 is singular");
}

static void add_checked(bp_queue *queue, const DLManagedTensorVersioned *tensor, result *r) {
    bp__queue_begin(queue, BP_OP_GEMM, "f32 3x3");
    void *event = fake()->add(bp__queue_runtime(queue), tensor->dl_tensor.data, 0, SIZE, 1);
    assert_ok(bp__queue_enqueued_checked(queue, event, check, r));
    bp__queue_end(queue);
}

static void test_results_are_checked_at_their_end(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", SIZE);
    result good = {.status = BP_OK}, bad = {.status = BP_E_SINGULAR}, late = {.status = BP_E_SINGULAR};
    bp_event *event;
    fill_bytes(tensor, 1);
    fake()->open_gate(false);
    add_checked(queue, tensor, &good);
    add_checked(queue, tensor, &bad);
    assert_ok(bp_event_record(&event, queue));
    assert_ok(bp_queue_error(queue));
    assert_int_equal(good.called + bad.called, 0);
    fake()->open_gate(true);
    assert_fails(bp_event_sync(event, -1), BP_E_SINGULAR, "item 3 is singular");
    assert_fails(bp_queue_error(queue), BP_E_SINGULAR, "item 3");
    assert_fails(bp_queue_wait(queue), BP_E_SINGULAR, "item 3");
    assert_ok(bp_queue_wait(queue)); /* told once */
    assert_int_equal(good.called, 1);
    assert_int_equal(good.ended, 1);
    assert_int_equal(bad.called, 1);
    bp_event_release(event);
    fake()->fail_at = 1; /* without a result, the command's failure is told */
    add_checked(queue, tensor, &late);
    assert_fails(bp_queue_wait(queue), BP_E_DEVICE, "gemm f32 3x3 failed");
    assert_int_equal(late.called, 1);
    assert_int_equal(late.ended, 0);
    free_tensor(tensor);
    bp_queue_release(queue);
}

/* A failed check makes no later result invalid, but a failed command may. So the command's failure is told in any
 * order. */
static void test_failed_commands_are_told_before_failed_checks(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", SIZE);
    result bad = {.status = BP_E_SINGULAR}, good = {.status = BP_OK}, wrong = {.status = BP_E_DEVICE};
    fill_bytes(tensor, 1);
    fake()->fail_at = 2;
    add_checked(queue, tensor, &bad);
    add_checked(queue, tensor, &good);
    assert_fails(bp_queue_wait(queue), BP_E_DEVICE, "are not valid");
    assert_int_equal(bad.ended, 1);
    assert_int_equal(good.ended, 0);
    assert_ok(bp_queue_wait(queue));
    add_checked(queue, tensor, &wrong); /* a check with the status of a failed command */
    assert_fails(bp_queue_wait(queue), BP_E_DEVICE, "gemm f32 3x3 failed on device fake:0: the matrix of item 3");
    assert_null(strstr(bp_last_error(), "not valid"));
    free_tensor(tensor);
    bp_queue_release(queue);
}

static void test_a_check_keeps_the_message_of_the_thread(void **state) {
    (void)state;
    bp_queue *queue = new_queue("fake");
    DLManagedTensorVersioned *tensor = new_bytes("fake", SIZE);
    result bad = {.status = BP_E_SINGULAR};
    fill_bytes(tensor, 1);
    add_checked(queue, tensor, &bad);
    assert_ok(bp_device_wait(place_of("fake:1")));
    assert_fails(bp_queue_wait(NULL), BP_E_ARGUMENT, "'queue' is NULL");
    while (bad.called == 0) {
        free_tensor(new_bytes("fake", 9 * SIZE)); /* a search for memory looks at the queues */
        (void)bp_device_trim(place_of("fake"), 0);
    }
    assert_non_null(strstr(bp_last_error(), "'queue' is NULL"));
    assert_fails(bp_device_wait(place_of("fake")), BP_E_SINGULAR, "item 3");
    free_tensor(tensor);
    bp_queue_release(queue);
}

/* ---- Times ---- */

static void measure_elapsed_time(const char *id, const char *second) {
    bp_queue *queue, *plain = new_queue(id), *elsewhere;
    bp_event *from, *to, *untimed, *foreign;
    int64_t ns = -1;
    DLManagedTensorVersioned *tensor = new_bytes(id, 100);
    assert_ok(bp_queue_new(&queue, place_of(id), BP_QUEUE_TIMED));
    assert_ok(bp_queue_new(&elsewhere, place_of(second), BP_QUEUE_TIMED));
    assert_ok(bp_event_record(&from, queue));
    assert_ok(bp_event_sync(from, -1));
    fake()->open_gate(false);
    assert_ok(add_bytes(queue, &tensor->dl_tensor, 7, "x"));
    assert_ok(bp_event_record(&to, queue));
    assert_ok(bp_event_record(&untimed, plain));
    assert_ok(bp_event_record(&foreign, elsewhere));
    assert_fails(bp_event_elapsed(from, to, &ns), BP_E_BUSY, "'to' is not reached");
    usleep(10000);
    fake()->open_gate(true);
    assert_ok(bp_queue_wait(queue));
    assert_ok(bp_event_elapsed(from, to, &ns));
    assert_true(ns >= 10000000);
    assert_ok(bp_event_elapsed(to, to, &ns));
    assert_true(ns == 0);
    assert_fails(bp_event_elapsed(untimed, to, &ns), BP_E_UNSUPPORTED, "'from'");
    assert_fails(bp_event_elapsed(from, foreign, &ns), BP_E_ARGUMENT, "two devices");
    assert_fails(bp_event_elapsed(NULL, to, &ns), BP_E_ARGUMENT, "NULL");
    assert_fails(bp_event_elapsed(from, to, NULL), BP_E_ARGUMENT, "NULL");
    bp_event_release(from);
    bp_event_release(to);
    bp_event_release(untimed);
    bp_event_release(foreign);
    bp_queue_release(queue);
    bp_queue_release(plain);
    bp_queue_release(elsewhere);
    free_tensor(tensor);
}

static void test_elapsed_time(void **state) {
    (void)state;
    const int before = fake()->elapsed;
    measure_elapsed_time("fake", "fake:1"); /* from the times of both events */
    assert_int_equal(fake()->elapsed, before);
    measure_elapsed_time("other", "other:1"); /* this runtime tells differences */
    assert_int_equal(fake()->elapsed, before + 2);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(test_reuse_waits_for_a_consumer),
        TEST(test_uses_of_other_memory),
        TEST(test_pinned_memory),
        TEST(test_the_queue_with_the_handle_zero),
        TEST(test_copies_between_peers),
        TEST(test_a_freed_source_of_a_peer),
        TEST(test_transfers_by_address),
        TEST(test_an_allocator_of_the_program),
        TEST(test_memory_of_the_program_is_awaited),
        TEST(test_results_are_checked_at_their_end),
        TEST(test_failed_commands_are_told_before_failed_checks),
        TEST(test_a_check_keeps_the_message_of_the_thread),
        TEST(test_elapsed_time),
    };
    return cmocka_run_group_tests(tests, start_devices, stop_devices);
}
