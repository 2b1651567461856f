/* field.c - reads and writes the fields of a node by the description of its call. */
#include "graph/graph.h"

#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void *address_of(const bp__node *node, const bp_call_field *field) {
    return (char *)node->arguments + field->offset;
}

/* Fields that point to memory of the node. */
static bool is_pointed(bp_field_kind kind) {
    return kind == BP_FIELD_SIZES || kind == BP_FIELD_AXES || kind == BP_FIELD_TOLERANCE || kind == BP_FIELD_FACTOR ||
           kind == BP_FIELD_TEXT;
}

static void *pointer_at(const bp__node *node, const bp_call_field *field) {
    void *pointer;
    memcpy(&pointer, address_of(node, field), sizeof pointer);
    return pointer;
}

static void set_pointer(const bp__node *node, const bp_call_field *field, void *pointer) {
    bp__free(pointer_at(node, field));
    memcpy(address_of(node, field), &pointer, sizeof pointer);
}

void bp__fields_free(const bp__node *node) {
    for (int i = 0; node->arguments && i < node->call->info.field_count; i++) {
        const bp_call_field *field = &node->call->fields[i];
        if (is_pointed(field->kind)) {
            bp__free(pointer_at(node, field));
        }
    }
    bp__free(node->arguments);
}

/* Returns the value of a field that is not given: 0 in a pass that does not take it. */
static double usual_of(const bp__node *node, const bp_call_field *field) {
    return !field->pass || !node->pass || strcmp(field->pass, node->pass->info.name) == 0 ? field->usual : 0;
}

/* Writes the usual value of a field as the field has it. Returns its bytes; 0 for a field that is NULL if it is not
 * given.
 */
static size_t usual_bytes(const bp__node *node, const bp_call_field *field, char bytes[sizeof(double)]) {
    const double usual = usual_of(node, field);
    const int number = (int)usual;
    const int64_t whole = (int64_t)usual;
    switch (field->kind) {
    case BP_FIELD_INT:
    case BP_FIELD_FLAG:
    case BP_FIELD_SIGNED:
        memcpy(bytes, &number, sizeof number);
        return sizeof number;
    case BP_FIELD_NUMBER:
        memcpy(bytes, &whole, sizeof whole);
        return sizeof whole;
    case BP_FIELD_REAL:
        memcpy(bytes, &usual, sizeof usual);
        return sizeof usual;
    default:
        return 0;
    }
}

static void set_usual(const bp__node *node, const bp_call_field *field) {
    char bytes[sizeof(double)];
    const size_t size = usual_bytes(node, field, bytes);
    memcpy(address_of(node, field), bytes, size);
}

bp_status bp__fields_begin(bp__making *making, const bp_call *call) {
    bp__node *node = &making->node;
    *node = (bp__node){.call = call, .arguments = bp__alloc_zero(1, call->info.size)};
    if (!node->arguments) {
        return bp__fail_memory(call->info.size, "a node");
    }
    memcpy(node->arguments, &call->info.size, sizeof call->info.size);
    for (int i = 0; i < call->info.field_count; i++) {
        set_usual(node, &call->fields[i]);
    }
    return BP_OK;
}

void bp__fields_decide(const bp__making *making) {
    const bp__node *node = &making->node;
    for (int i = 0; i < node->call->info.field_count; i++) {
        if (node->call->fields[i].pass && !(making->given >> i & 1)) {
            set_usual(node, &node->call->fields[i]);
        }
    }
}

/* ---- Words ---- */

/* Returns the number of a word in a list with commas; -1 if it is none. */
static int word_number(const char *words, const char *word, size_t length) {
    int number = 0;
    for (const char *at = words; length > 0; number++) {
        const size_t own = strcspn(at, ",");
        if (own == length && memcmp(at, word, length) == 0) {
            return number;
        }
        if (at[own] == 0) {
            break;
        }
        at += own + 1;
    }
    return -1;
}

static const char *word_at(const char *words, int number, size_t *length) {
    for (; number > 0 && strchr(words, ','); number--) {
        words = strchr(words, ',') + 1;
    }
    *length = number == 0 ? strcspn(words, ",") : 0;
    return words;
}

