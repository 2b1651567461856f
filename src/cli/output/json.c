/* json.c - prints JSON to standard output: one document, made in memory by the writer that the library uses
 * (base/json.c).
 */
#include "cli/command/cli.h"

#include <stdlib.h>
#include <string.h>

static bp__text document;
static bp__json writer = {.out = &document, .pretty = true};
static char closing[BP__JSON_DEPTH];

/* Prints the document if it is complete. */
static void finish_json(void) {
    if (writer.depth == 0) {
        puts(bp__text_get(&document));
        bp__text_free(&document);
        writer.need_comma[0] = 0;
    }
}

void json_open(const char *key, char bracket) {
    closing[writer.depth] = bracket == '{' ? '}' : ']';
    bp__json_open(&writer, key, bracket);
}

void json_close(void) {
    bp__json_close(&writer, closing[writer.depth - 1]);
    finish_json();
}

void json_text(const char *key, const char *value) {
    bp__json_text(&writer, key, value);
    finish_json();
}

void json_int(const char *key, int64_t value) {
    bp__json_int(&writer, key, value);
    finish_json();
}

void json_number(const char *key, double value) {
    bp__json_number(&writer, key, value);
    finish_json();
}

void json_bool(const char *key, bool value) {
    bp__json_bool(&writer, key, value);
    finish_json();
}

void json_raw(const char *key, const char *json) {
    bp__json_raw(&writer, key, json);
    finish_json();
}

void json_list(const char *key, const char *text, char separator) {
    const char stop[] = {separator, 0};
    json_open(key, '[');
    while (*text) {
        size_t length = strcspn(text, stop);
        if (length > 0) {
            char *piece = cli_format("%.*s", (int)length, text);
            json_text(NULL, piece);
            free(piece);
        }
        text += length + (text[length] != 0);
    }
    json_close();
}
