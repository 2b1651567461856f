/* lt.c - the double of libcublasLt.so.13. Its heuristic has up to four algorithms; some of them need a workspace,
 * operands that are aligned to 16 bytes, or a reduction scheme. */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(name, symbol, parameters) BP_API cublasStatus_t symbol parameters;
BP__CUBLAS_LT_FUNCTIONS(X)
#undef X
BP_API size_t cublasLtGetVersion(void);

size_t cublasLtGetVersion(void) {
    return (size_t)double_setting("version=", 130100);
}

/* ---- Objects ---- */

/* Objects are never freed, so that their use after the end is noticed. */
typedef enum kind { MATMUL, LAYOUT, PREFERENCE } kind;

typedef struct object {
    struct object *next;
    kind of;
    bool destroyed;
} object;

struct bp__cublas_matmul {
    object base; /* must be first */
    uint32_t compute, scale, epilogue;
    int32_t op_a, op_b;
    uint64_t bias;
};

struct bp__cublas_layout {
    object base;
    uint32_t type;
    int64_t rows, columns, ld, stride;
    int32_t count;
};

struct bp__cublas_preference {
    object base;
    uint64_t workspace;
    uint32_t schemes, alignment[4];
};

struct cublasLtContext {
    double_handle base;
};

static object *objects;

static void *new_object(kind of, size_t size) {
    object *made = calloc(1, size);
    if (made) {
        made->of = of;
        pthread_mutex_lock(&double_mutex);
        made->next = objects;
        objects = made;
        pthread_mutex_unlock(&double_mutex);
        cublas_double.objects++;
    }
    return made;
}

static bool is_usable(const void *wanted, kind of) {
    const object *found = NULL;
    pthread_mutex_lock(&double_mutex);
    for (const object *each = objects; each && !found; each = each->next) {
        found = each == wanted ? each : NULL;
    }
    pthread_mutex_unlock(&double_mutex);
    if (!found || found->of != of || found->destroyed) {
        double_violate("a descriptor is used that does not exist");
        return false;
    }
    return true;
}

static cublasStatus_t destroy_object(void *gone, kind of) {
    if (!is_usable(gone, of)) {
        return BP__CUBLAS_STATUS_INVALID_VALUE;
    }
    ((object *)gone)->destroyed = true;
    cublas_double.objects--;
    return BP__CUBLAS_STATUS_SUCCESS;
}

/* Sets a field if the size of the value is right. */
static cublasStatus_t set(void *field, size_t size, const void *value, size_t given) {
    if (!value || given != size) {
        return BP__CUBLAS_STATUS_INVALID_VALUE;
    }
    memcpy(field, value, size);
    return BP__CUBLAS_STATUS_SUCCESS;
}

#define SET(field) set(&(field), sizeof(field), value, size)

/* ---- Handles ---- */

cublasStatus_t cublasLtCreate(cublasLtHandle_t *made) {
    double_handle *fresh = NULL;
    const cublasStatus_t status = double_handle_new(sizeof(struct cublasLtContext), &fresh);
    *made = status == BP__CUBLAS_STATUS_SUCCESS ? (cublasLtHandle_t)fresh : *made;
    return status;
}

static bool is_ready(cublasLtHandle_t handle) {
    return double_handle_is_ready(handle ? &handle->base : NULL);
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t gone) {
    if (!is_ready(gone)) {
        return BP__CUBLAS_STATUS_NOT_INITIALIZED;
    }
    if (cublas_double.objects > 0) {
        double_violate("a handle is destroyed before the descriptors of its plans");
    }
    double_handle_end(&gone->base);
    return BP__CUBLAS_STATUS_SUCCESS;
}

