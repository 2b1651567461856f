"""Tests of the drop-in libraries and of redirected programs: netlib's testers of BLAS on each way to reach Backplane, and what
a program sees of it."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from conftest import BUILD, ROOT, loading

sys.path.insert(0, str(ROOT / "tools"))
import netlib_tests as netlib  # noqa: E402
netlib.BUILD = BUILD

LAUNCH = BUILD / "backplane-launch"
FAKES = BUILD / "tests/dropin"
WAYS = ("audit", "preload", "library")

pytestmark = pytest.mark.skipif(not (LAUNCH / "backplane-audit.so").exists(),
                                reason="this build has no drop-in libraries (see the output of cmake)")
netlib_only = pytest.mark.skipif(not (netlib.BLAS / "xblat1d").exists(), reason="Debian's libblas-test is not installed")


def variables(environment, way, library="choice", small=None):
    changed = netlib.environment(way, library, small)
    return loading({**environment, **{name: value for name, value in changed.items() if name.startswith(("LD_", "BACKPLANE_"))}})


@pytest.fixture(scope="module")
def plain():
    return netlib.run_blas(netlib.environment("plain", "netlib"))


def test_probes_of_libraries_on_a_drop_in_end(environment, tmp_path):
    """LAPACK's libblas.so.3 is Backplane's, which looks for libraries while LAPACK is probed. No helper may probe LAPACK again."""
    env = {**environment, "LD_LIBRARY_PATH": str(BUILD / "backplane-dropin"), "BACKPLANE_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([BUILD / "backplane", "list", "--json"], env=env, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0
    assert all(row["state"] == "ok" for row in json.loads(done.stdout)["libraries"] if row["id"] == "netlib-lapack")


@netlib_only
@pytest.mark.parametrize("library, way", [(library, way) for library in ("openblas", "choice") for way in WAYS
                                          if os.environ.get("TESTED_ALL") or (library == "choice") == (way != "library")])
def test_netlibs_testers_have_the_same_counts(environment, plain, way, library):
    """All 24 testers pass, also with wrong arguments, where they define an error handler. With TESTED_ALL each library on each way."""
    if library != "choice" and not netlib.LIBRARIES[library].exists():
        pytest.skip(f"{library} is not installed")
    found = netlib.run_blas(variables(environment, way, library, 0 if library == "choice" else None))
    assert found == plain and found[0] > 500 and found[1] == 0 and not found[2]


def run_lapack_tester(env, tester, data, folder):
    with open(netlib.LAPACK / data, "rb") as source:
        done = subprocess.run([netlib.LAPACK / tester], stdin=source, capture_output=True, text=True, cwd=folder, env=env, timeout=300)
    return done.returncode, [line for line in done.stdout.splitlines() if "run)" in line or "out of" in line or "***" in line]


@pytest.mark.skipif(not (netlib.LAPACK / "xlintstd").exists(), reason="Debian's liblapack-test is not installed")
@pytest.mark.parametrize("library, tester, data", [
    (library, *tester) for i, library in enumerate(("openblas", "mkl")) for k, tester in enumerate([("xlintstrfz", "ztest_rfp.in"), ("xeigtsts", "ssg.in")])
    if os.environ.get("TESTED_ALL") or i == k])
def test_lapacks_testers_have_the_same_counts(environment, tmp_path, library, tester, data):
    """`make netlib-tests` runs all of them. These two take a second each, and the complex one needs functions whose results are converted."""
    if not netlib.LIBRARIES[library].exists():
        pytest.skip(f"{library} is not installed")
    own = netlib.lapack_environment("plain", library)
    plain = run_lapack_tester(own, tester, data, tmp_path)
    assert plain[0] == 0 and len(plain[1]) > 2
    for way in WAYS:
        changed = {name: value for name, value in netlib.lapack_environment(way, library).items() if name not in environment}
        assert run_lapack_tester(loading({**environment, **changed}), tester, data, tmp_path) == plain


PROGRAM = r"""
#include <stdio.h>
#include <string.h>
extern void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
                   const int *, const double *, const int *, const double *, double *, const int *, size_t, size_t);
