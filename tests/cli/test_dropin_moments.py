"""Calls at awkward moments: in constructors while another thread makes the first call, from threads that are cancelled, after
the environment was overwritten, from libraries that are closed again, with nothing to compute."""

import json
import os
import shutil
import subprocess

import pytest

from conftest import BUILD, COMMAND, loading

LAUNCH = BUILD / "backplane-launch"
pytestmark = [
    pytest.mark.skipif(not (LAUNCH / "backplane-audit.so").exists(),
                       reason="this build has no drop-in libraries (see the output of cmake)"),
    pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler"),
]

COMMON = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
typedef void gemm(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
                  const int *, const double *, const int *, const double *, double *, const int *, size_t, size_t);
extern gemm dgemm_;
extern void zgemm_(), cblas_zgemm();
static inline int product_by(gemm *call, int n) { /* whether it is right */
    double *a = malloc(8L * n * n), *c = calloc(8, (size_t)n * n), one = 1, zero = 0, sum = 0;
    for (int i = 0; i < n * n; i++) a[i] = i % 7 - 3;
    if (call) call("N", "T", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n, 1, 1);
    else dgemm_("N", "T", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n, 1, 1);
    for (int k = 0; k < n; k++) sum += a[k * n] * a[k * n];
    int right = c[0] == sum;
    free(a);
    free(c);
    return right;
}
static inline int product(int n) { return product_by(0, n); }
"""

PLUGIN = COMMON + """
__attribute__((constructor)) static void begin(void) {
    usleep(300000); /* another thread waits for the loader meanwhile */
    if (!product(200)) _exit(3);
}
__attribute__((destructor)) static void end(void) {
    if (!product(200)) _exit(4);
    write(1, "closed ", 7);
}
"""
CONSTRUCTOR = COMMON + """
static void *first(void *wrong) {
    usleep(100000);
    return product(200) ? NULL : wrong;
}
int main(void) {
    pthread_t thread;
    void *wrong = "", *plugin;
    alarm(60);
    if (!product(10)) return 1;
    pthread_create(&thread, NULL, first, "");
    plugin = dlopen("./plugin.so", RTLD_NOW);
    pthread_join(thread, &wrong);
    if (!plugin || wrong) return 2;
    dlclose(plugin);
    return !product(200);
}
"""

CANCEL = COMMON + """
static void *endless(void *unused) {
    for (;;) {
        product(100);
        pthread_testcancel();
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    alarm(60);
    for (int i = 0; i < 8; i++) {
        pthread_create(&thread, NULL, endless, NULL);
        usleep(20000 + i * 7000); /* the first ones are in the search for libraries */
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    return !product(90);
}
"""

TITLE = COMMON + """
int main(void) {
    int right = product(10);
    for (char **one = environ; *one; one++) memset(*one, 'x', strlen(*one));
    const int n = 20, step = 1;
    static double x[400], y[20];
    extern void dgemv_();
    double one = 1, zero = 0;
    dgemv_("N", &n, &n, &one, x, &n, x, &step, &zero, y, &step, (size_t)1); /* the first call of this routine */
    return !right || !product(10);
}
"""

CLOSED = COMMON + """
int main(int count, char **words) {
    for (int i = 0; i < 6; i++) {
        void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
        gemm *call = library ? (gemm *)dlsym(library, "dgemm_") : NULL;
        if (!call || !product_by(call, 100)) return 1;
        dlclose(library);
        for (int size = 16; size < 4096; size += 16) memset(malloc(size), '#', size); /* takes the loader's old memory */
    }
    return 0;
}
"""

EMPTY = COMMON + """
int main(void) {
    const int n = 3, none = 0, ld = 3;
    dgemm_("N", "N", &none, &n, &n, 0, 0, &ld, 0, &ld, 0, 0, &ld, 1, 1);
    zgemm_("N", "N", &n, &none, &n, 0, 0, &ld, 0, &ld, 0, 0, &ld, (size_t)1, (size_t)1);
    cblas_zgemm(102, 111, 111, none, n, n, (void *)0, (void *)0, ld, (void *)0, ld, (void *)0, (void *)0, ld);
    return !product(30);
}
"""


@pytest.fixture
def compiled(tmp_path):
    def make(text, name="main", *flags):
        (tmp_path / f"{name}.c").write_text(text)
        words = ["cc", "-O1", "-w", *flags, f"{name}.c", "-o", name if not flags else f"{name}.so", "-l:libblas.so.3", "-lpthread", "-ldl"]
        built = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        if "cannot find -l:libblas.so.3" in built.stderr:
            pytest.skip("no libblas.so.3 to link to")
        assert built.returncode == 0, built.stderr
        return tmp_path / name

    return make


def variables(environment, way):
    return {
        "audit": {"LD_AUDIT": str(LAUNCH / "backplane-audit.so"), "LD_PRELOAD": str(LAUNCH / "libbackplane-hooks.so")},
        "preload": {"LD_PRELOAD": str(LAUNCH / "libbackplane-preload.so")},
        "library": {"LD_LIBRARY_PATH": str(BUILD / "backplane-dropin")},
    }[way] | {"BACKPLANE_CACHE_DIR": environment["BACKPLANE_CACHE_DIR"]}


def run(program, environment, *words):
    done = subprocess.run([str(program), *words], capture_output=True, text=True, env=loading(environment), timeout=100, cwd=program.parent)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("way", ["audit", "preload", "library"])
def test_constructors_and_a_first_call(environment, compiled, way):
    """The constructor's thread holds the loader's lock, for which the other thread waits inside its first large call."""
    compiled(PLUGIN, "plugin", "-shared", "-fPIC")
    program = compiled(CONSTRUCTOR)
    assert run(program, {**environment, **variables(environment, way)}) == (0, "closed ", "")


@pytest.mark.parametrize("way", ["audit", "library"])
def test_constructors_while_another_thread_searches(environment, compiled, tmp_path, way):
    """Backplane's own locks are held then."""
    compiled(PLUGIN, "plugin", "-shared", "-fPIC")
    program = compiled(CONSTRUCTOR.replace("usleep(100000);", "").replace("plugin = dlopen", "usleep(20000); plugin = dlopen"))
    env = {**environment, **variables(environment, way), "BACKPLANE_CACHE_DIR": str(tmp_path / "empty")}
    assert run(program, env) == (0, "closed ", "")


def test_cancelled_threads_leave_no_lock(environment, compiled, tmp_path):
    env = {**environment, **variables(environment, "audit"), "BACKPLANE_CACHE_DIR": str(tmp_path / "empty"), "BACKPLANE_BLAS_PREFERRED": "native"}
    assert run(compiled(CANCEL), env) == (0, "", "")


def test_overwritten_environment(environment, compiled, backplane, tmp_path):
    """Programs that change their title write over it. The routines that are excluded stay so."""
    program = compiled(TITLE)
    done = backplane("launch", "--set", "blas.preferred=native", "--exclude", "dgemm,dgemv", "--trace", "trace.json", "--", program)
    assert done.code == 0, done
    rows = [json.loads(line) for line in (tmp_path / "trace.json").read_text().splitlines()]
    assert {row["routine"]: row["through_backplane"] for row in rows} == {"dgemm": False, "dgemv": False}


def test_libraries_that_are_closed(environment, compiled, backplane, tmp_path):
    """The loader frees the name of a closed file. A fifth place in memory is not told apart, and is left alone."""
    library = next((path for path in ("/usr/lib/x86_64-linux-gnu/blas/libblas.so.3", "/usr/lib/x86_64-linux-gnu/libblas.so.3")
                    if os.path.exists(path)), None)
    program = compiled(CLOSED)
    done = backplane("launch", "--trace", "trace.json", "--", program, library, env={"LD_BIND_NOW": ""})
    assert done.code == 0, done
    rows = [json.loads(line) for line in (tmp_path / "trace.json").read_text().splitlines()]
    assert 4 <= sum(row["calls"] for row in rows) <= 6 and {row["own_library"] for row in rows} <= {library, os.path.realpath(library)}


@pytest.mark.parametrize("way", ["audit", "preload", "library"])
def test_nothing_to_compute(environment, compiled, way):
    """Without elements, no address is read, however small the products are that Backplane runs."""
    env = {**environment, **variables(environment, way), "BACKPLANE_LAUNCH_SMALL": "0", "BACKPLANE_DROPIN_SMALL": "0"}
    assert run(compiled(EMPTY), env) == (0, "", "")


def test_settings_that_exclude_every_library(environment, compiled, backplane):
    """The product runs, and a message says once that the settings do not hold."""
    every = ",".join(row["id"] for row in backplane("list", "--json", "--all").json["libraries"])
    program = compiled(COMMON + "int main(void) { return !product(100) || !product(110); }")
    done = subprocess.run([COMMAND, "launch", "--set", f"dispatch.exclude={every}", "--", program], capture_output=True, text=True,
                          env=environment, timeout=60)
    assert done.returncode == 0 and done.stderr.count("a product runs without the settings") == 1, done
