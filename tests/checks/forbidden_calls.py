"""Checks that the library does not call certain functions, or calls them in one file only."""

import re

import common


def call(names):
    """Matches a call of one of the functions, though not of a struct member with its name."""
    return re.compile(r"(?<![\w.>])(" + names + r")\s*\(")


# Functions, the reason, and the files that may call them.
RULES = [
    (call("getenv|secure_getenv|setenv|putenv|unsetenv|clearenv"), "the environment is read and changed in one file",
     ["src/base/environment.c", "src/dropin/environment.c"]),
    (call("printf|vprintf|puts|putchar|perror|psignal|syslog|vsyslog|warnx?|errx?"), "the library never prints", []),
    (re.compile(r"\b(stderr|stdout|STDERR_FILENO|STDOUT_FILENO)\b"), "the library never prints, except lines for the setting "
     "'verbose', and output of vendors' libraries that it captured; drop-in libraries print errors of routines without a status",
     ["src/dispatch/trace.c", "src/dispatch/vendor_verbose.c", "src/dropin/message.c"]),
    (call("abort|exit|_exit|_Exit|quick_exit|assert|__builtin_trap"), "the library never ends the process, except a drop-in "
     "library that has no routine to call", ["src/dropin/message.c"]),
    (call("malloc|calloc|realloc|free|strdup|strndup|aligned_alloc|posix_memalign|asprintf|vasprintf|getline"),
     "memory comes from base/memory.c or the host, so that allocators and failure tests reach it; drop-in libraries are objects of their own",
     ["src/base/memory.c", "src/dropin/backplane.c", "src/dropin/keep.c", "src/dropin/factor.c", "src/dropin/library.c"]),
    (call("glob|scandir|scandirat|ftw|nftw|wordexp"), "it allocates past base/memory.c, and may crash without memory: use "
     "base/folders.h", []),
    (call("sprintf|vsprintf|strcpy|strcat|gets|atoi|atol|atof|strtok|tmpnam|mktemp|system|popen"),
     "use a bounded or checked function", []),
]
# Separate programs, which are not part of the library.
NOT_LIBRARY = ("src/cli/", "src/registry/probe/", "src/calibration/measure/", "src/device/probe/")


def main():
    failures, checked = [], 0
    for path in common.sources("src"):
        if path.as_posix().startswith(NOT_LIBRARY):
            continue
        checked += 1
        code = common.code_of(path)
        for pattern, why, allowed in RULES:
            if path.as_posix() in allowed:
                continue
            for match in pattern.finditer(code):
                failures.append(f"{path}:{common.line_of(code, match.start())}: {match.group(1)}: {why}")
    common.finish(failures, checked)


main()
