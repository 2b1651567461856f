"""launch with a Fortran program: all ways, netlib's reference code and other libraries as its own ones, large factorizations."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, COMMAND, ROOT, loading, needs_hooks, preload

PRELOAD = BUILD / "backplane-launch/libbackplane-preload.so"


@pytest.fixture(scope="module")
def fortran(tmp_path_factory):
    """The Fortran program, linked with the system's libblas.so.3 and liblapack.so.3."""
    compiler = shutil.which("gfortran")
    if not compiler:
        pytest.skip("gfortran is not installed")
    program = tmp_path_factory.mktemp("fortran") / "client"
    libraries = [path for name in ("liblapack.so.3", "libblas.so.3") for path in (next(pathlib.Path("/usr/lib").glob(f"*/{name}"), None),) if path]
    if len(libraries) < 2:
        pytest.skip("no libblas.so.3 and liblapack.so.3 are installed")
    subprocess.run([compiler, "-O1", "-o", program, ROOT / "tests/dropin/client.f90", *libraries], check=True)
    return program


WAYS = {
    "plain": ([], {}),
    "launch": ([COMMAND, "launch", "--"], {}),
    "one library": ([COMMAND, "launch", "--library", "openblas", "--"], {}),
    "all through Backplane": ([COMMAND, "launch", "--set", "blas.preferred=native", "--"], {}),
    "preloaded names": ([], {"LD_PRELOAD": str(PRELOAD)}),
    "drop-in": ([], {"LD_LIBRARY_PATH": str(BUILD / "backplane-dropin")}),
}


@needs_hooks
@pytest.mark.parametrize("way", WAYS)
def test_fortran(fortran, environment, way):
    """Lengths of strings, functions with complex results, real functions, and the program's own XERBLA."""
    words, variables = WAYS[way]
    done = subprocess.run([*map(str, words), fortran], capture_output=True, text=True, env=loading({**environment, **variables}))
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "") and len(lines) == 82
    assert [line for line in lines if not line.endswith(" passed")] == []


def folders_of(*names):
    """The value of LD_LIBRARY_PATH that makes these files of Debian the program's own libraries."""
    folders = [path.parent for name in names for path in pathlib.Path("/usr/lib").glob(f"*/{name}")]
    if len(folders) < len(names):
        pytest.skip(f"{', '.join(names)} are not all installed")
    return ":".join(map(str, folders))


def folders_of_netlib():
    return folders_of("blas/libblas.so.3", "lapack/liblapack.so.3")


@needs_hooks
def test_profile_names_a_slow_library(fortran, environment):
    """netlib's reference code as the program's own library: the profile says how to replace it. With another one it does not."""
    folders = folders_of_netlib()

    def profile(*options):
        words = [COMMAND, "launch", "--profile", *options, "--", fortran]
        done = subprocess.run(words, capture_output=True, text=True, env={**environment, "LD_LIBRARY_PATH": folders})
        assert done.returncode == 0 and " failed" not in done.stdout
        return done.stderr

    shown = profile("--observe")
    assert "netlib's reference code" in shown and "libblas.so.3" in shown
    library = shown.split("`launch --library ")[1].split("`")[0]
    assert "netlib" not in profile("--library", library) and "netlib" not in profile()


@needs_hooks
@pytest.mark.parametrize("way", ["audit", "preloaded names"])
def test_reference_code_is_replaced(fortran, environment, tmp_path, way):
    """All routines of a program on netlib's code but the routines of vectors go to one library, which has the rest of the LAPACK calls as well."""
    words = [COMMAND, "launch", "--trace", "trace", "--"] if way == "audit" else [COMMAND, "launch", "--trace", "trace", "--", "env", "-u", "LD_AUDIT", f"LD_PRELOAD={preload(PRELOAD)}"]
    done = subprocess.run([*map(str, words), fortran], capture_output=True, text=True, cwd=tmp_path, env={**environment, "LD_LIBRARY_PATH": folders_of_netlib()})
    assert done.returncode == 0 and done.stdout.count(" passed") == 82, done
    rows = [json.loads(line) for line in (tmp_path / "trace").read_text().splitlines()]
    own = {row["routine"] for row in rows if row["library"] == row["own_library"]}
    others = {row["library"] for row in rows if row["routine"] in ("dsyev", "dgesdd")}
    assert own == {"ddot", "zdotc", "zdotu", "cdotc", "sdot", "sasum", "dnrm2", "idamax"}
    assert len(others) == 1 and "netlib" not in others.pop()
    assert all("netlib's reference code" in row["why"] for row in rows if row["routine"] in ("dsyev", "dgesdd"))


@needs_hooks
@pytest.mark.parametrize("options", [["--deterministic"], ["--exclude", "lapack"], ["--library", "netlib"], ["--set", "blas.preferred=openblas"], ["--set", "linalg.preferred=netlib-lapack"], ["--set", "dispatch.exclude=openblas"]])
def test_reference_code_is_kept(fortran, launch, options):
    """Under `deterministic`, for excluded routines, if it was asked for, if any library is preferred, and if the others have OpenMP."""
    done, rows = launch(options, str(fortran), env={"LD_LIBRARY_PATH": folders_of_netlib()})
    assert done.code == 0 and done.out.count(" passed") == 82, done
    assert {row["library"] == row["own_library"] for row in rows if row["routine"] in ("dsyev", "dgesdd")} == {True}


