/* library_kinds.c - names the groups of routines that a library exports. */
#include "cli/command/cli.h"

static const struct {
    unsigned bit;
    const char *name;
} kinds[] = {
    {BP_LIB_BLAS, "blas"}, {BP_LIB_CBLAS, "cblas"},   {BP_LIB_LAPACK, "lapack"},   {BP_LIB_FFT, "fft"},
    {BP_LIB_DNN, "dnn"},   {BP_LIB_OPENMP, "openmp"}, {BP_LIB_BUILTIN, "builtin"}, {BP_LIB_GPU, "gpu"},
    {BP_LIB_SMM, "smm"},   {BP_LIB_OPENCL, "opencl"},
};

char *cli_library_kinds(unsigned mask) {
    char *text = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (mask & kinds[i].bit) {
            text = cli_join(text, ",", kinds[i].name);
        }
    }
    return text ? text : cli_format("-");
}
