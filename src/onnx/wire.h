/* wire.h - reads the wire format of protocol buffers: fields of a message in memory, which are not copied. */
#ifndef BP_ONNX_WIRE_H
#define BP_ONNX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a message, of a text or of packed numbers. A zeroed one is empty. */
typedef struct bp__bytes {
    const unsigned char *at, *end;
} bp__bytes;

static inline size_t bp__bytes_size(bp__bytes bytes) {
    return (size_t)(bytes.end - bytes.at);
}

typedef enum bp__wire_type { BP__VARINT = 0, BP__FIXED64 = 1, BP__DELIMITED = 2, BP__FIXED32 = 5 } bp__wire_type;

typedef struct bp__wire_field {
    uint32_t number; /* 1 and above */
    bp__wire_type type;
    uint64_t value;   /* of a number; its bits if it is fixed */
    bp__bytes inside; /* of a delimited field */
} bp__wire_field;

typedef enum bp__wire_result { BP__WIRE_END, BP__WIRE_FIELD, BP__WIRE_BROKEN } bp__wire_result;

/* Reads the next field, and moves behind it. BROKEN: the bytes end within a field, a length is larger than what is
 * left, a number has more than 10 bytes, or the field is of no type of proto3. */
bp__wire_result bp__wire_next(bp__bytes *message, bp__wire_field *field);

/* Reads the next of the numbers of a repeated field whose elements have this type: from packed ones, or the one that a
 * field has that is not packed. BROKEN also: the field has another type. */
bp__wire_result bp__wire_number(bp__wire_field *field, bp__wire_type type, uint64_t *number);

#endif
