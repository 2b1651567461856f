/* modules.c - finds modules with providers and runtimes, checks owner, permissions and ABI of each, and loads those
 * that pass.
 *
 * It reads two kinds of directories: the installed one, next to this library, and those that the user names. A module
 * runs code in this process as soon as it is opened, so everything that can be checked is checked before.
 */
#include "registry/modules.h"
#include "base/path_buffer.h"
#include "base/uncancelled.h"

#include "settings/internal.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULE_FOLDER "backplane-providers"
#define MODULE_SUFFIX ".so"

/* Size of the descriptor in the first interface of this major version; later minor versions only append. */
#define SMALLEST_DESCRIPTOR (offsetof(bp_provider, expand) + sizeof(((bp_provider *)0)->expand))
#define SMALLEST_RUNTIME (offsetof(bp_runtime, error_name) + sizeof(((bp_runtime *)0)->error_name))

pthread_mutex_t bp__modules_mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool ready;
static bp__module *entries;
static int entry_count;
static int entry_capacity;
static bp__module_runtime runtimes[BP__RUNTIMES_MOST];
static int runtime_count;

/* ---- One descriptor ---- */

static bool name_is_well_formed(const char *name) {
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
    return length > 0 && length < 64 && name[length] == '\0';
}

static const char *missing_part(const bp_provider *provider) {
    const struct {
        const char *name;
        bool there;
    } required[] = {
        {"name", provider->name}, {"version", provider->version}, {"description", provider->description},
        {"open", provider->open}, {"close", provider->close},     {"accept", provider->accept},
        {"plan", provider->plan},
    };
    for (int i = 0; i < BP__COUNT(required); i++) {
        if (!required[i].there) {
            return required[i].name;
        }
    }
    return NULL;
}

static bp_status check_version(uint32_t abi, uint32_t ours) {
    unsigned major = abi >> 16;
    unsigned minor = abi & 0xffffu;
    if (major != ours >> 16) {
        return bp__fail(BP_E_ABI,
                        "it was built for provider interface %u.%u, this library has %u.%u; the first number must be "
                        "the same: build it with the headers of this library",
                        major, minor, ours >> 16, ours & 0xffffu);
    }
    if (minor > (ours & 0xffffu)) {
        return bp__fail(BP_E_ABI,
                        "it was built for provider interface %u.%u, which is newer than the %u.%u of this library",
                        major, minor, ours >> 16, ours & 0xffffu);
    }
    return BP_OK;
}

static bp_status check_size(uint32_t abi, uint32_t size, size_t smallest) {
    return size >= smallest ? BP_OK
                            : bp__fail(BP_E_ABI, "its struct_size is %u; interface %u.%u needs at least %zu", size,
                                       abi >> 16, abi & 0xffffu, smallest);
}

bp_status bp__provider_check(const bp_provider *provider, uint32_t ours) {
    BP__TRY(check_version(provider->abi, ours));
    BP__TRY(check_size(provider->abi, provider->struct_size, SMALLEST_DESCRIPTOR));
    const char *missing = missing_part(provider);
    if (missing) {
        return bp__fail(BP_E_SYMBOL, "its field '%s' is NULL; it must be set", missing);
    }
    if (!name_is_well_formed(provider->name)) {
        return bp__fail(BP_E_ABI, "its name '%.80s' is not made of 1 to 63 letters, digits and '-'", provider->name);
    }
    return BP_OK;
}

static bool runtime_name_is_well_formed(const char *name) {
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
    return length > 0 && length < 32 && name[length] == '\0';
}

static bool has_elapsed(const bp_runtime *runtime) {
    return runtime->struct_size >= offsetof(bp_runtime, event_elapsed) + sizeof runtime->event_elapsed &&
           runtime->event_elapsed;
}

