/* support_base.c - see support_base.h. */
#include "base/support_base.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int left;

static bool may_allocate(void) {
    return left-- > 0;
}

static void *allocate(void *user, size_t size) {
    (void)user;
    assert_true(size > 0);
    return may_allocate() ? malloc(size) : NULL;
}

static void *reallocate(void *user, void *old, size_t size) {
    (void)user;
    assert_true(size > 0);
    return may_allocate() ? realloc(old, size) : NULL;
}

static void release(void *user, void *block) {
    (void)user;
    free(block);
}

void failing_allocator(int n) {
    const bp_allocator allocator = {allocate, reallocate, release, NULL};
    left = n;
    assert_int_equal(bp_set_allocator(&allocator), BP_OK);
}

void calm_allocator(void) {
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
}

void assert_all_freed(void) {
    bp__warning_reset();
    bp__intern_reset();
    bp__error_reset();
    assert_int_equal(bp__live_blocks(), 0);
}

void make_folder(char path[64]) {
    strcpy(path, "/tmp/backplane-test-XXXXXX");
    assert_non_null(mkdtemp(path));
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place) {
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

void remove_folder(const char *path) {
    assert_int_equal(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static bool write_text(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t length = (ssize_t)strlen(text);
    bool wrote = file >= 0 && write(file, text, (size_t)length) == length;
    if (file >= 0) {
        close(file);
    }
    return wrote;
}

bool enter_namespace(int more, uid_t user, gid_t group) {
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", user, geteuid());
    snprintf(groups, sizeof groups, "%u %u 1", group, getegid());
    prctl(PR_SET_DUMPABLE, 1); /* otherwise a process that has changed its user may not write its maps */
    return unshare(CLONE_NEWUSER | more) == 0 && write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/uid_map", users) && write_text("/proc/self/gid_map", groups);
}