/* ---- Descriptors ---- */

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *made, cublasComputeType_t compute, cudaDataType scale) {
    *made = new_object(MATMUL, sizeof **made);
    if (!*made) {
        return BP__CUBLAS_STATUS_ALLOC_FAILED;
    }
    (*made)->compute = compute;
    (*made)->scale = scale;
    (*made)->epilogue = BP__CUBLASLT_EPILOGUE_DEFAULT;
    return BP__CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t gone) {
    return destroy_object(gone, MATMUL);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t of, cublasLtMatmulDescAttributes_t what,
                                              const void *value, size_t size) {
    if (!is_usable(of, MATMUL)) {
        return BP__CUBLAS_STATUS_INVALID_VALUE;
    }
    switch (what) {
    case BP__CUBLASLT_MATMUL_DESC_TRANSA:
        return SET(of->op_a);
    case BP__CUBLASLT_MATMUL_DESC_TRANSB:
        return SET(of->op_b);
    case BP__CUBLASLT_MATMUL_DESC_EPILOGUE:
        return SET(of->epilogue);
    case BP__CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        return SET(of->bias);
    default:
        return BP__CUBLAS_STATUS_INVALID_VALUE;
    }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *made, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t ld) {
    *made = new_object(LAYOUT, sizeof **made);
    if (!*made) {
        return BP__CUBLAS_STATUS_ALLOC_FAILED;
    }
    (*made)->type = type;
    (*made)->rows = (int64_t)rows;
    (*made)->columns = (int64_t)columns;
    (*made)->ld = ld;
    (*made)->count = 1;
    return BP__CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t gone) {
    return destroy_object(gone, LAYOUT);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t of, cublasLtMatrixLayoutAttribute_t what,
                                                const void *value, size_t size) {
    return !is_usable(of, LAYOUT)                                    ? BP__CUBLAS_STATUS_INVALID_VALUE
           : what == BP__CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT          ? SET(of->count)
           : what == BP__CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET ? SET(of->stride)
                                                                     : BP__CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *made) {
    *made = new_object(PREFERENCE, sizeof **made);
    if (!*made) {
        return BP__CUBLAS_STATUS_ALLOC_FAILED;
    }
    (*made)->schemes = BP__CUBLASLT_REDUCTION_SCHEME_MASK;
    for (int i = 0; i < 4; i++) {
        (*made)->alignment[i] = 256;
    }
    return BP__CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t gone) {
    return destroy_object(gone, PREFERENCE);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t of,
                                                    cublasLtMatmulPreferenceAttributes_t what, const void *value,
                                                    size_t size) {
    if (!is_usable(of, PREFERENCE)) {
        return BP__CUBLAS_STATUS_INVALID_VALUE;
    }
    if (what >= BP__CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
        what <= BP__CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES) {
        return SET(of->alignment[what - BP__CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES]);
    }
    return what == BP__CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES     ? SET(of->workspace)
           : what == BP__CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK ? SET(of->schemes)
                                                                    : BP__CUBLAS_STATUS_INVALID_VALUE;
}

/* ---- Algorithms ---- */

/* What the double writes into an algorithm, in place of the library's own words. */
enum { ALGO_ID, ALGO_SHAPE, ALGO_ALIGNMENT, ALGO_WORKSPACE, ALGO_SPLITS, ALGO_SCHEME };

static bool read_told(cublas_told *t, cublasLtMatmulDesc_t what, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                      cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
    if (!is_usable(what, MATMUL) || !is_usable(a, LAYOUT) || !is_usable(b, LAYOUT) || !is_usable(c, LAYOUT) ||
        !is_usable(d, LAYOUT)) {
        return false;
    }
    const bool plain_a = what->op_a == BP__CUBLAS_OP_N, plain_b = what->op_b == BP__CUBLAS_OP_N;
    *t = (cublas_told){.compute = what->compute,
                       .scale = what->scale,
                       .ab = a->type,
                       .d = d->type,
                       .epilogue = what->epilogue,
                       .op_a = (uint32_t)what->op_a,
                       .op_b = (uint32_t)what->op_b,
                       .m = d->rows,
                       .n = d->columns,
                       .k = plain_a ? a->columns : a->rows,
                       .lda = a->ld,
                       .ldb = b->ld,
                       .ldd = d->ld,
                       .count = d->count,
                       .stride_a = a->stride,
                       .stride_b = b->stride,
                       .stride_d = d->stride};
    return (plain_a ? a->rows : a->columns) == t->m && (plain_b ? b->rows : b->columns) == t->k &&
           (plain_b ? b->columns : b->rows) == t->n && a->type == b->type && c->type == d->type && c->ld == d->ld &&
           c->rows == d->rows && a->count == d->count && b->count == d->count && c->count == d->count;
}

