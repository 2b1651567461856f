/* fft_tables.h - declares how the sizes of transforms are divided into passes, and the tables of the kernels. */
#ifndef BP_PROVIDERS_KERNELS_FFT_TABLES_H
#define BP_PROVIDERS_KERNELS_FFT_TABLES_H

#include "providers/kernels/families.h"

enum { BP__KERNEL_FFT_PASSES = 40 };

/* Returns the points of the passes: n, or the power of 2 with which n is transformed as a convolution, because n has a
 * large prime factor; 0: n is too large. */
int64_t bp__kernel_fft_points(int64_t n);
/* Sets the radices of the passes. Returns how many there are. */
int bp__kernel_fft_passes(int64_t points, uint8_t radix[BP__KERNEL_FFT_PASSES]);

/* Makes the table that sources/fft.cl describes, for host->release(). */
bp_status bp__kernel_fft_table(const bp_host *host, int64_t n, int64_t points, bool is_double, void **table,
                               size_t *size);

#endif
