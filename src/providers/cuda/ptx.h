/* ptx.h - the beginning that kernels of strided arrays share, in PTX. */
#ifndef BP_CUDA_PTX_H
#define BP_CUDA_PTX_H

/* Sets %number to the number of the thread's element, and goes to END if there is none; %to and %from are the addresses
 * of the arrays. The parameter `all` has them at 0 and 8, and the number of elements at 16. The kernel declares the
 * predicate %done. */
#define BP__PTX_FIND_ELEMENT                                                                                           \
    ".reg .b32 %block, %threads, %thread;\n"                                                                           \
    ".reg .b64 %number, %own, %count, %to, %from, %size, %rest, %index, %stride;\n"                                    \
    "mov.u32 %block, %ctaid.x;\n"                                                                                      \
    "mov.u32 %threads, %ntid.x;\n"                                                                                     \
    "mov.u32 %thread, %tid.x;\n"                                                                                       \
    "mul.wide.u32 %number, %block, %threads;\n"                                                                        \
    "cvt.u64.u32 %own, %thread;\n"                                                                                     \
    "add.u64 %number, %number, %own;\n"                                                                                \
    "ld.param.u64 %count, [all+16];\n"                                                                                 \
    "setp.ge.u64 %done, %number, %count;\n"                                                                            \
    "@%done bra END;\n"                                                                                                \
    "ld.param.u64 %to, [all+0];\n"                                                                                     \
    "ld.param.u64 %from, [all+8];\n"

#endif
