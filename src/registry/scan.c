/* scan.c - collects the library files of each search location: reads directories, filters names, and merges paths to
 * one file. */
#include "registry/scan.h"
#include "base/path_buffer.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Only files whose name contains one of these are read, because system directories hold thousands of files. */
static const char *const name_parts[] = {"blas",  "lapack", "mkl",   "fft",  "dnnl", "dnn",   "omp",
                                         "atlas", "blis",   "armpl", "nvpl", "essl", "flexi", "xsmm"};

bool bp__name_tells(const char *name) {
    for (int i = 0; i < BP__COUNT(name_parts); i++) {
        if (strcasestr(name, name_parts[i])) {
            return true;
        }
    }
    return false;
}

static bool is_shared_object(const char *name) {
    const char *mark = strstr(name, ".so");
    while (mark && mark[3] != 0 && mark[3] != '.') {
        mark = strstr(mark + 3, ".so");
    }
    return mark && mark != name && !strstr(mark, ".debug");
}

/* Grows an array for one more item. Returns false if out of memory, and records it in the search. */
static bool grow(bp__search *search, void *items, int count, int *capacity, size_t size) {
    void *old;
    memcpy(&old, items, sizeof old);
    if (count < *capacity) {
        return true;
    }
    int more = *capacity ? *capacity * 2 : 16;
    void *block = bp__realloc(old, (size_t)more * size);
    if (!block) {
        search->no_memory = true;
        return false;
    }
    memcpy(items, &block, sizeof block);
    *capacity = more;
    return true;
}

void bp__place_begin(bp__search *search, const char *name) {
    const char *kept = bp__intern(name);
    if (!kept || !grow(search, &search->places, search->place_count, &search->place_capacity, sizeof *search->places)) {
        search->no_memory = true;
        return;
    }
    search->places[search->place_count++] = (bp__place){.name = kept, .problem = ""};
}

void bp__place_problem(bp__search *search, const char *problem) {
    const char *kept = bp__intern(problem);
    if (kept && search->place_count > 0) {
        search->places[search->place_count - 1].problem = kept;
    }
}

static void note_in_place(bp__search *search, int file) {
    if (search->place_count == 0) {
        return;
    }
    bp__place *place = &search->places[search->place_count - 1];
    for (int i = 0; i < place->file_count; i++) {
        if (place->files[i] == file) {
            return;
        }
    }
    if (grow(search, &place->files, place->file_count, &place->file_capacity, sizeof *place->files)) {
        place->files[place->file_count++] = file;
    }
}

bool bp__lines_have(const char *lines, const char *line) {
    size_t length = strlen(line);
    for (const char *at = lines; length > 0 && (at = strstr(at, line)); at += length) {
        if ((at == lines || at[-1] == '\n') && (at[length] == 0 || at[length] == '\n')) {
            return true;
        }
    }
    return false;
}

bool bp__lines_add(const char **lines, const char *line) {
    if (bp__lines_have(*lines, line)) {
        return true;
    }
    bp__text list = {0};
    bp__text_addf(&list, "%s%s%s", *lines, **lines ? "\n" : "", line);
    bool done = !list.failed && bp__facts_set(lines, bp__text_get(&list));
    bp__text_free(&list);
    return done;
}

static int find_file(const bp__search *search, const bp__file_key *key) {
    for (int i = 0; i < search->file_count; i++) {
        if (search->files[i].key.inode == key->inode && search->files[i].key.device == key->device) {
            return i;
        }
    }
    return -1;
}

static int add_file(bp__search *search, const char *path, const bp__file_key *key) {
    BP__PATH_BUFFER(real);
    search->no_memory = search->no_memory || !real;
    if (!real || !realpath(path, real) || strpbrk(real, "\n\r")) {
        return -1;
    }
    const char *kept = bp__intern(real);
    if (!kept || !grow(search, &search->files, search->file_count, &search->file_capacity, sizeof *search->files)) {
        search->no_memory = true;
        return -1;
    }
    bp__file *file = &search->files[search->file_count];
    *file = (bp__file){.path = kept, .aliases = "", .loader_names = "", .key = *key, .trust_reason = ""};
    bp__facts_clear(&file->facts);
    file->trust = bp__file_trusted(kept);
    if (file->trust == BP_E_NO_MEMORY) {
        search->no_memory = true;
        return -1;
    }
    if (file->trust != BP_OK && !(file->trust_reason = bp__intern(bp_last_error()))) {
        search->no_memory = true;
        return -1;
    }
    return search->file_count++;
}

