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
    (call("sprintf|vsprintf|strcpy|strcat|gets|atoi|atol|atof|strtok|tmpnam|mktemp|system|popen"),
     "use a bounded or checked function", []),
]
# For the programs too, which read folders by readdir and have no locale, so that their numbers have a full stop.
EVERYWHERE = [
    (call("glob|scandir|scandirat|ftw|nftw|wordexp"), "it allocates past base/memory.c, and may crash without memory: use "
     "base/folders.h, or cli_folder_names() in the command", []),
    (call("setlocale"), "the locale belongs to the host program, and numbers of the command have a full stop", []),
]
NUMBERS = "numbers are read and written with a full stop in every locale: use base/number.h"
LOCALES = [
    (call("strtod|strtof|strtold|strtod_l|strtof_l|atof|vsnprintf|vasprintf"), NUMBERS,
     # Providers have the public headers alone; what these format has no fraction, as DIRECTIVES checks.
     ["src/base/text.c", "src/providers/driver/thread_policy.c", "src/providers/fftw/accept.c", "src/providers/kernels/program.c"]),
]
REAL = r"%[-+ #0'*]*\d*(?:(?!\.0f)\.(?:\d+|\*)?)?[lL]?[aefgAEFG](?![\w])"
# A format with a real number, in a call that takes the decimal point of the locale, or anywhere in a provider.
DIRECTIVES = re.compile(r"(?<![\w.>])((?:f|d|sn|as)printf|sscanf|fscanf)\s*\([^;]*?" + REAL)
ANY_DIRECTIVE = re.compile(r'("[^"\n]*' + REAL + ")")
# Separate programs, which are not part of the library.
NOT_LIBRARY = ("src/cli/", "src/probe/", "src/reference/")


def find(path, rules, text):
    """Returns the failures of a file by rules that do not allow it."""
    return [f"{path}:{common.line_of(text, match.start())}: {match.group(1)}: {why}"
            for pattern, why, allowed in rules if path.as_posix() not in allowed for match in pattern.finditer(text)]


def main():
    failures, checked = [], 0
    for path in common.sources("src"):
        checked += 1
        code = common.code_of(path)
        failures += find(path, EVERYWHERE, code)
        if not path.as_posix().startswith(NOT_LIBRARY):
            failures += find(path, RULES + LOCALES, code)
            pattern = ANY_DIRECTIVE if path.as_posix().startswith("src/providers/") else DIRECTIVES
            failures += find(path, [(pattern, NUMBERS, [])], common.read(path))
    common.finish(failures, checked)


main()
