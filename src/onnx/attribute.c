/* attribute.c - reads attributes of a node, and refuses those that nothing reads. */
#include "onnx/read.h"

#include <inttypes.h>
#include <string.h>

static const char *const kinds[] = {[BP__ATTRIBUTE_FLOAT] = "a number",
                                    [BP__ATTRIBUTE_INT] = "a whole number",
                                    [BP__ATTRIBUTE_STRING] = "a text",
                                    [BP__ATTRIBUTE_TENSOR] = "a tensor",
                                    [BP__ATTRIBUTE_GRAPH] = "a graph",
                                    [BP__ATTRIBUTE_FLOATS] = "a list of numbers",
                                    [BP__ATTRIBUTE_INTS] = "a list of whole numbers",
                                    [BP__ATTRIBUTE_STRINGS] = "a list of texts"};

bp_status bp__onnx_attribute_of(bp__onnx *r, const char *name, bp__onnx_kind kind, bp__onnx_attribute **attribute) {
    *attribute = NULL;
    for (int i = 0; i < r->node->attribute_count; i++) {
        bp__onnx_attribute *each = &r->node->attributes[i];
        if (!bp__bytes_are(each->name, name)) {
            continue;
        }
        if (each->refers) {
            return bp__fail(BP_E_UNSUPPORTED, "attribute '%s' refers to an attribute of a function", name);
        }
        if (each->kind != (int64_t)kind) {
            return bp__fail(BP_E_FORMAT, "attribute '%s' is not %s", name, kinds[kind]);
        }
        each->read = true;
        *attribute = each;
    }
    return BP_OK;
}

bp_status bp__onnx_attribute_int(bp__onnx *r, const char *name, int64_t usual, int64_t *number) {
    bp__onnx_attribute *attribute;
    BP__TRY(bp__onnx_attribute_of(r, name, BP__ATTRIBUTE_INT, &attribute));
    *number = attribute ? attribute->number : usual;
    return BP_OK;
}

bp_status bp__onnx_attribute_flag(bp__onnx *r, const char *name, bool usual, bool *flag) {
    int64_t number;
    BP__TRY(bp__onnx_attribute_int(r, name, usual, &number));
    *flag = number != 0;
    return number == 0 || number == 1
               ? BP_OK
               : bp__fail(BP_E_FORMAT, "attribute '%s' is %" PRId64 "; it must be 0 or 1", name, number);
}

bp_status bp__onnx_attribute_real(bp__onnx *r, const char *name, double usual, double *number) {
    bp__onnx_attribute *attribute;
    BP__TRY(bp__onnx_attribute_of(r, name, BP__ATTRIBUTE_FLOAT, &attribute));
    *number = attribute ? (double)attribute->real : usual;
    return BP_OK;
}

bp_status bp__onnx_attribute_word(bp__onnx *r, const char *name, const char *words, int usual, int *number) {
    bp__onnx_attribute *attribute;
    bp__shown_text shown;
    BP__TRY(bp__onnx_attribute_of(r, name, BP__ATTRIBUTE_STRING, &attribute));
    *number = usual;
    if (!attribute) {
        return BP_OK;
    }
    const size_t size = bp__bytes_size(attribute->text);
    const char *at = words;
    for (int i = 0; at; i++) {
        const size_t length = strcspn(at, ",");
        if (length == size && memcmp(at, attribute->text.at, length) == 0) {
            *number = i;
            return BP_OK;
        }
        at = at[length] ? at + length + 1 : NULL;
    }
    return bp__fail(BP_E_UNSUPPORTED, "attribute '%s' is '%s'; it must be one of: %s", name,
                    bp__bytes_show(attribute->text, &shown), words);
}

bp_status bp__onnx_attribute_ints(bp__onnx *r, const char *name, int wanted, int *count, const int64_t **numbers) {
    bp__onnx_attribute *attribute;
    BP__TRY(bp__onnx_attribute_of(r, name, BP__ATTRIBUTE_INTS, &attribute));
    *numbers = attribute ? attribute->numbers : NULL;
    *count = attribute ? attribute->count : 0;
    return !attribute || wanted < 0 || wanted == *count
               ? BP_OK
               : bp__fail(BP_E_FORMAT, "attribute '%s' has %d elements; it must have %d", name, *count, wanted);
}

bp_status bp__onnx_axis(int64_t given, int ndim, int *axis) {
    *axis = (int)(given < 0 ? given + ndim : given);
    return given >= -ndim && given < ndim
               ? BP_OK
               : bp__fail(BP_E_FORMAT, "the axis is %" PRId64 ", of %d dimensions", given, ndim);
}

bp_status bp__onnx_attribute_axis(bp__onnx *r, const char *name, int64_t usual, int ndim, int *axis) {
    int64_t given;
    BP__TRY(bp__onnx_attribute_int(r, name, usual, &given));
    return bp__onnx_axis(given, ndim, axis);
}

bp_status bp__onnx_attributes_check(const bp__onnx *r) {
    bp__shown_text shown;
    for (int i = 0; i < r->node->attribute_count; i++) {
        if (!r->node->attributes[i].read) {
            return bp__fail(BP_E_UNSUPPORTED, "attribute '%s' is not supported",
                            bp__bytes_show(r->node->attributes[i].name, &shown));
        }
    }
    return BP_OK;
}
