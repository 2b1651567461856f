/* cublas_rules.c - what the provider of cuBLASLt and cuBLAS assumes of these libraries: the order of streams, graphs,
 * handles, the heuristic and descriptors, checked on a real device. */
#include "own_product.h"

#include <dlfcn.h>

/* ---- Streams ---- */

/* A plan of c = a a on one of the libraries, and its queue. */
typedef struct held {
    matrix a, c;
    bp_queue *queue;
    bp_plan *plan;
    bp_operand operands[3];
    bp_exec exec;
} held;

static outcome new_plan(held *h, const char *settings) {
    bp_options *options;
    LIBRARY(bp_options_new(&options, settings));
    LIBRARY(bp_matmul_plan(&h->plan, options, &h->a.tensor, &h->a.tensor, &h->c.tensor));
    bp_options_release(options);
    const matrix *const all[] = {&h->a, &h->a, &h->c};
    for (int i = 0; i < 3; i++) {
        h->operands[i] = (bp_operand){all[i]->tensor.data, all[i]->tensor.byte_offset};
    }
    return PASSED;
}

/* Runs the plan once, because loading its kernels may wait for the device. */
static outcome hold_product(held *h, int library) {
    char settings[64];
    snprintf(settings, sizeof settings, "cuda.preferred_blas_library=%s", library_names[library]);
    LIBRARY(bp_queue_new(&h->queue, gpu_place, 0));
    NEEDS(new_matrix(&h->a, BP_F32, SIDE, SIDE, false, 0));
    NEEDS(new_matrix(&h->c, BP_F32, SIDE, SIDE, false, 0));
    NEEDS(new_plan(h, settings));
    h->exec = (bp_exec){.struct_size = sizeof h->exec, .queue = h->queue};
    LIBRARY(bp_execute(h->plan, h->operands, &h->exec));
    LIBRARY(bp_queue_wait(h->queue));
    return PASSED;
}

static void release_product(held *h) {
    bp_plan_release(h->plan);
    bp_queue_release(h->queue);
    free_matrix(&h->a);
    free_matrix(&h->c);
}

/* Enqueues a write of the same number to all elements of a. */
static outcome write_number(held *h, double number) {
    static uint8_t bytes[ELEMENTS * ITEM_MOST];
    for (int i = 0; i < ELEMENTS; i++) {
        h->a.values[i] = number;
    }
    return write_matrix(&h->a, bytes, h->queue);
}

static outcome expect_squares(matrix *c, double each) {
    NEEDS(read_matrix(c));
    for (int i = 0; i < ELEMENTS; i++) {
        HOLDS(c->values[i] == each * each * SIDE);
    }
    return PASSED;
}

static outcome products_keep_the_order(void) {
    static held h;
    NEEDS(open_products());
    for (int library = 0; library < LIBRARIES; library++) {
        NEEDS(hold_product(&h, library));
        gate *own = close_gate(bp_queue_native(h.queue));
        HOLDS(own != NULL);
        NEEDS(write_number(&h, 3));
        LIBRARY(bp_execute(h.plan, h.operands, &h.exec));
        WORKS(cu.StreamSynchronize(NULL)); /* a call that is in the default stream by mistake has run then */
        open_gate(own);
        LIBRARY(bp_queue_wait(h.queue));
        NEEDS(expect_squares(&h.c, 3));
        release_product(&h);
    }
    return PASSED;
}

static outcome products_are_captured(void) {
    static held h;
    NEEDS(open_products());
    for (int library = 0; library < LIBRARIES; library++) {
        bp_queue_graph *graph;
        NEEDS(hold_product(&h, library));
        LIBRARY(bp_queue_capture_begin(h.queue));
        LIBRARY(bp_execute(h.plan, h.operands, &h.exec));
        LIBRARY(bp_queue_capture_end(&graph, h.queue));
        for (int round = 2; round < 5; round++) {
            NEEDS(write_number(&h, round));
            LIBRARY(bp_queue_graph_launch(graph, h.queue));
            LIBRARY(bp_queue_wait(h.queue));
            NEEDS(expect_squares(&h.c, round));
        }
        bp_queue_graph_release(graph);
        release_product(&h);
    }
    return PASSED;
}

/* ---- The library itself ---- */

bp__cublas_lt_api lt;