static const char *missing_part_of_runtime(const bp_runtime *runtime) {
#define PART(name)                                                                                                     \
    { #name, runtime->name != NULL }
    const struct {
        const char *name;
        bool there;
    } required[] = {
        PART(name),           PART(version),     PART(description),
        PART(open),           PART(close),       PART(count),
        PART(describe),       PART(device_open), PART(device_close),
        PART(device_context), PART(allocate),    PART(release),
        PART(size),           PART(queue_open),  PART(queue_close),
        PART(queue_native),   PART(copy),        PART(wait),
        PART(event_state),    PART(event_sync),  PART(event_wrap),
        PART(event_release),  PART(error_name),  {"event_times", runtime->event_times || has_elapsed(runtime)},
    };
#undef PART
    for (int i = 0; i < BP__COUNT(required); i++) {
        if (!required[i].there) {
            return required[i].name;
        }
    }
    return NULL;
}

bp_status bp__runtime_check(const bp_runtime *runtime) {
    BP__TRY(check_version(runtime->abi, BP_PROVIDER_ABI));
    BP__TRY(check_size(runtime->abi, runtime->struct_size, SMALLEST_RUNTIME));
    const char *missing = missing_part_of_runtime(runtime);
    if (missing) {
        return bp__fail(BP_E_SYMBOL, "its runtime's field '%s' is NULL; it must be set", missing);
    }
    if (!runtime_name_is_well_formed(runtime->name) || strcmp(runtime->name, "host") == 0) {
        return bp__fail(BP_E_ABI, "its runtime's name '%.80s' is not made of 1 to 31 lower-case letters and digits",
                        runtime->name);
    }
    if (runtime->device_type <= kDLCPU || runtime->device_type >= BP__DEVICE_TYPES) {
        return bp__fail(BP_E_ABI, "its runtime's device_type is %d, which is no type of device",
                        (int)runtime->device_type);
    }
    return BP_OK;
}

/* ---- One file ---- */

static bp_status add_entry(const bp__module *entry) {
    if (entry_count == entry_capacity) {
        int capacity = entry_capacity ? 2 * entry_capacity : 8;
        bp__module *larger = bp__realloc(entries, (size_t)capacity * sizeof *larger);
        if (!larger) {
            return bp__fail_memory((size_t)capacity * sizeof *larger, "the list of provider modules");
        }
        entries = larger;
        entry_capacity = capacity;
    }
    entries[entry_count++] = *entry;
    return BP_OK;
}

static const bp__module *entry_with_path(const char *path) {
    for (int i = 0; i < entry_count; i++) {
        if (bp__text_equal(entries[i].info.path, path)) {
            return &entries[i];
        }
    }
    return NULL;
}

static const bp__module *accepted_with_name(const char *name) {
    for (int i = 0; i < entry_count; i++) {
        if (entries[i].provider && bp__text_equal(entries[i].info.name, name)) {
            return &entries[i];
        }
    }
    return NULL;
}

/* Opens the module and never closes it, because it may have started threads. Its providers and runtimes are lists that
 * end with NULL. A module with a single provider has no list of them; `single` is made one. */
static bp_status open_module(const char *path, const bp_provider *single[2], const bp_provider *const **providers,
                             const bp_runtime *const **drivers) {
    static const bp_runtime *const none[] = {NULL};
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *reason = dlerror();
        return bp__fail(BP_E_LOAD, "it cannot be loaded: %s", reason ? reason : "no reason given");
    }
    *providers = dlsym(handle, BP_PROVIDER_ENTRIES);
    if (!*providers) {
        single[0] = dlsym(handle, BP_PROVIDER_ENTRY);
        *providers = single;
    }
    *drivers = dlsym(handle, BP_RUNTIME_ENTRIES);
    *drivers = *drivers ? *drivers : none;
    if (!**providers && !**drivers) {
        return bp__fail(BP_E_SYMBOL, "it exports neither " BP_PROVIDER_ENTRY " nor a provider in " BP_PROVIDER_ENTRIES
                                     " nor a runtime in " BP_RUNTIME_ENTRIES);
    }
    return BP_OK;
}

static bp_status check_provider(const bp_provider *provider) {
    BP__TRY(bp__provider_check(provider, BP_PROVIDER_ABI));
    const bp__module *earlier = accepted_with_name(provider->name);
    if (earlier) {
        return bp__fail(BP_E_LOAD, "its name '%s' is already used by %s, which was found first", provider->name,
                        earlier->info.path);
    }
    return BP_OK;
}

/* Fills the texts of an entry. They live as long as interned ones: until bp_reset(). */
static bp_status describe(bp__module *entry, const char *path, const char *stem, const char *reason) {
    const bp_provider *provider = entry->provider;
    entry->info.struct_size = sizeof entry->info;
    entry->info.name = bp__intern(provider ? provider->name : stem);
    entry->info.version = bp__intern(provider ? provider->version : "");
    entry->info.description = bp__intern(provider ? provider->description : "");
    entry->info.path = bp__intern(path);
    entry->info.reason = bp__intern(reason);
    bool complete =
        entry->info.name && entry->info.version && entry->info.description && entry->info.path && entry->info.reason;
    return complete ? BP_OK : bp__fail_memory(strlen(path), "the name of a provider module");
}

