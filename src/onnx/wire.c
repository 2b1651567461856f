/* wire.c - reads the wire format of protocol buffers. */
#include "onnx/wire.h"

#include <string.h>

/* Reads a number of up to 10 bytes, with 7 bits in each, the lowest ones first. */
static bool read_varint(bp__bytes *bytes, uint64_t *number) {
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && bytes->at < bytes->end; shift += 7) {
        const uint64_t byte = *bytes->at++;
        if (shift == 63 && byte > 1) {
            return false; /* more than 64 bits */
        }
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *number = value;
            return true;
        }
    }
    return false;
}

/* Reads a little-endian number of `size` bytes. */
static bool read_fixed(bp__bytes *bytes, int size, uint64_t *number) {
    if (bp__bytes_size(*bytes) < (size_t)size) {
        return false;
    }
    uint64_t value = 0;
    for (int i = 0; i < size; i++) {
        value |= (uint64_t)bytes->at[i] << (8 * i);
    }
    bytes->at += size;
    *number = value;
    return true;
}

static bool read_value(bp__bytes *bytes, bp__wire_type type, uint64_t *number) {
    switch (type) {
    case BP__VARINT:
        return read_varint(bytes, number);
    case BP__FIXED64:
        return read_fixed(bytes, 8, number);
    case BP__FIXED32:
        return read_fixed(bytes, 4, number);
    default:
        return false;
    }
}

bp__wire_result bp__wire_next(bp__bytes *message, bp__wire_field *field) {
    uint64_t key, size;
    memset(field, 0, sizeof *field);
    if (message->at == message->end) {
        return BP__WIRE_END;
    }
    if (!read_varint(message, &key) || key >> 3 == 0 || key >> 3 > (1u << 29) - 1) {
        return BP__WIRE_BROKEN;
    }
    field->number = (uint32_t)(key >> 3);
    field->type = (bp__wire_type)(key & 7);
    if (field->type != BP__DELIMITED) {
        return read_value(message, field->type, &field->value) ? BP__WIRE_FIELD : BP__WIRE_BROKEN;
    }
    if (!read_varint(message, &size) || size > bp__bytes_size(*message)) {
        return BP__WIRE_BROKEN;
    }
    field->inside = (bp__bytes){message->at, message->at + size};
    message->at += size;
    return BP__WIRE_FIELD;
}

bp__wire_result bp__wire_number(bp__wire_field *field, bp__wire_type type, uint64_t *number) {
    if (field->type == BP__DELIMITED) {
        return field->inside.at == field->inside.end      ? BP__WIRE_END
               : read_value(&field->inside, type, number) ? BP__WIRE_FIELD
                                                          : BP__WIRE_BROKEN;
    }
    if (field->type != type) {
        return BP__WIRE_BROKEN;
    }
    *number = field->value;
    field->type = BP__DELIMITED; /* nothing is left */
    field->inside = (bp__bytes){NULL, NULL};
    return BP__WIRE_FIELD;
}
