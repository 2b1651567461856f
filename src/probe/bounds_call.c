/* bounds_call.c - makes calls of Fortran routines whose arrays lie between pages without access. */
#include "probe/bounds_call.h"

#include <stdio.h>
#include <string.h>

size_t bounds_size(const bounds_call *c, bool real) {
    const number_type *type = c->t->type;
    return (size_t)(type->is_double ? 8 : 4) * (type->is_complex && !real ? 2 : 1);
}

char *bounds_array(bounds_call *c, int64_t count, size_t size) {
    return guards_place(c->regions++, (size_t)count * size, c->at_end);
}

int64_t *bounds_integer(bounds_call *c, int at, int64_t value) {
    c->integers[at] = value;
    return &c->integers[at];
}

const char *bounds_next_variant(bounds_call *c, const char *variants) {
    const size_t length = strcspn(variants, " ");
    snprintf(c->letters, sizeof c->letters, "%.*s", (int)length, variants);
    return variants + length + (variants[length] == ' ');
}

static void *new_argument(bounds_call *c, int at, void *(*make)(void *user, int at), void *user) {
    const char code = c->arguments[at];
    switch (code) {
    case '0':
    case '1':
    case '2':
    case '3':
        return &c->letters[code - '0'];
    case 'm':
        return bounds_integer(c, at, c->m);
    case 'n':
        return bounds_integer(c, at, c->n);
    case 'k':
        return bounds_integer(c, at, c->k);
    case 'd':
        return bounds_integer(c, at, c->ld);
    default:
        return make(user, at);
    }
}

/* Every argument is an address, or the length of an option behind the others. A routine does not see the arguments that
 * it does not have. */
typedef void any_routine(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                         void *, void *, void *, void *, void *, void *, void *, void *, void *, void *);

void bounds_make_call(bounds_call *c, void *routine, void *(*make)(void *user, int at), void *user) {
    void *a[BOUNDS_ARGUMENTS];
    const int count = (int)strlen(c->arguments);
    c->regions = 0;
    for (int i = 0; i < BOUNDS_ARGUMENTS; i++) {
        a[i] = i < count ? new_argument(c, i, make, user) : (void *)(uintptr_t)1;
    }
    ((any_routine *)routine)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
                             a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21]);
}
