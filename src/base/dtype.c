/* dtype.c - returns names, sizes and DLPack codes of the element types, all from BP_DTYPE_MAP. */
#include "backplane/tensor.h"
#include "base/base.h"

#include <string.h>

typedef struct dtype_row {
    const char *name;
    DLDataType dlpack;
} dtype_row;

#define X(number, name, text, code, bits) [BP_##name] = {text, {code, bits, 1}},
static const dtype_row rows[] = {[BP_DTYPE_NONE] = {"?", {kDLOpaqueHandle, 0, 1}}, BP_DTYPE_MAP(X)};
#undef X

/* Type name prefixes of NumPy and PyTorch for our letters; the digits are the same. */
static const struct {
    const char *head;
    const char *letters;
} spellings[] = {
    {"float", "f"}, {"bfloat", "bf"}, {"complex", "c"}, {"int", "i"}, {"uint", "u"},
};

static const dtype_row *row_of(bp_dtype dtype) {
    unsigned index = (unsigned)dtype;
    return &rows[index < (unsigned)BP__COUNT(rows) ? index : BP_DTYPE_NONE];
}

const char *bp_dtype_name(bp_dtype dtype) {
    return row_of(dtype)->name;
}

static bp_dtype find_spelling(const char *letters, const char *digits) {
    size_t head = strlen(letters);
    for (int i = BP_DTYPE_NONE + 1; i < BP__COUNT(rows); i++) {
        if (strncmp(rows[i].name, letters, head) == 0 && strcmp(rows[i].name + head, digits) == 0) {
            return (bp_dtype)i;
        }
    }
    return BP_DTYPE_NONE;
}

bp_dtype bp_dtype_from_name(const char *name) {
    if (!name) {
        return BP_DTYPE_NONE;
    }
    for (int i = 0; i < BP__COUNT(spellings); i++) {
        size_t head = strlen(spellings[i].head);
        if (strncmp(name, spellings[i].head, head) == 0) {
            return find_spelling(spellings[i].letters, name + head);
        }
    }
    return find_spelling("", name);
}

size_t bp_dtype_size(bp_dtype dtype) {
    return row_of(dtype)->dlpack.bits / 8u;
}

DLDataType bp_dtype_to_dlpack(bp_dtype dtype) {
    return row_of(dtype)->dlpack;
}

bp_dtype bp_dtype_from_dlpack(DLDataType dtype) {
    for (int i = BP_DTYPE_NONE + 1; i < BP__COUNT(rows); i++) {
        const DLDataType *row = &rows[i].dlpack;
        if (dtype.code == row->code && dtype.bits == row->bits && dtype.lanes == 1) {
            return (bp_dtype)i;
        }
    }
    return BP_DTYPE_NONE;
}
