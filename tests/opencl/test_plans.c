/* test_plans.c - tests plans of kernels: arguments, order, runs of several threads at once, failures. */
#include "opencl/support_opencl.h"

#include <pthread.h>

/* y[first + i] = a * x[first + i] + s.b, and a step that writes through the workspace and local memory. */
static const char source[] =
    "typedef struct pair { float b; int n; } pair;\n"
    "kernel void axpb(global const float *x, ulong xf, global float *y, ulong yf, float a, pair s) {\n"
    "  ulong i = get_global_id(0);\n"
    "  y[yf + i] = (x ? a * x[xf + i] : -1.0f) + s.b;\n"
    "}\n"
    "kernel void through(global const float *x, ulong xf, global float *w, ulong wf) {\n"
    "  local float l[8];\n"
    "  ulong i = get_global_id(0);\n"
    "  l[get_local_id(0)] = x[xf + i];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  w[wf + i] = l[get_local_size(0) - 1 - get_local_id(0)];\n"
    "}\n"
    "kernel void scalars(global double *out, ulong f, float a, double b, float2 c, double2 d) {\n"
    "  out[f] = a; out[f + 1] = b; out[f + 2] = c.x; out[f + 3] = c.y; out[f + 4] = d.x; out[f + 5] = d.y;\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(4, 1, 1))) void four(global float *x, ulong f) { x[f] = 4; }\n";

typedef struct pair {
    float b;
    int n;
} pair;

enum { N = 64 };

static bp__kernel_program *program(void) {
    bp__kernel_program *found;
    assert_int_equal(bp__kernel_program_get(&test_cl_devices[0]->kernels, source, "", &found), BP_OK);
    return found;
}

static bp__kernel_plan *new_plan(size_t workspace) {
    bp__kernel_plan *plan;
    assert_int_equal(bp__kernel_plan_new(&test_cl_devices[0]->kernels, workspace, &plan), BP_OK);
    return plan;
}

static void add(bp__kernel_plan *plan, const bp__kernel_step *step) {
    assert_int_equal(bp__kernel_plan_add(plan, step), BP_OK);
}

/* The value of the step's last argument. */
static pair value;

static bp__kernel_step axpb(int x, int y, float b) {
    bp__kernel_step step = {.program = program(), .kernel = "axpb", .dimensions = 1, .global = {N}, .local = {8}};
    value = (pair){b, N};
    bp__kernel_operand(&step, x, sizeof(float));
    bp__kernel_operand(&step, y, sizeof(float));
    bp__kernel_scalar(&step, 0, BP_F32);
    bp__kernel_value(&step, &value, sizeof value);
    return step;
}

static void enqueue(bp__kernel_plan *plan, test_queue *queue, const bp_operand *operands, const bp_scalar *scalars,
                    bp_operand workspace) {
    bp_exec exec = {.struct_size = sizeof exec,
                    .queue = test_queue_handle(queue),
                    .workspace = workspace,
                    .scalars = scalars,
                    .workspace_size = 1 << 16};
    bp_prepared *prepared = &plan->prepared;
    assert_int_equal(prepared->enqueue(prepared, operands, &exec), BP_OK);
    assert_non_null(queue->event);
}

/* ---- Arguments ---- */

