/* support_graph.c - makes random graphs: tries calls of the table with random fields and operands, and keeps those that
 * the graph accepts. */
#include "graph/support_graph.h"
#include "support/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_VALUES = 400, TRIES = 60, TEXT = 1024 };

uint32_t random_below(random_source *random, uint32_t limit) {
    random->state = random->state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)((random->state >> 33) % limit);
}

/* The values of a graph that is made. */
typedef struct pool {
    bp_graph *graph;
    random_source *random;
    bp_value value[MOST_VALUES];
    int count, inputs;
} pool;

static int64_t random_size(random_source *random) {
    static const int64_t sizes[] = {0, 1, 2, 2, 2, 3, 3, 4, 5, 9};
    return sizes[random_below(random, 4) ? 2 + random_below(random, 6) : random_below(random, 10)];
}

static bp_dtype random_dtype(random_source *random) {
    static const bp_dtype types[] = {BP_F32, BP_F32,  BP_F32, BP_F32, BP_F32, BP_F64,
                                     BP_F16, BP_BF16, BP_I32, BP_I64, BP_C64, BP_BOOL};
    return types[random_below(random, sizeof types / sizeof *types)];
}

static void add_value(pool *p, bp_value value) {
    if (p->count < MOST_VALUES) {
        p->value[p->count++] = value;
    }
}

/* Constants have small whole numbers, which are valid indices, lengths and elements of each type. */
static void add_source(pool *p, bp_dtype dtype, int ndim, const int64_t *shape) {
    char name[16];
    bp_value value;
    const unsigned kind = random_below(p->random, 3);
    snprintf(name, sizeof name, "%c%d", kind ? 'x' : 'c', p->count);
    if (kind) {
        assert_int_equal(bp_graph_input(p->graph, name, dtype, ndim, shape, &value), BP_OK);
        p->inputs++;
    } else {
        DLManagedTensorVersioned *made;
        assert_int_equal(bp_tensor_new(&made, dtype, ndim, shape), BP_OK);
        int64_t elements = 1;
        for (int d = 0; d < ndim; d++) {
            elements *= shape[d];
        }
        const int64_t size = (int64_t)bp_dtype_size(dtype);
        for (int64_t i = 0; i < elements && dtype == BP_F32; i++) {
            ((float *)made->dl_tensor.data)[i] = (float)((int)random_below(p->random, 64) - 30) / 8;
        }
        for (int64_t i = 0; i < elements && dtype != BP_F32; i++) {
            ((char *)made->dl_tensor.data)[i * size] = (char)random_below(p->random, 2);
        }
        assert_int_equal(bp_graph_constant(p->graph, name, &made->dl_tensor, 0, &value), BP_OK);
        made->deleter(made);
    }
    add_value(p, value);
}

/* Sets of shapes that fit together: matrices, images with weights, sequences. */
static void add_sources(pool *p) {
    random_source *r = p->random;
    const bp_dtype dtype = random_dtype(r);
    const int64_t a = random_size(r), b = random_size(r), c = random_size(r);
    add_source(p, dtype, 2, (int64_t[]){a, b});
    add_source(p, dtype, 2, (int64_t[]){b, c});
    add_source(p, dtype, 1, (int64_t[]){b});
    add_source(p, random_dtype(r), 2, (int64_t[]){a, b});
    switch (random_below(r, 4)) {
    case 0:
        add_source(p, dtype, 4, (int64_t[]){2, b, 5, 4});
        add_source(p, dtype, 4, (int64_t[]){3, b, 3, 2});
        add_source(p, dtype, 1, (int64_t[]){3});
        break;
    case 1:
        add_source(p, dtype, 3, (int64_t[]){a, 2, b});
        add_source(p, dtype, 3, (int64_t[]){1, 12, b});
        add_source(p, dtype, 3, (int64_t[]){1, 12, 3});
        break;
    case 2:
        add_source(p, dtype, 2, (int64_t[]){3, 3});
        add_source(p, BP_I32, 1, (int64_t[]){2});
        break;
    default:
        add_source(p, dtype, 4, (int64_t[]){1, 2, a, 4});
        add_source(p, dtype, 0, NULL);
    }
}

