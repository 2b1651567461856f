/* model.c - makes graphs of ONNX files for the command, and tensors for them. */
#include "cli/model/model.h"

#include "cli/operations/candidates.h"

#include <stdlib.h>
#include <string.h>

bool model_is_named(const char *operand) {
    static const char end[] = ".onnx";
    const size_t length = strlen(operand), tail = sizeof end - 1;
    return length > tail && strcmp(operand + length - tail, end) == 0;
}

int model_options_absent(const cli_args *args) {
    const char *given = cli_has(args, "dimension") ? "dimension" : cli_has(args, "constant") ? "constant" : NULL;
    return given ? cli_fail(CLI_USAGE, "--%s is for ONNX models; name a file that ends with .onnx", given) : CLI_OK;
}

/* ---- What the model leaves open ---- */

/* Names and values of the options. */
typedef struct choices {
    int size_count, value_count;
    char **names; /* of the sizes, then of the values */
    int64_t *sizes;
    npy_array *arrays;
    bp_view *views;
    const DLTensor **values;
} choices;

static int count_values(const cli_args *args, const char *option) {
    int count = 0;
    for (int position = 0; cli_next_value(args, option, &position);) {
        count++;
    }
    return count;
}

/* Copies the part of an option before '='. *value is the rest. */
static int read_name(const char *option, const char *text, char **name, const char **value) {
    const char *mark = strchr(text, '=');
    if (!mark || mark == text) {
        return cli_fail(CLI_USAGE, "--%s %s: must be as NAME=%s", option, text, option[0] == 'd' ? "N" : "FILE");
    }
    *name = cli_format("%.*s", (int)(mark - text), text);
    *value = mark + 1;
    return CLI_OK;
}

static int read_size(const char *text, char **name, int64_t *size) {
    const char *value = NULL;
    const int code = read_name("dimension", text, name, &value);
    if (code != CLI_OK) {
        return code;
    }
    return bp__parse_int(value, size) && *size >= 0
               ? CLI_OK
               : cli_fail(CLI_USAGE, "--dimension %s: the size must be a whole number", text);
}

static int read_choices(choices *c, const cli_args *args) {
    const char *text, *value = NULL;
    int code = CLI_OK;
    const size_t sizes = (size_t)count_values(args, "dimension"), values = (size_t)count_values(args, "constant");
    c->names = cli_allocate((sizes + values + 1) * sizeof *c->names);
    c->sizes = cli_allocate((sizes + 1) * sizeof *c->sizes);
    c->arrays = cli_allocate((values + 1) * sizeof *c->arrays);
    c->views = cli_allocate((values + 1) * sizeof *c->views);
    c->values = cli_allocate((values + 1) * sizeof *c->values);
    memset(c->names, 0, (sizes + values + 1) * sizeof *c->names);
    for (int position = 0; code == CLI_OK && (text = cli_next_value(args, "dimension", &position)); c->size_count++) {
        code = read_size(text, &c->names[c->size_count], &c->sizes[c->size_count]);
    }
    for (int position = 0; code == CLI_OK && (text = cli_next_value(args, "constant", &position));) {
        const int i = c->value_count;
        code = read_name("constant", text, &c->names[c->size_count + i], &value);
        code = code == CLI_OK ? operand_read(value, 0, &c->arrays[i], &c->views[i]) : code;
        c->values[i] = &c->views[i].tensor;
        c->value_count += code == CLI_OK;
    }
    return code;
}

static void free_choices(choices *c) {
    for (int i = 0; i < c->value_count; i++) {
        npy_free(&c->arrays[i]);
    }
    for (int i = 0; c->names && c->names[i]; i++) {
        free(c->names[i]);
    }
    free(c->names);
    free(c->sizes);
    free(c->arrays);
    free(c->views);
    free(c->values);
}

static int read_graph(model *m, const cli_args *args) {
    choices c = {0};
    int code = read_choices(&c, args);
    const bp_onnx_choices given = {.struct_size = sizeof given,
                                   .size_count = c.size_count,
                                   .size_names = (const char *const *)c.names,
                                   .sizes = c.sizes,
                                   .value_count = c.value_count,
                                   .value_names = (const char *const *)(c.names + c.size_count),
                                   .values = c.values};
    if (code == CLI_OK) {
        const double start = cli_now_ns();
        const bp_status status = bp_graph_from_onnx(&m->graph, m->path, &given);
        m->read_ns = cli_now_ns() - start;
        /* NOT_FOUND is a file here, and a library elsewhere. */
        code = status == BP_OK            ? CLI_OK
               : status == BP_E_NOT_FOUND ? cli_fail(CLI_IO, "%s", bp_last_error())
                                          : cli_fail_status(status);
    }
    free_choices(&c);
    return code;
}

