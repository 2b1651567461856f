/* family.h - declares what dispatch uses of an operation family, and the operations of the public table. */
#ifndef BP_DISPATCH_FAMILY_H
#define BP_DISPATCH_FAMILY_H

#include "backplane/dispatch.h"
#include "base/base.h"
#include "base/operation.h"
#include "calibration/calibration.h"
#include "dispatch/elements.h"
#include "settings/internal.h"

typedef struct bp__candidate bp__candidate;

/* ---- Adapters: work on operands before and after the provider's call ---- */
typedef struct bp__adapter {
    /* Returns a description of the adapter's work, as text that follows "; ". Returns NULL if the provider works
     * directly on the caller's memory. */
    const char *(*applies)(const bp_problem *problem);
    /* Changes the problem into the one that providers evaluate. */
    void (*layout)(bp_problem *problem);
    /* Wraps the adapter around `inner`, a plan for the problem of layout(). Takes ownership of it on success. */
    bp_status (*wrap)(const bp_problem *problem, bp_prepared *inner, bp_prepared **wrapped);
} bp__adapter;

/* ---- Operations (operations.c) ----
 *
 * The operations of one family share a parameter struct, and dispatch chooses, caches and describes them in the same
 * way. This description is all that dispatch uses of a family. It is defined in the family's folder in ops/. */

typedef enum bp__cache_kind { BP__CACHE_GENERAL, BP__CACHE_TRANSFORMS, BP__CACHES } bp__cache_kind;

#define BP__NO_SETTING (-1)

/* Memory layout of an operand. */
typedef struct bp__layout {
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_BATCH_NDIM + 2], strides[BP_MAX_BATCH_NDIM + 2];
} bp__layout;

/* Settings of one family that narrow the settings of all operations. */
typedef struct bp__family_limits {
    bp_setting_id deterministic;   /* as `deterministic`; the stricter of the two applies */
    bp_setting_id benchmark_limit; /* replaces benchmark_limit; -1: does not */
} bp__family_limits;

/* What settings of cuda and cudnn apply on devices of CUDA and ROCm, besides cudnn.enabled and cudnn.deterministic. */
typedef struct bp__cuda_settings {
    bp_setting_id precision; /* limits the rounding of f32 inputs, and the settings of products apply; 0: neither */
    bp_setting_id library;   /* names the preferred library (BP_PRODUCTS_LIBRARY); 0: none, or `precision` is not 0 */
    bool convolutions;       /* the settings of convolutions apply; some are linear layers (bp__precision_of_linear) */
} bp__cuda_settings;

/* A kernel that settings enable and order: an algorithm, or with NULL all that no other entry has. */
typedef struct bp__kernel {
    const char *algorithm; /* its first word */
    const char *name; /* in the setting of the order; one name of several kernels, if they are next to each other */
    bp_setting_id enabled;
} bp__kernel;

#define BP__KERNELS_MOST 8
typedef struct bp__kernels {
    bp__kernel list[BP__KERNELS_MOST];
    int count;
    bp_setting_id order;
} bp__kernels;

/* What measuring the problems of a family needs (src/ops/<family>/measuring.c). */
struct bp__trial;
typedef struct bp__class_place {
    int class;
    double sizes[2];
    bool differs; /* what was measured differs from the problem in more than the sizes */
} bp__class_place;

typedef struct bp__measuring {
    /* Adds to the layouts of private operands what makes the problem valid and its result comparable: the values of
     * inputs, outputs that are read, the size of rounding errors. NULL: nothing. */
    void (*finish_trial)(struct bp__trial *trial);
    /* Fills a zeroed problem except for the policy: what calibration measures at a point of a class. */
    bp_status (*sample)(bp_problem *problem, const bp__class *class, const int64_t sizes[BP__LATTICE_DIMENSIONS]);
    /* Finds the class whose ratios apply to an offer, and where the problem is in its lattice; leaves place->class -1
     * if there is none. NULL: there are none, or `predict` is used. */
    void (*place)(const bp_problem *problem, const bp_verdict *verdict, bp__class_place *place);
    /* Returns the predicted time of an offer; 0 if there is none. `preferred` is the offer of the same candidate that
     * the provider prefers. NULL: `place` is used. */
    double (*predict)(const bp__candidate *candidate, const bp_problem *problem, const bp_verdict *verdict,
                      const bp_verdict *preferred, bp__accuracy *accuracy);
    /* Removes the sizes, and of the strides all but their kinds, so that similar problems become equal. NULL: a problem
     * has no similar ones. */
    void (*forget_sizes)(bp_problem *problem);
    bool plans_by_measuring; /* libraries may measure while they make a plan, with limits of their own */
} bp__measuring;

/* The setting of a family's preferred library. */
typedef struct bp__preference {
    const char *what;    /* the operations, for messages: "matrix products are" */
    const char *lacking; /* what a library without them does not offer, for messages */
    unsigned kinds;      /* BP_LIB_ mask of the libraries that have them */
} bp__preference;

