/* backends.c - reports the state of the backends of torch.backends from the lists of libraries and providers.
 *
 * The table defines what each backend consists of; everything else is looked up. A backend without a provider reports
 * that, even if its library is installed, because no operation can run on it. */
#include "backplane/backends.h"

#include "dispatch/internal.h"

#include "base/base.h"
#include "dist/internal.h"
#include "machine/internal.h"
#include "registry/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct backend {
    const char *name;
    const char *provider; /* the provider that drives it; NULL: this version has none */
    const char *family;   /* of its library; NULL: no library is needed */
    const char *what;     /* description, for the reason if provider or library is missing */
    const char *setting;
    int scale;           /* factor between the components of version_number; 0: no number */
    const char *runtime; /* whose devices it computes on; NULL: the host */
} backend;

#define NO_PROVIDER NULL
static const backend backends[] = {
    {"cpu", "native", NULL, "", "", 0, NULL},
    {"cuda", "cublas", "cublas", "NVIDIA's GPUs", "", 1000, "cuda"},
    {"cudnn", "cudnn", "cudnn", "NVIDIA's cuDNN", "cudnn.enabled", 100, "cuda"},
    {"cusparselt", NO_PROVIDER, "cusparselt", "NVIDIA's cuSPARSELt", "", 100, NULL},
    {"kleidiai", NO_PROVIDER, NULL, "Arm's KleidiAI", "", 0, NULL},
    {"mha", NO_PROVIDER, NULL, "the fast path of whole attention layers", "mha.fastpath", 0, NULL},
    {"miopen", NO_PROVIDER, NULL, "AMD's MIOpen", "", 0, NULL},
    {"mkl", "blas", "mkl", "Intel's MKL", "mkl.enabled", 100, NULL},
    {"mkldnn", "onednn", "onednn", "oneDNN", "mkldnn.enabled", 100, NULL},
    {"mps", NO_PROVIDER, NULL, "Apple's Metal", "", 0, NULL},
    {"mtia", NO_PROVIDER, NULL, "Meta's MTIA", "", 0, NULL},
    {"nnpack", NO_PROVIDER, NULL, "NNPACK", "nnpack.enabled", 0, NULL},
    {"openmp", "blas", "openmp", "a BLAS library on an OpenMP runtime", "openmp.enabled", 0, NULL},
    {"opt_einsum", "native", NULL, "", "opt_einsum.enabled", 0, NULL}, /* the path search is Backplane's own */
    {"quantized", NO_PROVIDER, NULL, "quantised operations", "", 0, NULL},
    {"xnnpack", NO_PROVIDER, NULL, "XNNPACK", "xnnpack.enabled", 0, NULL},
    {"xpu", NO_PROVIDER, NULL, "Intel's GPUs", "", 0, NULL},
};

/* ---- Facts ---- */

static bool provider_works(const char *name, const char **reason) {
    bp_provider_info info = {.struct_size = sizeof info};
    for (int i = 0; name && bp_provider_at(i, &info); i++) {
        if (bp__text_equal(info.name, name)) {
            *reason = info.reason;
            return info.status == BP_OK;
        }
    }
    *reason = "the provider module is not installed";
    return false;
}

bool bp__on_openmp(const bp_library_info *library) {
    const char *threads = library->threading;
    return bp__text_equal(threads, "libgomp") || bp__text_equal(threads, "libomp") ||
           bp__text_equal(threads, "libiomp5");
}

/* Family "openmp" means a BLAS library on OpenMP threads: dispatch can use such a library. */
static bool belongs(const bp_library_info *entry, const char *family) {
    bool blas = (entry->kinds & (BP_LIB_BLAS | BP_LIB_CBLAS)) != 0;
    return bp__text_equal(family, "openmp") ? blas && bp__on_openmp(entry) : bp__text_equal(entry->family, family);
}

/* Rates an entry: 3 usable, 2 present but unprobed, 1 present but broken. */
static int rank(const bp_library_info *entry) {
    return entry->state == BP_LIBRARY_OK ? 3 : entry->state == BP_LIBRARY_UNPROBED ? 2 : 1;
}

