/* test_blobs.c - tests files of bytes: they come back, wrong files count as absent, limits, settings, trust. */
#define _GNU_SOURCE
#include "base/support_base.h"

#include "settings/private.h"
#include "store/blob.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[64];

static int setup(void **state) {
    (void)state;
    umask(022);
    make_folder(folder);
    setenv("BACKPLANE_CACHE_DIR", folder, 1);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    remove_folder(folder);
    bp__settings_reset();
    assert_all_freed();
    return 0;
}

static void put(const char *key, const char *bytes) {
    bp__blob_remember("kernels", key, strlen(key), bytes, strlen(bytes));
}

static void assert_bytes(const char *key, const char *expected) {
    size_t size = 77;
    char *bytes = bp__blob_recall("kernels", key, strlen(key), &size);
    if (expected) {
        assert_non_null(bytes);
        assert_int_equal(size, strlen(expected));
        assert_memory_equal(bytes, expected, size);
    } else {
        assert_null(bytes);
        assert_int_equal(size, 0);
    }
    bp__free_aligned(bytes);
}

/* Calls `visit` for each file of the kind. Returns their number. */
static int each_file(void (*visit)(const char *path)) {
    char name[512];
    int count = 0;
    snprintf(name, sizeof name, "%s/kernels", folder);
    DIR *entries = opendir(name);
    for (const struct dirent *one; entries && (one = readdir(entries)) != NULL;) {
        if (one->d_name[0] != '.') {
            snprintf(name, sizeof name, "%s/kernels/%s", folder, one->d_name);
            count++;
            if (visit) {
                visit(name);
            }
        }
    }
    if (entries) {
        closedir(entries);
    }
    return count;
}

/* ---- Values ---- */

static void test_round_trip(void **state) {
    (void)state;
    assert_bytes("a", NULL);
    put("a", "first");
    put("b", "");
    assert_bytes("a", "first");
    assert_bytes("b", "");
    assert_bytes("c", NULL);
    put("a", "second, longer");
    assert_bytes("a", "second, longer");
    assert_int_equal(each_file(NULL), 2);
    size_t size;
    assert_null(bp__blob_recall("others", "a", 1, &size));
}

static void test_zeros_and_large(void **state) {
    (void)state;
    static unsigned char key[20000], bytes[3 << 20];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i % 251 * (i % 3));
        key[i % sizeof key] = (unsigned char)(i % 7);
    }
    size_t size;
    bp__blob_remember("kernels", key, sizeof key, bytes, sizeof bytes);
    void *back = bp__blob_recall("kernels", key, sizeof key, &size);
    assert_non_null(back);
    assert_int_equal(size, sizeof bytes);
    assert_memory_equal(back, bytes, size);
    bp__free_aligned(back);
    assert_null(bp__blob_recall("kernels", key, sizeof key - 1, &size));
}

static void test_wrong_kinds(void **state) {
    (void)state;
    const char *kinds[] = {"", "../up", "a/b", ".", "UPPER"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t size;
        bp__blob_remember(kinds[i], "k", 1, "v", 1);
        assert_null(bp__blob_recall(kinds[i], "k", 1, &size));
    }
}

/* ---- Wrong files ---- */

static long flip_at;
static void flip(const char *path) {
    int file = open(path, O_RDWR);
    char byte;
    assert_int_equal(pread(file, &byte, 1, flip_at), 1);
    byte = (char)(byte ^ 0x10);
    assert_int_equal(pwrite(file, &byte, 1, flip_at), 1);
    close(file);
}

static long length;
static void measure(const char *path) {
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    length = facts.st_size;
}

static void cut(const char *path) {
    assert_int_equal(truncate(path, flip_at), 0);
}

/* Each single byte, and each length. */
static void test_damage(void **state) {
    (void)state;
    put("the key", "the bytes");
    each_file(measure);
    for (flip_at = 0; flip_at < length; flip_at++) {
        each_file(flip);
        assert_bytes("the key", NULL);
        each_file(flip);
    }
    assert_bytes("the key", "the bytes");
    for (flip_at = length - 1; flip_at >= 0; flip_at--) {
        each_file(cut);
        assert_bytes("the key", NULL);
    }
    put("the key", "new bytes");
    assert_bytes("the key", "new bytes");
}

static char first_path[512];
static void note_path(const char *path) {
    snprintf(first_path, sizeof first_path, "%s", path);
}

/* The file of another key with the same name, as if their hashes were equal. */
static void test_other_key(void **state) {
    (void)state;
    char kept[512];
    put("one", "its bytes");
    each_file(note_path);
    snprintf(kept, sizeof kept, "%s/kept", folder);
    assert_int_equal(rename(first_path, kept), 0);
    put("two", "others");
    each_file(note_path);
    assert_int_equal(rename(kept, first_path), 0);
    assert_bytes("two", NULL);
}

