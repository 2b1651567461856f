/* pad.c - runs, plans and explains calls that pad, reverse and rotate tensors, and makes their problem. */
#include "ops/pad/call.h"

#include "ops/shape.h"
#include "tensor/internal.h"

/* ---- The problem ---- */

static int64_t magnitude(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

/* A dimension of the problem. */
typedef struct dimension {
    int64_t size, inner, before, x, y;
    bool flipped;
} dimension;

static dimension dimension_at(const bp_pad_problem *p, int d) {
    return (dimension){p->size[d], p->inner[d], p->before[d], p->x[d], p->y[d], p->flipped >> d & 1};
}

static void set_dimension(bp_pad_problem *p, int d, const dimension *from) {
    p->size[d] = from->size;
    p->inner[d] = from->inner;
    p->before[d] = from->before;
    p->x[d] = from->x;
    p->y[d] = from->y;
    p->flipped = (p->flipped & ~(UINT64_C(1) << d)) | (uint64_t)from->flipped << d;
}

/* Adds a dimension before dimensions of smaller strides in the output, so that the order of the dimensions in the
 * tensor does not matter. */
static void add_dimension(bp_pad_problem *p, const dimension *added) {
    int at = p->ndim++;
    for (; at > 0 && magnitude(p->y[at - 1]) < magnitude(added->y); at--) {
        const dimension before = dimension_at(p, at - 1);
        set_dimension(p, at, &before);
    }
    set_dimension(p, at, added);
}

static bool is_whole(const dimension *d) {
    return !d->flipped && d->before == 0 && d->size == d->inner;
}

/* Merges neighbours that stay as they are. */
static void merge_dimensions(bp_pad_problem *p) {
    int count = 0;
    const dimension none = {0};
    for (int d = 0; d < p->ndim; d++) {
        dimension at = dimension_at(p, d);
        if (count > 0) {
            const dimension last = dimension_at(p, count - 1);
            if (is_whole(&last) && is_whole(&at) && last.x == at.size * at.x && last.y == at.size * at.y) {
                at.size = at.inner = last.size * at.size;
                count--;
            }
        }
        set_dimension(p, count++, &at);
    }
    for (int d = count; d < p->ndim; d++) {
        set_dimension(p, d, &none);
    }
    p->ndim = count;
}

/* A problem without results has one dimension of size 0. Strides of an empty input may be any. */
static void lower(bp_pad_problem *p, const bp__pad_map *map, const DLTensor *input, const DLTensor *output) {
    int64_t x[BP_MAX_NDIM], y[BP_MAX_NDIM];
    const bool reads = bp__tensor_elements(input) > 0;
    p->mode = (uint32_t)map->mode;
    if (bp__tensor_elements(output) == 0) {
        p->ndim = 1;
        p->mode = 0;
        memset(p->value, 0, sizeof p->value);
        return;
    }
    bp__tensor_strides(input, x);
    bp__tensor_strides(output, y);
    for (int d = 0; d < input->ndim; d++) {
        const dimension added = {.size = map->shape[d],
                                 .inner = input->shape[d],
                                 .before = map->before[d],
                                 .x = reads && input->shape[d] > 1 ? x[d] : 0,
                                 .y = map->shape[d] > 1 ? y[d] : INT64_MAX, /* the first one */
                                 .flipped = (map->flipped >> d & 1) && input->shape[d] > 1};
        if (added.size != 1 || added.inner != 1 || added.before != 0) {
            add_dimension(p, &added);
        }
    }
    for (int d = 0; d < p->ndim; d++) {
        p->y[d] = p->size[d] == 1 ? 0 : p->y[d];
    }
    merge_dimensions(p);
}

static bp_status check_output(const bp_call *described, const void *call, const bp__pad_map *map, const DLTensor *input,
                              const DLTensor *output) {
    char want[256], got[256];
    const bp_dtype dtype = bp_dtype_from_dlpack(input->dtype), given = bp_dtype_from_dlpack(output->dtype);
    if (given != dtype) {
        return bp__fail(BP_E_DTYPE, "%s: output is %s; it must be %s, as the input is", described->info.name,
                        bp_dtype_name(given), bp_dtype_name(dtype));
    }
    if (output->ndim != input->ndim ||
        (input->ndim > 0 && memcmp(output->shape, map->shape, (size_t)input->ndim * sizeof *map->shape) != 0)) {
        return bp__fail(BP_E_SHAPE, "%s: output has shape %s; it must have shape %s", described->info.name,
                        bp__shape_text(output->ndim, output->shape, got, sizeof got),
                        bp__shape_text(input->ndim, map->shape, want, sizeof want));
    }
    return bp__call_check_overlap(described, described->passes, call);
}

bp_status bp__pad_make(bp_problem *problem, const void *asked) {
    const bp__call_request *request = asked;
    const bp_call *described = request->described;
    const DLTensor *input = bp__call_tensor(request->call, &described->passes->operand[0]);
    const DLTensor *output = bp__call_tensor(request->call, &described->passes->operand[1]);
    bp_pad_problem *p = &problem->of.pad;
    bp__pad_map map;
    BP__TRY(bp__tensor_check(input, "input", request->data_optional));
    BP__TRY(bp__pad_find(&map, described, request->call));
    BP__TRY(bp__tensor_check(output, "output", request->data_optional));
    BP__TRY(check_output(described, request->call, &map, input, output));
    problem->op = (uint32_t)described->op;
    problem->dtype = (uint32_t)bp_dtype_from_dlpack(input->dtype);
    if (described->op == BP_OP_PAD && map.mode == BP_PAD_CONSTANT) {
        const bp__pad_arguments *call = request->call;
        BP__TRY(bp__pad_value(p->value, call->value, (bp_dtype)problem->dtype));
    }
    lower(p, &map, input, output);
    return BP_OK;
}

/* ---- The descriptions ---- */

static bp_status result_shape(const void *call, bp__call_result *result) {
    bp__pad_map map;
    const DLTensor *input = bp__call_tensor(call, &result->described->passes->operand[0]);
    BP__TRY(bp__pad_find(&map, result->described, call));
    result->dtype = bp_dtype_from_dlpack(input->dtype);
    result->ndim = input->ndim;
    memcpy(result->shape, map.shape, sizeof map.shape);
    return BP_OK;
}

#define DESCRIBED(name, NAME, count, sparse, sentence)                                                                 \
    const bp_call bp__##name##_call = {                                                                                \
        .info = {#name, sentence, sizeof(bp__##name##_arguments), BP__COUNT(bp__##name##_fields), 1, 0, false},        \
        .op = BP_OP_##NAME,                                                                                            \
        .ndim_offset = offsetof(bp__##name##_arguments, count),                                                        \
        .ndim_most = BP_MAX_NDIM,                                                                                      \
        .whole_sizes = true,                                                                                           \
        .sparse_numbers = sparse,                                                                                      \
        .moves = true,                                                                                                 \
        .fields = bp__##name##_fields,                                                                                 \
        .family = &bp__family_pad,                                                                                     \
        .passes = bp__##name##_passes,                                                                                 \
        .shape = result_shape,                                                                                         \
    };

DESCRIBED(pad, PAD, ndim, true, "elements added at the ends of dimensions")
DESCRIBED(flip, FLIP, axis_count, false, "elements in reverse order along axes")
DESCRIBED(roll, ROLL, axis_count, false, "elements moved along axes, around their ends")

/* ---- Functions ---- */

BP__DEFINE_OF_ARGUMENTS(pad, bp__pad_arguments,
                        (bp_pad_mode mode, const DLTensor *input, int ndim, const int64_t *before, const int64_t *after,
                         double value),
                        output, mode, ndim, value, before, after, input, output)
BP__DEFINE_OF_ARGUMENTS(flip, bp__flip_arguments, (const DLTensor *input, int axis_count, const int *axes), output,
                        axis_count, axes, input, output)
BP__DEFINE_OF_ARGUMENTS(roll, bp__roll_arguments,
                        (const DLTensor *input, int axis_count, const int *axes, const int64_t *shifts), output,
                        axis_count, axes, shifts, input, output)

bp_status bp_pad_shape(bp_pad_mode mode, const DLTensor *input, int ndim, const int64_t *before, const int64_t *after,
                       int *rank, int64_t *shape) {
    const bp__pad_arguments call = {sizeof call, mode, ndim, 0, before, after, input, NULL};
    return bp__call_output_shape(&bp__pad_call, &call, rank, shape);
}
