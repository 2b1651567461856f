/* test_verbose.c - the verbose modes of MKL and oneDNN: lines when on, none when off, and the original state after the
 * last scope. */
#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

static bool have(const char *family) {
    bp_library_info row = {.struct_size = sizeof row};
    return bp_library_find(family, &row) == BP_OK && row.state == BP_LIBRARY_OK;
}

/* ---- Standard output of a test, in a file ---- */

static FILE *file;
static int before;

static void catch_output(void) {
    fflush(stdout);
    before = dup(STDOUT_FILENO);
    file = tmpfile();
    assert_true(before >= 0 && file && dup2(fileno(file), STDOUT_FILENO) >= 0);
}

/* Returns the output since catch_output(). */
static char *caught(void) {
    static char text[1 << 16];
    fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static int count(const char *text, const char *word) {
    int found = 0;
    for (; (text = strstr(text, word)); text++) {
        found++;
    }
    return found;
}

static void multiply(void) {
    static double a[64 * 64], b[64 * 64], c[64 * 64];
    bp_view va, vb, vc;
    bp_options *options;
    bp_view_matrix(&va, a, BP_F64, 64, 64);
    bp_view_matrix(&vb, b, BP_F64, 64, 64);
    bp_view_matrix(&vc, c, BP_F64, 64, 64);
    assert_int_equal(bp_options_new(&options, "blas.preferred=mkl, dispatch.fallback=strict"), BP_OK);
    bp_plan *plan;
    assert_int_equal(bp_matmul_plan(&plan, options, &va.tensor, &vb.tensor, &vc.tensor), BP_OK);
    assert_int_equal(bp_execute(plan, (bp_operand[]){{a, 0}, {b, 0}, {c, 0}}, NULL), BP_OK);
    bp_plan_release(plan);
    bp_options_release(options);
}

#define MARK "MKL_VERBOSE DGEMM"

static void mkl_writes_lines_inside_a_scope(void **state) {
    (void)state;
    if (!have("mkl")) {
        print_message("skipped: MKL is not installed\n");
        skip();
    }
    bp_verbose_scope *outer, *inner;
    catch_output();
    multiply();
    assert_int_equal(count(caught(), MARK), 0);
    assert_int_equal(bp_verbose_enter(&outer, "mkl", BP_VERBOSE_ON, NULL, NULL), BP_OK);
    catch_output();
    multiply();
    assert_int_equal(count(caught(), MARK), 1);
    assert_int_equal(bp_verbose_enter(&inner, "mkl", BP_VERBOSE_OFF, NULL, NULL), BP_OK);
    catch_output();
    multiply();
    assert_int_equal(count(caught(), MARK), 0);
    assert_int_equal(bp_verbose_leave(&inner), BP_OK);
    assert_null(inner);
    catch_output();
    multiply();
    assert_int_equal(count(caught(), MARK), 1);
    assert_int_equal(bp_verbose_enter(&inner, "mkl", BP_VERBOSE_ON_CREATION, NULL, NULL), BP_OK);
    assert_int_equal(bp_verbose_leave(&outer), BP_OK); /* not the innermost one */
    catch_output();
    multiply();
    assert_int_equal(count(caught(), MARK), 1);
    assert_int_equal(bp_verbose_leave(&inner), BP_OK);
    catch_output();
    multiply();
    assert_int_equal(count(caught(), MARK), 0);
}

/* The level from the environment variable applies again after the last scope. */
static void the_variable_applies_after_the_last_scope(void **state) {
    (void)state;
    if (!have("mkl")) {
        print_message("skipped: MKL is not installed\n");
        skip();
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("MKL_VERBOSE", "1", 1);
        setenv("TEST_VERBOSE_CHILD", "1", 1);
        execl("/proc/self/exe", "test_dispatch_verbose", "child", (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int in_child(void) {
    bp_verbose_scope *scope;
    unsetenv("TEST_VERBOSE_CHILD");
    if (bp_verbose_enter(&scope, "mkl", BP_VERBOSE_OFF, NULL, NULL) != BP_OK) {
        return 1;
    }
    catch_output();
    multiply();
    if (count(caught(), MARK) != 0) {
        return 2;
    }
    bp_verbose_leave(&scope);
    catch_output();
    multiply();
    return count(caught(), MARK) == 1 ? 0 : 3;
}

/* ---- Lines for a handler ---- */

typedef struct collected {
    int lines, marked;
} collected;

static void collect(void *user, const char *line) {
    collected *c = user;
    c->lines++;
    c->marked += strncmp(line, MARK, strlen(MARK)) == 0 && !strchr(line, '\n');
}

static void a_handler_receives_the_lines(void **state) {
    (void)state;
    if (!have("mkl")) {
        print_message("skipped: MKL is not installed\n");
        skip();
    }
    collected c = {0, 0};
    bp_verbose_scope *scope, *second;
    catch_output();
    assert_int_equal(bp_verbose_enter(&scope, "mkl", BP_VERBOSE_ON, collect, &c), BP_OK);
    printf("a line of the program\n");
    fflush(stdout);
    assert_int_equal(write(STDOUT_FILENO, "any\0byte\n", 9), 9);
    multiply();
    multiply();
    printf("unfinished");
    assert_int_equal(bp_verbose_enter(&second, "mkl", BP_VERBOSE_ON, collect, &c), BP_E_BUSY);
    assert_null(second);
    assert_int_equal(bp_verbose_leave(&scope), BP_OK);
    printf(" business\n");
    multiply();
    char *text = caught();
    char *hole = memchr(text, 0, 40);
    assert_true(hole && strncmp(hole + 1, "byte\n", 5) == 0);
    *hole = '.';
    assert_int_equal(c.marked, 2);
    assert_true(c.lines >= 2);
    assert_int_equal(count(text, "MKL_VERBOSE"), 0);
    assert_string_equal(text, "a line of the program\nany.byte\nunfinished business\n");
}

/* Creates, without running it, a product of two matrices with oneDNN's own functions (version 3), and destroys it. */
static bool make_primitive(int64_t size) {
    bp_library_info row = {.struct_size = sizeof row};
    assert_int_equal(bp_library_find("onednn", &row), BP_OK);
    void *handle = dlopen(row.path, RTLD_NOW | RTLD_NOLOAD);
    int (*engine_create)(void **, int, size_t) = dlsym(handle, "dnnl_engine_create");
    int (*shape_create)(void **, int, const int64_t *, int, int) = dlsym(handle, "dnnl_memory_desc_create_with_tag");
    int (*product_create)(void **, void *, void *, void *, void *, void *, void *) =
        dlsym(handle, "dnnl_matmul_primitive_desc_create");
    int (*primitive_create)(void **, void *) = dlsym(handle, "dnnl_primitive_create");
    if (!engine_create || !shape_create || !product_create || !primitive_create) {
        return false;
    }
    enum { CPU = 1, F32 = 3, ROWS = 3 };
    const int64_t sizes[12] = {size, size};
    void *engine = NULL, *shape = NULL, *product = NULL, *primitive = NULL;
    bool made = engine_create(&engine, CPU, 0) == 0 && shape_create(&shape, 2, sizes, F32, ROWS) == 0 &&
                product_create(&product, engine, shape, shape, NULL, shape, NULL) == 0 &&
                primitive_create(&primitive, product) == 0;
    static const char *const enders[] = {"dnnl_primitive_destroy", "dnnl_primitive_desc_destroy",
                                         "dnnl_memory_desc_destroy", "dnnl_engine_destroy"};
    void *const ended[] = {primitive, product, shape, engine};
    for (int i = 0; i < 4; i++) {
        int (*end)(void *) = dlsym(handle, enders[i]);
        if (end && ended[i]) {
            end(ended[i]);
        }
    }
    return made;
}

static void onednn_accepts_its_levels(void **state) {
    (void)state;
    bp_verbose_scope *scope = NULL;
    if (!have("onednn")) {
        print_message("skipped: oneDNN is not installed\n");
        assert_int_equal(bp_verbose_enter(&scope, "mkldnn", BP_VERBOSE_ON, NULL, NULL), BP_E_NOT_FOUND);
        assert_non_null(strstr(bp_last_error(), "onednn"));
        skip();
    }
    for (int level = BP_VERBOSE_OFF; level <= BP_VERBOSE_ON_CREATION; level++) {
        collected c = {0, 0};
        assert_int_equal(bp_verbose_enter(&scope, "mkldnn", level, collect, &c), BP_OK);
        bool made = make_primitive(2 + level);
        assert_int_equal(bp_verbose_leave(&scope), BP_OK);
        if (!made) {
            print_message("skipped: this oneDNN does not have the interface of version 3\n");
            skip();
        }
        assert_int_equal(c.lines > 0, level == BP_VERBOSE_ON_CREATION);
    }
}

static void invalid_requests_are_refused(void **state) {
    (void)state;
    bp_verbose_scope *scope = (bp_verbose_scope *)1;
    assert_int_equal(bp_verbose_enter(&scope, "mkl", 3, NULL, NULL), BP_E_ARGUMENT);
    assert_null(scope);
    assert_int_equal(bp_verbose_enter(&scope, "mkl", -1, NULL, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_verbose_enter(&scope, NULL, 1, NULL, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_verbose_enter(NULL, "mkl", 1, NULL, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_verbose_enter(&scope, "mkldn", 1, NULL, NULL), BP_E_UNKNOWN_NAME);
    assert_non_null(strstr(bp_last_error(), "mkldnn"));
    assert_int_equal(bp_verbose_leave(NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_verbose_leave(&scope), BP_OK);
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc == 2 && getenv("TEST_VERBOSE_CHILD")) {
        return in_child();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mkl_writes_lines_inside_a_scope), cmocka_unit_test(the_variable_applies_after_the_last_scope),
        cmocka_unit_test(a_handler_receives_the_lines),    cmocka_unit_test(onednn_accepts_its_levels),
        cmocka_unit_test(invalid_requests_are_refused),
    };
    return cmocka_run_group_tests_name("verbose", tests, NULL, NULL);
}