extern void dgetrf_(const int *, const int *, double *, const int *, int *, int *);
#ifdef HANDLER
void xerbla_(const char *name, const int *parameter, size_t length) {
    printf("handler %.*s %d\n", (int)length, name, *parameter);
}
#endif
int main(void) {
    static double a[4] = {1, 2, 3, 4}, c[4];
    const double one = 1, zero = 0;
    const int n = 2, wrong = -1;
    int pivots[2], info = 0;
    dgemm_("N", "N", &n, &wrong, &n, &one, a, &n, a, &n, &zero, c, &n, 1, 1);
    dgetrf_(&wrong, &n, a, &n, pivots, &info);
    printf("info %d\n", info);
    dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n, 1, 1);
    printf("%g %g\n", c[0], c[3]);
    return 0;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A program that passes wrong arguments, with and without an error handler, linked to the drop-in libraries."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "program.c").write_text(PROGRAM)
    made = {}
    for name, flags in (("plain", []), ("handler", ["-DHANDLER", "-rdynamic"])):
        made[name] = folder / name
        subprocess.run(["cc", *flags, folder / "program.c", "-o", made[name], f"-L{BUILD}", "-lbackplane_lapack", "-lbackplane_blas",
                        f"-Wl,-rpath,{BUILD}"], check=True)
    return made


def run(program, env, *words):
    done = subprocess.run([str(program), *words], capture_output=True, text=True, env=loading(env), timeout=120)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("library", ["openblas", "choice"])
def test_a_program_keeps_its_error_handler(environment, programs, library):
    env = {**environment, **({} if library == "choice" else {"BACKPLANE_DROPIN_LIBRARY": library})}
    code, output = run(programs["handler"], env)
    assert code == 0 and "handler DGEMM" in output and " 4\n" in output and "handler DGETRF" in output
    assert output.endswith("info -1\n7 22\n")


def test_without_a_handler_errors_are_printed_and_the_program_goes_on(environment, programs):
    code, output = run(programs["plain"], environment)
    assert code == 0 and "On entry to DGEMM parameter number  4 had an illegal value" in output
    assert "info -1\n7 22\n" in output


def test_an_absent_library_is_named_and_the_choice_holds(environment, programs):
    code, output = run(programs["handler"], {**environment, "BACKPLANE_DROPIN_LIBRARY": "nothing"})
    assert code == 0 and output.count("library 'nothing' is not used: ") >= 1 and "info -1\n7 22\n" in output


def test_a_routine_that_no_library_has_ends_the_program(environment, programs):
    """Only native is left, which has no routine."""
    env = {**environment, "BACKPLANE_DISPATCH_EXCLUDE": "openblas,blis,mkl,netlib,blas,scipy-openblas64,libxsmm,atlas,unknown"}
    code, output = run(programs["handler"], env)
    assert code == 127 and "no library of this machine has dgemm with 32-bit integers" in output


@pytest.mark.parametrize("mode", ["", "threads", "fork"])
def test_preloaded_names_pass_all_arguments(environment, mode):
    client = FAKES / "dropin_client_arguments"
    if not client.exists():
        pytest.skip("the fake libraries are not built: build everything")
    for record in ({}, {"BACKPLANE_LAUNCH_RECORD": os.devnull, "BACKPLANE_LAUNCH_OBSERVE": "1"}):
        env = {**environment, **record, "LD_PRELOAD": str(LAUNCH / "libbackplane-preload.so")}
        code, output = run(client, env, *([mode] if mode else []))  # with records: a message that /dev/null cannot hold them
        assert code == 0 and "0 failures\n" in output


@pytest.mark.parametrize("client", ["dropin_client_products", "dropin_client_products_wide"])
def test_preloaded_names_run_products(environment, client):
    """64-bit integers behind the names of 32-bit ones are left alone, because the names tell nothing."""
    if not (FAKES / client).exists():
        pytest.skip("the fake libraries are not built: build everything")
    env = {**environment, "LD_PRELOAD": str(LAUNCH / "libbackplane-preload.so"), "BACKPLANE_LAUNCH_SMALL": "0"}
    code, output = run(FAKES / client, env, "own" if client.endswith("wide") else "backplane")
    assert code == 0, output


