/* test_programs.c - the nvrtc provider on doubles of NVRTC and of CUDA's driver: when programs are compiled and kept,
 * for which target, failures, captured runs, flags of many runs at once, and addresses and groups that a device
 * refuses. */
#include "cuda/support_arrays.h"
#include "nvrtc/doubles/double.h"
#include "support/contains.h"

#include <pthread.h>

#define NVRTC_DOUBLES BP_TEST_BUILD_DIR "/tests/nvrtc-doubles"
#define I64(...) ((const int64_t[]){__VA_ARGS__})

static nvrtc_controls *the_nvrtc(void) {
    static nvrtc_controls *found;
    found = found ? found : controls_of(NVRTC_DOUBLES "/good/libnvrtc.so.13", "nvrtc_double");
    return found;
}

static int start(void **state) {
    if (start_cuda(state) != 0) {
        return -1;
    }
    setenv("BACKPLANE_REGISTRY_CACHE", "read-write", 1);
    return restart_with(NVRTC_DOUBLES "/good:" DOUBLES "/good") == BP_OK ? 0 : -1;
}

static int begin(void **state) {
    nvrtc_controls *d = the_nvrtc();
    d->fail_with = 0;
    d->newest = 0;
    d->violations = 0;
    /* Each test has a store of its own. */
    char folder[] = BP_TEST_BUILD_DIR "/nvrtc-store-XXXXXX";
    setenv("BACKPLANE_CACHE_DIR", mkdtemp(folder), 1);
    return bp_reset() == BP_OK ? begin_cuda(state) : -1;
}

static int end(void **state) {
    const nvrtc_controls *d = the_nvrtc();
    const int ended = end_cuda(state);
    const bp_status reset = bp_reset();
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", getenv("BACKPLANE_CACHE_DIR"));
    if (system(command) != 0 || d->violations || d->programs) {
        fprintf(stderr, "nvrtc: %d violations (%s), %d programs are left\n", d->violations, d->violation, d->programs);
        return -1;
    }
    return ended || reset != BP_OK;
}

/* ---- Calls ---- */

/* An array on the host and on the device for input and output, with the input's numbers. */
typedef struct pair {
    test_array in, out;
    on_device device_in, device_out;
} pair;

static void make_pair(pair *p, bp_dtype dtype, int64_t count, size_t past) {
    test_array_make(&p->in, dtype, 1, &count, TEST_COMPACT);
    test_array_make(&p->out, dtype, 1, &count, TEST_COMPACT);
    for (int64_t i = 0; i < count; i++) {
        test_array_set_complex(&p->in, i, (bp_scalar){(double)(i % 11) - 5, 1});
    }
    put(&p->device_in, &p->in, 0, past);
    put(&p->device_out, &p->out, 0, past);
    assert_ok(bp_device_wait(cuda_place(0)));
}

static void free_pair(pair *p) {
    drop(&p->device_in);
    drop(&p->device_out);
    test_array_free(&p->in);
    test_array_free(&p->out);
}

static bp_status relu(pair *p, const bp_options *options) {
    const bp_status status = bp_unary_run(options, BP_UNARY_RELU, &p->device_in.tensor, &p->device_out.tensor);
    return status == BP_OK ? bp_device_wait(cuda_place(0)) : status;
}

static void expect_relu(pair *p) {
    get(&p->device_out);
    for (int64_t i = 0; i < p->out.view.tensor.shape[0]; i++) {
        const double x = test_array_get(&p->in, i);
        assert_true(test_array_get(&p->out, i) == (x > 0 ? x : 0));
    }
}

/* ---- Programs ---- */

static void programs_are_compiled_once_and_kept(void **state) {
    (void)state;
    pair p;
    const int before = the_nvrtc()->compilations;
    make_pair(&p, BP_F32, 300, 0);
    assert_ok(relu(&p, NULL));
    assert_int_equal(the_nvrtc()->compilations, before + 1);
    assert_string_equal(the_nvrtc()->target, "sm_90");
    assert_ok(bp_device_plan_cache_clear(cuda_place(0)));
    assert_ok(relu(&p, NULL)); /* a new plan of the same program */
    assert_int_equal(the_nvrtc()->compilations, before + 1);
    free_pair(&p);
    assert_ok(bp_reset());
    make_pair(&p, BP_F32, 300, 0);
    assert_ok(relu(&p, NULL)); /* the code of the first instance */
    assert_int_equal(the_nvrtc()->compilations, before + 1);
    expect_relu(&p);
    free_pair(&p);
}

