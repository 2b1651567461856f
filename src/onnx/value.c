/* value.c - values of a model: known ones, and constants that they become. */
#include "onnx/read.h"

#include "backplane/elementwise.h"

#include <inttypes.h>
#include <string.h>

bp__onnx_value *bp__onnx_new_value(bp__onnx *r, bp_dtype dtype, int ndim, const int64_t *shape) {
    bp__onnx_value *value = bp__onnx_new(r->memory, 1, sizeof *value);
    int64_t *own = value ? bp__onnx_new(r->memory, (size_t)ndim, sizeof *own) : NULL;
    if (!own) {
        return NULL;
    }
    if (ndim > 0) {
        memcpy(own, shape, (size_t)ndim * sizeof *own);
    }
    *value = (bp__onnx_value){.dtype = dtype, .ndim = ndim, .shape = own};
    return value;
}

int64_t bp__onnx_count(const bp__onnx_value *value) {
    int64_t count = 1;
    for (int d = 0; d < value->ndim; d++) {
        count *= value->shape[d];
    }
    return count;
}

int64_t bp__onnx_bytes(const bp__onnx_value *value) {
    return bp__onnx_count(value) * (int64_t)bp_dtype_size(value->dtype);
}

bp_status bp__onnx_spend(bp__onnx *r, int64_t bytes) {
    r->spent += bytes;
    return r->spent <= BP__ONNX_MOST_KNOWN
               ? BP_OK
               : bp__fail(BP_E_OVERFLOW, "what is computed when the model is read takes more than 1 GiB");
}

bp_status bp__onnx_known(bp__onnx *r, bp_dtype dtype, int ndim, const int64_t *shape, bp__onnx_value **value,
                         void **data) {
    bp__onnx_value *made = bp__onnx_new_value(r, dtype, ndim, shape);
    BP__TRY(made ? bp__onnx_spend(r, bp__onnx_bytes(made)) : BP_E_NO_MEMORY);
    *data = made ? bp__onnx_new_elements(r->memory, bp__onnx_bytes(made)) : NULL;
    if (!*data) {
        return BP_E_NO_MEMORY;
    }
    made->data = *data;
    *value = made;
    return BP_OK;
}

/* Converts one element. Errors: BP_E_DTYPE, BP_E_NO_MEMORY. */
static bp_status convert_one(void *to, bp_dtype to_type, const void *from, bp_dtype from_type) {
    const DLDevice host = {kDLCPU, 0};
    DLTensor source = {.data = (void *)(uintptr_t)from, .device = host, .dtype = bp_dtype_to_dlpack(from_type)};
    DLTensor target = {.data = to, .device = host, .dtype = bp_dtype_to_dlpack(to_type)};
    return bp_unary_run(NULL, BP_UNARY_COPY, &source, &target);
}

bp_status bp__onnx_scalar(bp__onnx *r, double number, bp_dtype dtype, bp__onnx_value **value) {
    void *data;
    BP__TRY(bp__onnx_known(r, dtype, 0, NULL, value, &data));
    return convert_one(data, dtype, &number, BP_F64);
}

bp_status bp__onnx_counted(bp__onnx *r, bp_dtype dtype, int64_t count, int64_t from, int64_t step,
                           bp__onnx_value **value) {
    enum { MOST = 1 << 24 };
    void *data;
    if (count > MOST) {
        return bp__fail(BP_E_UNSUPPORTED, "it needs a list of %" PRId64 " numbers; the limit is %d", count, MOST);
    }
    BP__TRY(bp__onnx_known(r, dtype, 1, &count, value, &data));
    for (int64_t i = 0; i < count; i++) {
        const int64_t number = (int64_t)((uint64_t)from + (uint64_t)i * (uint64_t)step);
        const int32_t narrow = (int32_t)number;
        if (dtype == BP_I64) {
            ((int64_t *)data)[i] = number;
        } else {
            ((int32_t *)data)[i] = narrow;
        }
    }
    return BP_OK;
}

/* ---- Elements of initializers ---- */

bp_status bp__onnx_load(bp__onnx *r, bp__onnx_value *value) {
    return value->tensor && value->tensor->bytes <= BP__ONNX_SMALL ? bp__onnx_load_all(r, value) : BP_OK;
}

bp_status bp__onnx_load_all(bp__onnx *r, bp__onnx_value *value) {
    if (value->data || !value->tensor) {
        return BP_OK;
    }
    void *data = bp__onnx_new_elements(r->memory, value->tensor->bytes);
    BP__TRY(data ? bp__onnx_elements(value->tensor, r->folder, data) : BP_E_NO_MEMORY);
    value->data = data;
    return BP_OK;
}

static bp_status fail_unknown(const char *name) {
    return bp__fail(BP_E_UNSUPPORTED,
                    "input '%s' depends on elements of the model's inputs; it must be known when the model is read",
                    name);
}

