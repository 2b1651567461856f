/* support_registry.c - see support_registry.h. */
#include "registry/support_registry.h"

#include "settings/internal.h"

#include <ftw.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *make_folder(void) {
    static char folder[4096];
    snprintf(folder, sizeof folder, "%s/tests/registry-XXXXXX", BP_TEST_BUILD_DIR);
    assert_non_null(mkdtemp(folder));
    return bp__intern(folder);
}

static int forget(const char *path, const struct stat *facts, int kind, struct FTW *where) {
    (void)facts;
    (void)kind;
    (void)where;
    return remove(path);
}

void forget_folder(const char *folder) {
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", folder);
    nftw(copy, forget, 8, FTW_DEPTH | FTW_PHYS);
}

static void set_or_clear(const char *name, const char *value) {
    if (value) {
        setenv(name, value, 1);
    } else {
        unsetenv(name);
    }
}

void restart(const char *library_path, const char *cache_dir) {
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    set_or_clear("BACKPLANE_LIBRARY_PATH", library_path);
    set_or_clear("BACKPLANE_CACHE_DIR", cache_dir);
    setenv("BACKPLANE_REGISTRY_CACHE", cache_dir ? "read-write" : "off", 1);
    setenv("BACKPLANE_REGISTRY_PROBE_TIMEOUT", "60000", 0); /* a busy machine is no fault of a library */
    assert_int_equal(bp_reset(), BP_OK);
}

bp_library_info only_row(void) {
    bp_library_info row = {.struct_size = sizeof row};
    int count = 0;
    assert_int_equal(bp_library_count(&count), BP_OK);
    assert_int_equal(count, 2); /* this library and the native provider's */
    assert_int_equal(bp_library_at(0, &row), 1);
    return row;
}

void copy_file(const char *from, const char *to) {
    char buffer[65536];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, in)) > 0;) {
        assert_int_equal(fwrite(buffer, 1, got, out), got);
    }
    assert_int_equal(fclose(in), 0);
    assert_int_equal(fclose(out), 0);
}

bp_library_info probe(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", FAKES, name);
    restart(path, NULL);
    bp_library_info row = only_row();
    snprintf(path, sizeof path, "%s/%s/lib%s.so", FAKES, name, name);
    char *real = realpath(path, NULL);
    assert_string_equal(row.path, real);
    free(real);
    assert_string_equal(row.family, "unknown");
    return row;
}

bp_library_info probe_good(const char *name) {
    bp_library_info row = probe(name);
    assert_string_equal(row.reason, "");
    assert_int_equal(row.state, BP_LIBRARY_OK);
    return row;
}

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool is_starved(void) {
    const double since = seconds_of(CLOCK_MONOTONIC), used = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    while (seconds_of(CLOCK_PROCESS_CPUTIME_ID) < used + 0.2) {
    }
    return seconds_of(CLOCK_MONOTONIC) > since + 0.6;
}
