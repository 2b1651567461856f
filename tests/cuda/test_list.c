/* test_list.c - what the list of devices says about CUDA: facts, and the reasons why there is no device. */
#include "cuda/support_cuda.h"

#include "support/child.h"

#include <elf.h>
#include <sys/stat.h>

static bp_device_info entry_of_cuda(void) {
    bp_device_info info = {.struct_size = sizeof info};
    for (int i = 0; bp_device_at(i, &info); i++) {
        if (strcmp(info.runtime, "cuda") == 0) {
            return info;
        }
    }
    fail_msg("the list has no entry of cuda");
    return info;
}

/* The entry has no device, and says why. */
static void expect_reason(bp_device_state state, const char *reason) {
    assert_ok(bp_reset());
    const bp_device_info info = entry_of_cuda();
    assert_int_equal(info.index, -1);
    assert_string_equal(bp_device_state_name(info.state), bp_device_state_name(state));
    if (!strstr(info.reason, reason)) {
        fail_msg("'%s' is not in '%s'", reason, info.reason);
    }
    int32_t place;
    assert_fails(bp_device_find("cuda:0", &place), BP_E_NOT_FOUND, reason);
}

static void with_double(const char *configuration, bp_device_state state, const char *reason) {
    setenv("CUDA_DOUBLE", configuration, 1);
    expect_reason(state, reason);
    unsetenv("CUDA_DOUBLE");
    assert_ok(bp_reset());
}

static void facts_are_the_drivers(void **state) {
    (void)state;
    const bp_device_info info = entry_of_cuda();
    assert_string_equal(info.id, "cuda:0");
    assert_int_equal(info.type, kDLCUDA);
    assert_int_equal(info.index, 0);
    assert_int_equal(info.place, cuda_place(0));
    assert_string_equal(info.name, "Double of a GPU, number 0");
    assert_string_equal(info.vendor, "NVIDIA Corporation");
    assert_string_equal(info.driver, "13.0");
    assert_int_equal(info.driver_number, 13000);
    assert_string_equal(info.version, "capability 9.0");
    assert_string_equal(info.arch, "sm_90");
    assert_int_equal(info.capability, 900);
    assert_string_equal(info.uuid, "a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0");
    assert_int_equal(info.can, BP_DEVICE_CAN_F64 | BP_DEVICE_CAN_F16 | BP_DEVICE_CAN_TIME | BP_DEVICE_CAN_ATOMICS_64 |
                                   BP_DEVICE_HAS_ADDRESSES);
    assert_int_equal(info.units, 132);
    assert_int_equal(info.clock_mhz, 1980);
    assert_int_equal(info.group_items, 1024);
    assert_int_equal(info.subgroup, 32);
    assert_int_equal(info.alignment, 256);
    assert_int_equal(info.bandwidth_gb_s, 3352);
    assert_int_equal(info.memory, 64 << 20);
    assert_int_equal(info.local_memory, 49152);
    assert_int_equal(info.shared_optin, 232448);
    assert_int_equal(info.l2, 52428800);
    bp_device_info second = {.struct_size = sizeof second};
    assert_ok(bp_device_describe(cuda_place(1), &second));
    assert_string_equal(second.arch, "sm_80");
    assert_string_equal(second.name, "Double of a GPU, number 1");
}

static void a_description_can_be_recorded(void **state) {
    (void)state;
    char text[4096];
    int32_t place;
    assert_ok(bp_device_record(cuda_place(0), text, sizeof text, NULL));
    assert_non_null(strstr(text, "\"arch\": \"sm_90\""));
    assert_ok(bp_device_load(text, &place));
    bp_device_info info = {.struct_size = sizeof info};
    assert_ok(bp_device_describe(place, &info));
    assert_int_equal(info.capability, 900);
    assert_int_equal(info.state, BP_DEVICE_RECORDED);
    assert_ok(bp_reset());
}

/* The devices are numbered as the driver shows them, because DLPack's index is this number. */
static void visible_devices_are_the_drivers(void **state) {
    (void)state;
    setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
    assert_ok(bp_reset());
    bp_device_info info = entry_of_cuda();
    assert_string_equal(info.name, "Double of a GPU, number 1");
    assert_string_equal(info.arch, "sm_80");
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    assert_ok(bp_reset());
    assert_string_equal(entry_of_cuda().name, "Double of a GPU, number 1");
    assert_fails(bp_device_describe(cuda_place(1), &info), BP_E_NOT_FOUND, "place");
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    expect_reason(BP_DEVICE_NO_DEVICE, "the driver lists no device");
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    expect_reason(BP_DEVICE_NO_DEVICE, "the driver lists no device");
    unsetenv("CUDA_VISIBLE_DEVICES");
    assert_ok(bp_reset());
}

