/* test_calls.c - calls, plans and explanations of operations on OpenCL devices, through the public interface.
 *
 * Without a device the program is skipped. */
#include "device/support_device.h"

#include "backplane/runtime.h"
#include "support/kernels.h"

#include <math.h>
#include <sys/wait.h>

enum { N = 24 };
static int32_t first, second; /* places; `second` is 0 if there is one device only */

static int start(void **state) {
    (void)state;
    setenv("POCL_DEVICES", "pthread pthread", 1);
    test_kernels_setup();
    if (bp_device_find("opencl:0", &first) != BP_OK) {
        printf("SKIPPED: %s\n", bp_last_error());
        exit(77);
    }
    second = bp_device_find("opencl:1", &second) == BP_OK ? second : 0;
    return 0;
}

static int stop(void **state) {
    (void)state;
    assert_ok(bp_reset());
    return 0;
}

/* ---- Tensors ---- */

static DLManagedTensorVersioned *empty_on(int32_t place, bp_dtype dtype, int ndim, const int64_t *shape) {
    DLManagedTensorVersioned *tensor;
    assert_ok(bp_tensor_empty_on(&tensor, place, dtype, ndim, shape, NULL));
    return tensor;
}

static DLManagedTensorVersioned *put(int32_t place, bp_dtype dtype, int ndim, const int64_t *shape, void *data) {
    DLManagedTensorVersioned *tensor = empty_on(place, dtype, ndim, shape);
    bp_view from;
    assert_ok(bp_view_init(&from, data, dtype, ndim, shape, NULL));
    assert_ok(bp_copy(&tensor->dl_tensor, &from.tensor, NULL));
    return tensor;
}

static void get(const DLManagedTensorVersioned *tensor, void *data) {
    const DLTensor *t = &tensor->dl_tensor;
    bp_view to;
    assert_ok(bp_view_init(&to, data, bp_dtype_from_dlpack(t->dtype), t->ndim, t->shape, NULL));
    assert_ok(bp_copy(&to.tensor, t, NULL));
}

static const int64_t square[] = {N, N};

static void fill(double *matrix, unsigned seed) {
    for (int i = 0; i < N * N; i++) {
        seed = seed * 1664525u + 1013904223u;
        matrix[i] = (double)(int)(seed >> 24) / 64 - 2;
    }
}

static void multiply(const double *a, const double *b, double *c) {
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            c[i * N + j] = 0;
            for (int k = 0; k < N; k++) {
                c[i * N + j] += a[i * N + k] * b[k * N + j];
            }
        }
    }
}

static void assert_close(const double *got, const double *want, int count, double bound) {
    for (int i = 0; i < count; i++) {
        if (!(fabs(got[i] - want[i]) <= bound)) {
            fail_msg("element %d is %g instead of %g", i, got[i], want[i]);
        }
    }
}

/* Two matrices, their product, and the same on the first device. */
static struct {
    double a[N * N], b[N * N], c[N * N], got[N * N];
    DLManagedTensorVersioned *on_a, *on_b, *on_c;
} m;

static int make(void **state) {
    (void)state;
    fill(m.a, 1);
    fill(m.b, 2);
    multiply(m.a, m.b, m.c);
    memset(m.got, 0, sizeof m.got);
    m.on_a = put(first, BP_F64, 2, square, m.a);
    m.on_b = put(first, BP_F64, 2, square, m.b);
    m.on_c = put(first, BP_F64, 2, square, m.got);
    return 0;
}

static int release(void **state) {
    (void)state;
    m.on_a->deleter(m.on_a);
    m.on_b->deleter(m.on_b);
    m.on_c->deleter(m.on_c);
    return 0;
}

/* ---- Calls ---- */

