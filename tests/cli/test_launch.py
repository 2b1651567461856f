"""launch: programs run unchanged, their calls go where Backplane chooses, and reports count every call.

The program of most tests is Python with the NumPy of .venv, whose library has names of its own (scipy_cblas_dgemm64_).
"""

import os
import pathlib
import shutil
import signal
import subprocess

import time

import pytest

from conftest import BUILD, COMMAND, HOOKS_BUILT, ROOT, SANITIZED, loading, needs_hooks, preload

PYTHON = ROOT / ".venv/bin/python"

SETUP = "import numpy as np; rng = np.random.default_rng(1); a = rng.standard_normal((100, 110)); b = rng.standard_normal((110, 120)); "


def python(code):
    return str(PYTHON), "-c", SETUP + code


def products(rows):
    return [row for row in rows if row["routine"] == "cblas_dgemm"]


@pytest.mark.skipif(HOOKS_BUILT, reason="the hooks library is built")
def test_message_without_hooks(backplane):
    done = backplane("launch", "--", "true")
    assert done.code == 6 and "x86-64 Linux" in done.err


# ---- Calls ----


@needs_hooks
def test_products_run_on_the_chosen_library(launch, tmp_path):
    done, rows = launch(
        ["--set", "blas.preferred=native"], *python("np.save('got.npy', a @ b); np.save('small.npy', a[:2, :2] @ b[:2, :2])")
    )
    assert done.code == 0 and done.out == done.err == ""
    import numpy as np

    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((100, 110)), rng.standard_normal((110, 120))
    np.testing.assert_allclose(np.load(tmp_path / "got.npy"), a @ b, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.load(tmp_path / "small.npy"), a[:2, :2] @ b[:2, :2], rtol=0, atol=1e-14)
    large, small = sorted(products(rows), key=lambda row: -row["sizes"][0])
    assert large["sizes"] == [100, 120, 110] and large["options"] == "RNN"
    assert large["library"] == small["library"] == "native" and large["through_backplane"] and small["through_backplane"]
    assert large["int_bits"] == 64 and large["family"] == "cblas" and "preferred" in large["why"]
    assert "openblas" in large["own_library"]
    assert large["calls"] == 1 and large["flops"] == 2 * 100 * 110 * 120
    assert large["least_ns"] == large["most_ns"] == large["time_ns"] > 0


@needs_hooks
def test_small_products_stay_in_the_own_library(launch):
    _, rows = launch([], *python("a[:8, :8] @ b[:8, :8]; a @ b"))
    small, large = sorted(products(rows), key=lambda row: row["sizes"][0])
    assert small["library"] == small["own_library"] and not small["through_backplane"]
    assert large["through_backplane"] and large["why"]


@needs_hooks
@pytest.mark.parametrize("options", [["--deterministic"], ["--set", "mkldnn.matmul.fp32_precision=ieee"]])
def test_settings_hold_for_small_products(launch, options):
    _, rows = launch(options, *python("a[:8, :8] @ b[:8, :8]"))
    assert [row["through_backplane"] for row in products(rows)] == [True]


@needs_hooks
@pytest.mark.parametrize(
    ("options", "redirected"),
    [
        (["--only", "gemm"], {"cblas_dgemm": True}),
        (["--only", "gemv,lapack"], {"cblas_dgemm": False}),
        (["--exclude", "dgemm"], {"cblas_dgemm": False}),
        (["--exclude", "cblas"], {"cblas_dgemm": False}),
        (["--exclude", "sgemm"], {"cblas_dgemm": True}),
        (["--observe"], {"cblas_dgemm": False}),
    ],
)
def test_only_and_exclude(launch, options, redirected):
    _, rows = launch(options, *python("a @ b"))
    assert {row["routine"]: row["through_backplane"] for row in products(rows)} == redirected


@needs_hooks
def test_library_for_all_calls(launch, backplane):
    found = {row["id"]: row for row in backplane("list", "--json").json["libraries"]}
    wide = [name for name, row in found.items() if row["state"] == "ok" and row["int_bits"] == 32 and "blas" in row["kinds"]]
    if not wide:
        pytest.skip("no other BLAS library is installed")
    done, rows = launch(["--library", wide[0]], *python("a @ b; np.linalg.cholesky(a.T @ a + np.eye(110))"))
    assert done.code == 0, done
    assert {row["library"] for row in products(rows)} == {wide[0]}  # through Backplane, which converts the width


