/* test_load.c - tests which provider modules are loaded, which are refused, and for which reasons. */
#include "backplane/attention.h"
#include "backplane/rnn.h"
#include "dispatch/internal.h"
#include "registry/modules.h"
#include "settings/internal.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define FAKES BP_TEST_BUILD_DIR "/tests/module-fakes"

static char root[64];

static int make_root(void **state) {
    (void)state;
    umask(022);
    snprintf(root, sizeof root, "/tmp/backplane-test-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
    (void)state;
    char command[128];
    unsetenv("BACKPLANE_PROVIDER_PATH");
    bp_reset();
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

static const char *place(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void make_folder(const char *name) {
    assert_int_equal(mkdir(place(name), 0755), 0);
}

/* Copies the module, so that the loader gets a separate file. */
static void copy_fake(const char *name, const char *to) {
    char command[1024];
    snprintf(command, sizeof command, "cp '" FAKES "/%s.so' '%s/%s'", name, root, to);
    assert_int_equal(system(command), 0);
}

static void search(const char *list) {
    setenv("BACKPLANE_PROVIDER_PATH", list, 1);
    bp_reset();
}

static const bp__module *find(const char *path_end) {
    const bp__module *modules;
    int count;
    assert_int_equal(bp__modules(&modules, &count), BP_OK);
    for (int i = 0; i < count; i++) {
        size_t length = strlen(modules[i].info.path);
        size_t end = strlen(path_end);
        if (length >= end && strcmp(modules[i].info.path + length - end, path_end) == 0) {
            return &modules[i];
        }
    }
    return NULL;
}

static void check_refused(const char *path_end, bp_status status, const char *reason) {
    const bp__module *module = find(path_end);
    assert_non_null(module);
    assert_null(module->provider);
    assert_int_equal(module->info.status, status);
    if (!strstr(module->info.reason, reason)) {
        fail_msg("'%s' does not say '%s'", module->info.reason, reason);
    }
}

static void test_a_good_module(void **state) {
    (void)state;
    make_folder("a");
    copy_fake("good", "a/any-file-name.so");
    copy_fake("good", "a/readme.txt");
    search(place("a"));
    const bp__module *module = find("/a/any-file-name.so");
    assert_non_null(module);
    assert_int_equal(module->info.status, BP_OK);
    assert_string_equal(module->info.name, "good");
    assert_string_equal(module->info.version, "1.2");
    assert_string_equal(module->info.description, "a fake provider");
    assert_string_equal(module->info.reason, "");
    assert_int_equal(module->info.struct_size, sizeof module->info);
    assert_string_equal(module->provider->name, "good");
    assert_null(find("readme.txt"));
    bp_reset(); /* and again, from the file that is already loaded */
    assert_non_null(find("/a/any-file-name.so")->provider);
}

/* Returns what an explanation says of the module "older", and releases it. */
static void find_older(bp_explanation *e, bp_candidate_info *found, char *text, size_t size) {
    *found = (bp_candidate_info){.struct_size = sizeof *found};
    for (int i = 0; bp_explanation_at(e, i, found) && strcmp(found->provider, "older") != 0; i++) {
    }
    assert_string_equal(found->provider, "older");
    snprintf(text, size, "%s", found->text);
    bp_explanation_release(e);
}

/* Explains attention with these limits. */
static void explain_older(const bp_attention_call *limits, bp_candidate_info *found, char *text, size_t size) {
    static const int64_t shape[] = {4, 8}, more[] = {6, 8};
    bp_view query, key, output;
    bp_explanation *e = NULL;
    bp_attention_call call = *limits;
    assert_int_equal(bp_view_init(&query, NULL, BP_F32, 2, shape, NULL), BP_OK);
    assert_int_equal(bp_view_init(&key, NULL, BP_F32, 2, more, NULL), BP_OK);
    assert_int_equal(bp_view_init(&output, NULL, BP_F32, 2, shape, NULL), BP_OK);
    call.struct_size = sizeof call;
    call.query = &query.tensor;
    call.key = call.value = &key.tensor;
    call.output = &output.tensor;
    assert_int_equal(bp_attention_explain(&e, NULL, &call), BP_OK);
    find_older(e, found, text, size);
}

/* Explains a GRU. */
static void explain_older_gru(int reset_before, bp_candidate_info *found, char *text, size_t size) {
    enum { UNITS = 4 };
    static const int64_t rows[] = {2, 1, UNITS}, weights[] = {3 * UNITS, UNITS};
    bp_view input, weight, output;
    bp_explanation *e = NULL;
    bp_rnn_call call = {.struct_size = sizeof call, .mode = BP_RNN_GRU, .reset_before = reset_before};
    assert_int_equal(bp_view_init(&input, NULL, BP_F32, 3, rows, NULL), BP_OK);
    assert_int_equal(bp_view_init(&weight, NULL, BP_F32, 2, weights, NULL), BP_OK);
    assert_int_equal(bp_view_init(&output, NULL, BP_F32, 3, rows, NULL), BP_OK);
    call.input = &input.tensor;
    call.weight_ih = call.weight_hh = &weight.tensor;
    call.output = &output.tensor;
    assert_int_equal(bp_rnn_explain(&e, NULL, &call), BP_OK);
    find_older(e, found, text, size);
}

/* A module that was built before attention had a softcap, and GRUs another formula, would compute something else. */
static void test_an_older_module_gets_no_newer_fields(void **state) {
    static const bp_attention_call known[] = {{.is_causal = 1}, {.is_causal = 0}},
                                   newer[] = {{.softcap = 2},
                                              {.has_window = 1, .window_left = 1, .window_right = 1},
                                              {.has_window = 1, .window_left = -1, .window_right = 1},
                                              {.is_causal = 1, .lower_right = 1}};
    bp_candidate_info found;
    char text[256];
    (void)state;
    make_folder("older");
    copy_fake("older-minor", "older/old.so");
    search(place("older"));
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        explain_older(&known[i], &found, text, sizeof text);
        assert_true(found.accepted);
    }
    for (size_t i = 0; i < sizeof newer / sizeof newer[0]; i++) {
        explain_older(&newer[i], &found, text, sizeof text);
        assert_false(found.accepted);
        assert_non_null(strstr(text, "was built for an older interface"));
    }
    explain_older_gru(0, &found, text, sizeof text);
    assert_true(found.accepted);
    explain_older_gru(1, &found, text, sizeof text);
    assert_false(found.accepted);
    assert_non_null(strstr(text, "was built for an older interface"));
}

static void test_success_keeps_the_last_error(void **state) {
    (void)state;
    make_folder("a");
    copy_fake("no-entry", "a/bad.so");
    search(place("a"));
    bp__fail(BP_E_INTERNAL, "untouched");
    assert_non_null(find("bad.so"));
    assert_string_equal(bp_last_error(), "untouched");
}

static void test_interface_numbers(void **state) {
    (void)state;
    char ours[16], other[16], newer[16];
    snprintf(ours, sizeof ours, "%u.%u", BP_PROVIDER_ABI_MAJOR, BP_PROVIDER_ABI_MINOR);
    snprintf(other, sizeof other, "%u.0", BP_PROVIDER_ABI_MAJOR + 1);
    snprintf(newer, sizeof newer, "%u.%u", BP_PROVIDER_ABI_MAJOR, BP_PROVIDER_ABI_MINOR + 1);
    make_folder("a");
    copy_fake("other-major", "a/other-major.so");
    copy_fake("newer-minor", "a/newer-minor.so");
    copy_fake("small", "a/small.so");
    search(place("a"));
    check_refused("other-major.so", BP_E_ABI, other);
    check_refused("other-major.so", BP_E_ABI, ours);
    check_refused("newer-minor.so", BP_E_ABI, newer);
    check_refused("newer-minor.so", BP_E_ABI, ours);
    check_refused("small.so", BP_E_ABI, "struct_size is 16");
    assert_string_equal(find("small.so")->info.name, "small"); /* of the file, because the module has none */
}

static bp_status some_open(const bp_host *host, const bp_library_info *library, void **instance) {
    (void)host;
    (void)library;
    (void)instance;
    return BP_OK;
}

static void some_close(void *instance) {
    (void)instance;
}

static void some_accept(void *instance, const bp_problem *problem, bp_offers *offers) {
    (void)instance, (void)problem, (void)offers;
}

static bp_status some_plan(void *instance, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                           bp_prepared **prepared) {
    (void)instance, (void)problem, (void)verdict, (void)found, (void)prepared;
    return BP_OK;
}

/* Checks the rules against future releases. */
static void test_interface_rules(void **state) {
    (void)state;
    const bp_provider good = {.abi = 3u << 16 | 4u,
                              .struct_size = sizeof good,
                              .name = "n-1",
                              .version = "1",
                              .description = "",
                              .open = some_open,
                              .close = some_close,
                              .accept = some_accept,
                              .plan = some_plan};
    bp_provider provider = good;
    assert_int_equal(bp__provider_check(&provider, 3u << 16 | 4u), BP_OK);
    assert_int_equal(bp__provider_check(&provider, 3u << 16 | 9u), BP_OK); /* an older minor version is accepted */
    assert_int_equal(bp__provider_check(&provider, 3u << 16 | 3u), BP_E_ABI);
    assert_non_null(strstr(bp_last_error(), "3.4"));
    assert_non_null(strstr(bp_last_error(), "3.3"));
    assert_int_equal(bp__provider_check(&provider, 4u << 16 | 4u), BP_E_ABI);
    assert_int_equal(bp__provider_check(&provider, 2u << 16 | 4u), BP_E_ABI);
    provider.struct_size++;
    assert_int_equal(bp__provider_check(&provider, provider.abi), BP_OK);
    provider.struct_size = offsetof(bp_provider, expand) + sizeof provider.expand; /* of interface 3.0 */
    assert_int_equal(bp__provider_check(&provider, provider.abi), BP_OK);
    provider.struct_size--;
    assert_int_equal(bp__provider_check(&provider, provider.abi), BP_E_ABI);
    for (int slot = 0; slot < 7; slot++) {
        provider = good;
        const char *names[] = {"name", "version", "description", "open", "close", "accept", "plan"};
        provider.name = slot == 0 ? NULL : good.name;
        provider.version = slot == 1 ? NULL : good.version;
        provider.description = slot == 2 ? NULL : good.description;
        provider.open = slot == 3 ? NULL : good.open;
        provider.close = slot == 4 ? NULL : good.close;
        provider.accept = slot == 5 ? NULL : good.accept;
        provider.plan = slot == 6 ? NULL : good.plan;
        assert_int_equal(bp__provider_check(&provider, provider.abi), BP_E_SYMBOL);
        assert_non_null(strstr(bp_last_error(), names[slot]));
    }
    char longest[65];
    memset(longest, 'n', sizeof longest - 1);
    longest[64] = '\0';
    const char *bad_names[] = {"", "a b", "a_b", "caf\xc3\xa9", "../x", longest};
    for (int i = 0; i < BP__COUNT(bad_names); i++) {
        provider = good;
        provider.name = bad_names[i];
        assert_int_equal(bp__provider_check(&provider, provider.abi), BP_E_ABI);
    }
    provider.name = longest + 1;
    assert_int_equal(bp__provider_check(&provider, provider.abi), BP_OK);
}

static void test_incomplete_modules(void **state) {
    (void)state;
    make_folder("a");
    copy_fake("no-entry", "a/no-entry.so");
    copy_fake("no-plan", "a/no-plan.so");
    copy_fake("odd-name", "a/odd-name.so");
    FILE *file = fopen(place("a/text.so"), "w");
    assert_non_null(file);
    fputs("no library at all\n", file);
    fclose(file);
    make_folder("a/folder.so");
    search(place("a"));
    check_refused("no-entry.so", BP_E_SYMBOL, "bp_provider_entry");
    check_refused("no-plan.so", BP_E_SYMBOL, "'plan'");
    check_refused("odd-name.so", BP_E_ABI, "odd name");
    check_refused("text.so", BP_E_LOAD, "text.so");
    check_refused("folder.so", BP_E_LOAD, "folder.so");
}

/* One module with several providers: each is accepted or refused separately. */
static void test_a_module_of_several(void **state) {
    (void)state;
    make_folder("a");
    copy_fake("several", "a/several.so");
    copy_fake("empty", "a/without.so");
    search(place("a"));
    check_refused("without.so", BP_E_SYMBOL, "bp_provider_entries");
    const bp__module *modules;
    int count, at = 0;
    assert_int_equal(bp__modules(&modules, &count), BP_OK);
    const char *names[] = {"first", "several", "second", "several"}; /* the file's name if the provider has none */
    const char *reasons[] = {"", "newer than", "", "used by"};
    for (int i = 0; i < count; i++) {
        if (strstr(modules[i].info.path, "/a/several.so")) {
            assert_true(at < 4);
            assert_string_equal(modules[i].info.name, names[at]);
            assert_non_null(strstr(modules[i].info.reason, reasons[at]));
            assert_int_equal(modules[i].provider == NULL, *reasons[at] != '\0');
            at++;
        }
    }
    assert_int_equal(at, 4);
}

static void test_untrusted_files_are_not_opened(void **state) {
    (void)state;
    make_folder("a");
    make_folder("b");
    copy_fake("good", "a/writable.so");
    copy_fake("good", "b/good.so");
    assert_int_equal(chmod(place("a/writable.so"), 0666), 0);
    assert_int_equal(chmod(place("b"), 0777), 0);
    char list[256];
    snprintf(list, sizeof list, "%s/a:%s/b", root, root);
    search(list);
    check_refused("a/writable.so", BP_E_UNTRUSTED, "everyone");
    check_refused("b/good.so", BP_E_UNTRUSTED, "everyone");
    assert_null(dlopen(place("a/writable.so"), RTLD_LAZY | RTLD_NOLOAD));
    assert_null(dlopen(place("b/good.so"), RTLD_LAZY | RTLD_NOLOAD));
}

static void test_files_of_others_are_not_opened(void **state) {
    (void)state;
    if (geteuid() != 0) {
        print_message("only root can make a file that belongs to someone else\n");
        skip();
    }
    make_folder("a");
    copy_fake("good", "a/foreign.so");
    assert_int_equal(chown(place("a/foreign.so"), 12345, 12345), 0);
    search(place("a"));
    check_refused("foreign.so", BP_E_UNTRUSTED, "12345");
    assert_null(dlopen(place("a/foreign.so"), RTLD_LAZY | RTLD_NOLOAD));
}

static void test_first_of_a_name_wins(void **state) {
    (void)state;
    make_folder("a");
    make_folder("b");
    copy_fake("good", "b/0.so");
    copy_fake("good", "a/2.so");
    copy_fake("good", "a/1.so");
    char list[256];
    snprintf(list, sizeof list, "%s/a:%s/b::%s/a/", root, root, root);
    search(list);
    assert_non_null(find("a/1.so")->provider);
    check_refused("a/2.so", BP_E_LOAD, "a/1.so");
    check_refused("b/0.so", BP_E_LOAD, "'good'");
    const bp__module *modules;
    int count, in_a = 0;
    assert_int_equal(bp__modules(&modules, &count), BP_OK);
    for (int i = 0; i < count; i++) {
        in_a += strstr(modules[i].info.path, "/a/") != NULL;
    }
    assert_int_equal(in_a, 2); /* a folder that is named twice is read once */
}

static void test_folders_that_cannot_be_read(void **state) {
    (void)state;
    char list[256];
    snprintf(list, sizeof list, "relative:%s/missing", root);
    search(list);
    check_refused("relative", BP_E_UNTRUSTED, "absolute");
    check_refused("/missing", BP_E_NOT_FOUND, "No such file");
}

static int allowed;

static void *few(void *user, size_t size) {
    (void)user;
    return allowed-- > 0 ? malloc(size) : NULL;
}

static void *few_again(void *user, void *old, size_t size) {
    (void)user;
    return allowed-- > 0 ? realloc(old, size) : NULL;
}

static void release(void *user, void *block) {
    (void)user;
    free(block);
}

static void test_without_memory(void **state) {
    (void)state;
    make_folder("a");
    copy_fake("good", "a/good.so");
    copy_fake("no-entry", "a/no-entry.so");
    search(place("a"));
    assert_int_equal(bp_set_allocator(&(bp_allocator){few, few_again, release, NULL}), BP_OK);
    bool done = false;
    for (int n = 0; n < 300 && !done; n++) {
        const bp__module *modules;
        int count;
        allowed = n;
        bp_status status = bp__modules(&modules, &count);
        done = status == BP_OK && find("a/good.so") && find("a/good.so")->provider;
        assert_true(status == BP_OK || (status == BP_E_NO_MEMORY && count == 0));
        allowed = INT_MAX;
        bp_reset();
        assert_int_equal(bp__live_blocks(), 0);
    }
    assert_true(done);
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
}

static void *ask(void *result) {
    const bp__module *modules;
    bp_machine_info machine = {.struct_size = sizeof machine};
    bp_loaded_object object = {.struct_size = sizeof object};
    int *count = result;
    bool fine = bp__modules(&modules, count) == BP_OK && bp_machine(&machine) == BP_OK;
    bp_loaded_object_at(0, &object);
    return fine && machine.usable_cpus > 0 && *bp_cpu_capability() ? result : NULL;
}

static void test_many_threads_load_at_once(void **state) {
    (void)state;
    enum { THREADS = 6 };
    pthread_t threads[THREADS];
    int counts[THREADS];
    make_folder("a");
    copy_fake("good", "a/good.so");
    search(place("a"));
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &counts[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *fine;
        assert_int_equal(pthread_join(threads[i], &fine), 0);
        assert_non_null(fine);
        assert_int_equal(counts[i], counts[0]);
    }
}

static void test_installed_folder(void **state) {
    (void)state;
    search("");
    if (access(BP_TEST_BUILD_DIR "/backplane-providers/blas.so", F_OK) != 0) {
        print_message("the blas provider is built in, so no module is next to the library\n");
        skip();
    }
    const bp__module *module = find("/backplane-providers/blas.so");
    assert_non_null(module);
    assert_string_equal(module->info.reason, "");
    assert_string_equal(module->info.name, "blas");
}

#define ON_FILES(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_FILES(test_a_good_module),
        ON_FILES(test_an_older_module_gets_no_newer_fields),
        ON_FILES(test_success_keeps_the_last_error),
        ON_FILES(test_interface_numbers),
        cmocka_unit_test(test_interface_rules),
        ON_FILES(test_incomplete_modules),
        ON_FILES(test_a_module_of_several),
        ON_FILES(test_untrusted_files_are_not_opened),
        ON_FILES(test_files_of_others_are_not_opened),
        ON_FILES(test_first_of_a_name_wins),
        ON_FILES(test_folders_that_cannot_be_read),
        ON_FILES(test_without_memory),
        ON_FILES(test_many_threads_load_at_once),
        ON_FILES(test_installed_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
