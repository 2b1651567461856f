/* test_list.c - lists devices: found in a child process, with a reason if there are none, kept between processes. */
#include "device/private.h"
#include "device/support_device.h"

#include <sys/stat.h>

static bp_device_info at(int index) {
    bp_device_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_device_at(index, &info), 1);
    return info;
}

/* Returns the first entry of a runtime. */
static bp_device_info first_of(const char *runtime) {
    bp_device_info info = {.struct_size = sizeof info};
    for (int i = 0; bp_device_at(i, &info); i++) {
        if (strcmp(info.runtime, runtime) == 0) {
            return info;
        }
    }
    fail_msg("there is no entry of %s", runtime);
    return info;
}

static void behave(const char *how, const char *where) {
    setenv("FAKE_RUNTIME", how, 1);
    if (where) {
        setenv("FAKE_RUNTIME_IN", where, 1);
    } else {
        unsetenv("FAKE_RUNTIME_IN");
    }
    restart_devices();
}

static int behave_again(void **state) {
    unsetenv("FAKE_RUNTIME");
    unsetenv("FAKE_RUNTIME_IN");
    unsetenv("FAKE_DEVICES");
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "60000", 1);
    setenv("BACKPLANE_REGISTRY_CACHE", "off", 1);
    setenv("BACKPLANE_DEVICE_EXCLUDE", "opencl", 1);
    setenv("BACKPLANE_PROVIDER_PATH", FAKES "/good", 1);
    restart_devices();
    fake()->changed = 0;
    return end(state);
}

static void test_host_comes_first_and_opens_nothing(void **state) {
    (void)state;
    setenv("FAKE_RUNTIME", "hang", 1); /* would be seen if the host's entry asked for other devices */
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "600000", 1);
    restart_devices();
    bp_device_info host = at(0);
    int32_t place = -1;
    assert_string_equal(host.id, "host");
    assert_string_equal(host.runtime, "host");
    assert_int_equal(host.place, 0);
    assert_int_equal(host.index, 0);
    assert_int_equal(host.state, BP_DEVICE_READY);
    assert_true(host.can & BP_DEVICE_IS_CPU && host.can & BP_DEVICE_HAS_ADDRESSES);
    assert_true(host.memory > 0);
    assert_ok(bp_device_find("host", &place));
    assert_int_equal(place, 0);
    assert_ok(bp__device_check(0));
    assert_ptr_equal(bp__device_facts(0)->id, host.id);
    assert_ok(bp_device_wait(0));
    assert_fails(bp_queue_new(&(bp_queue *){NULL}, 0, 0), BP_E_DEVICE, "host has no queues");
}

static void test_devices_are_listed_with_their_facts(void **state) {
    (void)state;
    bp_device_info one = first_of("fake");
    assert_string_equal(one.id, "fake:0");
    assert_int_equal(one.index, 0);
    assert_int_equal(one.type, kDLVulkan);
    assert_int_equal(one.place, kDLVulkan << 16);
    assert_int_equal(one.state, BP_DEVICE_READY);
    assert_string_equal(one.reason, "");
    assert_string_equal(one.name, "Fake \\device\nnumber 0"); /* escaped on its way */
    assert_string_equal(one.vendor, "No vendor");
    assert_string_equal(one.platform, "");
    assert_int_equal(one.units, 4);
    assert_true(one.memory == UINT64_C(1) << 33);
    assert_false(one.can & BP_DEVICE_HAS_ADDRESSES); /* the runtime tells neither */
    assert_true(first_of("other").can & BP_DEVICE_HAS_ADDRESSES);
    assert_true(strlen(one.extensions) > 4000); /* longer than a line of the report */
    assert_memory_equal(one.extensions, "fake_extension_0 fake_extension_1 ", 34);
    bp_device_info two = {.struct_size = sizeof two};
    assert_ok(bp_device_describe(place_of("fake:1"), &two));
    assert_string_equal(two.name, "Fake \\device\nnumber 1");
    assert_string_equal(two.extensions, one.extensions);
    assert_string_equal(two.uuid, "0123-fake");
    assert_true(two.can & BP_DEVICE_CAN_F16);
    assert_false(one.can & BP_DEVICE_CAN_F16);
    assert_string_equal(one.arch, "");
    assert_string_equal(two.arch, "fake_90");
    assert_true(two.capability == 900 && two.driver_number == 13000);
    assert_true(two.l2 == UINT64_C(50) << 20 && two.shared_optin == 232448);
    assert_int_equal(fake()->opened, 0); /* not in this process */
}

