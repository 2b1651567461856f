/* check.c - checks the arguments of a recurrent layer, and computes its sizes. */
#include "ops/rnn/rnn.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <string.h>

static const char *const modes[] = {"RNN_TANH", "RNN_RELU", "LSTM", "GRU"};

/* ---- Parameters ---- */

/* Whether only LSTM has the tensor. */
static bool is_of_lstm(bp_rnn_tensor which) {
    return which == BP_RNN_WEIGHT_HR || which == BP_RNN_WEIGHT_HR_GRADIENT || which == BP_RNN_INITIAL_CELL ||
           which == BP_RNN_FINAL_CELL || which == BP_RNN_FINAL_CELL_GRADIENT || which == BP_RNN_INITIAL_CELL_GRADIENT;
}

static bp_status check_parameters(const bp_rnn_call *call) {
    if ((unsigned)call->pass > BP_RNN_BACKWARD || (unsigned)call->mode > BP_RNN_GRU) {
        return bp__fail(BP_E_ARGUMENT, "%s is no value of its enumeration",
                        (unsigned)call->mode > BP_RNN_GRU ? "mode" : "pass");
    }
    if (call->directions < 0 || call->directions > 2) {
        return bp__fail(BP_E_ARGUMENT, "rnn: directions is %d; it must be 1 or 2", call->directions);
    }
    if (call->reverse && call->directions == 2) {
        return bp__fail(BP_E_ARGUMENT, "rnn: reverse is for one direction, and directions is 2");
    }
    if (call->reset_before && call->mode != BP_RNN_GRU) {
        return bp__fail(BP_E_ARGUMENT, "rnn: reset_before is for GRU, and mode is %s", modes[call->mode]);
    }
    const bp__pass *pass = bp__rnn_pass(call);
    BP__TRY(bp__call_check_surplus(&bp__rnn_call, pass, call));
    if (call->pass == BP_RNN_INFERENCE && call->reserve) {
        return bp__fail(BP_E_ARGUMENT, "rnn: INFERENCE has no reserve, which must be NULL");
    }
    for (int i = 0; i < pass->info.operand_count; i++) {
        const bp__call_operand *operand = &pass->operand[i];
        if (call->mode != BP_RNN_LSTM && is_of_lstm((bp_rnn_tensor)operand->shape) && bp__call_tensor(call, operand)) {
            return bp__fail(BP_E_ARGUMENT, "rnn: %s has no %s, which must be NULL", modes[call->mode],
                            operand->info.name);
        }
    }
    if (call->weight_hr_gradient && !call->weight_hr) {
        return bp__fail(BP_E_ARGUMENT, "rnn: weight_hr_gradient needs weight_hr, which is NULL");
    }
    return BP_OK;
}

/* ---- Sizes ---- */

static bp_status fail_shape(const char *name, const DLTensor *tensor, const char *want) {
    char shape[256];
    return bp__fail(BP_E_SHAPE, "rnn: %s has shape %s; it must have %s", name,
                    bp__shape_text(tensor->ndim, tensor->shape, shape, sizeof shape), want);
}

/* Sets hidden_size and output_size from the weights. */
static bp_status resolve_hidden(bp__rnn *rnn) {
    const DLTensor *hh = rnn->call->weight_hh, *hr = rnn->call->weight_hr;
    char want[96];
    const int leading = rnn->directions == 1 ? hh->ndim - 2 : 1;
    if (hh->ndim != 2 + leading || leading < 0 || leading > 1) {
        return fail_shape("weight_hh", hh, "the dimensions direction, row and column");
    }
    const int64_t rows = hh->shape[leading];
    if (rows == 0 || rows % rnn->gates != 0) {
        snprintf(want, sizeof want, "a multiple of %" PRId64 " rows, the gates of %s, and not 0", rnn->gates,
                 modes[rnn->call->mode]);
        return fail_shape("weight_hh", hh, want);
    }
    rnn->hidden_size = rows / rnn->gates;
    rnn->output_size = hh->shape[leading + 1];
    if (!hr && rnn->output_size != rnn->hidden_size) {
        snprintf(want, sizeof want, "%" PRId64 " columns, because there is no weight_hr", rnn->hidden_size);
        return fail_shape("weight_hh", hh, want);
    }
    return rnn->output_size > 0 ? BP_OK : fail_shape("weight_hh", hh, "a column");
}

