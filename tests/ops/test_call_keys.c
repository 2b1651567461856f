/* test_call_keys.c - runs random calls of all descriptions in one thread, whose cache has seen calls that differ in one
 * field, and each again in a new thread, which knows no call. Status, message and all memory must be equal: otherwise
 * two calls have one key, or a call that must be refused found the plan of another one. */
#include "backplane.h"
#include "support/arrays.h"
#include "support/conditions.h"
#include "support/modes.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define STEPS 120000
#define KEPT 48 /* calls that are changed, and run again */
#define MOST_TENSORS 28
#define MOST_RANK 4
#define MEMORY 65536
#define GAP 2048 /* bytes from one tensor to the next */

typedef struct tensor {
    DLTensor tensor;
    int64_t shape[MOST_RANK], strides[MOST_RANK];
    bool given;
    size_t place; /* in the memory; SIZE_MAX: no address */
} tensor;

/* A call and all that it points to. connect() sets the pointers, so that a copy is a call of its own. */
typedef struct random_call {
    const bp_call *call;
    union {
        size_t struct_size;
        char bytes[512];
    } arguments;
    tensor tensors[MOST_TENSORS], parts[3];
    const DLTensor *list[4]; /* a count may be one too many */
    int axes[MOST_RANK];
    int64_t sizes[MOST_RANK];
    double tolerances[2];
    bp_scalar factors[2];
    char text[16];
} random_call;

static _Alignas(64) char memory[MEMORY], before[MEMORY], after[MEMORY];
static size_t next_place;

static unsigned below(unsigned most) {
    return (unsigned)test_array_between(0, (int64_t)most - 1);
}

/* ---- Tensors ---- */

static void set_tensor(tensor *t, bp_dtype dtype, int ndim, const int64_t *shape, bool by_columns) {
    int64_t step = 1;
    *t = (tensor){.given = true, .place = next_place};
    t->tensor.device = (DLDevice){kDLCPU, 0};
    t->tensor.dtype = bp_dtype_to_dlpack(dtype);
    t->tensor.ndim = ndim;
    for (int i = 0; i < ndim; i++) {
        const int d = by_columns ? i : ndim - 1 - i;
        t->shape[d] = shape[d];
        t->strides[d] = step;
        step *= shape[d] > 0 ? shape[d] : 1;
    }
    next_place = (next_place + GAP) % MEMORY;
}

/* Most tensors are matrices of 3 x 3 of one type, so that many calls are accepted. */
static void set_random(tensor *t, const char *name) {
    static const int64_t shapes[][MOST_RANK] = {{3, 3}, {3, 3}, {3, 3}, {3}, {2, 3, 3}, {3, 1}, {1, 3}, {0, 3}};
    static const int ranks[] = {2, 2, 2, 1, 3, 2, 2, 2};
    static const bp_dtype types[] = {BP_F64, BP_C64, BP_I32, BP_I64, BP_F16};
    const unsigned which = below(3) ? below(3) : below(8);
    const bool pivots = strcmp(name, "pivots") == 0, indices = strcmp(name, "indices") == 0;
    const bool condition = strcmp(name, "condition") == 0;
    const bp_dtype dtype = indices     ? BP_I64
                           : pivots    ? BP_I32
                           : condition ? BP_BOOL
                           : below(16) ? BP_F32
                                       : types[below(5)];
    set_tensor(t, dtype, pivots ? 1 : ranks[which], shapes[which], below(4) == 0);
}

static bool is_inside(const tensor *t) {
    const int64_t item = (int64_t)bp_dtype_size(bp_dtype_from_dlpack(t->tensor.dtype));
    int64_t low = 0, high = 0;
    for (int d = 0; t->given && t->place != SIZE_MAX && d < t->tensor.ndim; d++) {
        const int64_t steps = t->shape[d] - 1;
        if (steps > 1000) {
            return false;
        }
        *(t->strides[d] < 0 ? &low : &high) += steps > 0 ? steps * t->strides[d] : 0;
    }
    return !t->given || t->place == SIZE_MAX ||
           ((int64_t)t->place + low * item >= 0 && (int64_t)t->place + (high + 1) * item <= MEMORY);
}