static void test_find(void **state) {
    (void)state;
    int32_t place = -1;
    assert_int_equal(place_of("fake"), place_of("fake:0"));
    assert_int_equal(place_of("0123-fake"), place_of("fake:1"));
    assert_int_equal(place_of("other:1"), kDLROCM << 16 | 1);
    assert_fails(bp_device_find("fake:7", &place), BP_E_NOT_FOUND, "'fake:7'; did you mean");
    assert_fails(bp_device_find("opencl", &place), BP_E_NOT_FOUND, "opencl");
    assert_fails(bp_device_find("", &place), BP_E_NOT_FOUND, "");
    assert_fails(bp_device_find(NULL, &place), BP_E_ARGUMENT, "'id' is NULL");
    assert_fails(bp_device_find("fake", NULL), BP_E_ARGUMENT, "'place' is NULL");
}

static void test_places_are_computed(void **state) {
    (void)state;
    assert_int_equal(bp_device_place((DLDevice){kDLCPU, 0}), 0);
    assert_int_equal(bp_device_place((DLDevice){kDLCUDAHost, 0}), 0);
    assert_int_equal(bp_device_place((DLDevice){kDLROCMHost, 3}), 0);
    assert_int_equal(bp_device_place((DLDevice){kDLCUDA, 3}), kDLCUDA << 16 | 3);
    assert_int_equal(bp_device_place((DLDevice){kDLCUDAManaged, 3}), kDLCUDA << 16 | 3);
    assert_int_equal(bp_device_place((DLDevice){kDLCUDAManaged, -1}), -1);
    assert_int_equal(bp_device_place((DLDevice){kDLOpenCL, 3}), kDLOpenCL << 16 | 3);
    assert_int_equal(bp_device_place((DLDevice){kDLOpenCL, -1}), -1);
    assert_int_equal(bp_device_place((DLDevice){kDLOpenCL, 65536}), -1);
    assert_int_equal(bp_device_place((DLDevice){(DLDeviceType)0x7fff, 0}), -1);
    assert_int_equal(bp_device_place((DLDevice){(DLDeviceType)-1, 0}), -1);
}

static void test_bad_arguments(void **state) {
    (void)state;
    bp_device_info info = {.struct_size = 0};
    assert_int_equal(bp_device_at(0, &info), 0);
    assert_int_equal(bp_device_at(0, NULL), 0);
    info.struct_size = sizeof info;
    assert_int_equal(bp_device_at(-1, &info), 0);
    assert_int_equal(bp_device_at(1000, &info), 0);
    assert_fails(bp_device_describe(kDLVulkan << 16 | 9, &info), BP_E_NOT_FOUND, "no device");
    assert_fails(bp_device_describe(0, NULL), BP_E_ARGUMENT, "info");
    assert_fails(bp__device_check(kDLVulkan << 16 | 9), BP_E_DEVICE, "vulkan:9");
    assert_fails(bp__device_check(kDLCUDA << 16), BP_E_DEVICE, "cuda:0");
    assert_fails(bp__device_check(-5), BP_E_DEVICE, "no device");
    assert_null(bp__device_facts(kDLCUDA << 16));
    for (int i = -1; i < 10; i++) {
        assert_non_null(bp_device_state_name((bp_device_state)i));
    }
    assert_string_equal(bp_device_state_name(BP_DEVICE_NO_LIBRARY), "no-library");
    assert_string_equal(bp_device_state_name((bp_device_state)8), "");
}

