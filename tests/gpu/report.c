/* report.c - writes what gpu_check has found, as JSON and as a page, after each rule, so that a run that is cut off
 * leaves what it has. */
#include "check.h"

#include "backplane.h"

#include <stdio.h>
#include <string.h>

static const char *const words[] = {[PASSED] = "passed", [FAILED] = "failed", [SKIPPED] = "skipped"};

/* Opens the file that replaces `name` when it is complete. */
static FILE *open_part(const char *folder, const char *name, char path[4096]) {
    snprintf(path, 4096, "%s/%s.part", folder, name);
    return fopen(path, "w");
}

static bool close_part(FILE *file, const char *folder, const char *name, const char *path) {
    char whole[4096];
    snprintf(whole, sizeof whole, "%s/%s", folder, name);
    const bool written = fflush(file) == 0 && !ferror(file);
    return fclose(file) == 0 && written && rename(path, whole) == 0;
}

static void write_string(FILE *file, const char *text) {
    putc('"', file);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            fprintf(file, "\\%c", c);
        } else if (c < 0x20) {
            fprintf(file, "\\u%04x", c);
        } else {
            putc(c, file);
        }
    }
    putc('"', file);
}

static int count_of(const result *results, int count, outcome wanted) {
    int found = 0;
    for (int i = 0; i < count; i++) {
        found += results[i].found == wanted;
    }
    return found;
}

/* Describes the device as the library lists it. */
static bp_device_info device(void) {
    bp_device_info info = {.struct_size = sizeof info};
    int32_t place;
    if (bp_device_find("cuda:0", &place) == BP_OK) {
        (void)bp_device_describe(place, &info);
    }
    return info;
}

static bool write_json(const char *folder, const result *results, int count, int all) {
    char path[4096];
    const bp_device_info info = device();
    FILE *file = open_part(folder, "results.json", path);
    if (!file) {
        return false;
    }
    fprintf(file, "{\n  \"version\": \"%s\",\n  \"device\": ", bp_version());
    write_string(file, info.name ? info.name : "");
    fprintf(file, ",\n  \"driver\": \"%s\",\n  \"arch\": \"%s\",\n  \"rules\": %d,\n  \"results\": [",
            info.driver ? info.driver : "", info.arch ? info.arch : "", all);
    for (int i = 0; i < count; i++) {
        fprintf(file, "%s\n    {\"rule\": \"%s\", \"result\": \"%s\", \"ms\": %.0f, \"text\": ", i > 0 ? "," : "",
                results[i].of->name, words[results[i].found], results[i].ms);
        write_string(file, results[i].text);
        putc('}', file);
    }
    fprintf(file, "\n  ]\n}\n");
    return close_part(file, folder, "results.json", path);
}

/* Writes a text of lines into a cell of a table. */
static void write_cell(FILE *file, const char *text) {
    for (; *text; text++) {
        if (*text == '\n') {
            fputs(text[1] ? "; " : "", file);
        } else {
            fputs(*text == '|' ? "\\" : "", file);
            putc(*text, file);
        }
    }
}

static bool write_page(const char *folder, const result *results, int count, int all) {
    char path[4096];
    const bp_device_info info = device();
    FILE *file = open_part(folder, "page.md", path);
    if (!file) {
        return false;
    }
    fprintf(file, "# Check of a GPU\n\n%s, driver for CUDA %s, %s; Backplane %s.\n\n", info.name ? info.name : "?",
            info.driver ? info.driver : "?", info.arch ? info.arch : "?", bp_version());
    fprintf(file, "%d of %d rules: %d passed, %d failed, %d skipped.\n\n| Rule | Result | ms | Claim | Remarks |\n",
            count, all, count_of(results, count, PASSED), count_of(results, count, FAILED),
            count_of(results, count, SKIPPED));
    fprintf(file, "|---|---|---|---|---|\n");
    for (int i = 0; i < count; i++) {
        fprintf(file, "| %s | %s | %.0f | %s | ", results[i].of->name, words[results[i].found], results[i].ms,
                results[i].of->claim);
        write_cell(file, results[i].text);
        fputs(" |\n", file);
    }
    return close_part(file, folder, "page.md", path);
}

bool write_report(const char *folder, const result *results, int count, int all) {
    return write_json(folder, results, count, all) && write_page(folder, results, count, all);
}
