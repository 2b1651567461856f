/* cpu.c - decides which instruction sets our code may use: the hardware's, limited by the setting cpu.capability. */
#include "machine/cpu.h"
#include "settings/internal.h"

static const char *const names[] = {
    [BP_CAPABILITY_DEFAULT] = "DEFAULT", [BP_CAPABILITY_AVX2] = "AVX2",        [BP_CAPABILITY_AVX512] = "AVX512",
    [BP_CAPABILITY_VSX] = "VSX",         [BP_CAPABILITY_ZVECTOR] = "Z VECTOR", [BP_CAPABILITY_SVE256] = "SVE256",
};

const char *bp__capability_name(bp_capability capability) {
    return (unsigned)capability < (unsigned)BP__COUNT(names) ? names[capability] : "?";
}

bp_capability bp__cpu_hardware(void) {
    static _Atomic int known; /* the capability plus one; several threads may compute the same value at the same time */
    int value = atomic_load_explicit(&known, memory_order_relaxed);
    if (value == 0) {
        value = (int)bp__cpu_detect() + 1;
        atomic_store_explicit(&known, value, memory_order_relaxed);
    }
    return (bp_capability)(value - 1);
}

/* Returns whether `hardware` runs code built for `wanted`. Only AVX-512 includes another set, AVX2. */
static bool includes(bp_capability hardware, bp_capability wanted) {
    return wanted == BP_CAPABILITY_DEFAULT || wanted == hardware ||
           (hardware == BP_CAPABILITY_AVX512 && wanted == BP_CAPABILITY_AVX2);
}

bool bp__cpu_runs(bp_capability wanted) {
    return includes(bp__cpu_hardware(), wanted);
}

/* Maps the setting to a capability. Its words are "auto" and then the capabilities in the order of the enum. */
bp_capability bp__cpu_capability(void) {
    int64_t word = bp__setting_int(BP_SET_cpu_capability);
    bp_capability hardware = bp__cpu_hardware();
    bp_capability wanted = word == 0 ? hardware : (bp_capability)(word - 1);
    return includes(hardware, wanted) ? wanted : hardware;
}

static bp_status check_setting(bp_setting_id id, bp__value value, const char *text) {
    if (value == 0 || bp__cpu_runs((bp_capability)(value - 1))) {
        return BP_OK;
    }
    return bp__fail(
        BP_E_UNSUPPORTED,
        "%s: '%s' cannot be used: this processor and operating system support %s; use auto or a lower capability",
        bp_setting_at((int)id)->name, text, bp_cpu_hardware_capability());
}

/* src/settings may not include src/machine. This constructor therefore registers the value check, before main(), so
 * that no value is set earlier. It only stores a pointer. */
__attribute__((constructor)) static void register_check(void) {
    bp__setting_set_check(BP_SET_cpu_capability, check_setting);
}

const char *bp_cpu_capability(void) {
    return bp__capability_name(bp__cpu_capability());
}

const char *bp_cpu_hardware_capability(void) {
    return bp__capability_name(bp__cpu_hardware());
}
