/* route.c - makes the steps of a route: kernels between operands of any layout and buffers without gaps, and calls. */
#include "providers/cusolver/cusolver.h"

#include <string.h>

/* ---- Types ---- */

static bool is_single(uint32_t dtype) {
    return dtype == BP_F32 || dtype == BP_C64;
}

static bool is_complex(uint32_t dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

static int64_t bytes_of(uint32_t dtype) {
    return dtype == BP_I32 || dtype == BP_F32 ? 4 : dtype == BP_C128 ? 16 : 8;
}

/* Returns the number of a type among the kernels for matrices. */
static int type_number(uint32_t dtype) {
    return (is_complex(dtype) ? 2 : 0) + (is_single(dtype) ? 0 : 1);
}

static uint64_t sign_bit(uint32_t dtype) {
    return UINT64_C(1) << (is_single(dtype) ? 31 : 63);
}

/* ---- Buffers ---- */

static int add_buffer(bp__cusolver_builder *b, int64_t rows, int64_t columns, int64_t element) {
    int64_t count, bytes, all;
    const bool fits = !__builtin_mul_overflow(rows, columns, &count) &&
                      !__builtin_mul_overflow(count, element, &bytes) &&
                      !__builtin_mul_overflow(bytes, b->problem->of.linalg.batch, &all) && all <= INT64_MAX / 16;
    b->why = fits ? b->why : "the matrices take more memory than 64 bits count";
    b->route->buffers[b->route->buffer_count] =
        (bp__cusolver_buffer){.rows = rows, .columns = columns, .item = fits ? (uint64_t)bytes : 0};
    return b->route->buffer_count++;
}

int bp__cusolver_add_matrix(bp__cusolver_builder *b, int64_t rows, int64_t columns) {
    return add_buffer(b, rows, columns, bytes_of(b->problem->dtype));
}

int bp__cusolver_add_reals(bp__cusolver_builder *b, int64_t count) {
    return add_buffer(b, count, 1, is_single(b->problem->dtype) ? 4 : 8);
}

int bp__cusolver_add_pivots(bp__cusolver_builder *b, int64_t count) {
    return add_buffer(b, count, 1, (int64_t)sizeof(int64_t));
}

/* ---- Walks ---- */

/* One side of a walk: strides in bytes, 0 where nothing is read. */
typedef struct side {
    int64_t row, column;
    int64_t batch[BP_MAX_BATCH_NDIM];
} side;

static side side_of_operand(const bp__cusolver_builder *b, int operand, bool transposed) {
    side s = {0};
    if (operand >= 0) {
        const bp_linalg_operand *x = &b->problem->of.linalg.operand[operand];
        const int64_t item = bytes_of(x->dtype);
        s.row = (transposed ? x->column : x->row) * item;
        s.column = (transposed ? x->row : x->column) * item;
        for (int d = 0; d < b->problem->of.linalg.batch_ndim; d++) {
            s.batch[d] = x->batch[d] * item;
        }
    }
    return s;
}

/* Items follow each other in the order of the batch. */
static side side_of_items(const bp__cusolver_builder *b, int64_t row, int64_t column, int64_t item) {
    const bp_linalg_problem *l = &b->problem->of.linalg;
    side s = {.row = row, .column = column};
    for (int d = l->batch_ndim - 1; d >= 0; d--) {
        s.batch[d] = item;
        item *= l->batch_shape[d];
    }
    return s;
}

static side side_of_buffer(const bp__cusolver_builder *b, int buffer, int64_t element) {
    if (buffer < 0) {
        return (side){0};
    }
    const bp__cusolver_buffer *x = &b->route->buffers[buffer];
    return side_of_items(b, element, element * x->rows, (int64_t)x->item);
}

/* Fills the dimensions of a walk, with neighbours of the batch merged where both sides allow it. */
static void set_dims(bp__cusolver_builder *b, bp__cusolver_walk *w, int64_t rows, int64_t columns, const side *dst,
                     const side *src) {
    const bp_linalg_problem *l = &b->problem->of.linalg;
    int at = 1;
    *w = (bp__cusolver_walk){.size = {(uint64_t)rows, (uint64_t)columns},
                             .dst_stride = {dst->row, dst->column},
                             .src_stride = {src->row, src->column}};
    for (int d = l->batch_ndim - 1; d >= 0; d--) {
        const int64_t inner = at > 1 ? (int64_t)w->size[at] : 0;
        if (at > 1 && dst->batch[d] == w->dst_stride[at] * inner && src->batch[d] == w->src_stride[at] * inner) {
            w->size[at] *= (uint64_t)l->batch_shape[d];
            continue;
        }
        if (++at == BP__CUSOLVER_NDIM) {
            b->why = "the batch has more than 6 dimensions that cannot be merged";
            return;
        }
        w->size[at] = (uint64_t)l->batch_shape[d];
        w->dst_stride[at] = dst->batch[d];
        w->src_stride[at] = src->batch[d];
    }
    while (++at < BP__CUSOLVER_NDIM) {
        w->size[at] = 1;
    }
    w->count = (uint64_t)rows * (uint64_t)columns * (uint64_t)l->batch;
}

static void set_region(bp__cusolver_walk *w, bp__cusolver_region region) {
    static const int64_t first[] = {INT64_MIN, INT64_MIN, 0, INT64_MIN, 1, 1};
    static const int64_t last[] = {INT64_MAX, 0, INT64_MAX, -1, INT64_MAX, 0};
    w->first = first[region];
    w->last = last[region];
}

/* ---- Steps ---- */

static bp__cusolver_step *add_step(bp__cusolver_builder *b) {
    return &b->route->steps[b->route->step_count++];
}

static bp__cusolver_step *add_kernel(bp__cusolver_builder *b, int kernel, int operand, int buffer) {
    bp__cusolver_step *step = add_step(b);
    *step = (bp__cusolver_step){.number = (uint8_t)kernel, .operand = (int8_t)operand, .buffer = (int8_t)buffer};
    return step;
}

bp__cusolver_step *bp__cusolver_add_load(bp__cusolver_builder *b, int operand, bool transposed, int buffer,
                                         bp__cusolver_region region) {
    const bool given = operand >= 0;
    const bp_linalg_operand *x = &b->problem->of.linalg.operand[given ? operand : 0];
    const bp__cusolver_buffer *to = &b->route->buffers[buffer];
    const int64_t rows = !given ? to->rows : transposed ? x->columns : x->rows;
    const int64_t columns = !given ? to->columns : transposed ? x->rows : x->columns;
    const uint32_t dtype = b->problem->dtype;
    const side dst = side_of_buffer(b, buffer, bytes_of(dtype)), src = side_of_operand(b, operand, transposed);
    bp__cusolver_step *step = add_kernel(b, BP__CUSOLVER_LOAD + type_number(dtype), operand, buffer);
    set_dims(b, &step->walk, rows, columns, &dst, &src);
    set_region(&step->walk, given ? region : BP__CUSOLVER_NOTHING);
    step->walk.diagonal_im = UINT64_MAX;
    return step;
}

bp__cusolver_step *bp__cusolver_add_store(bp__cusolver_builder *b, int operand, bool transposed, int buffer,
                                          bp__cusolver_region region) {
    const bp_linalg_operand *x = &b->problem->of.linalg.operand[operand];
    const side dst = side_of_operand(b, operand, transposed), src = side_of_buffer(b, buffer, bytes_of(x->dtype));
    bp__cusolver_step *step = add_kernel(b, BP__CUSOLVER_STORE + type_number(x->dtype), operand, buffer);
    set_dims(b, &step->walk, transposed ? x->columns : x->rows, transposed ? x->rows : x->columns, &dst, &src);
    set_region(&step->walk, region);
    step->walk.diagonal_im = UINT64_MAX;
    return step;
}

void bp__cusolver_add_pivots_in(bp__cusolver_builder *b, int operand, int buffer) {
    const side dst = side_of_buffer(b, buffer, (int64_t)sizeof(int64_t)), src = side_of_operand(b, operand, false);
    bp__cusolver_step *step = add_kernel(b, BP__CUSOLVER_PIVOTS_IN, operand, buffer);
    set_dims(b, &step->walk, b->route->buffers[buffer].rows, 1, &dst, &src);
    set_region(&step->walk, operand >= 0 ? BP__CUSOLVER_WHOLE : BP__CUSOLVER_NOTHING);
    b->route->reports |= operand >= 0;
}

void bp__cusolver_add_pivots_out(bp__cusolver_builder *b, int operand, int buffer) {
    const side dst = side_of_operand(b, operand, false), src = side_of_buffer(b, buffer, (int64_t)sizeof(int64_t));
    bp__cusolver_step *step = add_kernel(b, BP__CUSOLVER_PIVOTS_OUT, operand, buffer);
    set_dims(b, &step->walk, b->route->buffers[buffer].rows, 1, &dst, &src);
}

void bp__cusolver_add_pivot_repair(bp__cusolver_builder *b, int buffer, int64_t rows) {
    const side pivots = side_of_buffer(b, buffer, (int64_t)sizeof(int64_t));
    bp__cusolver_step *step = add_kernel(b, BP__CUSOLVER_PIVOTS_REPAIR, -1, buffer);
    set_dims(b, &step->walk, b->route->buffers[buffer].rows, 1, &pivots, &pivots);
    step->walk.diagonal = (uint64_t)rows;
}

void bp__cusolver_add_permutation(bp__cusolver_builder *b, int operand, int pivots) {
    const bool single = is_single(b->problem->dtype);
    side dst = side_of_operand(b, operand, true), src = side_of_buffer(b, pivots, 0);
    bp__cusolver_step *step = add_kernel(b, BP__CUSOLVER_PERMUTE + (single ? 0 : 1), operand, pivots);
    const int64_t distance = dst.column;
    dst.column = 0; /* the walk is through the columns of the operand */
    set_dims(b, &step->walk, b->problem->of.linalg.m, 1, &dst, &src);
    step->walk.conjugate = (uint64_t)distance;
    step->walk.diagonal_im = (uint64_t)b->route->buffers[pivots].rows;
    bp__cusolver_set_unit_diagonal(b, step);
}

void bp__cusolver_add_find_zero(bp__cusolver_builder *b, int buffer) {
    const uint32_t dtype = b->problem->dtype;
    const side dst = side_of_items(b, 0, 0, 4), src = side_of_buffer(b, buffer, 0);
    bp__cusolver_step *step = add_kernel(b, BP__CUSOLVER_FIND_ZERO + type_number(dtype), -1, buffer);
    set_dims(b, &step->walk, 1, 1, &dst, &src);
    step->walk.conjugate = (uint64_t)((b->route->buffers[buffer].rows + 1) * bytes_of(dtype));
    step->walk.diagonal_im = (uint64_t)b->route->buffers[buffer].rows;
}

void bp__cusolver_add_det(bp__cusolver_builder *b, int operand, int lu, int pivots, int logs) {
    const uint32_t dtype = b->problem->dtype;
    const side dst = side_of_operand(b, operand, false), src = side_of_buffer(b, lu, 0);
    bp__cusolver_step *step =
        add_kernel(b, (logs < 0 ? BP__CUSOLVER_DET : BP__CUSOLVER_LOGDET) + type_number(dtype), operand, lu);
    set_dims(b, &step->walk, 1, 1, &dst, &src);
    step->buffers[2] = (uint8_t)pivots;
    step->buffers[3] = (uint8_t)(logs < 0 ? 0 : logs);
    step->walk.conjugate = (uint64_t)((b->route->buffers[lu].rows + 1) * bytes_of(dtype));
    step->walk.diagonal_im = (uint64_t)b->route->buffers[lu].rows;
}

void bp__cusolver_add_report(bp__cusolver_builder *b, int operand, bool counts) {
    const bp_linalg_problem *l = &b->problem->of.linalg;
    const bool is_given = operand >= 0 && l->operand[operand].dtype;
    const side dst = side_of_operand(b, is_given ? operand : -1, false), src = side_of_items(b, 0, 0, 4);
    if (!is_given && !l->fail_on_item_error) {
        return;
    }
    bp__cusolver_step *step = add_kernel(b, BP__CUSOLVER_REPORT, is_given ? operand : -1, -1);
    set_dims(b, &step->walk, 1, 1, &dst, &src);
    set_region(&step->walk, is_given ? BP__CUSOLVER_WHOLE : BP__CUSOLVER_NOTHING);
    step->walk.diagonal = counts ? UINT32_MAX : 0;
    b->route->reports |= l->fail_on_item_error != 0;
}

bp__cusolver_step *bp__cusolver_add_call(bp__cusolver_builder *b, bp__cusolver_routine routine, int matrix) {
    const bp__cusolver_buffer *x = &b->route->buffers[matrix];
    bp__cusolver_step *step = add_step(b);
    *step = (bp__cusolver_step){
        .is_call = true, .number = (uint8_t)routine, .m = x->rows, .n = x->columns, .buffers = {(uint8_t)matrix}};
    return step;
}

void bp__cusolver_set_unit_diagonal(const bp__cusolver_builder *b, bp__cusolver_step *step) {
    step->walk.diagonal = is_single(b->problem->dtype) ? UINT64_C(0x3f800000) : UINT64_C(0x3ff0000000000000);
}

void bp__cusolver_set_conjugate(const bp__cusolver_builder *b, bp__cusolver_step *step) {
    step->walk.conjugate = sign_bit(b->problem->dtype);
}
