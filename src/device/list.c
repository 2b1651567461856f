/* list.c - keeps the list of devices: the host, the devices of all runtimes, and devices loaded from descriptions.
 *
 * The list is made by the first function that needs another device than the host. It and its devices do not move until
 * bp_reset(), so that readers need no lock. The facts come from the child process (contact.c): making the list opens no
 * driver in this process, and a child of fork may use a runtime that its parent has only listed.
 */
#include "device/private.h"
#include "base/uncancelled.h"

#include "dist/internal.h"
#include "machine/internal.h"
#include "registry/internal.h"
#include "settings/internal.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct list {
    bp__runtime *runtimes;
    int runtime_count;
    bp__device **devices; /* in the order of their entries; also the entries of runtimes without a device */
    int count, capacity;
} list;

pthread_mutex_t bp__devices_mutex = PTHREAD_MUTEX_INITIALIZER;
_Atomic int64_t bp__device_objects;
static _Atomic(list *) current;
static _Atomic(bp__device *) recorded[BP__RECORDED_MOST];
static atomic_int recorded_count;

/* Runtimes that were open in a parent of this process. They stay forbidden after bp_reset(). */
static const bp_runtime *forked[BP__RUNTIMES_MOST];
static int forked_count;

#ifdef BP_BUILTIN_CUDA
extern const bp_runtime bp_runtime_cuda;
#endif
#ifdef BP_BUILTIN_OPENCL
extern const bp_runtime bp_runtime_opencl;
#endif
static const bp_runtime *const builtin[] = {
#ifdef BP_BUILTIN_CUDA
    &bp_runtime_cuda,
#endif
#ifdef BP_BUILTIN_OPENCL
    &bp_runtime_opencl,
#endif
    NULL,
};

const bp_runtime *const *bp__builtin_runtimes(void) {
    return builtin;
}

const char *bp_device_state_name(bp_device_state state) {
    static const char *const names[] = {"ready",  "no-library", "no-device", "broken",
                                        "forked", "lost",       "recorded",  "disabled"};
    return (unsigned)state < (unsigned)BP__COUNT(names) ? names[state] : "";
}

static const char *state_text(bp_device_state state) {
    static const char *const texts[] = {
#define X(number, name, text) text,
        BP_DEVICE_STATE_MAP(X)
#undef X
    };
    return texts[state];
}

/* ---- The host ---- */

static bp__device host = {.info = {.struct_size = sizeof(bp_device_info),
                                   .type = kDLCPU,
                                   .id = "host",
                                   .runtime = "host",
                                   .vendor = "",
                                   .driver = "",
                                   .version = "",
                                   .platform = "",
                                   .uuid = "",
                                   .extensions = "",
                                   .reason = "",
                                   .name = "",
                                   .arch = ""},
                          .reason = ""};

static void describe_host(void) {
    bp_machine_info machine = {.struct_size = sizeof machine};
    if (bp_machine(&machine) == BP_OK) {
        bp_device_info *info = &host.info;
        info->name = machine.cpu_model;
        info->vendor = machine.cpu_vendor;
        info->units = machine.usable_cpus > 0 ? (uint32_t)machine.usable_cpus : 0;
        info->memory = info->largest = machine.memory_bytes > 0 ? (uint64_t)machine.memory_bytes : 0;
    }
    host.info.can = BP_DEVICE_CAN_F64 | BP_DEVICE_CAN_MAP | BP_DEVICE_CAN_SHARE_HOST | BP_DEVICE_CAN_ATOMICS_64 |
                    BP_DEVICE_IS_CPU | BP_DEVICE_HAS_ADDRESSES;
    host.info.alignment = 64;
}

static bp__device *the_host(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, describe_host);
    return &host;
}

/* ---- Making the list ---- */

/* Returns whether the setting device.exclude names it. */
static bool is_excluded(const char *name) {
    const char *word = bp__setting_text(BP_SET_device_exclude);
    const size_t length = strlen(name);
    while (*word) {
        word += strspn(word, ", ");
        size_t size = strcspn(word, ", ");
        if (size == length && strncmp(word, name, size) == 0) {
            return true;
        }
        word += size;
    }
    return false;
}

static bool was_open_before_fork(const bp_runtime *runtime) {
    for (int i = 0; i < forked_count; i++) {
        if (forked[i] == runtime) {
            return true;
        }
    }
    return false;
}