/* ---- Fields ---- */

static void add_word(random_source *r, char *text, const bp_call_field *field) {
    const char *words[64];
    size_t length[64];
    int count = 0;
    for (const char *at = field->words; count < 64; at += length[count++] + 1) {
        words[count] = at;
        length[count] = strcspn(at, ",");
        if (at[length[count]] == 0) {
            count++;
            break;
        }
    }
    const unsigned chosen = random_below(r, (uint32_t)count);
    if (length[chosen] > 0) {
        snprintf(text + strlen(text), TEXT - strlen(text), "%s%s=%.*s", *text ? ", " : "", field->name,
                 (int)length[chosen], words[chosen]);
    }
}

static void add_list(random_source *r, char *text, const bp_call_field *field, int count) {
    snprintf(text + strlen(text), TEXT - strlen(text), "%s%s=[", *text ? ", " : "", field->name);
    const bool axes = field->kind == BP_FIELD_AXES, zeros = strstr(field->name, "padding") != NULL;
    for (int i = 0; i < count; i++) {
        const int number = axes ? i : zeros ? (int)random_below(r, 2) : 1 + (int)random_below(r, 2);
        snprintf(text + strlen(text), TEXT - strlen(text), "%s%d", i ? ", " : "", number);
    }
    snprintf(text + strlen(text), TEXT - strlen(text), "]");
}

static void add_field(random_source *r, char *text, const bp_call_field *field, int lists) {
    const char *between = *text ? ", " : "";
    char *end = text + strlen(text);
    const size_t left = TEXT - strlen(text);
    switch (field->kind) {
    case BP_FIELD_INT:
        if (field->words) {
            add_word(r, text, field);
        } else if (strcmp(field->name, "count") != 0 && strcmp(field->name, "axis_count") != 0 &&
                   strcmp(field->name, "ndim") != 0) {
            snprintf(end, left, "%s%s=%u", between, field->name, random_below(r, 3));
        }
        break;
    case BP_FIELD_FLAG:
        snprintf(end, left, "%s%s=%s", between, field->name, random_below(r, 3) ? "false" : "true");
        break;
    case BP_FIELD_NUMBER:
        snprintf(end, left, "%s%s=%u", between, field->name, random_below(r, 4));
        break;
    case BP_FIELD_SIGNED:
        snprintf(end, left, "%s%s=%d", between, field->name, (int)random_below(r, 4) - 2);
        break;
    case BP_FIELD_REAL:
        snprintf(end, left, "%s%s=%g", between, field->name, (double)random_below(r, 5) / 8);
        break;
    case BP_FIELD_SIZES:
    case BP_FIELD_AXES:
        add_list(r, text, field, lists);
        break;
    case BP_FIELD_TEXT:
        snprintf(end, left, "%s%s=\"%s\"", between, field->name,
                 (const char *[]){"ij,jk->ik", "ij,kj", "ij->j", "ii", "i,i"}[random_below(r, 5)]);
        break;
    default:
        break;
    }
}

/* Fields that are words are mostly given, others rarely. */
static void make_fields(random_source *r, char *text, const bp_call *call) {
    const int lists = random_below(r, 3) ? 2 : 1 + (int)random_below(r, 2);
    const bp_call_field *field;
    bool counted = false;
    *text = 0;
    for (int i = 0; (field = bp_call_field_at(call, i)) != NULL; i++) {
        const bool listed =
            field->kind == BP_FIELD_SIZES || field->kind == BP_FIELD_AXES || field->kind == BP_FIELD_TEXT;
        if (random_below(r, listed ? 2 : field->words ? 3 : 6) == 0 || (field->words && random_below(r, 2) == 0)) {
            add_field(r, text, field, lists);
            counted |= field->kind == BP_FIELD_SIZES || field->kind == BP_FIELD_AXES;
        }
    }
    for (int i = 0; (field = bp_call_field_at(call, i)) != NULL && !counted; i++) {
        if (strcmp(field->name, "ndim") == 0) {
            snprintf(text + strlen(text), TEXT - strlen(text), "%sndim=%d", *text ? ", " : "", lists);
        }
    }
}