static bp_status find_library(const char *family, bp_library_info *best, bool *found) {
    int count = 0;
    *found = false;
    BP__TRY(bp_library_count(&count));
    bp_library_info entry = {.struct_size = sizeof entry};
    for (int i = 0; i < count; i++) {
        bool fits = bp_library_at(i, &entry) && entry.state != BP_LIBRARY_FACADE && belongs(&entry, family);
        if (fits && (!*found || rank(&entry) > rank(best))) {
            *best = entry;
            *found = true;
        }
    }
    return BP_OK;
}

/* Converts a version to a number: "9.19.0" with scale 100 becomes 91900. */
static int64_t count_version(const char *version, int scale) {
    int64_t number = 0;
    const char *at = version;
    for (int part = 0; part < 3 && scale > 0; part++) {
        char *end;
        long value = strtol(at, &end, 10);
        number = number * (part ? scale : 1) + (end == at || value < 0 ? 0 : value);
        at = *end == '.' ? end + 1 : end;
    }
    return *version ? number : 0;
}

/* ---- State of a backend ---- */

static void explain_unbuilt(bp__text *reason, const backend *b, const bp_library_info *entry, bool found) {
    if (found && entry->reason[0]) {
        bool no_driver = (entry->kinds & BP_LIB_GPU) != 0 && entry->state == BP_LIBRARY_UNPROBED;
        bp__text_addf(reason, "%s%s: %s; and ", no_driver ? "no driver: " : "", entry->path, entry->reason);
    } else if (found) {
        bp__text_addf(reason, "%s is there; but ", entry->path);
    }
    bp__text_addf(reason, "this version has no provider for %s", b->what);
}

/* Returns whether the backend's runtime has a usable device, else the reason. The host always is one. */
static bool has_device(const backend *b, bp__text *reason) {
    char name[64];
    int32_t place;
    bp__held_error held;
    if (!b->runtime) {
        return true;
    }
    snprintf(name, sizeof name, "%s:0", b->runtime);
    bp__error_hold(&held);
    const bool found = bp_device_find(name, &place) == BP_OK;
    bp__text_add(reason, found ? "" : bp_last_error());
    bp__error_return(&held);
    return found;
}

static void explain_unavailable(bp__text *reason, const backend *b, const bp_library_info *entry, bool found,
                                const char *provider_reason) {
    if (provider_reason) {
        bp__text_addf(reason, "provider '%s': %s", b->provider, provider_reason);
    } else if (found && entry->state == BP_LIBRARY_OK) {
        has_device(b, reason);
    } else if (found) {
        bp__text_addf(reason, "%s: %s", entry->path, entry->reason);
    } else if (bp__text_equal(b->family, "openmp")) {
        bp__text_addf(reason, "no %s was found", b->what + strlen("a "));
    } else {
        bp__held_error held;
        bp__error_hold(&held);
        bp__library_absent(b->family);
        const char *message = bp_last_error();
        const char *searched = strstr(message, "; looked in "); /* the error itself has the search locations */
        bp__text_addf(reason, "%.*s", (int)(searched ? searched - message : (ptrdiff_t)strlen(message)), message);
        bp__error_return(&held);
    }
}

static bool switched_on(const char *setting) {
    const char *value = "true";
    return !*setting || (bp_get(setting, &value, NULL, NULL) == BP_OK && bp__text_equal(value, "true"));
}

