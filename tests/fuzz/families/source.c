/* source.c - draws numbers, and adds the operands of a call. */
#include "trial.h"

#include <stdarg.h>
#include <stdio.h>

uint64_t draw_bits(source *s) {
    s->state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t x = s->state;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

int draw(source *s, int end) {
    if (s->left > 0) {
        s->left--;
        return *s->bytes++ % end;
    }
    return (int)(draw_bits(s) % (uint64_t)end);
}

bool chance(source *s, int one_in) {
    return draw(s, one_in) == one_in - 1;
}

int64_t draw_size(source *s, int most) {
    const int kind = draw(s, 24), size = 1 + draw(s, most);
    if (s->zero_at >= 0) {
        return s->drawn++ == s->zero_at ? 0 : kind < 4 ? 1 : size;
    }
    s->drawn++;
    return kind == 0 ? 0 : kind < 5 ? 1 : size;
}

int64_t draw_wild(source *s, int64_t value) {
    static const int64_t other[] = {-1, 0, 1, 2, 3, 255, INT32_MAX, INT64_MAX, INT64_MIN};
    return s->wild && chance(s, 4) ? other[draw(s, BP__COUNT(other))] : value;
}

bp_dtype draw_type(source *s, int count, const bp_dtype *types) {
    return types[draw(s, count)];
}

operand *add(trial *t, const char *name, bp_dtype dtype, int ndim, const int64_t *shape) {
    operand *o = &t->operand[t->count];
    memset(o, 0, sizeof *o);
    o->name = name;
    o->dtype = dtype;
    o->host = t->count;
    o->tensor.ndim = ndim;
    o->tensor.dtype = bp_dtype_to_dlpack(dtype);
    o->tensor.device = (DLDevice){kDLCPU, 0};
    int64_t count = 1;
    for (int d = 0; d < ndim; d++) {
        o->shape[d] = shape[d];
        t->invalid |= shape[d] < 0 || shape[d] > MOST_COUNT;
        count *= t->invalid || shape[d] == 0 ? 1 : shape[d];
        t->invalid |= count > MOST_COUNT;
    }
    t->tensor[t->count++] = &o->tensor;
    return o;
}

operand *add_output(trial *t, const char *name, bp_dtype dtype, int ndim, const int64_t *shape, double tolerance) {
    operand *o = add(t, name, dtype, ndim, shape);
    o->written = true;
    o->tolerance = tolerance;
    return o;
}

void add_absent(trial *t) {
    memset(&t->operand[t->count], 0, sizeof *t->operand);
    t->tensor[t->count++] = NULL;
}

void order_of_plan(trial *t, int count, const int *order) {
    t->order_count = count;
    memcpy(t->order, order, (size_t)count * sizeof *order);
}

void describe(trial *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(t->text, sizeof t->text, format, args);
    va_end(args);
}