static void a_product_runs_on_the_device(void **state) {
    (void)state;
    bp_plan_info ran = {.struct_size = sizeof ran};
    assert_ok(bp_matmul(&m.on_a->dl_tensor, &m.on_b->dl_tensor, &m.on_c->dl_tensor));
    get(m.on_c, m.got);
    assert_close(m.got, m.c, N * N, 1e-12);
    assert_ok(bp_last_plan(&ran));
    assert_non_null(strstr(ran.problem, " on opencl:0"));
    for (int i = 0; i < 3; i++) { /* a repeated call has another result if its operands have changed */
        m.a[i] += 1;
        bp_view host;
        assert_ok(bp_view_matrix(&host, m.a, BP_F64, N, N));
        assert_ok(bp_copy(&m.on_a->dl_tensor, &host.tensor, NULL));
        assert_ok(bp_matmul(&m.on_a->dl_tensor, &m.on_b->dl_tensor, &m.on_c->dl_tensor));
        get(m.on_c, m.got);
        multiply(m.a, m.b, m.c);
        assert_close(m.got, m.c, N * N, 1e-12);
    }
}

static void views_and_offsets_are_read_where_they_are(void **state) {
    (void)state;
    int64_t shape[] = {N - 2, N - 2}, strides[] = {1, N}; /* the transposed lower right part */
    DLTensor view = m.on_a->dl_tensor;
    view.shape = shape;
    view.strides = strides;
    view.byte_offset += (2 * N + 2) * sizeof(double);
    DLManagedTensorVersioned *out = empty_on(first, BP_F64, 2, shape);
    assert_ok(bp_matmul(&view, &view, &out->dl_tensor));
    static double got[(N - 2) * (N - 2)], want[(N - 2) * (N - 2)];
    get(out, got);
    for (int i = 0; i < N - 2; i++) {
        for (int j = 0; j < N - 2; j++) {
            want[i * (N - 2) + j] = 0;
            for (int k = 0; k < N - 2; k++) {
                want[i * (N - 2) + j] += m.a[(k + 2) * N + i + 2] * m.a[(j + 2) * N + k + 2];
            }
        }
    }
    assert_close(got, want, (N - 2) * (N - 2), 1e-12);
    out->deleter(out);
}

static void a_contraction_of_several_parts_runs_on_the_device(void **state) {
    (void)state;
    const DLTensor *operands[] = {&m.on_a->dl_tensor, &m.on_b->dl_tensor, &m.on_a->dl_tensor};
    static double want[N * N];
    assert_ok(bp_einsum("ij,jk,kl->li", 3, operands, &m.on_c->dl_tensor));
    get(m.on_c, m.got);
    multiply(m.c, m.a, want);
    bp_plan *plan;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
    const bp_einsum_call call = {
        .struct_size = sizeof call, .expression = "ij,jk,kl->li", .count = 3, .operands = operands};
    assert_ok(bp_einsum_plan(&plan, NULL, &call, NULL));
    assert_ok(bp_einsum_plan_output(plan, &dtype, &ndim, shape, strides));
    assert_true(dtype == BP_F64 && ndim == 2 && shape[0] == N && shape[1] == N);
    assert_non_null(bp_einsum_plan_path(plan));
    bp_plan_release(plan);
    for (int i = 0; i < N; i++) {
        for (int l = 0; l < N; l++) {
            assert_true(fabs(m.got[l * N + i] - want[i * N + l]) <= 1e-10);
        }
    }
}

static void concatenation_writes_parts_of_a_tensor(void **state) {
    (void)state;
    const int64_t shape[] = {2 * N, N};
    const DLTensor *parts[] = {&m.on_a->dl_tensor, &m.on_b->dl_tensor};
    static double got[2 * N * N];
    DLManagedTensorVersioned *out = empty_on(first, BP_F64, 2, shape);
    assert_ok(bp_concat_run(NULL, 2, parts, 0, &out->dl_tensor));
    get(out, got);
    assert_memory_equal(got, m.a, sizeof m.a);
    assert_memory_equal(got + N * N, m.b, sizeof m.b);
    out->deleter(out);
}

/* ---- Refusals ---- */