SMALL_LAPACK = """
subroutine dgetrf(m, n, a, lda, ipiv, info)
    integer :: m, n, lda, ipiv(*), info
    double precision :: a(lda, *)
    info = 64 * ipiv(1)
end subroutine
subroutine dpotrf()
end subroutine
subroutine dgesv()
end subroutine
subroutine dsytrf()
end subroutine
subroutine dsyevd()
end subroutine
subroutine dgeqrf()
end subroutine
subroutine ilaver(major, minor, patch)
    integer :: major, minor, patch
    major = 3; minor = 11; patch = 0
end subroutine
"""
WIDE_CALL = """
program wide
    integer :: ipiv(2) = [5, 6], info = 7
    double precision :: a(2, 2) = 1
    call dgetrf(2, 2, a, 2, ipiv, info)
    print '(i0)', info
end program
"""


@needs_hooks
def test_reference_code_with_wide_integers_and_usual_names(launch, tmp_path):
    """A LAPACK of Fortran with 64-bit integers that is called liblapack.so.3: the probe knows its width, its name does not."""
    if not shutil.which("gfortran"):
        pytest.skip("gfortran is not installed")
    (tmp_path / "lapack.f90").write_text(SMALL_LAPACK)
    (tmp_path / "wide.f90").write_text(WIDE_CALL)
    build = ["gfortran", "-fdefault-integer-8"]
    subprocess.run([*build, "-shared", "-fPIC", "-Wl,-soname,liblapack.so.3", "-o", "liblapack.so.3", "lapack.f90"], cwd=tmp_path, check=True)
    subprocess.run([*build, "-o", "wide", "wide.f90", "./liblapack.so.3"], cwd=tmp_path, check=True)
    done, rows = launch([], "./wide", env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert (done.code, done.out) == (0, "320\n"), (done, rows)


# ---- Large factorizations ----


def record_hash(data):
    """The check at the end of each line of tuning.txt, as in src/base/hash.c."""
    mask, odd_a, odd_b = 2**64 - 1, 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93

    def fold(a, b):
        return (a * b & mask) ^ (a * b >> 64)

    state = fold(len(data) ^ odd_a, odd_b)
    for at in range(0, len(data), 8):
        word = int.from_bytes(data[at : at + 8], "little")
        state = fold(state ^ word, odd_a) + odd_b & mask
    return fold(state ^ state >> 29, odd_b)


def change_times(text, times):
    """Gives the candidates of each library in exported records another measured time."""
    head, *lines = text.splitlines()
    changed = []
    for line in lines:
        line = line.rsplit("\t", 1)[0]
        for library, time_ns in times.items():
            line = re.sub(rf"\|[^|/ ]+(/\S+ {library}:)", rf"|{time_ns}\1", line)
        changed.append(f"{line}\t{record_hash(line.encode()):016x}")
    return "\n".join([head, *changed, ""])


FACTORS = ("dgesv", "dposv")


@pytest.fixture
def factors(fortran, launch):
    """Runs the Fortran program; returns the libraries and reasons of its large factorizations, and asserts that small ones stay."""

    def run(folders, *options):
        done, rows = launch(options, str(fortran), env=loading({"LD_LIBRARY_PATH": folders}))
        assert done.code == 0 and done.out.count(" passed") == 82, done
        rows = [row for row in rows if row["routine"] in FACTORS]
        assert "openblas" not in folders or all(row["library"] == row["own_library"] for row in rows if row["sizes"][0] < 256)
        large = [row for row in rows if row["sizes"][0] == 300]
        assert len(large) == len(FACTORS)
        kept = {row["library"] == row["own_library"] for row in large}
        assert len(kept) == 1
        return kept.pop(), {row["library"] for row in large}, " ".join(row["why"] for row in large)

    return run


@needs_hooks
def test_factorizations_leave_reference_code_only(factors):
    kept, _, why = factors(folders_of("openblas-pthread/liblapack.so.3"))
    assert kept and why == " "
    kept, libraries, why = factors(folders_of_netlib())
    assert not kept and "netlib's reference code" in why and not libraries & {"netlib-lapack", "native"}


@needs_hooks
def test_factorizations_obey_settings(factors):
    own = folders_of("openblas-pthread/liblapack.so.3")
    kept, libraries, why = factors(own, "--set", "linalg.preferred=netlib-lapack")
    assert not kept and libraries == {"netlib-lapack"} and "linalg.preferred" in why
    kept, _, _ = factors(own, "--set", "linalg.preferred=openblas")
    assert kept
    kept, libraries, why = factors(own, "--set", "dispatch.exclude=openblas")
    assert not kept and "openblas" not in libraries and "does not guarantee" in why


@needs_hooks
@pytest.mark.parametrize(("others", "leaves"), [(1.2, False), (0.95, False), (0.8, True)])
def test_factorizations_go_to_a_library_that_was_measured_to_be_faster(backplane, factors, tmp_path, others, leaves):
    """Records of the program's problems in which all other libraries take a given part of the time of its own one."""
    own = folders_of("openblas-pthread/liblapack.so.3")
    for problem in (("solve", "f64", "300x300", "300x2"), ("cholesky", "f64", "300x300")):
        assert backplane("tune", *problem, env=loading({"LD_LIBRARY_PATH": own})).code == 0  # records are for these variables
    assert backplane("tune", "--export", "records").code == 0
    text = (tmp_path / "records").read_text()
    names = set(re.findall(r"[| ](\S+):lapack:", text.replace("|", " |")))
    times = {name: 1000000 if name == "openblas" else round(1000000 * others) for name in names}
    (tmp_path / "changed").write_text(change_times(text, times))
    assert backplane("tune", "--clear").code == 0 and backplane("tune", "--import", "changed").code == 0
    kept, libraries, why = factors(own)
    assert kept != leaves and ("by measurements" in why) == leaves and not (leaves and "openblas" in libraries)