static void test_arguments(void **state) {
    (void)state;
    test_cl_need(1);
    test_queue queue = test_queue_new(0, 0);
    float x[N + 5], y[N + 7];
    for (int i = 0; i < N + 7; i++) {
        y[i] = -9;
    }
    for (int i = 0; i < N + 5; i++) {
        x[i] = (float)i;
    }
    bp_operand operands[] = {{test_cl_memory(&queue, x, sizeof x), 3 * sizeof(float)},
                             {test_cl_memory(&queue, y, sizeof y), 5 * sizeof(float)}};
    bp__kernel_plan *plan = new_plan(0);
    bp__kernel_step step = axpb(0, 1, 0.5f);
    add(plan, &step);
    memset(&value, 0x77, sizeof value); /* the plan has its own copy */
    const bp_scalar scalars[] = {{2, 0}, {0, 0}}, others[] = {{3, 0}, {0, 0}};
    enqueue(plan, &queue, operands, scalars, (bp_operand){NULL, 0});
    test_cl_read(&queue, operands[1].base, y, sizeof y);
    for (int i = 0; i < N; i++) {
        assert_true(y[5 + i] == 2 * (float)(3 + i) + 0.5f);
    }
    assert_true(y[4] == -9 && y[5 + N] == -9);
    operands[0].offset = 0; /* other offsets and scalars in the next run */
    enqueue(plan, &queue, operands, others, (bp_operand){NULL, 0});
    test_cl_read(&queue, operands[1].base, y, sizeof y);
    assert_true(y[5] == 0.5f && y[5 + 10] == 30.5f);
    enqueue(plan, &queue, operands, NULL, (bp_operand){NULL, 0}); /* alpha is 1 */
    test_cl_read(&queue, operands[1].base, y, sizeof y);
    assert_true(y[5 + 10] == 10.5f);
    bp_operand absent[] = {{NULL, 0}, operands[1]};
    enqueue(plan, &queue, absent, scalars, (bp_operand){NULL, 0});
    test_cl_read(&queue, operands[1].base, y, sizeof y);
    assert_true(y[5] == -0.5f);
    plan->prepared.destroy(&plan->prepared);
    bp_runtime_opencl.release(test_cl_devices[0], operands[0].base);
    bp_runtime_opencl.release(test_cl_devices[0], operands[1].base);
    test_queue_free(&queue);
}

/* Two steps: operand -> workspace in reversed groups of 8 -> operand. */
static void test_workspace_and_order(void **state) {
    (void)state;
    test_cl_need(1);
    test_queue queue = test_queue_new(0, 0);
    float x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
    }
    bp_operand operands[] = {{test_cl_memory(&queue, x, sizeof x), 0}, {test_cl_memory(&queue, y, sizeof y), 0}};
    bp_operand workspace = {test_cl_memory(&queue, NULL, 4096), 256};
    bp__kernel_plan *plan = new_plan(512);
    assert_int_equal(plan->prepared.workspace, 512);
    bp__kernel_step first = {.program = program(), .kernel = "through", .dimensions = 1, .global = {N}, .local = {8}},
                    second = first;
    bp__kernel_operand(&first, 0, sizeof(float));
    bp__kernel_workspace(&first, 128, sizeof(float));
    bp__kernel_workspace(&second, 128, sizeof(float));
    bp__kernel_operand(&second, 1, sizeof(float));
    second.local[0] = 4;
    add(plan, &first);
    add(plan, &second);
    enqueue(plan, &queue, operands, NULL, workspace);
    test_cl_read(&queue, operands[1].base, y, sizeof y);
    for (int i = 0; i < N; i++) {
        int in_four = i / 4 * 4 + 3 - i % 4, in_eight = in_four / 8 * 8 + 7 - in_four % 8;
        assert_true(y[i] == x[in_eight]);
    }
    float block[N]; /* at bytes 256 + 128 */
    bp_transfer transfer = {
        .kind = BP_TRANSFER_READ, .dst = {block, 0}, .src = {workspace.base, 384}, .run = sizeof block};
    void *event;
    assert_int_equal(bp_runtime_opencl.copy(queue.queue, &transfer, &event), BP_OK);
    test_cl_done(event);
    assert_true(block[0] == 7 && block[7] == 0);
    bp__kernel_plan_free(plan);
    bp_runtime_opencl.release(test_cl_devices[0], operands[0].base);
    bp_runtime_opencl.release(test_cl_devices[0], operands[1].base);
    bp_runtime_opencl.release(test_cl_devices[0], workspace.base);
    test_queue_free(&queue);
}

