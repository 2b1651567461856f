/* tensor.c - reads the elements of a tensor, in each form in which a file may have them.
 *
 * raw_data has all types. The other fields have numbers of one width each: float_data, int32_data, int64_data,
 * double_data and uint64_data; a type has one of them. */
#include "onnx/model.h"

#include <string.h>

enum { RAW_DATA = 9 };

/* The field that has a type's elements, if raw_data has not: its elements, and how many of these an element takes. */
typedef struct storage {
    uint32_t field;
    bp__wire_type type;
    int parts;
    size_t bytes; /* of a part in memory */
} storage;

static storage storage_of(bp_dtype dtype) {
    switch (dtype) {
    case BP_F32:
        return (storage){4, BP__FIXED32, 1, 4};
    case BP_C64:
        return (storage){4, BP__FIXED32, 2, 4};
    case BP_F64:
        return (storage){10, BP__FIXED64, 1, 8};
    case BP_C128:
        return (storage){10, BP__FIXED64, 2, 8};
    case BP_I64:
        return (storage){7, BP__VARINT, 1, 8};
    case BP_U32:
    case BP_U64:
        return (storage){11, BP__VARINT, 1, bp_dtype_size(dtype)};
    default: /* also the bits of f16 and bf16 */
        return (storage){5, BP__VARINT, 1, bp_dtype_size(dtype)};
    }
}

static bp_status fail_count(const bp__onnx_tensor *tensor) {
    bp__shown_text shown;
    return bp__fail(BP_E_FORMAT, "tensor '%s' has not as many elements as its shape says",
                    bp__bytes_show(tensor->name, &shown));
}

/* Writes the lowest bytes of a number. */
static void put_number(char *memory, uint64_t number, size_t bytes) {
    const uint32_t four = (uint32_t)number;
    const uint16_t two = (uint16_t)number;
    const uint8_t one = (uint8_t)number;
    memcpy(memory,
           bytes == 8   ? (const void *)&number
           : bytes == 4 ? (const void *)&four
           : bytes == 2 ? (const void *)&two
                        : &one,
           bytes);
}

static bp_status read_typed(const bp__onnx_tensor *tensor, char *memory) {
    const storage from = storage_of(bp__onnx_dtype(tensor->type));
    const int64_t wanted = tensor->elements * from.parts;
    bp__bytes message = tensor->whole;
    bp__wire_field field;
    uint64_t number;
    int64_t count = 0;
    while (bp__wire_next(&message, &field) == BP__WIRE_FIELD) {
        bp__wire_result each = BP__WIRE_END;
        while (field.number == from.field && (each = bp__wire_number(&field, from.type, &number)) == BP__WIRE_FIELD) {
            if (count == wanted) {
                return fail_count(tensor);
            }
            put_number(memory + (size_t)count++ * from.bytes, number, from.bytes);
        }
        if (each == BP__WIRE_BROKEN) {
            return fail_count(tensor);
        }
    }
    return count == wanted ? BP_OK : fail_count(tensor);
}

/* Finds raw_data. */
static bool find_raw(const bp__onnx_tensor *tensor, bp__bytes *raw) {
    bp__bytes message = tensor->whole;
    bp__wire_field field;
    bool found = false;
    while (bp__wire_next(&message, &field) == BP__WIRE_FIELD) {
        if (field.number == RAW_DATA && field.type == BP__DELIMITED) {
            *raw = field.inside;
            found = true;
        }
    }
    return found;
}

bp_status bp__onnx_elements(const bp__onnx_tensor *tensor, const char *folder, void *memory) {
    bp__bytes raw;
    bp__shown_text shown;
    if (bp__onnx_dtype(tensor->type) == BP_DTYPE_NONE) {
        return bp__fail(BP_E_UNSUPPORTED, "tensor '%s' has elements of type %lld of TensorProto, which no call has",
                        bp__bytes_show(tensor->name, &shown), (long long)tensor->type);
    }
    if (tensor->is_external) {
        return bp__onnx_external(tensor, folder, memory);
    }
    if (!find_raw(tensor, &raw)) {
        return read_typed(tensor, memory);
    }
    if (bp__bytes_size(raw) != (size_t)tensor->bytes) {
        return fail_count(tensor);
    }
    if (tensor->bytes > 0) {
        memcpy(memory, raw.at, (size_t)tensor->bytes); /* little-endian, as all processors of this library are */
    }
    return BP_OK;
}
