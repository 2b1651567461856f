/* program.c - the main function of fuzz_families without libFuzzer. */
#include <stdio.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);

int main(int argc, char **argv) {
    LLVMFuzzerInitialize(&argc, &argv);
    fprintf(stderr, "usage: fuzz_families FAMILY COUNT SEED [empty]\n");
    return 2;
}
