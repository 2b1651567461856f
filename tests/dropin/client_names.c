/* client_names.c - a program that looks up every routine in a library, and checks that the stub that it gets calls that
 * routine. Arguments: the library, what precedes the names, what follows Fortran names, what follows C names, and
 * whether stubs are expected. */
#include "dropin/routines.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define X(name, ...) #name,
    BP__DROPIN_NAMES(X)};

typedef int routine(const void *, const void *, const void *, const void *, const void *, const void *);

static int is_own(void *address, const char *library) {
    Dl_info where;
    return dladdr(address, &where) != 0 && strstr(where.dli_fname, library);
}

int main(int count, char **words) {
    static const long zeros[4];
    if (count != 6) {
        return 2;
    }
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    int wrong = 0, stubs = 0, found = 0;
    for (int i = 0; library && i < BP__DROPIN_ROUTINES; i++) {
        char name[128];
        const char *tail = strncmp(names[i], "cblas_", 6) == 0 ? words[4] : words[3];
        int fftw = strstr(names[i], "fftw") != NULL;
        const char *fftw_tail = i < BP__DROPIN_FFTW_END ? "" : "_";
        snprintf(name, sizeof name, "%s%s%s", fftw ? "" : words[2], names[i], fftw ? fftw_tail : tail);
        routine *call = (routine *)dlsym(library, name);
        if (!call) {
            wrong += !fftw;
            continue;
        }
        found++;
        stubs += !is_own((void *)call, words[1]);
        int number = call(zeros, zeros, zeros, zeros, zeros, zeros);
        if (number != i) {
            printf("%s called routine %d, not %d\n", name, number, i);
            wrong++;
        }
    }
    int expected = strcmp(words[5], "stubs") == 0 ? found : 0;
    printf("%d names, %d stubs, %d wrong\n", found, stubs, wrong);
    return !library || found < 2000 || wrong || stubs != expected;
}