@needs_hooks
def test_threads_are_counted(launch):
    code = """
import threading
def work():
    for i in range(200):
        a[: 8 + i % 5] @ b
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]"""
    _, rows = launch([], *python(code))
    assert sum(row["calls"] for row in products(rows)) == 800 and len({tuple(row["sizes"]) for row in products(rows)}) == 5


@needs_hooks
def test_processes_are_counted(launch):
    """Children of fork that end without destructors, children of exec, and a process that is killed."""
    code = "import os, signal; a @ b; pid = os.fork(); a @ b\nif pid: os.waitpid(pid, 0); os.kill(os.getpid(), signal.SIGKILL)\nos._exit(0)"
    done, rows = launch([], "sh", "-c", f'"$0" -c "$1"; "$0" -c "$1"; exit 4', str(PYTHON), SETUP + code)
    assert done.code == 4, done
    assert sum(row["calls"] for row in products(rows)) == 6


@needs_hooks
def test_factorizations(launch):
    done, rows = launch([], *python("np.linalg.solve(a[:100, :100], a); x = np.linalg.inv(a[:, :100])"))
    assert done.code == 0, done
    assert {row["routine"] for row in rows} >= {"dgesv"} and all(row["int_bits"] == 64 for row in rows)


@needs_hooks
def test_many_sizes_share_a_row(launch):
    done, rows = launch(["--observe"], *python("x = np.ones(40000)\nfor i in range(20000): x[:i] @ x[:i]"))
    assert done.code == 0, done
    dots = [row for row in rows if row["routine"] == "cblas_ddot"]
    assert 19990 <= sum(row["calls"] for row in dots) <= 20000 and dots


# ---- The program ----


@needs_hooks
@pytest.mark.parametrize("report", [[], ["--profile"]])
def test_exit_codes(backplane, tmp_path, report):
    (tmp_path / "text").write_text("text")
    (tmp_path / "broken").write_text("#!/no/such/interpreter\n")
    (tmp_path / "broken").chmod(0o755)
    for words, code in [
        (["true"], 0),
        (["sh", "-c", "exit 7"], 7),
        (["no-such-program"], 127),
        (["./no-such-program"], 127),
        (["./text"], 126),
        (["/"], 126),
        (["./broken"], 127),
    ]:
        assert backplane("launch", *report, "--", *words).code == code, words
    killed = backplane("launch", *report, "--", "sh", "-c", "kill -TERM $$").code
    assert killed == (143 if report else -signal.SIGTERM)


@needs_hooks
@pytest.mark.skipif("thread" in SANITIZED, reason="ThreadSanitizer runs a signal's handler only after waitpid() has returned")
def test_signals_are_passed_on(environment, tmp_path):
    code = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(9)); open('ready', 'w'); time.sleep(60)"
    process = subprocess.Popen(
        [COMMAND, "launch", "--profile", "--", PYTHON, "-c", code], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL
    )
    while not (tmp_path / "ready").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.terminate()
    assert process.wait(timeout=60) == 9


@needs_hooks
@pytest.mark.skipif("thread" in SANITIZED, reason="ThreadSanitizer runs a signal's handler only after waitpid() has returned")
def test_sigint_of_another_process(environment, tmp_path):
    """Unlike a terminal's SIGINT, it reaches the command only."""
    words = [COMMAND, "launch", "--profile", "--", "sh", "-c", "trap 'exit 9' INT; touch ready; while :; do sleep 0.05; done"]
    process = subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    while not (tmp_path / "ready").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 9


@needs_hooks
@pytest.mark.parametrize("command", [["launch", "--profile"], ["launch"], ["inspect"]])
def test_parent_that_ignores_the_ends_of_children(environment, tmp_path, command):
    """The exit code is still known, and the program gets what the parent has set."""
    show = "import signal, sys; print(signal.getsignal(signal.SIGCHLD).name); sys.exit(7)"
    words = [str(COMMAND), *command, "--", str(PYTHON), "-c", show]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, timeout=60,
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.returncode == 7 and done.stdout == b"SIG_IGN\n", done


@needs_hooks
def test_options_behind_the_program_are_its_own(backplane):
    for words in (["--", "echo", "--profile", "-x"], ["echo", "--profile", "-x"]):
        done = backplane("launch", *words)
        assert done.code == 0 and done.out == "--profile -x\n" and done.err == ""


def behind_sanitizer(preloaded):
    """The files of LD_PRELOAD. In a sanitized build the run-time library must be the first, and is left out."""
    files = preloaded.split(":")
    if preload():
        assert os.path.samefile(files.pop(0), preload())
    return files


