/* parts.h - declares what the files of the double share. */
#ifndef BP_TESTS_CUFFT_PARTS_H
#define BP_TESTS_CUFFT_PARTS_H

#include "double.h"

#include "cuda/libraries/driver.h"
#include "providers/cufft/api.h"

#include "backplane/version.h"

BP_API extern cufft_controls cufft_double;

void double_violate(const char *what);
bool double_has(cufft_fault fault);

/* Returns the bytes of an element of a cudaDataType; 0: an unknown type. */
size_t double_item(unsigned type);
bool double_is_complex(unsigned type);
/* Returns the elements of a dimension of one end of a transform. */
long long double_extent(const cufft_told *told, int end, int dim);
/* Returns the elements from the first to the last one of one end. */
long long double_span(const cufft_told *told, int end);

/* Transforms all items (transform.c). */
void double_transform(const cufft_told *told, uint64_t workspace);

#endif
