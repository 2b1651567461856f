/* sha256.h - declares SHA-256: for hashes that must not be forged. */
#ifndef BP_BASE_SHA256_H
#define BP_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct bp__sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    unsigned char block[64];
} bp__sha256;

void bp__sha256_begin(bp__sha256 *hash);
void bp__sha256_add(bp__sha256 *hash, const void *bytes, size_t size);
void bp__sha256_end(bp__sha256 *hash, unsigned char digest[32]);

#endif
