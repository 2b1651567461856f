/* test_file.c - tests reading and replacing of whole files, and which files are trusted. */
#define _GNU_SOURCE
#include "base/support_base.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
    assert_all_freed();
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
    assert_int_equal(bp__file_replace(deep, 0, "one", 3), BP_OK);
    assert_content(deep, "one");
    struct stat facts;
    assert_int_equal(stat(in_folder("a"), &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
    chmod(deep, 0600);
    assert_int_equal(bp__file_replace(deep, 0, "", 0), BP_OK);
    assert_content(deep, "");
    assert_int_equal(stat(deep, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600); /* unchanged */
    char link[512];
    strcpy(link, in_folder("link"));
    assert_int_equal(symlink("a/b/c.txt", link), 0);
    assert_int_equal(bp__file_replace(link, 0, "two", 3), BP_OK);
    assert_content(deep, "two");
    assert_int_equal(lstat(link, &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));
    assert_int_equal(bp__file_replace(in_folder("a"), 0, "x", 1), BP_E_IO); /* a folder */
    assert_int_equal(bp__file_replace(in_folder("a/b/c.txt/d"), 0, "x", 1), BP_E_NOT_FOUND);
    assert_int_equal(bp__file_replace("", 0, "x", 1), BP_E_IO);
    char names[256];
    snprintf(names, sizeof names, "test \"$(ls -A %s | wc -l) $(ls -A %s/a/b | wc -l)\" = '2 1'", folder, folder);
    assert_int_equal(system(names), 0); /* no temporary file is left */
}

static int files_in_folder(void) {
    int count = 0;
    DIR *all = opendir(folder);
    assert_non_null(all);
    for (struct dirent *each; (each = readdir(all));) {
        count += each->d_name[0] != '.';
    }
    closedir(all);
    return count;
}

/* The given directory must exist, for every caller: a home directory is never created. */
static void given_folders_are_not_made(void **state) {
    (void)state;
    char deep[512];
    strcpy(deep, in_folder("home/.cache/backplane/file"));
    size_t home = strlen(in_folder("home"));
    assert_int_equal(bp__file_replace(deep, home, "x", 1), BP_E_NOT_FOUND);
    assert_contains(bp_last_error(), "home does not exist");
    assert_int_equal(bp__file_make_folders(deep, home), BP_E_NOT_FOUND);
    assert_int_equal(files_in_folder(), 0);
    assert_int_equal(mkdir(in_folder("home"), 0700), 0);
    assert_int_equal(bp__file_replace(deep, home, "x", 1), BP_OK);
    assert_content(deep, "x");
    assert_int_equal(bp__file_replace(in_folder("other/x"), 0, "x", 1), BP_OK);
    int file = open(in_folder("plain"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    close(file);
    assert_int_equal(bp__file_replace(in_folder("plain/x"), strlen(folder) + 6, "x", 1), BP_E_NOT_FOUND);
}

static void user_folders(void **state) {
    (void)state;
    static const struct {
        const char *xdg, *home, *path;
        size_t given;
    } rows[] = {
        {"/a/b/c", "/home/u", "/a/b/c", 4},
        {"/a//", "/home/u", "/a", 0},
        {"/", "/home/u", "", 0},
        {NULL, "/home/u", "/home/u/.x", 7},
        {"a/b", "/u//", "/u/.x", 2},
        {NULL, "/", "/.x", 0},
        {NULL, "u", NULL, 0},
        {NULL, NULL, NULL, 0},
    };
    char home[512] = "", path_of[512];
    bp__copy_text(home, sizeof home, getenv("HOME") ? getenv("HOME") : "");
    for (int i = 0; i < BP__COUNT(rows); i++) {
        size_t given = 99;
        unsetenv("XDG_TEST_HOME");
        unsetenv("HOME");
        if (rows[i].xdg) {
            setenv("XDG_TEST_HOME", rows[i].xdg, 1);
        }
        if (rows[i].home) {
            setenv("HOME", rows[i].home, 1);
        }
        bool known = bp__user_folder("XDG_TEST_HOME", ".x", path_of, sizeof path_of, &given);
        assert_int_equal(known, rows[i].path != NULL);
        if (known) {
            assert_string_equal(path_of, rows[i].path);
            assert_int_equal(given, rows[i].given);
        }
    }
    unsetenv("XDG_TEST_HOME");
    setenv("HOME", home, 1);
}

/* ---- Writing at the system's limits. Each test runs in a child, because a signal would end the process. ---- */

/* Returns what the function returns in a child, as its exit status; 77: the test cannot run here. */
static int exit_of(int (*body)(void)) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(body());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        fail_msg("the child was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
    return WEXITSTATUS(status);
}

static char large[1 << 20];

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

/* A file above the limit is an error. Signal dispositions and masks of the host program stay unchanged. */
static int write_beyond_the_limit(void) {
    const struct rlimit limit = {4096, 4096};
    sigset_t mask, pending;
    struct sigaction action;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(bp__file_replace(in_folder("limited"), 0, large, sizeof large) == BP_E_IO);
    CHECK(strstr(bp_last_error(), "File too large") != NULL);
    CHECK(sigaction(SIGXFSZ, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0 && !sigismember(&mask, SIGXFSZ));
    CHECK(sigpending(&pending) == 0 && !sigismember(&pending, SIGXFSZ));
    CHECK(bp__file_replace(in_folder("limited"), 0, large, 4096) == BP_OK);
    return 0;
}

/* A signal that the host program has blocked and that is pending stays pending. */
static int keep_a_pending_signal(void) {
    const struct rlimit limit = {4096, 4096};
    sigset_t mine, pending;
    sigemptyset(&mine);
    sigaddset(&mine, SIGXFSZ);
    CHECK(pthread_sigmask(SIG_BLOCK, &mine, NULL) == 0 && raise(SIGXFSZ) == 0);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(bp__file_replace(in_folder("limited"), 0, large, sizeof large) == BP_E_IO);
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ));
    return 0;
}

static void *write_many(void *name) {
    char file[512];
    snprintf(file, sizeof file, "%s/%s", folder, (const char *)name);
    for (int i = 0; i < 50; i++) {
        if (bp__file_replace(file, 0, large, sizeof large) != BP_E_IO) {
            return name;
        }
    }
    return NULL;
}

/* Two threads at once: each gets only its own signal. */
static int write_beyond_the_limit_in_two_threads(void) {
    const struct rlimit limit = {4096, 4096};
    pthread_t other;
    void *here, *there;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK(pthread_create(&other, NULL, write_many, "one") == 0);
    here = write_many("two");
    CHECK(pthread_join(other, &there) == 0 && !here && !there);
    return 0;
}

static void a_size_limit_is_an_error(void **state) {
    (void)state;
    assert_int_equal(exit_of(write_beyond_the_limit), 0);
    assert_int_equal(exit_of(keep_a_pending_signal), 0);
    assert_int_equal(exit_of(write_beyond_the_limit_in_two_threads), 0);
    assert_int_equal(files_in_folder(), 1); /* the part that could be written, and no unfinished file */
}

/* Mounts a file system that only this process and its children see. */
static bool mount_here(const char *options, unsigned long flags) {
    return enter_namespace(CLONE_NEWNS, geteuid(), getegid()) && mount("none", folder, "tmpfs", flags, options) == 0;
}

static int write_to_a_full_disk(void) {
    if (!mount_here("size=64k", 0)) {
        return 77;
    }
    CHECK(bp__file_replace(in_folder("file"), 0, "old", 3) == BP_OK);
    CHECK(bp__file_replace(in_folder("file"), 0, large, sizeof large) == BP_E_IO);
    CHECK(strstr(bp_last_error(), "No space left") != NULL);
    assert_content(in_folder("file"), "old");
    CHECK(files_in_folder() == 1);
    return 0;
}

static int write_where_nothing_can_be_written(void) {
    if (!mount_here("", MS_RDONLY)) {
        return 77;
    }
    CHECK(bp__file_replace(in_folder("a/b/file"), 0, "new", 3) == BP_E_IO);
    CHECK(strstr(bp_last_error(), "/a: cannot make this directory: Read-only file system") != NULL);
    CHECK(files_in_folder() == 0);
    return 0;
}

/* The reason is about the directory that cannot be made, not about directories below it. */
static int write_without_permission(void) {
    CHECK(mkdir(in_folder("open"), 0755) == 0 && chmod(folder, 0555) == 0);
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
        return 77;
    }
    if (access(folder, X_OK) != 0) {
        return 77;
    }
    CHECK(bp__file_make_folders(in_folder("a/b/file"), 0) == BP_E_IO);
    CHECK(strstr(bp_last_error(), "/a: cannot make this directory: Permission denied") != NULL);
    CHECK(bp__file_make_folders(in_folder("open/file"), 0) == BP_OK);
    return 0;
}

static void a_directory_that_cannot_be_made_has_its_reason(void **state) {
    (void)state;
    const int done = exit_of(write_without_permission);
    chmod(folder, 0755);
    if (done == 77) {
        print_message(
            "skipped: this process cannot give up its rights, or the folder cannot be reached without them\n");
        skip();
    }
    assert_int_equal(done, 0);
}

static void full_and_read_only_disks_are_errors(void **state) {
    (void)state;
    int full = exit_of(write_to_a_full_disk), read_only = exit_of(write_where_nothing_can_be_written);
    if (full == 77 && read_only == 77) {
        print_message("skipped: a user namespace in which to mount a small disk is not permitted here\n");
        skip();
    }
    assert_int_equal(full, 0);
    assert_int_equal(read_only, 0);
}

/* Starts a process that writes the file repeatedly, and kills it when a temporary file exists. */
static void kill_a_writer(const char *file) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (;;) {
            bp__file_replace(file, 0, large, sizeof large);
        }
    }
    while (files_in_folder() < 2) {
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* A killed process leaves a temporary file at most until the next write; files of a running process stay. */
static void abandoned_files_are_removed(void **state) {
    (void)state;
    char file[512], held[1024], other[1024];
    strcpy(file, in_folder("file"));
    assert_int_equal(bp__file_replace(file, 0, "old", 3), BP_OK);
    do {
        kill_a_writer(file);
    } while (files_in_folder() < 2); /* it was renamed just before the kill */
    assert_int_equal(files_in_folder(), 2);
    snprintf(held, sizeof held, "%s.unfinished-abcdef", file);
    snprintf(other, sizeof other, "%s.unfinished-notes of mine", file);
    int writer = open(held, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    assert_int_equal(flock(writer, LOCK_EX), 0);
    close(open(other, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    assert_int_equal(bp__file_replace(file, 0, "new", 3), BP_OK);
    assert_content(file, "new");
    assert_int_equal(access(held, F_OK), 0);
    assert_int_equal(access(other, F_OK), 0);
    assert_int_equal(files_in_folder(), 3);
    close(writer);
    assert_int_equal(bp__file_replace(file, 0, "new", 3), BP_OK);
    assert_int_equal(access(held, F_OK), -1);
    assert_int_equal(files_in_folder(), 2);
}

/* Processes that write at the same time do not remove each other's files. */
static void many_writers_at_once(void **state) {
    (void)state;
    enum { WRITERS = 4, TIMES = 100 };
    char file[512];
    pid_t writers[WRITERS];
    strcpy(file, in_folder("file"));
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        assert_true(writers[i] >= 0);
        if (writers[i] == 0) {
            bool good = true;
            for (int j = 0; j < TIMES; j++) {
                good = bp__file_replace(file, 0, "text", 4) == BP_OK && good;
            }
            _exit(good ? 0 : 1);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        assert_int_equal(status, 0);
    }
    assert_content(file, "text");
    assert_int_equal(files_in_folder(), 1);
}

static void reading_has_limits(void **state) {
    (void)state;
    char *bytes = (char *)1;
    size_t size = 1;
    assert_int_equal(bp__file_read(in_folder("none"), 10, &bytes, &size), BP_E_NOT_FOUND);
    assert_null(bytes);
    assert_contains(bp_last_error(), "none");
    assert_int_equal(bp__file_read(folder, 10, &bytes, &size), BP_E_IO);
    assert_int_equal(bp__file_replace(in_folder("ten"), 0, "0123456789", 10), BP_OK);
    assert_int_equal(bp__file_read(path, 9, &bytes, &size), BP_E_OVERFLOW);
    assert_int_equal(bp__file_read(path, 10, &bytes, &size), BP_OK);
    assert_int_equal(size, 10);
    bp__free(bytes);
    assert_int_equal(bp__file_read(path, SIZE_MAX, &bytes, &size), BP_OK);
    bp__free(bytes);
    assert_int_equal(bp__file_read("/proc/thread-self/maps", 1 << 20, &bytes, &size), BP_OK); /* reports no size */
    assert_true(size > 100);
    bp__free(bytes);
    assert_int_equal(bp__file_read("/proc/thread-self/maps", 100, &bytes, &size), BP_E_OVERFLOW);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_int_equal(bp__file_read(path, 10, &bytes, &size), BP_E_IO); /* and does not block */
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
        assert_all_freed();
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
    assert_int_equal(bp__file_replace(file, 0, "", 0), BP_OK);
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

/* Every folder on the way of a link is checked, not only its target. */
static void links_are_followed(void **state) {
    (void)state;
    char file[512], open_folder[512];
    strcpy(file, in_folder("file"));
    assert_int_equal(bp__file_replace(file, 0, "", 0), BP_OK);
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
    assert_int_equal(bp__file_replace(file, 0, "", 0), BP_OK);
    assert_int_equal(chown(file, 65534, (gid_t)-1), 0);
    assert_trust(BP_E_UNTRUSTED, file);
    assert_contains(bp_last_error(), "65534");
    assert_int_equal(chown(file, 0, (gid_t)-1), 0);
    assert_int_equal(chown(folder, 65534, (gid_t)-1), 0);
    assert_trust(BP_E_UNTRUSTED, file);
    assert_int_equal(chown(folder, 0, (gid_t)-1), 0);
}

static void owners_by_rule(void **state) {
    (void)state;
    enum { USER = 1000, OTHER = 1001, OVERFLOW = 65534 };
    static const struct {
        uid_t owner, system;
        bool writable, trusted;
    } rows[] = {
        {0, 0, false, true},
        {0, 0, true, true},
        {USER, 0, true, true},
        {OTHER, 0, false, false},
        {OVERFLOW, 0, false, false},
        {OVERFLOW, OVERFLOW, false, true},
        {OTHER, OVERFLOW, false, false},
        {OVERFLOW, OVERFLOW, true, false},
        {USER, OVERFLOW, true, true},
    };
    for (int i = 0; i < BP__COUNT(rows); i++) {
        bool trusted = bp__owner_trusted(rows[i].owner, USER, rows[i].system, rows[i].writable);
        if (trusted != rows[i].trusted) {
            fail_msg("entry %d: %d", i, trusted);
        }
    }
    assert_true(bp__map_holds("         0          0 4294967295\n", OVERFLOW));
    assert_false(bp__map_holds("         0       1000          1\n", OVERFLOW));
    assert_true(bp__map_holds("         0       1000          1\n", 0));
    assert_true(bp__map_holds("0 1000 1\n1 100000 65536\n", OVERFLOW)); /* user 65534 of a container */
    assert_false(bp__map_holds("65535 0 10\n", OVERFLOW));
    assert_false(bp__map_holds("", 0));
    assert_false(bp__map_holds("nonsense\n\n1 2\n", 1));
}

/* The C library belongs to root, whom the namespace does not map. */
static int trust_in_a_namespace(void) {
    Dl_info library;
    char real[4096];
    struct stat facts;
    CHECK(dladdr((void *)(uintptr_t)&fopen, &library) != 0 && realpath(library.dli_fname, real) != NULL);
    CHECK(geteuid() != 0 || (setresgid(65533, 65533, 65533) == 0 && setresuid(65533, 65533, 65533) == 0));
    if (!enter_namespace(CLONE_NEWNS, 0, 0)) {
        return 77;
    }
    CHECK(stat(real, &facts) == 0 && facts.st_uid != 0 && facts.st_uid != geteuid());
    CHECK(bp__file_trusted(real) == BP_OK);
    CHECK(bp__file_trusted(in_folder("own/file")) == BP_OK);
    CHECK(bp__file_trusted(in_folder("own/open")) == BP_E_UNTRUSTED);
    return 0;
}

static void system_files_in_a_namespace(void **state) {
    (void)state;
    bool gives = geteuid() == 0;
    assert_int_equal(bp__file_replace(in_folder("own/file"), 0, "", 0), BP_OK);
    assert_int_equal(bp__file_replace(in_folder("own/open"), 0, "", 0), BP_OK);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(chmod(in_folder("own"), 0755), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(gives ? chown(in_folder("own/file"), 65533, 65533) : 0, 0);
    int result = exit_of(trust_in_a_namespace);
    if (result == 77) {
        print_message("skipped: user namespaces are not permitted here (owners_by_rule tests the rule itself)\n");
        skip();
    }
    assert_int_equal(result, 0);
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
        cmocka_unit_test_setup_teardown(given_folders_are_not_made, setup, teardown),
        cmocka_unit_test_setup_teardown(user_folders, setup, teardown),
        cmocka_unit_test_setup_teardown(a_size_limit_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(full_and_read_only_disks_are_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(a_directory_that_cannot_be_made_has_its_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(abandoned_files_are_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(many_writers_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(reading_has_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(reading_without_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(own_files_are_trusted, setup, teardown),
        cmocka_unit_test_setup_teardown(links_are_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(foreign_files_are_not_trusted, setup, teardown),
        cmocka_unit_test_setup_teardown(owners_by_rule, setup, teardown),
        cmocka_unit_test_setup_teardown(system_files_in_a_namespace, setup, teardown),
        cmocka_unit_test_setup_teardown(long_paths_are_not_trusted, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
