/* parts.h - declares what the files of the doubles share. */
#ifndef BP_TESTS_CUBLAS_PARTS_H
#define BP_TESTS_CUBLAS_PARTS_H

#include "double.h"

#include "cuda/libraries/driver.h"
#include "providers/cublas/api.h"

#include "backplane/version.h"

#include <pthread.h>

BP_API extern cublas_controls cublas_double;

extern pthread_mutex_t double_mutex; /* guards lists of objects and what was told */

void double_violate(const char *what);
bool double_has(cublas_fault fault);
/* Returns the number behind a name in CUBLAS_DOUBLE, such as "version=". */
long double_setting(const char *name, long otherwise);

/* ---- Handles (driver.c) ---- */

/* The begin of a handle. Handles are never freed, so that their use after the end is noticed. */
typedef struct double_handle {
    struct double_handle *next;
    CUcontext of;
    bool destroyed;
} double_handle;

/* Makes a handle of `size` bytes in the current context. */
cublasStatus_t double_handle_new(size_t size, double_handle **made);
/* Returns whether a handle exists, and works in the current context, in which it was made; else notes a violation. */
bool double_handle_is_ready(const double_handle *handle);
void double_handle_end(double_handle *handle);

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
