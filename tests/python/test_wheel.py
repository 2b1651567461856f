"""`pip install .` installs a complete package: one extension, the library, its modules, the probe and the command.

Compiling it takes a large part of the suite's time, so the objects of the build folder are taken here. With TESTED_ALL, and in a sanitized build, it is
compiled.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile

import inherited
import pytest
from conftest import BUILD, ROOT


def install(tmp_path_factory, *words):
    """Installs the package by pip, as far as the tools are there."""
    for module in ("pip", "scikit_build_core"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    if not shutil.which("cmake"):
        pytest.skip("cmake is not installed")
    launcher = [] if os.environ.get("TESTED_ALL") or inherited.preload(BUILD) else [
        f"--config-settings=cmake.define.CMAKE_C_COMPILER_LAUNCHER={ROOT / 'tests/python/take_object.sh'}"]
    # Neither the compiler nor what it makes is instrumented, and ninja hangs with ThreadSanitizer's library.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index",
                           "--no-build-isolation", f"--config-settings=build-dir={tmp_path_factory.mktemp('objects') if launcher else BUILD / 'wheel'}",
                           *launcher, *words],
                          capture_output=True, text=True, cwd=tmp_path_factory.getbasetemp(), env={**environment, "COMPILED": str(BUILD)})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    install(tmp_path_factory, "--target", folder, ROOT)
    return folder


def run(site, *words):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=site, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(site)})


def test_what_is_in_it(site):
    package = site / "backplane"
    binaries = {path.relative_to(package).as_posix() for path in package.rglob("*")
                if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"}
    providers = {f"backplane-providers/{name}.so" for name in ("blas", "cuda", "fftw", "opencl", "scalapack")}
    launch = {f"backplane-launch/{path.name}" for path in (BUILD / "backplane-launch").glob("*.so")}
    assert binaries - providers == {"_core.abi3.so", "libbackplane.so.0", "backplane-probe", "bin/backplane"} | launch
    assert (package / "py.typed").exists() and (package / "_core.pyi").exists()
    sources = {path.relative_to(ROOT / "python") for path in (ROOT / "python/backplane").rglob("*.py")}
    assert sources <= {path.relative_to(site) for path in package.rglob("*.py")}
    wheel = next(site.glob("libbackplane-*.dist-info/WHEEL")).read_text()
    assert "Tag: cp39-abi3-" in wheel
    pages = {path.relative_to(site / "share").as_posix() for path in (site / "share").rglob("*") if path.is_file()}
    assert pages == {"man/man1/backplane.1", "bash-completion/completions/backplane", "zsh/site-functions/_backplane",
                     "fish/vendor_completions.d/backplane.fish"}


def test_it_works(site):
    done = run(site, "-c", """
import array, backplane
a = array.array("d", [1, 2, 3])
print(memoryview(backplane.matmul(a, a)).tolist(), sorted(row["name"] for row in backplane.show_config("dicts")["providers"]))
print(backplane.__file__)
""")
    lines = done.stdout.splitlines()
    every = ["14.0 ['blas', 'clblast', 'cublas', 'cudnn', 'cufft', 'cusolver', 'fftw', 'fftw-mpi', 'lapack', 'mkl', 'mkl-scalapack', 'native', 'nvrtc', 'onednn', 'opencl', 'scalapack', 'xsmm']"]
    assert lines[:1] in (every, ["14.0 ['native']"]) and lines[1].startswith(str(site)), done.stdout + done.stderr


def test_the_command_works(site):
    done = run(site, "-m", "backplane", "list")
    assert done.returncode == 0 and "native" in done.stdout, done.stderr


def test_completion_and_the_manual_page(site):
    """Both are found by the folder of the command, as an environment has it."""
    assert (site / "bin/backplane").exists()
    if shutil.which("bash"):
        code = ". share/bash-completion/completions/backplane; COMP_WORDS=(backplane expl); COMP_CWORD=1; _backplane; echo ${COMPREPLY[@]}"
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, cwd=site)
        assert done.stdout == "explain\n", done.stderr
    if shutil.which("man"):
        path = f"{site / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run(["man", "-w", "backplane"], capture_output=True, text=True, env={**os.environ, "PATH": path, "MANPATH": ""})
        assert done.stdout.strip() == str(site / "share/man/man1/backplane.1"), done.stderr


def test_the_command_works_after_an_editable_installation(tmp_path_factory):
    """The sources are in the repository then, and the program is in the environment."""
    folder = tmp_path_factory.mktemp("editable")
    install(tmp_path_factory, "--prefix", folder, "--editable", ROOT)
    (packages,) = folder.glob("lib/python*/site-packages")
    code = f"import site; site.addsitedir({str(packages)!r}); import runpy; runpy.run_module('backplane', run_name='__main__')"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, env=environment)
    assert "backplane COMMAND" in done.stdout, done.stdout + done.stderr


def test_the_source_distribution_is_complete(tmp_path):
    """It has all files of the repository but what runs in continuous integration, so that it can be built and tested."""
    if importlib.util.find_spec("scikit_build_core") is None:
        pytest.skip("scikit_build_core is not installed")
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("the sources are no checkout of git")
    done = subprocess.run([sys.executable, "-c", "import sys, scikit_build_core.build as build; build.build_sdist(sys.argv[1])", tmp_path],
                          cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = tmp_path.glob("libbackplane-*.tar.gz")
    with tarfile.open(archive) as tar:
        packed = {name.partition("/")[2] for name in tar.getnames()}
    expected = {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}
    assert packed ^ expected <= {"PKG-INFO", ".ci/run"}