static void kept_code_is_of_a_target(void **state) {
    (void)state;
    pair p;
    make_pair(&p, BP_F32, 30, 0);
    assert_ok(relu(&p, NULL));
    free_pair(&p);
    the_nvrtc()->newest = 80; /* the target is another one, and so is the key */
    assert_ok(bp_reset());
    const int before = the_nvrtc()->compilations;
    make_pair(&p, BP_F32, 30, 0);
    assert_ok(relu(&p, NULL));
    assert_int_equal(the_nvrtc()->compilations, before + 1);
    free_pair(&p);
}

/* NVRTC knows no device that is newer than itself. */
static void newer_devices_get_ptx(void **state) {
    (void)state;
    pair p;
    the_nvrtc()->newest = 80;
    make_pair(&p, BP_F64, 300, 0);
    assert_ok(relu(&p, NULL));
    assert_string_equal(the_nvrtc()->target, "compute_80");
    expect_relu(&p);
    free_pair(&p);
}

static void devices_without_a_target_are_refused(void **state) {
    (void)state;
    pair p;
    the_nvrtc()->newest = 60;
    make_pair(&p, BP_F64, 3, 0);
    assert_fails(relu(&p, NULL), BP_E_NO_CANDIDATE, "compiles for no device of capability 9.0");
    free_pair(&p);
}

static void failures_of_compilations_are_told(void **state) {
    (void)state;
    pair p;
    make_pair(&p, BP_F32, 300, 0);
    the_nvrtc()->fail_with = 6;
    assert_fails(relu(&p, NULL), BP_E_NO_CANDIDATE, "cannot compile a kernel for sm_90");
    assert_contains(bp_last_error(), "the double refuses the program");
    free_pair(&p);
    make_pair(&p, BP_F32, 300, 0);
    assert_ok(relu(&p, NULL));
    expect_relu(&p);
    free_pair(&p);
}

static void drivers_that_load_no_code_are_told(void **state) {
    (void)state;
    pair p;
    make_pair(&p, BP_F32, 300, 0);
    the_double()->refuse_modules = true;
    assert_fails(relu(&p, NULL), BP_E_NO_CANDIDATE, "does not load code for sm_90");
    the_double()->refuse_modules = false;
    free_pair(&p);
}

/* ---- Runs ---- */

/* Complex numbers are read at once, so that their addresses must be multiples of their bytes. */
static void addresses_are_aligned_to_elements(void **state) {
    (void)state;
    pair p;
    make_pair(&p, BP_C128, 20, 16);
    assert_ok(bp_copy(&p.device_out.tensor, &p.device_in.tensor, NULL));
    assert_ok(
        bp_einsum("i,i->i", 2, (const DLTensor *[]){&p.device_in.tensor, &p.device_in.tensor}, &p.device_out.tensor));
    assert_ok(bp_device_wait(cuda_place(0)));
    free_pair(&p);
    make_pair(&p, BP_C128, 20, 8);
    assert_fails(
        bp_einsum("i,i->i", 2, (const DLTensor *[]){&p.device_in.tensor, &p.device_in.tensor}, &p.device_out.tensor),
        BP_E_UNSUPPORTED, "is no multiple of 16 bytes");
    free_pair(&p);
}

