/* passes.h - moves the tensors of a forward call to the fields of a gradient that has gradients by them. */
#ifndef BP_TESTS_SUPPORT_PASSES_H
#define BP_TESTS_SUPPORT_PASSES_H

#include "backplane/calls.h"

/* Sets the pass of a bp_<name>_call. A tensor that the pass does not have moves to the field of the gradient by it, if
 * the pass has this one and the field is NULL: `output` to output_gradient. Other tensors stay. */
void test_call_to_pass(const char *name, void *arguments, int pass);

#endif
