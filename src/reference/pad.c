/* pad.c - finds the elements of padding, flips and rolls, from the formulas of pad.h. */
#include "reference/taken.h"

#include <math.h>

typedef struct moves {
    int kind; /* a bp_pad_mode, FLIPS or ROLLS */
    int ndim; /* of the tensors */
    const DLTensor *input, *output;
    int64_t amount[BP_MAX_NDIM]; /* elements before, the shift, or whether it is flipped */
    taken_numbers from, value;
    bool unknown_value;
} moves;
enum { FLIPS = BP_PAD_CIRCULAR + 1, ROLLS };

static int64_t modulo(int64_t a, int64_t n) {
    return (a % n + n) % n;
}

static int axis_of(const DLTensor *tensor, int axis) {
    return axis < 0 ? axis + tensor->ndim : axis;
}

/* Returns the index along dimension d of the element that is at `at` in the output; below 0: it is the value. */
static int64_t source_along(const moves *m, int d, int64_t at) {
    const int64_t n = m->input->shape[d];
    int64_t i;
    if (__builtin_sub_overflow(at, m->amount[d], &i)) {
        i = INT64_MAX; /* all elements were removed at the front, and others added at the end */
    }
    switch (m->kind) {
    case FLIPS:
        return m->amount[d] ? n - 1 - at : at;
    case ROLLS:
    case BP_PAD_CIRCULAR:
        return modulo(i, n);
    case BP_PAD_REPLICATE:
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    case BP_PAD_REFLECT: /* a period of 2 n - 2 elements */
        i = n > 1 ? modulo(i, 2 * n - 2) : 0;
        return i < n ? i : 2 * n - 2 - i;
    default:
        return i >= 0 && i < n ? i : -1;
    }
}

static int64_t moved_from(const void *user, int64_t index, const taken_numbers **from) {
    const moves *m = user;
    int64_t at = 0, factor = 1;
    *from = &m->from;
    for (int d = m->ndim - 1; d >= 0; d--) {
        const int64_t source = source_along(m, d, index % m->output->shape[d]);
        if (source < 0) {
            *from = &m->value;
            return m->unknown_value ? -1 : 0;
        }
        index /= m->output->shape[d];
        at += source * factor;
        factor *= m->input->shape[d];
    }
    return at;
}

/* Makes the value a tensor of the widest type of its kind. */
static bp_status open_value(moves *m, double value) {
    const bp_dtype dtype = bp_dtype_from_dlpack(m->output->dtype);
    double real = dtype == BP_F32 || dtype == BP_C64 ? (double)(float)value : value;
    int64_t whole = 0;
    bp_view view;
    const bool is_whole = wholes_can(m->output);
    if (is_whole) {
        whole = dtype == BP_BOOL ? value != 0 : value < 0x1p63 ? (int64_t)value : (int64_t)(uint64_t)value;
    }
    const bool small = fabs(value) <= 128 && value == floor(value);
    m->unknown_value = (dtype == BP_F16 || dtype == BP_BF16) && !small;
    const bp_status status =
        bp_view_init(&view, is_whole ? (void *)&whole : &real, is_whole ? BP_I64 : BP_F64, 0, NULL, NULL);
    return status == BP_OK ? taken_open(&m->value, &view.tensor) : status;
}

static bp_status add_moved(reference_results *made, moves *m, double value) {
    *made = (reference_results){.count = 0};
    m->ndim = m->input->ndim;
    bp_status status = taken_open(&m->from, m->input);
    status = status == BP_OK ? open_value(m, value) : status;
    status = status == BP_OK ? taken_add(made, m->output, moved_from, m) : status;
    taken_close(&m->from);
    taken_close(&m->value);
    return status;
}

bp_status reference_of_pad(reference_results *made, int mode, int ndim, const int64_t *before, const int64_t *after,
                           double value, const DLTensor *input, const DLTensor *output) {
    moves m = {.kind = mode, .input = input, .output = output};
    (void)after; /* the output has the sizes */
    for (int i = 0; before && i < ndim; i++) {
        m.amount[input->ndim - ndim + i] = before[i];
    }
    return add_moved(made, &m, value);
}

bp_status reference_of_flip(reference_results *made, int axis_count, const int32_t *axes, const DLTensor *input,
                            const DLTensor *output) {
    moves m = {.kind = FLIPS, .input = input, .output = output};
    for (int i = 0; i < (axes ? axis_count : input->ndim); i++) {
        m.amount[axes ? axis_of(input, axes[i]) : i] = 1;
    }
    return add_moved(made, &m, 0);
}

bp_status reference_of_roll(reference_results *made, int axis_count, const int32_t *axes, const int64_t *shifts,
                            const DLTensor *input, const DLTensor *output) {
    moves m = {.kind = ROLLS, .input = input, .output = output};
    for (int i = 0; i < axis_count; i++) {
        const int d = axis_of(input, axes[i]);
        m.amount[d] = input->shape[d] > 0 ? shifts[i] % input->shape[d] : 0;
    }
    return add_moved(made, &m, 0);
}
