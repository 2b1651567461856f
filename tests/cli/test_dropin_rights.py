"""A program's first call after it gave up rights: after setuid() with no further thread allowed, chroot() to an empty folder, a
filter of system calls, or with no descriptor left. The tests need root's rights; an ordinary user cannot give them up."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from conftest import BUILD, COMMAND, loading

LAUNCH = BUILD / "backplane-launch"
WAYS = ("user", "root", "filter", "descriptors")
pytestmark = [
    pytest.mark.skipif(not (LAUNCH / "backplane-audit.so").exists(),
                       reason="this build has no drop-in libraries (see the output of cmake)"),
    pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its user and its root: run these tests as root"),
]

PROGRAM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifndef FFTW
extern void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *,
                   const double *, const int *, const double *, double *, const int *, size_t, size_t);
extern void cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
extern double ddot_(const int *, const double *, const int *, const double *, const int *);
#ifdef LAPACK
extern void dgesv_(const int *, const int *, double *, const int *, int *, double *, const int *, int *);
#endif
#else
extern void *fftw_plan_dft_1d(int, void *, void *, int, unsigned);
extern void fftw_execute(void *), fftw_destroy_plan(void *);
extern int fftw_init_threads(void);
extern void fftw_plan_with_nthreads(int);
#endif

static int filter(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int give_up(const char *what) {
    struct rlimit none = {0, 0}, some = {64, 64};
    if (!strcmp(what, "user")) {
        return setgroups(0, NULL) || setgid(65534) || setrlimit(RLIMIT_NPROC, &none) || setuid(65534);
    }
    if (!strcmp(what, "root")) {
        return chroot("empty") || chdir("/");
    }
    if (!strcmp(what, "descriptors")) {
        int failed = setrlimit(RLIMIT_NOFILE, &some);
        while (dup(0) >= 0) {
        }
        return failed;
    }
    return strcmp(what, "filter") ? 0 : filter();
}

int main(int count, char **words) {
    const int n = count > 3 ? atoi(words[3]) : 0, one = 1;
    if (give_up(words[1])) {
        perror(words[1]);
        return 77;
    }
#ifdef FFTW
    double in[2 * 60] = {1}, out[2 * 60] = {0};
    if (!fftw_init_threads()) {
        return 2;
    }
    fftw_plan_with_nthreads(1);
    void *plan = fftw_plan_dft_1d(60, in, out, -1, 64);
    in[0] = 1;
    if (!plan) {
        return 3;
    }
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    return fabs(out[0] - 1) > 1e-12 || fabs(out[118] - 1) > 1e-12;
#else
    double *a = malloc(8L * n * n), *b = malloc(8L * n * n), *c = calloc(8, (size_t)n * n), f = 1, zero = 0, worst = 0;
    for (int i = 0; i < n * n; i++) {
        a[i] = i % 7 - 3 + (i / n == i % n) * n * 10;
        b[i] = i % 5 - 2;
    }
    if (!strcmp(words[2], "ddot_")) {
        double sum = 0;
        for (int i = 0; i < n; i++) {
            sum += a[i] * b[i];
        }
        return ddot_(&n, a, &one, b, &one) != sum;
    }
    if (!strcmp(words[2], "dgemm_")) {
        dgemm_("N", "N", &n, &n, &n, &f, a, &n, b, &n, &zero, c, &n, 1, 1);
    }
    if (!strcmp(words[2], "cblas_dgemm")) {
        cblas_dgemm(102, 111, 111, n, n, n, 1, a, n, b, n, 0, c, n);
    }
#ifdef LAPACK
    if (!strcmp(words[2], "dgesv_")) { /* b and c change places: a * b is compared with c below */
        double *factors = malloc(8L * n * n);
        int *pivots = malloc(4L * n), info = 0;
        memcpy(factors, a, 8L * n * n);
        memcpy(c, b, 8L * n * n);
        dgesv_(&n, &n, factors, &n, pivots, b, &n, &info);
        if (info) {
            return 4;
        }
    }
#endif
    for (int i = 0; i < n * n; i++) {
        double sum = 0;
        for (int k = 0; k < n; k++) {
            sum += a[i % n + k * n] * b[k + i / n * n];
        }
        worst = fmax(worst, fabs(sum - c[i]));
    }
    return !(worst < 1e-8);
#endif
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rights")
    (folder / "program.c").write_text(PROGRAM)
    (folder / "empty").mkdir()
    parts = {
        "blas": ["-lbackplane_blas"],
        "lapack": ["-DLAPACK", "-lbackplane_lapack", "-lbackplane_blas"],
        "fftw": ["-DFFTW", "-lbackplane_fftw3"],
        "system": ["-l:libblas.so.3"],
    }
    for name, words in parts.items():
        flags = [word for word in words if word.startswith("-D")]
        libraries = [word for word in words if not word.startswith("-D")]
        built = subprocess.run(["cc", "-O1", "-w", *flags, "program.c", "-o", name, f"-L{BUILD}", f"-Wl,-rpath,{BUILD}", *libraries, "-lm"],
                               cwd=folder, capture_output=True, text=True)
        assert built.returncode == 0 or name == "system", built.stderr
    return folder


@pytest.fixture
def warm(environment):
    subprocess.run([COMMAND, "list"], env=loading(environment), check=True, stdout=subprocess.DEVNULL, timeout=200)
    return environment


def run(programs, name, env, *words):
    done = subprocess.run([programs / name, *words], env=loading(env), cwd=programs, capture_output=True, text=True, timeout=100)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", ["8", "300"])
@pytest.mark.parametrize("routine", ["dgemm_", "cblas_dgemm", "ddot_", "dgesv_"])
def test_the_first_call_after_giving_up_rights(programs, warm, way, routine, size):
    """Below and above the size from which on Backplane runs products and chooses for factorizations."""
    for name in ["lapack"] if routine == "dgesv_" else ["blas", "lapack"]:
        assert run(programs, name, warm, way, routine, size) == (0, "")


@pytest.mark.parametrize("way", WAYS)
def test_transforms_after_giving_up_rights(programs, warm, way):
    if run(programs, "fftw", warm, "none")[0] != 0:
        pytest.skip("no library with FFTW's names is installed")
    assert run(programs, "fftw", warm, way) == (0, "")


@pytest.mark.parametrize("way", WAYS)
def test_a_named_library_is_ready(programs, warm, backplane, way):
    """MKL opens its parts at its first call, and starts its threads at the first large one."""
    if "mkl" not in {row["id"] for row in backplane("list", "--json").json["libraries"] if row["state"] == "ok"}:
        pytest.skip("MKL is not installed")
    for routine, size in (("dgemm_", "300"), ("dgesv_", "300"), ("ddot_", "8")):
        assert run(programs, "lapack", {**warm, "BACKPLANE_DROPIN_LIBRARY": "mkl"}, way, routine, size) == (0, "")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("launched", ["audit", "preload"])
def test_launched_programs_keep_their_own_library(programs, warm, way, launched):
    """It was opened with the program. What cannot be opened is not used."""
    if not (programs / "system").exists():
        pytest.skip("no libblas.so.3 to link to")
    added = {
        "audit": {"LD_AUDIT": str(LAUNCH / "backplane-audit.so"), "LD_PRELOAD": str(LAUNCH / "libbackplane-hooks.so")},
        "preload": {"LD_PRELOAD": str(LAUNCH / "libbackplane-preload.so")},
    }[launched]
    for routine in ("dgemm_", "ddot_"):
        assert run(programs, "system", {**warm, **added}, way, routine, "300") == (0, "")


@pytest.mark.parametrize(
    ("way", "part", "reason"),
    [
        ("root", "libbackplane_blas.so.0, from which this library was loaded: No such file or directory", "changed its root with chroot()"),
        ("descriptors", "libbackplane_blas.so.0, from which this library was loaded: Too many open files", "'ulimit -n'"),
        ("filter", "libbackplane_blas.so.0, from which this library was loaded: Operation not permitted", "first"),
    ],
)
def test_the_reason_is_told_if_nothing_was_opened(programs, warm, way, part, reason):
    code, output = run(programs, "blas", {**warm, "BACKPLANE_DROPIN_OPEN": "call"}, way, "dgemm_", "300")
    assert code == 127 and output.count("\n") == 1 and "dgemm cannot run, because a library cannot be opened now" in output
    assert part in output and "BACKPLANE_DROPIN_OPEN=start" in output and (reason == "first" or reason in output)


@pytest.mark.parametrize("readable", [True, False])
def test_a_library_with_threads_is_not_opened_without_them(programs, warm, readable):
    """OpenBLAS ends the process otherwise, by a signal. A serial library may serve. Without a cache that the user may read, no
    probe can be started."""
    with tempfile.TemporaryDirectory(prefix="backplane-cache-") as folder:
        pathlib.Path(folder).chmod(0o755 if readable else 0o700)
        shutil.copytree(warm["BACKPLANE_CACHE_DIR"], f"{folder}/cache")
        env = {**warm, "BACKPLANE_DROPIN_OPEN": "call", "BACKPLANE_CACHE_DIR": f"{folder}/cache"}
        pathlib.Path(f"{folder}/cache").chmod(0o755)
        for file in pathlib.Path(f"{folder}/cache").iterdir():
            file.chmod(0o644)
        code, output = run(programs, "lapack", env, "user", "dgesv_", "300")
    told = ("it starts threads and this process cannot start" if readable else "is not used: not probed: ") in output
    assert (code, output) == (0, "") or (code == 127 and told and "Resource temporarily unavailable" in output), (code, output)


def test_an_unknown_moment_is_named(programs, warm):
    code, output = run(programs, "blas", {**warm, "BACKPLANE_DROPIN_OPEN": "now"}, "root", "dgemm_", "30")
    assert code == 0 and output == "backplane: BACKPLANE_DROPIN_OPEN is 'now'; it must be 'start' or 'call'\n"


def test_nothing_is_probed_when_a_program_starts(programs, environment, tmp_path):
    """With an empty cache the first call would probe. This program makes none."""
    (tmp_path / "true.c").write_text("int main(void) { return 0; }")
    subprocess.run(["cc", "true.c", "-o", "true", "-Wl,--no-as-needed", f"-L{BUILD}", "-lbackplane_lapack", "-lbackplane_blas",
                    f"-Wl,-rpath,{BUILD}"], cwd=tmp_path, check=True)
    env = loading({**environment, "BACKPLANE_CACHE_DIR": str(tmp_path / "cold"), "BACKPLANE_DROPIN_OPEN": "start"})
    watched = subprocess.run(["strace", "-f", "-e", "trace=execve", str(tmp_path / "true")], env=env, capture_output=True, text=True) \
        if shutil.which("strace") else subprocess.run([tmp_path / "true"], env=env, capture_output=True, text=True)
    assert watched.returncode == 0 and "backplane-probe" not in watched.stderr
    assert not list(tmp_path.glob("cold/*probe*"))
