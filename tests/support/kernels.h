/* kernels.h - chooses how PoCL compiles kernels for tests, and where it keeps them. Linked into every test program. */
#ifndef BP_TESTS_SUPPORT_KERNELS_H
#define BP_TESTS_SUPPORT_KERNELS_H

/* Lets PoCL keep the kernels of this program in a folder of its own below the build folder, and compile them without
 * optimization, and once for all sizes of groups, which takes a quarter of the time. With TESTED_ALL kernels are
 * compiled as users get them. Call it before the first call of OpenCL. */
void test_kernels_setup(void);

#endif