@needs_hooks
def test_environment(backplane):
    show = ["sh", "-c", "echo $LD_PRELOAD; echo $LD_AUDIT; env"]
    first = "/no/such/first.so"
    done = backplane("launch", "--set", "num_threads=2", "--threads", "1", "--", *show, env={"LD_PRELOAD": first})
    preloaded, audit = done.out.splitlines()[:2]
    folder = (BUILD / "backplane-launch").resolve()
    assert behind_sanitizer(preloaded) == [f"{folder}/libbackplane-hooks.so", first]
    assert audit == f"{folder}/backplane-audit.so"
    values = dict(line.split("=", 1) for line in done.out.splitlines()[2:] if "=" in line)
    assert values["BACKPLANE_NUM_THREADS"] == values["OPENBLAS_NUM_THREADS"] == values["OMP_NUM_THREADS"] == "1"
    assert "BACKPLANE_LAUNCH_RECORD" not in values and "BACKPLANE_LAUNCH_SMALL" not in values
    nested = backplane("launch", "--", COMMAND, "launch", "--set", "deterministic=run", "--", *show)
    preloaded, audit = nested.out.splitlines()[:2]
    assert behind_sanitizer(preloaded) == [f"{folder}/libbackplane-hooks.so"] and audit == f"{folder}/backplane-audit.so"
    assert "BACKPLANE_LAUNCH_SMALL=0" in nested.out and "BACKPLANE_DETERMINISTIC=run" in nested.out


@needs_hooks
@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (["--only", "gemm,gemn"], 2, "'gemn' is no routine"),
        (["--set", "deterministic"], 2, "NAME=VALUE"),
        (["--set", "deterministic=maybe"], 2, "off|run|threads"),
        (["--set", "determinstic=run"], 2, "did you mean"),
        (["--threads", "0"], 2, "--threads"),
        (["--library", "no-such-library"], 4, "no-such-library"),
        (["--library", "native"], 4, "blas.preferred"),
        (["--output", "x"], 2, "--profile"),
        (["--instance-options", "x"], 2, "--instances"),
    ],
)
def test_wrong_options(backplane, tmp_path, options, code, text):
    done = backplane("launch", *options, "--", "touch", "ran")
    assert done.code == code and text in done.err and not (tmp_path / "ran").exists(), done


