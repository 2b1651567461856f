/* words.c - keeps small pieces of pinned memory, to which runs copy what is examined when they have ended.
 *
 * A copy to memory that is not pinned would wait for the run. Pinning memory takes the driver long and may wait for
 * all commands. So a device pins a block for many runs, and frees it when it closes. */
#include "providers/cuda/vendor.h"

enum { WORDS = 2, PIECES = 128 };

struct bp__cu_words {
    bp__cu_words *next;
    uint64_t words[PIECES][WORDS];
};

/* A piece that is not used has the address of the next one. */
static void put_piece(bp__cu_device *device, uint64_t *piece) {
    piece[0] = (uint64_t)(uintptr_t)device->unused_words;
    device->unused_words = piece;
}

/* Adds a block, under the device's mutex. */
static bp_status add_block(bp__cu_device *device) {
    void *address;
    const bp_status status = bp__cu_host_allocate(device, sizeof(bp__cu_words), &address);
    if (status != BP_OK) {
        return status;
    }
    bp__cu_words *block = address;
    block->next = device->words;
    device->words = block;
    for (int i = 0; i < PIECES; i++) {
        put_piece(device, block->words[i]);
    }
    return BP_OK;
}

bp_status bp__cu_words_take(bp__cu_device *device, uint64_t **words) {
    pthread_mutex_lock(&device->mutex);
    const bp_status status = device->unused_words ? BP_OK : add_block(device);
    if (status == BP_OK) {
        *words = device->unused_words;
        device->unused_words = (uint64_t *)(uintptr_t)(*words)[0];
    }
    pthread_mutex_unlock(&device->mutex);
    return status;
}

void bp__cu_words_give(bp__cu_device *device, uint64_t *words) {
    pthread_mutex_lock(&device->mutex);
    put_piece(device, words);
    pthread_mutex_unlock(&device->mutex);
}

void bp__cu_words_free(bp__cu_device *device) {
    while (device->words) {
        bp__cu_words *block = device->words;
        device->words = block->next;
        bp__cu.MemFreeHost(block);
    }
}