/* ---- Nodes ---- */

static void try_call(pool *p, int *accepted) {
    random_source *r = p->random;
    int calls = 0;
    while (bp_call_at(calls)) {
        calls++;
    }
    char fields[TEXT];
    const int index = (int)random_below(r, (uint32_t)calls);
    const bp_call *call = bp_call_at(index);
    const bp_call_pass *pass =
        bp_call_pass_at(call, (int)random_below(r, (uint32_t)bp_call_get_info(call)->pass_count));
    bp_value operands[20], made[20], *outputs[20];
    make_fields(r, fields, call);
    int count = pass->input_count;
    count = count == 1 && random_below(r, 2) ? 1 + (int)random_below(r, 2) : count;
    for (int i = 0; i < count; i++) {
        operands[i] = p->value[random_below(r, (uint32_t)p->count)];
        operands[i] = i > 2 && random_below(r, 2) ? 0 : operands[i];
    }
    const int most = pass->operand_count - pass->input_count, wanted = 1 + (int)random_below(r, (uint32_t)most);
    for (int i = 0; i < wanted; i++) {
        outputs[i] = random_below(r, 6) ? &made[i] : NULL;
        made[i] = 0;
    }
    if (bp_graph_call(p->graph, bp_call_get_info(call)->name, fields, count, operands, wanted, outputs) == BP_OK) {
        accepted[index]++;
        for (int i = 0; i < wanted; i++) {
            if (outputs[i]) {
                add_value(p, made[i]);
            }
        }
    }
}

static void try_view(pool *p) {
    random_source *r = p->random;
    const bp_value of = p->value[random_below(r, (uint32_t)p->count)];
    bp_dtype dtype;
    int ndim, axes[BP_MAX_NDIM];
    int64_t shape[BP_MAX_NDIM];
    bp_value made = 0;
    assert_int_equal(bp_graph_shape(p->graph, of, &dtype, &ndim, shape), BP_OK);
    if (ndim > 6) {
        return;
    }
    switch (random_below(r, 4)) {
    case 0: {
        int64_t all = 1;
        for (int d = 0; d < ndim; d++) {
            all *= shape[d];
        }
        const int64_t first = all % 2 == 0 && random_below(r, 2) ? 2 : all % 3 == 0 ? 3 : 1;
        bp_graph_reshape(p->graph, of, 2, (int64_t[]){first, all / first}, &made);
        break;
    }
    case 1: {
        const int from = (int)random_below(r, 6);
        for (int d = 0; d < ndim; d++) {
            axes[d] = (d + from) % ndim;
        }
        bp_graph_permute(p->graph, of, ndim, axes, &made);
        break;
    }
    case 2:
        if (ndim > 0) {
            const int64_t from = (int64_t)random_below(r, 4) - 2, to = (int64_t)random_below(r, 6) - 1;
            bp_graph_slice(p->graph, of, (int)random_below(r, (uint32_t)ndim), from, to,
                           (const int64_t[]){1, 2, -1, -2}[random_below(r, 4)], &made);
        }
        break;
    default: {
        int64_t larger[BP_MAX_NDIM];
        larger[0] = 1 + random_below(r, 2);
        for (int d = 0; d < ndim; d++) {
            larger[d + 1] = shape[d] == 1 ? 1 + random_below(r, 3) : shape[d];
        }
        bp_graph_expand(p->graph, of, ndim + 1, larger, &made);
    }
    }
    if (made) {
        add_value(p, made);
    }
}