ORDER = {
    "mine.c": "double ddot_(void) { return 7; }",
    "theirs.c": "double ddot_(void) { return 3; }",
    "user.c": "extern double ddot_(void); double use(void) { return ddot_(); }",
    "main.c": """#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    double (*use)(void) = (double (*)(void))dlsym(dlopen("./libuser.so", RTLD_NOW | RTLD_LOCAL), "use");
    printf("%g\\n", use());
    return 0;
}
""",
}


@pytest.mark.parametrize("visible", ["", "mine"])
def test_preloaded_names_have_the_loaders_order(environment, tmp_path, visible):
    """The definition below is one that is visible to the whole process, and if there is none, the definition of the caller's dependencies."""
    for name, text in ORDER.items():
        (tmp_path / name).write_text(text)
    for name, needs in (("mine", []), ("theirs", []), ("user", ["-L.", "-ltheirs", f"-Wl,-rpath,{tmp_path}"])):
        subprocess.run(["cc", "-shared", "-fPIC", f"{name}.c", "-o", f"lib{name}.so", *needs], cwd=tmp_path, check=True)
    subprocess.run(["cc", "main.c", "-o", "main", "-ldl"], cwd=tmp_path, check=True)
    preload = [str(LAUNCH / "libbackplane-preload.so"), *([str(tmp_path / "libmine.so")] if visible else [])]
    done = subprocess.run(["./main"], capture_output=True, text=True, cwd=tmp_path, env=loading({**environment, "LD_PRELOAD": ":".join(preload)}))
    plain = subprocess.run(["./main"], capture_output=True, text=True, cwd=tmp_path, env={**environment, "LD_PRELOAD": ":".join(preload[1:])})
    assert done.stdout == plain.stdout == ("7\n" if visible else "3\n")


def test_the_probe_is_left_alone(environment, backplane):
    """The command and its helper call each library itself, also in a program's environment."""
    env = variables(environment, "audit", "openblas")
    plain = backplane("list", "--json").json["libraries"]
    found = backplane("list", "--json", env={**env, "BACKPLANE_CACHE_DIR": environment["XDG_CONFIG_HOME"]}).json["libraries"]
    assert [(row["id"], row["state"]) for row in found] == [(row["id"], row["state"]) for row in plain]


EARLY = """
extern double ddot_(const int *, const double *, const int *, const double *, const int *);
double early;
__attribute__((constructor)) static void call_early(void) {
    static const double x[] = {3, 4};
    const int n = 2, one = 1;
    early = ddot_(&n, x, &one, x, &one);
}
"""
EARLY_MAIN = """
#include <stdio.h>
extern double early;
int main(void) {
    printf("%g\\n", early);
    return 0;
}
"""


def test_a_constructor_may_call_before_the_librarys_own(environment, tmp_path):
    """As Octave's does. The program's library does not need the drop-in library, so that it is initialized first."""
    (tmp_path / "early.c").write_text(EARLY)
    (tmp_path / "main.c").write_text(EARLY_MAIN)
    subprocess.run(["cc", "-shared", "-fPIC", "early.c", "-o", "libearly.so"], cwd=tmp_path, check=True)
    subprocess.run(["cc", "main.c", "-o", "main", "-L.", "-learly", f"-L{BUILD}", "-Wl,--no-as-needed", "-lbackplane_blas",
                    f"-Wl,-rpath,{BUILD}:{tmp_path}"], cwd=tmp_path, check=True)
    assert run(tmp_path / "main", environment) == (0, "25\n")


PARALLEL = """
#include <omp.h>
#include <stdio.h>
#include <stddef.h>
extern void dgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
                   const int *, const double *, const int *, const double *, double *, const int *, size_t, size_t);
static double a[128 * 128], c[4][128 * 128];
int main(void) {
    int wrong = 0;
    for (int i = 0; i < 128 * 128; i++) a[i] = 1;
#pragma omp parallel num_threads(4) reduction(+ : wrong)
    for (int repeat = 0; repeat < 20; repeat++) {
        const int n = 128, t = omp_get_thread_num();
        const double one = 1, zero = 0;
        dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c[t], &n, 1, 1);
        wrong += c[t][0] != 128 || c[t][128 * 128 - 1] != 128;
    }
    printf("%d\\n", wrong);
    return wrong;
}
"""


