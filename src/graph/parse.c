/* parse.c - reads a graph from its text, line by line. */
#include "graph/graph.h"

#include "base/uncancelled.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_OUTPUTS = BP__MOST_OPERANDS, MOST_LISTED = 1 << 16 };

typedef struct parsing {
    bp_graph *graph;
    bp__reader reader; /* of a line */
    bp__names names;   /* of all values */
    bp_value *listed;  /* operands of a node without names */
    int listed_count, listed_capacity;
} parsing;

/* ---- Names ---- */

static bp_value find_value(void *context, const char *name, size_t length) {
    const parsing *p = context;
    return bp__names_find(&p->names, name, length);
}

static bp_status check_unused(const parsing *p, const char *name, size_t length) {
    return bp__names_find(&p->names, name, length)
               ? bp__reader_fail(&p->reader, "the name \"%.*s\" is used before", bp__shown(length), name)
               : BP_OK;
}

static bp_status define(parsing *p, const char *name, size_t length, bp_value value) {
    BP__TRY(check_unused(p, name, length));
    BP__TRY(bp__names_reserve(&p->names));
    bp__names_add(&p->names, name, length, value);
    return BP_OK;
}

static bp_status read_new_name(parsing *p, const char **name, size_t *length) {
    if (!bp__reader_name(&p->reader, name, length)) {
        return bp__reader_fail(&p->reader, "a name is missing");
    }
    return check_unused(p, *name, *length);
}

static bp_status read_value(parsing *p, bp_value *value) {
    const char *name;
    size_t length;
    if (!bp__reader_name(&p->reader, &name, &length)) {
        return bp__reader_fail(&p->reader, "a value is missing");
    }
    *value = find_value(p, name, length);
    return *value ? BP_OK : bp__reader_fail(&p->reader, "there is no value \"%.*s\"", bp__shown(length), name);
}

static bp_status expect(parsing *p, const char *mark) {
    return bp__reader_take(&p->reader, mark) ? BP_OK : bp__reader_fail(&p->reader, "\"%s\" is missing", mark);
}

/* Adds the line to the last error, unless it is there. */
static bp_status fail_in_line(const parsing *p, bp_status status) {
    return status == BP_E_NO_MEMORY ? status : bp__fail(status, "line %d: %s", p->reader.line, bp_last_error());
}

/* ---- Inputs and constants ---- */

static bp_status read_type(parsing *p, bp_dtype *dtype, int *ndim, int64_t **shape) {
    const char *name;
    char word[16] = "";
    size_t length;
    if (bp__reader_name(&p->reader, &name, &length) && length < sizeof word) {
        memcpy(word, name, length);
    }
    *dtype = bp_dtype_from_name(word);
    if (*dtype == BP_DTYPE_NONE) {
        return bp__reader_fail(&p->reader, "an element type such as f32 is missing");
    }
    return bp__reader_list(&p->reader, ndim, shape);
}

static bp_status copy_name(const char *name, size_t length, char **copy) {
    *copy = bp__alloc(length + 1);
    if (!*copy) {
        return bp__fail_memory(length, "a graph");
    }
    memcpy(*copy, name, length);
    (*copy)[length] = 0;
    return BP_OK;
}

static bp_status add_input(parsing *p, bp_dtype dtype, int ndim, int64_t *shape, const char *name, bp_value *value) {
    const bp_status status = bp_graph_input(p->graph, name, dtype, ndim, shape, value);
    return status == BP_OK ? BP_OK : fail_in_line(p, status);
}

/* Reads name, type and shape, and lets `add` read the rest of the line and add the value. */
static bp_status read_declared(parsing *p,
                               bp_status (*add)(parsing *, bp_dtype, int, int64_t *, const char *, bp_value *)) {
    const char *name;
    size_t length;
    bp_dtype dtype;
    int ndim;
    int64_t *shape;
    char *own;
    bp_value value = 0;
    BP__TRY(read_new_name(p, &name, &length));
    BP__TRY(read_type(p, &dtype, &ndim, &shape));
    bp_status status = copy_name(name, length, &own);
    if (status == BP_OK) {
        status = add(p, dtype, ndim, shape, own, &value);
        bp__free(own);
    }
    bp__free(shape);
    return status == BP_OK ? define(p, name, length, value) : status;
}

static bp_status read_input(parsing *p) {
    return read_declared(p, add_input);
}