static void expect_none(const char *how, bp_device_state state, const char *reason) {
    int32_t place;
    behave(how, "child");
    bp_device_info info = first_of("fake");
    assert_int_equal(info.index, -1);
    assert_int_equal(info.place, -1);
    assert_int_equal(info.state, state);
    if (!strstr(info.reason, reason)) {
        fail_msg("'%s' is not in '%s'", reason, info.reason);
    }
    assert_fails(bp_device_find("fake:0", &place), BP_E_NOT_FOUND, info.reason);
    assert_fails(bp__device_check(kDLVulkan << 16), BP_E_DEVICE, info.reason);
    assert_int_equal(fake()->opened, 0);
}

/* Without the child, each of these would end or block this program. */
static void test_runtimes_that_do_not_open(void **state) {
    (void)state;
    expect_none("crash", BP_DEVICE_BROKEN, "SIGSEGV in the child process that looks for devices, while it was opened");
    expect_none("exit", BP_DEVICE_BROKEN, "ended early");
    expect_none("fail", BP_DEVICE_BROKEN, "the fake driver does not start");
    expect_none("missing", BP_DEVICE_NO_LIBRARY, "libfake.so.1 was not found");
    expect_none("none", BP_DEVICE_NO_DEVICE, "lists no device");
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "300", 1);
    expect_none("hang", BP_DEVICE_BROKEN, "hung in the child process");
}

static void test_a_driver_that_prints(void **state) {
    (void)state;
    char name[] = "/tmp/backplane-printed-XXXXXX", text[64] = "";
    int file = mkstemp(name), old = dup(STDOUT_FILENO);
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    behave("print", "child");
    bp_device_info info = first_of("fake");
    fflush(stdout);
    dup2(old, STDOUT_FILENO);
    close(old);
    assert_int_equal(pread(file, text, sizeof text - 1, 0), 0);
    assert_string_equal(text, "");
    close(file);
    unlink(name);
    assert_int_equal(info.state, BP_DEVICE_READY);
}

/* The child has found devices, but this process cannot open the runtime. */
static void test_opening_fails_here(void **state) {
    (void)state;
    bp_queue *queue;
    behave("fail", "parent");
    assert_int_equal(first_of("fake").state, BP_DEVICE_READY);
    assert_fails(bp_queue_new(&queue, place_of("fake"), 0), BP_E_BROKEN, "the fake driver does not start");
    assert_null(queue);
    assert_int_equal(first_of("fake").state, BP_DEVICE_BROKEN);
    assert_fails(bp_queue_new(&queue, kDLVulkan << 16, 0), BP_E_DEVICE, "the fake driver does not start");
}

/* The driver lists another device than the child has seen. */
static void test_devices_that_change(void **state) {
    (void)state;
    bp_queue *queue;
    const int32_t place = place_of("fake:0");
    fake()->changed = 3;
    assert_fails(bp_queue_new(&queue, place, 0), BP_E_DEVICE, "lists other devices than before");
    assert_int_equal(first_of("fake").state, BP_DEVICE_BROKEN);
    assert_null(bp__device_facts(place));
    fake()->changed = 0;
    restart_devices();
    assert_ok(bp_queue_new(&queue, place, 0));
    bp_queue_release(queue);
}

static void test_excluded_devices(void **state) {
    (void)state;
    setenv("BACKPLANE_DEVICE_EXCLUDE", "opencl, other,fake:0", 1);
    restart_devices();
    assert_int_equal(place_of("fake"), place_of("fake:1")); /* the first one that is ready */
    setenv("BACKPLANE_DEVICE_EXCLUDE", "opencl, other,fake:1", 1);
    restart_devices();
    bp_device_info info = first_of("other");
    assert_int_equal(info.state, BP_DEVICE_DISABLED);
    assert_int_equal(info.index, -1);
    assert_int_equal(first_of("fake").state, BP_DEVICE_READY);
    assert_fails(bp__device_check(place_of("fake:1")), BP_E_DEVICE, "device.exclude");
    assert_fails(bp_queue_new(&(bp_queue *){NULL}, place_of("fake:1"), 0), BP_E_DEVICE, "disabled by a setting");
}

