/* support_squares.c - implements support_squares.h. */
#include "cublas/support_squares.h"

const char *const libraries[] = {"cuda.preferred_blas_library=cublaslt",
                                 "cuda.preferred_blas_library=cublas, cuda.cublas_workspace_size=65536"};

matrices *make_matrices(int device, size_t past) {
    matrices *m = calloc(1, sizeof *m);
    const int64_t bytes = (int64_t)(sizeof m->values[0] + past), shape[] = {SIDE, SIDE};
    assert_non_null(m);
    for (int i = 0; i < 3; i++) {
        bp_view view;
        assert_ok(bp_tensor_empty_on(&m->on[i], cuda_place(device), BP_U8, 1, &bytes, NULL));
        for (int j = 0; j < ELEMENTS; j++) {
            m->values[i][j] = (float)((i + j) % 5);
        }
        assert_ok(bp_view_init(&view, m->values[i], BP_F32, 2, shape, NULL));
        m->tensor[i] = view.tensor;
        m->tensor[i].shape = NULL;
        m->operands[i] = (bp_operand){m->on[i]->dl_tensor.data, m->on[i]->dl_tensor.byte_offset + past};
    }
    return m;
}

static int64_t square_shape[] = {SIDE, SIDE}, square_strides[] = {SIDE, 1};

DLTensor *tensor_at(matrices *m, int i) {
    m->tensor[i].device = m->on[i]->dl_tensor.device;
    m->tensor[i].data = m->operands[i].base;
    m->tensor[i].byte_offset = m->operands[i].offset;
    m->tensor[i].shape = square_shape;
    m->tensor[i].strides = square_strides;
    return &m->tensor[i];
}

void write_matrices(matrices *m, bp_queue *queue) {
    for (int i = 0; i < 3; i++) {
        write_bytes(tensor_at(m, i), m->values[i], queue);
    }
}

void expect_product(matrices *m, bp_queue *queue) {
    static _Thread_local float found[ELEMENTS];
    read_bytes(found, tensor_at(m, 2), queue);
    assert_ok(queue ? bp_queue_wait(queue) : BP_OK);
    for (int i = 0; i < ELEMENTS; i++) {
        float sum = 0;
        for (int k = 0; k < SIDE; k++) {
            sum += m->values[0][i / SIDE * SIDE + k] * m->values[1][k * SIDE + i % SIDE];
        }
        if (found[i] != sum) {
            fail_msg("element %d is %g, not %g", i, (double)found[i], (double)sum);
        }
    }
}

void free_matrices(matrices *m) {
    for (int i = 0; i < 3; i++) {
        free_tensor(m->on[i]);
    }
    free(m);
}

bp_plan *make_plan(matrices *m, const char *settings) {
    bp_plan *plan;
    bp_options *options;
    assert_ok(bp_options_new(&options, settings));
    assert_ok(bp_matmul_plan(&plan, options, tensor_at(m, 0), tensor_at(m, 1), tensor_at(m, 2)));
    bp_options_release(options);
    return plan;
}