@pytest.mark.parametrize("way", WAYS)
def test_calls_from_parallel_regions(environment, tmp_path, way):
    (tmp_path / "main.c").write_text(PARALLEL)
    built = subprocess.run(["cc", "-O1", "-fopenmp", "main.c", "-o", "main", "-l:libblas.so.3"], cwd=tmp_path, capture_output=True)
    if built.returncode != 0:
        pytest.skip("no libblas.so.3 to link to")
    env = variables(environment, way)
    env["LD_LIBRARY_PATH"] = str(BUILD / "backplane-dropin") if way == "library" else ""
    assert run(tmp_path / "main", env) == (0, "0\n")


NUMPY = """
import sys
import numpy
rng = numpy.random.default_rng(3)
a, b = rng.standard_normal((300, 301)), rng.standard_normal((301, 302))
numpy.seterr(all="raise", under="ignore")
assert abs(a @ b - numpy.einsum("ij,jk->ik", a, b)).max() < 1e-11
square = a[:, :300]
assert abs(square @ numpy.linalg.solve(square, b[:300]) - b[:300]).max() < 1e-9
try:
    numpy.linalg.cholesky(-numpy.eye(300))
except numpy.linalg.LinAlgError as error:
    print(error)
"""


@pytest.mark.parametrize("way", ["audit", "preload"])
@pytest.mark.parametrize("library", ["openblas", "choice"])
def test_numpys_wheel_computes_the_same(environment, way, library):
    """NumPy's wheel has 64-bit integers and prefixed names. It turns flags of floating-point exceptions into errors."""
    python = ROOT / ".venv/bin/python"
    if not python.exists() or subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode != 0:
        pytest.skip(".venv has no NumPy")
    env = variables(environment, way, library)
    env["LD_LIBRARY_PATH"] = ""
    assert run(python, env, "-c", NUMPY) == (0, "Matrix is not positive definite\n")


FFTW = """
#include <complex.h>
#include <stdio.h>
extern void *fftw_plan_dft_1d(int, double complex *, double complex *, int, unsigned);
extern void *fftwf_plan_dft_1d(int, float complex *, float complex *, int, unsigned);
extern void fftw_execute(void *), fftw_destroy_plan(void *), fftwf_execute(void *), fftwf_destroy_plan(void *);
extern int fftw_init_threads(void);
extern void fftw_plan_with_nthreads(int);
extern const char fftw_version[];
int main(void) {
    enum { SIZE = 12, ESTIMATE = 64 };
    double complex in[SIZE], out[SIZE];
    float complex single_in[SIZE], single_out[SIZE];
    if (!fftw_init_threads()) {
        return 2;
    }
    fftw_plan_with_nthreads(2);
    void *plan = fftw_plan_dft_1d(SIZE, in, out, -1, ESTIMATE);
    void *single_plan = fftwf_plan_dft_1d(SIZE, single_in, single_out, -1, ESTIMATE);
    if (!plan || !single_plan) {
        return 3;
    }
    for (int i = 0; i < SIZE; i++) {
        in[i] = single_in[i] = i % 4 == 0;
    }
    fftw_execute(plan);
    fftwf_execute(single_plan);
    fftw_destroy_plan(plan);
    fftwf_destroy_plan(single_plan);
    printf("%g %g %g %g %.4s\\n", creal(out[0]), creal(out[1]), creal(out[3]), (double)crealf(single_out[6]), fftw_version);
    return 0;
}
"""


@pytest.mark.parametrize("library", ["", "mkl"])
def test_transforms_by_the_names_of_fftw(environment, backplane, tmp_path, library):
    known = {row["id"] for row in backplane("list", "--json").json["libraries"] if row["state"] == "ok"}
    if not (known >= {"fftw", "fftwf"} if not library else library in known):
        pytest.skip("the library is not installed")
    (tmp_path / "main.c").write_text(FFTW)
    subprocess.run(["cc", "main.c", "-o", "main", f"-L{BUILD}", "-lbackplane_fftw3", f"-Wl,-rpath,{BUILD}"], cwd=tmp_path, check=True)
    for folder in ("", str(BUILD / "backplane-dropin")):
        env = {**environment, "BACKPLANE_DROPIN_LIBRARY": library, "LD_LIBRARY_PATH": folder}
        assert run(tmp_path / "main", env) == (0, "3 0 3 3 fftw\n")


