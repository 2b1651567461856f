/* families.h - declares what the families of operations share: options of programs, costs, and how the elements of a
 * problem are divided among work items. */
#ifndef BP_PROVIDERS_KERNELS_FAMILIES_H
#define BP_PROVIDERS_KERNELS_FAMILIES_H

#include "providers/least.h"
#include "providers/kernels/kernels.h"

/* Most dimensions that a kernel takes, after neighbours were merged. The arguments of a kernel have a limited size:
 * 1024 bytes on every device. */
#define BP__KERNEL_DIMS 24

/* ---- Types (family.c) ---- */

/* Returns the name of a type in the kernels: "f16", "c64", "b8" for bool. */
const char *bp__kernel_type(uint32_t dtype);
/* Returns the bytes of an element. A module cannot call bp_dtype_size(). */
size_t bp__kernel_bytes(uint32_t dtype);

/* ---- Verdicts (family.c) ---- */

static inline bool bp__kernel_is_cpu(const bp_device_info *facts) {
    return facts->can & BP_DEVICE_IS_CPU;
}

/* Whether numbers of the type are computed in f64. */
static inline bool bp__kernel_is_double(uint32_t dtype) {
    return dtype == BP_F64 || dtype == BP_C128;
}

static inline bool bp__kernel_has_f64(const bp_device_info *facts) {
    return facts->can & BP_DEVICE_CAN_F64;
}

/* Refuses, and returns true, if the device does not compute in f64. `what` needs it, such as "sums of f32". */
bool bp__kernel_lacks_f64(const bp_device_info *facts, const char *what, bp_offers *offers);

/* Estimates the nanoseconds of an algorithm from the facts of the device. Only ranks candidates. */
double bp__kernel_time(const bp_device_info *facts, double bytes, double flops, int launches);

/* Offers an algorithm that moves `bytes` and computes `flops`, with `launches` kernels. */
void bp__kernel_offer(const bp_device_info *facts, const char *algorithm, uint32_t properties, double bytes,
                      double flops, int launches, size_t workspace, bp_offers *offers, const void *found, size_t size);

/* Sums are f64, or pairs of f32 on devices without it. */
static inline uint32_t bp__kernel_accumulates(const bp_device_info *facts) {
    return bp__kernel_has_f64(facts) ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32;
}

/* Each element is computed alone, or in an order that depends on the problem and the device only. */
#define BP__KERNEL_REPRODUCIBLE (BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT)

/* Ends plan(): hands over the steps, or frees them if `status` is a failure, which is returned. */
bp_status bp__kernel_plan_finish(bp_status status, bp__kernel_plan *steps, bp_prepared **prepared);

/* ---- Dimensions (dims.c) ---- */

#define BP__KERNEL_OPERANDS 4

/* Dimensions with the strides of several operands. */
typedef struct bp__kernel_dims {
    int ndim, operands;
    int64_t total; /* product of the sizes */
    int64_t size[BP_MAX_ELEMENTWISE_NDIM];
    int64_t stride[BP__KERNEL_OPERANDS][BP_MAX_ELEMENTWISE_NDIM];
} bp__kernel_dims;

/* Orders the dimensions by the strides of operand `by`, the smallest last, and merges neighbours. There is at least one
 * dimension afterwards. Returns false if too many are left, or if the product of the sizes is too large. */
bool bp__kernel_dims_simplify(bp__kernel_dims *dims, int by);

/* Multiplies; returns false if the product does not fit. */
static inline bool bp__kernel_multiply(int64_t *product, int64_t factor) {
    return !__builtin_mul_overflow(*product, factor, product);
}

static inline int64_t bp__kernel_divide_up(int64_t a, int64_t b) {
    return a / b + (a % b != 0);
}

/* Sets the work items of a step whose kernel loops over `total` units of `work` nanoseconds: each takes `*run`
 * neighbouring units at once. */
void bp__kernel_spread(bp__kernel_step *step, const bp_device_info *facts, int64_t total, double work, int64_t *run);

/* ---- Walks (walk.c), the struct of the same name in sources/walk.cl ---- */

typedef struct bp__kernel_walk {
    int64_t results, reduced, tiles, chunks, parts, part;
    int32_t ndim, kept_ndim, columns, interleaved;
    int32_t members, reserved;
    int64_t size[BP__KERNEL_DIMS];
    int64_t stride[3][BP__KERNEL_DIMS];
} bp__kernel_walk;

/* The same as a kernel's argument, with fewer dimensions and operands. */
typedef struct bp__kernel_walk_bytes {
    size_t size;
    char bytes[sizeof(bp__kernel_walk)];
} bp__kernel_walk_bytes;
void bp__kernel_walk_pack(const bp__kernel_walk *walk, int operands, int dims, bp__kernel_walk_bytes *packed);

/* How a walk may be divided. */
typedef struct bp__kernel_walk_limits {
    int lanes;       /* of a tile on processors */
    int most_parts;  /* of a result, on processors */
    int64_t least;   /* elements of a part there, at least */
    int64_t longest; /* elements that one part may have there */
} bp__kernel_walk_limits;

/* Divides the work of a walk, whose dimensions are set. Returns false if products of sizes are too large. */
bool bp__kernel_walk_divide(bp__kernel_walk *walk, int operands, const bp_device_info *facts,
                            const bp__kernel_walk_limits *limits);
/* Adds the options of the kernels that walk: LANES, GROUP. */
void bp__kernel_walk_options(bp__kernel_options *options, const bp_device_info *facts,
                             const bp__kernel_walk_limits *limits);
/* Sets the work items of a step: of each part, or with the parts joined. */
void bp__kernel_walk_spread(bp__kernel_step *step, const bp__kernel_walk *walk, const bp_device_info *facts,
                            bool joined);

#endif
