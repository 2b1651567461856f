/* support_real.c - implements support_real.h. */
#include "cudnn/support_real.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

bp__cudnn_instance real_instance;
cudnnBackendDescriptor_t real_device;
static bp_library_info library;

/* From 9.2x on, cuDNN loads only where there is a libcuda.so.1. */
void real_open(const char *path, const char *driver) {
    (void)(*driver ? dlopen(driver, RTLD_NOW | RTLD_GLOBAL) : NULL);
    void *handle = *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    size_t (*version)(void) = NULL;
    if (handle) {
        *(void **)&version = dlsym(handle, "cudnnGetVersion");
#define X(result, name, symbol, parameters) *(void **)&real_instance.api.name = dlsym(handle, #symbol);
        BP__CUDNN_FUNCTIONS(X)
#undef X
        real_instance.vendor.library = &library;
        real_instance.vendor.version = (int)(version() / 10000 * 1000 + version() / 100 % 100);
        print_message("%s: cuDNN %zu\n", path, version());
    }
}

void real_need(void) {
    if (!real_instance.api.Execute) {
        print_message("skipped: cuDNN 9 is not installed (CUDNN_REAL)\n");
        skip();
    }
}

/* Facts of a device, as the library writes them itself. */
static void describe_device(int capability, char *text, size_t size) {
    const int units = capability >= 1200 ? 170 : capability >= 1000 ? 148 : capability >= 900 ? 132 : 108;
    const int shared = capability >= 1200 ? 101376 : capability >= 900 ? 232448 : 166912;
    snprintf(text, size,
             "{\"version\":1,\"deviceId\":0,\"cudaDeviceId\":0,\"deviceName\":\"described\",\"deviceVer\":%d,"
             "\"driverVer\":13000,\"multiProcessorCount\":%d,\"warpSize\":32,\"maxGridSize\":[2147483647,65535,65535],"
             "\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,\"maxSharedMemoryPerBlock\":49152,"
             "\"maxSharedMemoryPerBlockOptin\":%d,\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"
             "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,"
             "\"isTccDriver\":0,\"supportCoopLaunch\":1,\"totalGlobalMem\":85000000000,\"smClockRateKHz\":1980000,"
             "\"memClockRateKHz\":2619000,\"l2CacheSize\":52428800,\"memoryBusWidth\":5120,"
             "\"oversizedSharedMemoryPerBlock\":0}",
             capability, units, shared);
}

void real_fail(const char *what) {
    char text[256] = "";
    real_instance.api.LastError(text, sizeof text);
    fail_msg("%s: %s", what, text);
}

void real_begin(int capability) {
    char text[2048];
    describe_device(capability, text, sizeof text);
    if (real_instance.api.DescriptorCreate(BP__CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &real_device) ||
        real_instance.api.SetAttribute(real_device, BP__CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, BP__CUDNN_TYPE_CHAR,
                                       (int64_t)strlen(text) + 1, text) ||
        real_instance.api.Finalize(real_device)) {
        real_fail("the description of a device");
    }
}

static void (*device_test)(int capability);

static void sm_80(void **state) {
    (void)state;
    device_test(800);
}

static void sm_90(void **state) {
    (void)state;
    device_test(900);
}

static void sm_100(void **state) {
    (void)state;
    device_test(1000);
}

static void sm_120(void **state) {
    (void)state;
    device_test(1200);
}

int real_group(void (*try_device)(int capability)) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sm_80), cmocka_unit_test(sm_90), cmocka_unit_test(sm_100),
                                       cmocka_unit_test(sm_120)};
    device_test = try_device;
    return cmocka_run_group_tests_name("real", tests, NULL, NULL);
}