static bp_status refuse(const char *path, const char *stem, bp_status status, const char *reason) {
    bp__module entry = {.info.status = status};
    BP__TRY(describe(&entry, path, stem, reason));
    return add_entry(&entry);
}

static bp_status add_provider(const char *path, const char *stem, const bp_provider *provider) {
    bp_status status = check_provider(provider);
    if (status != BP_OK) {
        return refuse(path, stem, status, bp_last_error());
    }
    bp__module entry = {.provider = provider};
    BP__TRY(describe(&entry, path, stem, ""));
    return add_entry(&entry);
}

/* Adds a runtime. One that cannot be used has an entry among the providers, which tells why. */
static bp_status add_runtime(const char *path, const char *stem, const bp_runtime *runtime) {
    bp_status status = bp__runtime_check(runtime);
    for (int i = 0; status == BP_OK && i < runtime_count; i++) {
        if (strcmp(runtimes[i].runtime->name, runtime->name) == 0) {
            status = bp__fail(BP_E_LOAD, "the name '%s' of its runtime is already used by %s, which was found first",
                              runtime->name, runtimes[i].path);
        }
    }
    if (status == BP_OK && runtime_count == BP__RUNTIMES_MOST) {
        status = bp__fail(BP_E_LOAD, "there are %d runtimes already", BP__RUNTIMES_MOST);
    }
    if (status != BP_OK) {
        return refuse(path, stem, status, bp_last_error());
    }
    runtimes[runtime_count].runtime = runtime;
    runtimes[runtime_count].path = bp__intern(path);
    if (!runtimes[runtime_count].path) {
        return bp__fail_memory(strlen(path), "the name of a runtime's module");
    }
    runtime_count++;
    return BP_OK;
}

static bp_status examine(const char *path, const char *name) {
    char stem[NAME_MAX + 1];
    bp__copy_text(stem, sizeof stem, name);
    stem[strlen(stem) - strlen(MODULE_SUFFIX)] = '\0';
    const bp_provider *single[2] = {NULL, NULL};
    const bp_provider *const *providers = NULL;
    const bp_runtime *const *drivers = NULL;
    bp_status status = bp__file_trusted(path);
    status = status == BP_OK ? open_module(path, single, &providers, &drivers) : status;
    if (status != BP_OK) {
        return refuse(path, stem, status, bp_last_error());
    }
    for (int i = 0; providers && providers[i]; i++) {
        BP__TRY(add_provider(path, stem, providers[i]));
    }
    for (int i = 0; drivers && drivers[i]; i++) {
        BP__TRY(add_runtime(path, stem, drivers[i]));
    }
    return BP_OK;
}

/* ---- Directories ---- */

typedef struct name_list {
    char **names;
    int count;
    int capacity;
} name_list;

static bool is_module(const char *name) {
    size_t length = strlen(name);
    size_t suffix = strlen(MODULE_SUFFIX);
    return length > suffix && strcmp(name + length - suffix, MODULE_SUFFIX) == 0;
}

