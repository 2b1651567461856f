"""Resets what the tests inherit from the program that started them, as tests/support/inherited.c does for C programs: ignored and blocked signals, the
umask, limits, the language, the folder, and variables that would change results. Also chooses how kernels are compiled, and sets what the tests of a
sanitized build need.

As a program, starts Python so that it can load what a build folder has: tests/inherited.py FOLDER ARGUMENTS"""

import os
import pathlib
import resource
import signal
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
UNLIMITED = float("inf")
LIMITS = {resource.RLIMIT_AS: UNLIMITED, resource.RLIMIT_DATA: UNLIMITED, resource.RLIMIT_FSIZE: UNLIMITED, resource.RLIMIT_CPU: UNLIMITED,
          resource.RLIMIT_NPROC: UNLIMITED, resource.RLIMIT_NOFILE: 1024, resource.RLIMIT_STACK: 8 << 20}
FOREIGN = ("BACKPLANE_", "OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "OMP_", "KMP_", "ATEN_", "TORCH_", "CUBLAS_", "XDG_CONFIG", "NO_COLOR", "COLUMNS",
           "LD_LIBRARY_PATH", "LC_", "LANG")
KEPT = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # a machine sets them if the kernels that an older OpenBLAS chooses there are wrong


def reset_signals():
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN and number not in (signal.SIGPIPE, signal.SIGXFSZ):  # Python itself ignores these
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def reset_limits():
    """Raises limits below the usual ones to those, as far as the process may. Higher ones stay."""
    for name, usual in LIMITS.items():
        soft, most = (UNLIMITED if limit == resource.RLIM_INFINITY else limit for limit in resource.getrlimit(name))
        if soft < usual:
            wanted = min(usual, most)
            resource.setrlimit(name, [resource.RLIM_INFINITY if limit == UNLIMITED else int(limit) for limit in (wanted, most)])


def choose_kernels(build, name):
    """Chooses how PoCL compiles kernels and where it keeps them, as tests/support/kernels.c does. Returns the library's cache directory."""
    every = "TESTED_ALL" in os.environ
    folder = build / "test-kernels" / ("optimized" if every else "") / name
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("POCL_CACHE_DIR", str(folder))
    if not every:
        os.environ.setdefault("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable")
        os.environ.setdefault("POCL_WORK_GROUP_SPECIALIZATION", "0")
    return build / ("test-cache-optimized" if every else "test-cache")


def sanitizer(build):
    """Returns the variables for the tests of a build folder that was made with a sanitizer, by name. tests/CMakeLists.txt writes them. Without a
    sanitizer they are empty."""
    file = build / "test-environment"
    return dict(line.split("=", 1) for line in file.read_text().splitlines()) if file.exists() else {}


def preload(build, *files):
    """Returns LD_PRELOAD for programs that are not instrumented, and that load these files or other ones of a build folder."""
    library = sanitizer(build).get("TESTED_PRELOAD")
    return ":".join(filter(None, [library, *map(str, files)]))


def start_python(build, words):
    """Replaces this process. A sanitizer that ends it writes its report to the file of standard error, which pytest must leave alone then."""
    changes = {**sanitizer(build), "LD_PRELOAD": preload(build), "PYTEST_ADDOPTS": "--capture=sys" if preload(build) else ""}
    os.execve(sys.executable, [sys.executable, *words], {**os.environ, **{name: value for name, value in changes.items() if value}})


def reset():
    reset_signals()
    reset_limits()
    os.umask(0o022)
    os.chdir(ROOT)
    for variable in [name for name in os.environ if name.startswith(FOREIGN) and name not in KEPT]:
        del os.environ[variable]
    os.environ["LANG"] = "C.UTF-8"


if __name__ == "__main__":
    start_python(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:])
