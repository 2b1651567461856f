/* kernel_width.h - instantiates all transform kernels of one type and width, and undefines the parameters LANES and
 * EACH_LANE. */
#include "kernel_lanes.h"

#include "kernel_pass.h"

#include "kernel_load_store.h"

#include "kernel_real.h"

#undef NAME_OF
#undef NAME_WITH
#undef NAME
#undef VECTOR
#undef COMPLEX
#undef IN_LANE
#undef LANE_OF
#undef RE_AT
#undef IM_AT
#undef LOW_AT
#undef HIGH_AT
#undef LANE_AT
#undef ELEMENT_AT
#undef SHUFFLE
#undef KEEP_AT
#undef TAKE_AT
#undef EXCHANGE
#undef MINUS_I
#undef PLUS_I
#undef RADIX
#undef EACH_RADIX
#undef WIDEST_RADIX
#undef LANE_OF_LINE
#undef MIRRORED_AT
#undef LANES
#undef EACH_LANE
