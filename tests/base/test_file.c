/* test_file.c - whole files in and out, and which files are trusted. */
#include "base/support_base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path[512];

static const char *in_folder(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int setup(void **state) {
    (void)state;
    umask(022);
    make_folder(folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    remove_folder(folder);
    assert_all_given_back();
    return 0;
}

static void assert_content(const char *file, const char *expected) {
    char *bytes;
    size_t size;
    assert_int_equal(bp__file_read(file, 1 << 20, &bytes, &size), BP_OK);
    assert_int_equal(size, strlen(expected));
    assert_string_equal(bytes, expected);
    bp__free(bytes);
}

static void files_are_replaced_whole(void **state) {
    (void)state;
    char deep[512];
    strcpy(deep, in_folder("a/b/c.txt"));
    assert_int_equal(bp__file_replace(deep, "one", 3), BP_OK);
    assert_content(deep, "one");
    struct stat facts;
    assert_int_equal(stat(in_folder("a"), &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
    chmod(deep, 0600);
    assert_int_equal(bp__file_replace(deep, "", 0), BP_OK);
    assert_content(deep, "");
    assert_int_equal(stat(deep, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600); /* as it was */
    char link[512];
    strcpy(link, in_folder("link"));
    assert_int_equal(symlink("a/b/c.txt", link), 0);
    assert_int_equal(bp__file_replace(link, "two", 3), BP_OK);
    assert_content(deep, "two");
    assert_int_equal(lstat(link, &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));
    assert_int_equal(bp__file_replace(in_folder("a"), "x", 1), BP_E_IO); /* a folder */
    assert_int_equal(bp__file_replace(in_folder("a/b/c.txt/d"), "x", 1), BP_E_NOT_FOUND);
    assert_int_equal(bp__file_replace("", "x", 1), BP_E_IO);
    char names[256];
    snprintf(names, sizeof names, "test \"$(ls -A %s | wc -l) $(ls -A %s/a/b | wc -l)\" = '2 1'", folder, folder);
    assert_int_equal(system(names), 0); /* no temporary file stays */
}

static void reading_has_limits(void **state) {
    (void)state;
    char *bytes = (char *)1;
    size_t size = 1;
    assert_int_equal(bp__file_read(in_folder("none"), 10, &bytes, &size), BP_E_NOT_FOUND);
    assert_null(bytes);
    assert_contains(bp_last_error(), "none");
    assert_int_equal(bp__file_read(folder, 10, &bytes, &size), BP_E_IO);
    assert_int_equal(bp__file_replace(in_folder("ten"), "0123456789", 10), BP_OK);
    assert_int_equal(bp__file_read(path, 9, &bytes, &size), BP_E_OVERFLOW);
    assert_int_equal(bp__file_read(path, 10, &bytes, &size), BP_OK);
    assert_int_equal(size, 10);
    bp__free(bytes);
    assert_int_equal(bp__file_read(path, SIZE_MAX, &bytes, &size), BP_OK);
    bp__free(bytes);
    assert_int_equal(bp__file_read("/proc/thread-self/maps", 1 << 20, &bytes, &size), BP_OK); /* tells no size */
    assert_true(size > 100);
    bp__free(bytes);
    assert_int_equal(bp__file_read("/proc/thread-self/maps", 100, &bytes, &size), BP_E_OVERFLOW);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_int_equal(bp__file_read(path, 10, &bytes, &size), BP_E_IO); /* and does not wait */
    if (geteuid() != 0) {
        int file = open(in_folder("locked"), O_CREAT | O_WRONLY, 0);
        close(file);
        assert_int_equal(bp__file_read(path, 10, &bytes, &size), BP_E_IO);
    }
}

static void reading_without_memory(void **state) {
    (void)state;
    char *bytes;
    size_t size;
    for (int n = 0; n < 3; n++) {
        bp__error_reset();
        failing_allocator(n);
        assert_int_equal(bp__file_read("/proc/thread-self/maps", 1 << 20, &bytes, &size), BP_E_NO_MEMORY);
        assert_all_given_back();
        calm_allocator();
    }
}

static void assert_trust(bp_status expected, const char *file) {
    bp_status status = bp__file_trusted(file);
    if (status != expected) {
        fail_msg("%s: %s instead of %s (%s)", file, bp_status_name(status), bp_status_name(expected), bp_last_error());
    }
}

static void own_files_are_trusted(void **state) {
    (void)state;
    char file[512];
    assert_trust(BP_OK, "/");
    assert_trust(BP_E_NOT_FOUND, in_folder("d/file"));
    strcpy(file, in_folder("d/file"));
    assert_int_equal(bp__file_replace(file, "", 0), BP_OK);
    assert_trust(BP_OK, file);
    assert_trust(BP_OK, in_folder("d/../d/.//file"));
    assert_int_equal(chdir(folder), 0);
    assert_trust(BP_OK, "d/file");
    assert_trust(BP_OK, "./d/../d/file");
    assert_int_equal(chdir("/"), 0);
    chmod(file, 0664);
    assert_trust(BP_E_UNTRUSTED, file);
    assert_contains(bp_last_error(), "group");
    chmod(file, 0646);
    assert_trust(BP_E_UNTRUSTED, file);
    assert_contains(bp_last_error(), "everyone");
    chmod(file, 0644);
    chmod(in_folder("d"), 0777);
    assert_trust(BP_E_UNTRUSTED, file);
    chmod(in_folder("d"), 01777);
    assert_trust(BP_OK, file);
    chmod(in_folder("d"), 0755);
}

/* A link is judged by every folder on its way, not only by where it ends. */
static void links_are_followed(void **state) {
    (void)state;
    char file[512], open_folder[512];
    strcpy(file, in_folder("file"));
    assert_int_equal(bp__file_replace(file, "", 0), BP_OK);
    strcpy(open_folder, in_folder("open"));
    assert_int_equal(mkdir(open_folder, 0700), 0);
    assert_int_equal(symlink(file, in_folder("open/absolute")), 0);
    assert_trust(BP_OK, path);
    assert_int_equal(symlink("../file", in_folder("open/relative")), 0);
    assert_trust(BP_OK, path);
    assert_int_equal(symlink("open/relative", in_folder("chain")), 0);
    assert_trust(BP_OK, path);
    assert_int_equal(symlink("turn", in_folder("turn")), 0);
    assert_trust(BP_E_UNTRUSTED, path);
    assert_contains(bp_last_error(), "links");
    assert_int_equal(symlink("nowhere", in_folder("dangling")), 0);
    assert_trust(BP_E_NOT_FOUND, path);
    chmod(open_folder, 0777);
    assert_trust(BP_OK, file);
    assert_trust(BP_E_UNTRUSTED, in_folder("chain"));
}

static void foreign_files_are_not_trusted(void **state) {
    (void)state;
    char file[512];
    if (geteuid() != 0) {
        print_message("skipped: only root can give a file away\n");
        skip();
    }
    strcpy(file, in_folder("file"));
    assert_int_equal(bp__file_replace(file, "", 0), BP_OK);
    assert_int_equal(chown(file, 65534, (gid_t)-1), 0);
    assert_trust(BP_E_UNTRUSTED, file);
    assert_contains(bp_last_error(), "65534");
    assert_int_equal(chown(file, 0, (gid_t)-1), 0);
    assert_int_equal(chown(folder, 65534, (gid_t)-1), 0);
    assert_trust(BP_E_UNTRUSTED, file);
    assert_int_equal(chown(folder, 0, (gid_t)-1), 0);
}

static void long_paths_are_not_trusted(void **state) {
    (void)state;
    static char endless[9000];
    memset(endless, 'x', sizeof endless - 1);
    endless[0] = '/';
    assert_trust(BP_E_UNTRUSTED, endless);
    endless[300] = '\0';
    assert_trust(BP_E_UNTRUSTED, endless);
    for (int i = 0; i < 4500; i += 2) {
        memcpy(endless + i, "./", 3);
    }
    assert_trust(BP_E_UNTRUSTED, endless);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_are_replaced_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(reading_has_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(reading_without_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(own_files_are_trusted, setup, teardown),
        cmocka_unit_test_setup_teardown(links_are_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(foreign_files_are_not_trusted, setup, teardown),
        cmocka_unit_test_setup_teardown(long_paths_are_not_trusted, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
