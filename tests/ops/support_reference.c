/* support_reference.c - implements reference.h. */
#include "ops/reference.h"

#include "reference/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int64_t offset_of(const DLTensor *t, const int64_t *index) {
    int64_t offset = 0;
    for (int i = 0; i < t->ndim; i++) {
        offset += index[i] * t->strides[i];
    }
    return offset;
}

/* Returns an element as a tensor without dimensions, of the same memory. */
static test_array element_of(const DLTensor *t, const int64_t *index) {
    test_array element = {.dtype = bp_dtype_from_dlpack(t->dtype)};
    element.memory = (char *)t->data + t->byte_offset + offset_of(t, index) * (int64_t)bp_dtype_size(element.dtype);
    element.view.tensor.data = element.memory;
    return element;
}

long double complex test_get(const DLTensor *t, const int64_t *index) {
    const test_array element = element_of(t, index);
    const bp_scalar value = test_array_get_complex(&element, 0);
    return CMPLXL(value.re, value.im);
}

void test_set(DLTensor *t, const int64_t *index, long double complex value) {
    test_array element = element_of(t, index);
    test_array_set_complex(&element, 0, (bp_scalar){(double)creall(value), (double)cimagl(value)});
}

static void lay_out(int ndim, const int64_t *shape, test_order order, int64_t *strides) {
    int64_t step = order == EVERY_OTHER ? 2 : 1;
    for (int j = ndim - 1; j >= 0; j--) {
        const int i = order == COLUMN_MAJOR && j >= ndim - 2 && ndim >= 2 ? 2 * ndim - 3 - j : j;
        strides[i] = shape[i] <= 1 ? 977 : order == REVERSED ? -step : step;
        step *= shape[i] > 0 ? shape[i] : 1;
        step += order == PADDED ? 3 : 0;
    }
}

void test_tensor_new(test_tensor *t, bp_dtype dtype, int ndim, const int64_t *shape, test_order order, unsigned *seed) {
    int64_t strides[BP_MAX_NDIM];
    lay_out(ndim, shape, order, strides);
    test_array_random = *seed + UINT64_C(1);
    test_array_make_strided(&t->array, dtype, ndim, shape, strides, 0);
    test_array_fill(&t->array, 1);
    *seed = (unsigned)test_array_next();
    test_array_copy(&t->before, &t->array);
    char *data = t->array.view.tensor.data;
    assert_int_equal(bp_view_init(&t->view, t->array.block, dtype, ndim, shape, strides), BP_OK);
    t->view.tensor.byte_offset = (uint64_t)(data - t->array.block);
}

void test_tensor_free(test_tensor *t) {
    test_array_free(&t->array);
    test_array_free(&t->before);
}

void test_tensor_check_guards(const test_tensor *t) {
    test_array_check_gaps(&t->array, "a result");
}

double test_product_error(const DLTensor *a, bool conj_a, const DLTensor *b, bool conj_b, long double complex alpha,
                          long double complex beta, const DLTensor *c_before, const DLTensor *c) {
    const bp_scalar factor = {(double)creall(alpha), (double)cimagl(alpha)},
                    kept = {(double)creall(beta), (double)cimagl(beta)};
    reference made;
    double error;
    if (reference_gemm(&made, a, conj_a, b, conj_b, factor, kept, c_before, c) != BP_OK ||
        reference_error(&made, c, &error) != BP_OK) {
        abort();
    }
    const double bound = reference_bound(&made, bp_dtype_from_dlpack(c->dtype));
    reference_free(&made);
    return error == 0 ? 0 : error / bound;
}
