/* copy_kernel.c - has the kernels that copy strided layouts, as PTX, and loads them when they are first needed.
 *
 * PTX is compiled by the driver, so that no compiler of the toolkit is needed. A thread copies one unit. Its number is
 * divided into indices of the dimensions, the innermost one first, until nothing is left: all further indices are 0.
 * There is one kernel for each size of units. Version and target are the oldest ones that we need. */
#include "providers/cuda/ptx.h"
#include "providers/cuda/runtime.h"

#include <stddef.h>

/* The places of the parameter's members, for the text. */
_Static_assert(offsetof(bp__cu_units, dst) == 0 && offsetof(bp__cu_units, src) == 8 &&
                   offsetof(bp__cu_units, count) == 16 && offsetof(bp__cu_units, size) == 24 &&
                   offsetof(bp__cu_units, dst_stride) == 96 && offsetof(bp__cu_units, src_stride) == 168 &&
                   sizeof(bp__cu_units) == 240,
               "the kernels have these numbers");

/* Takes the index of a dimension off %number. */
#define DIMENSION(size, dst_stride, src_stride)                                                                        \
    "ld.param.u64 %size, [all+" #size "];\n"                                                                           \
    "div.u64 %rest, %number, %size;\n"                                                                                 \
    "mul.lo.u64 %index, %rest, %size;\n"                                                                               \
    "sub.u64 %index, %number, %index;\n"                                                                               \
    "ld.param.u64 %stride, [all+" #dst_stride "];\n"                                                                   \
    "mad.lo.u64 %to, %index, %stride, %to;\n"                                                                          \
    "ld.param.u64 %stride, [all+" #src_stride "];\n"                                                                   \
    "mad.lo.u64 %from, %index, %stride, %from;\n"                                                                      \
    "mov.u64 %number, %rest;\n"                                                                                        \
    "setp.eq.u64 %done, %number, 0;\n"                                                                                 \
    "@%done bra MOVE;\n"

#define KERNEL(name, registers, load, store)                                                                           \
    ".visible .entry " name "(.param .align 8 .b8 all[240])\n"                                                         \
    "{\n"                                                                                                              \
    ".reg .pred %done;\n" registers BP__PTX_FIND_ELEMENT DIMENSION(24, 96, 168) DIMENSION(32, 104, 176)                \
        DIMENSION(40, 112, 184) DIMENSION(48, 120, 192) DIMENSION(56, 128, 200) DIMENSION(64, 136, 208)                \
            DIMENSION(72, 144, 216) DIMENSION(80, 152, 224) DIMENSION(88, 160, 232) "MOVE:\n" load store "END:\n"      \
                                                                                    "ret;\n"                           \
                                                                                    "}\n"

/* The value of a unit in one register, or in two. */
#define NARROW(name, bits, type)                                                                                       \
    KERNEL(name, ".reg .b" bits " %value;\n", "ld." type " %value, [%from];\n", "st." type " [%to], %value;\n")
#define WIDE(name)                                                                                                     \
    KERNEL(name, ".reg .b64 %low, %high;\n", "ld.v2.u64 {%low, %high}, [%from];\n", "st.v2.u64 [%to], {%low, %high};\n")

static const char text[] = ".version 7.4\n"
                           ".target sm_50\n"
                           ".address_size 64\n" NARROW("copy1", "32", "u8") NARROW("copy2", "32", "u16")
                               NARROW("copy4", "32", "u32") NARROW("copy8", "64", "u64") WIDE("copy16");

static const char *const names[] = {"copy1", "copy2", "copy4", "copy8", "copy16"};

/* Loads the kernels, under the device's mutex. */
static void load(bp__cu_device *device) {
    CUresult code = bp__cu.ModuleLoadData(&device->copy_module, text);
    for (int i = 0; i < 5 && code == BP__CU_SUCCESS; i++) {
        code = bp__cu.ModuleGetFunction(&device->copy_kernel[i], device->copy_module, names[i]);
    }
    device->no_kernels = code != BP__CU_SUCCESS;
}

void bp__cu_copy_kernel(bp__cu_device *device, uint64_t unit, CUfunction *kernel) {
    const int which = __builtin_ctzll(unit);
    pthread_mutex_lock(&device->mutex);
    if (!device->copy_kernel[0] && !device->no_kernels) {
        load(device);
    }
    *kernel = device->no_kernels ? NULL : device->copy_kernel[which];
    pthread_mutex_unlock(&device->mutex);
}