/* Refuses sizes whose products could exceed int64. Tensors may be that large if their strides are 0. */
static bp_status check_sizes(const bp__rnn *rnn) {
    const double positions = (double)rnn->steps * (double)rnn->batch;
    const double columns = (double)rnn->gates * (double)rnn->hidden_size + (double)rnn->output_size;
    if (positions > 0x1p44 || columns > 0x1p40 || (double)rnn->input_size > 0x1p40 || positions * columns > 0x1p55 ||
        columns * ((double)rnn->input_size + columns) > 0x1p55) {
        return bp__fail(BP_E_OVERFLOW,
                        "rnn: %g steps of all items, with %" PRId64 " columns of the input, %" PRId64
                        " hidden units and %" PRId64 " columns of the output, are too large",
                        positions, rnn->input_size, rnn->hidden_size, rnn->output_size);
    }
    return BP_OK;
}

bp_status bp__rnn_resolve(bp__rnn *rnn, const bp_rnn_call *call, bool data_optional) {
    memset(rnn, 0, sizeof *rnn);
    BP__TRY(check_parameters(call));
    BP__TRY(bp__tensor_check(call->input, "input", data_optional));
    BP__TRY(bp__tensor_check(call->weight_ih, "weight_ih", data_optional));
    BP__TRY(bp__tensor_check(call->weight_hh, "weight_hh", data_optional));
    rnn->call = call;
    rnn->dtype = bp_dtype_from_dlpack(call->input->dtype);
    rnn->directions = call->directions == 2 ? 2 : 1;
    bp__rnn_set_mode(rnn, call->mode);
    if (rnn->dtype < BP_F16 || rnn->dtype > BP_F64) {
        return bp__fail(BP_E_DTYPE, "rnn: input is %s; it must be f16, bf16, f32 or f64", bp_dtype_name(rnn->dtype));
    }
    if (call->input->ndim != 3) {
        return fail_shape("input", call->input, "the dimensions step, item and column");
    }
    rnn->steps = call->input->shape[0];
    rnn->batch = call->input->shape[1];
    rnn->input_size = call->input->shape[2];
    BP__TRY(resolve_hidden(rnn));
    return check_sizes(rnn);
}

/* ---- Tensors ---- */

static bp_status check_tensor(const bp__rnn *rnn, const bp__call_operand *operand, const DLTensor *tensor) {
    const char *name = operand->info.name;
    const bp_rnn_tensor which = (bp_rnn_tensor)operand->shape;
    const bp_dtype dtype = bp_dtype_from_dlpack(tensor->dtype), want = bp__rnn_dtype(rnn, which);
    int64_t shape[BP_MAX_NDIM];
    char one[256], two[256];
    if (dtype != want) {
        return bp__fail(BP_E_DTYPE, "rnn: %s is %s; it must be %s, for an input of %s", name, bp_dtype_name(dtype),
                        bp_dtype_name(want), bp_dtype_name(rnn->dtype));
    }
    const int ndim = bp__rnn_shape(rnn, which, shape);
    const int omitted = rnn->directions == 1 && bp__rnn_has_directions(which) && tensor->ndim == ndim - 1;
    if (tensor->ndim != ndim - omitted ||
        memcmp(tensor->shape, shape + omitted, (size_t)(ndim - omitted) * sizeof *shape) != 0) {
        return bp__fail(BP_E_SHAPE, "rnn: %s has shape %s; it must have shape %s", name,
                        bp__shape_text(tensor->ndim, tensor->shape, one, sizeof one),
                        bp__shape_text(ndim, shape, two, sizeof two));
    }
    if (which == BP_RNN_RESERVE) {
        int64_t strides[BP_MAX_NDIM], step = 1;
        bp__tensor_strides(tensor, strides);
        for (int d = tensor->ndim - 1; d >= 0; d--) {
            if (tensor->shape[d] > 1 && strides[d] != step && bp__tensor_elements(tensor) > 0) {
                return bp__fail(BP_E_LAYOUT, "rnn: reserve has stride %" PRId64 " in dimension %d; it must be compact",
                                strides[d], d);
            }
            step *= tensor->shape[d];
        }
    }
    return BP_OK;
}

static bool is_required(const bp__rnn *rnn, const bp__call_operand *operand) {
    return operand->info.required ||
           (operand->shape == BP_RNN_RESERVE && rnn->call->pass != BP_RNN_INFERENCE && rnn->reserve_size > 0);
}

bp_status bp__rnn_check(const bp__rnn *rnn, bool data_optional) {
    const bp__pass *pass = bp__rnn_pass(rnn->call);
    for (int i = 0; i < pass->info.operand_count; i++) {
        const bp__call_operand *operand = &pass->operand[i];
        const DLTensor *tensor = bp__call_tensor(rnn->call, operand);
        if (tensor || is_required(rnn, operand)) {
            BP__TRY(bp__tensor_check(tensor, operand->info.name, data_optional));
            BP__TRY(check_tensor(rnn, operand, tensor));
        }
    }
    return bp__call_check_overlap(&bp__rnn_call, pass, rnn->call);
}