FFTW_THREADS = """
#include <stdio.h>
extern int fftw_init_threads(void), fftw_planner_nthreads(void), fftwf_init_threads(void), fftwf_planner_nthreads(void);
extern void fftw_plan_with_nthreads(int), fftwf_plan_with_nthreads(int);
int main(void) {
    int made = fftw_init_threads(), single_made = fftwf_init_threads();
    fftw_plan_with_nthreads(3);
    fftwf_plan_with_nthreads(2);
    printf("%d %d %d %d\\n", made, fftw_planner_nthreads(), single_made, fftwf_planner_nthreads());
    return 0;
}
"""


@pytest.mark.parametrize("library", ["", "fftw"])
def test_plans_have_the_threads_of_fftw(environment, backplane, tmp_path, library):
    """FFTW's threads are a library that needs internal names of libfftw3.so.3, whose place the drop-in library may have."""
    known = {row["id"] for row in backplane("list", "--json").json["libraries"] if row["state"] == "ok"}
    if not known >= {"fftw", "fftwf", "fftw-threads", "fftwf-threads"}:
        pytest.skip("FFTW or its library of threads is not installed")
    (tmp_path / "main.c").write_text(FFTW_THREADS)
    subprocess.run(["cc", "main.c", "-o", "linked", f"-L{BUILD}", "-lbackplane_fftw3", f"-Wl,-rpath,{BUILD}"], cwd=tmp_path, check=True)
    folder = BUILD / "backplane-dropin"
    names = [f"-l:{name}" for name in ("libfftw3_threads.so.3", "libfftw3.so.3", "libfftw3f_threads.so.3", "libfftw3f.so.3")]
    subprocess.run(["cc", "main.c", "-o", "replaced", f"-L{folder}", "-Wl,--no-as-needed", *names], cwd=tmp_path, check=True)
    env = {**environment, "BACKPLANE_DROPIN_LIBRARY": library}
    assert run(tmp_path / "linked", env) == (0, "1 3 1 2\n")
    assert run(tmp_path / "replaced", {**env, "LD_LIBRARY_PATH": str(folder)}) == (0, "1 3 1 2\n")


FFTW_FORTRAN = """
program legacy
    implicit none
    integer, parameter :: n = 8, forward = -1, estimate = 64
    integer(8) :: plan
    integer :: made
    complex(8) :: x(n), y(n), z(4, 2)
    complex(4) :: single_x(n), single_y(n)
    call dfftw_init_threads(made)
    call dfftw_plan_with_nthreads(2)
    call dfftw_plan_dft_1d(plan, n, x, y, forward, estimate)
    x = (0d0, 0d0)
    x(2) = (1d0, 0d0)
    call dfftw_execute(plan)
    call dfftw_destroy_plan(plan)
    call dfftw_plan_dft_2d(plan, 4, 2, z, z, forward, estimate)
    z = (0d0, 0d0)
    z(2, 1) = (1d0, 0d0)
    call dfftw_execute_dft(plan, z, z)
    call dfftw_destroy_plan(plan)
    call sfftw_plan_dft_1d(plan, n, single_x, single_y, forward, estimate)
    single_x = (0e0, 0e0)
    single_x(1) = (2e0, 0e0)
    call sfftw_execute(plan)
    call sfftw_destroy_plan(plan)
    write (*, '(5i3)') made, nint(real(y(5))), nint(aimag(y(3))), nint(aimag(z(2, 2))), nint(real(single_y(7)))
end program
"""