static void set_state(bp__device *device, bp_device_state state, const char *reason) {
    atomic_store_explicit(&device->reason, reason, memory_order_relaxed);
    atomic_store_explicit(&device->state, (int)state, memory_order_release);
}

static bp_status new_device(bp__device **device, const bp_device_info *facts, const char *id) {
    bp__device *made = bp__alloc_zero(1, sizeof *made);
    if (!made) {
        return bp__fail_memory(sizeof *made, "a device");
    }
    made->info = *facts;
    made->info.struct_size = sizeof made->info;
    made->info.id = bp__intern(id);
    if (!made->info.id) {
        bp__free(made);
        return bp__fail_memory(strlen(id), "the name of a device");
    }
    pthread_mutex_init(&made->wrapping, NULL);
    pthread_mutex_init(&made->mutex, NULL);
    atomic_init(&made->limit, BP_DEVICE_LIMIT_DEFAULT);
    set_state(made, made->info.state, made->info.reason);
    *device = made;
    return BP_OK;
}

static void free_device(bp__device *device) {
    if (device) {
        pthread_mutex_destroy(&device->wrapping);
        pthread_mutex_destroy(&device->mutex);
        bp__free(device);
    }
}

static bp_status append_device(list *all, bp__device *device) {
    if (all->count == all->capacity) {
        int capacity = all->capacity ? 2 * all->capacity : 8;
        bp__device **larger = bp__realloc(all->devices, (size_t)capacity * sizeof *larger);
        if (!larger) {
            free_device(device);
            return bp__fail_memory((size_t)capacity * sizeof *larger, "the list of devices");
        }
        all->devices = larger;
        all->capacity = capacity;
    }
    all->devices[all->count++] = device;
    return BP_OK;
}

/* Adds the entry of a runtime without a device. */
static bp_status add_none(list *all, bp__runtime *row) {
    bp_device_info info = {.place = -1, .type = row->runtime->device_type, .index = -1, .state = row->state};
    bp__device *device;
    bp__facts_empty(&info);
    info.runtime = row->runtime->name;
    info.reason = row->reason;
    BP__TRY(new_device(&device, &info, row->runtime->name));
    device->owner = row;
    return append_device(all, device);
}

static void set_number(bp_device_info *info, int32_t number) {
    info->index = number;
    info->place = info->type << 16 | number;
    info->can &= ~BP_DEVICE_HAS_ADDRESSES;
    info->can |= bp__place_has_addresses(info->place) ? BP_DEVICE_HAS_ADDRESSES : 0;
}

static bp_status add_one(list *all, bp__runtime *row, int number, const bp_device_info *facts) {
    char id[64];
    bp_device_info info = *facts;
    bp__device *device;
    snprintf(id, sizeof id, "%s:%d", row->runtime->name, number);
    info.type = row->runtime->device_type;
    set_number(&info, number);
    info.runtime = row->runtime->name;
    info.reason = "";
    if (is_excluded(id)) {
        info.state = BP_DEVICE_DISABLED;
        info.reason = "the setting device.exclude names it";
    }
    BP__TRY(new_device(&device, &info, id));
    device->owner = row;
    device->runtime = row->runtime;
    device->number = number;
    return append_device(all, device);
}

static bp_status add_runtime(list *all, bp__runtime *row) {
    bp_device_info *devices = NULL;
    int count = 0;
    if (is_excluded(row->runtime->name)) {
        row->state = BP_DEVICE_DISABLED;
        row->reason = "the setting device.exclude names it";
    } else if (was_open_before_fork(row->runtime)) {
        row->state = BP_DEVICE_FORKED;
        row->reason = "it was in use before fork";
    } else {
        BP__TRY(bp__contact(row, &devices, &count));
    }
    bp_status status = count == 0 ? add_none(all, row) : BP_OK;
    for (int i = 0; i < count && status == BP_OK; i++) {
        status = add_one(all, row, i, &devices[i]);
    }
    bp__free(devices);
    return status;
}

static void free_list(list *all) {
    for (int i = 0; i < all->count; i++) {
        free_device(all->devices[i]);
    }
    bp__free(all->devices);
    bp__free(all->runtimes);
    bp__free(all);
}

