/* wrap.c - breaks text so that it fits the terminal.
 *
 * Lines are broken at spaces. A word that is longer than its line is broken behind '/' or ',', as paths and lists are,
 * and elsewhere only if it has neither. Without a width (files, pipes) nothing is broken.
 */
#include "cli/command/cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool continues(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80; /* of a UTF-8 character */
}

static bool is_one_of(char byte, const char *set) {
    return byte && strchr(set, byte);
}

/* Possible ends of a line, in bytes from its start; 0 for none. */
typedef struct ends {
    size_t space; /* before the last space that fits */
    size_t mark;  /* behind the last '/' or ',' */
    size_t joint; /* behind the last '-', '_', '.', ':' or '=' */
    size_t full;  /* behind the last character */
} ends;

/* Returns the ends within `width` columns; *fits: the whole text fits. */
static ends find_ends(const char *text, int width, bool *fits) {
    ends found = {0, 0, 0, 0};
    int column = 0;
    size_t at = 0;
    for (; text[at]; at++) {
        if (text[at] == ' ' && column <= width && at > 0) {
            found.space = at;
        }
        column += !continues(text[at]);
        if (column > width) {
            break;
        }
        bool inner = text[at + 1] && text[at + 1] != ' ';
        found.mark = inner && is_one_of(text[at], "/,") ? at + 1 : found.mark;
        found.joint = inner && is_one_of(text[at], "-_.:=") ? at + 1 : found.joint;
        found.full = continues(text[at + 1]) ? found.full : at + 1;
    }
    *fits = !text[at];
    return found;
}

static size_t first_character(const char *text) {
    size_t length = text[0] != 0;
    while (length > 0 && continues(text[length])) {
        length++;
    }
    return length;
}

static int word_width(const char *text) {
    int width = 0;
    for (; *text && *text != ' '; text++) {
        width += !continues(*text);
    }
    return width;
}

size_t cli_break(const char *text, int width, size_t *next) {
    bool fits;
    ends found = find_ends(text, width, &fits);
    size_t end = fits ? strlen(text) : found.space;
    if (!fits) {
        size_t word = end + strspn(text + end, " ");
        const size_t least = 12; /* less of a long word is not worth a break */
        bool worth = found.mark > word + (word > 0 ? least : 0);
        if (worth && word_width(text + word) > width) {
            end = found.mark;
        } else if (end == 0) {
            end = found.joint > 0 ? found.joint : found.full > 0 ? found.full : first_character(text);
        }
    }
    *next = end + strspn(text + end, " ");
    while (end > 0 && text[end - 1] == ' ') {
        end--;
    }
    return end;
}

int cli_longest_piece(const char *text) {
    int longest = 0, width = 0;
    for (; *text; text++) {
        width = *text == ' ' ? 0 : width + !continues(*text);
        longest = width > longest ? width : longest;
        width = is_one_of(*text, "/,") ? 0 : width;
    }
    return longest;
}

static void print_piece(cli_style style, const char *text, size_t length) {
    cli_say(style, "%.*s", (int)length, text);
}

/* Returns the columns behind an indentation; INT_MAX without a width. */
static int columns_after(int indent) {
    const int least = 8, left = cli_out_width() - indent;
    return cli_out_width() == 0 ? INT_MAX : left < least ? least : left;
}

int cli_behind_label(int used, int indent) {
    const int least = 24, below = 8;
    const bool narrow = indent > below && columns_after(indent) < least;
    const int at = narrow ? below : indent;
    const bool breaks = narrow || used >= indent;
    printf(breaks ? "\n%*s" : "%*s", breaks ? at : indent - used, "");
    return at;
}

/* Ends the line. The first line begins at column `indent`, too. */
static void print_wrapped(cli_style style, int indent, const char *text) {
    size_t next;
    for (bool more = true; more; text += next) {
        size_t length = cli_break(text, columns_after(indent), &next);
        print_piece(style, text, length);
        more = text[next];
        printf(more ? "\n%*s" : "\n", indent, "");
    }
}

/* Returns a copy in which one space takes the place of several, and of line ends. */
static char *squeeze(const char *text) {
    char *copy = cli_allocate(strlen(text) + 1), *to = copy;
    int spaces = 0;
    for (; *text; text++) {
        spaces = *text == ' ' || *text == '\n' ? spaces + 1 : 0;
        if (spaces <= 1) {
            *to++ = (char)(*text == '\n' ? ' ' : *text);
        }
    }
    while (to > copy && to[-1] == ' ') {
        *--to = 0;
    }
    return copy;
}

void cli_remark(cli_style style, int indent, const char *text) {
    char *words = squeeze(text);
    print_wrapped(style, indent, words + (words[0] == ' '));
    free(words);
}

void cli_paragraph(int indent, const char *text) {
    cli_remark(CLI_PLAIN, indent, text);
}

/* Returns the column in which the last of a line's aligned fields begins: behind the last run of two spaces or more.
 * Lines without aligned fields are indented by two more columns than their start. */
static int last_field(const char *line) {
    int start = (int)strspn(line, " "), field = 0;
    for (int at = start; line[at]; at++) {
        field = at > start && line[at] != ' ' && line[at - 1] == ' ' && line[at - 2] == ' ' ? at : field;
    }
    return field > 0 ? field : start + 2;
}

/* Takes spaces out of the longest gaps until the line fits, or has no gap of more than two. Lines of one length keep
 * the alignment of their last field. */
static void close_gaps(char *line, int width) {
    for (int over = cli_text_width(line) - width; over > 0; over--) {
        char *longest = NULL;
        size_t most = 2;
        for (char *at = line + strspn(line, " "); *at; at += *at != 0) {
            at += strcspn(at, " ");
            size_t gap = strspn(at, " ");
            longest = gap > most ? at : longest;
            most = gap > most ? gap : most;
            at += gap > 0 ? gap - 1 : 0;
        }
        if (!longest) {
            return;
        }
        memmove(longest, longest + 1, strlen(longest));
    }
}

static void print_line(char *line) {
    int width = columns_after(0), field = last_field(line);
    if (line[strspn(line, "-")] == 0 && cli_text_width(line) > width) {
        line[width] = 0; /* a rule */
    }
    if (field > width / 2) {
        close_gaps(line, width);
        field = (int)strspn(line, " ") + 4;
    }
    if (cli_text_width(line) <= width) {
        cli_say(CLI_PLAIN, "%s\n", line);
        return;
    }
    size_t next, length = cli_break(line, width, &next);
    print_piece(CLI_PLAIN, line, length);
    printf("\n%*s", field, "");
    print_wrapped(CLI_PLAIN, field, line + next);
}

void cli_page(const char *text) {
    while (*text) {
        size_t length = strcspn(text, "\n");
        char *line = cli_format("%.*s", (int)length, text);
        print_line(line);
        free(line);
        text += length + (text[length] == '\n');
    }
}
