/* memory.c - memory of the double of libcuda.so.1.
 *
 * An address of a device cannot be read or written by the host: it is reserved without access, and the bytes are
 * elsewhere. Addresses are never used again, so that uses of freed memory are noticed. Fresh memory is garbage. */
#include "parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct block {
    struct block *next;
    uint64_t address;
    size_t size;
    uint8_t *bytes; /* NULL: freed */
    context *of;    /* NULL: memory of the host */
} block;

enum { GRANULE = 4096 };

pthread_mutex_t double_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t double_changed = PTHREAD_COND_INITIALIZER;
static block *blocks, *host_blocks;
static long long used[DEVICES_MOST];

static uint8_t *bytes_at_once(uint64_t address, size_t size) {
    pthread_mutex_lock(&double_mutex);
    uint8_t *found = double_bytes(address, size);
    pthread_mutex_unlock(&double_mutex);
    return found;
}

static void open_gate(bool open) {
    pthread_mutex_lock(&double_mutex);
    cuda_double.closed = !open;
    pthread_cond_broadcast(&double_changed);
    pthread_mutex_unlock(&double_mutex);
}

double_controls cuda_double = {.fail_with = BP__CU_ILLEGAL_ADDRESS, .bytes_of = bytes_at_once, .open_gate = open_gate};

/* ---- Blocks ---- */

static block *block_of(block *list, uint64_t address, size_t size) {
    for (block *each = list; each; each = each->next) {
        if (each->bytes && address >= each->address && address + size <= each->address + each->size) {
            return each;
        }
    }
    return NULL;
}

uint8_t *double_bytes(uint64_t address, size_t size) {
    const block *found = block_of(blocks, address, size);
    return found ? found->bytes + (address - found->address) : NULL;
}

bool double_is_pinned(uint64_t address, size_t size) {
    return block_of(host_blocks, address, size) != NULL;
}

static CUresult new_block(context *of, size_t size, CUdeviceptr *address) {
    const long long most = cuda_double.memory ? (long long)cuda_double.memory : 64ll << 20;
    const size_t reserved = (size + GRANULE - 1) / GRANULE * GRANULE + GRANULE;
    if (size == 0) {
        return BP__CU_INVALID_VALUE;
    }
    if (used[of->device] + (long long)size > most) {
        return BP__CU_OUT_OF_MEMORY;
    }
    block *made = calloc(1, sizeof *made);
    uint8_t *bytes = malloc(size);
    void *where = mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!made || !bytes || where == MAP_FAILED) {
        free(made);
        free(bytes);
        return BP__CU_OUT_OF_MEMORY;
    }
    memset(bytes, 0xA5, size);
    *made = (block){.next = blocks, .address = (uint64_t)(uintptr_t)where, .size = size, .bytes = bytes, .of = of};
    blocks = made;
    used[of->device] += (long long)size;
    cuda_double.blocks++;
    *address = made->address;
    return BP__CU_SUCCESS;
}

void double_free_block(uint64_t address) {
    block *found = block_of(blocks, address, 1);
    if (!found || found->address != address) {
        double_violate("memory is freed that does not exist");
        return;
    }
    used[found->of->device] -= (long long)found->size;
    free(found->bytes);
    found->bytes = NULL;
    cuda_double.blocks--;
}

/* ---- The driver's functions ---- */

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
    context *current;
    CUresult code = double_enter(&current);
    pthread_mutex_lock(&double_mutex);
    code = code ? code : double_unsafe();
    code = code ? code : new_block(current, size, address);
    pthread_mutex_unlock(&double_mutex);
    return code;
}

/* It waits for the context's commands. */
CUresult cuMemFree_v2(CUdeviceptr address) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS && (!current || code != current->error)) {
        return code;
    }
    pthread_mutex_lock(&double_mutex);
    const CUresult refused = double_unsafe();
    if (refused == BP__CU_SUCCESS) {
        if (!double_has(FAULT_FREE)) {
            double_drain(current);
        }
        double_free_block(address);
    }
    pthread_mutex_unlock(&double_mutex);
    return refused ? refused : code;
}

