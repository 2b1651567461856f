"""launch: programs whose first objects need something of the environment: a sanitizer's run-time library, or much memory for the
variables of threads."""

import os
import platform
import subprocess

import pytest

from conftest import SANITIZED, needs_hooks, preload
from test_launch import CLIENT


def build_program(folder, *words):
    """Builds CLIENT as a program that is linked to Debian's libblas.so.3. Returns whether that is possible here."""
    (folder / "main.c").write_text(CLIENT + "int main(void) { return run(); }")
    built = subprocess.run(["cc", "-g", "main.c", "-o", "main", *words, "-l:libblas.so.3"], cwd=folder, capture_output=True)
    return built.returncode == 0


# No report of a sanitizer is of interest here: libraries that are not instrumented leak, and their locks are unknown.
QUIET = {"ASAN_OPTIONS": "detect_leaks=0", "LSAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "report_bugs=0"}


@needs_hooks
@pytest.mark.parametrize("sanitizer", ["address", "leak", "thread", "undefined"])
def test_programs_with_a_sanitizer(launch, environment, tmp_path, sanitizer):
    """Its run-time library ends the program if it is not the first, and may need more memory for the variables of threads than the
    loader reserves for an audited program."""
    if SANITIZED and sanitizer not in SANITIZED.split(","):
        pytest.skip(f"a process cannot have the sanitizers of this build ({SANITIZED}) and {sanitizer}")
    built = build_program(tmp_path, f"-fsanitize={sanitizer}")
    if not built or subprocess.run(["./main"], cwd=tmp_path, env={**environment, **QUIET}, capture_output=True).returncode != 0:
        pytest.skip(f"no libblas.so.3 to link to, or no program with -fsanitize={sanitizer} runs here")
    done, rows = launch(["--set", "blas.preferred=native"], "./main", env=QUIET)
    assert done.code == 0 and done.out == "5998800\n" and done.err == "", done
    assert [(row["routine"], row["library"]) for row in rows] == [("dgemm", "native")]


@needs_hooks
@pytest.mark.skipif(bool(SANITIZED), reason=f"a process cannot have the sanitizers of this build ({SANITIZED}) and another one")
def test_preloaded_sanitizer(launch, tmp_path):
    """As for a program that opens objects with a sanitizer."""
    found = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    if not os.path.isabs(found) or not build_program(tmp_path):
        pytest.skip("no libblas.so.3 to link to, or no libasan.so")
    done, rows = launch(["--set", "blas.preferred=native"], "./main", env={**QUIET, "LD_PRELOAD": f"libm.so.6:{found}"})
    assert done.code != 0 and not rows  # the program itself does not run so
    done, rows = launch(["--set", "blas.preferred=native"], "./main", env={**QUIET, "LD_PRELOAD": f"{found}:libm.so.6"})
    assert done.code == 0 and done.out == "5998800\n", done
    assert [(row["routine"], row["library"]) for row in rows] == [("dgemm", "native")]


@needs_hooks
@pytest.mark.skipif(tuple(map(int, platform.libc_ver()[1].split(".") or [0])) < (2, 33), reason="this glibc has no tunable for static TLS")
def test_large_variables_of_threads(backplane, tmp_path):
    """Under LD_AUDIT the loader reserves their memory before it knows the program's libraries."""
    (tmp_path / "large.c").write_text('__thread char space[30000] __attribute__((tls_model("initial-exec"))); char *get(void) { return space; }')
    (tmp_path / "main.c").write_text("char *get(void); int main(void) { get()[29999] = 1; return 3; }")
    for words in (["-shared", "-fPIC", "large.c", "-o", "liblarge.so"], ["main.c", "-o", "main", "-L.", "-llarge", f"-Wl,-rpath,{tmp_path}"]):
        subprocess.run(["cc", *words], cwd=tmp_path, check=True)
    (tmp_path / "script").write_text("#!./main\n")
    (tmp_path / "script").chmod(0o755)
    for program in ("./main", "./script"):
        done = backplane("launch", "--", program)
        assert done.code == 3 and done.err == "", done
    show = ["sh", "-c", "echo $GLIBC_TUNABLES"]
    own = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=3", "LD_PRELOAD": preload(tmp_path / "liblarge.so")}
    first, second = backplane("launch", "--", *show, env=own).out.strip().split(":")
    name, bytes_of = second.split("=")
    assert first == own["GLIBC_TUNABLES"] and name == "glibc.rtld.optional_static_tls" and int(bytes_of) >= 30000
    own["GLIBC_TUNABLES"] = "glibc.rtld.optional_static_tls=1000000"
    assert backplane("launch", "--", *show, env=own).out.strip() == own["GLIBC_TUNABLES"]