/* Calls whose operands must fit so well that chance does not find them. */
static const struct template {
    const char *call, *fields[3];
    int count;
    struct {
        int ndim;
        int64_t shape[4];
    } operand[5];
}
templates[] = {
    {"conv",
     {"ndim=2", "stride=[2, 1], padding=[1, 0]", "ndim=2, activation=relu"},
     3,
     {{4, {2, 3, 6, 5}}, {4, {4, 3, 3, 2}}, {1, {4}}}},
    {"linear", {"activation=tanh", "", "activation=gelu"}, 3, {{3, {2, 3, 5}}, {2, {7, 5}}, {1, {7}}}},
    {"batch_norm", {"", "relu=true", "eps=0.5"}, 5, {{3, {2, 3, 4}}, {1, {3}}, {1, {3}}, {1, {3}}, {1, {3}}}},
    {"layer_norm", {"row_ndim=1", "row_ndim=1, eps=0.5", "row_ndim=1"}, 3, {{3, {2, 3, 4}}, {1, {4}}, {1, {4}}}},
    {"attention",
     {"", "is_causal=true, softcap=2, has_window=true, window_left=2, window_right=-1", "has_scale=true, scale=0.5"},
     3,
     {{4, {1, 2, 5, 4}}, {4, {1, 2, 5, 4}}, {4, {1, 2, 5, 3}}}},
    {"rnn",
     {"mode=lstm", "mode=gru, reverse=true, reset_before=true", "mode=rnn_tanh"},
     3,
     {{3, {4, 2, 3}}, {3, {1, 12, 3}}, {3, {1, 12, 3}}}},
    {"pool",
     {"ndim=2, kernel=[2, 3]", "kernel=[2, 2], padding=[1, 1], kind=average", "ndim=1, output_size=[2]"},
     1,
     {{4, {2, 3, 6, 5}}}},
};

static void add_template(pool *p, int *accepted) {
    random_source *r = p->random;
    const struct template *t = &templates[random_below(r, sizeof templates / sizeof *templates)];
    const int first = p->count, variant = (int)random_below(r, 3);
    for (int i = 0; i < t->count; i++) {
        add_source(p, BP_F32, t->operand[i].ndim, t->operand[i].shape);
    }
    bp_value made, *outputs[] = {&made};
    if (strcmp(t->call, "rnn") == 0 && variant > 0) { /* other cells have other sizes */
        return;
    }
    if (bp_graph_call(p->graph, t->call, t->fields[variant], t->count, &p->value[first], 1, outputs) == BP_OK) {
        for (int i = 0; bp_call_at(i); i++) {
            accepted[i] += strcmp(bp_call_get_info(bp_call_at(i))->name, t->call) == 0;
        }
        add_value(p, made);
    }
}

bp_graph *random_graph(random_source *random, int nodes, int *accepted) {
    static pool p;
    char name[16];
    p = (pool){.random = random};
    assert_int_equal(bp_graph_create(&p.graph), BP_OK);
    add_sources(&p);
    if (random_below(random, 2)) {
        add_sources(&p);
    }
    if (random_below(random, 2)) {
        add_template(&p, accepted);
    }
    const int sources = p.count;
    for (int i = 0; i < TRIES * nodes && p.count < sources + nodes; i++) {
        if (random_below(random, 40) == 0) {
            try_view(&p);
        } else {
            try_call(&p, accepted);
        }
    }
    const int outputs = 1 + (int)random_below(random, 4);
    for (int k = 0; k < outputs; k++) {
        snprintf(name, sizeof name, "y%d", k);
        const int back = (int)random_below(random, (uint32_t)(p.count < 6 ? p.count : 6));
        assert_int_equal(
            bp_graph_output(p.graph, name,
                            p.value[k < 2 ? p.count - 1 - back : (int)random_below(random, (uint32_t)p.count)]),
            BP_OK);
    }
    assert_int_equal(bp_graph_finish(p.graph), BP_OK);
    return p.graph;
}

/* ---- Tensors ---- */

static void make_tensor(tensors *t, int i, const bp_graph_port *port, bool strided, random_source *r) {
    int64_t strides[BP_MAX_NDIM], step = 1, low = 0;
    int order[BP_MAX_NDIM];
    for (int d = 0; d < port->ndim; d++) {
        order[d] = port->ndim - 1 - d;
    }
    if (strided && port->ndim > 1 && random_below(r, 2)) {
        order[0] = port->ndim - 2;
        order[1] = port->ndim - 1;
    }
    for (int n = 0; n < port->ndim; n++) {
        const int d = order[n];
        step += strided ? random_below(r, 3) : 0;
        strides[d] = strided && random_below(r, 3) == 0 ? -step : step;
        low += strides[d] < 0 && port->shape[d] > 0 ? (port->shape[d] - 1) * step : 0;
        step *= port->shape[d] > 0 ? port->shape[d] : 1;
    }
    const int64_t item = (int64_t)bp_dtype_size(port->dtype);
    t->size[i] = (step + 8) * item;
    t->block[i] = calloc(1, (size_t)t->size[i] + 64);
    assert_int_equal(bp_view_init(&t->view[i], t->block[i] + low * item, port->dtype, port->ndim, port->shape, strides),
                     BP_OK);
    t->list[i] = &t->view[i].tensor;
}

