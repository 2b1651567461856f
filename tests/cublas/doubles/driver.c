/* driver.c - what the doubles of cuBLAS use of the double of CUDA's driver, which the process has loaded. */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>

cublas_controls cublas_double;
pthread_mutex_t double_mutex = PTHREAD_MUTEX_INITIALIZER;

void double_violate(const char *what) {
    if (atomic_fetch_add(&cublas_double.violations, 1) == 0) {
        snprintf(cublas_double.violation, sizeof cublas_double.violation, "%s", what);
    }
}

bool double_has(cublas_fault fault) {
    return cublas_double.fault == (int)fault;
}

long double_setting(const char *name, long otherwise) {
    return double_number("CUBLAS_DOUBLE", name, otherwise);
}

__attribute__((constructor)) static void choose_fault(void) {
    cublas_double.fault = (int)double_setting("fault=", CUBLAS_FAULT_NONE);
}

/* ---- Handles ---- */

static double_handle *handles; /* all, also those that were destroyed */

cublasStatus_t double_handle_new(size_t size, double_handle **made) {
    const CUcontext current = double_context();
    if (cublas_double.refuse_create) {
        return (cublasStatus_t)cublas_double.refuse_create;
    }
    double_handle *fresh = current ? calloc(1, size) : NULL;
    if (!fresh) {
        return BP__CUBLAS_STATUS_NOT_INITIALIZED;
    }
    fresh->of = current;
    pthread_mutex_lock(&double_mutex);
    fresh->next = handles;
    handles = fresh;
    pthread_mutex_unlock(&double_mutex);
    cublas_double.handles++;
    *made = fresh;
    return BP__CUBLAS_STATUS_SUCCESS;
}

bool double_handle_is_ready(const double_handle *handle) {
    if (!handle || handle->destroyed) {
        double_violate("a handle is used that does not exist");
        return false;
    }
    if (double_context() != handle->of) {
        double_violate("a handle is used in another context");
        return false;
    }
    return true;
}

void double_handle_end(double_handle *handle) {
    handle->destroyed = true;
    cublas_double.handles--;
}

/* ---- Products in streams ---- */

void double_run(product *p); /* product.c */

static void run(void *user) {
    double_run(user);
    cublas_double.run++;
}

static product *products; /* all: graphs run them again */

cublasStatus_t double_enqueue(const product *filled, CUstream stream) {
    product *p = malloc(sizeof *p);
    if (!p) {
        return BP__CUBLAS_STATUS_ALLOC_FAILED;
    }
    *p = *filled;
    pthread_mutex_lock(&double_mutex);
    p->next = products;
    products = p;
    cublas_double.told = p->told;
    pthread_mutex_unlock(&double_mutex);
    cublas_double.calls++;
    if (double_has(CUBLAS_FAULT_ORDER)) {
        run(p);
        return BP__CUBLAS_STATUS_SUCCESS;
    }
    return double_launch(stream, run, p) ? BP__CUBLAS_STATUS_SUCCESS : BP__CUBLAS_STATUS_EXECUTION_FAILED;
}