static void test_a_module_that_breaks_a_rule(void **state) {
    (void)state;
    setenv("BACKPLANE_PROVIDER_PATH", FAKES "/bad", 1);
    restart_devices();
    bp_provider_info info = {.struct_size = sizeof info};
    bool found = false;
    for (int i = 0; bp_provider_at(i, &info); i++) {
        found = found || (info.status == BP_E_ABI && strstr(info.reason, "struct_size is 64"));
    }
    assert_true(found);
    bp_device_info device = {.struct_size = sizeof device};
    for (int i = 0; bp_device_at(i, &device); i++) {
        assert_string_not_equal(device.runtime, "fake");
    }
}

/* A description of a GPU of CUDA answers like the GPU: also by which settings decide. */
static void test_a_recorded_device_of_cuda(void **state) {
    (void)state;
    static char json[16384];
    int32_t place;
    bp_device_info info = {.struct_size = sizeof info};
    assert_ok(
        bp_device_load("{\"format\": \"backplane-device 1\", \"runtime\": \"cuda\", \"type\": 2, \"name\": \"H100\", "
                       "\"arch\": \"sm_90\", \"capability\": 900, \"driver_number\": 13000, \"l2\": 52428800, "
                       "\"shared_optin\": 232448}",
                       &place));
    assert_int_equal(place >> 16, kDLCUDA);
    assert_ok(bp_device_describe(place, &info));
    assert_string_equal(info.arch, "sm_90");
    assert_true(info.capability == 900 && info.driver_number == 13000 && info.l2 == 52428800);
    assert_ok(bp_device_record(place, json, sizeof json, NULL));
    assert_non_null(strstr(json, "\"arch\": \"sm_90\""));
    assert_non_null(strstr(json, "\"shared_optin\": 232448"));
    bp_view a, managed;
    bp_explanation *e;
    const int64_t shape[] = {8, 8};
    assert_ok(bp_view_init(&a, NULL, BP_F32, 2, shape, NULL));
    a.tensor.device = (DLDevice){kDLCUDA, info.index};
    assert_ok(bp_view_copy(&managed, &a));
    managed.tensor.device.device_type = kDLCUDAManaged; /* may be mixed with memory of the device */
    assert_ok(bp_matmul_explain(&e, NULL, &a.tensor, &managed.tensor, &a.tensor));
    assert_non_null(strstr(bp_explanation_text(e), "precision f32 by cuda.matmul.fp32_precision=none (default)"));
    bp_explanation_release(e);
    managed.tensor.device.device_id = info.index + 1;
    assert_fails(bp_matmul_explain(&e, NULL, &a.tensor, &managed.tensor, &a.tensor), BP_E_DEVICE, "cuda-managed:");
}

/* ---- Kept results ---- */

/* Lists the devices with a child that hangs: only a kept result answers. */
static bool is_kept(void) {
    setenv("FAKE_RUNTIME", "fail", 1);
    setenv("FAKE_RUNTIME_IN", "child", 1);
    restart_devices();
    const bool kept = first_of("fake").state == BP_DEVICE_READY;
    unsetenv("FAKE_RUNTIME");
    restart_devices();
    assert_int_equal(first_of("fake").state, BP_DEVICE_READY);
    return kept;
}