static bp_status fill(list *all) {
    const bp__module_runtime *modules;
    int count;
    BP__TRY(bp__module_runtimes(&modules, &count));
    all->runtimes = bp__alloc_zero((size_t)count + BP__COUNT(builtin), sizeof *all->runtimes);
    if (!all->runtimes) {
        return bp__fail_memory((size_t)count * sizeof *all->runtimes, "the list of runtimes");
    }
    for (int i = 0; builtin[i]; i++) {
        all->runtimes[all->runtime_count++] = (bp__runtime){.runtime = builtin[i], .module = "", .reason = ""};
    }
    for (int i = 0; i < count; i++) {
        all->runtimes[all->runtime_count++] =
            (bp__runtime){.runtime = modules[i].runtime, .module = modules[i].path, .reason = ""};
    }
    for (int i = 0; i < all->runtime_count; i++) {
        BP__TRY(add_runtime(all, &all->runtimes[i]));
    }
    return BP_OK;
}

static bp_status make_list(void) {
    list *all = bp__alloc_zero(1, sizeof *all);
    if (!all) {
        return bp__fail_memory(sizeof *all, "the list of devices");
    }
    bp_status status = fill(all);
    if (status != BP_OK) {
        free_list(all);
        return status;
    }
    atomic_store_explicit(&current, all, memory_order_release);
    return BP_OK;
}

/* Returns the list, NULL with an error. */
static list *device_list(void) {
    list *all = atomic_load_explicit(&current, memory_order_acquire);
    if (BP__LIKELY(all != NULL)) {
        return all;
    }
    bp__device_host(); /* takes a mutex that comes before this one */
    pthread_mutex_lock(&bp__devices_mutex);
    all = atomic_load_explicit(&current, memory_order_acquire);
    if (!all && make_list() == BP_OK) {
        all = atomic_load_explicit(&current, memory_order_acquire);
    }
    pthread_mutex_unlock(&bp__devices_mutex);
    return all;
}

/* ---- Lookup ---- */

static bp__device *recorded_at(int index) {
    int count = atomic_load_explicit(&recorded_count, memory_order_acquire);
    return index >= 0 && index < count ? atomic_load_explicit(&recorded[index], memory_order_acquire) : NULL;
}

bp__device *bp__device_at_place(int32_t place) {
    const int index = place & 0xffff;
    if (place <= 0) {
        return place == 0 ? the_host() : NULL;
    }
    if (index >= BP__RECORDED_FIRST) {
        bp__device *device = recorded_at(index - BP__RECORDED_FIRST);
        return device && device->info.place == place ? device : NULL;
    }
    const list *all = device_list();
    for (int i = 0; all && i < all->count; i++) {
        if (all->devices[i]->info.place == place) {
            return all->devices[i];
        }
    }
    return NULL;
}

static const char *type_name(int type) {
    switch (type) {
    case kDLCUDA:
        return "cuda";
    case kDLOpenCL:
        return "opencl";
    case kDLVulkan:
        return "vulkan";
    case kDLMetal:
        return "metal";
    case kDLROCM:
        return "rocm";
    case kDLOneAPI:
        return "oneapi";
    default:
        return "";
    }
}

/* Returns the entry that tells why the runtime of a type of device has none, or NULL. */
static const bp__device *without_device(int type) {
    const list *all = atomic_load_explicit(&current, memory_order_acquire);
    for (int i = 0; all && i < all->count; i++) {
        if (all->devices[i]->info.index < 0 && all->devices[i]->info.type == type) {
            return all->devices[i];
        }
    }
    return NULL;
}

bp_status bp__device_named_by_place(int32_t place, bp__device **device) {
    *device = bp__device_at_place(place);
    if (*device) {
        return BP_OK;
    }
    const int type = place >> 16, index = place & 0xffff;
    const bp__device *none = place > 0 ? without_device(type) : NULL;
    if (none) {
        return bp__fail(none->info.state == BP_DEVICE_FORKED ? BP_E_FORKED : BP_E_DEVICE,
                        "there is no device %s:%d: %s: %s", none->info.runtime, index, state_text(none->info.state),
                        none->info.reason);
    }
    if (bp__place_is_map(place)) {
        return bp__map_refuse();
    }
    const char *name = place > 0 ? type_name(type) : "";
    return *name ? bp__fail(BP_E_DEVICE, "there is no device %s:%d", name, index)
                 : bp__fail(BP_E_DEVICE, "there is no device of DLPack's type %d with index %d", type, index);
}