static void test_scalars(void **state) {
    (void)state;
    test_cl_need(1);
    if (!(test_cl_devices[0]->facts.can & BP_DEVICE_CAN_F64)) {
        print_message("skipped: the device has no f64\n");
        skip();
    }
    test_queue queue = test_queue_new(0, 0);
    double out[6];
    const bp_scalar scalars[] = {{1.0 / 3, 2}, {1.0 / 7, 5}};
    bp_operand operand = {test_cl_memory(&queue, NULL, sizeof out), 0};
    bp__kernel_plan *plan = new_plan(0);
    bp__kernel_step step = {.program = program(), .kernel = "scalars", .dimensions = 1, .global = {1}, .local = {1}};
    bp__kernel_operand(&step, 0, sizeof(double));
    bp__kernel_scalar(&step, 0, BP_F16);
    bp__kernel_scalar(&step, 1, BP_F64);
    bp__kernel_scalar(&step, 1, BP_C64);
    bp__kernel_scalar(&step, 0, BP_C128);
    add(plan, &step);
    enqueue(plan, &queue, &operand, scalars, (bp_operand){NULL, 0});
    test_cl_read(&queue, operand.base, out, sizeof out);
    const double expected[] = {(float)(1.0 / 3), 1.0 / 7, (float)(1.0 / 7), 5, 1.0 / 3, 2};
    assert_memory_equal(out, expected, sizeof out);
    bp__kernel_plan_free(plan);
    bp_runtime_opencl.release(test_cl_devices[0], operand.base);
    test_queue_free(&queue);
}

/* A plan without steps gives an event after the work before it. */
static void test_no_steps(void **state) {
    (void)state;
    test_cl_need(1);
    test_queue queue = test_queue_new(0, 0);
    cl_int code;
    int64_t failure;
    cl_event gate = bp__cl_loaded.CreateUserEvent(test_cl_devices[0]->context, &code);
    void *native = gate, *waited;
    assert_int_equal(bp_runtime_opencl.wait(queue.queue, 1, &native, &waited), BP_OK);
    bp__kernel_plan *plan = new_plan(0);
    enqueue(plan, &queue, NULL, NULL, (bp_operand){NULL, 0});
    assert_int_equal(bp_runtime_opencl.event_state(queue.event, &failure), BP_EVENT_PENDING);
    bp__cl_loaded.SetUserEventStatus(gate, 0);
    assert_int_equal(test_cl_wait(queue.event), 0);
    bp_runtime_opencl.event_release(gate);
    bp_runtime_opencl.event_release(waited);
    bp__kernel_plan_free(plan);
    test_queue_free(&queue);
}

/* ---- Failures ---- */

static void test_bad_steps(void **state) {
    (void)state;
    test_cl_need(1);
    bp__kernel_plan *plan = new_plan(0);
    bp__kernel_step step = {.program = program(), .kernel = "missing", .dimensions = 1, .global = {1}, .local = {1}};
    assert_int_equal(bp__kernel_plan_add(plan, &step), BP_E_DEVICE);
    assert_contains(test_cl_error, "kernel missing: clCreateKernel: CL_INVALID_KERNEL_NAME (-46)");
    step = axpb(0, 1, 1);
    bp__kernel_value(&step, &value, sizeof value); /* one argument too many */
    assert_int_equal(bp__kernel_plan_add(plan, &step), BP_E_DEVICE);
    assert_contains(test_cl_error, "kernel axpb: clSetKernelArg");
    step = axpb(0, 1, 1);
    step.global[0] = step.local[0] = (size_t)1 << 30;
    assert_int_equal(bp__kernel_plan_add(plan, &step), BP_E_UNSUPPORTED);
    assert_contains(test_cl_error, "needs groups of 1073741824 work items");
    bp__kernel_plan_free(plan);
}

static void test_failing_run(void **state) {
    (void)state;
    test_cl_need(1);
    test_queue queue = test_queue_new(0, 0);
    bp_operand operand = {test_cl_memory(&queue, NULL, 64), 0};
    bp__kernel_plan *plan = new_plan(0);
    bp__kernel_step step = {.program = program(), .kernel = "four", .dimensions = 1, .global = {8}, .local = {8}};
    bp__kernel_operand(&step, 0, sizeof(float));
    add(plan, &step);
    bp_exec exec = {.struct_size = sizeof exec, .queue = test_queue_handle(&queue)};
    bp_prepared *prepared = &plan->prepared;
    for (int i = 0; i < 20; i++) { /* the kernels are given back */
        assert_int_equal(prepared->enqueue(prepared, &operand, &exec), BP_E_DEVICE);
        assert_contains(test_cl_error, "kernel four: clEnqueueNDRangeKernel: CL_INVALID_WORK_GROUP_SIZE (-54)");
    }
    assert_null(queue.event);
    bp__kernel_plan_free(plan);
    bp_runtime_opencl.release(test_cl_devices[0], operand.base);
    test_queue_free(&queue);
}