/* ---- Reading ---- */

static bp_status read_int(const bp__making *making, bp__reader *r, const bp_call_field *field) {
    const char *word;
    size_t length;
    int64_t number;
    if (field->words) {
        number = bp__reader_name(r, &word, &length) ? word_number(field->words, word, length) : -1;
        if (number < 0) {
            return bp__reader_fail(r, "%s must be one of %s", field->name, field->words);
        }
    } else if (!bp__reader_whole(r, &number) || number < 0 || number > field->most) {
        return bp__reader_fail(r, "%s must be from 0 to %d", field->name, field->most);
    }
    const int value = (int)number;
    memcpy(address_of(&making->node, field), &value, sizeof value);
    return BP_OK;
}

static bp_status read_flag(const bp__making *making, bp__reader *r, const bp_call_field *field) {
    const char *word;
    size_t length;
    const int number = bp__reader_name(r, &word, &length) ? word_number("false,true", word, length) : -1;
    if (number < 0) {
        return bp__reader_fail(r, "%s must be true or false", field->name);
    }
    memcpy(address_of(&making->node, field), &number, sizeof number);
    return BP_OK;
}

static bp_status read_number(const bp__making *making, bp__reader *r, const bp_call_field *field) {
    int64_t number;
    if (!bp__reader_whole(r, &number)) {
        return bp__reader_fail(r, "%s must be a whole number", field->name);
    }
    if (field->kind == BP_FIELD_NUMBER) {
        memcpy(address_of(&making->node, field), &number, sizeof number);
        return BP_OK;
    }
    const int value = (int)number;
    if (value != number) {
        return bp__reader_fail(r, "%s is too large", field->name);
    }
    memcpy(address_of(&making->node, field), &value, sizeof value);
    return BP_OK;
}

/* Reads a real, two of them in parentheses for a factor. */
static bp_status read_reals(const bp__making *making, bp__reader *r, const bp_call_field *field) {
    double number[2] = {0, 0};
    const bool factor = field->kind == BP_FIELD_FACTOR, pair = factor && bp__reader_take(r, "(");
    bool good = bp__reader_real(r, &number[0]);
    good = good && (!pair || (bp__reader_take(r, ",") && bp__reader_real(r, &number[1]) && bp__reader_take(r, ")")));
    if (!good) {
        return bp__reader_fail(r, "%s must be a number%s", field->name, factor ? ", or (real, imaginary)" : "");
    }
    if (field->kind == BP_FIELD_REAL) {
        memcpy(address_of(&making->node, field), number, sizeof *number);
        return BP_OK;
    }
    double *kept = bp__alloc(sizeof number);
    if (!kept) {
        return bp__fail_memory(sizeof number, "a node");
    }
    memcpy(kept, number, sizeof number);
    set_pointer(&making->node, field, kept);
    return BP_OK;
}

/* Returns whether the field counts the elements of lists. */
static bool counts_lists(const bp_call_field *field) {
    return strcmp(field->name, "ndim") == 0 || strcmp(field->name, "axis_count") == 0;
}

static int *dimensions_of(const bp__node *node) {
    for (int i = 0; i < node->call->info.field_count; i++) {
        if (counts_lists(&node->call->fields[i])) {
            return address_of(node, &node->call->fields[i]);
        }
    }
    return NULL;
}

static bp_status read_list(bp__making *making, bp__reader *r, const bp_call_field *field) {
    int64_t *numbers;
    int count, *ndim = dimensions_of(&making->node);
    BP__TRY(bp__reader_list(r, &count, &numbers));
    int *axes = (int *)(void *)numbers;
    bool fits = true;
    for (int i = 0; i < count && field->kind == BP_FIELD_AXES; i++) {
        const int64_t number = numbers[i]; /* the list becomes one of int in the same memory */
        fits &= number == (int)number;
        axes[i] = (int)number;
    }
    if (!fits || !ndim || (making->counted && *ndim != count)) {
        bp__free(numbers);
        return bp__reader_fail(r,
                               fits ? "%s has another length than the number of dimensions, or than another list"
                                    : "%s has a number that is no axis",
                               field->name);
    }
    *ndim = count;
    making->counted = true;
    set_pointer(&making->node, field, numbers);
    return BP_OK;
}