const char *bp__device_text(int32_t place) {
    const bp__device *device = bp__device_at_place(place);
    return device ? device->info.id : "?";
}

bp_status bp__device_usable(const bp__device *device) {
    const int state = atomic_load_explicit(&device->state, memory_order_acquire);
    if (BP__LIKELY(state == BP_DEVICE_READY)) {
        return BP_OK;
    }
    const char *reason = atomic_load_explicit(&device->reason, memory_order_relaxed);
    if (state == BP_DEVICE_FORKED) {
        return bp__fail(BP_E_FORKED,
                        "device %s was in use before fork, so this child process cannot use it; start a new program "
                        "(exec, or Python's start method 'spawn')",
                        device->info.id);
    }
    return bp__fail(BP_E_DEVICE, "device %s cannot be used: %s%s%s", device->info.id,
                    state_text((bp_device_state)state), *reason ? ": " : "", reason);
}

void bp__devices_visit(void (*visit)(bp__device *device)) {
    const list *all = atomic_load_explicit(&current, memory_order_acquire);
    for (int i = 0; all && i < all->count; i++) {
        visit(all->devices[i]);
    }
}

/* ---- The public list ---- */

static void write_info(const bp__device *device, bp_device_info *info) {
    bp_device_info own = device->info;
    own.state = (bp_device_state)atomic_load_explicit(&device->state, memory_order_acquire);
    own.reason = atomic_load_explicit(&device->reason, memory_order_relaxed);
    bp__struct_write(info, &own, sizeof own);
}

int bp_device_at(int index, bp_device_info *info) {
    BP__UNCANCELLED;
    if (index < 0 || !bp__struct_usable(info)) {
        return 0;
    }
    const bp__device *device = NULL;
    if (index == 0) {
        device = the_host();
    } else {
        const list *all = device_list();
        const int listed = all ? all->count : 0;
        device = index - 1 < listed ? all->devices[index - 1] : recorded_at(index - 1 - listed);
    }
    if (!device) {
        return 0;
    }
    write_info(device, info);
    return 1;
}

bp_status bp_device_describe(int32_t place, bp_device_info *info) {
    BP__UNCANCELLED;
    BP__TRY(bp__struct_check(info, sizeof *info, "info"));
    const bp__device *device = bp__device_at_place(place);
    if (!device) {
        return bp__fail(BP_E_NOT_FOUND, "there is no device with place %d", (int)place);
    }
    write_info(device, info);
    return BP_OK;
}

int32_t bp_device_place(DLDevice device) {
    const int type = (int)device.device_type;
    const bool right = type > 0 && type < BP__DEVICE_TYPES && device.device_id >= 0 && device.device_id <= 0xffff;
    return right || bp__place_of(device) == 0 ? bp__place_of(device) : -1;
}

static const char *id_at(void *user, int index) {
    static const char host_id[] = "host";
    const list *all = user;
    return index == 0 ? host_id : all && index - 1 < all->count ? all->devices[index - 1]->info.id : NULL;
}

/* Fails for a name that no device has. */
static bp_status not_found(list *all, const char *id) {
    char near[256];
    for (int i = 0; all && i < all->count; i++) {
        const bp_device_info *info = &all->devices[i]->info;
        const size_t length = strlen(info->runtime);
        if (info->index < 0 && strncmp(id, info->runtime, length) == 0 && (id[length] == ':' || id[length] == '\0')) {
            return bp__fail(BP_E_NOT_FOUND, "there is no device '%.64s': %s: %s", id, state_text(info->state),
                            info->reason);
        }
    }
    bp__suggest(id, id_at, all, near, sizeof near);
    return bp__fail(BP_E_NOT_FOUND, "there is no device '%.64s'%s%s", id, *near ? "; " : "", near);
}

/* Returns whether a device has this name: as its id or uuid (rank 0), its runtime's name if it is ready (1), or its
 * runtime's name (2). */
