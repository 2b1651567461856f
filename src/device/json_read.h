/* json_read.h - reads JSON text, one value at a time. */
#ifndef BP_DEVICE_JSON_READ_H
#define BP_DEVICE_JSON_READ_H

#include "base/base.h"

typedef struct bp__json_reader {
    const char *start, *at;
    const char *problem; /* NULL: none so far */
    int depth;
} bp__json_reader;

/* Skips white space, and returns the next byte; '\0' at the end and after a problem. */
char bp__json_peek(bp__json_reader *reader);
/* Reads one of {}[],: and returns whether it was there. Otherwise `problem` is set to the text. */
bool bp__json_expect(bp__json_reader *reader, char mark, const char *problem);
/* Reads a string without its escapes into `text`, which is emptied first. */
bool bp__json_string(bp__json_reader *reader, bp__text *text);
/* Reads a whole number of 64 bits without a sign. */
bool bp__json_unsigned(bp__json_reader *reader, uint64_t *value);
/* Skips a value of any type. */
bool bp__json_skip(bp__json_reader *reader);
/* Fails with BP_E_FORMAT: line, column and problem. */
bp_status bp__json_fail(const bp__json_reader *reader, const char *what);

#endif