/* Writes numbers that are values of the type, and valid indices and pivots. */
static void write_values(const tensor *t) {
    if (!t->given || t->place == SIZE_MAX) {
        return;
    }
    const DLDataType type = t->tensor.dtype;
    const size_t word = type.bits / (type.code == kDLComplex ? 16u : 8u);
    for (size_t i = 0; i < 64 && t->place + (i + 1) * word <= MEMORY; i++) {
        const double value = (double)((i * 7 + 3) % 11) * 0.25 + (i % 4 == 0 ? 3 : 0);
        const float single = (float)value;
        const int64_t index = 1 + (int64_t)(i % 2);
        memcpy(before + t->place + i * word,
               word == 2               ? (const void *)"\x3c\x3c"
               : type.code == kDLInt   ? (const void *)&index
               : word == sizeof single ? (const void *)&single
                                       : (const void *)&value,
               word);
    }
}

/* ---- Calls ---- */

static tensor *tensor_at(random_call *c, size_t offset) {
    const bp_call_field *field;
    int count = 0;
    for (int i = 0; (field = bp_call_field_at(c->call, i)); i++) {
        if (field->kind == BP_FIELD_TENSOR && field->offset == offset) {
            return &c->tensors[count];
        }
        count += field->kind == BP_FIELD_TENSOR;
    }
    return NULL; /* a list */
}

static void connect_tensor(tensor *t) {
    t->tensor.shape = t->shape;
    t->tensor.strides = t->strides;
    t->tensor.data = t->place == SIZE_MAX ? NULL : memory + t->place;
}

/* Sets the pointers that are not NULL. */
static void connect_call(random_call *c) {
    const bp_call_field *field;
    int tensors = 0, tolerances = 0, factors = 0;
    for (int i = 0; i < 3; i++) {
        connect_tensor(&c->parts[i]);
        c->list[i] = c->parts[i].given ? &c->parts[i].tensor : NULL;
    }
    for (int i = 0; (field = bp_call_field_at(c->call, i)); i++) {
        void **at = (void **)(void *)(c->arguments.bytes + field->offset);
        if (field->kind == BP_FIELD_TENSOR) {
            tensor *t = &c->tensors[tensors++];
            connect_tensor(t);
            *at = t->given ? &t->tensor : NULL;
        } else if (field->kind == BP_FIELD_TENSORS) {
            *at = c->list;
        } else if (field->kind == BP_FIELD_SIZES || field->kind == BP_FIELD_AXES) {
            *at = !*at ? NULL : field->kind == BP_FIELD_SIZES ? (void *)c->sizes : (void *)c->axes;
        } else if (field->kind == BP_FIELD_TOLERANCE) {
            *at = *at ? &c->tolerances[tolerances] : NULL;
            tolerances++;
        } else if (field->kind == BP_FIELD_FACTOR) {
            *at = *at ? &c->factors[factors] : NULL;
            factors++;
        } else if (field->kind == BP_FIELD_TEXT) {
            *at = *at ? c->text : NULL;
        }
    }
}

static void change_values(random_call *c) {
    static const double numbers[] = {0, 0.1, 0.5, 1, -1};
    static const int64_t lengths[] = {1, 2, 3, -1, 0};
    for (int i = 0; i < MOST_RANK; i++) {
        c->axes[i] = (int)below(5) - 2;
        c->sizes[i] = lengths[below(5)];
    }
    for (int i = 0; i < 2; i++) {
        c->tolerances[i] = numbers[below(5)];
        c->factors[i] = (bp_scalar){numbers[below(5)], below(5) ? 0 : 1};
    }
}