static void without_a_driver_there_is_a_reason(void **state) {
    (void)state;
    setenv("BACKPLANE_LIBRARY_PATH", "", 1);
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    expect_reason(BP_DEVICE_NO_LIBRARY, "libcuda.so.1 was not found");
    int64_t one = 1;
    DLManagedTensorVersioned *tensor = NULL;
    assert_fails(bp_tensor_empty_on(&tensor, cuda_place(0), BP_F32, 1, &one, NULL), BP_E_DEVICE, "libcuda.so.1");
    unsetenv("BACKPLANE_REGISTRY_SYSTEM");
    setenv("BACKPLANE_LIBRARY_PATH", DOUBLES "/good", 1);
    assert_ok(bp_reset());
}

static void a_driver_that_does_not_start_is_broken(void **state) {
    (void)state;
    with_double("init=100", BP_DEVICE_NO_DEVICE, "the driver lists no device");
    with_double("init=34", BP_DEVICE_BROKEN, "stub");
    with_double("query=34", BP_DEVICE_BROKEN, "stub");
    with_double("init=803", BP_DEVICE_BROKEN, "restart the machine");
    with_double("init=802", BP_DEVICE_BROKEN, "nvidia-fabricmanager");
    with_double("init=999", BP_DEVICE_BROKEN, "cuInit: CUDA_ERROR_UNKNOWN (999)");
    with_double("init=2", BP_DEVICE_BROKEN, "CUDA_ERROR_OUT_OF_MEMORY (2)");
    with_double("driver=10020", BP_DEVICE_BROKEN, "for CUDA 10.2; one for 11.4 or later is needed");
    setenv("BACKPLANE_LIBRARY_PATH", DOUBLES "/short", 1);
    expect_reason(BP_DEVICE_BROKEN, "has no function cuDeviceGetCount");
    setenv("BACKPLANE_LIBRARY_PATH", DOUBLES "/good", 1);
    assert_ok(bp_reset());
}

/* The processor that an ELF file is for, or 0. */
static uint16_t machine_of(const char *path) {
    FILE *file = fopen(path, "rb");
    Elf64_Ehdr header = {.e_machine = 0};
    if (file) {
        if (fread(&header, sizeof header, 1, file) != 1) {
            header.e_machine = 0;
        }
        fclose(file);
    }
    return header.e_machine;
}

/* Every call of the toolkit's own stub fails. */
static void the_stub_of_the_toolkit_is_named(void **state) {
    (void)state;
    static const char *const files[] = {"/usr/local/cuda/lib64/stubs/libcuda.so",
                                        "/usr/local/cuda/lib/stubs/libcuda.so"};
    const char *stub = access(files[0], R_OK) == 0 ? files[0] : files[1];
    char folder[] = "/tmp/backplane-stub-XXXXXX", name[64];
    if (access(stub, R_OK) != 0) {
        print_message("skipped: no stub of CUDA's toolkit is installed\n");
        skip();
    }
    if (machine_of(stub) !=
        machine_of("/proc/self/exe")) { /* the program is for another processor than this machine's */
        print_message("skipped: %s is for another processor than this program\n", stub);
        skip();
    }
    assert_non_null(mkdtemp(folder));
    snprintf(name, sizeof name, "%s/libcuda.so.1", folder);
    assert_int_equal(symlink(stub, name), 0);
    setenv("BACKPLANE_LIBRARY_PATH", folder, 1);
    expect_reason(BP_DEVICE_BROKEN, "is the stub of CUDA's toolkit");
    setenv("BACKPLANE_LIBRARY_PATH", DOUBLES "/good", 1);
    assert_ok(bp_reset());
    unlink(name);
    rmdir(folder);
}

static bool has_loaded(const char *name) {
    char text[4096];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(text, sizeof text, maps)) {
        found = found || strstr(text, name);
    }
    if (maps) {
        fclose(maps);
    }
    return found;
}

/* So a child of fork may use devices that its parent has only listed. */
static void listing_opens_no_driver(void **state) {
    (void)state;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "test_cuda_list", "--list-only", (char *)NULL);
        _exit(9);
    }
    assert_int_equal(test_end_of_child(child, "listing"), 0);
}

static int list_only(void) {
    bp_device_info info = {.struct_size = sizeof info};
    int found = 0;
    start_cuda(NULL);
    for (int i = 0; bp_device_at(i, &info); i++) {
        found += strcmp(info.runtime, "cuda") == 0 && info.state == BP_DEVICE_READY;
    }
    return found == 2 && !has_loaded("libcuda.so.1") ? 0 : 1;
}

int main(int count, char **words) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(facts_are_the_drivers, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(a_description_can_be_recorded, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(visible_devices_are_the_drivers, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(without_a_driver_there_is_a_reason, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(a_driver_that_does_not_start_is_broken, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(the_stub_of_the_toolkit_is_named, begin_cuda, end_cuda),
        cmocka_unit_test_setup_teardown(listing_opens_no_driver, begin_cuda, end_cuda),
    };
    if (count == 2 && strcmp(words[1], "--list-only") == 0) {
        return list_only();
    }
    return cmocka_run_group_tests_name("list", tests, start_cuda, stop_cuda);
}
