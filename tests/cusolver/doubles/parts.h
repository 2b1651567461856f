/* parts.h - declares what the files of the double share. */
#ifndef BP_TESTS_CUSOLVER_PARTS_H
#define BP_TESTS_CUSOLVER_PARTS_H

#include "double.h"

#include "cuda/libraries/driver.h"
#include "providers/cusolver/api.h"

#include "backplane/version.h"

BP_API extern cusolver_controls cusolver_double;

enum { ROUTINE_POTRF, ROUTINE_POTRS, ROUTINE_GETRF, ROUTINE_GETRS };

void double_violate(const char *what);
bool double_has(cusolver_fault fault);

/* Returns the bytes of an element of a cudaDataType; 0: an unknown type. */
size_t double_item(unsigned type);

/* Computes what a call was told (routines.c). */
void double_compute(const cusolver_told *told);

#endif