/* Changes a field that is no tensor. */
static void change_field(random_call *c, const bp_call_field *field) {
    static const double reals[] = {0, 1, 2, 0.5, -1, -0.0, 1e-5};
    static const char *const texts[] = {"ij,jk->ik", "ij,kj->ik", "ij->ji", "ij->i", "ij,ij->", "ii->i"};
    char *at = c->arguments.bytes + field->offset;
    const int64_t number = (int64_t)below(6) - 2;
    const int most = strcmp(field->name, "count") == 0 ? 3 : field->most;
    const int word = below(40) ? (int)below((unsigned)(field->words || most < 4 ? most + 1 : 4)) : most + 1;
    const int flag = below(3) == 0 ? (int)below(3) : 0, axis = (int)below(6) - 2;
    void *const pointer = below(2) ? c : NULL; /* connect_call() sets the right one */
    switch (field->kind) {
    case BP_FIELD_INT:
        memcpy(at, &word, sizeof word);
        break;
    case BP_FIELD_FLAG:
        memcpy(at, &flag, sizeof flag);
        break;
    case BP_FIELD_SIGNED:
        memcpy(at, &axis, sizeof axis);
        break;
    case BP_FIELD_NUMBER:
        memcpy(at, &number, sizeof number);
        break;
    case BP_FIELD_REAL:
        memcpy(at, &reals[below(7)], sizeof *reals);
        break;
    default:
        snprintf(c->text, sizeof c->text, "%s", texts[below(6)]);
        memcpy(at, &pointer, sizeof pointer);
    }
}

/* Gives an output its type and shape; sometimes it is an input, or overlaps one. */
static void set_output(random_call *c, const bp_call_pass *pass, int index) {
    tensor *output = tensor_at(c, bp_call_operand_at(pass, index)->offset);
    const int from = (int)below((unsigned)index + 1);
    const tensor *input = from < pass->input_count ? tensor_at(c, bp_call_operand_at(pass, from)->offset) : NULL;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    output->given = false;
    connect_call(c);
    if (bp_call_shape(c->call, &c->arguments, index, &dtype, &ndim, shape) == BP_OK && ndim <= MOST_RANK) {
        set_tensor(output, dtype, ndim, shape, below(4) == 0);
    }
    output->given = true;
    if (input && input->given && below(6) == 0) {
        const size_t place = input->place == SIZE_MAX || below(3) ? input->place : input->place + 16;
        *output = below(2) ? *input : *output;
        output->place = place;
    }
}

/* Removes what the pass does not have, and makes its outputs. */
static void set_operands(random_call *c) {
    connect_call(c);
    const bp_call_pass *pass = bp_call_get_pass(c->call, &c->arguments);
    bool has[MOST_TENSORS] = {false};
    const bp_call_operand *operand;
    for (int i = 0; pass && (operand = bp_call_operand_at(pass, i)); i++) {
        tensor *t = tensor_at(c, operand->offset);
        if (t && (operand->required || below(2))) {
            has[t - c->tensors] = true;
        }
    }
    for (int i = 0; pass && i < MOST_TENSORS; i++) {
        c->tensors[i].given = has[i];
    }
    for (int i = pass ? pass->input_count : 0; pass && i < pass->operand_count; i++) {
        if (has[tensor_at(c, bp_call_operand_at(pass, i)->offset) - c->tensors]) {
            set_output(c, pass, i);
        }
    }
    connect_call(c);
}

static void make_call(random_call *c, const bp_call *call) {
    const bp_call_field *field;
    memset(c, 0, sizeof *c);
    c->call = call;
    c->arguments.struct_size = bp_call_get_info(call)->size;
    change_values(c);
    for (int i = 0; (field = bp_call_field_at(call, i)); i++) {
        if (field->kind == BP_FIELD_TENSOR) {
            set_random(tensor_at(c, field->offset), field->name);
        } else {
            change_field(c, field);
        }
    }
    for (int i = 0; i < 3; i++) {
        set_random(&c->parts[i], "");
    }
    set_operands(c);
}

static void change_tensor(random_call *c, tensor *t, const char *name) {
    const int d = t->tensor.ndim > 0 ? (int)below((unsigned)t->tensor.ndim) : 0;
    switch (below(7)) {
    case 0:
        t->given = !t->given && t->tensor.ndim > 0;
        break;
    case 1:
        t->strides[d] += (int)below(3) - 1;
        break;
    case 2:
        t->shape[d] = below(4);
        break;
    case 3:
        t->tensor.dtype = bp_dtype_to_dlpack(below(2) ? BP_F64 : BP_I32);
        break;
    case 4:
        t->place = c->tensors[below(3)].place;
        break;
    case 5:
        t->place = SIZE_MAX;
        break;
    default:
        set_random(t, name);
    }
}

