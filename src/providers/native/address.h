/* address.h - the addresses of operands. One without elements may have none (NULL), and kernels step through it before
 * they see that nothing is to be read or written: steps from NULL are undefined in C. */
#ifndef BP_NATIVE_ADDRESS_H
#define BP_NATIVE_ADDRESS_H

#include "backplane/provider.h"

/* Returns the address of an operand that the problem has; never NULL. */
static inline void *bp__native_address(const bp_operand *operand) {
    static const _Alignas(64) char nothing[64]; /* no kernel writes to it */
    void *address = bp_operand_address(operand);
    return address ? address : (void *)(uintptr_t)nothing;
}

#endif