static void operands_on_two_devices_are_refused(void **state) {
    (void)state;
    bp_view host;
    assert_ok(bp_view_matrix(&host, m.a, BP_F64, N, N));
    assert_fails(bp_matmul(&host.tensor, &m.on_b->dl_tensor, &m.on_c->dl_tensor), BP_E_DEVICE,
                 "tensor 'a' is on the host, but tensor 'b' is on opencl:0");
    const DLTensor *parts[] = {&m.on_a->dl_tensor, &host.tensor};
    assert_fails(bp_einsum("ij,jk->ik", 2, parts, &m.on_c->dl_tensor), BP_E_DEVICE, "operand 1");
    if (second) {
        DLManagedTensorVersioned *other = put(second, BP_F64, 2, square, m.a);
        assert_fails(bp_matmul(&other->dl_tensor, &m.on_b->dl_tensor, &m.on_c->dl_tensor), BP_E_DEVICE, "opencl:1");
        other->deleter(other);
    }
}

static void a_device_that_is_not_there_is_named(void **state) {
    (void)state;
    DLTensor away = m.on_a->dl_tensor;
    away.device.device_id = 77;
    assert_fails(bp_matmul(&away, &away, &away), BP_E_OVERLAP, "");
    DLTensor b = away, c = away;
    b.data = (char *)away.data + 1;
    c.data = (char *)away.data + 2;
    assert_fails(bp_matmul(&away, &b, &c), BP_E_DEVICE, "tensor 'a' is on opencl:77");
    away.device.device_type = b.device.device_type = c.device.device_type = kDLMetal;
    assert_fails(bp_matmul(&away, &b, &c), BP_E_DEVICE, "metal:77");
}

static void functions_of_the_host_refuse_device_memory(void **state) {
    (void)state;
    bp_view host;
    assert_ok(bp_view_matrix(&host, m.got, BP_F64, N, N));
    assert_fails(bp_tensor_copy(&host.tensor, &m.on_a->dl_tensor), BP_E_DEVICE, "opencl:0");
    assert_fails(bp_tensor_print(stdout, &m.on_a->dl_tensor, NULL), BP_E_DEVICE, "opencl:0");
    assert_fails(bp_matrix_power(&m.on_a->dl_tensor, 3, &m.on_c->dl_tensor), BP_E_DEVICE, "opencl:0");
}

/* ---- What no provider of the device runs ---- */

static bp_status invert(const char *settings) {
    bp_options *options;
    assert_ok(bp_options_new(&options, settings));
    bp_linalg_call call = {
        .struct_size = sizeof call, .op = BP_OP_INV, .input = {&m.on_a->dl_tensor}, .output = {&m.on_c->dl_tensor}};
    bp_status status = bp_linalg_run(options, &call);
    bp_options_release(options);
    return status;
}

static void linear_algebra_runs_on_the_host_if_transfers_are_allowed(void **state) {
    (void)state;
    static double product[N * N];
    bp_plan_info ran = {.struct_size = sizeof ran};
    assert_fails(invert(""), BP_E_NO_CANDIDATE, "");
    assert_ok(invert("dispatch.transfer=allow"));
    get(m.on_c, m.got);
    multiply(m.a, m.got, product);
    for (int i = 0; i < N * N; i++) {
        assert_true(fabs(product[i] - (i % (N + 1) == 0)) < 1e-6);
    }
    assert_ok(bp_last_plan(&ran));
    assert_non_null(strstr(ran.reason, "dispatch.transfer=allow"));
}

static void a_failed_operation_on_copies_leaves_the_result(void **state) {
    (void)state;
    bp_view host;
    static double singular[N * N];
    assert_ok(bp_view_matrix(&host, singular, BP_F64, N, N));
    assert_ok(bp_copy(&m.on_a->dl_tensor, &host.tensor, NULL));
    assert_int_equal(invert("dispatch.transfer=allow"), BP_E_SINGULAR);
    get(m.on_c, m.got);
    for (int i = 0; i < N * N; i++) {
        assert_true(m.got[i] == 0);
    }
}

