/* support_repeated.c - runs calls of recurrent layers whose operands repeat elements, or are in descending order. */
#include "rnn/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The operands of a call in memory of their own. */
typedef struct copies {
    bp_rnn_call call;
    bp_view view[BP_RNN_TENSORS];
    char *memory[BP_RNN_TENSORS];
} copies;

static bool is_written(const rnn_case *c, int which) {
    return c->call.pass == BP_RNN_BACKWARD ? which >= BP_RNN_INPUT_GRADIENT
                                           : which >= BP_RNN_OUTPUT && which <= BP_RNN_RESERVE;
}

/* Returns the dimension of a tensor that a request for `d` means. */
static int dimension_of(const rnn_case *c, int which, int d) {
    const int ndim = c->tensor[which].view.tensor.ndim;
    return d < ndim ? d : ndim - 1;
}

void rnn_make_equal(rnn_case *c, uint32_t tensors, int d) {
    for (int which = 0; which < BP_RNN_TENSORS; which++) {
        strided_tensor *t = &c->tensor[which];
        if (!t->memory || !(tensors >> which & 1)) {
            continue;
        }
        int64_t inner = 1;
        for (int i = dimension_of(c, which, d) + 1; i < t->view.tensor.ndim; i++) {
            inner *= t->view.shape[i];
        }
        const int64_t size = t->view.shape[dimension_of(c, which, d)];
        for (int64_t at = 0; at < strided_elements(t); at++) {
            strided_put(t, at, strided_get(t, at - at / inner % size * inner));
        }
    }
}

/* Copies a tensor, with a stride of 0 or a negative one in a dimension. */
static void copy_tensor(copies *to, const rnn_case *c, int which, int d, bool repeats) {
    const strided_tensor *from = &c->tensor[which];
    int64_t strides[BP_MAX_NDIM], step = 1;
    for (int i = from->view.tensor.ndim - 1; i >= 0; i--) {
        strides[i] = step;
        step *= from->view.shape[i];
    }
    const size_t element = bp_dtype_size(from->dtype);
    const int64_t size = from->view.shape[d];
    to->memory[which] = calloc((size_t)step + 1, element);
    assert_non_null(to->memory[which]);
    char *first = to->memory[which];
    if (repeats) {
        strides[d] = 0;
    } else if (size > 0) {
        first += (size_t)((size - 1) * strides[d]) * element;
        strides[d] = -strides[d];
    }
    bp_view *view = &to->view[which];
    assert_int_equal(bp_view_init(view, first, from->dtype, from->view.tensor.ndim, from->view.shape, strides), BP_OK);
    strided_tensor made = {.view = *view, .dtype = from->dtype, .memory = first, .all = step};
    for (int64_t at = 0; !is_written(c, which) && at < strided_elements(from); at++) {
        memcpy(first + strided_position(&made, at) * (int64_t)element,
               from->memory + strided_position(from, at) * (int64_t)element, element);
    }
}

/* Compares what was written with the tensors of the case, bit by bit. */
static void compare_copies(const copies *got, const rnn_case *c, int d, bool repeats) {
    for (int which = 0; which < BP_RNN_TENSORS; which++) {
        const strided_tensor *want = &c->tensor[which];
        if (!got->memory[which] || !is_written(c, which)) {
            continue;
        }
        const size_t element = bp_dtype_size(want->dtype);
        const strided_tensor made = {.view = got->view[which], .dtype = want->dtype};
        for (int64_t at = 0; at < strided_elements(want); at++) {
            if (memcmp((const char *)got->view[which].tensor.data + strided_position(&made, at) * (int64_t)element,
                       want->memory + strided_position(want, at) * (int64_t)element, element) != 0) {
                fail_msg("%s: element %d of tensor %d differs with stride %s in dimension %d", c->text, (int)at, which,
                         repeats ? "0" : "-1", d);
            }
        }
    }
}

/* Whether the call has a tensor; BACKWARD lacks the biases of the case. */
static bool has_tensor(const rnn_case *c, int which) {
    const DLTensor *tensor;
    memcpy(&tensor, (const char *)&c->call + offsetof(bp_rnn_call, input) + (size_t)which * sizeof tensor,
           sizeof tensor);
    return tensor != NULL;
}

bp_status rnn_run_copies(const rnn_case *c, uint32_t tensors, int d, bool repeats, const char *settings) {
    copies own = {.call = c->call};
    bp_options *options = NULL;
    for (int which = 0; which < BP_RNN_TENSORS; which++) {
        if (has_tensor(c, which) && (tensors >> which & 1) && !(repeats && is_written(c, which))) {
            copy_tensor(&own, c, which, dimension_of(c, which, d), repeats);
            const DLTensor *tensor = &own.view[which].tensor;
            memcpy((char *)&own.call + offsetof(bp_rnn_call, input) + (size_t)which * sizeof tensor, &tensor,
                   sizeof tensor);
        }
    }
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    const bp_status status = bp_rnn_run(options, &own.call);
    bp_options_release(options);
    if (status == BP_OK) {
        compare_copies(&own, c, d, repeats);
    }
    for (int which = 0; which < BP_RNN_TENSORS; which++) {
        free(own.memory[which]);
    }
    return status;
}
