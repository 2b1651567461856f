/* report_private.c - removes what names a person from the texts of a report: home directories and the user's name. */
#include "report.h"

#include <ctype.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_HOMES = 3 };

static struct {
    bool known;
    char *homes[MOST_HOMES]; /* without a slash at the end */
    int count;
    char *user; /* "" for root, whose name is everywhere */
} person;

/* A character that may be part of a file's name. Other characters end it, as quotes and colons do. */
static bool in_name(char c) {
    return isalnum((unsigned char)c) || (c && strchr("._-+@", c)) || (unsigned char)c >= 0x80;
}

static void add_home(const char *path) {
    size_t length = path ? strlen(path) : 0;
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    if (length > 1 && path[0] == '/' && person.count < MOST_HOMES) {
        person.homes[person.count++] = cli_format("%.*s", (int)length, path);
    }
}

static void find_person(void) {
    char real[PATH_MAX];
    const char *home = getenv("HOME");
    const struct passwd *entry = getpwuid(geteuid());
    person.known = true;
    add_home(home);
    add_home(home && realpath(home, real) ? real : NULL);
    add_home(entry ? entry->pw_dir : NULL);
    person.user = cli_format("%s", entry && geteuid() != 0 ? entry->pw_name : "");
}

/* Returns the length of the home directory at the begin of `at`, which ends there; 0 if there is none. */
static size_t home_at(const char *at) {
    size_t longest = 0;
    for (int i = 0; i < person.count; i++) {
        const size_t length = strlen(person.homes[i]);
        if (length > longest && strncmp(at, person.homes[i], length) == 0 && !in_name(at[length])) {
            longest = length;
        }
    }
    return longest;
}

static size_t name_length(const char *at) {
    size_t length = 0;
    while (in_name(at[length])) {
        length++;
    }
    return length;
}

/* Returns how many characters at `at`, where a path or a directory of it begins, are replaced by *with. */
static size_t replaced_at(const char *at, bool path_begins, const char **with) {
    static const char others[] = "/home/";
    const size_t home = path_begins ? home_at(at) : 0;
    if (home > 0) {
        *with = "~";
        return home;
    }
    if (path_begins && strncmp(at, others, strlen(others)) == 0 && name_length(at + strlen(others)) > 0) {
        *with = "/home/?";
        return strlen(others) + name_length(at + strlen(others));
    }
    const size_t user = strlen(person.user);
    if (at[0] == '/' && user > 0 && strncmp(at + 1, person.user, user) == 0 && !in_name(at[1 + user])) {
        *with = "/USER";
        return 1 + user;
    }
    return 0;
}

char *report_private(char *text) {
    if (!person.known) {
        find_person();
    }
    bp__text out = {.length = 0};
    for (const char *at = text; *at;) {
        const char *with = "";
        const bool path_begins = at == text || (!in_name(at[-1]) && at[-1] != '/');
        const size_t length = *at == '/' ? replaced_at(at, path_begins, &with) : 0;
        bp__text_add(&out, with);
        bp__text_add_n(&out, at, length > 0 ? 0 : 1);
        at += length > 0 ? length : 1;
    }
    char *made = cli_format("%s", bp__text_get(&out));
    bp__text_free(&out);
    free(text);
    return made;
}