static uint64_t shape_of(const cublas_told *t) {
    uint64_t hash = UINT64_C(14695981039346656037);
    const uint8_t *bytes = (const uint8_t *)t;
    for (size_t i = 0; i < offsetof(cublas_told, algorithm); i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

static bool is_half(uint32_t type) {
    return type == BP__CUDA_R_16F || type == BP__CUDA_R_16BF;
}

/* Adds an algorithm if the preference permits it. */
static void add(const cublas_told *t, const struct bp__cublas_preference *preference, unsigned id, unsigned alignment,
                unsigned splits, unsigned scheme, cublasLtMatmulHeuristicResult_t *results, int most, int *count) {
    const uint64_t bytes = scheme == BP__CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE ? double_item(t->d) : 8;
    const uint64_t workspace = splits > 1 ? ((uint64_t)(t->m * t->n * t->count) * splits * bytes + 255) / 256 * 256 : 0;
    bool fits = workspace <= preference->workspace &&
                (scheme == 0 || (preference->schemes & scheme) || double_has(CUBLAS_FAULT_SCHEMES));
    for (int i = 0; i < 4; i++) {
        fits = fits && (alignment <= preference->alignment[i] || double_has(CUBLAS_FAULT_ALIGNMENT));
    }
    if (fits && *count < most) {
        cublasLtMatmulHeuristicResult_t *to = &results[(*count)++];
        memset(to, 0, sizeof *to);
        to->algo.data[ALGO_ID] = id;
        to->algo.data[ALGO_SHAPE] = shape_of(t);
        to->algo.data[ALGO_ALIGNMENT] = alignment;
        to->algo.data[ALGO_WORKSPACE] = workspace;
        to->algo.data[ALGO_SPLITS] = splits;
        to->algo.data[ALGO_SCHEME] = scheme;
        to->workspaceSize = (size_t)workspace;
        to->wavesCount = 0.5f;
    }
}

static void note_list(const struct bp__cublas_preference *preference) {
    uint32_t least = 256;
    for (int i = 0; i < 4; i++) {
        least = preference->alignment[i] < least ? preference->alignment[i] : least;
    }
    pthread_mutex_lock(&double_mutex);
    cublas_double.schemes = preference->schemes;
    cublas_double.most_workspace = preference->workspace;
    cublas_double.alignment = least;
    pthread_mutex_unlock(&double_mutex);
    cublas_double.lists++;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t what,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t *results, int *count) {
    product p = {0};
    *count = 0;
    if (!is_ready(handle)) {
        return BP__CUBLAS_STATUS_NOT_INITIALIZED;
    }
    const uint32_t with_bias = BP__CUBLASLT_EPILOGUE_BIAS | BP__CUBLASLT_EPILOGUE_BGRADA | BP__CUBLASLT_EPILOGUE_BGRADB;
    if (!read_told(&p.told, what, a, b, c, d) || !is_usable(preference, PREFERENCE) || most < 1 ||
        ((what->epilogue & with_bias) && !what->bias)) {
        return BP__CUBLAS_STATUS_INVALID_VALUE;
    }
    note_list(preference);
    const cublasStatus_t status =
        cublas_double.refuse_lists ? (cublasStatus_t)cublas_double.refuse_lists : double_check(&p);
    if (status != BP__CUBLAS_STATUS_SUCCESS || cublas_double.empty_lists) {
        return status;
    }
    const bool has_parts = p.told.k >= 8 && p.told.ab != BP__CUDA_R_8I;
    if (has_parts && is_half(p.told.ab)) {
        add(&p.told, preference, 66, 16, 4, BP__CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, results, most, count);
    }
    if (has_parts) {
        add(&p.told, preference, 67, 16, 2, BP__CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, results, most, count);
    }
    add(&p.told, preference, 21, 16, 1, BP__CUBLASLT_REDUCTION_SCHEME_NONE, results, most, count);
    add(&p.told, preference, 1, 1, 1, BP__CUBLASLT_REDUCTION_SCHEME_NONE, results, most, count);
    return BP__CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t what, void *value, size_t size,
                                                    size_t *written) {
    const uint32_t found = what == BP__CUBLASLT_ALGO_CONFIG_ID                 ? (uint32_t)algorithm->data[ALGO_ID]
                           : what == BP__CUBLASLT_ALGO_CONFIG_SPLITK_NUM       ? (uint32_t)algorithm->data[ALGO_SPLITS]
                           : what == BP__CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME ? (uint32_t)algorithm->data[ALGO_SCHEME]
                                                                               : 20;
    if (size != sizeof found) {
        return BP__CUBLAS_STATUS_INVALID_VALUE;
    }
    memcpy(value, &found, sizeof found);
    *written = sizeof found;
    return BP__CUBLAS_STATUS_SUCCESS;
}

/* ---- Products ---- */

/* Checks the algorithm, and the memory that it needs. */
static cublasStatus_t check_algorithm(product *p, const cublasLtMatmulAlgo_t *algorithm, size_t size) {
    const uint64_t alignment = algorithm->data[ALGO_ALIGNMENT];
    if (algorithm->data[ALGO_SHAPE] != shape_of(&p->told)) {
        double_violate("an algorithm is used for another product than the heuristic was asked for");
        return BP__CUBLAS_STATUS_INVALID_VALUE;
    }
    if (size < algorithm->data[ALGO_WORKSPACE] || (algorithm->data[ALGO_WORKSPACE] && p->workspace % 256 != 0)) {
        return BP__CUBLAS_STATUS_INVALID_VALUE;
    }
    if ((p->a | p->b | p->d) % alignment != 0 || (p->told.epilogue > 2 && p->bias % alignment != 0)) {
        return BP__CUBLAS_STATUS_NOT_SUPPORTED;
    }
    p->told.algorithm = (uint32_t)algorithm->data[ALGO_ID];
    p->told.splits = (uint32_t)algorithm->data[ALGO_SPLITS];
    p->told.scheme = (uint32_t)algorithm->data[ALGO_SCHEME];
    p->told.workspace = (size_t)algorithm->data[ALGO_WORKSPACE];
    return BP__CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t what, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t layout_a, const void *b, cublasLtMatrixLayout_t layout_b,
                              const void *beta, const void *c, cublasLtMatrixLayout_t layout_c, void *d,
                              cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                              size_t workspace_size, cudaStream_t stream) {
    product p = {.a = (uint64_t)(uintptr_t)a,
                 .b = (uint64_t)(uintptr_t)b,
                 .c = (uint64_t)(uintptr_t)c,
                 .d = (uint64_t)(uintptr_t)d,
                 .workspace = (uint64_t)(uintptr_t)workspace};
    if (!is_ready(handle)) {
        return BP__CUBLAS_STATUS_NOT_INITIALIZED;
    }
    if (cublas_double.refuse_products) {
        return (cublasStatus_t)cublas_double.refuse_products;
    }
    if (!read_told(&p.told, what, layout_a, layout_b, layout_c, layout_d) || !alpha || !beta || p.c != p.d) {
        return BP__CUBLAS_STATUS_INVALID_VALUE;
    }
    p.bias = what->bias;
    p.alpha = double_read(p.told.scale, alpha, 0);
    p.beta = double_read(p.told.scale, beta, 0);
    cublasStatus_t status = double_check(&p);
    status = status ? status : check_algorithm(&p, algorithm, workspace_size);
    return status ? status : double_enqueue(&p, stream);
}
