/* forwarding.c - fake LAPACK routines that forward to a real library, except that one doubles its first number.
 *
 * The variable FAKE_REAL names the real library, FAKE_WRONG the routine, without its type letter: it is wrong in all
 * four types. Every argument is an address or a length; routines with fewer arguments ignore the rest.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void routine(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                     void *, void *, void *, void *, void *, void *);

static routine *real(const char *name) {
    static void *library;
    library = library ? library : dlopen(getenv("FAKE_REAL"), RTLD_NOW | RTLD_LOCAL);
    routine *found = library ? (routine *)dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        abort();
    }
    return found;
}

static void corrupt(char letter, void *result) {
    if (letter == 's' || letter == 'c') {
        *(float *)result *= 2;
    } else {
        *(double *)result *= 2;
    }
}

/* `result` is the position of the argument to corrupt. */
#define ROUTINE(letter, stem, result)                                                                                  \
    __attribute__((visibility("default"))) routine letter##stem##_;                                                    \
    void letter##stem##_(void *a, void *b, void *c, void *d, void *e, void *f, void *g, void *h, void *i, void *j,     \
                         void *k, void *l, void *m, void *n, void *o, void *p, void *q, void *r) {                     \
        void *arguments[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r};                                    \
        real(#letter #stem "_")(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);                                 \
        if (strcmp(getenv("FAKE_WRONG"), #stem) == 0) {                                                                \
            corrupt(#letter[0], arguments[result]);                                                                    \
        }                                                                                                              \
    }
#define REAL(stem, result) ROUTINE(s, stem, result) ROUTINE(d, stem, result)
#define COMPLEX(stem, result) ROUTINE(c, stem, result) ROUTINE(z, stem, result)
#define ALL(stem, result) REAL(stem, result) COMPLEX(stem, result)

ALL(getrf, 2)
ALL(getri, 1)
ALL(getrs, 6)
ALL(potrf, 2)
ALL(potrs, 5)
ALL(potri, 2)
ALL(sytrf, 2)
ALL(sytrs, 6)
COMPLEX(hetrf, 2)
COMPLEX(hetrs, 6)
ALL(trsm, 9)
ALL(geqrf, 2)
REAL(orgqr, 3)
COMPLEX(ungqr, 3)
REAL(syevd, 5)
COMPLEX(heevd, 5)
ALL(geev, 5)
ALL(gesdd, 5)
ALL(gels, 6)
ALL(gelsy, 5)
ALL(gelsd, 5)
ALL(gelss, 5)
