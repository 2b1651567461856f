/* support_layouts.c - tells the layouts of our own definitions of CUDA's structs, which cannot be seen together with
 * cuda.h.
 */
#include "cuda/layout_fields.h"

#include "providers/cuda/api.h"

const size_t our_layouts[][2] = {LAYOUT_FIELDS(LAYOUT_OF) LAYOUT_SIZES};