/* A graph has the tables of a transform, whose plan ends before the graph runs. */
static void captured_transforms_keep_their_tables(void **state) {
    (void)state;
    enum { N = 48, ROUNDS = 3 };
    pair p;
    test_array want;
    bp_plan *plan;
    bp_queue_graph *graph;
    bp_queue *queue = cuda_queue(0);
    const bp_fft_call call = {.struct_size = sizeof call, .axis_count = 1};
    const bp_exec exec = {.struct_size = sizeof exec, .queue = queue};
    make_pair(&p, BP_C64, N, 0);
    test_array_copy(&want, &p.out);
    assert_ok(bp_fft_run(NULL, &call, &p.in.view.tensor, &want.view.tensor));
    assert_ok(bp_fft_plan(&plan, NULL, &call, &p.device_in.tensor, &p.device_out.tensor));
    const bp_operand operands[] = {{p.device_in.tensor.data, p.device_in.tensor.byte_offset},
                                   {p.device_out.tensor.data, p.device_out.tensor.byte_offset}};
    assert_ok(bp_queue_capture_begin(queue));
    assert_ok(bp_execute(plan, operands, &exec));
    assert_ok(bp_queue_capture_end(&graph, queue));
    bp_plan_release(plan);
    assert_ok(bp_device_plan_cache_clear(cuda_place(0)));
    for (int i = 0; i < ROUNDS; i++) {
        assert_ok(bp_queue_graph_launch(graph, queue));
    }
    assert_ok(bp_queue_wait(queue));
    get(&p.device_out);
    for (int64_t i = 0; i < N; i++) {
        const bp_scalar a = test_array_get_complex(&p.out, i), b = test_array_get_complex(&want, i);
        assert_true(a.re - b.re < 1e-4 && b.re - a.re < 1e-4 && a.im - b.im < 1e-4 && b.im - a.im < 1e-4);
    }
    bp_queue_graph_release(graph);
    bp_queue_release(queue);
    test_array_free(&want);
    free_pair(&p);
}

/* ---- Elements at indices ---- */

typedef struct taking {
    test_array table, indices, out;
    on_device device_table, device_indices, device_out;
} taking;

static void make_taking(taking *t, int64_t count) {
    test_array_make(&t->table, BP_F32, 1, I64(7), TEST_COMPACT);
    test_array_make(&t->indices, BP_I32, 1, &count, TEST_COMPACT);
    test_array_make(&t->out, BP_F32, 1, &count, TEST_COMPACT);
    for (int64_t i = 0; i < 7; i++) {
        test_array_set(&t->table, i, (double)i + 0.5);
    }
    for (int64_t i = 0; i < count; i++) {
        test_array_set_i64(&t->indices, i, i % 7);
        test_array_set(&t->out, i, -1);
    }
    put(&t->device_table, &t->table, 0, 0);
    put(&t->device_indices, &t->indices, 0, 0);
    put(&t->device_out, &t->out, 0, 0);
    assert_ok(bp_device_wait(cuda_place(0)));
}

static void free_taking(taking *t) {
    drop(&t->device_table);
    drop(&t->device_indices);
    drop(&t->device_out);
    test_array_free(&t->table);
    test_array_free(&t->indices);
    test_array_free(&t->out);
}

static bp_status take(taking *t) {
    return bp_take_run(NULL, &t->device_table.tensor, &t->device_indices.tensor, 0, &t->device_out.tensor);
}

/* More runs wait at once than a page has flags; one of them has a wrong index. */
static void many_runs_have_flags_of_their_own(void **state) {
    enum { RUNS = 1100, WRONG = 600 };
    (void)state;
    taking right, wrong;
    make_taking(&right, 20);
    make_taking(&wrong, 20);
    test_array_set_i64(&wrong.indices, 3, 7);
    drop(&wrong.device_indices);
    put(&wrong.device_indices, &wrong.indices, 0, 0);
    assert_ok(bp_device_wait(cuda_place(0)));
    assert_ok(take(&right));
    assert_ok(bp_device_wait(cuda_place(0)));
    for (int round = 0; round < 2; round++) {
        the_double()->open_gate(false);
        for (int i = 0; i < RUNS; i++) {
            assert_ok(take(i == WRONG && round == 0 ? &wrong : &right));
        }
        the_double()->open_gate(true);
        if (round == 0) {
            assert_fails(bp_device_wait(cuda_place(0)), BP_E_DEVICE, "an index is below 0");
        }
        assert_ok(bp_device_wait(cuda_place(0)));
    }
    get(&right.device_out);
    get(&wrong.device_out);
    for (int64_t i = 0; i < 20; i++) {
        assert_true(test_array_get(&right.out, i) == (double)(i % 7) + 0.5 && test_array_get(&wrong.out, i) == -1);
    }
    free_taking(&right);
    free_taking(&wrong);
}