FFTW_FORTRAN_IN_C = """
#include <complex.h>
#include <stdint.h>
#include <stdio.h>
#define NAME_(stem, tail) stem ## tail
#define F(stem, tail) NAME_(stem, tail)
extern void F(dfftw_init_threads, TAIL)(int *), F(dfftw_plan_with_nthreads, TAIL)(const int *), F(dfftw_planner_nthreads, TAIL)(int *);
extern void F(dfftw_plan_dft_1d, TAIL)(int64_t *, const int *, double complex *, double complex *, const int *, const int *);
extern void F(dfftw_execute, TAIL)(const int64_t *), F(dfftw_destroy_plan, TAIL)(const int64_t *);
extern void F(sfftw_plan_dft_1d, TAIL)(int64_t *, const int *, float complex *, float complex *, const int *, const int *);
extern void F(sfftw_execute, TAIL)(const int64_t *), F(sfftw_destroy_plan, TAIL)(const int64_t *);
int main(void) {
    enum { SIZE = 8 };
    const int size = SIZE, forward = -1, estimate = 64, threads = 2;
    int64_t plan, single_plan;
    int made = 0, used = 0;
    static double complex x[SIZE], y[SIZE];
    static float complex single_x[SIZE], single_y[SIZE];
    F(dfftw_init_threads, TAIL)(&made);
    F(dfftw_plan_with_nthreads, TAIL)(&threads);
    F(dfftw_planner_nthreads, TAIL)(&used);
    F(dfftw_plan_dft_1d, TAIL)(&plan, &size, x, y, &forward, &estimate);
    F(sfftw_plan_dft_1d, TAIL)(&single_plan, &size, single_x, single_y, &forward, &estimate);
    x[1] = 1;
    single_x[0] = 2;
    F(dfftw_execute, TAIL)(&plan);
    F(sfftw_execute, TAIL)(&single_plan);
    F(dfftw_destroy_plan, TAIL)(&plan);
    F(sfftw_destroy_plan, TAIL)(&single_plan);
    printf("%d %d %g %g %g\\n", made, used, creal(y[4]), cimag(y[2]), (double)crealf(single_y[6]));
    return 0;
}
"""


@pytest.mark.parametrize("library", ["", "mkl"])
@pytest.mark.parametrize("tail", ["_", "__"])
def test_transforms_by_the_fortran_names_of_fftw(environment, backplane, tmp_path, library, tail):
    known = {row["id"] for row in backplane("list", "--json").json["libraries"] if row["state"] == "ok"}
    if not (known >= {"fftw", "fftwf", "fftw-threads"} if not library else library in known):
        pytest.skip("the library is not installed")
    (tmp_path / "main.c").write_text(FFTW_FORTRAN_IN_C)
    words = [f"-DTAIL={tail}", "main.c", "-o", "main", f"-L{BUILD}", "-lbackplane_fftw3", f"-Wl,-rpath,{BUILD}"]
    subprocess.run(["cc", *words], cwd=tmp_path, check=True)
    threads = 1 if library else 2  # MKL has no function that tells it
    assert run(tmp_path / "main", {**environment, "BACKPLANE_DROPIN_LIBRARY": library}) == (0, f"1 {threads} -1 -1 2\n")


def test_a_profile_has_the_fortran_names_of_fftw(environment, backplane, tmp_path):
    """These are among the longest names."""
    (tmp_path / "main.c").write_text(FFTW_FORTRAN_IN_C)
    names = [f"-l:{name}" for name in ("libfftw3_threads.so.3", "libfftw3f.so.3", "libfftw3.so.3")]
    if subprocess.run(["cc", "-DTAIL=_", "main.c", "-o", "main", *names], cwd=tmp_path, capture_output=True).returncode != 0:
        pytest.skip("FFTW is not installed")
    done = backplane("launch", "--profile", "--", str(tmp_path / "main"))
    assert done.code == 0 and done.out == "1 2 -1 -1 2\n"
    counted = [line.split()[:2] for line in done.err.splitlines()]
    for name in ("dfftw_plan_with_nthreads", "dfftw_planner_nthreads", "dfftw_plan_dft_1d", "sfftw_execute"):
        assert [name, "1"] in counted