static bool has_name(const bp__device *device, const char *id, int rank) {
    const bp_device_info *info = &device->info;
    if (info->index < 0) {
        return false;
    }
    if (rank == 0) {
        return strcmp(id, info->id) == 0 || (*info->uuid && strcmp(id, info->uuid) == 0);
    }
    return info->index < BP__RECORDED_FIRST && strcmp(id, info->runtime) == 0 &&
           (rank == 2 || bp__device_is(device, BP_DEVICE_READY));
}

static const bp__device *find_device(const list *all, const char *id, int rank) {
    for (int i = 0; i < all->count + BP__RECORDED_MOST; i++) {
        const bp__device *device = i < all->count ? all->devices[i] : recorded_at(i - all->count);
        if (!device || has_name(device, id, rank)) {
            return device;
        }
    }
    return NULL;
}

bp_status bp_device_find(const char *id, int32_t *place) {
    BP__UNCANCELLED;
    if (!id || !place) {
        return bp__fail(BP_E_ARGUMENT, "bp_device_find: argument '%s' is NULL", id ? "place" : "id");
    }
    if (strcmp(id, "host") == 0) {
        *place = 0;
        return BP_OK;
    }
    list *all = device_list();
    if (!all) {
        return bp_last_status();
    }
    const bp__device *found = NULL;
    for (int rank = 0; !found && rank <= 2; rank++) {
        found = find_device(all, id, rank);
    }
    if (found) {
        *place = found->info.place;
        return BP_OK;
    }
    return not_found(all, id);
}

/* ---- Recorded devices ---- */

bp_status bp__list_add_recorded(const bp_device_info *facts, int32_t *place) {
    bp_status status = BP_OK;
    char id[64];
    bp_device_info info = *facts;
    bp__device *device;
    pthread_mutex_lock(&bp__devices_mutex);
    const int count = atomic_load_explicit(&recorded_count, memory_order_relaxed);
    if (count == BP__RECORDED_MOST) {
        status = bp__fail(BP_E_BUSY, "%d descriptions of devices are loaded already; bp_reset() frees them", count);
    } else {
        set_number(&info, BP__RECORDED_FIRST + count);
        info.state = BP_DEVICE_RECORDED;
        snprintf(id, sizeof id, "%.40s:%d", info.runtime, (int)info.index);
        status = new_device(&device, &info, id);
    }
    if (status == BP_OK) {
        atomic_store_explicit(&recorded[count], device, memory_order_release);
        atomic_store_explicit(&recorded_count, count + 1, memory_order_release);
        *place = info.place;
    }
    pthread_mutex_unlock(&bp__devices_mutex);
    return status;
}

/* ---- bp_reset and fork ---- */

/* Devices that were open before a fork are not freed in the child: the program may still hold their queues. */
void bp__list_reset(void) {
    pthread_mutex_lock(&bp__devices_mutex);
    list *all = atomic_load_explicit(&current, memory_order_relaxed);
    atomic_store_explicit(&current, NULL, memory_order_relaxed);
    for (int i = 0; all && i < all->count; i++) {
        bp__device *device = all->devices[i];
        if (device->handle && bp__device_is(device, BP_DEVICE_FORKED)) {
            bp__facts_empty(&device->info); /* these texts are freed */
            device->info.id = device->runtime->name;
            all->devices[i] = NULL;
        }
    }
    if (all) {
        free_list(all);
    }
    const int count = atomic_load_explicit(&recorded_count, memory_order_relaxed);
    atomic_store_explicit(&recorded_count, 0, memory_order_relaxed);
    for (int i = 0; i < count; i++) {
        free_device(atomic_load_explicit(&recorded[i], memory_order_relaxed));
    }
    pthread_mutex_unlock(&bp__devices_mutex);
}

/* Makes the state of each device FORKED whose runtime was open. */
void bp__list_forked(void) {
    const list *all = atomic_load_explicit(&current, memory_order_relaxed);
    for (int i = 0; all && i < all->runtime_count; i++) {
        bp__runtime *row = &all->runtimes[i];
        if (row->open && !was_open_before_fork(row->runtime) && forked_count < BP__RUNTIMES_MOST) {
            forked[forked_count++] = row->runtime;
        }
    }
    for (int i = 0; all && i < all->count; i++) {
        bp__device *device = all->devices[i];
        if (device->owner && device->owner->open) {
            set_state(device, BP_DEVICE_FORKED, "it was in use before fork");
        }
    }
}