@needs_hooks
@pytest.mark.skipif(bool(SANITIZED), reason="a sanitizer's library is not loaded into the env that runs before a static program")
def test_programs_that_cannot_be_redirected(backplane, tmp_path):
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    (tmp_path / "main.c").write_text("int main(void) { return 3; }")
    built = subprocess.run([compiler, "-static", "main.c", "-o", "static"], cwd=tmp_path, capture_output=True)
    assert built.returncode == 0, built.stderr
    done = backplane("launch", "--", "./static")
    assert done.code == 3 and "statically linked" in done.err
    (tmp_path / "script").write_text(f"#!/usr/bin/env -S {tmp_path}/static\n")
    (tmp_path / "script").chmod(0o755)
    done = backplane("launch", "--", "./script", env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.code == 3 and "statically linked" in done.err
    shutil.copy(tmp_path / "static", tmp_path / "narrow")
    with open(tmp_path / "narrow", "r+b") as file:
        file.seek(4)
        file.write(b"\1")  # ELFCLASS32; the kernel refuses it, but the message comes first
    assert "32-bit" in backplane("launch", "--", "./narrow").err


@needs_hooks
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a program of another user")
def test_set_user_id(backplane, tmp_path):
    shutil.copy(shutil.which("true"), tmp_path / "other")
    os.chown(tmp_path / "other", 65534, 65534)
    os.chmod(tmp_path / "other", 0o4755)
    done = backplane("launch", "--", "./other")
    assert "rights that you do not have" in done.err


@needs_hooks
def test_instances(launch, backplane, tmp_path):
    if not (BUILD / "python/backplane").exists():
        pytest.skip("the Python package is not built")
    env = loading({"PYTHONPATH": str(BUILD / "python"), "PATH": f"{PYTHON.parent}:{os.environ['PATH']}"})
    done, rows = launch(["--instances", "1", "--set", "blas.preferred=native"], *python("a @ b"), env=env)
    assert done.code == 0, done
    assert [(row["calls"], row["library"]) for row in products(rows)] == [(1, "native")]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin/python3").chmod(0o755)
    done = backplane("launch", "--instances", "1", "--", "touch", "ran", env={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    assert done.code == 4 and "Python package" in done.err and not (tmp_path / "ran").exists()


# ---- Programs in C and Fortran ----

CLIENT = """
#include <stdio.h>
#include <dlfcn.h>
void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *,
            const double *, const int *, const double *, double *, const int *, unsigned long, unsigned long);
int run(void) {
    static double a[100 * 100], b[100 * 100], c[100 * 100], one = 1, zero = 0;
    int n = 100;
    for (int i = 0; i < n * n; i++) { a[i] = i % 7; b[i] = i % 5; }
    dgemm_("N", "T", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n, 1, 1);
    double sum = 0;
    for (int i = 0; i < n * n; i++) sum += c[i];
    printf("%.0f\\n", sum);
    return 0;
}
"""
OPEN = """
#include <stdio.h>
#include <dlfcn.h>
int main(void) {
    void *plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
    int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "run") : 0;
    return run ? run() : (fprintf(stderr, "%s\\n", dlerror()), 1);
}
"""


HANDLER = """
#include <stdio.h>
void dpotrf_(const char *, const int *, double *, const int *, int *, unsigned long);
void xerbla_(const char *name, const int *info, unsigned long length) { printf("handler %.6s %d\\n", name, *info); }
int run(void) {
    double a[4] = {4, 0, 0, 9};
    int n = 2, info = 0;
    dpotrf_("X", &n, a, &n, &info, 1);
    printf("%d\\n", info);
    return 0;
}
"""


WIDE = """
#include <stdio.h>
void dsyrk_(const char *, const char *, const long *, const long *, const double *, const double *, const long *, const double *,
            double *, const long *, unsigned long, unsigned long);
int run(void) {
    double a[6] = {1, 2, 3, 4, 5, 6}, c[4] = {0, 0, 7, 0}, one = 1, zero = 0;
    long n = 2, k = 3;
    dsyrk_("L", "N", &n, &k, &one, a, &n, &zero, c, &n, 1, 1);
    printf("%g %g %g %g\\n", c[0], c[1], c[2], c[3]);
    return 0;
}
"""


def build_plugin(folder, source, *names, main=OPEN, linked=False):
    """Builds a program that opens an object late and locally, which is linked with these libraries of Debian, or the program is."""
    libraries = [pathlib.Path("/usr/lib/x86_64-linux-gnu") / name for name in names]
    compiler = shutil.which("cc")
    if not compiler or not all(library.exists() for library in libraries):
        pytest.skip(f"no C compiler, or no {' and '.join(names)}")
    (folder / "plugin.c").write_text(source)
    (folder / "main.c").write_text(main)
    libraries = list(map(str, libraries))
    for words in (["-shared", "-fPIC", "plugin.c", "-o", "plugin.so", *libraries], ["main.c", "-o", "main", "-ldl", *(libraries if linked else [])]):
        built = subprocess.run([compiler, *words], cwd=folder, capture_output=True)
        assert built.returncode == 0, built.stderr


@needs_hooks
def test_plugin_of_a_c_program(launch, tmp_path):
    """The library is reached only through the plugin."""
    build_plugin(tmp_path, CLIENT, "libblas.so.3")
    plain = subprocess.run(["./main"], cwd=tmp_path, capture_output=True)
    done, rows = launch(["--set", "blas.preferred=native"], "./main")
    assert done.code == 0 and done.bytes == plain.stdout, done
    assert [(row["routine"], row["options"], row["sizes"], row["int_bits"], row["library"]) for row in rows] == [
        ("dgemm", "NT", [100, 100, 100], 32, "native")
    ]


@needs_hooks
def test_error_handler_of_a_plugin(launch, environment, tmp_path):
    """Another library calls the xerbla_ that netlib's would have called, which only the plugin has."""
    build_plugin(tmp_path, HANDLER, "lapack/liblapack.so.3", "blas/libblas.so.3")
    env = {"LD_LIBRARY_PATH": "/usr/lib/x86_64-linux-gnu/lapack:/usr/lib/x86_64-linux-gnu/blas"}
    plain = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, env={**environment, **env})
    done, rows = launch([], "./main", env=env)
    assert plain.stdout == b"handler DPOTRF 1\n-1\n" and done.code == 0 and done.bytes == plain.stdout, (plain, done)
    assert [row["routine"] for row in rows] == ["dpotrf"] and rows[0]["library"] != rows[0]["own_library"]


FOREIGN_HANDLER = """
#include <stdlib.h>
void dgemm_(void);
void *reference(void) { return (void *)dgemm_; }
void xerbla_(const char *name, const int *info, unsigned long length) { exit(9); }
"""
WRONG = """
#include <dlfcn.h>
#include <stdio.h>
void dpotrf_(const char *, const int *, double *, const int *, int *, unsigned long);
int main(void) {
    double a[4] = {4, 0, 0, 9};
    int n = 2, info = 0;
    if (!dlopen("./plugin.so", RTLD_LAZY | RTLD_LOCAL)) return 1;
    dpotrf_("X", &n, a, &n, &info, 1);
    return info == -1 ? 0 : 2;
}
"""


@needs_hooks
def test_a_handler_that_the_own_library_does_not_call(launch, environment, tmp_path):
    """The library is the program's, so that it calls no handler of a plugin."""
    build_plugin(tmp_path, FOREIGN_HANDLER, "liblapack.so.3", "libblas.so.3", main=WRONG, linked=True)
    env = {"LD_LIBRARY_PATH": "/usr/lib/x86_64-linux-gnu/openblas-pthread"}
    assert subprocess.run(["./main"], cwd=tmp_path, capture_output=True, env={**environment, **env}).returncode == 0
    done, rows = launch(["--library", "openblas-openmp"], "./main", env=env)
    assert done.code == 0 and rows[0]["library"] == "openblas-openmp", (done, rows)


CLOSE = """
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    for (int i = 0; i < 2; i++) {
        void *plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
        int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "run") : 0;
        if (!run) return 1;
        run();
        dlclose(plugin);
    }
    void *library = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
    void (*dpotrf)(const char *, const int *, double *, const int *, int *, unsigned long);
    double a[4] = {4, 0, 0, 9};
    int n = 2, info = 0;
    *(void **)&dpotrf = dlsym(library, "dpotrf_");
    dpotrf("X", &n, a, &n, &info, 1);
    return info == -1 ? 0 : 2;
}
"""


@needs_hooks
def test_handler_of_a_plugin_that_was_closed(launch, tmp_path):
    """It stays loaded, because a library calls it."""
    build_plugin(tmp_path, HANDLER, "lapack/liblapack.so.3", "blas/libblas.so.3", main=CLOSE)
    done, rows = launch([], "./main", env={"LD_LIBRARY_PATH": "/usr/lib/x86_64-linux-gnu/lapack:/usr/lib/x86_64-linux-gnu/blas"})
    assert done.code == 0 and done.out.count("handler DPOTRF 1") == 3, done
    assert {row["library"] == row["own_library"] for row in rows} == {False}


@needs_hooks
def test_reference_code_with_wide_integers(backplane, launch, tmp_path):
    """Libraries with 32-bit integers are passed over, also if they are faster."""
    build_plugin(tmp_path, WIDE, "blas64/libblas64.so.3")
    done, rows = launch([], "./main")
    assert done.code == 0 and done.out == "35 44 7 56\n", done
    listed = backplane("list", "--json").json["libraries"]
    whole = {row["id"]: row for row in listed if row["state"] == "ok" and {"blas", "cblas", "lapack"} <= set(row["kinds"])}
    wide = {key for key, row in whole.items() if row["int_bits"] == 64 and row["threading"] == "pthread"}
    assert [(row["routine"], row["int_bits"]) for row in rows] == [("dsyrk", 64)]
    assert rows[0]["library"] in (wide or {rows[0]["own_library"]}), (rows, whole)


@needs_hooks
@pytest.mark.parametrize(("options", "before", "expected"), [([], None, "20"), ([], "26", "26"), (["--observe"], None, "unset")])
def test_idle_threads_of_openblas(backplane, options, before, expected):
    done = backplane("launch", *options, "--", "sh", "-c", "echo ${OPENBLAS_THREAD_TIMEOUT-unset}", env={"OPENBLAS_THREAD_TIMEOUT": before} if before else {})
    assert (done.code, done.out) == (0, expected + "\n")


@needs_hooks
def test_records_of_tune_hold_for_launched_programs(backplane, launch):
    """Not what `launch` itself preloads and sets; other preloaded libraries may change results and times."""
    env = loading({})
    assert backplane("tune", "matmul", "f64", "100x110", "110x120", env=env).code == 0
    _, rows = launch([], *python("a @ b"), env=env)
    assert [row["why"].startswith("lowest measured time") for row in products(rows)] == [True]
    _, rows = launch([], *python("a @ b"), env={"LD_PRELOAD": preload("libm.so.6")})
    assert [row["why"].startswith("lowest measured time") for row in products(rows)] == [False]
