/* reference.c - remembers the calls for which the library has no kernel of its own.
 *
 * Reference loops are hundreds of times slower than kernels. A batch whose items are multiplied one by one takes up to
 * thirty times as long as one in a layout for which the library has a kernel, and a convolution of images that are not
 * channels-last four times as long, if they have few positions. Which implementation the library takes is
 * known only when a plan asks it. That plan fails, the call is noted, and the choice is made again: the provider then
 * offers the implementation as such, with its price. The table has one place for each hash: a call that loses its place
 * is found again by its next plan. */
#include "providers/onednn/onednn.h"

#include <stdatomic.h>
#include <string.h>

enum { PLACES = 1024 };
static atomic_uint_least64_t places[PLACES];

static uint64_t add(uint64_t hash, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static uint64_t add_operand(uint64_t hash, const bp__onednn_operand *o) {
    const bp__onednn_tensor *t = &o->tensor;
    hash = add(hash, &o->argument, sizeof o->argument);
    hash = add(hash, &o->type, sizeof o->type);
    hash = add(hash, &t->ndim, sizeof t->ndim);
    hash = add(hash, t->size, (size_t)t->ndim * sizeof *t->size);
    return add(hash, t->stride, (size_t)t->ndim * sizeof *t->stride);
}

/* Returns a hash of what the library is asked for, which does not depend on the threads. */
static uint64_t hash_of(const bp__driver *driver, const bp__onednn_call *call) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)(uintptr_t)driver;
    for (int i = 0; i < BP__ONEDNN_MOST_OPERANDS; i++) {
        hash = call->operand[i].argument ? add_operand(hash, &call->operand[i]) : hash;
    }
    hash = add(hash, &call->kind, sizeof call->kind);
    hash = add(hash, &call->fpmath, sizeof call->fpmath);
    hash = add(hash, call->kernel, sizeof call->kernel);
    hash = add(hash, call->stride, sizeof call->stride);
    hash = add(hash, call->dilation, sizeof call->dilation);
    hash = add(hash, call->begin, sizeof call->begin);
    hash = add(hash, call->end, sizeof call->end);
    hash = add(hash, &call->algorithm, sizeof call->algorithm);
    hash = add(hash, &call->flags, sizeof call->flags);
    hash = add(hash, &call->relu, sizeof call->relu);
    return add(hash, &call->adds, sizeof call->adds);
}

/* The low bits of an entry have the way; the low bits of the hash are not used. */
enum { WAYS = 3 };

void bp__onednn_note_way(const bp__driver *driver, const bp__onednn_call *call, bp__onednn_way way) {
    const uint64_t hash = hash_of(driver, call);
    atomic_store_explicit(&places[hash / (WAYS + 1) % PLACES], (hash & ~(uint64_t)WAYS) | way, memory_order_relaxed);
}

bp__onednn_way bp__onednn_noted_way(const bp__driver *driver, const bp__onednn_call *call) {
    const uint64_t hash = hash_of(driver, call);
    const uint64_t noted = atomic_load_explicit(&places[hash / (WAYS + 1) % PLACES], memory_order_relaxed);
    return (noted ^ hash) & ~(uint64_t)WAYS ? BP__ONEDNN_BY_KERNEL : (bp__onednn_way)(noted & WAYS);
}

static bool has_batch(const bp__onednn_call *call) {
    const bp__onednn_tensor *t = &call->operand[BP__ONEDNN_RESULT].tensor;
    int64_t items = 1;
    for (int i = 0; i < t->ndim - 2; i++) {
        items *= t->size[i];
    }
    return items > 1;
}

static bool is_convolution(const bp__onednn_call *call) {
    return call->kind == BP__ONEDNN_CONVOLVE || call->kind == BP__ONEDNN_TRANSPOSE || call->kind == BP__ONEDNN_GRADIENT;
}

/* Loops without vectors, which average contiguous images with fewer channels than a vector has. */
static bool is_simple_pooling(const bp__onednn_plan *plan, const char *name) {
    const bp__onednn_call *call = &plan->call;
    return (call->kind == BP__ONEDNN_AVERAGE || call->kind == BP__ONEDNN_AVERAGE_BACKWARD) &&
           strncmp(name, "simple", 6) == 0;
}

/* The library's own name of its recurrent layers on kernels of products begins as the name of reference loops. Its
 * names of products and convolutions by a routine for a single product begin with "gemm", or with the architecture and
 * "gemm". */
bp__onednn_way bp__onednn_way_of(const bp__onednn_plan *plan) {
    const char *name = "";
    if (plan->call.kind == BP__ONEDNN_RECUR ||
        plan->api.primitive_desc_query(plan->description, BP__ONEDNN_QUERY_NAME, 0, &name) != BP__ONEDNN_OK) {
        return BP__ONEDNN_BY_KERNEL;
    }
    if (strncmp(name, "ref", 3) == 0 || strstr(name, "+ref") || is_simple_pooling(plan, name)) {
        return BP__ONEDNN_BY_LOOPS;
    }
    if (strncmp(name, "gemm", 4) != 0 && !strstr(name, ":gemm:")) {
        return BP__ONEDNN_BY_KERNEL;
    }
    return is_convolution(&plan->call)                                        ? BP__ONEDNN_BY_COLUMNS
           : plan->call.kind == BP__ONEDNN_MULTIPLY && has_batch(&plan->call) ? BP__ONEDNN_BY_ITEMS
                                                                              : BP__ONEDNN_BY_KERNEL;
}
