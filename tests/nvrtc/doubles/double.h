/* double.h - controls the double of libnvrtc.so.13 from a test, which finds them with dlsym("nvrtc_double").
 *
 * The double compiles a program for the host, with shim.h. Its machine code is nvrtc_code: a shared object, which the
 * double of CUDA's driver loads. Results are kept in the build folder, because compiling takes a second. */
#ifndef BP_TESTS_NVRTC_DOUBLE_H
#define BP_TESTS_NVRTC_DOUBLE_H

#include <stdatomic.h>
#include <stdint.h>

#define NVRTC_CODE_MAGIC 0x45444f4354534f48u /* "HOSTCODE" */

typedef struct nvrtc_code {
    uint64_t magic, size;
    uint8_t object[];
} nvrtc_code;

typedef struct nvrtc_controls {
    /* What the library does. */
    atomic_int fail_with; /* the status of the next compilation, 0: none */
    atomic_int newest;    /* the newest target, such as 90; 0: 120 */
    /* What has happened. */
    atomic_int compilations, programs; /* all, and those that exist */
    atomic_int violations;
    char violation[160]; /* the first one */
    char target[24];     /* of the last compilation */
} nvrtc_controls;

#endif