/* ---- Explanations ---- */

static void an_explanation_names_the_device_and_each_reason(void **state) {
    (void)state;
    bp_explanation *e;
    bp_options *options;
    assert_ok(bp_matmul_explain(&e, NULL, &m.on_a->dl_tensor, &m.on_b->dl_tensor, &m.on_c->dl_tensor));
    assert_non_null(strstr(bp_explanation_text(e), "device    opencl:0"));
    assert_non_null(strstr(bp_explanation_text(e), "works on host memory only"));
    bp_explanation_release(e);
    bp_linalg_call call = {
        .struct_size = sizeof call, .op = BP_OP_INV, .input = {&m.on_a->dl_tensor}, .output = {&m.on_c->dl_tensor}};
    assert_ok(bp_options_new(&options, "dispatch.transfer=allow"));
    assert_ok(bp_linalg_explain(&e, options, &call));
    assert_non_null(strstr(bp_explanation_text(e), "copies of the operands take about"));
    assert_non_null(strstr(bp_explanation_decision(e), "the host runs it on copies"));
    bp_explanation_release(e);
    bp_options_release(options);
}

static void a_recorded_device_explains_but_does_not_run(void **state) {
    (void)state;
    static char text[16384];
    int32_t place;
    bp_explanation *e;
    bp_plan *plan;
    bp_device_info info = {.struct_size = sizeof info};
    assert_ok(bp_device_record(first, text, sizeof text, NULL));
    assert_ok(bp_device_load(text, &place));
    assert_ok(bp_device_describe(place, &info));
    assert_int_equal(info.state, BP_DEVICE_RECORDED);
    bp_view a, b, c;
    assert_ok(bp_view_matrix(&a, NULL, BP_F32, 64, 64));
    assert_ok(bp_view_matrix(&b, NULL, BP_F32, 64, 64));
    assert_ok(bp_view_matrix(&c, NULL, BP_F32, 64, 64));
    a.tensor.device = b.tensor.device = c.tensor.device = (DLDevice){(DLDeviceType)info.type, info.index};
    assert_ok(bp_matmul_explain(&e, NULL, &a.tensor, &b.tensor, &c.tensor));
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    int accepted = 0;
    for (int i = 0; bp_explanation_at(e, i, &candidate); i++) {
        accepted += candidate.accepted;
    }
    assert_true(accepted > 0);
    assert_non_null(strstr(bp_explanation_text(e), "recorded: nothing can run"));
    bp_explanation_release(e);
    assert_fails(bp_matmul_plan(&plan, NULL, &a.tensor, &b.tensor, &c.tensor), BP_E_DEVICE, "");
}

/* ---- Plans and queues ---- */

static void a_plan_runs_on_a_queue_after_its_events(void **state) {
    (void)state;
    bp_queue *queue, *current;
    bp_event *written, *done = NULL;
    bp_plan *plan;
    assert_ok(bp_queue_new(&queue, first, 0));
    assert_ok(bp_queue_current(&current, first)); /* it has the copies of the operands */
    assert_ok(bp_event_record(&written, current));
    bp_queue_release(current);
    assert_ok(bp_matmul_plan(&plan, NULL, &m.on_a->dl_tensor, &m.on_b->dl_tensor, &m.on_c->dl_tensor));
    const bp_operand operands[] = {{m.on_a->dl_tensor.data, m.on_a->dl_tensor.byte_offset},
                                   {m.on_b->dl_tensor.data, m.on_b->dl_tensor.byte_offset},
                                   {m.on_c->dl_tensor.data, m.on_c->dl_tensor.byte_offset}};
    bp_exec exec = {.struct_size = sizeof exec, .queue = queue, .after = &written, .after_count = 1, .done = &done};
    assert_ok(bp_execute(plan, operands, &exec));
    assert_non_null(done);
    assert_ok(bp_event_sync(done, -1));
    get(m.on_c, m.got);
    assert_close(m.got, m.c, N * N, 1e-12);
    bp_event_release(done);
    bp_event_release(written);
    bp_plan_release(plan);
    assert_ok(bp_queue_wait(queue));
    bp_queue_release(queue);
}