/* Changes one field, and sometimes makes the outputs that the call has now. */
static void change_call(random_call *c) {
    const int count = bp_call_get_info(c->call)->field_count;
    const bp_call_field *field = bp_call_field_at(c->call, (int)below((unsigned)count + 1));
    if (!field) {
        change_values(c);
    } else if (field->kind == BP_FIELD_TENSOR) {
        change_tensor(c, tensor_at(c, field->offset), field->name);
    } else if (field->kind == BP_FIELD_TENSORS) {
        change_tensor(c, &c->parts[below(3)], "");
    } else {
        change_field(c, field);
    }
    connect_call(c);
    if (below(3) == 0) {
        set_operands(c);
    }
}

static bool is_usable(const random_call *c) {
    bool usable = true;
    for (int i = 0; i < MOST_TENSORS; i++) {
        usable = usable && is_inside(&c->tensors[i]);
    }
    for (int i = 0; i < 3; i++) {
        usable = usable && is_inside(&c->parts[i]);
    }
    return usable;
}

/* ---- The comparison ---- */

typedef struct outcome {
    const random_call *call;
    bp_status status;
    char message[512];
} outcome;

static void *run(void *argument) {
    outcome *o = argument;
    memcpy(memory, before, sizeof memory);
    o->status = bp_call_run(NULL, o->call->call, &o->call->arguments);
    snprintf(o->message, sizeof o->message, "%s", o->status == BP_OK ? "" : bp_last_error());
    return NULL;
}

/* Runs the call in both threads. Returns whether it was accepted. */
static bool compare(const random_call *c, int step) {
    outcome here = {.call = c}, there = {.call = c};
    pthread_t thread;
    memset(before, 0x11, sizeof before);
    for (int i = 0; i < 3; i++) {
        write_values(&c->parts[i]);
    }
    for (int i = MOST_TENSORS; i-- > 0;) {
        write_values(&c->tensors[i]);
    }
    run(&here);
    memcpy(after, memory, sizeof after);
    assert_int_equal(pthread_create(&thread, NULL, run, &there), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (here.status != there.status || strcmp(here.message, there.message) != 0 ||
        memcmp(after, memory, sizeof after) != 0) {
        fail_msg("step %d, %s: status %d (%s), and in a new thread %d (%s)%s", step, bp_call_get_info(c->call)->name,
                 here.status, here.message, there.status, there.message,
                 memcmp(after, memory, sizeof after) != 0 ? "; the memory differs" : "");
    }
    return here.status == BP_OK;
}

static void a_known_call_is_no_other_one(void **state) {
    static random_call kept[KEPT];
    static int accepted[64];
    int count = 0;
    (void)state;
    while (bp_call_at(count)) {
        count++;
    }
    assert_in_range(count, 1, 64);
    for (int i = 0; i < KEPT; i++) {
        make_call(&kept[i], bp_call_at((int)below((unsigned)count)));
    }
    /* qemu 7 frees none of the 280 KiB that it needs for a thread. */
    const int steps = test_emulated() ? STEPS / 10 : test_takes_all() ? STEPS : STEPS / 2, least = steps / (STEPS / 10);
    for (int step = 0; step < steps; step++) {
        random_call *c = &kept[below(KEPT)];
        const unsigned how = below(8);
        if (how > 0 && how < 4) {
            *c = kept[below(KEPT)];
            change_call(c);
        }
        int number = 0;
        while (bp_call_at(number) != c->call) {
            number++;
        }
        if (how == 0 || !is_usable(c)) {
            number = (int)below((unsigned)count);
            make_call(c, bp_call_at(number));
        }
        accepted[number] += is_usable(c) && compare(c, step);
    }
    static const char *const many[] = {"binary",  "cholesky",  "cumsum", "fft",      "gather", "gemm",
                                       "linear",  "lu_factor", "matmul", "random",   "reduce", "solve",
                                       "softmax", "take",      "unary",  "variance", "vecdot", "where"};
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; k < sizeof many / sizeof *many; k++) {
            if (strcmp(bp_call_get_info(bp_call_at(i))->name, many[k]) == 0 && accepted[i] < least) {
                fail_msg("%s: only %d calls ran", many[k], accepted[i]);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_known_call_is_no_other_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