def test_a_fortran_program_with_fftws_legacy_interface(environment, backplane, tmp_path):
    if not shutil.which("gfortran"):
        pytest.skip("gfortran is not installed")
    known = {row["id"] for row in backplane("list", "--json").json["libraries"] if row["state"] == "ok"}
    if not known >= {"fftw", "fftwf"}:
        pytest.skip("FFTW is not installed")
    (tmp_path / "main.f90").write_text(FFTW_FORTRAN)
    subprocess.run(["gfortran", "main.f90", "-o", "main", f"-L{BUILD}", "-lbackplane_fftw3", f"-Wl,-rpath,{BUILD}"], cwd=tmp_path, check=True)
    for folder in ("", str(BUILD / "backplane-dropin")):
        assert run(tmp_path / "main", {**environment, "LD_LIBRARY_PATH": folder}) == (0, "  1 -1 -1 -1  2\n")


ONLY_LAPACK = {
    "user.c": "extern double ddot_(const int *, const double *, const int *, const double *, const int *);"
              "double use(void) { const double x[] = {3, 4}; const int n = 2, one = 1; return ddot_(&n, x, &one, x, &one); }",
    "main.c": ORDER["main.c"],
}


def test_blas_is_found_through_the_replacement_of_lapack(environment, tmp_path):
    """As with the libraries of distributions: one object of SciPy calls BLAS, and is linked to liblapack.so.3 alone."""
    for name, text in ONLY_LAPACK.items():
        (tmp_path / name).write_text(text)
    folder = BUILD / "backplane-dropin"
    subprocess.run(["cc", "-shared", "-fPIC", "user.c", "-o", "libuser.so", "-Wl,--no-as-needed", f"-L{folder}", "-l:liblapack.so.3"],
                   cwd=tmp_path, check=True)
    subprocess.run(["cc", "main.c", "-o", "main", "-ldl"], cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], capture_output=True, text=True, cwd=tmp_path, env=loading({**environment, "LD_LIBRARY_PATH": str(folder)}))
    assert (done.returncode, done.stdout) == (0, "25\n"), done.stderr


WIDE = """
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
extern double ddot_64_(const int64_t *, const double *, const int64_t *, const double *, const int64_t *);
extern double cblas_ddot64_(int64_t, const double *, int64_t, const double *, int64_t);
extern void dpotrf_64(const char *, const int64_t *, double *, const int64_t *, int64_t *, size_t);
int main(void) {
    const double x[] = {3, 4};
    double a[] = {4, 2, 2, 5};
    const int64_t n = 2, one = 1;
    int64_t info = -1;
    dpotrf_64("L", &n, a, &n, &info, 1);
    printf("%g %g %d %g\\n", ddot_64_(&n, x, &one, x, &one), cblas_ddot64_(n, x, one, x, one), (int)info, a[3]);
    return 0;
}
"""


def test_names_with_64_bit_integers(environment, backplane, tmp_path):
    rows = backplane("list", "--json").json["libraries"]
    if not any("lapack" in str(row) and (row.get("int_bits") == 64 or row["id"] == "mkl") for row in rows if row["state"] == "ok"):
        pytest.skip("no LAPACK with 64-bit integers is installed")
    (tmp_path / "main.c").write_text(WIDE)
    subprocess.run(["cc", "main.c", "-o", "main", f"-L{BUILD}", "-lbackplane_lapack", "-lbackplane_blas", f"-Wl,-rpath,{BUILD}"],
                   cwd=tmp_path, check=True)
    assert run(tmp_path / "main", environment) == (0, "25 25 0 2\n")


HIDDEN = """
#include <complex.h>
#include <stdio.h>
#ifdef HIDDEN
extern void zdotc_(double complex *, const int *, const double complex *, const int *, const double complex *, const int *);
#else
extern double complex zdotc_(const int *, const double complex *, const int *, const double complex *, const int *);
#endif
int main(void) {
    const double complex x[] = {1, I}, y[] = {2, 3};
    const int n = 2, one = 1;
    double complex z = 0;
#ifdef HIDDEN
    zdotc_(&z, &n, x, &one, y, &one);
#else
    z = zdotc_(&n, x, &one, y, &one);
#endif
    printf("%g %g\\n", creal(z), cimag(z));
    return 0;
}
"""


