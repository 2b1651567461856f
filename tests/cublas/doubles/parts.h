/* parts.h - declares what the files of the doubles share. */
#ifndef BP_TESTS_CUBLAS_PARTS_H
#define BP_TESTS_CUBLAS_PARTS_H

#include "double.h"

#include "cuda/doubles/double.h"
#include "cuda/program_api.h"
#include "providers/cublas/api.h"

#include "backplane/version.h"

#include <pthread.h>

BP_API extern cublas_controls cublas_double;

extern pthread_mutex_t double_mutex; /* guards lists of objects and what was told */

void double_violate(const char *what);
bool double_has(cublas_fault fault);
/* Returns the number behind a name in CUBLAS_DOUBLE, such as "version=". */
long double_setting(const char *name, long otherwise);

/* ---- The driver (driver.c) ---- */

/* Returns the current context; NULL if there is none, or the driver cannot be called. */
CUcontext double_context(void);
/* Returns bytes of a device, NULL if there are none. */
uint8_t *double_bytes(uint64_t address, size_t size);

/* ---- Products (product.c) ---- */

typedef struct number {
    double re, im;
} number;

/* A product that waits in a stream. It stays, because graphs run it again. */
typedef struct product {
    struct product *next;
    cublas_told told;
    number alpha, beta;
    uint64_t a, b, c, d, bias, workspace;
} product;

/* Returns the bytes of an element of a cudaDataType; 0: an unknown type. */
size_t double_item(uint32_t type);
number double_read(uint32_t type, const void *bytes, int64_t index);

/* Checks the sizes and types of a product, and whether its memory exists. */
cublasStatus_t double_check(const product *p);
/* Enqueues a copy of it in a stream. */
cublasStatus_t double_enqueue(const product *p, CUstream stream);

#endif