typedef struct bp__family {
    size_t size;    /* of the family's parameters, a member of bp_problem.of */
    int preference; /* the bp_setting_id of the family's preferred library; BP__NO_SETTING: there is none */
    const bp__preference *preferred; /* what such a library must offer; NULL: another family with this setting tells */
    int precision; /* the fp32_precision setting that limits the rounding of f32 inputs on the host; BP__NO_SETTING:
                    * inputs are never rounded, but on CUDA and ROCm if `cuda` has a setting */
    bp__cuda_settings cuda;
    int enabled;   /* the setting that lists the libraries which may run, empty: all; BP__NO_SETTING: there is none */
    int benchmark; /* the setting that measures the family's candidates; BP__NO_SETTING: there is none */
    const bp__family_limits *limits; /* NULL: only the settings of all operations apply */
    bp__cache_kind cache;            /* the cache of the family's plans */
    bool products;                   /* the problem text names the operation, and the settings of products apply */
    /* Checks a request and converts it to canonical form. Fills a zeroed problem except for the policy. NULL for
     * operations that only occur as steps of others. */
    bp_status (*make)(bp_problem *problem, const void *request);
    void (*describe)(const bp_problem *problem, char *buffer, size_t size);
    /* Returns whether the problem needs no library, so that no preference applies. NULL: every problem needs one. */
    bool (*is_trivial)(const bp_problem *problem);
    /* Returns whether a run with alpha 1 and beta 0 is not one of this problem. NULL: never. */
    bool (*needs_scalars)(const bp_problem *problem);
    /* Refuses an alpha or beta of another class. NULL: the operation has neither, and only 1 and 0 are taken. */
    bp_status (*check_scalars)(const bp_problem *problem, const bp_scalar *scalars);
    /* Writes type, shape and strides of an input. Returns false if there is no such input. NULL: inputs cannot be
     * packed. */
    bool (*input_layout)(const bp_problem *problem, int operand, bp__layout *layout);
    /* Describes the elements of an operand (bp__elements_add), whose index is its position in BP_OP_MAP. Returns false
     * if it is absent. NULL: the operation is no problem of a provider. */
    bool (*elements)(const bp_problem *problem, int operand, bp__elements *elements);
    bp__sharing (*sharing)(const bp_problem *problem, int input); /* with the output; NULL: BP__APART */
    /* Fails with the meaning of the number that a library returned for an item: see bp_host.fail_numeric. NULL: no
     * library returns such numbers. */
    bp_status (*fail_item)(const bp_problem *problem, int64_t item, int64_t info);
    bool (*has_items_as_rows)(const bp_problem *problem); /* so that equal items need equal rows; NULL: never */
    /* Whether other parts of the call run on native's threads, so that no other library's threads may; NULL: never. */
    bool (*runs_with_native)(const bp_problem *problem);
    int host_inputs;                                /* the first inputs, which are in host memory on every device */
    bool (*has_callers)(const bp_problem *problem); /* several threads call the library at once; NULL: never */
    /* Returns the minor number from which on the provider interface has all fields that matter in the problem. An older
     * provider would not look at them, and is refused. NULL: all have them. */
    uint32_t (*least_minor)(const bp_problem *problem);
    const bp__adapter *adapter;                     /* NULL: none */
    const bp__measuring *measuring;                 /* NULL: the operation is no problem of a provider */
    const bp__kernels *kernels;                     /* NULL: settings do not name algorithms */
} bp__family;

/* One more than the greatest number of an operation. */
enum {
#define X(number, name, text, inputs, outputs, family) BP__OPERATIONS_TO_##name = number,
    BP_OP_MAP(X)
#undef X
        BP__OPERATIONS
};

/* All families, spelled as in BP_OP_MAP. einsum and graph have no problem of providers. */
#define BP__FAMILY_MAP(X) X(einsum) X(graph) BP_FAMILY_MAP(BP__FAMILY_OF_ROW, X)
#define BP__FAMILY_OF_ROW(X, family, ...) X(family)
enum {
#define X(name) BP__FAMILY_##name,
    BP__FAMILY_MAP(X)
#undef X
        BP__FAMILIES
};
#define X(name)                                                                                                        \
    extern const bp__family bp__family_##name;                                                                         \
    extern const bp__measuring bp__measuring_##name;
BP__FAMILY_MAP(X)
#undef X

const bp__family *bp__family_at(int index);
const bp__family *bp__family_of(const bp_problem *problem);
/* Describes the elements of an operand. Returns false if there are none. (trial.c) */
bool bp__operand_elements(const bp_problem *problem, int operand, bp__elements *elements);
bool bp__writes_nothing(const bp_problem *problem);                    /* no output has elements */
bp__sharing bp__operand_sharing(const bp_problem *problem, int input); /* with the output */
/* Makes a plan and runs it on host memory of the library. */
bp_status bp__problem_run(const bp_problem *problem, const bp_operand *operands);
size_t bp__problem_size(const bp_problem *problem); /* bytes in use: the union may be larger */
void bp__problem_text(const bp_problem *problem, char *buffer, size_t size);
const char *bp__adapted(const bp_problem *problem); /* description of the adapter's work, or NULL */

#endif