static bp_status describe(const backend *b, bp_backend_info *info) {
    bp_library_info entry = {.struct_size = sizeof entry};
    bool found = false;
    const char *provider_reason = NULL;
    bp__text reason = {0}, unused = {0};
    const bp__module *modules;
    int module_count;
    BP__TRY(bp__modules(&modules, &module_count)); /* else a lack of memory looks like an absent provider */
    if (b->family) {
        BP__TRY(find_library(b->family, &entry, &found));
    }
    info->name = b->name;
    info->setting = b->setting;
    info->built = b->provider && provider_works(b->provider, &provider_reason);
    info->present = b->family ? found && rank(&entry) > 1 : info->built;
    info->available = info->built && (!b->family || (found && entry.state == BP_LIBRARY_OK)) && has_device(b, &unused);
    bp__text_free(&unused);
    info->enabled = info->available && switched_on(b->setting);
    info->version = found && !bp__text_equal(b->family, "openmp") ? entry.version
                    : b->family                                   ? ""
                    : info->built                                 ? bp_version()
                                                                  : "";
    info->version_number = found ? count_version(info->version, b->scale) : 0;
    if (!b->provider) {
        explain_unbuilt(&reason, b, &entry, found);
    } else if (!info->available) {
        explain_unavailable(&reason, b, &entry, found, info->built ? NULL : provider_reason);
    }
    info->reason = reason.failed ? NULL : bp__intern(reason.length > 0 ? bp__text_get(&reason) : "");
    bp__text_free(&reason);
    return info->reason ? BP_OK : bp__fail_memory(256, "the state of a backend");
}

int bp_backend_at(int index, bp_backend_info *info) {
    bp_backend_info own;
    memset(&own, 0, sizeof own); /* padding too: the whole struct is copied to the caller */
    if (!bp__struct_usable(info) || index < 0 || index >= BP__COUNT(backends) ||
        describe(&backends[index], &own) != BP_OK) {
        return 0;
    }
    bp__struct_write(info, &own, sizeof own);
    return 1;
}

static const char *name_at(void *user, int index) {
    (void)user;
    return index < BP__COUNT(backends) ? backends[index].name : NULL;
}

bp_status bp_backend_status(const char *name, bp_backend_info *info) {
    if (!name) {
        return bp__fail(BP_E_ARGUMENT, "bp_backend_status: name is NULL; it must be the name of a backend");
    }
    BP__TRY(bp__struct_check(info, sizeof *info, "info"));
    for (int i = 0; i < BP__COUNT(backends); i++) {
        if (bp__text_equal(backends[i].name, name)) {
            bp_backend_info own;
            memset(&own, 0, sizeof own); /* padding too: the whole struct is copied to the caller */
            BP__TRY(describe(&backends[i], &own));
            bp__struct_write(info, &own, sizeof own);
            return BP_OK;
        }
    }
    char suggestion[256];
    bp__suggest(name, name_at, NULL, suggestion, sizeof suggestion);
    return bp__fail(BP_E_UNKNOWN_NAME, "backend '%.64s' is unknown; %s", name,
                    *suggestion ? suggestion : "`backplane list` shows all of them");
}

/* ---- Settings ---- */

/* Returns the backend of a setting, named by the first component; NULL for settings of Backplane itself. */
static const backend *backend_of(const char *setting) {
    size_t length = strcspn(setting, ".");
    for (int i = 0; i < BP__COUNT(backends); i++) {
        if (strlen(backends[i].name) == length && strncmp(backends[i].name, setting, length) == 0) {
            return &backends[i];
        }
    }
    return NULL;
}

/* Returns whether the setting only enables a backend without a provider. "mkldnn.enabled" has no effect then, although
 * dispatch reads it. */
static bool is_switch(const char *setting) {
    const backend *b = backend_of(setting);
    return b && !b->provider && bp__text_equal(b->setting, setting);
}

/* Returns whether a setting of CUDA is passed to providers, but none uses it: on CUDA, attention has no kernel "math",
 * and recurrent layers have no provider. */
static bool is_unused(const bp_setting_info *entry) {
    return entry->number == BP_SET_cuda_fp16_bf16_reduction_math_sdp ||
           entry->number == BP_SET_cudnn_rnn_fp32_precision;
}

/* Returns whether operations read this setting, or it is one that no flag tells about. */
static bool is_read(const bp_setting_info *entry) {
    const backend *b = backend_of(entry->name);
    const unsigned read = BP_SETTING_POLICY | BP_SETTING_CUDA;
    if (b && b->runtime) {
        return ((entry->flags & (read | BP_SETTING_ALIAS)) && !is_unused(entry)) ||
               entry->number == BP_SET_cuda_cufft_plan_cache_max_size;
    }
    return !(entry->flags & BP_SETTING_INHERITS) || (entry->flags & read);
}