static void a_plan_refuses_a_queue_of_another_device(void **state) {
    (void)state;
    bp_queue *queue;
    bp_plan *plan, *host;
    bp_view a, b, c;
    const bp_operand operands[] = {
        {m.on_a->dl_tensor.data, 0}, {m.on_b->dl_tensor.data, 0}, {m.on_c->dl_tensor.data, 0}};
    const bp_operand local[] = {{m.a, 0}, {m.b, 0}, {m.got, 0}};
    assert_ok(bp_matmul_plan(&plan, NULL, &m.on_a->dl_tensor, &m.on_b->dl_tensor, &m.on_c->dl_tensor));
    if (second) {
        assert_ok(bp_queue_new(&queue, second, 0));
        assert_fails(bp_execute(plan, operands, &(bp_exec){.struct_size = sizeof(bp_exec), .queue = queue}),
                     BP_E_ARGUMENT, "opencl:1");
        bp_queue_release(queue);
    }
    assert_ok(bp_view_matrix(&a, m.a, BP_F64, N, N));
    assert_ok(bp_view_matrix(&b, m.b, BP_F64, N, N));
    assert_ok(bp_view_matrix(&c, m.got, BP_F64, N, N));
    assert_ok(bp_matmul_plan(&host, NULL, &a.tensor, &b.tensor, &c.tensor));
    assert_ok(bp_queue_new(&queue, first, 0));
    assert_fails(bp_execute(host, local, &(bp_exec){.struct_size = sizeof(bp_exec), .queue = queue}), BP_E_UNSUPPORTED,
                 "queue");
    bp_packed *packed;
    assert_fails(bp_plan_pack(&packed, plan, 0, operands), BP_E_UNSUPPORTED, "on a device");
    bp_event *done;
    assert_fails(bp_execute(host, local, &(bp_exec){.struct_size = sizeof(bp_exec), .done = &done}), BP_E_UNSUPPORTED,
                 "done");
    bp_queue_release(queue);
    bp_plan_release(host);
    bp_plan_release(plan);
}

static void a_child_of_fork_gets_an_error(void **state) {
    (void)state;
    assert_ok(bp_matmul(&m.on_a->dl_tensor, &m.on_b->dl_tensor, &m.on_c->dl_tensor));
    pid_t child = fork();
    if (child == 0) {
        alarm(240); /* a child that hangs is ended */
        bp_status status = bp_matmul(&m.on_a->dl_tensor, &m.on_b->dl_tensor, &m.on_c->dl_tensor);
        _exit(status == BP_E_FORKED ? 0 : 1);
    }
    int end = 0;
    assert_int_equal(waitpid(child, &end, 0), child);
    assert_true(WIFEXITED(end) && WEXITSTATUS(end) == 0);
    get(m.on_c, m.got);
    assert_close(m.got, m.c, N * N, 1e-12);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, release)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_product_runs_on_the_device),
        TEST(views_and_offsets_are_read_where_they_are),
        TEST(a_contraction_of_several_parts_runs_on_the_device),
        TEST(concatenation_writes_parts_of_a_tensor),
        TEST(operands_on_two_devices_are_refused),
        TEST(a_device_that_is_not_there_is_named),
        TEST(functions_of_the_host_refuse_device_memory),
        TEST(linear_algebra_runs_on_the_host_if_transfers_are_allowed),
        TEST(a_failed_operation_on_copies_leaves_the_result),
        TEST(an_explanation_names_the_device_and_each_reason),
        TEST(a_recorded_device_explains_but_does_not_run),
        TEST(a_plan_runs_on_a_queue_after_its_events),
        TEST(a_plan_refuses_a_queue_of_another_device),
        TEST(a_child_of_fork_gets_an_error),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