static bp_status read_text(const bp__making *making, bp__reader *r, const bp_call_field *field) {
    char *text;
    BP__TRY(bp__reader_text(r, &text));
    set_pointer(&making->node, field, text);
    return BP_OK;
}

static bp_status read_operand(bp__making *making, bp__reader *r, const bp_call_field *field) {
    const char *name;
    size_t length;
    const bp_value value = bp__reader_name(r, &name, &length) ? making->find(making->context, name, length) : 0;
    if (value == 0) {
        return bp__reader_fail(r, "%s must be the name of a value", field->name);
    }
    making->named[field - making->node.call->fields] = value;
    return BP_OK;
}

static bp_status read_value(bp__making *making, bp__reader *r, const bp_call_field *field) {
    switch (field->kind) {
    case BP_FIELD_INT:
        return read_int(making, r, field);
    case BP_FIELD_FLAG:
        return read_flag(making, r, field);
    case BP_FIELD_NUMBER:
    case BP_FIELD_SIGNED:
        return read_number(making, r, field);
    case BP_FIELD_REAL:
    case BP_FIELD_TOLERANCE:
    case BP_FIELD_FACTOR:
        return read_reals(making, r, field);
    case BP_FIELD_SIZES:
    case BP_FIELD_AXES:
        return read_list(making, r, field);
    case BP_FIELD_TEXT:
        return read_text(making, r, field);
    case BP_FIELD_TENSOR:
        return read_operand(making, r, field);
    default:
        return bp__reader_fail(r, "%s is a list of operands, which have no name", field->name);
    }
}

/* The number of dimensions follows from a list. */
static bool has_list(const bp__node *node) {
    bool found = false;
    for (int i = 0; i < node->call->info.field_count; i++) {
        const bp_call_field *field = &node->call->fields[i];
        found |= (field->kind == BP_FIELD_SIZES || field->kind == BP_FIELD_AXES) && pointer_at(node, field) != NULL;
    }
    return found;
}

/* Reads a field that counts the elements of lists. Those that were read before must have this number of elements. */
static bp_status read_count(bp__making *making, bp__reader *r, const bp_call_field *field) {
    const int before = *dimensions_of(&making->node);
    BP__TRY(read_value(making, r, field));
    making->counted = true;
    return !has_list(&making->node) || *dimensions_of(&making->node) == before
               ? BP_OK
               : bp__reader_fail(r, "%s is another number than the length of a list", field->name);
}

static bool is_count_of_list(const bp_call *call, const bp_call_field *field) {
    return call->count_offset > 0 && field->offset == (size_t)call->count_offset;
}

bp_status bp__field_read(bp__making *making, bp__reader *reader, const char *name, size_t length) {
    const bp_call *call = making->node.call;
    for (int i = 0; i < call->info.field_count; i++) {
        const bp_call_field *field = &call->fields[i];
        if (strlen(field->name) == length && memcmp(field->name, name, length) == 0 && !is_count_of_list(call, field)) {
            if (making->given >> i & 1) {
                return bp__reader_fail(reader, "%s is given twice", field->name);
            }
            making->given |= UINT64_C(1) << i;
            return counts_lists(field) ? read_count(making, reader, field) : read_value(making, reader, field);
        }
    }
    return bp__reader_fail(reader, "%s has no field \"%.*s\"", call->info.name, bp__shown(length), name);
}

/* ---- Writing ---- */

static bool is_usual(const bp__node *node, const bp_call_field *field) {
    char bytes[sizeof(double)];
    const size_t size = usual_bytes(node, field, bytes);
    if (size > 0) {
        return memcmp(address_of(node, field), bytes, size) == 0;
    }
    return field->kind == BP_FIELD_TENSOR || field->kind == BP_FIELD_TENSORS || pointer_at(node, field) == NULL;
}