bp__file *bp__scan_file(bp__search *search, const char *path, bool asked_for) {
    struct stat facts;
    if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode) || strpbrk(path, "\n\r")) {
        return NULL;
    }
    bp__file_key key = bp__file_key_of(&facts);
    int position = find_file(search, &key);
    if (position < 0) {
        position = add_file(search, path, &key);
    }
    if (position < 0) {
        return NULL;
    }
    bp__file *file = &search->files[position];
    file->asked_for = file->asked_for || asked_for;
    if (strcmp(path, file->path) != 0 && !bp__lines_add(&file->aliases, path)) {
        search->no_memory = true;
    }
    note_in_place(search, position);
    return file;
}

/* Returns true the first time that a directory is visited. */
static bool is_new_folder(bp__search *search, const char *path) {
    struct stat facts;
    if (stat(path, &facts) != 0) {
        return true;
    }
    for (int i = 0; i < search->folder_count; i++) {
        if (search->folders[i][0] == facts.st_dev && search->folders[i][1] == facts.st_ino) {
            return false;
        }
    }
    if (grow(search, &search->folders, search->folder_count, &search->folder_capacity, sizeof *search->folders)) {
        search->folders[search->folder_count][0] = facts.st_dev;
        search->folders[search->folder_count++][1] = facts.st_ino;
    }
    return true;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns the entries of a directory that may be libraries, sorted so that lists are the same in each run. Names of
 * directories end with '/'. */
static char **read_names(bp__search *search, DIR *folder, bool asked_for, bool flavours, int *count) {
    char **names = NULL;
    int capacity = 0;
    *count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        const char *name = entry->d_name;
        bool object = is_shared_object(name) && (asked_for || bp__name_tells(name));
        bool flavour = !object && flavours && name[0] != '.' && bp__name_tells(name) &&
                       (entry->d_type == DT_DIR || entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN);
        if ((!object && !flavour) || !grow(search, &names, *count, &capacity, sizeof *names)) {
            continue;
        }
        bp__text text = {0};
        bp__text_addf(&text, "%s%s", name, flavour ? "/" : "");
        if (text.failed) {
            search->no_memory = true;
            bp__text_free(&text);
            continue;
        }
        names[(*count)++] = text.bytes;
    }
    if (*count > 1) {
        qsort(names, (size_t)*count, sizeof *names, by_name);
    }
    return names;
}

/* Scans a name from read_names: a file, or a directory with the variants of one library. */
static void scan_name(bp__search *search, const char *folder, const char *name, bool asked_for) {
    BP__PATH_BUFFER(full);
    struct stat facts;
    search->no_memory = search->no_memory || !full;
    int length = full ? snprintf(full, PATH_MAX, "%s/%s", folder, name) : 0;
    if (length <= 0 || length >= PATH_MAX) {
        return;
    }
    if (full[length - 1] != '/') {
        bp__scan_file(search, full, asked_for);
        return;
    }
    full[length - 1] = 0;
    if (stat(full, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        bp__scan_folder(search, full, asked_for, false);
    }
}

const char *bp__scan_folder(bp__search *search, const char *path, bool asked_for, bool flavours) {
    int count;
    if (!is_new_folder(search, path)) {
        return "searched already";
    }
    DIR *folder = opendir(path);
    if (!folder) {
        return errno == EACCES ? "not allowed to read it" : "no such directory";
    }
    char **names = read_names(search, folder, asked_for, flavours, &count);
    closedir(folder);
    for (int i = 0; i < count; i++) {
        scan_name(search, path, names[i], asked_for);
        bp__free(names[i]);
    }
    bp__free(names);
    return "";
}

bp_status bp__scan(bp__search *search) {
    bp__search_paths(search);
    if (search->no_memory) {
        return bp__fail_memory(sizeof(bp__file), "the search for libraries");
    }
    return BP_OK;
}

void bp__search_free(bp__search *search) {
    for (int i = 0; i < search->place_count; i++) {
        bp__free(search->places[i].files);
    }
    bp__free(search->places);
    bp__free(search->files);
    bp__free(search->folders);
    memset(search, 0, sizeof *search);
}