bp_status bp__onnx_numbers(bp__onnx *r, int input, const char *name, int *count, int64_t **numbers) {
    bp__onnx_value *value = bp__onnx_input(r, input);
    if (!value) {
        return bp__fail(BP_E_FORMAT, "input '%s' is absent", name);
    }
    BP__TRY(bp__onnx_load(r, value));
    if (value->dtype != BP_I64 && value->dtype != BP_I32) {
        return bp__fail(BP_E_FORMAT, "input '%s' has elements of type %s; they must be i64 or i32", name,
                        bp_dtype_name(value->dtype));
    }
    if (!value->data || bp__onnx_bytes(value) > BP__ONNX_SMALL) {
        return fail_unknown(name);
    }
    *count = (int)bp__onnx_count(value);
    *numbers = bp__onnx_new(r->memory, (size_t)*count, sizeof **numbers);
    for (int i = 0; i < *count && *numbers; i++) {
        (*numbers)[i] = value->dtype == BP_I64 ? ((const int64_t *)value->data)[i] : ((const int32_t *)value->data)[i];
    }
    return *numbers ? BP_OK : BP_E_NO_MEMORY;
}

bp_status bp__onnx_number(bp__onnx *r, int input, const char *name, int64_t *number) {
    int count;
    int64_t *numbers;
    BP__TRY(bp__onnx_numbers(r, input, name, &count, &numbers));
    if (count != 1) {
        return bp__fail(BP_E_FORMAT, "input '%s' has %d elements; it must have one", name, count);
    }
    *number = numbers[0];
    return BP_OK;
}

bool bp__onnx_real_known(bp__onnx *r, bp__onnx_value *value, double *number) {
    if (!value || bp__onnx_count(value) != 1) {
        return false;
    }
    bp_status status = bp__onnx_load(r, value);
    status = status == BP_OK && value->data ? convert_one(number, BP_F64, value->data, value->dtype) : status;
    r->memory->failed |= status == BP_E_NO_MEMORY;
    return status == BP_OK && value->data;
}

/* ---- Constants of the graph ---- */

/* Writes a name of the file with the characters that names of a graph have. */
static void plain_name(bp__bytes name, bp__text *own) {
    for (const unsigned char *at = name.at; at < name.end; at++) {
        const unsigned char c = *at;
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool other = (c >= '0' && c <= '9') || c == '.';
        bp__text_add(own, at == name.at && other ? "_" : "");
        bp__text_add_n(own, letter || other ? (const char *)at : "_", 1);
    }
    bp__text_add(own, own->length ? "" : "c");
}

bp_status bp__onnx_graph_name(bp__onnx *r, bp__bytes name, const bp__names *taken, bp__text *made) {
    bp__text own = {0};
    plain_name(name, &own);
    bp__text_add(made, bp__text_get(&own));
    while (!made->failed && !own.failed && bp__names_find(taken, bp__text_get(made), made->length)) {
        bp__text_free(made);
        bp__text_addf(made, "%s_%d", bp__text_get(&own), ++r->constants);
    }
    const bool failed = made->failed || own.failed;
    bp__text_free(&own);
    return failed ? bp__fail_memory(bp__bytes_size(name), "an ONNX model") : BP_OK;
}

static bp_status add_constant(bp__onnx *r, bp__onnx_value *value, void *data) {
    bp__text name = {0};
    const DLTensor tensor = {.data = data,
                             .device = {kDLCPU, 0},
                             .ndim = value->ndim,
                             .dtype = bp_dtype_to_dlpack(value->dtype),
                             .shape = (int64_t *)(uintptr_t)value->shape};
    bp_status status = bp__onnx_graph_name(r, value->name, &r->graph->names, &name);
    status = status == BP_OK ? bp_graph_constant(r->graph, bp__text_get(&name), &tensor, r->folds ? BP_GRAPH_BORROW : 0,
                                                 &value->value)
                             : status;
    bp__text_free(&name);
    return status;
}

/* Adds a large initializer: its elements are read into memory of the graph. */
static bp_status add_initializer(bp__onnx *r, bp__onnx_value *value) {
    bp__text name = {0};
    bp_value number = 0;
    bp_status status = bp__onnx_graph_name(r, value->name, &r->graph->names, &name);
    status = status == BP_OK ? bp__graph_constant_add(r->graph, bp__text_get(&name), value->dtype, value->ndim,
                                                      value->shape, &number)
                             : status;
    bp__text_free(&name);
    BP__TRY(status);
    char *data = bp__value_at(r->graph, number)->data;
    BP__TRY(bp__onnx_elements(value->tensor, r->folder, data));
    value->value = number;
    value->data = data;
    return BP_OK;
}

bp_status bp__onnx_in_graph(bp__onnx *r, bp__onnx_value *value, bp_value *number) {
    if (value->value == 0) {
        BP__TRY(bp__onnx_load(r, value));
        BP__TRY(value->data ? add_constant(r, value, (void *)(uintptr_t)value->data) : add_initializer(r, value));
    }
    *number = value->value;
    return BP_OK;
}
