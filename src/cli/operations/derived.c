/* derived.c - makes the rows of operations from the descriptions of their calls (calls.h).
 *
 * Each call of the family has a row: arrays are the tensors that it reads, options the other fields, results the
 * tensors that it writes. So a new operation of such a family has a row without a line here. What does not follow from
 * the description is in a table. */
#include "described.h"
#include "sizing.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Returns the family of a call, which the operation of its first pass has. */
static const char *family_of(const bp_call *call) {
    switch (bp_call_pass_at(call, 0)->op) {
#define X(number, name, text, inputs, outputs, family)                                                                 \
    case number:                                                                                                       \
        return #family;
        BP_OP_MAP(X)
#undef X
    }
    return "";
}

/* ---- A row ---- */

/* Tensors of the first pass that are read, or written, as lists of names. */
typedef struct names {
    char *fields; /* "output,output_gradient" */
    char *usage;  /* "OUTPUT OUTPUT_GRADIENT" */
    char *sizes;  /* cli_sizing.arrays */
    int least, most;
} names;

static char *usage_of(const bp_call_operand *operand, bool list) {
    char *text = cli_format(list ? "A [B ...]" : operand->required ? "%s" : "[%s]", operand->name);
    for (char *c = text; *c && !list; c++) {
        *c = (char)toupper((unsigned char)*c);
    }
    return text;
}

static void add_name(names *to, const bp_call_operand *operand, bool list, const char *size) {
    const char *separator = to->fields ? " " : "";
    char *usage = usage_of(operand, list);
    to->fields = cli_join(to->fields, to->fields ? "," : "", operand->name);
    to->usage = cli_join(to->usage, separator, usage);
    to->sizes = cli_join(to->sizes, separator, size);
    to->least += operand->required;
    to->most = list ? JOB_MANY : to->most + 1;
    free(usage);
}

static const bp_call_field *field_at(const bp_call *call, size_t offset) {
    const bp_call_field *field;
    for (int i = 0; (field = bp_call_field_at(call, i)) && field->offset != offset; i++) {
    }
    return field;
}

static names names_of(const bp_call *call, bool output, const char *size) {
    const bp_call_pass *pass = bp_call_pass_at(call, 0);
    const bp_call_operand *operand;
    names made = {.least = 0};
    for (int i = 0; (operand = bp_call_operand_at(pass, i)); i++) {
        if ((operand->output != 0) == output) {
            add_name(&made, operand, field_at(call, operand->offset)->kind == BP_FIELD_TENSORS, size);
        }
    }
    return made;
}

static bool is_fixed(const cli_special *as, const char *field) {
    return as->fixed && strcspn(as->fixed, "=") == strlen(field) && strncmp(as->fixed, field, strlen(field)) == 0;
}

static const char *const *options_of(const bp_call *call, const cli_special *as) {
    const char **options = cli_allocate(((size_t)bp_call_get_info(call)->field_count + 2) * sizeof *options);
    const bp_call_field *field;
    int count = 0;
    for (int i = 0; (field = bp_call_field_at(call, i)); i++) {
        char *option = is_fixed(as, field->name) ? NULL : described_option(field);
        if (option) {
            options[count++] = option;
        }
    }
    options[count] = as->more;
    options[count + (as->more != NULL)] = NULL;
    return options;
}

/* Arrays are rows if the call has an axis, and otherwise have one dimension. */
static const cli_sizing *make_sizing(const cli_special *as, const char *shapes) {
    const cli_sizing rows = {.sizes = {64, 256, 1024, 4096}}, flat = {.sizes = {64, 4096, 262144, 4194304}};
    cli_sizing *made = cli_allocate(sizeof *made);
    *made = *shapes == 'n' ? flat : rows;
    made->arrays = shapes;
    made->options = as->usual;
    made->work = work_elements;
    made->count = "1 for each element";
    made->moves = true;
    return made;
}

static bool has_axis(const bp_call *call) {
    const bp_call_field *field;
    for (int i = 0; (field = bp_call_field_at(call, i)); i++) {
        if (strcmp(field->name, "axis") == 0 || strcmp(field->name, "axes") == 0) {
            return true;
        }
    }
    return false;
}

static cli_operation make_row(const bp_call *call, const cli_special *as) {
    const bp_call_info *info = bp_call_get_info(call);
    const names read = names_of(call, false, has_axis(call) ? "256xn" : "n"), written = names_of(call, true, "");
    cli_described *described = cli_allocate(sizeof *described);
    *described = (cli_described){info->name, as->fixed, read.fields, written.fields, as->adjust, NULL};
    free(written.usage);
    free(written.sizes);
    if (info->unplanned || as->arrays) {
        free(read.sizes);
    }
    return (cli_operation){.name = as->name ? as->name : info->name,
                           .arrays = read.usage,
                           .least = read.least,
                           .most = read.most,
                           .results = written.most,
                           .options = options_of(call, as),
                           .prepare = described_prepare,
                           .run = described_run,
                           .explain = info->unplanned ? NULL : described_explain,
                           .measured = info->unplanned ? NULL : &described_measured,
                           .described = described,
                           .sizing = info->unplanned ? NULL : make_sizing(as, as->arrays ? as->arrays : read.sizes)};
}

/* ---- A family ---- */

typedef struct row_list {
    cli_operation *rows;
    int count;
} row_list;

static void add_row(row_list *to, const bp_call *call, const cli_special *as) {
    to->rows = cli_grow(to->rows, (size_t)(to->count + 2) * sizeof *to->rows);
    to->rows[to->count++] = make_row(call, as);
    to->rows[to->count] = (cli_operation){.name = NULL};
}

static bool is_special(const cli_derived *derived, const char *call) {
    for (const cli_special *as = derived->specials; as && as->call; as++) {
        if (strcmp(as->call, call) == 0) {
            return true;
        }
    }
    return false;
}

const cli_operation *derived_rows(const cli_derived *derived) {
    row_list made = {.count = 0};
    const bp_call *call;
    for (const cli_special *as = derived->specials; as && as->call; as++) {
        add_row(&made, bp_call_named(as->call), as);
    }
    for (int i = 0; (call = bp_call_at(i)); i++) {
        const char *name = bp_call_get_info(call)->name;
        if (strcmp(family_of(call), derived->family) == 0 && !is_special(derived, name)) {
            add_row(&made, call, &(cli_special){.call = name});
        }
    }
    return made.rows;
}