outcome open_lt(void) {
    bp_library_info info = {.struct_size = sizeof info};
    NEEDS(open_products());
    if (bp_library_find("cublaslt", &info) != BP_OK) {
        return skip_rule("%s", bp_last_error());
    }
    note("%s, version %s", info.path, info.version);
    void *handle = dlopen(info.path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        return fail("%s", dlerror());
    }
#define X(name, symbol, parameters)                                                                                    \
    *(void **)&lt.name = dlsym(handle, #symbol);                                                                       \
    HOLDS(lt.name != NULL);
    BP__CUBLAS_LT_FUNCTIONS(X)
#undef X
    return PASSED;
}

static outcome handles_need_a_context(void) {
    cublasLtHandle_t handle;
    NEEDS(open_lt());
    EXPECT(lt.Create(&handle), BP__CUBLAS_STATUS_SUCCESS);
    EXPECT(lt.Destroy(handle), BP__CUBLAS_STATUS_SUCCESS);
    return PASSED;
}

outcome new_own_product(own_product *p, uint32_t epilogue) {
    const uint64_t workspace = UINT64_C(4) << 20;
    EXPECT(lt.Create(&p->handle), 0);
    EXPECT(lt.DescCreate(&p->what, BP__CUBLAS_COMPUTE_32F, BP__CUDA_R_32F), 0);
    const void *some = (const void *)(uintptr_t)256; /* the heuristic refuses a bias without an address */
    EXPECT(lt.DescSet(p->what, BP__CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue), 0);
    EXPECT(lt.DescSet(p->what, BP__CUBLASLT_MATMUL_DESC_BIAS_POINTER, &some, sizeof some), 0);
    EXPECT(lt.LayoutCreate(&p->layout, BP__CUDA_R_16F, SIDE, SIDE, SIDE), 0);
    EXPECT(lt.PreferenceCreate(&p->preference), 0);
    EXPECT(lt.PreferenceSet(p->preference, BP__CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace),
           0);
    EXPECT(lt.GetHeuristic(p->handle, p->what, p->layout, p->layout, p->layout, p->layout, p->preference, 8, p->results,
                           &p->count),
           0);
    HOLDS(p->count > 0);
    NEEDS(new_matrix(&p->a, BP_F16, SIDE, SIDE, false, 0));
    NEEDS(new_matrix(&p->c, BP_F16, SIDE, SIDE, false, 0));
    return PASSED;
}

static const void *address_of(const matrix *m) {
    return (const char *)m->tensor.data + m->tensor.byte_offset;
}

unsigned run_own(const own_product *p, void *workspace, size_t size, CUstream stream) {
    const float alpha = 1, beta = 0;
    void *c = (void *)(uintptr_t)address_of(&p->c);
    return lt.Matmul(p->handle, p->what, &alpha, address_of(&p->a), p->layout, address_of(&p->a), p->layout, &beta, c,
                     p->layout, c, p->layout, &p->results[0].algo, workspace, size, stream);
}

void free_own_product(own_product *p) {
    free_matrix(&p->a);
    free_matrix(&p->c);
    lt.PreferenceDestroy(p->preference);
    lt.LayoutDestroy(p->layout);
    lt.DescDestroy(p->what);
    lt.Destroy(p->handle);
}

static outcome heuristic_has_algorithms(void) {
    static own_product p;
    NEEDS(open_lt());
    NEEDS(new_own_product(&p, BP__CUBLASLT_EPILOGUE_DEFAULT));
    note("%d algorithms, workspace of the first: %zu bytes", p.count, p.results[0].workspaceSize);
    for (int i = 0; i < p.count; i++) {
        HOLDS(p.results[i].state == 0 && p.results[i].workspaceSize <= (size_t)4 << 20);
    }
    EXPECT(run_own(&p, NULL, 0, NULL), p.results[0].workspaceSize > 0 ? BP__CUBLAS_STATUS_INVALID_VALUE : 0);
    WORKS(cu.CtxSynchronize());
    free_own_product(&p);
    return PASSED;
}

/* Two runs enqueued behind a gate have the biases that the descriptor had at their calls. */
static outcome the_bias_is_read_in_the_call(void) {
    static own_product p;
    static matrix biases[2];
    CUstream stream;
    DLManagedTensorVersioned *workspace;
    NEEDS(open_lt());
    NEEDS(new_own_product(&p, BP__CUBLASLT_EPILOGUE_BIAS));
    LIBRARY(bp_tensor_empty_on(&workspace, gpu_place, BP_U8, 1, &(int64_t){4 << 20}, NULL));
    for (int i = 0; i < 2; i++) {
        static uint8_t bytes[ELEMENTS * ITEM_MOST];
        NEEDS(new_matrix(&biases[i], BP_F16, 1, SIDE, false, 0));
        for (int j = 0; j < SIDE; j++) {
            biases[i].values[j] = 16 * (i + 1);
        }
        NEEDS(write_matrix(&biases[i], bytes, NULL));
        LIBRARY(bp_device_wait(gpu_place));
    }
    WORKS(cu.StreamCreate(&stream, BP__CU_STREAM_NON_BLOCKING));
    const void *address = address_of(&biases[0]);
    EXPECT(lt.DescSet(p.what, BP__CUBLASLT_MATMUL_DESC_BIAS_POINTER, &address, sizeof address), 0);
    EXPECT(run_own(&p, workspace->dl_tensor.data, (size_t)4 << 20, stream), 0);
    WORKS(cu.StreamSynchronize(stream));
    NEEDS(read_matrix(&p.c));
    const double with_first = p.c.values[0];
    gate *own = close_gate(stream);
    HOLDS(own != NULL);
    EXPECT(run_own(&p, workspace->dl_tensor.data, (size_t)4 << 20, stream), 0);
    address = address_of(&biases[1]);
    EXPECT(lt.DescSet(p.what, BP__CUBLASLT_MATMUL_DESC_BIAS_POINTER, &address, sizeof address), 0);
    open_gate(own);
    WORKS(cu.StreamSynchronize(stream));
    NEEDS(read_matrix(&p.c));
    HOLDS(p.c.values[0] == with_first);
    WORKS(cu.StreamDestroy(stream));
    workspace->deleter(workspace);
    free_matrix(&biases[0]);
    free_matrix(&biases[1]);
    free_own_product(&p);
    return PASSED;
}

const rule cublas_rules[] = {
    {"products.handle", "cuBLASLt makes a handle in the primary context that the driver has made.",
     handles_need_a_context},
    {"products.heuristic", "The heuristic has algorithms within the workspace, and refuses a run without it.",
     heuristic_has_algorithms},
    {"products.bias", "The address of a bias is read when a call is enqueued.", the_bias_is_read_in_the_call},
    {"products.order", "Products run in the order of their stream.", products_keep_the_order},
    {"products.graphs", "Products are captured into graphs.", products_are_captured},
    {NULL, NULL, NULL},
};
