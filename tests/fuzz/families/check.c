/* check.c - checks memory and results after a call. */
#include "trial.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void print_operand(const trial *t, int number) {
    const operand *o = &t->operand[number];
    fprintf(stderr, "  %s %s shape (", o->name, bp_dtype_name(o->dtype));
    for (int d = 0; d < o->tensor.ndim; d++) {
        fprintf(stderr, "%s%lld", d ? "," : "", (long long)o->shape[d]);
    }
    fprintf(stderr, ") strides (");
    for (int d = 0; d < o->tensor.ndim; d++) {
        fprintf(stderr, "%s%lld", d ? "," : "", (long long)o->strides[d]);
    }
    fprintf(stderr, ")%s%s%s\n", o->sparse ? " sparse" : "", o->host != number ? " in the memory of " : "",
            o->host != number ? t->operand[o->host].name : "");
}

void print_call(const trial *t) {
    fprintf(stderr, "  %s\n", t->text);
    for (int i = 0; i < t->count; i++) {
        if (t->tensor[i]) {
            print_operand(t, i);
        }
    }
}

void finding(trial *t, const char *format, ...) {
    va_list args;
    t->findings++;
    fprintf(stderr, "finding: fuzz_families %s 1 %llu: ", t->family->name, (unsigned long long)t->seed);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    if (t->source.zero_at >= 0) {
        fprintf(stderr, " (size number %d is 0)", t->source.zero_at);
    }
    fprintf(stderr, "\n");
    print_call(t);
}

static char *copy_of(const operand *o) {
    char *copy = malloc(o->bytes + 1);
    if (!copy) {
        abort();
    }
    if (o->sparse) {
        copy_elements(o, copy);
    } else if (o->bytes > 0) {
        memcpy(copy, o->low, o->bytes);
    }
    return copy;
}

void keep_before(trial *t) {
    for (int i = 0; i < t->count; i++) {
        operand *o = &t->operand[i];
        if (t->tensor[i] && o->host == i) {
            free(o->before);
            o->before = copy_of(o);
        }
    }
}

/* Undoes the changes of elements that the call may write, in a copy of the memory of operand `host`. */
static void undo_writes(const trial *t, int host, char *now) {
    const operand *h = &t->operand[host];
    for (int i = 0; i < t->count; i++) {
        const operand *o = &t->operand[i];
        int64_t index[BP_MAX_NDIM] = {0};
        if (!t->tensor[i] || !o->written || o->host != host || count_of(o) == 0) {
            continue;
        }
        if (o->sparse) {
            memcpy(now, h->before, h->bytes);
            continue;
        }
        do {
            const ptrdiff_t at = address_of(o, index) - h->low;
            memcpy(now + at, h->before + at, bp_dtype_size(o->dtype));
        } while (advance(o, index));
    }
}

void check_memory(trial *t, bool may_write, const char *what) {
    for (int i = 0; i < t->count; i++) {
        const operand *o = &t->operand[i];
        if (!t->tensor[i] || o->host != i) {
            continue;
        }
        char *now = copy_of(o);
        if (may_write) {
            undo_writes(t, i, now);
        }
        for (size_t n = 0; n < o->bytes; n++) {
            if (now[n] != o->before[n]) {
                finding(t, "%s wrote byte %zu of %zu of the memory of %s", what, n, o->bytes, o->name);
                break;
            }
        }
        free(now);
    }
}

static bool has_pattern(const char *at, size_t size, int pattern) {
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)at[i] != pattern) {
            return false;
        }
    }
    return true;
}

/* An element that has both patterns, each after a call that began with it, was not written. */
void check_written(trial *t, const operand *o, const char *again, int pattern, int second) {
    const size_t size = bp_dtype_size(o->dtype);
    for (int64_t n = 0; n < count_of(o); n++) {
        if (has_pattern(o->result + (size_t)n * size, size, pattern) &&
            has_pattern(again + (size_t)n * size, size, second)) {
            finding(t, "element %lld of %s was not written", (long long)n, o->name);
            return;
        }
    }
}

static double largest(const char *at, int64_t count, bp_dtype type) {
    double most = 0;
    for (int64_t n = 0; n < count; n++) {
        const double x = fabs(value_of(type, at + (size_t)n * bp_dtype_size(type)));
        most = isfinite(x) ? fmax(most, x) : most;
    }
    return most;
}

static bool agree(const operand *o, double a, double b, double bound) {
    const bool both = o->overflows ? !isfinite(a) && !isfinite(b) : isnan(a) && isnan(b);
    return a == b || both || fabs(a - b) <= bound;
}

void compare(trial *t, const operand *o, const char *got, const char *want, const char *what) {
    const bp_dtype type = component_type(o->dtype);
    const int64_t count = count_of(o) * (is_complex(o->dtype) ? 2 : 1);
    const double bound = o->tolerance > 0 ? o->tolerance * unit_of(type) * (1 + largest(want, count, type)) : 0;
    for (int64_t n = 0; n < count && o->tolerance >= 0; n++) {
        const double a = value_of(type, got + (size_t)n * bp_dtype_size(type)),
                     b = value_of(type, want + (size_t)n * bp_dtype_size(type));
        if (!agree(o, a, b, bound)) {
            finding(t, "%s: number %lld of %s is %.17g instead of %.17g (bound %g)", what, (long long)n, o->name, a, b,
                    bound);
            return;
        }
    }
}
