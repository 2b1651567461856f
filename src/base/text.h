/* text.h - text, names, durations and JSON: the utilities that the library and the command share.
 *
 * text.c, suggest.c and json.c are compiled into both. They need nothing else of the library but bp__realloc() and
 * bp__free(): base/memory.c has them for the library, src/cli/command/memory.c for the command.
 */
#ifndef BP_BASE_TEXT_H
#define BP_BASE_TEXT_H

#include "backplane/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *bp__realloc(void *block, size_t size); /* as realloc; the old block stays valid on failure */
void bp__free(void *block);                  /* NULL is allowed */

/* ---- Text (text.c): a growing buffer. After a failed allocation it sets `failed` and ignores further additions, so
 * that callers check once, at the end. ---- */
typedef struct bp__text {
    char *bytes; /* NUL-terminated after the first addition; may be NULL before */
    size_t length;
    size_t capacity;
    bool failed;
} bp__text;
void bp__text_add(bp__text *text, const char *piece);
void bp__text_add_n(bp__text *text, const char *piece, size_t length);
void bp__text_addf(bp__text *text, const char *format, ...) BP_PRINTF(2, 3);
const char *bp__text_get(const bp__text *text); /* "" when empty; never NULL */
void bp__text_free(bp__text *text);

bool bp__text_equal(const char *a, const char *b); /* exact */
bool bp__text_starts(const char *text, const char *head);
bool bp__text_has_word(const char *list, const char *word); /* words are separated by single spaces */
bool bp__parse_int(const char *text, int64_t *value); /* whole text, decimal, optional sign, no spaces */
/* Copies and always adds NUL. Returns false if the text had to be cut. */
bool bp__copy_text(char *buffer, size_t size, const char *text);

/* Writes the names of a list closest to `wrong` (edit distance) as "did you mean 'a' or 'b'?"; "" if none is near.
 * `name_at` returns NULL past the end. */
typedef const char *(*bp__name_at)(void *user, int index);
const char *bp__suggest(const char *wrong, bp__name_at name_at, void *user, char *buffer, size_t size);
/* Writes `mark` before each name, as "--" for options. */
const char *bp__suggest_marked(const char *wrong, const char *mark, bp__name_at name_at, void *user, char *buffer,
                               size_t size);

/* Writes a duration with four significant digits: "25 ns", "1.815 ms". Below a microsecond these are whole nanoseconds.
 * Returns `buffer`. */
const char *bp__duration(double ns, char *buffer, size_t size);

/* ---- JSON output (json.c): handles commas and escapes; invalid UTF-8 becomes U+FFFD. ---- */
enum { BP__JSON_DEPTH = 32 };
typedef struct bp__json {
    bp__text *out;
    unsigned char need_comma[BP__JSON_DEPTH]; /* for each depth */
    int depth;
    bool pretty; /* a line for each value; false after bp__json_begin() */
} bp__json;
void bp__json_begin(bp__json *json, bp__text *out);
void bp__json_open(bp__json *json, const char *key, char bracket); /* '{' or '['; key NULL inside arrays */
void bp__json_close(bp__json *json, char bracket);
void bp__json_text(bp__json *json, const char *key, const char *value); /* NULL writes null */
void bp__json_raw(bp__json *json, const char *key, const char *value);  /* text that is JSON already */
void bp__json_int(bp__json *json, const char *key, int64_t value);
void bp__json_number(bp__json *json, const char *key, double value); /* non-finite becomes null */
void bp__json_bool(bp__json *json, const char *key, bool value);

#endif
