/* philox.h - the random numbers of random.h and of dropout: Philox 4x32-10 (Salmon and others, 2011). */
#ifndef BP_REFERENCE_PHILOX_H
#define BP_REFERENCE_PHILOX_H

#include <stdint.h>

/* Writes the four words of the block that a counter and a key give. */
void reference_philox(uint64_t low, uint64_t high, uint64_t key, uint32_t words[4]);

#endif