static int digit_of(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bp_status read_bytes(parsing *p, char *to, int64_t bytes) {
    bp__reader *r = &p->reader;
    bp__reader_skip(r);
    for (int64_t i = 0; i < bytes; i++) {
        const int high = r->end - r->at >= 2 ? digit_of(r->at[0]) : -1, low = high >= 0 ? digit_of(r->at[1]) : -1;
        if (low < 0) {
            return bp__reader_fail(r, "there must be %" PRId64 " bytes of two digits", bytes);
        }
        to[i] = (char)(high << 4 | low);
        r->at += 2;
    }
    return BP_OK;
}

static bool store_number(bp__reader *r, bp_dtype dtype, char *to) {
    double real;
    int64_t wide;
    const bool whole = dtype == BP_I32 || dtype == BP_I64;
    if (whole ? !bp__reader_whole(r, &wide) : !bp__reader_real(r, &real)) {
        return false;
    }
    const float narrow = whole ? 0 : (float)real;
    const int32_t number = whole ? (int32_t)wide : 0;
    const void *from = dtype == BP_F32   ? (const void *)&narrow
                       : dtype == BP_F64 ? (const void *)&real
                       : dtype == BP_I32 ? (const void *)&number
                                         : (const void *)&wide;
    memcpy(to, from, bp_dtype_size(dtype));
    return dtype != BP_I32 || wide == number;
}

static bp_status read_numbers(parsing *p, bp_dtype dtype, char *to, int64_t count) {
    bp__reader *r = &p->reader;
    if (dtype != BP_F32 && dtype != BP_F64 && dtype != BP_I32 && dtype != BP_I64) {
        return bp__reader_fail(r, "elements of %s are given as bytes", bp_dtype_name(dtype));
    }
    for (int64_t i = 0; i < count; i++) {
        if ((i > 0 && !bp__reader_take(r, ",")) || !store_number(r, dtype, to + i * (int64_t)bp_dtype_size(dtype))) {
            return bp__reader_fail(r, "there must be %" PRId64 " numbers", count);
        }
    }
    return expect(p, "]");
}

/* A text cannot have more elements than a fourth of its bytes, or half of them: so no more is allocated. */
static bp_status read_elements(parsing *p, bp_dtype dtype, int ndim, int64_t *shape, const char *name,
                               bp_value *value) {
    bp_view view;
    BP__TRY(expect(p, "="));
    bp_status status = bp_view_init(&view, NULL, dtype, ndim, shape, NULL);
    if (status != BP_OK) {
        return fail_in_line(p, status);
    }
    int64_t count = 1;
    for (int d = 0; d < ndim; d++) {
        count *= shape[d];
    }
    const int64_t bytes = count * (int64_t)bp_dtype_size(dtype), left = p->reader.end - p->reader.at;
    if (count > left) {
        return bp__reader_fail(&p->reader, "the line is too short for %" PRId64 " elements", count);
    }
    view.tensor.data = bp__alloc_aligned((size_t)bytes + 1);
    if (!view.tensor.data) {
        return bp__fail_memory((size_t)bytes, "a constant of a graph");
    }
    if (bp__reader_take(&p->reader, "[")) {
        status = read_numbers(p, dtype, view.tensor.data, count);
    } else {
        status = expect(p, "bytes");
        status = status == BP_OK ? read_bytes(p, view.tensor.data, bytes) : status;
    }
    if (status == BP_OK) {
        status = bp_graph_constant(p->graph, name, &view.tensor, 0, value);
        status = status == BP_OK ? BP_OK : fail_in_line(p, status);
    }
    bp__free_aligned(view.tensor.data);
    return status;
}

static bp_status read_constant(parsing *p) {
    return read_declared(p, read_elements);
}

static bp_status read_output(parsing *p) {
    const char *name;
    size_t length;
    bp_value value;
    char *own;
    if (!bp__reader_name(&p->reader, &name, &length)) {
        return bp__reader_fail(&p->reader, "a name is missing");
    }
    BP__TRY(expect(p, "="));
    BP__TRY(read_value(p, &value));
    BP__TRY(copy_name(name, length, &own));
    bp_status status = bp_graph_output(p->graph, own, value);
    bp__free(own);
    return status == BP_OK ? BP_OK : fail_in_line(p, status);
}

/* ---- Nodes and views ---- */

/* Names before "=": the results of a node; length 0: not wanted. */
typedef struct results {
    const char *name[MOST_OUTPUTS];
    size_t length[MOST_OUTPUTS];
    bp_value value[MOST_OUTPUTS];
    int count;
} results;

static bp_status read_results(parsing *p, results *r) {
    r->count = 0;
    do {
        if (r->count == MOST_OUTPUTS) {
            return bp__reader_fail(&p->reader, "a call has at most %d outputs", MOST_OUTPUTS);
        }
        r->length[r->count] = 0;
        if (!bp__reader_take(&p->reader, "-")) {
            BP__TRY(read_new_name(p, &r->name[r->count], &r->length[r->count]));
        }
        r->count++;
    } while (bp__reader_take(&p->reader, ","));
    return expect(p, "=");
}

static bp_status define_results(parsing *p, const results *r) {
    for (int i = 0; i < r->count; i++) {
        if (r->length[i] > 0) {
            BP__TRY(define(p, r->name[i], r->length[i], r->value[i]));
        }
    }
    return BP_OK;
}

static bp_status apply_view(parsing *p, bp__view_kind kind, bp_value of, int count, int64_t *numbers, bp_value *view) {
    int axes[BP_MAX_NDIM];
    switch (kind) {
    case BP__RESHAPE:
        return bp_graph_reshape(p->graph, of, count, numbers, view);
    case BP__EXPAND:
        return bp_graph_expand(p->graph, of, count, numbers, view);
    case BP__SLICE:
        return count == 4 ? bp__slice_add(p->graph, of, numbers, view)
                          : bp__fail(BP_E_ARGUMENT, "slice has the numbers axis, first index, count and step");
    default:
        for (int i = 0; i < count; i++) {
            axes[i] = numbers[i] >= 0 && numbers[i] < BP_MAX_NDIM ? (int)numbers[i] : BP_MAX_NDIM;
        }
        return bp_graph_permute(p->graph, of, count, axes, view);
    }
}

static bp_status read_view(parsing *p, bp__view_kind kind, results *r) {
    bp_value of;
    int count;
    int64_t *numbers;
    BP__TRY(read_value(p, &of));
    BP__TRY(expect(p, ","));
    BP__TRY(bp__reader_list(&p->reader, &count, &numbers));
    bp_status status = apply_view(p, kind, of, count, numbers, &r->value[0]);
    bp__free(numbers);
    if (status != BP_OK || r->count != 1 || r->length[0] == 0) {
        return status != BP_OK ? fail_in_line(p, status) : bp__reader_fail(&p->reader, "a view is one value");
    }
    return expect(p, ")");
}

static bp_status keep_listed(parsing *p, bp_value value) {
    if (p->listed_count == MOST_LISTED) {
        return bp__reader_fail(&p->reader, "a call has at most %d operands", MOST_LISTED);
    }
    if (p->listed_count == p->listed_capacity) {
        const int capacity = p->listed_capacity * 2 + 16;
        bp_value *grown = bp__realloc(p->listed, (size_t)capacity * sizeof *grown);
        if (!grown) {
            return bp__fail_memory((size_t)capacity * sizeof *grown, "a graph");
        }
        p->listed = grown;
        p->listed_capacity = capacity;
    }
    p->listed[p->listed_count++] = value;
    return BP_OK;
}

/* An operand, "-", or a field. */
static bp_status read_argument(parsing *p, bp__making *making) {
    const char *name;
    size_t length;
    if (bp__reader_take(&p->reader, "-")) {
        return keep_listed(p, 0);
    }
    if (!bp__reader_name(&p->reader, &name, &length)) {
        return bp__reader_fail(&p->reader, "an operand or a field is missing");
    }
    if (bp__reader_take(&p->reader, "=")) {
        return bp__field_read(making, &p->reader, name, length);
    }
    const bp_value value = find_value(p, name, length);
    return value ? keep_listed(p, value)
                 : bp__reader_fail(&p->reader, "there is no value \"%.*s\"", bp__shown(length), name);
}

static bp_status read_arguments(parsing *p, bp__making *making) {
    p->listed_count = 0;
    if (bp__reader_take(&p->reader, ")")) {
        return BP_OK;
    }
    do {
        BP__TRY(read_argument(p, making));
    } while (bp__reader_take(&p->reader, ","));
    return expect(p, ")");
}

static bp_status make_node(parsing *p, const bp_call *call, results *r, bp__making *making) {
    bp_value *outputs[MOST_OUTPUTS];
    BP__TRY(bp__fields_begin(making, call));
    bp_status status = read_arguments(p, making);
    if (status != BP_OK) {
        bp__fields_free(&making->node);
        return status;
    }
    for (int i = 0; i < r->count; i++) {
        outputs[i] = r->length[i] > 0 ? &r->value[i] : NULL;
    }
    status = bp__node_add(making, p->listed_count, p->listed, r->count, outputs);
    return status == BP_OK ? BP_OK : fail_in_line(p, status);
}

static bp_status read_call(parsing *p, const char *name, size_t length, results *r) {
    char word[64] = "";
    if (length < sizeof word) {
        memcpy(word, name, length);
    }
    const bp_call *call = bp_call_named(word);
    if (!call) {
        return bp__reader_fail(&p->reader, "there is no call \"%.*s\"", bp__shown(length), name);
    }
    bp__making *making = bp__alloc_zero(1, sizeof *making);
    if (!making) {
        return bp__fail_memory(sizeof *making, "a node");
    }
    making->graph = p->graph;
    making->find = find_value;
    making->context = p;
    bp_status status = make_node(p, call, r, making);
    bp__free(making);
    return status;
}

static bp_status read_computed(parsing *p) {
    results r;
    const char *name;
    size_t length;
    BP__TRY(read_results(p, &r));
    if (!bp__reader_name(&p->reader, &name, &length)) {
        return bp__reader_fail(&p->reader, "a call is missing");
    }
    BP__TRY(expect(p, "("));
    int kind = 0;
    while (kind < BP__VIEW_KINDS &&
           (strlen(bp__view_names[kind]) != length || memcmp(bp__view_names[kind], name, length) != 0)) {
        kind++;
    }
    BP__TRY(kind < BP__VIEW_KINDS ? read_view(p, (bp__view_kind)kind, &r) : read_call(p, name, length, &r));
    return define_results(p, &r);
}

/* ---- Lines ---- */

/* A word with a space behind it begins a declaration; a value may have the same name. */
static bool begins(parsing *p, const char *word) {
    const size_t length = strlen(word);
    bp__reader *r = &p->reader;
    if ((size_t)(r->end - r->at) <= length || memcmp(r->at, word, length) != 0 || r->at[length] != ' ' ||
        (r->end - r->at > (ptrdiff_t)length + 1 && (r->at[length + 1] == '=' || r->at[length + 1] == ','))) {
        return false;
    }
    r->at += length;
    return true;
}

static bp_status read_line(parsing *p) {
    bp__reader *r = &p->reader;
    if (bp__reader_done(r) || *r->at == '#') {
        return BP_OK;
    }
    BP__TRY(begins(p, "input")      ? read_input(p)
            : begins(p, "constant") ? read_constant(p)
            : begins(p, "output")   ? read_output(p)
                                    : read_computed(p));
    return bp__reader_done(r) || *r->at == '#' ? BP_OK : bp__reader_fail(r, "there is more behind the end of the line");
}

static bp_status read_lines(parsing *p, const char *text, size_t size) {
    const char *end = text + size;
    bool begun = false;
    for (const char *at = text; at < end; at++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        p->reader.at = at;
        p->reader.end = line_end ? line_end : end;
        p->reader.line++;
        at = p->reader.end;
        if (begun) {
            BP__TRY(read_line(p));
            continue;
        }
        begun = bp__reader_take(&p->reader, "graph 1") && bp__reader_done(&p->reader);
        if (!begun && !bp__reader_done(&p->reader) && *p->reader.at != '#') {
            break;
        }
    }
    return begun ? BP_OK : bp__fail(BP_E_FORMAT, "the text of a graph begins with \"graph 1\"");
}

bp_status bp_graph_parse(bp_graph **graph, size_t size, const char *text) {
    BP__UNCANCELLED;
    if (!graph || !text) {
        return bp__fail(BP_E_ARGUMENT, "bp_graph_parse: graph and text must not be NULL");
    }
    *graph = NULL;
    parsing p = {0};
    BP__TRY(bp_graph_create(&p.graph));
    bp_status status = read_lines(&p, text, size);
    if (status == BP_OK) {
        status = bp_graph_finish(p.graph);
        status = status == BP_E_ARGUMENT ? bp__fail(BP_E_FORMAT, "the graph has no output") : status;
    }
    bp__free(p.names.list);
    bp__free(p.listed);
    if (status != BP_OK) {
        bp_graph_release(p.graph);
        return status;
    }
    *graph = p.graph;
    return BP_OK;
}