@pytest.mark.parametrize("library", ["openblas", "mkl"])
@pytest.mark.parametrize("style", ["", "-DHIDDEN"])
def test_both_ways_to_return_a_complex_number(environment, backplane, tmp_path, library, style):
    """OpenBLAS returns it in registers, MKL at an address that it gets. The program may expect either."""
    if library not in {row["id"] for row in backplane("list", "--json").json["libraries"] if row["state"] == "ok"}:
        pytest.skip(f"{library} is not installed")
    (tmp_path / "main.c").write_text(HIDDEN)
    subprocess.run(["cc", *([style] if style else []), "main.c", "-o", "main", f"-L{BUILD}", "-lbackplane_blas", f"-Wl,-rpath,{BUILD}"],
                   cwd=tmp_path, check=True)
    env = {**environment, "BACKPLANE_DROPIN_LIBRARY": library, "BACKPLANE_DROPIN_COMPLEX_RETURN": "argument" if style else ""}
    assert run(tmp_path / "main", env) == (0, "2 -3\n")


def test_preloaded_names_with_another_c_library(environment, tmp_path):
    """musl has no audit interface. The preloaded library is compiled for it, and passes on all arguments."""
    if not shutil.which("musl-gcc"):
        pytest.skip("musl-gcc is not installed (Debian: musl-tools)")
    sources = [path for path in (ROOT / "src/dropin").glob("*.c")
               if path.stem not in ("audit", "hooks", "early", "entry", "fftw") and not path.stem.startswith("exports_")]
    sources.append(ROOT / "src/dropin/exports_preload.c")
    flags = ["-std=c17", "-O1", "-fPIC", "-shared", "-D_GNU_SOURCE=", f"-I{ROOT}/include", f"-I{ROOT}/src"]
    subprocess.run(["musl-gcc", *flags, "-fvisibility=hidden", "-DBP__DROPIN_PART=BP__DROPIN_PART_PRELOAD", *sources, "-o",
                    tmp_path / "libbackplane-preload.so"], check=True)
    tests = ROOT / "tests/dropin"
    subprocess.run(["musl-gcc", *flags, tests / "fake_arguments.c", "-o", tmp_path / "libarguments.so"], check=True)
    subprocess.run(["musl-gcc", "-D_GNU_SOURCE=", f"-I{tests}", tests / "client_arguments.c", "-o", tmp_path / "client", f"-L{tmp_path}",
                    "-larguments", f"-Wl,-rpath,{tmp_path}"], check=True)
    for mode in ([], ["threads"], ["fork"]):
        for record in ({}, {"BACKPLANE_LAUNCH_RECORD": os.devnull, "BACKPLANE_LAUNCH_OBSERVE": "1"}):
            env = {**environment, **record, "LD_PRELOAD": str(tmp_path / "libbackplane-preload.so")}
            done = subprocess.run([tmp_path / "client", *mode], capture_output=True, text=True, env=env, timeout=120)
            assert done.returncode == 0 and done.stdout == "0 failures\n"  # the recorder may say that it cannot use the file


LAPACKE = """
#include <stdio.h>
extern int LAPACKE_dgesv(int, int, int, double *, int, int *, double *, int);
int main(void) {
    double a[] = {2, 1, 1, 3}, b[] = {3, 5};
    int pivots[2];
    int info = LAPACKE_dgesv(101, 2, 1, a, 2, pivots, b, 1);
    printf("%d %g %g\\n", info, b[0], b[1]);
    return 0;
}
"""


def test_lapacks_c_interface_is_forwarded(environment, backplane, tmp_path):
    """To the best library that has it: OpenBLAS of Debian does not, MKL does."""
    if "mkl" not in {row["id"] for row in backplane("list", "--json").json["libraries"] if row["state"] == "ok"}:
        pytest.skip("MKL is not installed")
    (tmp_path / "main.c").write_text(LAPACKE)
    subprocess.run(["cc", "main.c", "-o", "main", f"-L{BUILD}", "-lbackplane_lapack", f"-Wl,-rpath,{BUILD}"], cwd=tmp_path, check=True)
    assert run(tmp_path / "main", environment) == (0, "0 0.8 1.4\n")
