/* test_products.c - operations on CUDA devices that no candidate runs, because there is no library for them: the
 * reason, and what dispatch.transfer=allow does. */
#include "cuda/support_cuda.h"

enum { SIZE = 24 };

typedef struct matrices {
    float a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];
    DLManagedTensorVersioned *on[3];
} matrices;

static matrices *make_matrices(void) {
    static matrices m;
    const int64_t shape[] = {SIZE, SIZE};
    for (int i = 0; i < SIZE * SIZE; i++) {
        m.a[i] = (float)(i % 7);
        m.b[i] = (float)(i % 5);
    }
    for (int i = 0; i < 3; i++) {
        assert_ok(bp_tensor_empty_on(&m.on[i], cuda_place(0), BP_F32, 2, shape, NULL));
    }
    write_bytes(&m.on[0]->dl_tensor, m.a, NULL);
    write_bytes(&m.on[1]->dl_tensor, m.b, NULL);
    write_bytes(&m.on[2]->dl_tensor, m.c, NULL);
    return &m;
}

static void free_matrices(matrices *m) {
    for (int i = 0; i < 3; i++) {
        free_tensor(m->on[i]);
    }
}

static void a_product_has_no_candidate(void **state) {
    (void)state;
    matrices *m = make_matrices();
    assert_fails(bp_matmul(&m->on[0]->dl_tensor, &m->on[1]->dl_tensor, &m->on[2]->dl_tensor), BP_E_NO_CANDIDATE,
                 "work on host memory only");
    free_matrices(m);
}

static void transfers_run_it_on_the_host(void **state) {
    (void)state;
    matrices *m = make_matrices();
    assert_ok(bp_set("dispatch.transfer", "allow"));
    assert_ok(bp_matmul(&m->on[0]->dl_tensor, &m->on[1]->dl_tensor, &m->on[2]->dl_tensor));
    read_bytes(m->c, &m->on[2]->dl_tensor, NULL);
    for (int i = 0; i < SIZE; i++) {
        for (int j = 0; j < SIZE; j++) {
            float sum = 0;
            for (int k = 0; k < SIZE; k++) {
                sum += m->a[i * SIZE + k] * m->b[k * SIZE + j];
            }
            assert_true(m->c[i * SIZE + j] == sum);
        }
    }
    assert_ok(bp_set("dispatch.transfer", "refuse"));
    free_matrices(m);
}

/* Only the elements of the result are written: others of the same memory belong to other users, as in PyTorch's
 * blocks. */
static void transfers_write_the_result_only(void **state) {
    (void)state;
    enum { WIDTH = 2 * SIZE };
    matrices *m = make_matrices();
    DLManagedTensorVersioned *shared;
    static float values[SIZE * WIDTH];
    const int64_t wide[] = {SIZE, WIDTH};
    assert_ok(bp_tensor_empty_on(&shared, cuda_place(0), BP_F32, 2, wide, NULL));
    for (int i = 0; i < SIZE * WIDTH; i++) {
        values[i] = -1;
    }
    write_bytes(&shared->dl_tensor, values, NULL);
    DLTensor part = shared->dl_tensor;
    int64_t shape[] = {SIZE, SIZE}, strides[] = {WIDTH, 1};
    part.shape = shape;
    part.strides = strides;
    part.data = (float *)part.data + SIZE / 2; /* in the middle of the block */
    assert_ok(bp_set("dispatch.transfer", "allow"));
    assert_ok(bp_matmul(&m->on[0]->dl_tensor, &m->on[1]->dl_tensor, &part));
    assert_ok(bp_set("dispatch.transfer", "refuse"));
    read_bytes(values, &shared->dl_tensor, NULL);
    for (int i = 0; i < SIZE; i++) {
        for (int j = 0; j < WIDTH; j++) {
            const bool inside = j >= SIZE / 2 && j < SIZE / 2 + SIZE;
            assert_true(inside == (values[i * WIDTH + j] != -1));
        }
    }
    free_tensor(shared);
    free_matrices(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_product_has_no_candidate, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(transfers_run_it_on_the_host, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(transfers_write_the_result_only, begin_cuda, end_cuda),
    };
    return cmocka_run_group_tests_name("products", tests, start_cuda, stop_cuda);
}
