/* memory.c - memory that is freed as a whole, when a model was read. */
#include "onnx/model.h"

#include <string.h>

enum { ALIGNED = 64, BLOCK = 1 << 16 };

typedef struct bp__onnx_block {
    struct bp__onnx_block *next;
    size_t size, used; /* with this head */
} bp__onnx_block;

static bp__onnx_block *add_block(bp__onnx_memory *memory, size_t size) {
    bp__onnx_block *block = bp__alloc_aligned(size);
    if (block) {
        *block = (bp__onnx_block){memory->blocks, size, ALIGNED};
        memory->blocks = block;
    }
    return block;
}

static void *take_bytes(bp__onnx_memory *memory, size_t bytes, size_t aligned) {
    bp__onnx_block *block = memory->blocks;
    if (bytes > SIZE_MAX / 2) {
        bp__fail_memory(bytes, "an ONNX model");
        return NULL;
    }
    const size_t whole = bytes + 2 * aligned;
    if (!block || block->size - block->used < whole) {
        block = add_block(memory, whole + ALIGNED > BLOCK ? whole + ALIGNED : BLOCK);
    }
    if (!block) {
        bp__fail_memory(bytes, "an ONNX model");
        return NULL;
    }
    const size_t from = (block->used + aligned - 1) / aligned * aligned;
    block->used = from + bytes + (bytes == 0); /* each has an address of its own */
    return memset((char *)block + from, 0, bytes);
}

void *bp__onnx_new(bp__onnx_memory *memory, size_t count, size_t size) {
    size_t bytes;
    return take_bytes(memory, __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes, _Alignof(max_align_t));
}

void *bp__onnx_new_elements(bp__onnx_memory *memory, int64_t bytes) {
    return take_bytes(memory, (size_t)bytes, ALIGNED);
}

void bp__onnx_drop(bp__onnx_memory *memory) {
    while (memory->blocks) {
        bp__onnx_block *next = memory->blocks->next;
        bp__free_aligned(memory->blocks);
        memory->blocks = next;
    }
}