static bool add_name(name_list *list, const char *name) {
    if (list->count == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 8;
        char **larger = bp__realloc(list->names, (size_t)capacity * sizeof *larger);
        if (!larger) {
            return false;
        }
        list->names = larger;
        list->capacity = capacity;
    }
    char *copy = bp__strdup(name);
    if (copy) {
        list->names[list->count++] = copy;
    }
    return copy != NULL;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bp_status read_names(DIR *folder, name_list *list) {
    const struct dirent *file;
    while ((file = readdir(folder)) != NULL) {
        if (is_module(file->d_name) && !add_name(list, file->d_name)) {
            return bp__fail_memory(strlen(file->d_name), "the name of a provider module");
        }
    }
    return BP_OK;
}

static bp_status examine_each(const char *folder, const name_list *list) {
    BP__PATH_BUFFER(path);
    if (!path) {
        return bp__fail_memory(PATH_MAX, "a path");
    }
    for (int i = 0; i < list->count; i++) {
        if (snprintf(path, PATH_MAX, "%s/%s", folder, list->names[i]) >= PATH_MAX) {
            BP__TRY(refuse(folder, list->names[i], BP_E_LOAD, "the path of a module in it is too long"));
        } else if (!entry_with_path(path)) { /* a directory may be named twice */
            BP__TRY(examine(path, list->names[i]));
        }
    }
    return BP_OK;
}

/* Files are read in alphabetical order, so that the same module wins on every machine. */
static bp_status search_folder(const char *path, bool must_exist) {
    BP__PATH_BUFFER(real);
    if (!real) {
        return bp__fail_memory(PATH_MAX, "a path");
    }
    DIR *folder = realpath(path, real) ? opendir(real) : NULL;
    if (!folder) {
        char reason[128];
        const char *why = strerror_r(errno, reason, sizeof reason);
        return must_exist ? refuse(path, path, BP_E_NOT_FOUND, why) : BP_OK;
    }
    name_list list = {0};
    bp_status status = read_names(folder, &list);
    closedir(folder);
    if (status == BP_OK && list.count > 0) {
        qsort(list.names, (size_t)list.count, sizeof *list.names, by_name);
        status = examine_each(real, &list);
    }
    for (int i = 0; i < list.count; i++) {
        bp__free(list.names[i]);
    }
    bp__free(list.names);
    return status;
}

bool bp__own_folder(char path[PATH_MAX]) {
    Dl_info info;
    struct link_map *object = NULL;
    if (!dladdr1((const void *)&ready, &info, (void **)&object, RTLD_DL_LINKMAP) || !object) {
        return false;
    }
    if (!realpath(object->l_name && *object->l_name ? object->l_name : "/proc/self/exe", path)) {
        return false;
    }
    char *slash = strrchr(path, '/');
    *slash = '\0';
    return true;
}

static bp_status search_installed(void) {
    BP__PATH_BUFFER(folder);
    BP__PATH_BUFFER(path);
    if (!folder || !path) {
        return bp__fail_memory(PATH_MAX, "a path");
    }
    bool known = bp__own_folder(folder) && snprintf(path, PATH_MAX, "%s/" MODULE_FOLDER, folder) < PATH_MAX;
    return known ? search_folder(path, false) : BP_OK;
}

static bp_status search_one_of_list(const char *path) {
    if (path[0] != '/') { /* the working directory depends on who starts the program */
        return refuse(path, path, BP_E_UNTRUSTED, "registry.provider_path takes absolute paths only");
    }
    return search_folder(path, true);
}

static bp_status search_list(const char *list) {
    BP__PATH_BUFFER(path);
    if (!path) {
        return bp__fail_memory(PATH_MAX, "a path");
    }
    while (*list) {
        size_t length = strcspn(list, ":");
        if (length > 0 && length < PATH_MAX) {
            memcpy(path, list, length);
            path[length] = '\0';
            BP__TRY(search_one_of_list(path));
        }
        list += length;
        list += *list == ':';
    }
    return BP_OK;
}

/* ---- The list ---- */

static void forget(void) {
    bp__free(entries);
    entries = NULL;
    entry_count = 0;
    entry_capacity = 0;
    runtime_count = 0;
}

static bp_status load_all(void) {
    bp__held_error held;
    bp__error_hold(&held);
    bp_status status = search_installed();
    status = status == BP_OK ? search_list(bp__setting_text(BP_SET_registry_provider_path)) : status;
    if (status == BP_OK) {
        bp__error_return(&held); /* errors of single files are in their entries */
    } else {
        forget();
    }
    return status;
}

bp_status bp__modules(const bp__module **modules, int *count) {
    bp_status status = BP_OK;
    if (!atomic_load_explicit(&ready, memory_order_acquire)) {
        BP__UNCANCELLED;
        pthread_mutex_lock(&bp__modules_mutex);
        if (!atomic_load_explicit(&ready, memory_order_relaxed)) {
            status = load_all();
            atomic_store_explicit(&ready, status == BP_OK, memory_order_release);
        }
        pthread_mutex_unlock(&bp__modules_mutex);
    }
    *modules = status == BP_OK ? entries : NULL;
    *count = status == BP_OK ? entry_count : 0;
    return status;
}

bp_status bp__module_runtimes(const bp__module_runtime **list, int *count) {
    const bp__module *modules;
    bp_status status = bp__modules(&modules, count);
    *list = runtimes;
    *count = status == BP_OK ? runtime_count : 0;
    return status;
}

void bp__modules_reset(void) {
    BP__UNCANCELLED;
    pthread_mutex_lock(&bp__modules_mutex);
    atomic_store_explicit(&ready, false, memory_order_relaxed);
    forget();
    pthread_mutex_unlock(&bp__modules_mutex);
}
