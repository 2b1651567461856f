/* parse.c - parses einsum's notation, as text or as lists of numbers, into tokens.
 *
 * Errors point at the character. terms.c matches the tokens with the operands' shapes. */
#include "base/number.h"
#include "einsum/internal.h"

#include <stdio.h>
#include <string.h>

#define MOST_TOKENS (1 << 28)
#define EXCERPT 30 /* characters shown on each side of the error */

/* Adds the text around an offset, and a line with a caret below it. */
static void add_excerpt(bp__text *out, const char *text, int at) {
    int length = (int)strlen(text);
    int from = at > EXCERPT ? at - EXCERPT : 0;
    int to = at + EXCERPT < length ? at + EXCERPT : length;
    const char *head = from > 0 ? "..." : "";
    bp__text_addf(out, "\n  %s", head);
    for (int i = from; i < to; i++) {
        bool plain = text[i] >= ' ' && text[i] <= '~';
        bp__text_add_n(out, plain ? &text[i] : "?", 1); /* one column per byte, so that the caret is aligned */
    }
    bp__text_addf(out, "%s\n  %*s^", to < length ? "..." : "", at - from + (int)strlen(head), "");
}

static bp_status fail_at(const char *text, int at, bp_status status, const char *sentence) {
    bp__text excerpt = {0};
    add_excerpt(&excerpt, text, at);
    bp_status answer =
        bp__fail(status, "einsum: %s, at offset %d of the expression%s", sentence, at, bp__text_get(&excerpt));
    bp__text_free(&excerpt);
    return answer;
}

bp_status bp__token_fail(const bp__source *source, int token, bp_status status, const char *format, ...) {
    char sentence[512];
    va_list args;
    va_start(args, format);
    bp__format_v(sentence, sizeof sentence, format, args);
    va_end(args);
    if (source->text) {
        int at = token < source->token_count ? source->tokens[token].at : (int)strlen(source->text);
        return fail_at(source->text, at, status, sentence);
    }
    int operand = 0;
    while (operand < source->count && source->first[operand + 1] <= token) {
        operand++;
    }
    char where[32];
    snprintf(where, sizeof where, operand < source->count ? "operand %d" : "the output", operand);
    return bp__fail(status, "einsum: %s, at index %d of the list of %s", sentence,
                    token < source->token_count ? source->tokens[token].at : 0, where);
}

static bp_status reserve(bp__source *source, int operands, size_t tokens) {
    if (tokens > MOST_TOKENS) {
        bp__fail(BP_E_OVERFLOW, "einsum: there are %zu labels; at most %d can be handled", tokens, MOST_TOKENS);
        return BP_E_OVERFLOW;
    }
    size_t size = tokens * sizeof(bp__token) + ((size_t)operands + 2) * sizeof(int32_t);
    source->memory = bp__alloc(size);
    if (!source->memory) {
        bp__fail_memory(size, "einsum's labels");
        return BP_E_NO_MEMORY; /* explicit, so that the static analyzer knows that memory is allocated from here on */
    }
    source->tokens = source->memory;
    source->first = (int32_t *)(source->tokens + tokens);
    return BP_OK;
}

/* ---- Text ---- */

/* State of the parser. */
typedef struct reader {
    bp__source *source;
    const char *text;
    int at;
    int part;     /* index of the operand; the number of operands for the output */
    int ellipsis; /* of this part: its offset, or -1 */
    bool in_output;
} reader;

static void add_token(reader *r, int32_t label) {
    bp__source *s = r->source;
    s->tokens[s->token_count++] = (bp__token){label, r->at};
}

static bp_status wrong(const reader *r, const char *format, ...) BP_PRINTF(2, 3);
static bp_status wrong(const reader *r, const char *format, ...) {
    char sentence[512];
    va_list args;
    va_start(args, format);
    bp__format_v(sentence, sizeof sentence, format, args);
    va_end(args);
    return fail_at(r->text, r->at, BP_E_ARGUMENT, sentence);
}

static void part_name(const reader *r, char name[32]) {
    snprintf(name, 32, r->in_output ? "the output" : "operand %d", r->part);
}

static bp_status read_dots(reader *r) {
    char name[32];
    part_name(r, name);
    if (strncmp(r->text + r->at, "...", 3) != 0) {
        return wrong(r, "%s has a '.' that is not part of an ellipsis \"...\"", name);
    }
    if (r->ellipsis >= 0) {
        return wrong(r, "%s has a second ellipsis", name);
    }
    r->ellipsis = r->at;
    add_token(r, BP_EINSUM_ELLIPSIS);
    r->at += 3;
    return BP_OK;
}

static bp_status read_arrow(reader *r) {
    if (r->text[r->at + 1] != '>') {
        return wrong(r, "a '-' without the '>' of \"->\"");
    }
    if (r->in_output) {
        return wrong(r, "a second \"->\"");
    }
    r->source->first[++r->part] = r->source->token_count;
    r->in_output = true;
    r->source->has_output = true;
    r->ellipsis = -1;
    r->at += 2;
    return BP_OK;
}

static bp_status read_comma(reader *r) {
    if (r->in_output) {
        return wrong(r, "the output has a ','; it is one tensor");
    }
    if (r->part + 1 >= r->source->count) {
        return wrong(r, "the expression has more operands than the %d that are given", r->source->count);
    }
    r->source->first[++r->part] = r->source->token_count;
    r->ellipsis = -1;
    r->at++;
    return BP_OK;
}

