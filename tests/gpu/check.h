/* check.h - declares the rules that gpu_check examines, and what they use.
 *
 * A rule is a statement about CUDA's driver, or about the library on it, that the code relies on and that tests can
 * only check on a double of the driver. Each runs in a process of its own, since an error of a command stays with a
 * process, and under a time limit. */
#ifndef BP_TESTS_GPU_CHECK_H
#define BP_TESTS_GPU_CHECK_H

#include "cuda/program_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum outcome { PASSED, FAILED, SKIPPED } outcome;

typedef struct rule {
    const char *name;  /* "driver.events.pending" */
    const char *claim; /* a sentence */
    outcome (*check)(void);
} rule;

/* Lists that end with a rule without a name. */
extern const rule driver_rules[], capture_rules[], library_rules[], product_rules[], cublas_rules[], cudnn_rules[],
    attention_rules[], cufft_rules[], cusolver_rules[], kernel_rules[], costs[];

/* Prints the reason, and returns FAILED or SKIPPED. */
outcome fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
outcome skip_rule(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a measured value, which the report shows. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The call must have this answer of the driver. */
#define EXPECT(call, answer)                                                                                           \
    do {                                                                                                               \
        const unsigned code_ = (unsigned)(call);                                                                       \
        if (code_ != (unsigned)(answer)) {                                                                             \
            return fail("%s: %u in place of %u", #call, code_, (unsigned)(answer));                                    \
        }                                                                                                              \
    } while (0)
#define WORKS(call) EXPECT(call, BP__CU_SUCCESS)
#define HOLDS(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            return fail("%s does not hold", #condition);                                                               \
        }                                                                                                              \
    } while (0)
/* The call of the library must work. */
#define LIBRARY(call)                                                                                                  \
    do {                                                                                                               \
        if ((call) != BP_OK) {                                                                                         \
            return fail("%s: %s", #call, bp_last_error());                                                             \
        }                                                                                                              \
    } while (0)

/* The driver's functions (cu.c). open_driver() loads and initializes it. */
extern program_api cu;
outcome open_driver(void);
/* Makes the primary context of a device current. */
outcome use_device(int index, CUcontext *context);
#define NEEDS(call)                                                                                                    \
    do {                                                                                                               \
        const outcome needed_ = (call);                                                                                \
        if (needed_ != PASSED) {                                                                                       \
            return needed_;                                                                                            \
        }                                                                                                              \
    } while (0)

/* A gate in a stream: its later commands wait until it is opened. */
typedef struct gate gate;
gate *close_gate(CUstream stream); /* NULL: the driver refused it */
void open_gate(gate *own);

int64_t now_ns(void);

/* ---- The report (report.c) ---- */

typedef struct result {
    const rule *of;
    outcome found;
    double ms;
    char text[1024]; /* lines that the rule has printed */
} result;

/* Writes results.json and page.md into a folder, in place of earlier ones. Returns false if it cannot. */
bool write_report(const char *folder, const result *results, int count, int all);

#endif