void make_tensors(tensors *t, const bp_graph *graph, bool outputs, bool strided, random_source *random) {
    bp_graph_port port = {.struct_size = sizeof port};
    int (*const at)(const bp_graph *, int, bp_graph_port *) = outputs ? bp_graph_output_at : bp_graph_input_at;
    t->count = 0;
    while (at(graph, t->count, &port)) {
        t->count++;
    }
    const size_t count = (size_t)t->count + 1;
    t->view = calloc(count, sizeof *t->view);
    t->block = calloc(count, sizeof *t->block);
    t->size = calloc(count, sizeof *t->size);
    t->list = calloc(count, sizeof *t->list);
    for (int i = 0; i < t->count; i++) {
        at(graph, i, &port);
        make_tensor(t, i, &port, strided, random);
    }
}

static void fill_floats(char *block, int64_t size, random_source *r) {
    static const float special[] = {0.0F / 1, -0.0F, 1e-40F, 3e38F};
    const bool wild = random_below(r, 8) == 0;
    for (int64_t i = 0; i + 4 <= size; i += 4) {
        float value = (float)((int)random_below(r, 2001) - 1000) / 256;
        if (wild && random_below(r, 16) == 0) {
            const unsigned kind = random_below(r, 6);
            value = kind == 4 ? __builtin_inff() : kind == 5 ? __builtin_nanf("") : special[kind];
        }
        memcpy(block + i, &value, sizeof value);
    }
}

/* Whole numbers are small, so that they are valid as indices. */
void fill_tensors(const tensors *t, random_source *random) {
    for (int i = 0; i < t->count; i++) {
        const bp_dtype dtype = bp_dtype_from_dlpack(t->view[i].tensor.dtype);
        const int64_t item = (int64_t)bp_dtype_size(dtype);
        if (dtype == BP_F32 || dtype == BP_C64) {
            fill_floats(t->block[i], t->size[i], random);
            continue;
        }
        for (int64_t at = 0; at < t->size[i]; at += item) {
            const double number = (double)random_below(random, 64) / 16 - 2;
            const uint16_t half = (uint16_t)(0x3c00 + random_below(random, 256));
            const char whole = (char)random_below(random, 2);
            const void *from = dtype == BP_F64 ? (const void *)&number : item == 2 ? (const void *)&half : &whole;
            memcpy(t->block[i] + at, from, dtype == BP_F64 ? 8 : item == 2 ? 2 : 1);
        }
    }
}

void free_tensors(tensors *t) {
    for (int i = 0; i < t->count; i++) {
        free(t->block[i]);
    }
    free(t->view);
    free(t->block);
    free(t->size);
    free(t->list);
}

void poison_tensors(const tensors *out) {
    for (int i = 0; i < out->count; i++) {
        memset(out->block[i], 0x5a, (size_t)out->size[i]);
    }
}

bp_status run_graph(const bp_graph *graph, const char *settings, const tensors *in, const tensors *out) {
    bp_options *options = test_options(settings);
    poison_tensors(out);
    bp_status status = bp_graph_run(options, graph, (const DLTensor *const *)in->list, out->list);
    bp_options_release(options);
    return status;
}

void make_compared(compared_tensors *t, const bp_graph *graph, bool strided, random_source *random) {
    make_tensors(&t->in, graph, false, strided, random);
    random_source same = *random, again = *random;
    make_tensors(&t->want, graph, true, strided, &same);
    make_tensors(&t->got, graph, true, strided, &again);
    fill_tensors(&t->in, random);
}

void free_compared(compared_tensors *t) {
    free_tensors(&t->in);
    free_tensors(&t->want);
    free_tensors(&t->got);
}
