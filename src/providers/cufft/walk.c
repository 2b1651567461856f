/* walk.c - has the kernels that copy, scale and conjugate strided arrays, as PTX, and launches them.
 *
 * PTX is compiled by the driver, so that no compiler of the toolkit is needed. A thread computes one element. Its
 * number is divided into indices of the dimensions, the innermost one first, until nothing is left: all further indices
 * are 0. There is one kernel for each type of elements. Version and target are the oldest ones that we need. */
#include "providers/cufft/cufft.h"

#include "providers/cuda/ptx.h"

#include <stddef.h>
#include <string.h>

enum { GROUP = 256 };

/* The places of the parameter's members, for the text. */
_Static_assert(offsetof(bp__cufft_walk, dst) == 0 && offsetof(bp__cufft_walk, src) == 8 &&
                   offsetof(bp__cufft_walk, count) == 16 && offsetof(bp__cufft_walk, re) == 24 &&
                   offsetof(bp__cufft_walk, im) == 32 && offsetof(bp__cufft_walk, size) == 40 &&
                   offsetof(bp__cufft_walk, dst_stride) == 136 && offsetof(bp__cufft_walk, src_stride) == 232 &&
                   offsetof(bp__cufft_walk, wrap) == 328 && sizeof(bp__cufft_walk) == 424,
               "the kernels have these numbers");

/* Takes the index of a dimension off %number. Most threads have numbers below the size of the first one, if it is the
 * only one: they do not divide. */
#define DIMENSION(size, dst_stride, src_stride, wrap)                                                                  \
    "ld.param.u64 %size, [all+" #size "];\n"                                                                           \
    "mov.u64 %rest, 0;\n"                                                                                              \
    "setp.ge.u64 %large, %number, %size;\n"                                                                            \
    "@%large div.u64 %rest, %number, %size;\n"                                                                         \
    "mul.lo.u64 %index, %rest, %size;\n"                                                                               \
    "sub.u64 %index, %number, %index;\n"                                                                               \
    "ld.param.u64 %stride, [all+" #dst_stride "];\n"                                                                   \
    "mad.lo.u64 %to, %index, %stride, %to;\n"                                                                          \
    "ld.param.u64 %stride, [all+" #src_stride "];\n"                                                                   \
    "mad.lo.u64 %from, %index, %stride, %from;\n"                                                                      \
    "ld.param.u64 %stride, [all+" #wrap "];\n"                                                                         \
    "setp.ge.u64 %large, %index, 1;\n"                                                                                 \
    "@%large add.u64 %from, %from, %stride;\n"                                                                         \
    "mov.u64 %number, %rest;\n"                                                                                        \
    "setp.eq.u64 %done, %number, 0;\n"                                                                                 \
    "@%done bra MOVE;\n"

#define DIMENSIONS                                                                                                     \
    DIMENSION(40, 136, 232, 328)                                                                                       \
    DIMENSION(48, 144, 240, 336)                                                                                       \
    DIMENSION(56, 152, 248, 344)                                                                                       \
    DIMENSION(64, 160, 256, 352)                                                                                       \
    DIMENSION(72, 168, 264, 360)                                                                                       \
    DIMENSION(80, 176, 272, 368)                                                                                       \
    DIMENSION(88, 184, 280, 376)                                                                                       \
    DIMENSION(96, 192, 288, 384)                                                                                       \
    DIMENSION(104, 200, 296, 392)                                                                                      \
    DIMENSION(112, 208, 304, 400)                                                                                      \
    DIMENSION(120, 216, 312, 408)                                                                                      \
    DIMENSION(128, 224, 320, 416)

#define KERNEL(name, bits, move)                                                                                       \
    ".visible .entry " name "(.param .align 8 .b8 all[424])\n"                                                         \
    "{\n"                                                                                                              \
    ".reg .pred %done, %large;\n"                                                                                      \
    ".reg .f" bits " %value, %factor;\n" BP__PTX_FIND_ELEMENT DIMENSIONS "MOVE:\n" move "END:\n"                       \
    "ret;\n"                                                                                                           \
    "}\n"

/* Moves one part of an element. Parts are aligned, whole elements need not be. */
#define PART(bits, factor)                                                                                             \
    "ld.param.f" bits " %factor, [all+" #factor "];\n"                                                                 \
    "ld.f" bits " %value, [%from];\n"                                                                                  \
    "mul.f" bits " %value, %value, %factor;\n"                                                                         \
    "st.f" bits " [%to], %value;\n"
#define REAL(name, bits) KERNEL(name, bits, PART(bits, 24))
#define COMPLEX(name, bits, bytes)                                                                                     \
    KERNEL(name, bits,                                                                                                 \
           PART(bits, 24) "add.u64 %from, %from, " bytes ";\n"                                                         \
                          "add.u64 %to, %to, " bytes ";\n" PART(bits, 32))

static const char text[] = ".version 7.4\n"
                           ".target sm_50\n"
                           ".address_size 64\n" REAL("walk_f32", "32") REAL("walk_f64", "64")
                               COMPLEX("walk_c64", "32", "4") COMPLEX("walk_c128", "64", "8");

static const char *const names[BP__CUFFT_ELEMENTS] = {"walk_f32", "walk_f64", "walk_c64", "walk_c128"};

void bp__cufft_kernels_load(bp__cufft_kernels *kernels) {
    CUresult code = bp__cu.ModuleLoadData(&kernels->module, text);
    kernels->module = code == BP__CU_SUCCESS ? kernels->module : NULL;
    for (int i = 0; i < BP__CUFFT_ELEMENTS && code == BP__CU_SUCCESS; i++) {
        code = bp__cu.ModuleGetFunction(&kernels->walk[i], kernels->module, names[i]);
    }
    if (kernels->module && code != BP__CU_SUCCESS) {
        bp__cu.ModuleUnload(kernels->module);
        kernels->module = NULL;
    }
}

void bp__cufft_walk_factors(bp__cufft_walk *walk, bp__cufft_element element, double re, double im) {
    const bool single = element == BP__CUFFT_F32 || element == BP__CUFFT_C64;
    const float short_re = (float)re, short_im = (float)im;
    walk->re = walk->im = 0;
    memcpy(&walk->re, single ? (const void *)&short_re : &re, single ? sizeof short_re : sizeof re);
    memcpy(&walk->im, single ? (const void *)&short_im : &im, single ? sizeof short_im : sizeof im);
}

CUresult bp__cufft_walk_launch(const bp__cufft_kernels *kernels, bp__cufft_element element, const bp__cufft_walk *walk,
                               uint64_t dst, uint64_t src, CUstream stream) {
    bp__cufft_walk own = *walk;
    void *parameters[] = {&own};
    own.dst += dst;
    own.src += src;
    const uint64_t groups = (own.count + GROUP - 1) / GROUP;
    return groups > INT32_MAX ? BP__CU_NOT_SUPPORTED
                              : bp__cu.LaunchKernel(kernels->walk[element], (unsigned)groups, 1, 1, GROUP, 1, 1, 0,
                                                    stream, parameters, NULL);
}