static void write_real(bp__text *text, const void *at) {
    char number[48];
    double value;
    memcpy(&value, at, sizeof value);
    bp__format(number, sizeof number, "%a", value);
    bp__text_add(text, number);
}

static void write_list(bp__text *text, const bp__node *node, const bp_call_field *field) {
    const void *numbers = pointer_at(node, field);
    const int count = *dimensions_of(node);
    for (int i = 0; i < count; i++) {
        const int64_t number = field->kind == BP_FIELD_AXES ? ((const int *)numbers)[i] : ((const int64_t *)numbers)[i];
        bp__text_addf(text, "%s%" PRId64, i ? ", " : "[", number);
    }
    bp__text_add(text, count > 0 ? "]" : "[]");
}

static void write_quoted(bp__text *text, const char *quoted) {
    bp__text_add(text, "\"");
    for (; *quoted; quoted++) {
        bp__text_add(text, *quoted == '"' || *quoted == '\\' ? "\\" : "");
        bp__text_add_n(text, quoted, 1);
    }
    bp__text_add(text, "\"");
}

static void write_int(bp__text *text, const bp_call_field *field, int number) {
    size_t length;
    if (field->words) {
        const char *word = word_at(field->words, number, &length);
        bp__text_add_n(text, word, length);
    } else {
        bp__text_addf(text, "%d", number);
    }
}

static void write_value(bp__text *text, const bp__node *node, const bp_call_field *field) {
    const void *at = address_of(node, field);
    int number;
    int64_t whole;
    switch (field->kind) {
    case BP_FIELD_INT:
    case BP_FIELD_FLAG:
    case BP_FIELD_SIGNED:
        memcpy(&number, at, sizeof number);
        field->kind == BP_FIELD_FLAG ? bp__text_add(text, number ? "true" : "false") : write_int(text, field, number);
        break;
    case BP_FIELD_NUMBER:
        memcpy(&whole, at, sizeof whole);
        bp__text_addf(text, "%" PRId64, whole);
        break;
    case BP_FIELD_REAL:
        write_real(text, at);
        break;
    case BP_FIELD_TOLERANCE:
        write_real(text, pointer_at(node, field));
        break;
    case BP_FIELD_FACTOR:
        bp__text_add(text, "(");
        write_real(text, pointer_at(node, field));
        bp__text_add(text, ", ");
        write_real(text, (const double *)pointer_at(node, field) + 1);
        bp__text_add(text, ")");
        break;
    case BP_FIELD_TEXT:
        write_quoted(text, pointer_at(node, field));
        break;
    default:
        write_list(text, node, field);
    }
}

void bp__node_function(const bp__node *node, char *word, size_t size) {
    word[0] = '\0';
    for (int i = 0; i < node->call->info.field_count; i++) {
        const bp_call_field *field = &node->call->fields[i];
        if (field->kind == BP_FIELD_INT && field->words) {
            bp__text text = {0};
            write_value(&text, node, field);
            bp__format(word, size, "%s", bp__text_get(&text));
            bp__text_free(&text);
            return;
        }
    }
}

void bp__node_numbers(const bp__node *node, int count, double *numbers) {
    int found = 0;
    for (int i = 0; i < node->call->info.field_count && found < count; i++) {
        const bp_call_field *field = &node->call->fields[i];
        if (field->kind == BP_FIELD_TOLERANCE) {
            const double *given = pointer_at(node, field);
            numbers[found++] = given ? *given : (double)NAN;
        }
    }
    for (; found < count; found++) {
        numbers[found] = (double)NAN;
    }
}

void bp__fields_write(const bp__node *node, bp__text *text) {
    const bp_call *call = node->call;
    for (int i = 0; i < call->info.field_count; i++) {
        const bp_call_field *field = &call->fields[i];
        if (!is_usual(node, field) && !is_count_of_list(call, field) && !(counts_lists(field) && has_list(node))) {
            bp__text_addf(text, ", %s=", field->name);
            write_value(text, node, field);
        }
    }
}