/* Stream-ordered memory is there at once, and is freed by a command. */
CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream handle) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    pthread_mutex_lock(&double_mutex);
    const stream *on = double_stream(current, handle);
    code = !on               ? BP__CU_INVALID_HANDLE
           : on->capture     ? BP__CU_NOT_SUPPORTED
           : current->device ? BP__CU_NOT_SUPPORTED /* only the first device has pools */
                             : new_block(current, size, address);
    pthread_mutex_unlock(&double_mutex);
    return code;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    const task freeing = {.kind = TASK_FREE, .copy.dst = {true, address}};
    pthread_mutex_lock(&double_mutex);
    stream *on = double_stream(current, handle);
    code = on ? double_enqueue(on, &freeing) : BP__CU_INVALID_HANDLE;
    pthread_mutex_unlock(&double_mutex);
    return code;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *start, size_t *size, CUdeviceptr address) {
    context *current;
    CUresult code = double_enter(&current);
    if (code != BP__CU_SUCCESS) {
        return code;
    }
    pthread_mutex_lock(&double_mutex);
    const block *found = block_of(blocks, address, 1);
    if (found) {
        *start = found->address;
        *size = found->size;
    }
    pthread_mutex_unlock(&double_mutex);
    return found ? BP__CU_SUCCESS : BP__CU_INVALID_VALUE;
}

CUresult cuMemHostAlloc(void **address, size_t size, unsigned flags) {
    context *current;
    CUresult code = double_enter(&current);
    pthread_mutex_lock(&double_mutex);
    code = code ? code : double_unsafe();
    block *made = code ? NULL : calloc(1, sizeof *made);
    void *memory = made ? aligned_alloc(GRANULE, (size + GRANULE - 1) / GRANULE * GRANULE) : NULL;
    if (code == BP__CU_SUCCESS && (!memory || flags > 7)) {
        free(made);
        free(memory);
        code = memory ? BP__CU_INVALID_VALUE : BP__CU_OUT_OF_MEMORY;
    }
    if (code == BP__CU_SUCCESS) {
        *made = (block){.next = host_blocks, .address = (uint64_t)(uintptr_t)memory, .size = size, .bytes = memory};
        host_blocks = made;
        cuda_double.pinned++;
        *address = memory;
    }
    pthread_mutex_unlock(&double_mutex);
    return code;
}

/* Notes whether a stream has a command that uses memory of the host. */
static void look_for_use(stream *each, void *user) {
    const uint64_t address = (uint64_t)(uintptr_t)user;
    for (const task *t = each->first; t; t = t->next) {
        const bool reads = t->kind == TASK_COPY && !t->copy.src.on_device &&
                           block_of(host_blocks, t->copy.src.address, 1) &&
                           block_of(host_blocks, t->copy.src.address, 1)->address == address;
        const bool writes = t->kind == TASK_COPY && !t->copy.dst.on_device &&
                            block_of(host_blocks, t->copy.dst.address, 1) &&
                            block_of(host_blocks, t->copy.dst.address, 1)->address == address;
        if (reads || writes) {
            double_violate("pinned memory is freed that a command uses");
        }
    }
}

CUresult cuMemFreeHost(void *memory) {
    context *current;
    CUresult code = double_enter(&current);
    const bool keeps_error = code != BP__CU_SUCCESS && current && code == current->error; /* it frees nevertheless */
    pthread_mutex_lock(&double_mutex);
    const CUresult refused = code == BP__CU_SUCCESS || keeps_error ? double_unsafe() : code;
    block *found = block_of(host_blocks, (uint64_t)(uintptr_t)memory, 1);
    if (!found) {
        double_violate("pinned memory is freed that does not exist");
    } else if (refused == BP__CU_SUCCESS) {
        double_visit_streams(look_for_use, memory);
        free(found->bytes);
        found->bytes = NULL;
        cuda_double.pinned--;
    }
    pthread_mutex_unlock(&double_mutex);
    return refused ? refused : code;
}
