/* main.c - backplane-probe, a program of one call: the helper measures and tests with the library's own code, so that its
 * code is in the library. */
#include "probe/program/main.h"

int main(int count, char **words) {
    return bp__probe_main(count, words);
}
