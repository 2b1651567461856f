/* support_tuning.c - products of the rivals, and the files of measured times. */
#include "tuning/support_tuning.h"

#include <sys/stat.h>
#include <unistd.h>

char cache_folder[64];
watch seen;

static _Thread_local long long clock_ns = 1000000000;

int64_t __wrap_bp__now_ns(void);
int64_t __wrap_bp__now_ns(void) {
    return clock_ns;
}

static void advance(long long ns) {
    clock_ns += ns;
}

static double x[64 * 64], y[64 * 64], z[64 * 64];

void tuning_restart(void) {
    assert_int_equal(bp_reset(), BP_OK);
}

int tuning_setup(void **state) {
    (void)state;
    make_folder(cache_folder);
    setenv("BACKPLANE_CACHE_DIR", cache_folder, 1);
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_LIBRARY_PATH", BP_TEST_BUILD_DIR "/no-such-folder", 1);
    setenv("BACKPLANE_PROVIDER_PATH", BP_TEST_BUILD_DIR "/tests/tuning-rivals", 1);
    unsetenv("BACKPLANE_TUNING_STORE_PATH");
    memset(&seen, 0, sizeof seen);
    seen.c = z;
    seen.advance = advance;
    offer_watch(&seen);
    tuning_restart();
    return 0;
}

int tuning_teardown(void **state) {
    (void)state;
    tuning_restart();
    chmod(cache_folder, 0700);
    remove_folder(cache_folder);
    return bp__live_blocks() != 0;
}

const char *multiply(const char *settings, int64_t n) {
    static char algorithm[64];
    bp_view a, b, c;
    bp_scope *scope;
    bp_plan_info info = {.struct_size = sizeof info};
    bp_view_matrix(&a, x, BP_F64, n, n);
    bp_view_matrix(&b, y, BP_F64, n, n);
    bp_view_matrix(&c, z, BP_F64, n, n);
    for (int64_t i = 0; i < n * n; i++) {
        x[i] = y[i] = 1;
        z[i] = -7;
    }
    assert_int_equal(bp_scope_enter(&scope, settings), BP_OK);
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_OK);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_int_equal(bp_last_plan(&info), BP_OK);
    bp__copy_text(algorithm, sizeof algorithm, info.algorithm);
    bool right = true;
    for (int64_t i = 0; i < n * n; i++) {
        right = right && z[i] == (double)n;
    }
    if (!right && strcmp(algorithm, "wrong") != 0 && strcmp(algorithm, "idle") != 0) {
        fail_msg("%s computed a wrong product", algorithm);
    }
    return algorithm;
}

static const char *path_of(const char *name) {
    static char path[160];
    snprintf(path, sizeof path, "%s/%s", cache_folder, name);
    return path;
}

const char *cache_file(const char *name) {
    static char text[1 << 16];
    FILE *file = fopen(path_of(name), "rb");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) {
        fclose(file);
    }
    text[size] = '\0';
    return text;
}

bool cache_file_exists(const char *name) {
    return access(path_of(name), F_OK) == 0;
}

static bp_explanation *explanation(const char *settings, int64_t n) {
    bp_explanation *e;
    bp_options *options;
    bp_view a, c;
    bp_view_matrix(&a, x, BP_F64, n, n);
    bp_view_matrix(&c, z, BP_F64, n, n);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(bp_matmul_explain(&e, options, &a.tensor, &a.tensor, &c.tensor), BP_OK);
    bp_options_release(options);
    return e;
}

const char *decision(const char *settings, int64_t n) {
    static char text[1024];
    bp_explanation *e = explanation(settings, n);
    bp__copy_text(text, sizeof text, bp_explanation_decision(e));
    bp_explanation_release(e);
    return text;
}

bp_candidate_info rival(const char *settings, int64_t n, const char *algorithm) {
    static char text[256];
    bp_candidate_info info = {.struct_size = sizeof info}, found = {.struct_size = 0};
    bp_explanation *e = explanation(settings, n);
    for (int i = 0; bp_explanation_at(e, i, &info); i++) {
        if (strcmp(info.algorithm, algorithm) == 0) {
            found = info;
            bp__copy_text(text, sizeof text, info.text);
            found.text = text;
        }
    }
    bp_explanation_release(e);
    assert_true(found.struct_size > 0);
    return found;
}