static void test_results_are_kept(void **state) {
    (void)state;
    char folder[] = "/tmp/backplane-devices-XXXXXX", file[256], watched[128], command[512];
    assert_non_null(mkdtemp(folder));
    setenv("BACKPLANE_REGISTRY_CACHE", "read-write", 1);
    setenv("BACKPLANE_CACHE_DIR", folder, 1);
    snprintf(watched, sizeof watched, "%s/watched", folder);
    assert_int_equal(mkdir(watched, 0755), 0);
    setenv("FAKE_FOLDER", watched, 1);
    restart_devices();
    bp_device_info before = first_of("fake");
    char name[64];
    snprintf(name, sizeof name, "%s", before.name);
    assert_true(is_kept());
    assert_string_equal(first_of("fake").name, name);

    setenv("FAKE_DEVICES", "1", 1); /* a variable that the runtime names */
    assert_false(is_kept());
    assert_true(is_kept());
    setenv("FAKE_DEVICES", "2", 1);
    assert_false(is_kept());

    snprintf(file, sizeof file, "%s/driver.icd", watched); /* a folder that a variable names */
    FILE *made = fopen(file, "w");
    fputs("libfake.so\n", made);
    fclose(made);
    assert_false(is_kept());
    assert_true(is_kept());
    made = fopen(file, "w");
    fputs("libfake2.so\n", made);
    fclose(made);
    assert_false(is_kept());
    assert_true(is_kept());

    setenv("BACKPLANE_REGISTRY_CACHE", "off", 1);
    assert_false(is_kept());
    setenv("BACKPLANE_REGISTRY_CACHE", "read-write", 1);
    snprintf(file, sizeof file, "%s/devices.txt", folder);
    snprintf(command, sizeof command, "sed -i 's/No vendor/Any vendor/' '%s'", file); /* checksums tell */
    assert_int_equal(system(command), 0);
    assert_false(is_kept());
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
    unsetenv("BACKPLANE_CACHE_DIR");
    unsetenv("FAKE_FOLDER");
}

static void read_report(const char *text, int expected, bp_device_state state) {
    bp_runtime fake_runtime = {.name = "fake"};
    bp__runtime row = {.runtime = &fake_runtime, .module = "", .reason = ""};
    bp_device_info *devices;
    int count;
    char *copy = strdup(text);
    assert_ok(bp__contact_read(&row, copy, &devices, &count));
    free(copy);
    assert_int_equal(count, expected);
    assert_int_equal(row.state, state);
    assert_true((devices != NULL) == (count > 0));
    bp__free(devices);
}

static void test_hostile_reports(void **state) {
    (void)state;
    read_report("", 0, BP_DEVICE_BROKEN);
    read_report("done=1\n", 0, BP_DEVICE_NO_DEVICE);
    read_report("facts=device\nfacts=name x\ndone=1\n", 1, BP_DEVICE_READY);
    read_report("facts=device\nfacts=name x\nend=SIGSEGV\n", 0, BP_DEVICE_BROKEN); /* not done */
    read_report("facts=name before a device\nfacts=device\ndone=1", 1, BP_DEVICE_READY);
    read_report("facts=device\nfacts=units 99999999999\ndone=1\n", 0, BP_DEVICE_BROKEN);
    read_report("facts=device\nfacts=units -1\ndone=1\n", 0, BP_DEVICE_BROKEN);
    read_report("facts=device\nfacts=memory 18446744073709551615\ndone=1\n", 1, BP_DEVICE_READY);
    read_report("facts=device\nfacts=unknown x\nfacts=\nfacts=units\nmore=\nmore=device\ndone=1\n", 1, BP_DEVICE_READY);
    read_report("=\n==\n\n\n=done\ndone\n", 0, BP_DEVICE_BROKEN);
    read_report("failed=40 nothing\n", 0, BP_DEVICE_NO_LIBRARY);
    read_report("failed=\n", 0, BP_DEVICE_BROKEN);
    read_report("more=device\nfacts=device\nmore=\nfacts=device\ndone=1", 2, BP_DEVICE_READY);
    char *many = calloc(1, 1000 * 14 + 16);
    for (int i = 0; i < 1000; i++) {
        strcat(many, "facts=device\n");
    }
    strcat(many, "done=1\n");
    read_report(many, 256, BP_DEVICE_READY);
    free(many);
}

