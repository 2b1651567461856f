/* depends.c - computes the key under which the devices of a runtime are kept between processes: everything that can
 * change them, as far as the runtime names it (bp_runtime.depends). */
#include "device/private.h"
#include "base/uncancelled.h"

#include "registry/probe_cache_key.h"
#include "registry/scan.h"
#include "settings/internal.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Adds the identity of a file; "-" if there is none. */
static bool add_file(bp__text *text, const char *path) {
    struct stat facts;
    if (stat(path, &facts) != 0) {
        bp__text_add(text, "-\n");
        return false;
    }
    const bp__file_key key = bp__file_key_of(&facts);
    bp__text_addf(text, "%" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 "\n", key.device, key.inode, key.size,
                  key.modified_ns);
    return S_ISDIR(facts.st_mode);
}

/* Adds the files of a folder, in whatever order: their hashes are added up. */
static void add_folder(bp__text *text, const char *path) {
    BP__UNCANCELLED;
    uint64_t sum = 0;
    DIR *folder = opendir(path);
    const struct dirent *each;
    while (folder && (each = readdir(folder)) != NULL) {
        bp__text one = {0}, name = {0};
        if (each->d_name[0] != '.') {
            bp__text_addf(&name, "%s/%s", path, each->d_name);
            bp__text_addf(&one, "%s\n", each->d_name);
            add_file(&one, bp__text_get(&name));
            sum += bp__hash(bp__text_get(&one), one.length);
            text->failed = text->failed || one.failed || name.failed;
            bp__text_free(&one);
            bp__text_free(&name);
        }
    }
    if (folder) {
        closedir(folder);
    }
    bp__text_addf(text, "%" PRIx64 "\n", sum);
}

static void add_path(bp__text *text, const char *path) {
    if (add_file(text, path)) {
        add_folder(text, path);
    }
}

/* Adds the value of a variable; if it is a path, also the file or folder. */
static void add_variable(bp__text *text, const char *name) {
    const char *value = bp__env(name);
    bp__text_addf(text, "%s=%s\n", name, value ? value : "");
    if (value && *value == '/') {
        add_path(text, value);
    }
}

bool bp__contact_key(const bp__runtime *row, char *key, size_t size) {
    const bp_runtime *runtime = row->runtime;
    if (runtime->struct_size < offsetof(bp_runtime, depends) + sizeof runtime->depends || !runtime->depends) {
        return false;
    }
    bp__text text = {0};
    int64_t loader;
    const uint64_t context = bp__probe_cache_key(&loader);
    bp__text_addf(&text, "%" PRIx64 " %" PRId64 "\n%s %s\n%s\n", context, loader, runtime->name, runtime->version,
                  row->module);
    if (*row->module) {
        add_file(&text, row->module);
    }
    bp__text_addf(&text, "%s\n", bp__setting_text(BP_SET_registry_library_path));
    add_variable(&text, "VIRTUAL_ENV");
    add_variable(&text, "CONDA_PREFIX");
    add_variable(&text, "BACKPLANE_PYTHON_PATH");
    for (const char *word = runtime->depends; *word;) {
        size_t length = strcspn(word, " ");
        bp__text name = {0};
        bp__text_add_n(&name, word, length);
        text.failed = text.failed || name.failed;
        if (*word == '/') {
            add_path(&text, bp__text_get(&name));
        } else if (length > 0) {
            add_variable(&text, bp__text_get(&name));
        }
        bp__text_free(&name);
        word += length;
        word += *word == ' ';
    }
    bool whole = !text.failed && snprintf(key, size, "%s %016" PRIx64, runtime->name,
                                          bp__hash(bp__text_get(&text), text.length)) < (int)size;
    bp__text_free(&text);
    return whole;
}