static void takes_are_not_captured(void **state) {
    (void)state;
    taking t;
    bp_queue *queue;
    bp_queue_graph *graph;
    make_taking(&t, 5);
    assert_ok(take(&t)); /* compiles */
    assert_ok(bp_queue_current(&queue, cuda_place(0)));
    assert_ok(bp_queue_wait(queue));
    assert_ok(bp_queue_capture_begin(queue));
    assert_fails(take(&t), BP_E_UNSUPPORTED, "elements at indices cannot be captured");
    if (bp_queue_capture_end(&graph, queue) == BP_OK) {
        bp_queue_graph_release(graph);
    }
    assert_ok(take(&t));
    assert_ok(bp_queue_wait(queue));
    bp_queue_release(queue);
    free_taking(&t);
}

static void *open_later(void *unused) {
    the_double()->open_gate(true);
    return unused;
}

/* Queued kernels, and the checks of their flags, need what the provider has. */
static void reset_waits_for_queued_takes(void **state) {
    (void)state;
    taking t;
    pthread_t opener;
    make_taking(&t, 5);
    assert_ok(take(&t)); /* compiles */
    assert_ok(bp_device_wait(cuda_place(0)));
    the_double()->open_gate(false);
    assert_ok(take(&t));
    assert_int_equal(pthread_create(&opener, NULL, open_later, NULL), 0);
    free_taking(&t);
    assert_ok(bp_reset());
    pthread_join(opener, NULL);
}

/* ---- Switches ---- */

/* The kernel of attention is a flash kernel, which cuda.flash_sdp disables. */
static void switches_of_attention_disable_the_kernel(void **state) {
    (void)state;
    pair p;
    bp_options *options;
    make_pair(&p, BP_F32, 64, 0);
    int64_t shape[] = {8, 8}, strides[] = {8, 1};
    DLTensor in = p.device_in.tensor, out = p.device_out.tensor;
    in.ndim = out.ndim = 2;
    in.shape = out.shape = shape;
    in.strides = out.strides = strides;
    bp_attention_call call = {.struct_size = sizeof call,
                              .pass = BP_ATTENTION_FORWARD,
                              .query = &in,
                              .key = &in,
                              .value = &in,
                              .output = &out};
    assert_ok(bp_attention_run(NULL, &call));
    assert_ok(bp_options_new(&options, "cuda.flash_sdp=false"));
    assert_fails(bp_attention_run(options, &call), BP_E_NO_CANDIDATE, "cuda.flash_sdp");
    assert_ok(bp_device_wait(cuda_place(0)));
    bp_options_release(options);
    free_pair(&p);
}

/* Its programs with a softcap and limits are others. A query sees the key of its position alone, whose value is the
 * output. */
static void attention_with_limits_is_compiled(void **state) {
    (void)state;
    pair p;
    make_pair(&p, BP_F32, 64, 0);
    int64_t shape[] = {8, 8}, strides[] = {8, 1};
    DLTensor in = p.device_in.tensor, out = p.device_out.tensor;
    in.ndim = out.ndim = 2;
    in.shape = out.shape = shape;
    in.strides = out.strides = strides;
    const bp_attention_call call = {.struct_size = sizeof call,
                                    .query = &in,
                                    .key = &in,
                                    .value = &in,
                                    .output = &out,
                                    .softcap = 2,
                                    .has_window = 1};
    assert_ok(bp_attention_run(NULL, &call));
    assert_ok(bp_device_wait(cuda_place(0)));
    get(&p.device_out);
    for (int64_t i = 0; i < p.out.view.tensor.shape[0]; i++) {
        assert_true(test_array_get(&p.out, i) == test_array_get(&p.in, i));
    }
    free_pair(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(programs_are_compiled_once_and_kept),
                                       TEST(kept_code_is_of_a_target),
                                       TEST(newer_devices_get_ptx),
                                       TEST(devices_without_a_target_are_refused),
                                       TEST(failures_of_compilations_are_told),
                                       TEST(drivers_that_load_no_code_are_told),
                                       TEST(addresses_are_aligned_to_elements),
                                       TEST(captured_transforms_keep_their_tables),
                                       TEST(many_runs_have_flags_of_their_own),
                                       TEST(takes_are_not_captured),
                                       TEST(reset_waits_for_queued_takes),
                                       TEST(attention_with_limits_is_compiled),
                                       TEST(switches_of_attention_disable_the_kernel)};
    return cmocka_run_group_tests_name("programs", tests, start, stop_cuda);
}
