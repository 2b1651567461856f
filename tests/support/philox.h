/* philox.h - the known answers of Philox 4x32-10, from the distribution of the authors' implementation, Random123. */
#ifndef BP_TESTS_SUPPORT_PHILOX_H
#define BP_TESTS_SUPPORT_PHILOX_H

#include <stdint.h>

/* Counter, key, result. */
static const struct test_philox {
    uint64_t low, high, key;
    uint32_t result[4];
} test_philox_answers[] = {
    {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {UINT64_C(0x85a308d3243f6a88),
     UINT64_C(0x0370734413198a2e),
     UINT64_C(0x299f31d0a4093822),
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};
enum { TEST_PHILOX_ANSWERS = sizeof test_philox_answers / sizeof *test_philox_answers };

#endif