/* A device has none of the text that the one before it has. */
static void test_facts_that_a_device_lacks(void **state) {
    (void)state;
    static const bp_runtime runtime = {.name = "fake"};
    bp__runtime row = {.runtime = &runtime, .module = "", .reason = ""};
    bp_device_info one = {.units = 7}, two = {.units = 0}, *devices;
    bp__text text = {0}, report = {0};
    int count;
    bp__facts_empty(&one);
    bp__facts_empty(&two);
    one.uuid = "1-2-3";
    bp__text_add(&text, "device\n");
    bp__facts_write(&text, &one, NULL);
    bp__text_add(&text, "device\n");
    bp__facts_write(&text, &two, &one);
    for (char *line = strtok(text.bytes, "\n"); line; line = strtok(NULL, "\n")) {
        bp__text_addf(&report, "facts=%s\n", line);
    }
    bp__text_add(&report, "done=1\n");
    assert_ok(bp__contact_read(&row, report.bytes, &devices, &count));
    assert_int_equal(count, 2);
    assert_string_equal(devices[0].uuid, "1-2-3");
    assert_string_equal(devices[1].uuid, "");
    assert_int_equal(devices[0].units, 7);
    assert_int_equal(devices[1].units, 0);
    bp__free(devices);
    bp__text_free(&text);
    bp__text_free(&report);
}

/* ---- Descriptions ---- */

static void test_record_and_load(void **state) {
    (void)state;
    char *text = calloc(1, 16384), small[10];
    size_t length, again;
    int32_t place = -1, second = -1;
    assert_ok(bp_device_record(place_of("fake:1"), text, 16384, &length));
    assert_int_equal(strlen(text), length);
    assert_ok(bp_device_record(place_of("fake:1"), NULL, 0, &again));
    assert_int_equal(again, length);
    assert_ok(bp_device_record(place_of("fake:1"), small, sizeof small, NULL));
    assert_int_equal(strlen(small), sizeof small - 1);
    assert_memory_equal(small, text, sizeof small - 1);
    assert_non_null(strstr(text, "\"can\": ["));

    assert_ok(bp_device_load(text, &place));
    assert_ok(bp_device_load(text, &second));
    assert_int_equal(place, kDLVulkan << 16 | 32768);
    assert_int_equal(second, place + 1);
    const bp_device_info *facts = bp__device_facts(place);
    bp_device_info original = {.struct_size = sizeof original};
    assert_ok(bp_device_describe(place_of("fake:1"), &original));
    assert_int_equal(facts->state, BP_DEVICE_RECORDED);
    assert_string_equal(facts->runtime, "fake");
#define X(kind, name) SAME_##kind(name);
#define SAME_TEXT(name) assert_string_equal(facts->name, original.name)
#define SAME_U32(name) assert_int_equal(facts->name, original.name)
#define SAME_U64(name) assert_true(facts->name == original.name)
    BP__DEVICE_FACT_MAP(X)
#undef X
    assert_int_equal(place_of(facts->id), place);
    assert_fails(bp__device_check(place), BP_E_DEVICE, "description");
    assert_fails(bp_queue_new(&(bp_queue *){NULL}, place, 0), BP_E_DEVICE, "description");
    char *twice = calloc(1, 16384);
    assert_ok(bp_device_record(place, twice, 16384, NULL));
    assert_non_null(strstr(twice, "No vendor"));
    bp_device_info info = {.struct_size = sizeof info};
    int count = 0;
    for (int i = 0; bp_device_at(i, &info); i++) {
        count += info.state == BP_DEVICE_RECORDED;
    }
    assert_int_equal(count, 2);
    for (int i = 2; i < 256; i++) {
        assert_ok(bp_device_load(text, &place));
    }
    assert_fails(bp_device_load(text, &place), BP_E_BUSY, "256");
    free(text);
    free(twice);
}

static void refuse(const char *json, const char *problem) {
    int32_t place = -7;
    assert_fails(bp_device_load(json, &place), BP_E_FORMAT, problem);
    assert_int_equal(place, -7);
}