/* ---- Settings that decide among the candidates of a family ---- */

static const bp__family *family_choosing_by(const char *setting) {
    const int number = bp_setting_find(setting);
    for (int i = 0; i < BP__FAMILIES; i++) {
        const bp__family *family = bp__family_at(i);
        if (number >= 0 && family->preferred && (family->preference == number || family->benchmark == number)) {
            return family;
        }
    }
    return NULL;
}

/* Counts what can be chosen: algorithms of candidates. */
typedef struct counter {
    bp_offers base; /* must be first: the provider's interface */
    int count;
} counter;

static void count_offer(bp_offers *self, const bp_verdict *verdict, const void *found, size_t size) {
    (void)found, (void)size;
    ((counter *)self)->count += verdict->reason == BP_REASON_ACCEPTED;
}

/* Returns whether more than one algorithm of this machine offers a problem of the family. */
static bp_status has_rivals(const bp__family *family, bool *rivals) {
    bp__candidate **list;
    int count;
    bp_problem sample;
    BP__TRY(bp__candidates(&BP__NEED_ALL, -1, &list, &count));
    *rivals = false;
    for (int class = 0; class < BP__CLASSES && !*rivals; class ++) {
        counter c = {.base = {count_offer}};
        const bp_problem of_class = {.op = bp__classes[class].op};
        if (bp__family_of(&of_class) != family) {
            continue;
        }
        BP__TRY(bp__class_sample(&sample, &bp__classes[class]));
        for (int i = 0; i < count; i++) {
            if (bp__candidate_offers(list[i], &sample)) {
                list[i]->provider->accept(list[i]->instance, &sample, &c.base);
            }
        }
        *rivals = c.count > 1;
    }
    return BP_OK;
}

/* Returns why a setting of the family has no effect; "" if it has one. Nothing is measured for the answer. */
static const char *why_no_choice(const bp__family *family) {
    bp_scope *scope;
    bp__held_error held;
    bool rivals = true;
    const char *reason = "";
    bp__error_hold(&held);
    if (bp_scope_enter(&scope, "calibration=off") == BP_OK) {
        if (has_rivals(family, &rivals) == BP_OK && !rivals) {
            bp__text text = {0};
            bp__text_addf(&text, "%s offered by one algorithm on this machine, so that there is nothing to choose",
                          family->preferred->what);
            reason = text.failed ? NULL : bp__intern(bp__text_get(&text));
            bp__text_free(&text);
        }
        bp_scope_leave(&scope);
    }
    bp__error_return(&held);
    return reason ? reason : "";
}

int bp_setting_has_effect(const char *name, const char **why) {
    const bp_setting_info *entry = name ? bp_setting_at(bp_setting_find(name)) : NULL;
    const bp__family *family = entry ? family_choosing_by(name) : NULL;
    const char *reason = "";
    if (entry && entry->number == BP_SET_dist_preferred) {
        reason = bp__dist_engines_here() > 1 ? "" : "this machine has no second library for distributed operands";
    } else if (family) {
        reason = why_no_choice(family);
    } else if (entry && strncmp(entry->affects, "nothing", strlen("nothing")) == 0) {
        reason = entry->affects;
    } else if (entry && (is_switch(name) || !(entry->flags & (BP_SETTING_POLICY | BP_SETTING_STARTUP)))) {
        const backend *b = backend_of(name);
        bp_backend_info info = {.struct_size = sizeof info};
        bp__held_error held;
        bp__error_hold(&held);
        bool lacking = b && describe(b, &info) == BP_OK && !info.available;
        bp__error_return(&held);
        reason = lacking && info.reason ? info.reason : is_read(entry) ? "" : "no operation of this version reads it";
    }
    if (why) {
        *why = reason;
    }
    return !*reason;
}