/* Returns the letter's number, as in the sublist form. */
static int32_t letter_number(char letter) {
    if (letter >= 'A' && letter <= 'Z') {
        return letter - 'A';
    }
    return letter >= 'a' && letter <= 'z' ? letter - 'a' + 26 : -1;
}

static bp_status read_one(reader *r) {
    char c = r->text[r->at];
    int32_t number = letter_number(c);
    if (number >= 0) {
        add_token(r, number);
        r->at++;
        return BP_OK;
    }
    switch (c) {
    case ' ':
        r->at++;
        return BP_OK;
    case '.':
        return read_dots(r);
    case '-':
        return read_arrow(r);
    case ',':
        return read_comma(r);
    default:
        break;
    }
    if (c > ' ' && c <= '~') {
        return wrong(r, "'%c' is not a label; labels are A-Z and a-z, and the sublist form has more", c);
    }
    return wrong(r, "byte %d is not a label; labels are A-Z and a-z, and the sublist form has more", (unsigned char)c);
}

static bp_status read_text(bp__source *source, const char *text) {
    reader r = {.source = source, .text = text, .ellipsis = -1};
    source->first[0] = 0;
    while (text[r.at]) {
        BP__TRY(read_one(&r));
    }
    if (!r.in_output) {
        source->first[++r.part] = source->token_count;
    }
    if (r.part < source->count) {
        return wrong(&r, "the expression has %d operand%s, but %d are given", r.part, r.part == 1 ? "" : "s",
                     source->count);
    }
    return BP_OK;
}

static bp_status check_operands(int count, const bp_einsum_operand *operands) {
    if (count < 1 || !operands) {
        return bp__fail(BP_E_ARGUMENT, "einsum: there are %d operands; there must be one or more",
                        operands ? count : 0);
    }
    for (int i = 0; i < count; i++) {
        if (operands[i].ndim < 0 || (operands[i].ndim > 0 && !operands[i].shape)) {
            return bp__fail(BP_E_ARGUMENT, "einsum: operand %d has %d dimensions and %s shape", i, operands[i].ndim,
                            operands[i].shape ? "a" : "no");
        }
    }
    return BP_OK;
}

bp_status bp__einsum_parse(bp__einsum *einsum, const char *expression, int count, const bp_einsum_operand *operands) {
    bp__source source = {.text = expression, .count = count};
    if (!expression) {
        return bp__fail(BP_E_ARGUMENT, "einsum: expression is NULL; it must be text such as \"ij,jk->ik\"");
    }
    BP__TRY(check_operands(count, operands));
    BP__TRY(reserve(&source, count, strlen(expression)));
    bp_status status = read_text(&source, expression);
    status = status == BP_OK ? bp__einsum_resolve(einsum, &source, operands) : status;
    bp__free(source.memory);
    return status;
}

/* ---- Sublists ---- */

static bp_status read_list(bp__source *source, const int *labels, int count) {
    bool ellipsis = false;
    for (int i = 0; i < count; i++) {
        int token = source->token_count++;
        source->tokens[token] = (bp__token){labels[i], i};
        if (labels[i] < BP_EINSUM_ELLIPSIS) {
            return bp__token_fail(source, token, BP_E_ARGUMENT, "a label %d; labels are 0 or more", labels[i]);
        }
        if (labels[i] == BP_EINSUM_ELLIPSIS && ellipsis) {
            return bp__token_fail(source, token, BP_E_ARGUMENT, "a second ellipsis");
        }
        ellipsis |= labels[i] == BP_EINSUM_ELLIPSIS;
    }
    return BP_OK;
}

static bp_status read_lists(bp__source *source, const bp_einsum_operand *operands, int output_count,
                            const int *output) {
    /* Marks lists that are not read yet, so that an error is only located in those that were. */
    for (int i = 0; i <= source->count; i++) {
        source->first[i] = INT32_MAX;
    }
    source->first[0] = 0;
    for (int i = 0; i < source->count; i++) {
        BP__TRY(read_list(source, operands[i].labels, operands[i].label_count));
        source->first[i + 1] = source->token_count;
    }
    source->has_output = output_count != BP_EINSUM_IMPLICIT;
    return source->has_output ? read_list(source, output, output_count) : BP_OK;
}

bp_status bp__einsum_sublists(bp__einsum *einsum, int count, const bp_einsum_operand *operands, int output_count,
                              const int *output) {
    bp__source source = {.count = count};
    BP__TRY(check_operands(count, operands));
    if (output_count < BP_EINSUM_IMPLICIT || (output_count > 0 && !output)) {
        return bp__fail(BP_E_ARGUMENT, "einsum: the output has %d labels and %s list", output_count,
                        output ? "a" : "no");
    }
    size_t tokens = output_count > 0 ? (size_t)output_count : 0;
    for (int i = 0; i < count; i++) {
        if (operands[i].label_count < 0 || (operands[i].label_count > 0 && !operands[i].labels)) {
            return bp__fail(BP_E_ARGUMENT, "einsum: operand %d has %d labels and %s list", i, operands[i].label_count,
                            operands[i].labels ? "a" : "no");
        }
        tokens += (size_t)operands[i].label_count;
    }
    BP__TRY(reserve(&source, count, tokens));
    bp_status status = read_lists(&source, operands, output_count, output);
    status = status == BP_OK ? bp__einsum_resolve(einsum, &source, operands) : status;
    bp__free(source.memory);
    return status;
}