static void test_wrong_descriptions(void **state) {
    (void)state;
    int32_t place;
    refuse("", "line 1, column 1: expected '{'");
    refuse("{", "expected a string");
    refuse("{}", "\"format\" is missing");
    refuse("{\"format\": \"backplane-device 2\"}", "\"format\" is not");
    refuse("{\"format\": \"backplane-device 1\"}", "\"type\" or \"runtime\" is missing");
    refuse("{\"format\": \"backplane-device 1\", \"type\": 4}", "\"type\" or \"runtime\" is missing");
    refuse("{\"format\": \"backplane-device 1\", \"runtime\": \"x\"}", "\"type\" or \"runtime\" is missing");
    refuse("{\"format\": \"backplane-device 1\", \"type\": 1, \"runtime\": \"x\"}", "no type");
    refuse("{\"format\": \"backplane-device 1\", \"type\": 4000000000000000000000}", "too large");
    refuse("{\"format\": \"backplane-device 1\",\n \"units\": 4294967296}", "line 2");
    refuse("{\"format\": \"backplane-device 1\", \"units\": -4}", "not negative");
    refuse("{\"format\": \"backplane-device 1\", \"units\": 4.5}", "whole number");
    refuse("{\"format\": \"backplane-device 1\", \"name\": \"abc", "ends in a string");
    refuse("{\"format\": \"backplane-device 1\", \"name\": \"\\q\"}", "unknown escape");
    refuse("{\"format\": \"backplane-device 1\", \"name\": \"\\ud800x\"}", "surrogate");
    refuse("{\"format\": \"backplane-device 1\", \"name\": \"\\u0000\"}", "character 0");
    refuse("{\"format\": \"backplane-device 1\", \"name\": \"a\nb\"}", "control character");
    refuse("{\"format\": \"backplane-device 1\", \"can\": [\"f64\", ]}", "expected a string");
    refuse("{\"format\": \"backplane-device 1\", \"can\": [\"f64\" \"f16\"]}", "expected ',' or ']'");
    refuse("{\"format\": \"backplane-device 1\" \"units\": 4}", "expected ',' or '}'");
    refuse("{\"format\": \"backplane-device 1\",}", "expected a string");
    refuse("{\"format\": \"backplane-device 1\", \"later\": [1, {\"a\": tru}]}", "expected a value");
    refuse("{\"format\": \"backplane-device 1\", \"type\": 4, \"runtime\": \"x\"} x", "more text");
    char deep[400] = "{\"format\": \"backplane-device 1\", \"later\": ";
    memset(deep + strlen(deep), '[', 200);
    refuse(deep, "nested too deeply");
    assert_ok(bp_device_load("{\"later\": [1, -2.5e3, null, {\"a\": [true, false, \"\\\"]}\"]}], \"runtime\": \"x\", "
                             "\"format\": \"backplane-device 1\", \"name\": \"\\u00e9\\ud83d\\ude00\\n\", \"type\": 4}",
                             &place));
    assert_string_equal(bp__device_facts(place)->name, "\xC3\xA9\xF0\x9F\x98\x80\n");
    assert_fails(bp_device_load(NULL, &place), BP_E_ARGUMENT, "'json' is NULL");
    assert_fails(bp_device_load("{}", NULL), BP_E_ARGUMENT, "'place' is NULL");
    assert_fails(bp_device_record(place, NULL, 5, NULL), BP_E_ARGUMENT, "'buffer' is NULL");
    assert_fails(bp_device_record(-3, NULL, 0, NULL), BP_E_NOT_FOUND, "no device");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, behave_again)
    const struct CMUnitTest tests[] = {
        TEST(test_host_comes_first_and_opens_nothing),
        TEST(test_devices_are_listed_with_their_facts),
        TEST(test_find),
        TEST(test_places_are_computed),
        TEST(test_bad_arguments),
        TEST(test_runtimes_that_do_not_open),
        TEST(test_a_driver_that_prints),
        TEST(test_opening_fails_here),
        TEST(test_devices_that_change),
        TEST(test_excluded_devices),
        TEST(test_a_recorded_device_of_cuda),
        TEST(test_a_module_that_breaks_a_rule),
        TEST(test_results_are_kept),
        TEST(test_hostile_reports),
        TEST(test_facts_that_a_device_lacks),
        TEST(test_record_and_load),
        TEST(test_wrong_descriptions),
    };
    return cmocka_run_group_tests(tests, start_devices, stop_devices);
}
