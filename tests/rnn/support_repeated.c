/* support_repeated.c - runs calls of recurrent layers whose operands repeat elements, or are in descending order. */
#include "rnn/cases.h"
#include "support/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The operands of a call in memory of their own. */
typedef struct copies {
    bp_rnn_call call;
    test_array tensor[BP_RNN_TENSORS];
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
        test_array *t = &c->tensor[which];
        if (!t->memory || !(tensors >> which & 1)) {
            continue;
        }
        int64_t inner = 1;
        for (int i = dimension_of(c, which, d) + 1; i < t->view.tensor.ndim; i++) {
            inner *= t->view.shape[i];
        }
        const int64_t size = t->view.shape[dimension_of(c, which, d)];
        for (int64_t at = 0; at < test_array_count(t); at++) {
            test_array_set(t, at, test_array_get(t, at - at / inner % size * inner));
        }
    }
}

/* Copies a tensor, with a stride of 0 or a negative one in a dimension. */
static void copy_tensor(copies *to, const rnn_case *c, int which, int d, bool repeats) {
    const test_array *from = &c->tensor[which];
    const DLTensor *tensor = &from->view.tensor;
    int64_t strides[BP_MAX_NDIM], step = 1;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        strides[i] = step;
        step *= tensor->shape[i];
    }
    strides[d] = repeats ? 0 : -strides[d];
    test_array_make_strided(&to->tensor[which], from->dtype, tensor->ndim, tensor->shape, strides, 0);
    for (int64_t at = 0; !is_written(c, which) && at < test_array_count(from); at++) {
        memcpy(test_array_at(&to->tensor[which], at), test_array_at(from, at), bp_dtype_size(from->dtype));
    }
}

/* Compares what was written with the tensors of the case, bit by bit. */
static void compare_copies(const copies *got, const rnn_case *c, int d, bool repeats) {
    for (int which = 0; which < BP_RNN_TENSORS; which++) {
        const test_array *want = &c->tensor[which], *made = &got->tensor[which];
        if (!made->memory || !is_written(c, which)) {
            continue;
        }
        for (int64_t at = 0; at < test_array_count(want); at++) {
            if (memcmp(test_array_at(made, at), test_array_at(want, at), bp_dtype_size(want->dtype)) != 0) {
                fail_msg("%s: element %d of tensor %d differs with stride %s in dimension %d", c->text, (int)at, which,
                         repeats ? "0" : "-1", d);
            }
        }
        test_array_check_gaps(made, c->text);
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
    for (int which = 0; which < BP_RNN_TENSORS; which++) {
        if (has_tensor(c, which) && (tensors >> which & 1) && !(repeats && is_written(c, which))) {
            copy_tensor(&own, c, which, dimension_of(c, which, d), repeats);
            const DLTensor *tensor = &own.tensor[which].view.tensor;
            memcpy((char *)&own.call + offsetof(bp_rnn_call, input) + (size_t)which * sizeof tensor, &tensor,
                   sizeof tensor);
        }
    }
    bp_options *options = test_options(settings);
    const bp_status status = bp_rnn_run(options, &own.call);
    bp_options_release(options);
    if (status == BP_OK) {
        compare_copies(&own, c, d, repeats);
    }
    for (int which = 0; which < BP_RNN_TENSORS; which++) {
        test_array_free(&own.tensor[which]);
    }
    return status;
}
