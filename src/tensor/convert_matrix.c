/* convert_matrix.c - copies a matrix from one element type to another.
 *
 * Every type is read into f64 chunks, which is exact, and written from them, which rounds once. So there is one reader
 * and one writer for each type instead of a routine for each pair.
 */
#include "tensor/internal.h"

#include <string.h>

enum { CHUNK = 64 }; /* elements converted at a time; the chunk stays in the L1 cache */

typedef void (*reader)(double *chunk, int64_t count, const char *src, int64_t stride);
typedef void (*writer)(char *dst, int64_t stride, const double *chunk, int64_t count);

#define SAME(x) (x)
#define TO_DOUBLE(x) ((double)(x))
#define TO_FLOAT(x) ((float)(x))
#define F16_TO_DOUBLE(x) ((double)bp__f16_to_f32(x))
#define BF16_TO_DOUBLE(x) ((double)bp__bf16_to_f32(x))

#define DEFINE_REAL(name, type, load, store)                                                                           \
    static void read_##name(double *chunk, int64_t count, const char *bytes, int64_t stride) {                         \
        const type *src = (const type *)(const void *)bytes;                                                           \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            chunk[i] = load(src[i * stride]);                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void write_##name(char *bytes, int64_t stride, const double *chunk, int64_t count) {                        \
        type *dst = (type *)(void *)bytes;                                                                             \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            dst[i * stride] = store(chunk[i]);                                                                         \
        }                                                                                                              \
    }

DEFINE_REAL(f16, uint16_t, F16_TO_DOUBLE, bp__f64_to_f16)
DEFINE_REAL(bf16, uint16_t, BF16_TO_DOUBLE, bp__f64_to_bf16)
DEFINE_REAL(f32, float, TO_DOUBLE, TO_FLOAT)
DEFINE_REAL(f64, double, SAME, SAME)

static const struct conversion {
    bool is_complex;
    bp_dtype component; /* the type of one component of a complex number, or the type itself */
    reader read;
    writer write;
} conversions[] = {
    [BP_F16] = {false, BP_F16, read_f16, write_f16}, [BP_BF16] = {false, BP_BF16, read_bf16, write_bf16},
    [BP_F32] = {false, BP_F32, read_f32, write_f32}, [BP_F64] = {false, BP_F64, read_f64, write_f64},
    [BP_C64] = {true, BP_F32, read_f32, write_f32},  [BP_C128] = {true, BP_F64, read_f64, write_f64},
};

static const struct conversion *conversion_of(bp_dtype dtype) {
    static const struct conversion none = {0};
    return (unsigned)dtype < (unsigned)BP__COUNT(conversions) ? &conversions[dtype] : &none;
}

bool bp__converts(bp_dtype dst_type, bp_dtype src_type) {
    const struct conversion *to = conversion_of(dst_type);
    const struct conversion *from = conversion_of(src_type);
    return to->read && from->read && (to->is_complex || !from->is_complex);
}

/* Converts a row. A complex row is two real rows of twice the stride. */
static void convert_row(const struct conversion *to, const struct conversion *from, int64_t count, char *dst,
                        int64_t dst_stride, const char *src, int64_t src_stride) {
    static const double zeros[CHUNK];
    double chunk[CHUNK];
    int64_t to_width = to->is_complex ? 2 : 1;
    int64_t from_width = from->is_complex ? 2 : 1;
    int64_t to_size = (int64_t)bp_dtype_size(to->component);
    int64_t from_size = (int64_t)bp_dtype_size(from->component);
    for (int64_t done = 0; done < count; done += CHUNK) {
        int64_t now = count - done < CHUNK ? count - done : CHUNK;
        char *out = dst + done * dst_stride * to_width * to_size;
        const char *in = src + done * src_stride * from_width * from_size;
        from->read(chunk, now, in, src_stride * from_width);
        to->write(out, dst_stride * to_width, chunk, now);
        if (from->is_complex) {
            from->read(chunk, now, in + from_size, src_stride * from_width);
        }
        if (to->is_complex) {
            to->write(out + to_size, dst_stride * to_width, from->is_complex ? chunk : zeros, now);
        }
    }
}

void bp__convert_matrix(bp_dtype dst_type, bp_dtype src_type, int64_t rows, int64_t columns, void *dst, int64_t dst_row,
                        int64_t dst_column, const void *src, int64_t src_row, int64_t src_column) {
    const struct conversion *to = conversion_of(dst_type);
    const struct conversion *from = conversion_of(src_type);
    if (!from->read || !to->write) {
        return; /* not a type for which bp__converts() returns true */
    }
    int64_t dst_size = (int64_t)bp_dtype_size(dst_type);
    int64_t src_size = (int64_t)bp_dtype_size(src_type);
    /* Strips of one chunk, so that a source with non-contiguous rows is still cached when the next row needs it. */
    for (int64_t j = 0; j < columns; j += CHUNK) {
        int64_t now = columns - j < CHUNK ? columns - j : CHUNK;
        for (int64_t i = 0; i < rows; i++) {
            convert_row(to, from, now, (char *)dst + (i * dst_row + j * dst_column) * dst_size, dst_column,
                        (const char *)src + (i * src_row + j * src_column) * src_size, src_column);
        }
    }
}
