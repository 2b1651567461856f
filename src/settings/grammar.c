/* grammar.c - parses configuration files and the text of options, which have one grammar:
 *
 *     entries    = entry { separator entry }        a newline; in options' text also a comma
 *     entry      = [ name "=" value ] [ "#" comment up to the newline ]
 *     value      = bare text, without the blanks around it, or '"' text '"' in which \" and \\ mean " and \
 *
 * Any bytes are accepted; text that does not match the grammar is returned as an entry with a fault.
 */
#include "settings/private.h"

#include <string.h>

void bp__reader_start(bp__reader *reader, const char *bytes, size_t size, bool commas) {
    bool marked = size >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0; /* byte order mark that some editors write */
    *reader = (bp__reader){.bytes = bytes, .size = size, .at = marked ? 3 : 0, .line = 1, .commas = commas};
}

static bool at_end(const bp__reader *reader) {
    return reader->at >= reader->size;
}

static char next_character(const bp__reader *reader) {
    return reader->bytes[reader->at];
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static bool at_separator(const bp__reader *reader) {
    return at_end(reader) || next_character(reader) == '\n' || (reader->commas && next_character(reader) == ',');
}

static void skip_blanks(bp__reader *reader) {
    while (!at_end(reader) && is_blank(next_character(reader))) {
        reader->at++;
    }
}

static void skip_line(bp__reader *reader) {
    while (!at_end(reader) && next_character(reader) != '\n') {
        reader->at++;
    }
}

/* Skips to the next entry, over blanks, separators and comments. */
static void skip_between(bp__reader *reader) {
    while (!at_end(reader)) {
        skip_blanks(reader);
        if (!at_end(reader) && next_character(reader) == '#') {
            skip_line(reader);
        } else if (!at_end(reader) && at_separator(reader)) {
            reader->line += next_character(reader) == '\n';
            reader->at++;
        } else {
            return;
        }
    }
}

static const char *without_blanks(const char *start, const char *end) {
    while (end > start && is_blank(end[-1])) {
        end--;
    }
    return end;
}

static const char *read_name(bp__reader *reader, bp__entry *entry) {
    const char *start = reader->bytes + reader->at;
    while (!at_separator(reader) && next_character(reader) != '=' && next_character(reader) != '#') {
        reader->at++;
    }
    entry->name = start;
    entry->name_length = (size_t)(without_blanks(start, reader->bytes + reader->at) - start);
    if (at_separator(reader) || next_character(reader) == '#') {
        return "'=' and a value are missing";
    }
    return entry->name_length == 0 ? "a name is missing before '='" : NULL;
}

static const char *add_byte(bp__entry *entry, char c) {
    if (entry->value_length == BP__LONGEST_VALUE) {
        return "the value is longer than 4095 bytes";
    }
    entry->value[entry->value_length++] = c;
    return NULL;
}

static const char *read_quoted(bp__reader *reader, bp__entry *entry) {
    const char *fault = NULL;
    reader->at++;
    for (;; reader->at++) {
        if (at_end(reader) || next_character(reader) == '\n') {
            return "the quote is not closed on its line";
        }
        char c = next_character(reader);
        if (c == '"') {
            break;
        }
        if (c == '\\') {
            reader->at++;
            if (at_end(reader) || (next_character(reader) != '"' && next_character(reader) != '\\')) {
                return "inside quotes, a backslash must be followed by a quote or a backslash";
            }
            c = next_character(reader);
        }
        fault = fault ? fault : add_byte(entry, c);
    }
    reader->at++;
    entry->written_end = reader->bytes + reader->at;
    skip_blanks(reader);
    if (!at_separator(reader) && next_character(reader) != '#') {
        return "text follows the closing quote";
    }
    return fault;
}

static const char *read_bare(bp__reader *reader, bp__entry *entry) {
    const char *fault = NULL;
    while (!at_separator(reader) && next_character(reader) != '#') {
        reader->at++;
    }
    entry->written_end = without_blanks(entry->written, reader->bytes + reader->at);
    for (const char *each = entry->written; each < entry->written_end && !fault; each++) {
        fault = add_byte(entry, *each);
    }
    return fault;
}

static const char *read_value(bp__reader *reader, bp__entry *entry) {
    reader->at++; /* skips the '=' */
    const char *start = reader->bytes + reader->at;
    skip_blanks(reader);
    bool empty = at_separator(reader) || next_character(reader) == '#';
    entry->written = empty ? start : reader->bytes + reader->at; /* otherwise a new value would be written after a CR */
    return !at_end(reader) && next_character(reader) == '"' ? read_quoted(reader, entry) : read_bare(reader, entry);
}

bool bp__reader_next(bp__reader *reader, bp__entry *entry) {
    skip_between(reader);
    if (at_end(reader)) {
        return false;
    }
    entry->line = reader->line;
    entry->written = NULL;
    entry->written_end = NULL;
    entry->value_length = 0;
    entry->fault = read_name(reader, entry);
    if (!entry->fault) {
        entry->fault = read_value(reader, entry);
    }
    if (entry->fault || (!at_end(reader) && next_character(reader) == '#')) {
        skip_line(reader);
    }
    entry->value[entry->value_length] = '\0';
    entry->end = without_blanks(entry->name, reader->bytes + reader->at);
    return true;
}