/* ---- Settings, trust, limits ---- */

static void use(const char *cache) {
    if (cache) {
        setenv("BACKPLANE_REGISTRY_CACHE", cache, 1);
    } else {
        unsetenv("BACKPLANE_REGISTRY_CACHE");
    }
    bp__settings_reset();
}

static void test_settings(void **state) {
    (void)state;
    put("a", "kept");
    use("read-only");
    put("b", "not kept");
    assert_bytes("a", "kept");
    assert_bytes("b", NULL);
    use("off");
    assert_bytes("a", NULL);
    put("b", "not kept");
    use(NULL);
    assert_bytes("b", NULL);
    assert_bytes("a", "kept");
}

static void open_to_all(const char *path) {
    assert_int_equal(chmod(path, 0666), 0);
}

static void test_trust(void **state) {
    (void)state;
    char path[128];
    put("a", "kept");
    each_file(open_to_all);
    assert_bytes("a", NULL);
    put("b", "kept");
    assert_bytes("b", "kept");
    snprintf(path, sizeof path, "%s/kernels", folder);
    assert_int_equal(chmod(path, 0777), 0);
    assert_bytes("b", NULL);
    int files = each_file(NULL);
    put("c", "not written");
    assert_int_equal(each_file(NULL), files);
}

static uint64_t total;
static void add_up(const char *path) {
    measure(path);
    total += (uint64_t)length;
}

static void test_limit(void **state) {
    (void)state;
    static char bytes[1000];
    const uint64_t most = 10 * 1100;
    for (int i = 0; i < 30; i++) {
        bp__blob_remember_within(most, "kernels", &i, sizeof i, bytes, sizeof bytes);
        total = 0;
        each_file(add_up);
        assert_true(total <= most);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); /* times of files are coarse */
    }
    for (int i = 0; i < 30; i++) { /* the last ones are kept */
        size_t size;
        void *found = bp__blob_recall("kernels", &i, sizeof i, &size);
        assert_int_equal(found != NULL, i >= 20);
        bp__free_aligned(found);
    }
    int big = 1;
    bp__blob_remember_within(900, "kernels", &big, sizeof big, bytes, sizeof bytes); /* too large by itself */
    assert_int_equal(each_file(NULL), 10);
}

/* A file that cannot be written leaves nothing behind, and no error. */
static void test_full_disk(void **state) {
    (void)state;
    static char bytes[100000];
    struct rlimit before, small = {.rlim_cur = 5000};
    bp_status last = bp_last_status();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bp__blob_remember("kernels", "key", 3, bytes, sizeof bytes);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    size_t size;
    assert_null(bp__blob_recall("kernels", "key", 3, &size));
    assert_int_equal(each_file(NULL), 0);
    assert_int_equal(bp_last_status(), last);
}

static void test_no_folder(void **state) {
    (void)state;
    setenv("BACKPLANE_CACHE_DIR", "/proc/none/of/this", 1);
    bp__settings_reset();
    put("a", "not kept");
    assert_bytes("a", NULL);
    setenv("BACKPLANE_CACHE_DIR", folder, 1);
}

static void test_no_memory(void **state) {
    (void)state;
    bool written = false;
    for (int n = 0; !written; n++) {
        size_t size;
        assert_true(n < 200);
        failing_allocator(n);
        put("a", "bytes");
        char *bytes = bp__blob_recall("kernels", "a", 1, &size);
        assert_true(!bytes || (size == 5 && memcmp(bytes, "bytes", 5) == 0));
        written = bytes != NULL;
        bp__free_aligned(bytes);
        bp__settings_reset();
        bp__intern_reset();
        bp__error_reset();
        bp__warning_reset();
        calm_allocator();
    }
}

/* ---- Threads ---- */

static void *work(void *opaque) {
    (void)opaque;
    for (int i = 0; i < 100; i++) {
        char key[16], bytes[64];
        size_t size;
        snprintf(key, sizeof key, "key %d", i % 10);
        snprintf(bytes, sizeof bytes, "the bytes of %s", key);
        put(key, bytes);
        char *back = bp__blob_recall("kernels", key, strlen(key), &size);
        if (!back || size != strlen(bytes) || memcmp(back, bytes, size) != 0) {
            return "wrong";
        }
        bp__free_aligned(back);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, work, NULL);
    }
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
    assert_int_equal(each_file(NULL), 10);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip), TEST(test_zeros_and_large), TEST(test_wrong_kinds), TEST(test_damage),
        TEST(test_other_key),  TEST(test_settings),        TEST(test_trust),       TEST(test_limit),
        TEST(test_full_disk),  TEST(test_no_folder),       TEST(test_no_memory),   TEST(test_threads),
    };
    return cmocka_run_group_tests_name("blobs", tests, NULL, NULL);
}
