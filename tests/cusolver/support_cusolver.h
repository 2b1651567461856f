/* support_cusolver.h - starts the library with the doubles of cuSOLVER and CUDA's driver, and checks linear algebra on
 * them. */
#ifndef BP_TESTS_CUSOLVER_SUPPORT_H
#define BP_TESTS_CUSOLVER_SUPPORT_H

#include "cuda/support_arrays.h"
#include "cusolver/doubles/double.h"
#include "providers/cusolver/api.h"
#include "support/contains.h"

#define CUSOLVER_DOUBLES BP_TEST_BUILD_DIR "/tests/cusolver-doubles"
#define I64(...) ((const int64_t[]){__VA_ARGS__})

/* For all tests of a program. Devices are "cuda:0" and "cuda:1"; the library is 'cusolver'. The end checks that nothing
 * is left. */
int start_cusolver(void **state);
int stop_cusolver(void **state);
/* For each test. CUSOLVER_FAULT names a rule that the double breaks (cusolver_fault). */
int begin_cusolver(void **state);
int end_cusolver(void **state);

cusolver_controls *the_cusolver(void);

enum { CASE_INPUTS = BP_LINALG_INPUTS, CASE_OUTPUTS = BP_LINALG_OUTPUTS };

/* A call with its operands, on the host and on the device. An operand without an array is absent. */
typedef struct linalg_case {
    bp_linalg_call call; /* fields of the operation; operands are set by run_case() */
    bp_dtype dtype;
    int device; /* its index */
    test_array in[CASE_INPUTS], out[CASE_OUTPUTS];
    on_device device_in[CASE_INPUTS], device_out[CASE_OUTPUTS];
} linalg_case;

/* Begins a case. Then the test adds its inputs, in order. */
linalg_case new_case(bp_op op, bp_dtype dtype);
/* Adds an input with random numbers; sets *index, if given, to its number. */
test_array *add_input(linalg_case *c, int ndim, const int64_t *shape, test_layout layout);
/* Makes the last two dimensions of an array positive definite, or diagonally dominant. */
void make_definite(test_array *a);
void make_dominant(test_array *a);
/* Makes the outputs, and puts everything on the device. Bit i of `absent`: output i is absent. */
void put_case(linalg_case *c, test_layout layout, unsigned absent);
void free_case(linalg_case *c);
/* Runs the call on the device, waits, and reads the outputs. */
bp_status run_case(linalg_case *c);
/* The same; and the results satisfy their equations, and nothing else was written. */
void check_case(linalg_case *c, const char *text);
/* The call with the operands on the device, or on the host. */
const bp_linalg_call *device_call(linalg_case *c);
const bp_linalg_call *host_call(linalg_case *c);
/* Returns the explanation of a call, valid until the next one. */
const char *explained_case(linalg_case *c, const char *settings);
/* Makes a plan of the call, and its operands. */
bp_plan *plan_case(linalg_case *c, bp_operand operands[CASE_INPUTS + CASE_OUTPUTS]);
/* Writes the arrays of the inputs to the device again. */
void write_inputs(linalg_case *c);

#endif