/* ---- Tensors ---- */

static int describe_port(model *m, int index, const bp_graph_port *port) {
    bp_view *view = &m->views[index];
    const bp_status status = bp_view_init(view, NULL, port->dtype, port->ndim, port->shape, NULL);
    if (index < m->input_count) {
        m->inputs[index] = &view->tensor;
    } else {
        m->outputs[index - m->input_count] = &view->tensor;
    }
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

/* Reads types and shapes of inputs and outputs. */
static int describe_ports(model *m) {
    bp_graph_port port = {.struct_size = sizeof port};
    int code = CLI_OK;
    while (bp_graph_input_at(m->graph, m->input_count, &port)) {
        m->input_count++;
    }
    while (bp_graph_output_at(m->graph, m->output_count, &port)) {
        m->output_count++;
    }
    const size_t count = (size_t)(m->input_count + m->output_count) + 1;
    m->arrays = cli_allocate(count * sizeof *m->arrays);
    m->views = cli_allocate(count * sizeof *m->views);
    m->inputs = cli_allocate(count * sizeof *m->inputs);
    m->outputs = cli_allocate(count * sizeof *m->outputs);
    memset(m->arrays, 0, count * sizeof *m->arrays);
    for (int i = 0; code == CLI_OK && bp_graph_input_at(m->graph, i, &port); i++) {
        code = describe_port(m, i, &port);
    }
    for (int i = 0; code == CLI_OK && bp_graph_output_at(m->graph, i, &port); i++) {
        code = describe_port(m, m->input_count + i, &port);
    }
    return code;
}

int model_open(model *m, const cli_args *args, const char *path) {
    *m = (model){.path = path};
    int code = operand_options(args, &m->options);
    code = code == CLI_OK ? read_graph(m, args) : code;
    return code == CLI_OK ? describe_ports(m) : code;
}

void model_close(model *m) {
    for (int i = 0; m->arrays && i < m->input_count + m->output_count; i++) {
        npy_free(&m->arrays[i]);
    }
    free(m->arrays);
    free(m->views);
    free(m->inputs);
    free(m->outputs);
    bp_options_release(m->options);
    bp_graph_release(m->graph);
}

int model_read_inputs(model *m, int count, const char *const *paths) {
    int code = CLI_OK;
    if (count != m->input_count) {
        return cli_fail(CLI_USAGE, "%s has %d input%s, and %d file%s given", m->path, m->input_count,
                        m->input_count == 1 ? "" : "s", count, count == 1 ? " is" : "s are");
    }
    for (int i = 0; code == CLI_OK && i < count; i++) {
        code = operand_read(paths[i], 0, &m->arrays[i], &m->views[i]);
    }
    return code;
}

/* Writes numbers of a generator (SplitMix64) to an array of f64. */
static void draw(double *numbers, int64_t count, bool whole, uint64_t *state) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t z = (*state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        numbers[i] = whole ? (double)(z >> 63) : (double)(int64_t)z / 0x1p63;
    }
}

static int make_input(model *m, int index, uint64_t *state) {
    const DLTensor of = m->views[index].tensor;
    const bp_dtype dtype = bp_dtype_from_dlpack(of.dtype);
    npy_array numbers;
    bp_view from;
    int code = operand_result(&m->arrays[index], &m->views[index], dtype, of.ndim, of.shape);
    if (code != CLI_OK) {
        return code;
    }
    code = operand_result(&numbers, &from, BP_F64, of.ndim, of.shape);
    if (code == CLI_OK) {
        const bool real = dtype == BP_F16 || dtype == BP_BF16 || dtype == BP_F32 || dtype == BP_F64;
        draw(numbers.data, numbers.header.count, !real, state);
        const bp_status status = bp_unary_run(NULL, BP_UNARY_COPY, &from.tensor, &m->views[index].tensor);
        code = status == BP_OK ? CLI_OK : cli_fail_status(status);
        npy_free(&numbers);
    }
    return code;
}

int model_make_inputs(model *m, int64_t seed) {
    uint64_t state = (uint64_t)seed;
    int code = CLI_OK;
    for (int i = 0; code == CLI_OK && i < m->input_count; i++) {
        code = make_input(m, i, &state);
    }
    return code;
}

int model_make_outputs(model *m) {
    int code = CLI_OK;
    for (int i = m->input_count; code == CLI_OK && i < m->input_count + m->output_count; i++) {
        const DLTensor of = m->views[i].tensor;
        code = operand_result(&m->arrays[i], &m->views[i], bp_dtype_from_dlpack(of.dtype), of.ndim, of.shape);
    }
    return code;
}

int model_run(const model *m) {
    const bp_status status = bp_graph_run(m->options, m->graph, m->inputs, m->outputs);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}
