/* text.c - compares and shows texts of an ONNX file, which have no end mark. */
#include "onnx/model.h"

#include <string.h>

bool bp__bytes_are(bp__bytes bytes, const char *text) {
    const size_t size = strlen(text);
    return size == bp__bytes_size(bytes) && (size == 0 || memcmp(bytes.at, text, size) == 0);
}

const char *bp__bytes_show(bp__bytes bytes, bp__shown_text *shown) {
    const size_t size = bp__bytes_size(bytes), most = sizeof shown->text - 4;
    size_t length = 0;
    for (; length < size && length < most; length++) {
        const unsigned char c = bytes.at[length];
        shown->text[length] = (char)(c >= ' ' && c != 0x7f ? c : '?');
    }
    memcpy(shown->text + length, length < size ? "..." : "", length < size ? 4 : 1);
    return shown->text;
}