/* ---- Threads: one plan, a queue for each ---- */

enum { THREADS = 4, RUNS = 300 };

typedef struct worker {
    bp__kernel_plan *plan;
    int number;
    bool right;
} worker;

static void *work(void *opaque) {
    worker *me = opaque;
    test_queue queue = test_queue_new(0, 0);
    float x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)(me->number + i);
    }
    bp_operand operands[] = {{test_cl_memory(&queue, x, sizeof x), 0}, {test_cl_memory(&queue, NULL, sizeof y), 0}};
    me->right = true;
    for (int run = 0; run < RUNS; run++) {
        const bp_scalar scalars[] = {{run % 10, 0}, {0, 0}};
        enqueue(me->plan, &queue, operands, scalars, (bp_operand){NULL, 0});
        if (run % 20 == 0 || run == RUNS - 1) {
            test_cl_read(&queue, operands[1].base, y, sizeof y);
            for (int i = 0; i < N; i++) {
                me->right = me->right && y[i] == (float)(run % 10) * x[i] + 0.25f;
            }
        }
    }
    bp_runtime_opencl.release(test_cl_devices[0], operands[0].base);
    bp_runtime_opencl.release(test_cl_devices[0], operands[1].base);
    test_queue_free(&queue);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    test_cl_need(1);
    int64_t blocks = bp__live_blocks();
    pthread_t threads[THREADS];
    worker workers[THREADS];
    bp__kernel_plan *plan = new_plan(0);
    bp__kernel_step step = axpb(0, 1, 0.25f);
    add(plan, &step);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){plan, 1000 * i, false};
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(workers[i].right);
    }
    bp__kernel_plan_free(plan);
    assert_int_equal(bp__live_blocks(), blocks);
}

static void test_many_plans(void **state) {
    (void)state;
    test_cl_need(1);
    int64_t blocks = bp__live_blocks();
    for (int i = 0; i < 10000; i++) {
        bp__kernel_plan *plan = new_plan(0);
        bp__kernel_step step = axpb(0, 1, 1);
        for (int j = 0; j < i % 7; j++) {
            add(plan, &step);
        }
        bp__kernel_plan_free(plan);
    }
    assert_int_equal(bp__live_blocks(), blocks);
}

/* ---- The provider ---- */

static bp_verdict last;
static int offers_count;

static void keep_offer(bp_offers *self, const bp_verdict *verdict, const void *found, size_t size) {
    (void)self;
    (void)found;
    (void)size;
    last = *verdict;
    offers_count++;
}

static void test_refusals(void **state) {
    (void)state;
    test_cl_need(1);
    void *instance;
    bp_offers offers = {keep_offer};
    assert_int_equal(bp_provider_opencl.open(&test_cl_host, NULL, &instance), BP_OK);
    bp_problem problem = {.struct_size = sizeof problem, .op = BP_OP_EIG, .dtype = BP_F32};
    offers_count = 0;
    bp_provider_opencl.accept(instance, &problem, &offers);
    assert_int_equal(offers_count, 1);
    assert_int_equal(last.reason, BP_REASON_OP);
    assert_contains(last.text, "no kernel for this operation");
    problem.op = 10000;
    bp_provider_opencl.accept(instance, &problem, &offers);
    assert_int_equal(last.reason, BP_REASON_OP);
    problem.place = 77;
    bp_provider_opencl.accept(instance, &problem, &offers);
    assert_int_equal(last.reason, BP_REASON_DEVICE);
    problem.place = 0;
    test_cl_devices[0]->facts.can &= ~BP_DEVICE_CAN_COMPILE;
    bp_provider_opencl.accept(instance, &problem, &offers);
    test_cl_devices[0]->facts.can |= BP_DEVICE_CAN_COMPILE;
    assert_int_equal(last.reason, BP_REASON_DEVICE);
    assert_contains(last.text, "compiler");
    bp_provider_opencl.close(instance);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_workspace_and_order),
        cmocka_unit_test(test_scalars),   cmocka_unit_test(test_no_steps),
        cmocka_unit_test(test_bad_steps), cmocka_unit_test(test_failing_run),
        cmocka_unit_test(test_threads),   cmocka_unit_test(test_many_plans),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("plans", tests, test_cl_setup, test_cl_teardown);
}
